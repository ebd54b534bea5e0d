"""One frozen value of where a reviewer stands in a run."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import Enum, auto

from reviewdesk.domain.query.filter import MIXED, hidden_order, parse_filter
from reviewdesk.domain.records import Item, Progress, Run, View
from reviewdesk.settings import Feedback


class Page(Enum):
    """What the item pane shows."""

    ITEM = auto()
    DONE = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What a search found: the words to show and the places in the queue, ascending."""

    text: str
    words: tuple[str, ...]
    keys: frozenset[int]
    places: tuple[int, ...]
    share: float
    """How much of the run was indexed when it was asked."""


@dataclass(frozen=True, slots=True)
class Session:
    """Run, view, queue, current item and counts. ``index`` is ``None`` outside the queue."""

    run: Run
    view: View
    keys: array[int]
    progress: Progress
    index: int | None = None
    item: Item | None = None
    page: Page = Page.ITEM
    feedback: Feedback = Feedback.AFTER
    told: bool = False
    """Whether the end has come that ``Feedback.END`` waits for."""
    found: SearchHits | None = None

    @property
    def hidden(self) -> bool:
        """Whether the current item's panel must not be told."""
        item = self.item
        if not self.view.blind or item is None or item.revealed_at is not None:
            return False
        return item.row.label is None or self.withheld

    @property
    def withheld(self) -> bool:
        """Whether a blind session keeps the panel's answers back even after a label."""
        if not self.view.blind or self.feedback is Feedback.AFTER:
            return False
        return self.feedback is Feedback.NEVER or not self.told

    @property
    def order(self) -> str:
        """The order the desk is asked for: blind, the draw does not tell the strata apart."""
        return effective_order(self.view)

    @property
    def hidden_query(self) -> bool:
        """Whether the filter or the order follows a fact that blind review hides."""
        return uses_hidden(self.view.filter, self.view.order)


def effective_order(view: View) -> str:
    """``draw`` becomes ``mix`` in a blind session, the direction kept."""
    if view.blind and view.order.removeprefix("-") == "draw":
        return view.order.replace("draw", MIXED)
    return view.order


def uses_hidden(filter_text: str, order: str) -> bool:
    """Whether a filter or an order follows a hidden fact; raises ``FilterError``."""
    return parse_filter(filter_text).hidden or hidden_order(order)
