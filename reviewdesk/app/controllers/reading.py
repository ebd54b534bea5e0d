"""The controllers of what is in view and how: the panes, and how an item's texts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.requests import Jump
from reviewdesk.app.controllers.state import LEAST, WIDE, Panes
from reviewdesk.app.texts.layout import FOLDS, TITLE
from reviewdesk.domain.records import Item
from reviewdesk.views.document import Tone
from reviewdesk.views.verdict import FIGURES, REASONS

_STEP = 4
"""The columns by which one key press widens or narrows a pane."""


class PaneController:
    """Moves between the panes, and changes their widths."""

    def __init__(self, core: Core, unfold: Callable[[], None]) -> None:
        """Act on the panes of ``core``; ``unfold`` opens what the last of them folds."""
        self._core = core
        self._unfold = unfold
        self.verbs: dict[str, Callable[[], None]] = {
            "deeper": partial(self._shift, 1),
            "shallower": partial(self._shift, -1),
            "pane.next": partial(self._shift, -1, around=True),
            "pane.previous": partial(self._shift, 1, around=True),
            "pane.wider": partial(self._resize, _STEP),
            "pane.narrower": partial(self._resize, -_STEP),
            "pane.default": self._reset,
            "zoom": self._zoom,
        }

    def _shift(self, by: int, *, around: bool = False) -> None:
        """Give the keys to the pane one level deeper or back."""
        panes = self._core.panes
        if by < 0 and not around and self._core.session.chosen:
            self._core.review.choose(frozenset())
        elif name := panes.beside(by, around=around):
            self._core.choose(name)
        elif by > 0:
            self._unfold()

    def _zoom(self) -> None:
        panes = self._core.panes
        if not panes.wide and not panes.zoomed:
            self._core.say("the pane has the whole screen already", Tone.MUTED)
        else:
            self._core.arrange(replace(panes, zoomed=not panes.zoomed))

    def entered(self, name: str) -> None:
        panes = self._core.panes
        if name in panes.names and not panes.alone and name != panes.current:
            self._core.choose(name)

    # the widths

    def _resize(self, by: int) -> None:
        """Widen or narrow the pane with the keys; the item takes from the jury, then the queue."""
        core = self._core
        panes = self._core.panes
        if panes.alone:
            why = (
                "it is zoomed" if panes.wide else f"from {WIDE} columns on panes stand side by side"
            )
            core.say_here(f"the pane has the whole screen: {why}")
            return
        name = panes.current
        columns = panes.columns
        if name == "item":
            can_give = "jury" in columns and (by < 0 or columns["jury"] > LEAST["jury"])
            made = self._sized(panes, "jury" if can_give else "queue", -by)
        else:
            made = self._sized(panes, name, by)
        core.arrange(made)
        if made.columns == columns:
            core.say_here(f"the {name} cannot be {'wider' if by > 0 else 'narrower'} here")
        else:
            back = core.keys.first("pane.default")
            core.say_here(f"the {name} has {made.columns[name]} columns; {back} sets all back")

    def _sized(self, panes: Panes, name: str, by: int) -> Panes:
        return panes.sized(name, panes.columns[name] + by)

    def drag(self, name: str, column: int) -> None:
        """Move the rule at the left of the pane ``name`` to a column of the screen."""
        panes = self._core.panes
        if panes.alone:
            return
        if name == "item":
            self._core.arrange(panes.sized("queue", column))
        elif panes.answer:
            self._core.arrange(panes.sized("jury", panes.width - 1 - column))

    def _reset(self) -> None:
        self._core.arrange(replace(self._core.panes, queue=None, jury=None))
        self._core.say_here("the panes have their default widths")


JURY = FIGURES | {REASONS}
_FOLDED_TEXTS = {TITLE: "name", "rubric": "rubric", "input": "input", "reference": "reference"}


class ReadingController:
    """Turns the pages of long texts, and the options of how texts are drawn."""

    def __init__(self, core: Core, pages: Callable[[Item], int]) -> None:
        """Act on the texts of ``core``; ``pages`` counts the pages of an item's longest text."""
        self._core = core
        self._pages = pages

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        core = self._core
        return {
            "text.next": partial(self._page, 1),
            "text.previous": partial(self._page, -1),
            "jury.whole": self._unfold_jury,
            "unfold": self._unfold_texts,
            "part.next": lambda: core.requests.append(Jump(1)),
            "part.previous": lambda: core.requests.append(Jump(-1)),
        }

    def _page(self, by: int) -> None:
        core = self._core
        item = self._core.session.item
        last = 0 if item is None else self._pages(item) - 1
        if last < 1:
            core.say_here("no text here is longer than a page")
            return
        page = max(0, min(core.reading.page + by, last))
        if item is not None and page != core.reading.page:
            core.start += 1
            core.seen.turn_to(core.seen.paged(item))
        core.reading = replace(core.reading, page=page)
        core.say_here(f"page {page + 1} of {last + 1}")

    def _unfold_jury(self) -> None:
        """Show every reason and figure of the jury, or fold them again."""
        core = self._core
        if core.session.hidden:
            reveal = core.keys.first("reveal")
            core.say_here(f"the panel's answer is hidden until you label; {reveal} reveals it")
            return
        opened = core.reading.open_sections
        folds = opened >= JURY
        core.reading = replace(
            core.reading, open_sections=opened - JURY if folds else opened | JURY
        )
        core.say("the jury in short" if folds else "the jury in full", Tone.MUTED)

    def _unfold_texts(self) -> None:
        """Show the kinds of text that are folded in view whole, or fold all kinds again.

        What is not long here keeps folding where it is: one long input must not open every rubric.
        """
        core = self._core
        item = self._core.session.item
        opened = core.reading.open_sections
        found = frozenset() if item is None else core.seen.folded(item)
        if not found and not opened & FOLDS:
            core.say_here("no text folds here")
            return
        core.reading = replace(
            core.reading, open_sections=opened | found if found else opened - FOLDS
        )
        names = " and ".join(word for name, word in _FOLDED_TEXTS.items() if name in found)
        core.say(
            f"shown whole where it is long: {names}" if found else "long texts fold", Tone.MUTED
        )
