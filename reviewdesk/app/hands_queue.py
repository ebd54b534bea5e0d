"""What changes the queue: filter, order and blind review, and the one question about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewdesk.app.screens.dialogs import FilterDialog, OrderDialog, Question
from reviewdesk.app.session import uses_hidden
from reviewdesk.app.themes import Ink
from reviewdesk.domain.queue import parse_filter
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen


class QueueHands:
    """Filters, orders and hides; in a blind session a hidden fact is asked about once."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        self._asked = False

    def filter(self) -> None:
        """Ask for a filter and apply it."""
        view = self._screen.session.view
        self._screen.app.push_screen(FilterDialog(view.filter, parse_filter), self._filtered)

    def _filtered(self, text: str | None) -> None:
        if text is not None:
            self._requery(lambda: self._screen.sitting.reorder(filter_text=text), text, None)

    def order(self) -> None:
        """Ask for an order and apply it."""
        order = self._screen.session.view.order
        self._screen.app.push_screen(OrderDialog(order), self._ordered)

    def _ordered(self, order: str | None) -> None:
        if order is not None:
            self._requery(lambda: self._screen.sitting.reorder(order=order), None, order)

    def blind(self) -> None:
        """Turn blind review on or off."""
        blind = not self._screen.session.view.blind
        self._requery(lambda: self._screen.sitting.set_blind(blind), None, None, blind=blind)

    def _requery(
        self,
        change: Callable[[], None],
        text: str | None,
        order: str | None,
        *,
        blind: bool | None = None,
    ) -> None:
        """Change the queue; in a blind session a hidden fact in it is asked about once."""
        view = self._screen.session.view
        text, order = view.filter if text is None else text, order or view.order
        becomes_blind = view.blind if blind is None else blind
        if not becomes_blind or self._asked or not self._hidden(text, order):
            self._apply(change)
            return
        question = Question(
            "This filter or order follows what blind review hides. Use it?",
            "Labels given under it are recorded as not blind.",
        )

        def answered(answer: bool | None) -> None:
            if answer:
                self._asked = True
                self._apply(change)
            else:
                self._screen.say("kept as it was", Ink.MUTED)

        self._screen.app.push_screen(question, answered)

    def _hidden(self, text: str, order: str) -> bool:
        try:
            return uses_hidden(text, order)
        except ReviewDeskError as error:
            self._screen.complain(error)
            return False

    def _apply(self, change: Callable[[], None]) -> None:
        screen, before = self._screen, self._screen.session.view
        try:
            change()
        except ReviewDeskError as error:
            screen.complain(error)
            return
        now = screen.session.view
        if now.blind != before.blind:
            text = "blind: the panel's answers are hidden until you label" if now.blind else "open"
            screen.say(text, Ink.NOTE)
        else:
            count = len(screen.session.keys)
            screen.say(f"{count:,} verdict{'' if count == 1 else 's'} in the queue")
        screen.show(rows=True)
