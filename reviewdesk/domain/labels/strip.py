"""Updates the strip's figures after each label, to those that ``summary.summarise`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, chosen_source, row_of
from reviewdesk.domain.labels.run_counters import RunCounters
from reviewdesk.domain.labels.sampling import Held, Prefix
from reviewdesk.domain.records import Calibration, Metrics
from reviewdesk.domain.stats.counters import CalibrationRow, Counters
from reviewdesk.domain.verdict import Decision

Changes = Mapping[int, LabelledRow | None]
"""Labelled verdicts by key; ``None`` if a verdict has lost its label."""


@dataclass(slots=True)
class StratumLabels:
    """One stratum's labels with their rows, and the counters of those in its labelled prefix."""

    prefix: Prefix[tuple[bool, CalibrationRow | None]] = field(default_factory=Prefix)
    """Whether the label counts, and its row, by rank."""
    counted: int = 0
    """The number of pass and fail labels in the prefix."""
    inside: Counters = field(default_factory=Counters)

    def follow(self, moved: list[tuple[tuple[bool, CalibrationRow | None], int]]) -> None:
        """Count the labels that enter the prefix (1) and those that leave it (-1)."""
        for (counts, row), sign in moved:
            self.counted += sign * counts
            self.inside.move(row, sign)


class BlindCounters:
    """Counters over labelled verdicts alone, one for each confidence mapping that may be used."""

    def __init__(self) -> None:
        """Start without any label."""
        self.stated = 0
        """The number of labelled verdicts with a stated score."""
        self.scoreless = {True: 0, False: 0}
        """The number of decided verdicts without a score, by whether the stated score is meant."""
        self.counters = {
            ("support", True): Counters(),
            ("support", False): Counters(),
            ("vote_share", False): Counters(),
        }

    def move(self, verdict: LabelledRow, sign: int) -> None:
        """Add a labelled verdict, or remove it with ``sign`` -1."""
        self.stated += sign * (verdict.stated_score is not None)
        if verdict.decision in {Decision.PASS, Decision.FAIL}:
            self.scoreless[True] += sign * (verdict.stated_score is None)
            self.scoreless[False] += sign * (verdict.score is None)
        for (source, stated), counters in self.counters.items():
            counters.move(row_of(verdict, source, scores_stated=stated), sign)

    def metrics(self) -> Metrics:
        """Return the figures that ``summary.alone`` gives."""
        stated = self.stated > 0
        used = ("vote_share", False) if self.scoreless[stated] else ("support", stated)
        return self.counters[used].metrics()


class LiveFigures:
    """The labelled verdicts of one run, and their figures at any moment.

    ``calibration`` equals ``summary.summarise`` of the same verdicts: words and counts exactly,
    floats to 1e-12. A change and the figures cost no pass over the other labels; see ``Prefix``.
    """

    def __init__(self, figures: RunFigures, source: str | None = None) -> None:
        """Start without any label; ``source`` replaces the run's own confidence mapping."""
        self.figures = figures
        self.held: Held[LabelledRow] = dict[int, LabelledRow]()
        self.run = RunCounters(figures, chosen_source(figures, source))
        self.strata: dict[int, StratumLabels] = {}
        self.alone_counters = BlindCounters()

    def __len__(self) -> int:
        """Return how many verdicts have a label."""
        return self.run.labelled

    def apply(self, changes: Changes) -> None:
        """Update the labels of some verdicts; old labels are removed before new ones are added."""
        for key, new in changes.items():
            if key in self.held:
                old = self.held[key]
                del self.held[key]
                self._move(old, -1)
                if old.place.seen and not (new is not None and new.place.seen):
                    stratum = self.strata[old.place.stratum]
                    stratum.follow(stratum.prefix.take(old.place.rank))
        for key, new in changes.items():
            if new is not None:
                self.held[key] = new
                self._move(new, 1)
                if new.place.seen:
                    stratum = self.strata.setdefault(new.place.stratum, StratumLabels())
                    stratum.follow(stratum.prefix.give(new.place.rank, self.label_in_stratum(new)))

    def _row(self, verdict: LabelledRow) -> CalibrationRow | None:
        return row_of(verdict, self.run.source, scores_stated=self.figures.scores_stated)

    def label_in_stratum(self, verdict: LabelledRow) -> tuple[bool, CalibrationRow | None]:
        """Return what a stratum holds of a verdict: whether its label counts, and its row."""
        return verdict.place.counts, self._row(verdict)

    def _move(self, verdict: LabelledRow, sign: int) -> None:
        """Add or remove a verdict in all counters that ignore the draw."""
        self.run.every.move(self._row(verdict), sign)
        self.run.move(verdict, sign)
        self.alone_counters.move(verdict, sign)

    def calibration(self) -> Calibration:
        """Return both lines of the strip: the labels alone, and the population if it stands."""
        counted = {h: stratum for h, stratum in self.strata.items() if stratum.counted}
        sizes = self.figures.sizes
        return self.run.calibration(
            {h: one.counted for h, one in counted.items()},
            lambda: Counters.blend(
                (one.inside, sizes[h] / one.counted) for h, one in counted.items()
            ),
        )

    def alone(self) -> Metrics:
        """Return the figures for a blind session, which depend on the labelled verdicts alone."""
        return self.alone_counters.metrics()
