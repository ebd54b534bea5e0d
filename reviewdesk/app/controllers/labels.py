"""The decisions of the reviewer: labels of one item or of a selection, and deferrals.

Each is one event of the desk. It is on disk before its mark is shown; until then it is counted as
being saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import READ_ONLY, Core, item_to_change
from reviewdesk.app.controllers.exposure import Unseen
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.controllers.state import Session
from reviewdesk.desk.review import kept, repeats
from reviewdesk.desk.review.edits import Edit, closing, may_close
from reviewdesk.domain.query.places import place_of
from reviewdesk.domain.records import Item, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.settings import Feedback
from reviewdesk.views.document import Tone
from reviewdesk.views.words import decided

CLOSING = (
    "It then counts as wrong in the lower end of each interval that gates use, and as right in "
    "the upper one."
)
"""What becomes of an item that is closed."""
MOST = 1000
"""The most verdicts that are labelled together, so that the desk is locked for a moment only."""
BECAUSE = "label.because"
"""The action that labels fail and asks for the reasons."""
NO_RESPONSE = "The item has no response to judge"
WORDS = {Truth.PASS: "pass", Truth.FAIL: "fail", Truth.UNSURE: "can't tell"}


def _truth(action: str) -> Truth:
    return Truth.FAIL if action == BECAUSE else Truth(action.removeprefix("label."))


class LabelController:
    """Labels, selects and defers. While any are selected, a label is given to all of them."""

    def __init__(self, core: Core, reasons: Callable[[Item], None]) -> None:
        """Act on ``core``; ``reasons`` opens the line of reasons of an item."""
        self._core = core
        self._reasons = reasons
        self._read: set[int] = set()
        """Those of the selected whose response had been on screen."""
        self._last = 0
        self._without_response = ""
        """The item whose missing response was told of last: the next press labels it."""
        self.verbs: dict[str, Callable[[], None]] = {
            **{f"label.{truth}": partial(self._press, truth) for truth in WORDS},
            BECAUSE: partial(self._press, Truth.FAIL, because=True),
            "defer": self._defer,
            "select": self._turn,
            "select.range": self._range,
            "select.all": self._all,
        }

    def confirm(self, name: str) -> None:
        """Ask before giving a label that was chosen by name instead of by its key."""
        truth = _truth(name)
        if self._core.session.chosen:
            self._ask_for_selected(truth)
            return
        core = self._core
        item = self._core.item("label")
        if item is None or not self._was_read(item, truth):
            return
        question = f"Label {show_line(item.verdict.id, 80)} {WORDS[truth]}?"
        give = partial(self._give, truth=truth, because=name == BECAUSE)
        core.ask(QuestionForm(question, "u takes it back."), partial(self._if_yes, item, give))

    def _if_yes(self, item: Item, act: Callable[[Item], None], answer: bool | None) -> None:
        now = self._core.session.item
        if answer and now is not None and now.row.key == item.row.key:
            act(now)

    # one item

    def _press(self, truth: Truth, *, because: bool = False) -> None:
        """Label what is selected, else the item, if the key counts and the response was read."""
        core = self._core
        if core.session.chosen:
            self._ask_for_selected(truth)
            return
        item = core.item("label")
        if item is None:
            return
        if not core.guard.press(truth, core.late) and core.panes.readable:
            early = ", the item has only just come up"
            late = " after the last key"
            why = early if core.guard.early else late
            core.say_here(f"{WORDS[truth]} ignored: too soon{why}", Tone.WARN)
            if because:
                # A digit right behind it is meant for its reasons, and must not label.
                core.guard.stray()
            return
        core.reasons = None
        if self._was_read(item, truth, core.clock() - core.late):
            self._give(item, truth, because=because)

    def _was_read(self, item: Item, truth: Truth, at: float = math.inf) -> bool:
        """Return True if a label may be given: the item is open and its response was on screen.

        It was on screen before ``at``, the time at which the key was pressed. Else open it or
        scroll there, and say which key gives the label. A desk that cannot be written takes none.
        """
        core = self._core
        unseen = self._core.seen.unseen(item, at)
        if core.desk.read_only:
            core.say(READ_ONLY, Tone.FAIL)
            return False
        key = core.keys.first(f"label.{truth}")
        again = f"Press {key}" if key else "Choose it again"
        again += f" to label it {WORDS[truth]}."
        if not core.panes.readable:
            core.choose("item")
            core.say_here(f"The item is open. {again}", Tone.TEXT)
        elif unseen is not None:
            core.reading = replace(core.reading, page=unseen.passage.page)
            if core.panes.alone:
                core.choose("item")
            core.seen.turn_to(unseen.passage)
            core.guard.hide()
            core.say_here(f"{_unseen_text(unseen)}. {again}", Tone.WARN)
        elif not item.verdict.has_response and self._without_response != item.item_hash:
            self._without_response = item.item_hash
            core.say_here(f"{NO_RESPONSE}. {again}", Tone.WARN)
        else:
            return True
        return False

    def _give(self, item: Item, truth: Truth, *, because: bool = False) -> None:
        """Save a label of the current item, and go on to the next one."""
        core = self._core
        session = self._core.session
        told = session.feedback is Feedback.AFTER or not session.view.blind
        feedback = _feedback(session, item)
        seen = core.review.exposure

        def saved() -> None:
            if told:
                seen.labelled(item)
            if feedback:
                core.say(feedback, Tone.NOTE)

        core.say("")
        self._decide(item, self._label_of(item, truth), WORDS[truth], saved)
        if because or (truth is Truth.FAIL and core.settings.tags_after_fail):
            self._reasons(item)

    def _decide(
        self, item: Item, act: Edit, word: str, saved: Callable[[], None] = lambda: None
    ) -> None:
        """Save what decides an item, and go on; only once it is on disk is anything told of it."""
        core = self._core
        name = f"{word} {item.verdict.id}"

        def on_disk(_event: object) -> None:
            core.count(name)
            saved()

        write = Write(act, on_disk, name=name, item=item, labels=True, decides=True)
        is_saved = core.outbox.put(write)
        core.leave_jury()
        try:
            core.review.go_on()
        finally:
            if is_saved:
                core.recalibrate()
            core.show(rows=True)

    def _label_of(self, item: Item, truth: Truth) -> Edit:
        """Return a label with the facts of this moment."""
        core = self._core
        session = self._core.session
        review = self._core.review
        blind = self._is_blind(item)
        key = item.row.key
        view = review.view()
        again = review.repeats.of(item.row.key)
        if again is not None:
            look = review.repeats.is_blind(session, item)
            return repeats.second_label(key, truth, view, blind=look, unseen=blind and again.blind)
        more = review.repeats.facts(session, item)
        if core.outbox.count:
            # Which item is to come back depends on the labels that are not in the log yet.
            more.pop("again", None)
        facts = {"blind": blind, "revealed_at": item.revealed_at, "seen": True, **more}
        known = {name: value for name, value in facts.items() if value is not None}
        return Edit("label", key, known, truth, view=view)

    def _is_blind(self, item: Item) -> bool:
        core = self._core
        blind = core.review.exposure.is_blind(core.session, item)
        return blind and not kept.was_seen(core.desk, item.row.key)

    def _defer(self) -> None:
        core = self._core
        item = item_to_change(self._core, "defer")
        if item is None:
            return
        if not may_close(core.desk, item):
            self._put_off(item)
            return

        def answered(close: bool | None) -> None:
            if close is not None:
                self._if_yes(item, self._close if close else self._put_off, True)

        name = show_line(item.verdict.id, 80)
        question = f"{name} was deferred twice. Close it without an answer?"
        core.ask(QuestionForm(question, f"{CLOSING} With n it is deferred again."), answered)

    def _close(self, item: Item) -> None:
        """Label an item as not answered, so that nothing waits for it any more, and go on."""
        core = self._core
        act = closing(item.row.key, blind=self._is_blind(item), view=core.review.view())
        core.say(f"closed {show_line(item.verdict.id)} without an answer")
        self._decide(item, act, "close")

    def _put_off(self, item: Item) -> None:
        core = self._core

        def saved(_event: object) -> None:
            core.saved = "saved ✓ defer"

        act = Edit("defer", item.row.key)
        name = f"defer {item.verdict.id}"
        core.outbox.put(Write(act, saved, name=name, item=item, decides=True))
        core.review.refresh()
        core.say(f"deferred {show_line(item.verdict.id)}: it comes back last")
        core.review.next_undecided()
        core.show(rows=True)

    # which are selected

    def _turn(self) -> None:
        """Select the current item, or take it out, and go to the next one."""
        core = self._core
        chosen = self._core.session.chosen
        item = core.item("select")
        if item is None:
            return
        key = self._last = item.row.key
        readable = core.panes.readable and item.verdict.has_response
        if key not in chosen and readable and core.seen.unseen(item) is None:
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

    def _ask_for_selected(self, truth: Truth) -> None:
        """Ask before labelling what is selected."""
        core = self._core
        chosen = self._core.session.chosen
        if core.desk.read_only:
            core.say(READ_ONLY, Tone.FAIL)
            return
        # An item that came back is labelled again by itself.
        keys = [key for key in core.session.keys if key in chosen]
        keys = [key for key in keys if core.review.repeats.of(key) is None]
        if not keys:
            core.say("the selected items came back: label each by itself", Tone.WARN)
            return
        had = sum(row.decided for row in core.review.rows(keys))
        unread = len(keys) - len(self._read.intersection(keys))
        reasons = (
            f"{had:,} of them have a label already." * bool(had),
            f"{unread:,} have not been read, which their labels say." * bool(unread),
            f"{core.keys.first('undo')} takes all back at once.",
        )
        what = f"{len(keys):,} verdict{'s' * (len(keys) != 1)}"
        form = QuestionForm(f"Label {what} {WORDS[truth]}?", " ".join(filter(None, reasons)))
        core.ask(form, partial(self._label_selected, truth, keys))

    def _label_selected(self, truth: Truth, keys: list[int], answer: bool | None) -> None:
        """Save the labels as one action of the desk, and go on behind them."""
        core = self._core
        if not answer:
            return
        edits = [self._edit(key, truth, len(keys)) for key in keys]
        act = replace(edits[0], view=core.review.view(), others=tuple(edits[1:]))
        text = f"{WORDS[truth]}, {len(keys):,} verdicts"
        write = Write(
            act, lambda _event: core.count(text), name=text, item=core.review.item(keys[0]),
            labels=True, decides=True, skips=frozenset(keys),
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

    def _edit(self, key: int, truth: Truth, together: int) -> Edit:
        """Return the label of one verdict. One that was not read by itself is not given blind."""
        core = self._core
        session = self._core.session
        facts: dict[str, object] = {"blind": False, "seen": key in self._read, "together": together}
        if session.view.blind:
            facts["told"] = session.feedback is Feedback.AFTER
            if key in self._read:
                facts["blind"] = self._is_blind(core.review.item(key))
        return Edit("label", key, facts, truth)


def _feedback(session: Session, item: Item) -> str:
    """Return what the panel decided, after a blind label and if the settings show it then."""
    found = item.assessment
    if not session.view.blind or session.feedback is not Feedback.AFTER:
        return ""
    decision = decided(found.decision)
    score = "" if found.score is None else f" {found.score:.2f}"
    votes = f"({found.votes.passes} of {found.votes.answered})"
    return f"{show_line(item.verdict.id)}: the panel said {decision}{score} {votes}"


def _unseen_text(unseen: Unseen) -> str:
    """Return which passage had not been on screen."""
    names = {"output": "the response", "alternative": "response B", "input": "the input"}
    text = names[unseen.passage.part]
    if unseen.lines is None:
        return f"{text[0].upper()}{text[1:]} was not on screen yet; it is now"
    first, last = unseen.lines
    which = f"Line {first:,}" if first == last else f"Lines {first:,}-{last:,}"
    return f"{which} of {text} {'was' if first == last else 'were'} not on screen yet"
