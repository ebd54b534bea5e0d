"""The colours of our themes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

from reviewdesk.app.theme import palettes

DESK = Theme(**palettes.DESK)
DESK_LIGHT = Theme(**palettes.DESK_LIGHT)
HIGH_CONTRAST = Theme(**palettes.HIGH_CONTRAST)
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
    """Return a 16-colour theme of Textual's with these inks; all others are the terminal's own."""
    ours = {name: _DEFAULT for name in DESK.variables if name.startswith("desk-")}
    ours |= {f"desk-{ink}": f"ansi_{colour}" for ink, colour in inks.items()}
    return dataclasses.replace(base, variables={**base.variables, **ours, **_PAIRS})


ANSI_DARK = _sixteen(BUILTIN_THEMES["ansi-dark"], palettes.ANSI_DARK)
ANSI_LIGHT = _sixteen(BUILTIN_THEMES["ansi-light"], palettes.ANSI_LIGHT)
_PLAIN = _sixteen(BUILTIN_THEMES["ansi-dark"], {})
COLOURLESS = dataclasses.replace(
    _PLAIN, name="no-color", variables={**_PLAIN.variables, "scrollbar-background": _DEFAULT}
)
"""The theme for ``NO_COLOR``: every ink is the terminal's own colour."""
