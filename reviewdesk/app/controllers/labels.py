"""The decisions of the reviewer: labels and deferrals; each is one event of the desk.

Every event is on disk before its mark is shown; until then it is counted as being saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import READ_ONLY, Core, item_to_change
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.session import Session
from reviewdesk.app.controllers.work.on_screen import Unseen
from reviewdesk.app.controllers.work.outbox import Write
from reviewdesk.app.controllers.work.undo import UndoController
from reviewdesk.desk.review import exposure, repeats
from reviewdesk.desk.review.edits import Edit, closing, may_close
from reviewdesk.domain.records import Item, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.settings import Feedback
from reviewdesk.views.document import Tone

TRUTHS = {"pass": Truth.PASS, "fail": Truth.FAIL, "unsure": Truth.UNSURE}
"""The labels by the last word of their actions."""
CLOSING = (
    "It then counts as wrong in the lower end of each interval that gates use, and as right in "
    "the upper one."
)
"""What becomes of an item that is closed."""
_WORDS = {Truth.PASS: "pass", Truth.FAIL: "fail", Truth.UNSURE: "can't tell"}


def label_name(action: str) -> str:
    """Return the label that an action gives, in words."""
    kind, _, word = action.partition(".")
    return f"{_WORDS[TRUTHS[word]]}{', tentative' * (kind == 'tentative')}"


class LabelController:
    """Labels and defers."""

    def __init__(
        self, core: Core, labelled: Callable[[], None], failed: Callable[[Item], None]
    ) -> None:
        """Act on ``core``; ``labelled`` is called after a label, ``failed`` after a fail."""
        self._core, self._labelled, self._failed = core, labelled, failed

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        verbs: dict[str, Callable[[], None]] = {
            "defer": self._defer,
            **UndoController(self._core).verbs,
        }
        for word, truth in TRUTHS.items():
            verbs[f"label.{word}"] = partial(self._label, truth, tentative=False)
            verbs[f"tentative.{word}"] = partial(self._label, truth, tentative=True)
        return verbs

    def _label(self, truth: Truth, *, tentative: bool) -> None:
        core, item = self._core, self._core.item("label")
        if item is None:
            return
        name = f"{'tentative' if tentative else 'label'}.{truth}"
        if not core.guard.press(f"{truth}{tentative}", core.late) and core.panes.readable:
            early, late = ", the item has only just come up", " after the last key"
            why = early if core.guard.early else late
            core.say_here(f"{_WORDS[truth]} ignored: too soon{why}", Tone.WARN)
        elif self._was_read(item, name, core.clock() - core.late):
            self._give(item, truth, tentative=tentative)

    def _was_read(self, item: Item, name: str, at: float = math.inf) -> bool:
        """Return True if a label may be given: the item is open and its response was on screen.

        It was on screen before ``at``, the time at which the key was pressed.

        Else open it or scroll there, and say which key gives the label ``name``. A desk that
        cannot be written takes none.
        """
        core, unseen = self._core, self._core.seen.unseen(item, at)
        if core.desk.read_only:
            core.say(READ_ONLY, Tone.FAIL)
            return False
        key = core.keys.first(name)
        again = f"Press {key}" if key else "Choose it again"
        again += f" to label it {label_name(name)}."
        if not core.panes.readable:
            core.choose("item")
            core.say_here(f"The item is open. {again}", Tone.TEXT)
        elif unseen is not None:
            wrap = core.reading.wrap or unseen.cut
            core.reading = replace(core.reading, page=unseen.passage.page, wrap=wrap)
            if core.panes.alone:
                core.choose("item")
            core.seen.turn_to(unseen.passage)
            core.guard.hide()
            core.say_here(f"{_unseen_text(unseen)}. {again}", Tone.WARN)
        else:
            return True
        return False

    def confirm(self, name: str) -> None:
        """Ask before giving a label that was chosen by name instead of by its key."""
        kind, _, word = name.partition(".")
        core, item, tentative = self._core, self._core.item("label"), kind == "tentative"
        if item is None or not self._was_read(item, name):
            return

        def answered(answer: bool | None) -> None:
            now = core.session.item
            # Another window may have written meanwhile: label only if it is still this verdict.
            if answer and now is not None and now.row.key == item.row.key:
                self._give(now, TRUTHS[word], tentative=tentative)

        question = f"Label {show_line(item.verdict.id, 80)} {label_name(name)}?"
        core.ask(QuestionForm(question, "u takes it back."), answered)

    def _give(self, item: Item, truth: Truth, *, tentative: bool) -> None:
        """Save a label of the current item, and go on to the next one."""
        core = self._core
        name = f"{_WORDS[truth]}{' tentative' * tentative} {item.verdict.id}"
        act, saved = self._label_of(item, truth, tentative=tentative), self._saved(item, name)
        write = Write(act, saved, name=name, item=item, labels=True, decides=True)
        core.say("")
        on_disk = core.outbox.put(write)
        core.leave_jury()
        try:
            core.review.go_on()
        finally:
            if on_disk:
                core.recalibrate()
            core.show(rows=True)
        if truth is Truth.FAIL:
            self._failed(item)

    def _label_of(self, item: Item, truth: Truth, *, tentative: bool) -> Edit:
        """Return a label with the facts of this moment."""
        core, session, review = self._core, self._core.session, self._core.review
        blind = review.exposure.is_blind(session, item)
        blind = blind and not exposure.was_seen(core.desk, item.row.key)
        key, view, again = item.row.key, review.view(), review.repeats.of(item.row.key)
        if again is not None:
            look = review.repeats.is_blind(session, item)
            unseen = blind and again.blind
            return repeats.second_label(
                key, truth, view, tentative=tentative, blind=look, unseen=unseen
            )
        more = review.repeats.facts(session, item)
        if core.outbox.count:
            # Which item is to come back depends on the labels that are not in the log yet.
            more.pop("again", None)
        facts = {"blind": blind, "revealed_at": item.revealed_at, "seen": True, **more}
        known = {name: value for name, value in facts.items() if value is not None}
        return Edit("label", key, known, truth, tentative, view=view)

    def _saved(self, item: Item, name: str) -> Callable[[object], None]:
        """Return what follows once a label is on disk: only then is the panel's answer told."""
        core, session = self._core, self._core.session
        told = session.feedback is Feedback.AFTER or not session.view.blind
        feedback, seen = _feedback(session, item), core.review.exposure

        def saved(_event: object) -> None:
            if told:
                seen.labelled(item)
            core.review.session = replace(core.session, progress=core.review.progress())
            core.mark(f"saved ✓ {name}")
            if feedback:
                core.say(feedback, Tone.NOTE)
            self._labelled()

        return saved

    def _defer(self) -> None:
        core, item = self._core, item_to_change(self._core, "defer")
        if item is None:
            return
        if not may_close(core.desk, item):
            self._put_off(item)
            return

        def answered(close: bool | None) -> None:
            now = core.session.item
            if close is not None and now is not None and now.row.key == item.row.key:
                self._close(now) if close else self._put_off(now)

        name = show_line(item.verdict.id, 80)
        question = f"{name} was deferred twice. Close it without an answer?"
        core.ask(QuestionForm(question, f"{CLOSING} With n it is deferred again."), answered)

    def _close(self, item: Item) -> None:
        """Label an item as not answered, so that nothing waits for it any more, and go on."""
        core = self._core
        blind = core.review.exposure.is_blind(core.session, item)
        blind = blind and not exposure.was_seen(core.desk, item.row.key)
        act = closing(item.row.key, blind=blind, view=core.review.view())

        def saved(_event: object) -> None:
            core.review.session = replace(core.session, progress=core.review.progress())
            core.mark(f"saved ✓ close {item.verdict.id}")

        name = f"close {item.verdict.id}"
        on_disk = core.outbox.put(
            Write(act, saved, name=name, item=item, labels=True, decides=True)
        )
        core.say(f"closed {show_line(item.verdict.id)} without an answer")
        core.review.go_on()
        if on_disk:
            core.recalibrate()
        core.show(rows=True)

    def _put_off(self, item: Item) -> None:
        core = self._core

        def saved(_event: object) -> None:
            core.saved = "saved ✓ defer"

        act, name = Edit("defer", item.row.key), f"defer {item.verdict.id}"
        core.outbox.put(Write(act, saved, name=name, item=item, decides=True))
        core.review.refresh()
        core.say(f"deferred {show_line(item.verdict.id)}: it comes back last")
        core.review.next_undecided()
        core.show(rows=True)


def _feedback(session: Session, item: Item) -> str:
    """Return what the panel decided, after a blind label and if the settings show it then."""
    found = item.assessment
    if not session.view.blind or session.feedback is not Feedback.AFTER:
        return ""
    decision = "nothing" if found.decision is None else found.decision.value
    score = "" if found.score is None else f" {found.score:.2f}"
    votes = f"({found.votes.passes} of {found.votes.answered})"
    return f"{show_line(item.verdict.id)}: the panel said {decision}{score} {votes}"


def _unseen_text(unseen: Unseen) -> str:
    """Return which passage had not been on screen."""
    text = {"output": "the response", "alternative": "response B"}[unseen.passage.part]
    if unseen.cut:
        return f"{text[0].upper()}{text[1:]} went on to the right; its lines are wrapped now"
    if unseen.lines is None:
        return f"{text[0].upper()}{text[1:]} was not on screen yet; it is now"
    first, last = unseen.lines
    which = f"Line {first:,}" if first == last else f"Lines {first:,}-{last:,}"
    return f"{which} of {text} {'was' if first == last else 'were'} not on screen yet"
