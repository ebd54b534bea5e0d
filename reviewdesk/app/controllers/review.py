"""The controller of the review screen: it labels, undoes and moves, and combines the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.item import ItemController
from reviewdesk.app.controllers.labeller import GivenLabel, is_of
from reviewdesk.app.controllers.queue import QueueController
from reviewdesk.app.controllers.reading import ReadingController
from reviewdesk.app.controllers.rerun import RerunController
from reviewdesk.app.paint.styled import clip, inline
from reviewdesk.app.screens.dialogs import Question
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Event, Truth
from reviewdesk.errors import NotFoundError, ReviewDeskError
from reviewdesk.settings import Feedback

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen

_TRUTHS = {"pass": Truth.PASS, "fail": Truth.FAIL, "unsure": Truth.UNSURE}
_WORDS = {Truth.PASS: "pass", Truth.FAIL: "fail", Truth.UNSURE: "can't tell"}


class ReviewController:
    """Carries out the actions of the review screen. The session decides and the screen draws."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        queue, item = QueueController(screen), ItemController(screen)
        reading, self.rerun = ReadingController(screen), RerunController(screen)
        others = (queue, item, reading, self.rerun)
        self.verbs = self._table()
        for one in others:
            self.verbs |= one.verbs()
        self.commands = {**queue.commands(), **item.commands(), **self.rerun.commands()}

    def _table(self) -> dict[str, Callable[[], None]]:
        verbs: dict[str, Callable[[], None]] = {
            "defer": self._defer,
            "undo": self._undo,
            "redo": partial(self._undo, redo=True),
            "next": self._next,
            "back": self._back,
            "item.next": partial(self.step, 1),
            "item.previous": partial(self.step, -1),
            "deeper": partial(self._level, 1),
            "shallower": partial(self._level, -1),
            "pane.next": partial(self._level, 1, around=True),
            "pane.previous": partial(self._level, -1, around=True),
            "zoom": self._zoom,
        }
        for word, truth in _TRUTHS.items():
            verbs[f"label.{word}"] = partial(self._label, truth, tentative=False)
            verbs[f"tentative.{word}"] = partial(self._label, truth, tentative=True)
        return verbs

    # labels

    def _label(self, truth: Truth, *, tentative: bool) -> None:
        screen = self._screen
        if not self._labelable():
            return
        if not screen.guard.press(f"{truth}{tentative}", screen.desk_app.lateness):
            screen.say_here(f"{_WORDS[truth]} ignored: too soon after the last key", Ink.WARN)
            return
        self._give(truth, tentative=tentative)

    def _labelable(self) -> bool:
        screen = self._screen
        if screen.session.item is None:
            screen.say_here("No item to label here.")
            return False
        if not screen.panes.readable:
            keys = screen.desk_app.keymap.first("deeper")
            notice = f"{keys} opens the item: a label is given where it can be read"
            screen.say_here(notice, Ink.WARN)
            return False
        return True

    def confirm(self, name: str) -> None:
        """Ask before giving a label that was chosen by name instead of by its key."""
        kind, _, word = name.partition(".")
        item = self._screen.session.item
        if not self._labelable() or item is None:
            return
        label_text = _WORDS[_TRUTHS[word]] + (", tentative" if kind == "tentative" else "")

        def answered(answer: bool | None) -> None:
            now = self._screen.session.item
            # Another window may have written meanwhile: label only if it is still this verdict.
            if answer and now is not None and now.row.key == item.row.key:
                try:
                    self._give(_TRUTHS[word], tentative=kind == "tentative")
                except ReviewDeskError as error:
                    self._screen.complain(error)

        question = Question(
            f"Label {inline(item.verdict.id, 80)} {label_text}?", "u takes it back."
        )
        self._screen.desk_app.ask(question, answered)

    def _give(self, truth: Truth, *, tentative: bool) -> None:
        screen = self._screen
        done = screen.labeller.label(truth, tentative=tentative)
        if done is None:
            return
        word = _WORDS[truth] + (" tentative" if tentative else "")
        screen.meter.mark(f"saved ✓ {word} {inline(done.item.verdict.id)}")
        screen.say(self._feedback(done), Ink.NOTE)
        if not screen.panes.wide and screen.panes.current == "jury":
            screen.panes.choose("item")
        try:
            screen.review_session.next_undecided()
        finally:
            screen.show(rows=True)
            screen.recalibrate()

    def _feedback(self, done: GivenLabel) -> str:
        """Return what the panel decided, after a blind label and if the settings show it then."""
        session = self._screen.session
        if not session.view.blind or session.feedback is not Feedback.AFTER:
            return ""
        assessment = done.item.assessment
        decision = "nothing" if assessment.decision is None else assessment.decision.value
        score = "" if assessment.score is None else f" {assessment.score:.2f}"
        votes = f"({assessment.votes.passes} of {assessment.votes.answered})"
        return f"{inline(done.item.verdict.id)}: the panel said {decision}{score} {votes}"

    def _defer(self) -> None:
        screen = self._screen
        item = screen.session.item
        if item is None or not screen.labeller.defer():
            screen.say_here("No item to defer here.")
            return
        screen.meter.saved = "saved ✓ defer"
        screen.say(f"deferred {inline(item.verdict.id)}: it comes back last")
        screen.review_session.next_undecided()
        screen.show(rows=True)

    def _undo(self, *, redo: bool = False) -> None:
        screen = self._screen
        event = screen.labeller.undo(redo=redo)
        word = "redo" if redo else "undo"
        if event is None:
            screen.say(f"Nothing to {word}.", Ink.MUTED)
            return
        if not is_of(event, screen.session.run):
            self._follow(event)
        # The screen stays here if the event's run was removed: the same id here is another item.
        away = "" if is_of(event, screen.session.run) else ", in a run that was removed"
        screen.say(f"{word}: {_event_text(event)}{away}", Ink.NOTE)
        screen.meter.mark(f"saved ✓ {word}")
        screen.show(rows=True)
        screen.recalibrate()

    def _follow(self, event: Event) -> None:
        """Review the run and verdict of an event; stay here if they were removed."""
        app = self._screen.desk_app
        try:
            app.review_run(app.review_session.desk.run(event.run), event.verdict)
        except NotFoundError:
            return

    # moving

    def _next(self) -> None:
        self._screen.review_session.next_undecided()
        self._screen.show()

    def _back(self) -> None:
        if self._screen.review_session.back():
            self._screen.show()
        else:
            self._screen.say_here("No item was seen before this one.")

    def step(self, by: int) -> None:
        """Move by rows of the queue, decided ones included."""
        if self._screen.review_session.step(by):
            self._screen.show()

    def _level(self, by: int, *, around: bool = False) -> None:
        if self._screen.panes.shift(by, around=around):
            self._screen.frame()

    def _zoom(self) -> None:
        screen = self._screen
        if not screen.panes.wide and not screen.panes.zoomed:
            screen.say("the pane has the whole screen already", Ink.MUTED)
            return
        screen.panes.zoom()
        screen.frame()


def _event_text(event: Event) -> str:
    """Return what an undo or redo changed, and where, in words."""
    what = inline(event.detail.get("was") or event.label or event.kind)
    place = f" on {clip(inline(event.verdict), 80)}" if event.verdict else ""
    other = f" in {inline(event.run)}" if event.run and not event.verdict else ""
    return f"{what}{place}{other}"
