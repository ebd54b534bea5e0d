"""Reads queues in the background, and holds the keys that only the whole of one can answer."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial

from reviewdesk.app.controllers.core import REVIEW, Core, opening_text
from reviewdesk.app.controllers.jobs import COLUMNS, QUEUE, Job, Report
from reviewdesk.app.controllers.review_session import ReviewSession
from reviewdesk.app.controllers.session import effective_order
from reviewdesk.desk import Desk
from reviewdesk.desk.review import queue
from reviewdesk.domain.records import Run, View
from reviewdesk.errors import Cancelled, ReviewDeskError, UsageError
from reviewdesk.views.document import Tone


class QueueReader:
    """Reads the queue of a view in a worker: its first page, and then the whole."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``."""
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
        core, session = self._core, self._core.session
        if self._review is not core.review:
            self._review, self._wanted = core.review, None
            self._opening = session.view, core.notices[REVIEW].text
            core.jobs.runner.cancel(QUEUE)
        if not session.whole and self._wanted != session.view:
            self.read(session.view)

    def read(self, view: View, then: Callable[[], object] = lambda: None) -> None:
        """Read the queue of a view; ``then`` is called once all of it is there."""
        core, run = self._core, self._core.session.run
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
        job = Job(QUEUE, partial(_read, run, view), ended, heard, fault="no queue")
        core.jobs.runner.start(job)

    def warm(self) -> None:
        """Read the columns that filters and orders use most, before one of them is asked for."""
        runner, run = self._core.jobs.runner, self._core.session.run
        runner.start(Job(COLUMNS, partial(_warm, run), lambda *_: None))

    def _came(self, view: View, keys: object, *, whole: bool) -> None:
        """Show keys of a queue; the item's texts stay scrolled if it is the same queue."""
        core, item = self._core, self._core.session.item
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
        core, session = self._core, self._core.session
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
        given, self._opening = self._opening, None
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
        held, self._held = self._held, []
        return [(name, self._core.clock() - pressed) for name, pressed in held]


def _read(run: Run, view: View, desk: Desk, report: Report) -> array[int]:
    """Report the first page of a queue, unless it is all; return the whole."""
    pages = queue.pages(desk, run, view.filter, effective_order(view))
    first = next(pages)
    if len(first) == queue.PAGE and not report(first):
        raise Cancelled("another queue is wanted")
    return next(pages, first)


def _warm(run: Run, desk: Desk, _report: Report) -> None:
    queue.warm(desk, run)
