"""The reviewer's choices for how texts are drawn."""

from __future__ import annotations

from msgspec import Struct

TITLE = "title"
FOLDS = frozenset({TITLE, "rubric", "input", "reference"})
"""The sections of an item that fold where they are long."""


class ReadingOptions(Struct, frozen=True):
    """The reviewer's choices for drawing an item's texts. They never change the text itself."""

    wrap: bool = True
    """Whether long lines are folded. Otherwise they stay whole, and the pane scrolls sideways."""
    plain: bool = False
    """Whether a text is shown as it is, without inks and without indentation for reading."""
    beside: bool = True
    """Whether response and alternative stand in two columns where the pane is wide enough."""
    page: int = 0
    """The page to show, counted from 0. A text with fewer pages shows its last."""
    open_sections: frozenset[str] = frozenset()
    """What does not fold: long texts of the item, and reasons and figures of the jury, by name."""
    find: tuple[str, ...] = ()
    """Words to highlight."""
