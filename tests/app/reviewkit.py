"""The controller of the review without Textual: actions in, states and requests out."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reviewdesk.app.controllers.item import press_reason
from reviewdesk.app.controllers.jobs import CLAIMS, RERUN, SAVING, Job, Outbox
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.session import ItemClaims, ReviewSession
from reviewdesk.app.controllers.state import (
    DialogPage,
    FieldInput,
    Form,
    PageForm,
    PromptForm,
    ScreenRequest,
    Session,
)
from reviewdesk.app.keys.actions import ACTIONS, checked
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Event, Item, Run, Truth, View
from reviewdesk.errors import Cancelled, ReviewDeskError
from reviewdesk.settings import Settings
from reviewdesk.store.events import history
from reviewdesk.views.document import Document, Paragraph, plain
from tests.app.builders import WIDE, Clock, open_run, report, verdict
from tests.app.panekit import DrawnPane


class Ask(NamedTuple):
    """A dialog that is open."""

    form: Form
    then: Callable[[Any], object]


class StepRunner:
    """Runs jobs in the caller's thread, when the test says so."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.waiting: dict[str, Job] = {}
        self.started: list[str] = []

    def start(self, job: Job) -> None:
        self.waiting.pop(job.name, None)
        self.waiting[job.name] = job
        self.started.append(job.name)

    def cancel(self, name: str) -> None:
        self.waiting.pop(name, None)


def session_of(desk: Desk, run: Run, view: View) -> ReviewSession:
    """A review session of its own."""
    outbox = Outbox(desk, StepRunner(desk), lambda: None, lambda _error: None)
    return ReviewSession(
        desk, run, view, outbox=outbox, settings=Settings(), claims=ItemClaims(desk)
    )


def session_on(folder: Path, *verdicts: dict[str, Any]) -> Session:
    """The session of a review of these verdicts as it begins."""
    desk, run = open_run(folder / "d.db", report(verdicts))
    with closing(desk):
        return session_of(desk, run, View()).session


class Review:
    """A controller with what a test does to it; ``begin`` has shown the first item."""

    def __init__(
        self,
        desk: Desk,
        run: Run,
        *,
        view: View | None = None,
        size: tuple[int, int] = WIDE,
        settings: Settings | None = None,
        notice: str = "",
        begun: bool = True,
        claims: bool = False,
    ) -> None:
        self.left = (RERUN, SAVING) if claims else (RERUN, SAVING, CLAIMS)
        settings, self.clock, self.runner = settings or Settings(), Clock(), StepRunner(desk)
        self.controller = ReviewController(
            desk, run, view or View(), settings=settings, keys=checked(settings),
            runner=self.runner, clock=self.clock, notice=notice,
        )  # fmt: skip
        self.desk, self.run = desk, run
        self.dialogs: list[Ask] = []
        self.requests: list[ScreenRequest] = []
        self.pane = DrawnPane()
        if begun:
            self.controller.begin(*size)
            self.controller.settle()
            self.controller.look_around()
            self.after()

    def after(self) -> None:
        """Do what the front end does after each event: take requests, draw, hear of jobs."""
        self._take()
        if CLAIMS not in self.left:
            self.controller.poll()  # as each second
        # A test runs what needs a server, or a lock that goes, or costs each key a transaction.
        while names := [one for one in self.runner.waiting if not one.startswith(self.left)]:
            self.finish(names[0])

    def _take(self) -> None:
        for request in self.controller.take():
            match request.what:
                case "ask":
                    self.dialogs.append(Ask(*request.given))
                case "move":
                    by, pages = request.given
                    # As if a screenful were ten lines, and the queue had the keys.
                    self.controller.step(int(by * 10) if pages else int(by))
                case _:
                    self.requests.append(request)
        self.controller.asking = bool(self.dialogs)
        _ = self.controller.notice
        if not self.dialogs and self.state.where == "review":
            self.controller.guard.shown()
            self.pane.draw(self.state, self.controller.seen.saw)

    def quietly(self, *actions: str) -> None:
        """Press keys, if any, and leave every job in the background under way."""
        for action in (None, *actions):
            if action is not None:
                self.clock.wait(0.2)
                self.controller.handle(action)
            self._take()

    def scroll(self, lines: int) -> None:
        """Scroll the item's pane."""
        self.pane.go(self.pane.top + lines)
        self.controller.seen.saw(*self.pane.drawn)

    def finish(self, name: str) -> None:
        """Run a job to its end and tell the controller."""
        if (job := self.runner.waiting.pop(name, None)) is None:
            return
        found: object = None
        error: ReviewDeskError | None = None

        def told(news: object) -> bool:
            self.controller.safely(lambda: job.heard(news))
            return True

        with self.desk.borrowed() as reader:
            try:
                found = job.work(reader, told)
            except Cancelled:
                pass
            except ReviewDeskError as problem:
                error = problem
        self.controller.safely(lambda: job.ended(found, error))
        self._take()

    def press(self, *actions: str, wait: float = 0.2) -> None:
        """Carry out actions by their keys, each ``wait`` seconds after the one before."""
        assert set(actions) <= ACTIONS.keys()
        for action in actions:
            self.clock.wait(wait)
            self.controller.handle(action)
            self.after()

    def digit(self, number: int, wait: float = 0.2) -> None:
        """Press a digit while the line of reasons is open."""
        self.reason(str(number), wait)

    def reason(self, key: str, wait: float = 0.2) -> None:
        """Press a key of the line of reasons."""
        self.clock.wait(wait)
        press_reason(self.controller, key)
        self.after()

    def choose(self, action: str) -> None:
        """Choose an action by its name."""
        self.controller.do(action)
        self.after()

    def command(self, text: str) -> None:
        """Give a command line."""
        self.controller.run(text)
        self.after()

    @property
    def dialog(self) -> Form:
        """The form of the dialog on top."""
        return self.dialogs[-1].form

    def answer(self, answer: Any) -> None:
        """Close the dialog on top with an answer; a text is one that was submitted."""
        self.answer_quietly(answer)
        self.after()

    def answer_quietly(self, answer: Any) -> None:
        """Close the dialog on top, and leave the jobs that it starts to the test."""
        ask = self.dialogs.pop()
        self.controller.asking = bool(self.dialogs)
        # The screen below is back in view.
        self.controller.guard.hide()
        typed = isinstance(ask.form, PromptForm) and isinstance(answer, str)
        ask.then(FieldInput(answer, given=True) if typed else answer)
        self._take()

    def typed(self, action: str, text: str) -> None:
        """Open a field by a key, and submit a text as the field would: only if it is accepted."""
        self.press(action)
        form: Any = self.dialog
        form.check(text)
        self.answer(text)

    def leave(self, text: str = "") -> None:
        """Leave a field with escape."""
        self.answer(FieldInput(text, given=False))

    def resize(self, size: tuple[int, int]) -> None:
        self.controller.resized(*size)
        self.after()

    @property
    def state(self) -> ReviewController:
        return self.controller

    @property
    def session(self) -> Session:
        return self.state.session

    @property
    def notice(self) -> str:
        return self.state.notice.text

    @property
    def item(self) -> Item:
        assert self.session.item is not None
        return self.session.item

    @property
    def current(self) -> str | None:
        return self.session.item.verdict.id if self.session.item else None

    def hint(self, action: str) -> object:
        """What the footer offers of an action."""
        return self.state.hints.get(action, False)

    def _done(self, what: str) -> list[Any]:
        return [[*one.given, None][0] for one in self.requests if one.what == what]

    @property
    def copied(self) -> str:
        text: str = self._done("copy")[-1]
        return text

    @property
    def theme(self) -> str | None:
        found = [one for one in self._done("theme") if one]
        return found[-1] if found else None

    @property
    def closed(self) -> bool:
        return bool(self._done("close"))

    @property
    def labels(self) -> list[Truth | None]:
        """The labels of the run's verdicts, in the order of the draw."""
        run = self.session.run
        return [row.label for row in self.desk.rows(self.desk.queue(run, "", "draw"))]

    def events(self, kind: str = "label") -> list[Event]:
        """The events of the run's verdicts, in the order of the log."""
        query = "SELECT DISTINCT item FROM verdicts WHERE run = ?"
        items = self.desk.conn.execute(query, (self.session.run.key,)).fetchall()
        found = [e for (item,) in items for e in history(self.desk.conn, item) if e.kind == kind]
        return sorted(found, key=lambda event: event.seq)


@contextmanager
def reviewing(path: Path, count: int = 6, **more: Any) -> Iterator[Review]:
    """A review of a run of ``count`` small verdicts."""
    desk, run = open_run(path / "d.db", report([verdict(i) for i in range(1, count + 1)]))
    yield Review(desk, run, **more)
    desk.close()


@contextmanager
def beside(review: Review, name: str = "bob") -> Iterator[Desk]:
    """The desk as another reviewer has it; what they did is followed."""
    with closing(Desk.open(review.desk.path, reviewer=name)) as other:
        yield other
    review.controller.poll()
    review.after()


def dialog_page(review: Review, at: int = 0) -> DialogPage:
    """A page of the dialog that is open."""
    assert isinstance(review.dialog, PageForm)
    return review.dialog.read(at)


def question_of(review: Review) -> tuple[str, str]:
    """The question that is asked, and what depends on it."""
    page = dialog_page(review)
    assert page.title == "Question"
    assert isinstance(page.document, Document)
    blocks = page.document.sections[0].blocks
    question, reason = (plain(one.text) for one in blocks if isinstance(one, Paragraph))
    return question, reason


def dialog_lines(review: Review, at: int = 0) -> list[str]:
    """The lines of a dialog's list."""
    return [plain(one.text) for one in dialog_page(review, at).choices]


def dialog_events(review: Review, at: int = 0) -> list[Event]:
    """The events that the history lists: 0 those of the item, 1 the reviewer's own."""
    answers = [one.answer for one in dialog_page(review, at).choices]
    return [one for one in answers if isinstance(one, Event)]


def form_of(review: Review) -> PromptForm:
    """The dialog that is open, which asks for a text."""
    assert isinstance(review.dialog, PromptForm)
    return review.dialog
