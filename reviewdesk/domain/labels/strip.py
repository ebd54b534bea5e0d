"""Updates the strip's figures after each label, to those that ``summary.summarise`` gives."""

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
"""Labelled verdicts by key; ``None`` if a verdict has lost its label."""

_DECIDED = (Decision.PASS, Decision.FAIL)


def row_of(verdict: LabelledRow, source: str, *, scores_stated: bool) -> CalibrationRow | None:
    """Return the calibration row of a labelled verdict.

    ``None`` if panel or label is neither pass nor fail, or the source gives no confidence.
    """
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
    """One stratum's labels, and the sums of those in its labelled prefix.

    A label at the end of the prefix extends it over all labels that follow without a gap; removing
    a label inside the prefix cuts it there. Each costs one step per rank that enters or leaves, and
    many labels added (or removed) at once cost no more than one pass together. A label that changes
    its truth keeps its rank.
    """

    held: dict[int, tuple[bool, CalibrationRow | None]] = field(default_factory=dict)
    """Whether the label counts, and its row, by rank."""
    end: int = 0
    counted: int = 0
    """The number of pass and fail labels in the prefix."""
    sums: RunningSums = field(default_factory=RunningSums)

    def give(self, rank: int, counts: bool, row: CalibrationRow | None) -> None:
        """Set the label of a rank, replacing one that it already has."""
        if rank < self.end:
            self._enter(rank, -1)
        self.held[rank] = (counts, row)
        if rank < self.end:
            self._enter(rank, 1)
        while self.end in self.held:
            self._enter(self.end, 1)
            self.end += 1

    def take(self, rank: int) -> None:
        """Remove the label of a rank."""
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
    """Sums over labelled verdicts alone, kept for each confidence mapping that may be used."""

    def __init__(self) -> None:
        """Start without any label."""
        self._stated = 0
        self._scoreless = {True: 0, False: 0}
        """The number of decided verdicts without a score, by whether the stated score is meant."""
        self._sums = {
            ("support", True): RunningSums(),
            ("support", False): RunningSums(),
            ("vote_share", False): RunningSums(),
        }

    def move(self, verdict: LabelledRow, sign: int) -> None:
        """Add a labelled verdict, or remove it with ``sign`` -1."""
        self._stated += sign * (verdict.stated_score is not None)
        if verdict.decision in _DECIDED:
            self._scoreless[True] += sign * (verdict.stated_score is None)
            self._scoreless[False] += sign * (verdict.score is None)
        for (source, stated), sums in self._sums.items():
            row = row_of(verdict, source, scores_stated=stated)
            if row is not None:
                (sums.add if sign > 0 else sums.remove)(row)

    def metrics(self) -> Metrics:
        """Return the figures that ``summary.alone`` gives."""
        stated = self._stated > 0
        support = ("support", stated)
        return self._sums[("vote_share", False) if self._scoreless[stated] else support].metrics()


class LiveFigures:
    """The labelled verdicts of one run, and their figures at any moment.

    ``calibration`` equals ``summary.summarise`` of the same verdicts: words and counts exactly,
    floats to 1e-9. A change and the figures cost no pass over the other labels; see ``Prefix``.
    """

    def __init__(self, figures: RunFigures, source: str | None = None) -> None:
        """Start without any label; ``source`` replaces the run's own confidence mapping."""
        self.figures = figures
        self._source = chosen_source(figures, source)
        self._held: dict[int, LabelledRow] = {}
        self._every = RunningSums()
        self._strata: dict[int, Prefix] = {}
        self._alone = BlindSums()
        self._truths = dict.fromkeys(Truth, 0)
        self._undecided = self._left_out = self._usable = 0

    def __len__(self) -> int:
        """Return how many verdicts have a label."""
        return len(self._held)

    def apply(self, changes: Changes) -> None:
        """Update the labels of some verdicts; old labels are removed before new ones are added."""
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
        """Add or remove a verdict in all sums that do not depend on the draw; return its row."""
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
        """Return both lines of the strip: the labels alone, and the population if it stands."""
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
        """Return the figures for a blind session, which depend on the labelled verdicts alone."""
        return self._alone.metrics()

    def _counted(self, stratum: int) -> int:
        found = self._strata.get(stratum)
        return found.counted if found else 0

    def _weighted(self) -> RunningSums:
        """Return the sums over all labels that count, each weighted by ``N_h / m_h``."""
        return blend(
            (prefix.sums, self.figures.sizes[stratum] / prefix.counted)
            for stratum, prefix in self._strata.items()
            if prefix.counted
        )
