"""The colours of our themes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from textual.theme import BUILTIN_THEMES, Theme

_DESK: dict[str, Any] = {
    "name": "desk",
    "primary": "#7aa2c8",
    "secondary": "#8f9fb3",
    "accent": "#d9b36c",
    "warning": "#e0b25c",
    "error": "#e58a7b",
    "success": "#8fc9a0",
    "foreground": "#dcdfe4",
    # Greys this close to neutral stay greys where a terminal has 256 colours.
    "background": "#15171b",
    "surface": "#1a1d21",
    "panel": "#23262d",
    "variables": {
        "desk-strong": "#f4f6f8",
        "desk-muted": "#9aa4b1",
        "desk-rule": "#4a525d",
        "desk-head": "#9db9d6",
        "desk-pass": "#8fc9a0",
        "desk-fail": "#f0917f",
        "desk-warn": "#e0b25c",
        "desk-note": "#b9a7dc",
        "desk-cursor": "#2f353e",
        "desk-bar": "#1e2127",
        "desk-found": "#d9c48a",
        "desk-string": "#c3d0cc",
        "desk-number": "#cdb78c",
        "desk-name": "#9fc0cf",
        "block-cursor-foreground": "#15171b",
        "block-cursor-background": "#9db9d6",
        "block-cursor-blurred-background": "#2f353e",
        "footer-key-foreground": "#9db9d6",
        "input-selection-background": "#3a5068",
        "screen-selection-foreground": "#f4f6f8",
        "screen-selection-background": "#33475c",
        "scrollbar": "#4a525d",
        "scrollbar-hover": "#667080",
        "scrollbar-active": "#7aa2c8",
        "scrollbar-background": "#15171b",
    },
}

_DESK_LIGHT: dict[str, Any] = {
    "name": "desk-light",
    "dark": False,
    "primary": "#1d4f80",
    "secondary": "#5c564c",
    "accent": "#6e4400",
    "warning": "#6e4400",
    "error": "#9c2b18",
    "success": "#1b5e35",
    "foreground": "#2d2a26",
    "background": "#f3efe6",
    "surface": "#f8f5ee",
    "panel": "#eae5d9",
    "variables": {
        "desk-strong": "#14120f",
        "desk-muted": "#5c564c",
        "desk-rule": "#b0a898",
        "desk-head": "#1d4f80",
        "desk-pass": "#1b5e35",
        "desk-fail": "#9c2b18",
        "desk-warn": "#6e4400",
        "desk-note": "#5a2c96",
        "desk-cursor": "#dcd5c5",
        "desk-bar": "#e8e3d7",
        "desk-found": "#6e4400",
        "desk-string": "#2f5230",
        "desk-number": "#6e4400",
        "desk-name": "#0f4f70",
        "block-cursor-foreground": "#f8f5ee",
        "block-cursor-background": "#1d4f80",
        "block-cursor-blurred-background": "#dcd5c5",
        "footer-key-foreground": "#1d4f80",
        "input-selection-background": "#c3d3e2",
        "screen-selection-foreground": "#14120f",
        "screen-selection-background": "#cbd8e4",
        "scrollbar": "#b0a898",
        "scrollbar-hover": "#8f8778",
        "scrollbar-active": "#1d4f80",
        "scrollbar-background": "#f3efe6",
    },
}

_HIGH_CONTRAST: dict[str, Any] = {
    "name": "high-contrast",
    "primary": "#5fffff",
    "secondary": "#d0d0d0",
    "accent": "#ffff5f",
    "warning": "#ffff5f",
    "error": "#ff8787",
    "success": "#5fff5f",
    "foreground": "#ffffff",
    "background": "#000000",
    "surface": "#000000",
    "panel": "#000000",
    "variables": {
        "desk-strong": "#ffffff",
        "desk-muted": "#d0d0d0",
        "desk-rule": "#a0a0a0",
        "desk-head": "#5fffff",
        "desk-pass": "#5fff5f",
        "desk-fail": "#ff8787",
        "desk-warn": "#ffff5f",
        "desk-note": "#ff87ff",
        "desk-cursor": "#000000",
        "desk-cursor-style": "reverse",
        "desk-bar": "#1c1c1c",
        "desk-found": "#ffff5f",
        "desk-string": "#afffaf",
        "desk-number": "#ffd75f",
        "desk-name": "#87d7ff",
        "block-cursor-foreground": "#000000",
        "block-cursor-background": "#ffffff",
        "block-cursor-blurred-foreground": "#ffffff",
        "block-cursor-blurred-background": "#00405f",
        "footer-key-foreground": "#5fffff",
        "input-selection-foreground": "#000000",
        "input-selection-background": "#5fffff",
        "screen-selection-foreground": "#000000",
        "screen-selection-background": "#5fffff",
        "scrollbar": "#a0a0a0",
        "scrollbar-hover": "#ffffff",
        "scrollbar-active": "#5fffff",
        "scrollbar-background": "#1c1c1c",
    },
}
# On black, the common palettes have a red and a magenta that are hard to read unless bright.
_ON_BLACK = {
    "head": "cyan",
    "pass": "green",
    "fail": "bright_red",
    "warn": "yellow",
    "note": "bright_magenta",
    "found": "yellow",
    "number": "bright_magenta",
    "name": "cyan",
}
# On white, green, yellow and cyan cannot be read in the common palettes; blue and red can.
_ON_WHITE = {
    "pass": "blue",
    "fail": "red",
    "warn": "magenta",
    "note": "magenta",
    "found": "magenta",
    "number": "magenta",
    "name": "blue",
}


DESK = Theme(**_DESK)
DESK_LIGHT = Theme(**_DESK_LIGHT)
HIGH_CONTRAST = Theme(**_HIGH_CONTRAST)
_DEFAULT = "ansi_default"
_PAIRS = {
    "desk-cursor-style": "reverse",
    "input-cursor-foreground": _DEFAULT,
    "input-cursor-background": _DEFAULT,
    "input-cursor-text-style": "reverse",
    "input-selection-foreground": "ansi_black",
    "input-selection-background": "ansi_cyan",
    "screen-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_cyan",
}
"""Colours that read on any background: reversed for cursors, both set for selections."""


def _sixteen(base: Theme, inks: Mapping[str, str]) -> Theme:
    ours = {name: _DEFAULT for name in DESK.variables if name.startswith("desk-")}
    ours |= {f"desk-{ink}": f"ansi_{colour}" for ink, colour in inks.items()}
    return dataclasses.replace(base, variables={**base.variables, **ours, **_PAIRS})


ANSI_DARK = _sixteen(BUILTIN_THEMES["ansi-dark"], _ON_BLACK)
ANSI_LIGHT = _sixteen(BUILTIN_THEMES["ansi-light"], _ON_WHITE)
_PLAIN = _sixteen(BUILTIN_THEMES["ansi-dark"], {})
COLOURLESS = dataclasses.replace(
    _PLAIN, name="no-color", variables={**_PLAIN.variables, "scrollbar-background": _DEFAULT}
)
"""The theme for ``NO_COLOR``: every ink is the terminal's own colour."""
