"""The colours of our themes, and the inks that painters name."""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.filter import LineFilter
from textual.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from reviewdesk.views.document import Tone

_Table: TypeAlias = dict[str, tuple[str | None, str | None, str | None]]
_COLOURS: _Table = {
    # Greys this close to neutral stay greys where a terminal has 256 colours.
    "primary": ("#7aa2c8", "#1d4f80", "#5fffff"),
    "secondary": ("#8f9fb3", "#5c564c", "#d0d0d0"),
    "accent": ("#d9b36c", "#6e4400", "#ffff5f"),
    "warning": ("#e0b25c", "#6e4400", "#ffff5f"),
    "error": ("#e58a7b", "#9c2b18", "#ff8787"),
    "success": ("#8fc9a0", "#1b5e35", "#5fff5f"),
    "foreground": ("#dcdfe4", "#2d2a26", "#ffffff"),
    "background": ("#15171b", "#f3efe6", "#000000"),
    "surface": ("#1a1d21", "#f8f5ee", "#000000"),
    "panel": ("#23262d", "#eae5d9", "#000000"),
}
"""The colours of our three themes, by Textual's names: dark, light, high contrast."""
_VARIABLES: _Table = {
    "desk-strong": ("#f4f6f8", "#14120f", "#ffffff"),
    "desk-muted": ("#9aa4b1", "#5c564c", "#d0d0d0"),
    "desk-rule": ("#4a525d", "#b0a898", "#a0a0a0"),
    "desk-head": ("#9db9d6", "#1d4f80", "#5fffff"),
    "desk-pass": ("#8fc9a0", "#1b5e35", "#5fff5f"),
    "desk-fail": ("#f0917f", "#9c2b18", "#ff8787"),
    "desk-warn": ("#e0b25c", "#6e4400", "#ffff5f"),
    "desk-note": ("#b9a7dc", "#5a2c96", "#ff87ff"),
    "desk-cursor": ("#2f353e", "#dcd5c5", "#000000"),
    "desk-cursor-style": (None, None, "reverse"),
    "desk-bar": ("#1e2127", "#e8e3d7", "#1c1c1c"),
    "desk-found": ("#d9c48a", "#6e4400", "#ffff5f"),
    "block-cursor-foreground": ("#15171b", "#f8f5ee", "#000000"),
    "block-cursor-background": ("#9db9d6", "#1d4f80", "#ffffff"),
    "block-cursor-blurred-foreground": (None, None, "#ffffff"),
    "block-cursor-blurred-background": ("#2f353e", "#dcd5c5", "#00405f"),
    "footer-key-foreground": ("#9db9d6", "#1d4f80", "#5fffff"),
    "input-selection-foreground": (None, None, "#000000"),
    "input-selection-background": ("#3a5068", "#c3d3e2", "#5fffff"),
    "screen-selection-foreground": ("#f4f6f8", "#14120f", "#000000"),
    "screen-selection-background": ("#33475c", "#cbd8e4", "#5fffff"),
    "scrollbar": ("#4a525d", "#b0a898", "#a0a0a0"),
    "scrollbar-hover": ("#667080", "#8f8778", "#ffffff"),
    "scrollbar-active": ("#7aa2c8", "#1d4f80", "#5fffff"),
    "scrollbar-background": ("#15171b", "#f3efe6", "#1c1c1c"),
}
"""Their variables, in the same order; ``None`` leaves it to Textual."""


def _theme(name: str, at: int) -> Theme:
    colours: dict[str, Any] = {part: values[at] for part, values in _COLOURS.items()}
    variables = {part: value for part, values in _VARIABLES.items() if (value := values[at])}
    return Theme(name, dark=name != "desk-light", **colours, variables=variables)


DESK = _theme("desk", 0)
DESK_LIGHT = _theme("desk-light", 1)
HIGH_CONTRAST = _theme("high-contrast", 2)
_OWN = "ansi_default"
_ANSI = BUILTIN_THEMES["ansi-dark"]
COLOURLESS = dataclasses.replace(
    _ANSI,
    name="no-color",
    variables={
        **_ANSI.variables,
        **{name: _OWN for name in DESK.variables if name.startswith("desk-")},
        "scrollbar-background": _OWN,
        "input-cursor-foreground": _OWN,
        "input-cursor-background": _OWN,
        "desk-cursor-style": "reverse",
        "input-cursor-text-style": "reverse",
        # What has a background is reversed.
        "input-selection-background": "ansi_cyan",
        "screen-selection-background": "ansi_cyan",
    },
)
"""The theme for ``NO_COLOR``: every ink is the terminal's own colour."""


STOP = "stop"
"""Marks a line without changing its look; the keys that go between sections also stop there."""

VARIABLES = {ink: f"desk-{ink.removeprefix('big-')}" for ink in Tone if ink} | {
    Tone.KEY: "desk-head"
}
BOLD = frozenset({Tone.STRONG, Tone.HEAD, Tone.BIG_PASS, Tone.BIG_FAIL, Tone.BIG_WARN, Tone.KEY})
BLOCK = frozenset({Tone.BIG_PASS, Tone.BIG_FAIL, Tone.BIG_WARN, Tone.FOUND})
FAINT = frozenset({Tone.MUTED, Tone.RULE})

OWN = (DESK, DESK_LIGHT, HIGH_CONTRAST, COLOURLESS)

STYLES = """
OptionList > .option-list--option-disabled { color: $desk-muted; }
Dialog:ansi > #box { background: ansi_default; }
Dialog:ansi > #box, .-theme-high-contrast Dialog > #box { border: solid $foreground; }
Dialog.-low:ansi > #box, .-theme-high-contrast Dialog.-low > #box {
    border: none; border-top: solid $foreground; }
Tooltip:ansi, Toast:ansi { background: ansi_default; border: solid $foreground; padding: 0 1; }
Input:ansi > .input--cursor, TextArea:ansi .text-area--cursor {
    color: ansi_default; background: ansi_default; text-style: reverse; }
TextArea:ansi .text-area--selection {
    background: $input-selection-background; text-style: not reverse; }
"""
"""The styles that widgets need beside the variables of a theme."""


def fallback(color_system: str | None) -> str:
    """Return the default theme's name. With 16 colours the shades of ``desk`` are too similar."""
    return HIGH_CONTRAST.name if color_system == "standard" else DESK.name


DEFAULTS = {
    "desk-cursor-style": "none",
    **{name: value for name, value in DESK.variables.items() if name.startswith("desk-")},
}
"""Values of our variables until one of our themes is in use."""


def ink_styles(variables: Mapping[str, str], *, ansi: bool) -> dict[str, Style]:
    """Return a style by ink. Without colours, faint inks are dim."""
    styles = {Tone.TEXT.value: Style.null(), STOP: Style.null()}
    for ink, variable in VARIABLES.items():
        styles[ink.value] = Style(
            foreground=Color.parse(variables[variable]),
            bold=True if ink in BOLD else None,
            dim=True if ansi and ink in FAINT else None,
            reverse=True if ink in BLOCK else None,
        )
    return styles


_REVERSED = RichStyle(reverse=True)


class Colourless(LineFilter):
    """Drops every colour, where Textual would send greys; reverses what has a background."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [
            Segment(text, None if style is None else _without_colour(style), control)
            for text, style, control in segments
        ]


@lru_cache(1024)
def _without_colour(style: RichStyle) -> RichStyle:
    raised = style.bgcolor is not None and not style.bgcolor.is_default
    return style.without_color + _REVERSED if raised else style.without_color


NO_COLOUR = (Colourless(),)
"""The filters of a session without colour. They replace Textual's filters."""
