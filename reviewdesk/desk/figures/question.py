"""Questions that a run is asked before labelling, and the strip, which answers at every look."""

from collections.abc import Sequence
from contextlib import suppress
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import blockers, labelled, panels
from reviewdesk.desk.review.items import PaceReader
from reviewdesk.desk.team.claims import told_marks
from reviewdesk.domain.labels.question import (
    Given,
    QuestionItems,
    RunAnswer,
    RunQuestion,
    with_raters,
)
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures
from reviewdesk.domain.records import Applied, Blocker, Calibration, Event, Head, Metrics, Pace, Run
from reviewdesk.errors import UsageError
from reviewdesk.store import events, figures, measures, queue
from reviewdesk.store.connect import reading, writing

if TYPE_CHECKING:
    from reviewdesk.domain.labels.label_columns import LabelColumns


def question(desk: Desk, run: Run) -> RunQuestion | None:
    found = next(figures.questions(desk.conn, run.hash), None)
    if found is None:
        return None
    try:
        asked = _stored(*found)
        items = _items(desk, run, asked)
    except (ValueError, UsageError):
        # A newer version, or somebody who writes events by hand, asked it on another desk.
        return None
    return None if items is not None and not items.passes else asked


def _stored(event: Event, counter: int, closed: bool) -> RunQuestion:
    return RunQuestion.from_detail(event.detail, at=event.at, event=counter, closed=closed)


def ask(desk: Desk, run: Run, asked: RunQuestion) -> RunAnswer:
    """Record a question, unless it stands open already, and answer it from what is known."""
    totals = figures.run_figures(desk.conn, run.key)
    if run.by_verdict:
        raise UsageError(
            f"{run.name}: a question needs a run whose contents were drawn",
            "Load the report into a new desk, and ask there.",
        )
    if run.whole != run.verdicts:
        raise UsageError(f"{run.name} is an archive, which keeps too few of its verdicts to ask")
    if asked.of:
        asked = with_raters(asked, measures.names(desk.conn, run.key))
    standing = question(desk, run)
    if standing is not None and not standing.closed and standing.is_same(asked):
        return _answered(desk, run)
    items = _items(desk, run, asked)
    if items is not None and not items.passes:
        alike = "decided alike on all items, so the difference is 0"
        what = alike if items.items else "decided nothing, so there is nothing to ask about"
        raise UsageError(f"{run.name}: {' and '.join(asked.of)} {what}")
    if not totals.passed + totals.failed and items is None:
        raise UsageError(f"{run.name}: the panel decided nothing, so there is nothing to ask about")
    guesses = items.guesses if items else figures.guesses(desk.conn, run.key, asked.figure)
    labelled_now = {row.item for row in figures.labelled(desk.conn, run.key)}
    ever = {item for item, *_ in figures.labels_given(desk.conn, run.key)}
    gone = tuple(sorted(item.hex() for item in ever - labelled_now))
    turn = sum(1 for _ in figures.questions(desk.conn, run.hash))
    made = replace(asked, guesses=guesses, unlabelled=gone, turn=turn)
    _record(desk, run, made.detail())
    return _answered(desk, run)


def _items(desk: Desk, run: Run, asked: RunQuestion) -> QuestionItems | None:
    """Return the items of a question about jurors, read once; ``None`` if it is about the panel."""
    if not asked.of:
        return None
    from reviewdesk.domain.jurors.votes import question_items

    if run.whole != run.verdicts:
        raise ValueError("an archive has too few of its ballots")
    of = run.hash, asked.of
    if of not in desk.asked:
        found = question_items(panels(desk, run), figures.places(desk.conn, run.key), asked.of)
        desk.asked.clear()
        desk.asked[of] = found
    return desk.asked[of]


def close(desk: Desk, run: Run) -> RunAnswer:
    found = question(desk, run)
    if found is None or found.closed:
        raise UsageError(f"{run.name}: no question is open", 'Ask one: ask "accuracy >= 0.9".')
    _record(desk, run, {"closed": True})
    return _answered(desk, run)


def _answered(desk: Desk, run: Run) -> RunAnswer:
    found = answer(desk, run)
    assert found is not None  # noqa: S101 - there is a question
    return found


def _record(desk: Desk, run: Run, detail: dict[str, object]) -> None:
    entry = events.NewEvent(figures.QUESTION, desk.at(), run=run.hash, detail=detail)
    with writing(desk.conn):
        events.append(desk.conn, desk.reviewer, [entry])


def answer(desk: Desk, run: Run) -> RunAnswer | None:
    """Answer the newest question of a run from the current labels; ``None`` without a question."""
    asked = question(desk, run)
    if asked is None:
        return None
    from reviewdesk.domain.labels.confidence_sequence import answer as answered

    with reading(desk.conn):
        items = _items(desk, run, asked)
        totals = figures.run_figures(desk.conn, run.key)
        # Earlier questions on the same figure: older versions began each anew, with less risk.
        same = [asked]
        for old in figures.questions(desk.conn, run.hash):
            with suppress(ValueError, UsageError):
                one = replace(_stored(*old), closed=False)
                is_same = (one.figure, one.of) == (asked.figure, asked.of)
                if same[-1].turn and is_same and one.event < asked.event:
                    same.append(one)
        found = []
        gone: set[str] = set()
        until = inf
        for one in same:
            labels = given(desk, run, one, until)
            found.append((one, [of for item, of in labels.items() if item.hex() not in gone]))
            gone |= {*one.unlabelled}
            until = one.event
    return answered(found[::-1], run.seed, totals, items)


def given(desk: Desk, run: Run, asked: RunQuestion, until: float = inf) -> dict[bytes, Given]:
    rows: dict[bytes, LabelledRow] = {}
    for row in labelled(desk, run):
        rows.setdefault(row.item, row)
    found: dict[bytes, Given] = {}
    for item, unit, truth, counter in figures.labels_given(desk.conn, run.key):
        before = counter < asked.event
        again = before and item.hex() in asked.unlabelled
        if item not in found and not again and counter < until:
            found[item] = Given(unit, rows.get(item), truth, before)
    return found


def asked_keys(desk: Desk, run: Run) -> list[int]:
    found = answer(desk, run)
    if found is None or found.question.closed:
        return []
    keys = figures.at_places(desk.conn, run.key, found.drawn)
    return [keys[place][0] for place in found.drawn if place in keys]


class Strip(Struct, frozen=True):
    """Both lines of the strip, the figures of the labelled verdicts alone, and the pace."""

    calibration: Calibration | None = None
    alone: Metrics | None = None
    pace: Pace | None = None
    blockers: tuple[Blocker, ...] = ()
    """The items that labels wait for, by the draw or, in a blind session, by its queue."""
    answer: RunAnswer | None = None


class LiveStrip:
    """The strip of the run that was requested last, for any thread; each call reads one state."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: object = None
        """The desk, the reviewer and the run whose labels are kept."""
        self._forget()

    def _forget(self) -> None:
        self._columns: LabelColumns | None = None
        self._span: queue.RunKeys | None = None
        self._totals: RunFigures | None = None
        self._work = PaceReader()
        self._marks = bytearray()
        self._asks = False
        self._head: Head | None = None
        """The labels of the verdicts as bytes, and the newest event that they hold."""
        self._places = dict[tuple[int, int], tuple[Blocker, ...]]()
        """The items at the places of the run's draw that were looked up."""

    def read(self, desk: Desk, run: Run, done: Sequence[Applied] = ()) -> Strip:
        """Return a run's figures; from ``done`` alone if that begins where the last call ended."""
        # Imported here because it loads numpy, which takes a tenth of a second.
        from reviewdesk.domain.labels import summary

        with self._lock:
            of = str(desk.path), getattr(desk.conn, "identity", None), desk.reviewer, run.hash
            span = self._span
            totals = self._totals
            if of == self._of and span and totals and self._follow(run, span, done):
                calibration, alone = self._counted(desk, span, totals)
            else:
                if of != self._of:
                    self._of = of
                    self._forget()
                with reading(desk.conn):
                    # They follow from the verdicts alone, which do not change meanwhile.
                    totals = self._totals = self._totals or figures.run_figures(desk.conn, run.key)
                    if run.by_verdict:
                        # The weight of a content depends on every stratum with one of its verdicts.
                        rows = sorted(labelled(desk, run), key=lambda one: one.key)
                        calibration = summary.make_rows(rows, totals).lines
                        alone = summary.alone(rows, {}).metrics
                    else:
                        span = self._span = self._span or queue.span(desk.conn, run.key)
                        self._marks = told_marks(desk, span, desk.apart.now)
                        self._head = desk.apart.seen
                        calibration, alone = self._counted(desk, span, totals)
                    self._work.pace(desk, run)
                asked = question(desk, run)
                self._asks = asked is not None and not asked.closed
            named = []
            for gap in calibration.gaps:
                place = gap.stratum, gap.rank
                if place not in self._places:
                    self._places[place] = blockers(desk, run, [gap])
                named += [replace(one, waiting=gap.waiting) for one in self._places[place]]
            found = answer(desk, run) if self._asks else None
            return Strip(calibration, alone, self._work.now, tuple(named), found)

    def _follow(self, run: Run, span: queue.RunKeys, done: Sequence[Applied]) -> bool:
        """Take in labels of the reviewer; return False if the desk is to be read instead."""
        if self._head is None:
            return False
        key = self._head.key
        new = [one for one in done if one.first > key]
        for one in new:
            if one.first != key + 1 or {event.kind for event in one.events} != {"label"}:
                return False
            key = one.head.key
        for one in new:
            for verdict, mark in one.marks.items():
                if 0 <= verdict - span.first < span.size:
                    self._marks[verdict - span.first] = mark
            self._work.follow(one.events, run)
            self._head = one.head
        return bool(new)

    def _counted(
        self, desk: Desk, span: queue.RunKeys, totals: RunFigures
    ) -> tuple[Calibration, Metrics]:
        """Count the labels, after reading the facts of newly labelled verdicts."""
        from reviewdesk.domain.labels.label_columns import LabelColumns, both_lines, labelled_alone

        known = self._columns or LabelColumns.of_rows(())
        self._columns = known.following(
            self._marks,
            span.first,
            lambda fresh: figures.label_columns(desk.conn, span.first, fresh),
        )
        return both_lines(totals, self._columns), labelled_alone(self._columns)
