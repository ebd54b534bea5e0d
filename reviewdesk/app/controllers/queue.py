"""The controller of the queue: filter, order, blind review, search and jumps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.session import SearchHits, uses_hidden
from reviewdesk.app.keys.completion import argument_completers
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.dialogs import OrderDialog, Question
from reviewdesk.app.screens.prompt import FieldInput, PromptField
from reviewdesk.app.theme.inks import Ink
from reviewdesk.desk.review import filters, search
from reviewdesk.domain.query.filter import parse_filter, parse_order
from reviewdesk.domain.query.tokens import EXAMPLE, RULE
from reviewdesk.errors import NotFoundError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen


class QueueController:
    """Changes the queue; asks once before a blind session filters or orders by a hidden fact."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        self._confirmed = False
        self._past: dict[str, list[str]] = {"filter": [], "find": []}

    def verbs(self) -> dict[str, Callable[[], None]]:
        """Return the methods that carry out this controller's actions, by action id."""
        return {
            "filter": self.filter,
            "order": self.order,
            "blind": self.blind,
            "search": self._search,
            "search.next": partial(self._turn, 1),
            "search.previous": partial(self._turn, -1),
        }

    def commands(self) -> dict[str, Callable[[str], None]]:
        """Return the methods that carry out this controller's commands, by command name."""
        return {"filter": self.use, "order": self._order_now, "find": self._find, "go": self._jump}

    # filter, order, blind

    def filter(self) -> None:
        """Ask for a filter and apply it."""
        screen, desk = self._screen, self._screen.review_session.desk
        view = screen.session.view
        dialog = PromptField(
            "Filter the queue",
            view.filter,
            check=lambda text: parse_filter(filters.expand(desk, text)),
            complete=argument_completers(screen.review_session)["filter"],
            rule=f"{RULE}: {EXAMPLE}",
            past=self._past["filter"],
            replaces=True,
        )
        screen.desk_app.ask(dialog, self._take_filter)

    def _take_filter(self, answer: FieldInput | None) -> None:
        if answer is None or not self._keep("filter", answer):
            return
        try:
            self.use(answer.text)
        except ReviewDeskError as error:
            self._screen.complain(error)

    def _keep(self, kind: str, answer: FieldInput) -> bool:
        """Store the typed text for recall with arrow up; return True if it was submitted."""
        if answer.text:
            self._past[kind].append(answer.text)
        return answer.given

    def use(self, text: str) -> None:
        """Filter the queue by ``text``, in which ``@NAME`` stands for a saved filter."""
        text = filters.expand(self._screen.review_session.desk, text)
        parse_filter(text)
        self._requery(lambda: self._screen.review_session.reorder(filter_text=text), text, None)

    def order(self) -> None:
        """Ask for an order and apply it."""
        view = self._screen.session.view
        self._screen.desk_app.ask(OrderDialog(view.order, blind=view.blind), self._take_order)

    def _take_order(self, order: str | None) -> None:
        if order is not None:
            self._order_now(order)

    def _order_now(self, order: str) -> None:
        parse_order(order)
        self._requery(lambda: self._screen.review_session.reorder(order=order), None, order)

    def blind(self) -> None:
        """Turn blind review on or off."""
        blind = not self._screen.session.view.blind
        self._requery(lambda: self._screen.review_session.set_blind(blind), None, None, blind=blind)

    def _requery(
        self,
        change: Callable[[], None],
        text: str | None,
        order: str | None,
        *,
        blind: bool | None = None,
    ) -> None:
        """Change the queue; ask first, once, if a blind session would follow a hidden fact."""
        view = self._screen.session.view
        text, order = view.filter if text is None else text, order or view.order
        becomes_blind = view.blind if blind is None else blind
        if not becomes_blind or self._confirmed or not uses_hidden(text, order):
            self._apply(change)
            return
        question = Question(
            "This filter or order follows what blind review hides. Use it?",
            "Labels given under it are recorded as not blind.",
        )

        def answered(answer: bool | None) -> None:
            if answer:
                self._confirmed = True
                self._apply(change)
            else:
                self._screen.say("kept as it was", Ink.MUTED)

        self._screen.desk_app.ask(question, answered)

    def _apply(self, change: Callable[[], None]) -> None:
        screen, before = self._screen, self._screen.session.view
        try:
            change()
        except ReviewDeskError as error:
            # The queue may have changed although saving the view failed. It is drawn anew, because
            # a label key must mean the item on screen.
            screen.show(rows=True)
            screen.complain(error)
            return
        now = screen.session.view
        if now.blind != before.blind:
            screen.say(mode_notice(now.blind, screen.review_session.exposure.seen), Ink.NOTE)
            screen.recalibrate()
        else:
            count = len(screen.session.keys)
            screen.say(f"{count:,} verdict{'' if count == 1 else 's'} in the queue")
        screen.show(rows=True)

    # search and jumps

    def _search(self) -> None:
        found = self._screen.session.found
        prompt = PromptField(
            "Search",
            found.text if found else "",
            hint='words that must all occur, each as a beginning; "quoted words" as they stand',
            past=self._past["find"],
            replaces=True,
        )
        self._screen.desk_app.ask(prompt, self._take_search)

    def _take_search(self, answer: FieldInput | None) -> None:
        if answer is None or not self._keep("find", answer):
            return
        try:
            self._find(answer.text)
        except ReviewDeskError as error:
            self._screen.complain(error)

    def _find(self, text: str) -> None:
        """Search for ``text``, and go to the first hit at or after the current row."""
        screen = self._screen
        review_session, session = screen.review_session, screen.session
        if not text:
            review_session.found(None)
            screen.say("nothing is searched for", Ink.MUTED)
            screen.show(keep=True)
            return
        keys = search.find(review_session.desk, session.run, text, blind=session.view.blind)
        share = search.indexed(review_session.desk, session.run)
        words = tuple(search.words(text))
        review_session.found(SearchHits(text, words, frozenset(keys), (), share))
        self._turn(0)

    def _turn(self, by: int) -> None:
        screen = self._screen
        session, found = screen.session, screen.session.found
        if found is None:
            key = screen.desk_app.keymap.first("search")
            screen.say(f"nothing was searched for yet: {key} searches", Ink.MUTED)
            return
        if not found.places:
            screen.say(_search_notice(found, None), Ink.WARN)
            screen.show(keep=True)
            return
        here = -1 if session.index is None else session.index
        last = len(found.places)
        place = bisect_left(found.places, here) if by <= 0 else bisect_right(found.places, here)
        place = (place - 1 if by < 0 else place) % last
        screen.review_session.show(found.places[place])
        screen.show(find=True)
        screen.say_here(_search_notice(found, place), Ink.NOTE)

    def _jump(self, target: str) -> None:
        """Go to a row of the queue by its number, or to a verdict by its id."""
        review_session, keys = self._screen.review_session, self._screen.session.keys
        if target.isdecimal() and 0 < int(target) <= len(keys):
            review_session.show(int(target) - 1)
        else:
            try:
                review_session.goto(review_session.desk.find(self._screen.session.run, target))
            except NotFoundError as error:
                rows = f"The queue has {len(keys):,} rows; an id is written in full."
                raise NotFoundError(error.message, rows) from error
        self._screen.show()


def mode_notice(blind: bool, seen: int) -> str:
    """Return the notice for a switch to open or blind review, after ``seen`` items were seen."""
    if not blind:
        return "open"
    if not seen:
        return "blind: the panel's answers are hidden until you label"
    items = "1 item" if seen == 1 else f"{seen:,} items"
    return f"blind: hidden until you label; labels on {items} seen before are not blind"


def _search_notice(found: SearchHits, place: int | None) -> str:
    """Return the search notice: the hits, the current one, and how much of the run is indexed."""
    text, more = inline(found.text, 80), ""
    if found.share < 1:
        more = f" · {found.share:.0%} of the run is indexed so far"
    outside = len(found.keys) - len(found.places)
    if outside:
        more = f" · {outside:,} outside this filter{more}"
    if place is None:
        return f"nothing found for {text}{more}"
    return f"{place + 1:,} of {len(found.places):,} with {text}{more}"
