"""The frozen state of a review session, which the screen draws."""

from __future__ import annotations

from array import array
from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.query.filter import MIXED, hidden_order, parse_filter
from reviewdesk.domain.query.places import places_of
from reviewdesk.domain.records import Item, Progress, Run, View
from reviewdesk.settings import Feedback


class Page(Enum):
    """What the item pane shows."""

    ITEM = auto()
    DONE = auto()
    NOTHING = auto()
    READING = auto()


class SearchHits(Struct, frozen=True):
    """The hits of a search: the words to highlight, and ascending places in the queue."""

    text: str
    words: tuple[str, ...]
    keys: array[int]
    places: array[int]
    share: float
    """The share of the run that was indexed at the time of the search, from 0 to 1."""

    def placed(self, keys: array[int]) -> SearchHits:
        """Return the hits with their places in a queue."""
        return replace(self, places=places_of(keys, self.keys))


class Session(Struct, frozen=True, eq=False):
    """The run, view, queue, current item and counts; ``index`` is ``None`` outside the queue.

    Until the queue is ``whole``, ``keys`` are only its first page, or nothing.
    """

    run: Run
    view: View
    keys: array[int]
    progress: Progress
    whole: bool = True
    index: int | None = None
    item: Item | None = None
    page: Page = Page.ITEM
    feedback: Feedback = Feedback.AFTER
    told: bool = False
    """Whether the queue was finished, after which ``Feedback.END`` shows the panel's answers."""
    found: SearchHits | None = None
    chosen: frozenset[int] = frozenset()
    """The verdicts that are selected, to be labelled together."""

    @property
    def size(self) -> str:
        """The number of verdicts in the queue, as text."""
        if self.whole:
            return f"{len(self.keys):,}"
        return "…" if self.view.filter else f"{self.run.verdicts:,}"

    @property
    def hidden(self) -> bool:
        """Whether the panel's answer to the current item must stay hidden."""
        item = self.item
        if not self.view.blind or item is None or item.revealed_at is not None:
            return False
        return item.row.label is None or self.withheld

    @property
    def answered(self) -> bool:
        """Whether there is a panel's answer to show: that to the current item, unless hidden."""
        return self.item is not None and not self.hidden

    @property
    def withheld(self) -> bool:
        """Whether a blind session hides the panel's answers even after a label."""
        if not self.view.blind or self.feedback is Feedback.AFTER:
            return False
        return self.feedback is Feedback.NEVER or not self.told

    @property
    def order(self) -> str:
        """The queue's order; a blind session replaces the draw, which would reveal the strata."""
        return effective_order(self.view)

    @property
    def hidden_query(self) -> bool:
        """Whether the filter or the order uses a fact that blind review hides."""
        return uses_hidden(self.view.filter, self.view.order)


def effective_order(view: View) -> str:
    """Return the view's order; a blind session uses ``mix`` for ``draw``, in either direction."""
    if view.blind and view.order.removeprefix("-") == "draw":
        return view.order.replace("draw", MIXED)
    return view.order


def uses_hidden(filter_text: str, order: str) -> bool:
    """Return True if a filter or order uses a hidden fact; raise FilterError if it is wrong."""
    return parse_filter(filter_text).hidden or hidden_order(order)
