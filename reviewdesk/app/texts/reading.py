"""How the reviewer wants texts drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The reviewer's choices for the texts of an item; the text itself is the same in all."""

    wrap: bool = True
    """Fold long lines, or leave them whole for a pane that scrolls sideways."""
    plain: bool = False
    """The text as it stands, without inks and without indenting it for reading."""
    beside: bool = True
    """Response and alternative in two columns where the pane is wide enough."""
    page: int = 0
    """Which page of the texts that are longer than one; a shorter text shows its last."""
    find: tuple[str, ...] = ()
    """Words to highlight."""
