"""The decisions of the reviewer: labels of one item or of a selection, and deferrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import READ_ONLY, Core, item_to_change
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.controllers.seen import Unseen
from reviewdesk.app.controllers.state import Session
from reviewdesk.app.controllers.undo import UndoController
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk.review import exposure, repeats
from reviewdesk.desk.review.edits import Edit, closing, may_close
from reviewdesk.domain.query.places import place_of
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


MOST = 1000
"""The most verdicts that are labelled together, so that the desk is locked for a moment only."""


class SelectionController:
    """Selects verdicts. While any are selected, a label is given to them instead of the item."""

    def __init__(
        self, core: Core, labelled: Callable[[], None], failed: Callable[[Item], None]
    ) -> None:
        """Act on ``core``; the rest is what a label of a single item calls."""
        self._core, self._labels = core, LabelController(core, labelled, failed)
        self._read: set[int] = set()
        """Those of the selected whose response had been on screen."""
        self._last = 0

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, and the labels, by action id."""
        one = self._labels.verbs
        return one | {
            "select": self._turn,
            "select.range": self._range,
            "select.all": self._all,
            **{name: partial(self._label, name, one[name]) for name in GIVES_LABEL},
        }

    def confirm(self, name: str) -> None:
        """Ask before giving a label that was chosen by name instead of by its key."""
        self._label(name, partial(self._labels.confirm, name))

    # which are selected

    def _turn(self) -> None:
        """Select the current item, or take it out, and go to the next one."""
        core, chosen = self._core, self._core.session.chosen
        item = core.item("select")
        if item is None:
            return
        key = self._last = item.row.key
        if key not in chosen and core.panes.readable and core.seen.unseen(item) is None:
            self._read.add(key)
        self._choose(chosen ^ {key})
        if core.review.step(1):
            core.show()

    def _range(self) -> None:
        """Select from the item that ``v`` was pressed on last to the current one."""
        session = self._core.session
        if not self._core.review.when_whole(self._range):
            return
        last = place_of(session.keys, self._last)
        if last is None or session.index is None or not session.chosen:
            key = self._core.keys.first("select")
            self._core.say_here(f"select the first item with {key}, and then go to the last one")
            return
        first, end = sorted((last, session.index))
        self._choose(session.chosen.union(session.keys[first : end + 1]))

    def _all(self) -> None:
        """Select all of the queue, or none if all are selected."""
        session = self._core.session
        if self._core.review.when_whole(self._all):
            whole = len(session.chosen) == len(session.keys)
            # A selection that is too large is refused by its size.
            self._choose(frozenset() if whole else frozenset(session.keys[: MOST + 1]))

    def _choose(self, keys: frozenset[int]) -> None:
        core = self._core
        if len(keys) > MOST:
            text = f"at most {MOST:,} can be labelled together: filter the queue first"
            core.say(text, Tone.WARN)
            return
        core.review.choose(keys)
        self._read &= keys
        to, every, none = map(core.keys.first, ("select.range", "select.all", "shallower"))
        more = f"{to} to here, {every} all shown, {none} none"
        core.say(f"{len(keys):,} selected: {more}" if keys else "nothing is selected")

    # their label

    def _label(self, name: str, single: Callable[[], None]) -> None:
        """Ask before labelling what is selected; if nothing is, label the item."""
        core, chosen = self._core, self._core.session.chosen
        if not chosen:
            single()
        elif core.desk.read_only:
            core.say(READ_ONLY, Tone.FAIL)
        else:
            # An item that came back is labelled again by itself.
            keys = [key for key in core.session.keys if key in chosen]
            keys = [key for key in keys if core.review.repeats.of(key) is None]
            if keys:
                core.ask(self._question(name, keys), partial(self._answered, name, keys))
            else:
                core.say("the selected items came back: label each by itself", Tone.WARN)

    def _question(self, name: str, keys: list[int]) -> QuestionForm:
        """Return what to ask before a label is given to many."""
        core = self._core
        had = sum(row.decided for row in core.review.rows(keys))
        unread = len(keys) - len(self._read.intersection(keys))
        reasons = (
            f"{had:,} of them have a label already." * bool(had),
            f"{unread:,} have not been read, which their labels say." * bool(unread),
            f"{core.keys.first('undo')} takes all back at once.",
        )
        what = f"{len(keys):,} verdict{'s' * (len(keys) != 1)}"
        return QuestionForm(f"Label {what} {label_name(name)}?", " ".join(filter(None, reasons)))

    def _answered(self, name: str, keys: list[int], answer: bool | None) -> None:
        """Save the labels as one action of the desk, and go on behind them."""
        core = self._core
        if not answer:
            return
        kind, _, word = name.partition(".")
        edits = [self._edit(key, TRUTHS[word], kind == "tentative", len(keys)) for key in keys]
        act = replace(edits[0], view=core.review.view(), others=tuple(edits[1:]))
        text = f"{label_name(name)}, {len(keys):,} verdicts"
        first = core.review.item(keys[0])
        write = Write(
            act, partial(self._saved, text), name=text, item=first, labels=True, decides=True,
            skips=frozenset(keys),
        )  # fmt: skip
        core.review.choose(frozenset())
        self._read.clear()
        core.outbox.put(write)
        core.review.refresh()
        here = core.session.item
        if here is None or here.row.key in keys or here.row.decided:
            core.review.next_undecided()
        core.recalibrate()
        core.show(rows=True)
        core.say(f"{text}; {core.keys.first('undo')} takes them back")

    def _edit(self, key: int, truth: Truth, tentative: bool, together: int) -> Edit:
        """Return the label of one verdict. One that was not read by itself is not given blind."""
        core, session = self._core, self._core.session
        facts: dict[str, object] = {"blind": False, "seen": key in self._read, "together": together}
        if session.view.blind:
            facts["told"] = session.feedback is Feedback.AFTER
            if key in self._read and not exposure.was_seen(core.desk, key):
                facts["blind"] = core.review.exposure.is_blind(session, core.review.item(key))
        return Edit("label", key, facts, truth, tentative)

    def _saved(self, text: str, _event: object) -> None:
        core = self._core
        core.review.session = replace(core.session, progress=core.review.progress())
        core.mark(f"saved ✓ {text}")
