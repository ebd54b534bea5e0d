"""Random actions against the controller with a real desk: no label is lost, nothing is told."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings
from tests.app.builders import open_run, report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, beside

MOVES = (
    "next", "back", "item.next", "item.previous", "down", "up", "first", "last", "half.down",
    "deeper", "shallower", "pane.next", "zoom", "screen.calibration", "screen.runs", "screen.item",
    "leave", "run.open", "search.next", "section.next", "drill", "stop",
    "pane.wider", "pane.narrower", "pane.default",
)  # fmt: skip
WRITES = (
    "defer", "mark", "reveal", "undo", "redo", "blind", "tags.labelled", "note.labelled",
)  # fmt: skip
LABELS = {
    "label.pass": Truth.PASS, "label.fail": Truth.FAIL, "label.because": Truth.FAIL,
    "label.unsure": Truth.UNSURE,
}  # fmt: skip
COMMANDS = (
    "filter esc", "filter", "filter label:none", "filter id~00", "filter id~zzz", "order agreement",
    "order draw", "order -id", "run again",
    "run run", "go item/002", "go 3", "go 99", "cal", "runs",
)  # fmt: skip


class ReviewMachine(RuleBasedStateMachine):
    """A reviewer who presses anything, another one who writes meanwhile, and the label log."""

    @initialize(
        blind=st.booleans(), feedback=st.sampled_from(list(Feedback)), tagging=st.booleans(),
        size=st.sampled_from([(160, 48), (80, 24)]),
    )  # fmt: skip
    def begin(self, blind: bool, feedback: Feedback, tagging: bool, size: tuple[int, int]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        bodies = [verdict(i) for i in range(1, 5)]
        self.desk, run = open_run(self.folder / "d.db", report(bodies))
        second_run(self.desk)
        settings_ = Settings(feedback=feedback, tags_after_fail=tagging)
        self.review = Review(self.desk, run, view=View(blind=blind), settings=settings_, size=size)
        self.given: list[tuple[str, str]] = []

    @rule(action=st.sampled_from(MOVES + WRITES), wait=st.sampled_from([0.01, 0.2]))
    def press(self, action: str, wait: float) -> None:
        self.review.press(action, wait=wait)

    @rule(action=st.sampled_from(sorted(LABELS)), wait=st.sampled_from([0.01, 0.2]))
    def label(self, action: str, wait: float) -> None:
        review, item = self.review, self.review.session.item
        before = len(self._labels())
        hidden, query = review.session.hidden, review.session.hidden_query
        review.press(action, wait=wait)
        if len(self._labels()) == before:
            return
        # One label, of the item that was in view where it could be read, and on disk.
        assert item is not None
        assert review.state.where == "review"
        self.given.append((item.verdict.id, LABELS[action].value))
        if '"blind":true' in self._labels()[-1][2]:
            assert hidden
            assert not query
        assert "saved ✓" in review.state.saved

    @rule(text=st.sampled_from(COMMANDS))
    def command(self, text: str) -> None:
        if not self.review.dialogs:
            self.review.command(text)

    @rule(yes=st.booleans())
    def answer(self, yes: bool) -> None:
        if self.review.dialogs:
            self.review.answer(True if yes and "Question" in repr(self.review.dialog) else None)

    @rule(digit=st.integers(1, 9), wait=st.sampled_from([0.01, 0.2]))
    def digit(self, digit: int, wait: float) -> None:
        """Press a digit: in the line of tags it tags the item just labelled, and no other."""
        review = self.review
        form = review.state.reasons
        if form is None or review.dialogs:
            return
        before = self._tags()
        assert form.name in {name for name, _ in self.given}
        review.digit(digit, wait)
        changed = {name for name, tags in self._tags().items() if tags != before[name]}
        assert changed <= {form.name}

    @rule(size=st.sampled_from([(160, 48), (80, 24), (20, 5)]))
    def resize(self, size: tuple[int, int]) -> None:
        self.review.resize(size)

    @rule(place=st.integers(0, 3), truth=st.sampled_from([Truth.PASS, Truth.FAIL]))
    def another_writes(self, place: int, truth: Truth) -> None:
        with beside(self.review) as other:
            keys = other.queue(self.review.session.run)
            other.label(keys[place % len(keys)], truth)

    @rule()
    def undo_and_redo_are_inverse(self) -> None:
        review = self.review
        if review.dialogs or review.state.panes.tiny:
            return
        before = self._standing()
        review.press("undo")
        if review.notice.startswith("undo: "):
            review.press("redo")
            assert review.notice.startswith("redo: ")
            assert self._standing() == before

    @invariant()
    def no_label_is_lost(self) -> None:
        found = [label[:2] for label in self._labels()]
        assert found == self.given

    @invariant()
    def the_place_is_within_the_queue(self) -> None:
        session = self.review.session
        assert session.index is None or 0 <= session.index < len(session.keys)
        if session.item is not None and session.index is not None:
            assert session.keys[session.index] == session.item.row.key

    @invariant()
    def blind_reveals_nothing(self) -> None:
        state = self.review.state
        if state.session.hidden:
            assert state.reruns.reruns == ()
            assert state.page is not None or state.hints.get("deeper") != "in full"

    def _labels(self) -> list[tuple[str, str, str]]:
        """The labels of this reviewer on either run, undone or not, in the order of the log."""
        rows = self.desk.conn.execute(
            "SELECT verdict, label, detail FROM label_events "
            "WHERE kind = 'label' AND reviewer = 'ann' ORDER BY key"
        )
        return [(row[0], row[1], row[2]) for row in rows]

    def _tags(self) -> dict[str, tuple[str, ...]]:
        keys = self.desk.queue(self.review.session.run)
        return {item.verdict.id: item.tags for item in map(self.desk.item, keys)}

    def _standing(self) -> list[object]:
        rows = self.desk.rows([k for run in self.desk.runs() for k in self.desk.queue(run)])
        items = [self.desk.item(row.key) for row in rows]
        return [(i.row.label, i.row.deferred, i.tags, i.row.marked, i.note) for i in items]

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            assert self.desk.verify().ok
            self.desk.close()
            shutil.rmtree(self.folder)


TestReview = pytest.mark.slow(ReviewMachine.TestCase)
TestReview.settings = settings(stateful_step_count=12, deadline=None)
