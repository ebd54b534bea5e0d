"""The controller of the queue: reading it, moves, filter, order, blind review, search and jumps."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import REVIEW, Core, opening_text
from reviewdesk.app.controllers.jobs import COLUMNS, QUEUE, SEARCH, Job, Report
from reviewdesk.app.controllers.requests import (
    Choice,
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
    QuestionForm,
)
from reviewdesk.app.controllers.session import ReviewSession
from reviewdesk.app.controllers.state import SearchHits, Session, effective_order, uses_hidden
from reviewdesk.app.keys import commands as completion
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters, queue, search
from reviewdesk.domain.query.filter import ORDERS, hidden_order, parse_filter, parse_order
from reviewdesk.domain.query.tokens import HELP
from reviewdesk.domain.query.words import ORDERS as ORDER_WORDS
from reviewdesk.domain.records import Run, View
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import Cancelled, NotFoundError, ReviewDeskError, UsageError
from reviewdesk.views.document import Tone
from reviewdesk.views.progress import waits


class QueueReader:
    """Reads the queue of a view in a worker: its first page, and then the whole."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._review: ReviewSession | None = None
        self._wanted: View | None = None
        """The view whose queue was asked for last, until it is there."""
        self._opening: tuple[View, str] | None = None
        """The view and the notice that the session was opened with, until its queue is whole."""
        self._held: list[tuple[str, float]] = []
        """The actions that wait for the queue, each with the time at which its key was pressed."""

    def follow(self) -> None:
        """Read what is missing of the session's queue, unless that is under way."""
        core = self._core
        session = self._core.session
        if self._review is not core.review:
            self._review = core.review
            self._wanted = None
            self._opening = session.view, core.notices[REVIEW].text
            core.jobs.runner.cancel(QUEUE)
        if not session.whole and self._wanted != session.view:
            self.read(session.view)

    def read(self, view: View, then: Callable[[], object] = lambda: None) -> None:
        """Read the queue of a view; ``then`` is called once all of it is there."""
        core = self._core
        run = self._core.session.run
        self._wanted = view

        def ended(keys: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                self._failed(view, error)
                return
            self._wanted = None
            self._came(view, keys, whole=True)
            self._tell_place()
            if core.notices[REVIEW].tone is not Tone.FAIL:
                then()
            # Those of a small run take less than numpy to load, and wait until a filter is typed.
            if run.verdicts > queue.SMALL:
                self.warm()

        heard = partial(self._came, view, whole=False)
        job = Job(QUEUE, partial(_read_queue, run, view), ended, heard, fault="no queue")
        core.jobs.runner.start(job)

    def warm(self) -> None:
        runner = self._core.jobs.runner
        run = self._core.session.run
        runner.start(Job(COLUMNS, partial(_warm_columns, run), lambda *_: None))

    def _came(self, view: View, keys: object, *, whole: bool) -> None:
        """Show keys of a queue; the item's texts stay scrolled if it is the same queue."""
        core = self._core
        item = self._core.session.item
        before = item.row.key if item is not None and view == core.session.view else None
        try:
            if isinstance(keys, array):
                core.review.arrive(view, keys, whole=whole)
        finally:
            # The queue may have changed although saving the view failed. It is drawn anew, because
            # a label key must mean the item on screen.
            item = core.session.item
            core.show(keep=item is not None and item.row.key == before, rows=True)

    def _failed(self, view: View, error: ReviewDeskError) -> None:
        """Keep the queue that there is; without one, open it without the filter."""
        core = self._core
        session = self._core.session
        core.complain(error, where=REVIEW)
        if session.whole:
            return
        core.review.give_up()
        if isinstance(error, UsageError) and view == session.view and view.filter:
            item = session.item.verdict.id if session.item else view.item
            core.review.begin(View(blind=view.blind, item=item))
            core.say(f"opened without the filter: {error}", where=REVIEW)
        core.show(rows=True)

    def _tell_place(self) -> None:
        """Complete the first notice, if it still stands, by where the review goes on."""
        core = self._core
        given = self._opening
        self._opening = None
        if given is not None and core.notices[REVIEW].text == given[1]:
            core.say(opening_text(core.session, *given), where=REVIEW)

    # keys meanwhile

    def holds(self, name: str, late: float) -> bool:
        """Hold an action that came after a step which waits for the queue; return whether it does.

        It waits ``late`` seconds already.
        """
        if self._core.review.waiting:
            self._held.append((name, self._core.clock() - late))
        return self._core.review.waiting

    def released(self) -> list[tuple[str, float]]:
        """Return the actions that need not wait any more, each with the seconds since its key."""
        if self._core.review.waiting:
            return []
        held = self._held
        self._held = []
        return [(name, self._core.clock() - pressed) for name, pressed in held]


def _read_queue(run: Run, view: View, desk: Desk, report: Report) -> array[int]:
    """Report the first page of a queue, unless it is all; return the whole."""
    pages = queue.pages(desk, run, view.filter, effective_order(view))
    first = next(pages)
    if len(first) == queue.PAGE and not report(first):
        raise Cancelled("another queue is wanted")
    return next(pages, first)


def _warm_columns(run: Run, desk: Desk, _report: Report) -> None:
    queue.warm(desk, run)


class QueueController:
    """Changes the queue; asks once before a blind session filters or orders by a hidden fact."""

    def __init__(self, core: Core, reader: QueueReader) -> None:
        self._core = core
        self._reader = reader
        self._confirmed = False
        self._past: dict[str, list[str]] = {"filter": [], "find": []}
        self.verbs: dict[str, Callable[[], None]] = {
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
        self.commands: dict[str, Callable[[str], None]] = {
            "filter": self.use,
            "order": self._use_order,
            "find": self._find,
            "go": self._jump,
        }

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
        core = self._core
        item = self._core.session.item
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
        core = self._core
        keys = self._core.session.keys
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
        view = self._core.session.view
        use = self._use_order
        self._reader.warm()
        self._core.ask(_orders(view), lambda order: order and use(order))

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
        core = self._core
        session = self._core.session
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
        core = self._core
        session = self._core.session
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
    keys = search.find(desk, session.run, text, blind=session.view.blind)
    share = search.indexed(desk, session.run)
    words = tuple(search.words(text))
    return SearchHits(text, words, keys, array("q"), share).placed(session.keys)


def _search_notice(found: SearchHits, place: int | None) -> str:
    """Return the search notice: the hits, the current one, and how much of the run is indexed."""
    text = show_line(found.text, 80)
    more = ""
    if found.share < 1:
        more = f" · {found.share:.0%} of the run is indexed so far"
    outside = len(found.keys) - len(found.places)
    if outside:
        more = f" · {outside:,} outside this filter{more}"
    if place is None:
        return f"nothing found for {text}{more}"
    return f"{place + 1:,} of {len(found.places):,} with {text}{more}"


_COLUMN = max(map(len, ORDERS)) + 2


def _orders(view: View) -> PageForm:
    """Return the dialog of the orders: one page up and one page down, which ``-`` turns."""

    def note(name: str) -> str:
        if view.blind and hidden_order(name):
            return "hidden: asks first"
        blind_draw = view.blind and name == "draw"
        return "a seeded permutation of all" if blind_draw else ORDER_WORDS[name]

    def page(at: int) -> DialogPage:
        ways = "ascending", "descending"
        keys = (
            ("enter", "chooses"),
            ("-", ways[1 - at]),
            ("j k", "move"),
            ("letters", "jump"),
            ("esc", "closes"),
        )
        choices = [Choice(f"{name:<{_COLUMN}}{note(name)}", "-" * at + name) for name in ORDERS]
        name = view.order.removeprefix("-")
        chosen = ORDERS.index(name) if name in ORDERS else 0
        title = "Order of the queue"
        return DialogPage(title, keys, note=ways[at], choices=choices, chosen=chosen)

    down = view.order.startswith("-")
    return PageForm(page, 2, int(down), {"minus": 1}, frozenset("qo"), jumps=True)
