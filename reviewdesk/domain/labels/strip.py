"""The strip's figures after each label, by increments: what ``summary.summarise`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewdesk.domain.labels.sampling import decided_strata, design_word
from reviewdesk.domain.labels.summary import (
    LabelledRow,
    RunFigures,
    chosen_source,
    confidence,
    warnings_of,
)
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.stats.incremental import CalibrationRow, RunningSums, blend
from reviewdesk.domain.verdict import Decision

Changes = Mapping[int, LabelledRow | None]
"""Labelled verdicts by key; ``None`` where a verdict has no label any more."""

_DECIDED = (Decision.PASS, Decision.FAIL)


def row_of(verdict: LabelledRow, source: str, *, scores_stated: bool) -> CalibrationRow | None:
    """The row that a labelled verdict makes; ``None`` where it makes none."""
    if not verdict.decided:
        return None
    sure = confidence(verdict, source, scores_stated=scores_stated)
    return (
        None
        if sure is None
        else CalibrationRow(sure, verdict.correct, verdict.decision is Decision.PASS)
    )


@dataclass(slots=True)
class Prefix:
    """One stratum's labels, and the sums of those in its completed prefix.

    A label at the end of the prefix moves the end on, one taken back inside cuts the prefix there;
    both pass each rank between once. So a label costs the ranks that it joins, the undo of the
    newest label those that it had joined, and many labels given (or taken) at once cost together no
    more than one pass. A label that changes its truth stays where it is.
    """

    held: dict[int, tuple[bool, CalibrationRow | None]] = field(default_factory=dict)
    """By rank, whether the label counts, and its row."""
    end: int = 0
    counted: int = 0
    """The pass and fail labels in the prefix."""
    sums: RunningSums = field(default_factory=RunningSums)

    def give(self, rank: int, counts: bool, row: CalibrationRow | None) -> None:
        """Take in the label of a rank, or another one in its place."""
        if rank < self.end:
            self._enter(rank, -1)
        self.held[rank] = (counts, row)
        if rank < self.end:
            self._enter(rank, 1)
        while self.end in self.held:
            self._enter(self.end, 1)
            self.end += 1

    def take(self, rank: int) -> None:
        """Take out the label of a rank."""
        while self.end > rank:
            self.end -= 1
            self._enter(self.end, -1)
        del self.held[rank]

    def _enter(self, rank: int, sign: int) -> None:
        counts, row = self.held[rank]
        self.counted += sign * counts
        if row is not None:
            (self.sums.add if sign > 0 else self.sums.remove)(row)


class BlindSums:
    """What labelled verdicts tell by themselves, under each mapping that they may choose."""

    def __init__(self) -> None:
        """No labels."""
        self._stated = 0
        self._scoreless = {True: 0, False: 0}
        """Decided verdicts that lack a score, by whether stated ones are meant."""
        self._sums = {
            ("support", True): RunningSums(),
            ("support", False): RunningSums(),
            ("vote_share", False): RunningSums(),
        }

    def move(self, verdict: LabelledRow, sign: int) -> None:
        """Take a labelled verdict in, or out with ``sign`` -1."""
        self._stated += sign * (verdict.stated_score is not None)
        if verdict.decision in _DECIDED:
            self._scoreless[True] += sign * (verdict.stated_score is None)
            self._scoreless[False] += sign * (verdict.score is None)
        for (source, stated), sums in self._sums.items():
            row = row_of(verdict, source, scores_stated=stated)
            if row is not None:
                (sums.add if sign > 0 else sums.remove)(row)

    def metrics(self) -> Metrics:
        """The figures of ``summary.alone``."""
        stated = self._stated > 0
        support = ("support", stated)
        return self._sums[("vote_share", False) if self._scoreless[stated] else support].metrics()


class LiveFigures:
    """The labelled verdicts of one run, and their figures at any moment.

    ``calibration`` equals ``summary.summarise`` of the same verdicts: words and counts exactly,
    floats to 1e-9. Neither a change nor the figures read the other labels; see ``Prefix``.
    """

    def __init__(self, figures: RunFigures, source: str | None = None) -> None:
        """No labels; ``source`` replaces the run's own confidence mapping."""
        self.figures = figures
        self._source = chosen_source(figures, source)
        self._held: dict[int, LabelledRow] = {}
        self._every = RunningSums()
        self._strata: dict[int, Prefix] = {}
        self._alone = BlindSums()
        self._truths = dict.fromkeys(Truth, 0)
        self._undecided = self._left_out = self._usable = 0

    def __len__(self) -> int:
        """How many verdicts have a label."""
        return len(self._held)

    def apply(self, changes: Changes) -> None:
        """Bring verdicts to the labels they have; those that are taken back go first."""
        for key, new in changes.items():
            old = self._held.pop(key, None)
            if old is not None:
                self._move(old, -1)
                if new is None:
                    self._strata[old.place.stratum].take(old.place.rank)
        for key, new in changes.items():
            if new is not None:
                self._held[key] = new
                row = self._move(new, 1)
                prefix = self._strata.setdefault(new.place.stratum, Prefix())
                prefix.give(new.place.rank, new.place.counts, row)

    def _move(self, verdict: LabelledRow, sign: int) -> CalibrationRow | None:
        """Count a verdict in or out of all that does not depend on the draw; its row."""
        row = row_of(verdict, self._source, scores_stated=self.figures.scores_stated)
        if row is not None:
            (self._every.add if sign > 0 else self._every.remove)(row)
        self._left_out += sign * (row is None and verdict.decided)
        self._truths[verdict.place.truth] += sign
        self._undecided += sign * (verdict.decision not in _DECIDED)
        self._usable += sign * verdict.place.usable
        self._alone.move(verdict, sign)
        return row

    def calibration(self) -> Calibration:
        """Both lines of the strip."""
        figures = self.figures
        decided = figures.passed + figures.failed
        observed = figures.passed / decided if decided else None
        empty = tuple(h for h in decided_strata(figures.sizes) if not self._counted(h))
        design = design_word(self._usable, figures.sizes, empty)
        line, population = self._every.metrics(observed), None
        if design in {Design.WEIGHTED, Design.CENSUS}:
            population = self._weighted().metrics(observed)
        return Calibration(
            labelled=line,
            population=population,
            design=design,
            confidence_source=self._source,
            unsure=self._truths[Truth.UNSURE],
            disputed=self._truths[Truth.DISPUTED],
            no_verdict=self._undecided,
            rowless=len(self._held) - line.n,
            waiting=line.n - population.n if population is not None else 0,
            warnings=warnings_of(population or line, design, empty, figures.sizes, self._left_out),
        )

    def alone(self) -> Metrics:
        """The figures that nothing but the labelled verdicts moves, for a blind session."""
        return self._alone.metrics()

    def _counted(self, stratum: int) -> int:
        found = self._strata.get(stratum)
        return found.counted if found else 0

    def _weighted(self) -> RunningSums:
        """Every label that counts at ``N_h / m_h``, the strata added up."""
        return blend(
            (prefix.sums, self.figures.sizes[stratum] / prefix.counted)
            for stratum, prefix in self._strata.items()
            if prefix.counted
        )
