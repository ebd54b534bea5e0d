"""The controller of the queue: moves, filter, order, blind review, search and jumps."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import SEARCH, Job
from reviewdesk.app.controllers.requests import FieldInput, OrderForm, PromptForm, QuestionForm
from reviewdesk.app.controllers.session import SearchHits, Session, uses_hidden
from reviewdesk.app.controllers.work.queue_reader import QueueReader
from reviewdesk.app.keys import completion
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters, search
from reviewdesk.domain.query.filter import parse_filter, parse_order
from reviewdesk.domain.query.tokens import HELP
from reviewdesk.domain.records import View
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import NotFoundError, ReviewDeskError
from reviewdesk.views.document import Tone
from reviewdesk.views.progress import waits


class QueueController:
    """Changes the queue; asks once before a blind session filters or orders by a hidden fact."""

    def __init__(self, core: Core, reader: QueueReader) -> None:
        """Act on the session of ``core``, whose queues ``reader`` reads."""
        self._core, self._reader = core, reader
        self._confirmed = False
        self._past: dict[str, list[str]] = {"filter": [], "find": []}

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {
            "next": self._next,
            "back": self._back,
            "item.next": partial(self.step, 1),
            "item.previous": partial(self.step, -1),
            "filter": self._filter,
            "order": self._order,
            "blind": self._blind,
            "blocker": self._blocker,
            "search": self._search,
            "search.next": partial(self._turn, 1),
            "search.previous": partial(self._turn, -1),
        }

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"filter": self.use, "order": self._use_order, "find": self._find, "go": self._jump}

    # moves

    def _next(self) -> None:
        self._core.review.next_undecided()
        self._core.show()

    def _back(self) -> None:
        if self._core.review.back():
            self._core.show()
        else:
            self._core.say_here("No item was seen before this one.")

    def _blocker(self) -> None:
        """Go to the item that most labels wait behind; from there, to the next such item."""
        core, item = self._core, self._core.session.item
        found = core.figures.blockers
        if not found:
            core.say_here("No labels wait behind an undecided item.")
            return
        keys = [one.key for one in found]
        here = None if item is None else item.row.key
        at = keys.index(here) + 1 if here in keys else 0
        one = found[at % len(found)]
        core.review.goto(one.key)
        core.show()
        (before, name, after) = waits([one])[0]
        core.say_here(f"{before}{show_line(name, 80)}{after}", Tone.NOTE)

    def step(self, by: int) -> None:
        """Move by rows of the queue, decided ones included."""
        if self._core.review.step(by):
            self._core.show()

    def choose_row(self, index: int) -> None:
        """Show the item in a row of the queue; the row of the current item opens it."""
        if index == self._core.session.index and self._core.panes.alone:
            self._core.choose("item")
            return
        self._core.review.show(index)
        self._core.show()

    def _jump(self, target: str) -> None:
        """Go to a row of the queue by its number, or to a verdict by its id."""
        core, keys = self._core, self._core.session.keys
        if not core.review.when_whole(partial(self._jump, target)):
            return
        if target.isdecimal() and 0 < int(target) <= len(keys):
            core.review.show(int(target) - 1)
        else:
            try:
                core.review.goto(core.desk.find(core.session.run, target))
            except NotFoundError as error:
                rows = f"The queue has {len(keys):,} rows; an id is written in full."
                raise NotFoundError(error.message, rows) from error
        core.show()

    # filter, order, blind

    def _filter(self) -> None:
        core = self._core
        form = PromptForm(
            "Filter the queue",
            core.session.view.filter,
            check=lambda text: parse_filter(filters.expand(core.desk, text)),
            complete=completion.argument_completers(core.desk, core.session)["filter"],
            rule=HELP,
            past=self._past["filter"],
            replaces=True,
        )
        self._reader.warm()
        core.ask(form, partial(self._take, "filter", self.use))

    def _take(self, kind: str, use: Callable[[str], None], answer: FieldInput | None) -> None:
        """Store what was typed for recall with arrow up; use it if it was submitted."""
        if answer is not None:
            if answer.text:
                self._past[kind].append(answer.text)
            if answer.given:
                use(answer.text)

    def use(self, text: str) -> None:
        """Filter the queue by ``text``, in which ``@NAME`` stands for a saved filter."""
        text = filters.expand(self._core.desk, text)
        parse_filter(text)
        self._requery(replace(self._core.session.view, filter=text))

    def _order(self) -> None:
        view, use = self._core.session.view, self._use_order
        self._reader.warm()
        self._core.ask(OrderForm(view.order, view.blind), lambda order: order and use(order))

    def _use_order(self, order: str) -> None:
        parse_order(order)
        self._requery(replace(self._core.session.view, order=order))

    def _blind(self) -> None:
        view = self._core.session.view
        self._requery(replace(view, blind=not view.blind))

    def _requery(self, view: View) -> None:
        """Change the queue; ask first, once, if a blind session would follow a hidden fact."""
        core = self._core
        if not view.blind or self._confirmed or not uses_hidden(view.filter, view.order):
            self._apply(view)
            return

        def answered(answer: bool | None) -> None:
            if answer:
                self._confirmed = True
                self._apply(view)
            else:
                core.say("kept as it was", Tone.MUTED)

        question = "This filter or order follows what blind review hides. Use it?"
        reason = "Labels given under it are recorded as not blind."
        core.ask(QuestionForm(question, reason), answered)

    def _apply(self, view: View) -> None:
        """Read another queue in the background; blind review begins and ends at once."""
        core = self._core
        if view.blind == core.session.view.blind:
            core.say("reading the queue …", Tone.MUTED)
            self._reader.read(view, lambda: core.say(_size_notice(core.session)))
            return
        try:
            core.review.set_blind(view.blind)
        finally:
            core.show(rows=True)
        core.say(mode_notice(view.blind, core.review.exposure.seen), Tone.NOTE)
        core.recalibrate()

    # search

    def _search(self) -> None:
        found = self._core.session.found
        form = PromptForm(
            "Search",
            found.text if found else "",
            hint='words that must all occur, each as a beginning; "quoted words" as they stand',
            past=self._past["find"],
            replaces=True,
        )
        self._core.ask(form, partial(self._take, "find", self._find))

    def _find(self, text: str) -> None:
        """Search for ``text``, and go to the first hit at or after the current row."""
        core, session = self._core, self._core.session
        if not text:
            core.review.found(None)
            core.say("nothing is searched for", Tone.MUTED)
            core.show(keep=True)
            return
        core.say("searching …", Tone.MUTED)
        keys = session.keys

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                core.complain(error)
            elif isinstance(found, SearchHits):
                core.review.found(found, keys)
                self._turn(0)

        work = partial(_search, session, text)
        core.jobs.runner.start(Job(SEARCH, work, ended, fault="nothing searched"))

    def _turn(self, by: int) -> None:
        core, session = self._core, self._core.session
        found = session.found
        if found is None:
            key = core.keys.first("search")
            core.say(f"nothing was searched for yet: {key} searches", Tone.MUTED)
            return
        if not found.places:
            core.say(_search_notice(found, None), Tone.WARN)
            core.show(keep=True)
            return
        here = -1 if session.index is None else session.index
        place = bisect_left(found.places, here) if by <= 0 else bisect_right(found.places, here)
        place = (place - 1 if by < 0 else place) % len(found.places)
        core.review.show(found.places[place])
        core.show(seek=True)
        core.say_here(_search_notice(found, place), Tone.NOTE)


def mode_notice(blind: bool, seen: int) -> str:
    """Return the notice for a switch to open or blind review, after ``seen`` items were seen."""
    if not blind:
        return "open"
    if not seen:
        return "blind: the panel's answers are hidden until you label"
    items = "1 item" if seen == 1 else f"{seen:,} items"
    return f"blind: hidden until you label; labels on {items} seen before are not blind"


def _size_notice(session: Session) -> str:
    return f"{session.size} verdict{'' if len(session.keys) == 1 else 's'} in the queue"


def _search(session: Session, text: str, desk: Desk, _report: object) -> SearchHits:
    """Return the hits of a search, placed in the session's queue."""
    keys = search.find(desk, session.run, text, blind=session.view.blind)
    share, words = search.indexed(desk, session.run), tuple(search.words(text))
    return SearchHits(text, words, keys, array("q"), share).placed(session.keys)


def _search_notice(found: SearchHits, place: int | None) -> str:
    """Return the search notice: the hits, the current one, and how much of the run is indexed."""
    text, more = show_line(found.text, 80), ""
    if found.share < 1:
        more = f" · {found.share:.0%} of the run is indexed so far"
    outside = len(found.keys) - len(found.places)
    if outside:
        more = f" · {outside:,} outside this filter{more}"
    if place is None:
        return f"nothing found for {text}{more}"
    return f"{place + 1:,} of {len(found.places):,} with {text}{more}"
