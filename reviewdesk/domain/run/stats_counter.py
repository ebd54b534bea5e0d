"""Counts the sufficient statistics of a run's verdicts as its windows are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.run.columns import Bools, Columns, Floats, unpacked, vote_units
from reviewdesk.domain.run.packing import COLUMNS, UNKNOWN, PackedRun
from reviewdesk.domain.run.stats import BINS, NO_DECISION, JurorSums, ScoreSums, Stats
from reviewdesk.domain.run.tally import DERIVED_ESCALATION, Counts
from reviewdesk.domain.run.window import VerdictWindow, WindowReader
from reviewdesk.domain.stats.alpha import AlphaState, NominalState
from reviewdesk.domain.verdict import Decision
from reviewdesk.domain.whatif import table
from reviewdesk.domain.whatif.policies import MOST_LEFT_OUT, Variant, whole

_WINDOWS = 20
"""Windows that are counted together, because other rules cost the same for fewer verdicts."""
_ESCALATIONS = (*map(int, Flag), DERIVED_ESCALATION)


class StatsCounter:
    """Counts the windows of one ``WindowReader``, a few thousand verdicts at a time."""

    def __init__(self, reader: WindowReader) -> None:
        """Start without verdicts."""
        self._reader = reader
        self._found = Stats()
        self._waiting: list[VerdictWindow] = []

    def add(self, window: VerdictWindow) -> None:
        """Add the next window as soon as the reader yields it."""
        self._waiting.append(window)
        if len(self._waiting) >= _WINDOWS:
            self._count()

    def stats(self) -> Stats:
        """Return the statistics of all windows, after the last was added."""
        if self._waiting:
            self._count()
        tally = self._reader.tally
        counts = Counts(**{one.name: getattr(tally, one.name) for one in fields(Counts)})
        return replace(self._found, counts=counts)

    def _count(self) -> None:
        reader = self._reader
        windows = self._waiting
        packed = {name: b"".join([one.packed[name] for one in windows]) for name in COLUMNS}
        found = PackedRun(packed, reader.names, reader.quorums)
        start = windows[0].first
        end = reader.tally.verdicts
        columns = unpacked(found, range(start, end))
        flags = np.array(reader.tally.preliminary[start:end])
        made = Stats(
            flags={bit: n for bit in _ESCALATIONS if (n := int((flags & bit != 0).sum()))},
            unknown_ballots=packed["failed"].count(UNKNOWN),
            alpha=AlphaState.of(columns.scores.T),
            votes=NominalState.of(vote_units(found).T),
            jurors=dict(_jurors(columns)),
            standing=table.as_it_stands(columns),
            policies=table.policy_counts(columns, _variants(columns)),
            **_of_rows(windows),
        )
        self._waiting = []
        self._found = self._found.merge(made)


def _variants(columns: Columns) -> Iterator[Variant]:
    """Yield the policies of the whole table, and each verdict's own rule."""
    yield Variant()
    yield from whole(columns.names[:MOST_LEFT_OUT])


def _of_rows(windows: Sequence[VerdictWindow]) -> dict[str, Any]:
    """Return the statistics that follow from the rows that a desk would store."""

    def column(name: str) -> list[Any]:
        return [value for one in windows for value in one.columns[name]]

    decisions = column("decision")
    marks = column("marks")
    spread, mass = (np.array(column(name), np.float64) for name in ("range", "mass"))
    answered, passes = (np.array(column(name)) for name in ("answered", "passes"))
    scores = np.array(column("score"), np.float64)
    split = np.array([value for one in windows for value in one.flags]) & int(Flag.SPLIT) != 0
    alike = ((passes == 0) | (passes == answered)) & ~split
    passed = np.array([one == Decision.PASS for one in decisions], np.bool_)
    found: Counter[int] = Counter()
    for value, count in Counter(marks).items():
        found.update({int(kind): count for kind in Breach if value & kind})
    return {
        "decisions": {word or NO_DECISION: n for word, n in Counter(decisions).items()},
        "breaches": dict(found),
        "unanimous_scores": int((~np.isnan(mass) & (spread == 0)).sum()),
        "unanimous_votes": int(((answered > 1) & alike).sum()),
        "scores": _moments(scores),
        "bins": _bins(scores),
        "bin_passes": _bins(scores[passed]),
    }


def _moments(values: Floats) -> ScoreSums:
    known = values[~np.isnan(values)]
    return ScoreSums(len(known), float(known.sum()), float(known @ known))


def _bins(scores: Floats) -> tuple[int, ...]:
    known = scores[~np.isnan(scores)]
    places = np.clip((known * BINS).astype(np.int64), 0, BINS - 1)
    return tuple(np.bincount(places, minlength=BINS).tolist())


def _jurors(columns: Columns) -> Iterator[tuple[str, JurorSums]]:
    """Yield the name and the sums of each juror that sits on one of the panels."""
    given = ~np.isnan(columns.scores)
    scored = given.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(given, columns.scores, 0).sum(axis=0) / scored
    residuals = np.where(scored >= 2, columns.scores - mean, np.nan)
    for place, name in enumerate(columns.names):
        mine: Bools = columns.juror == place
        if not mine.any():
            continue
        votes = columns.votes[mine]
        yield (
            name,
            JurorSums(
                seats=int(mine.sum()),
                failed=int(columns.failed[mine].sum()),
                answered=int((votes >= 0).sum()),
                passes=int((votes == 1).sum()),
                scores=_moments(columns.scores[mine]),
                residuals=_moments(residuals[mine]),
            ),
        )
