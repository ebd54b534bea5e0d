"""The names of the themes, for settings, commands and the palette."""

from __future__ import annotations

THEMES = {
    "desk": "dark",
    "desk-light": "paper",
    "ansi-dark": "16 colours on black",
    "ansi-light": "16 colours on white",
    "high-contrast": "black and white",
}
"""The themes that the palette offers, with a description of each. The default comes first."""
