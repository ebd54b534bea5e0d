"""Inks: the semantic styles that the painters name, and the themes that give them colours."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from textual.color import Color
from textual.style import Style
from textual.theme import Theme


class Ink(StrEnum):
    """What a piece of text means; the theme decides how that looks."""

    TEXT = ""
    STRONG = "strong"
    MUTED = "muted"
    RULE = "rule"
    HEAD = "head"
    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    NOTE = "note"
    KEY = "key"
    BIG_PASS = "big-pass"
    BIG_FAIL = "big-fail"
    BIG_WARN = "big-warn"


_VARIABLES = {
    Ink.STRONG: "desk-strong",
    Ink.MUTED: "desk-muted",
    Ink.RULE: "desk-rule",
    Ink.HEAD: "desk-head",
    Ink.PASS: "desk-pass",
    Ink.FAIL: "desk-fail",
    Ink.WARN: "desk-warn",
    Ink.NOTE: "desk-note",
    Ink.KEY: "desk-head",
    Ink.BIG_PASS: "desk-pass",
    Ink.BIG_FAIL: "desk-fail",
    Ink.BIG_WARN: "desk-warn",
}
_BOLD = frozenset({Ink.STRONG, Ink.HEAD, Ink.BIG_PASS, Ink.BIG_FAIL, Ink.BIG_WARN, Ink.KEY})
_BLOCK = frozenset({Ink.BIG_PASS, Ink.BIG_FAIL, Ink.BIG_WARN})
_FAINT = frozenset({Ink.MUTED, Ink.RULE})

DESK = Theme(
    name="desk",
    primary="#7aa2c8",
    secondary="#8f9fb3",
    accent="#d9b36c",
    warning="#e0b25c",
    error="#e58a7b",
    success="#8fc9a0",
    foreground="#dcdfe4",
    background="#14171c",
    surface="#191d24",
    panel="#21262f",
    variables={
        "desk-strong": "#f4f6f8",
        "desk-muted": "#8b95a3",
        "desk-rule": "#3a424e",
        "desk-head": "#9db9d6",
        "desk-pass": "#8fc9a0",
        "desk-fail": "#f0917f",
        "desk-warn": "#e0b25c",
        "desk-note": "#b9a7dc",
        "desk-cursor": "#2c3543",
        "desk-bar": "#1d222a",
        "footer-key-foreground": "#9db9d6",
        "scrollbar": "#3a424e",
        "scrollbar-hover": "#566173",
        "scrollbar-active": "#7aa2c8",
        "scrollbar-background": "#14171c",
        "scrollbar-background-hover": "#14171c",
        "scrollbar-background-active": "#14171c",
    },
)

_ANSI = {
    "desk-strong": "ansi_default",
    "desk-muted": "ansi_default",
    "desk-rule": "ansi_default",
    "desk-head": "ansi_cyan",
    "desk-pass": "ansi_green",
    "desk-fail": "ansi_red",
    "desk-warn": "ansi_yellow",
    "desk-note": "ansi_magenta",
    "desk-cursor": "ansi_default",
    "desk-bar": "ansi_default",
}


THEMES = ("desk", "ansi-dark", "ansi-light")
"""The themes that the palette offers, the default first."""


def variable_defaults(*, ansi: bool) -> dict[str, str]:
    """Values of our variables for themes that do not set them."""
    if ansi:
        return dict(_ANSI)
    return {name: value for name, value in DESK.variables.items() if name.startswith("desk-")}


def ink_styles(variables: Mapping[str, str], *, ansi: bool) -> dict[str, Style]:
    """Every ink as a style. Without colours of its own, a 16-colour theme dims what is faint."""
    styles: dict[str, Style] = {Ink.TEXT.value: Style.null()}
    for ink, variable in _VARIABLES.items():
        styles[ink.value] = Style(
            foreground=Color.parse(variables[variable]),
            bold=True if ink in _BOLD else None,
            dim=True if ansi and ink in _FAINT else None,
            reverse=True if ink in _BLOCK else None,
        )
    return styles
