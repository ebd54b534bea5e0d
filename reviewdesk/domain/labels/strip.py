"""Updates the strip's figures after each label, to those that ``summary.summarise`` gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from reviewdesk.domain.labels.rows import (
    LabelledRow,
    RunFigures,
    by_content,
    chosen_source,
    rows_of,
)
from reviewdesk.domain.labels.run_counters import RunCounters
from reviewdesk.domain.labels.sampling import Held, Prefix, gaps
from reviewdesk.domain.records import Calibration, Metrics
from reviewdesk.domain.stats.counters import CalibrationRow, Counters
from reviewdesk.domain.verdict import Decision

Changes = Mapping[int, LabelledRow | None]
"""Verdicts by key; ``None`` if one has lost its label."""


ContentRows: TypeAlias = tuple[CalibrationRow, ...]
"""The rows of the verdicts on one content, each a share of its label."""


@dataclass(slots=True)
class StratumLabels:
    """One stratum's labels with their rows, and the counters of those in its labelled prefix."""

    prefix: Prefix[tuple[bool, ContentRows]] = field(default_factory=Prefix)
    """Whether the label counts, and its rows, by rank."""
    counted: int = 0
    """The number of pass and fail labels in the prefix."""
    inside: Counters = field(default_factory=Counters)

    def follow(self, moved: list[tuple[tuple[bool, ContentRows], int]]) -> None:
        """Count the labels that enter the prefix (1) and those that leave it (-1)."""
        for (counts, rows), sign in moved:
            self.counted += sign * counts
            for row in rows:
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

    def move(self, verdicts: Sequence[LabelledRow], sign: int) -> None:
        """Add the labelled verdicts on one content, or remove them with ``sign`` -1."""
        for verdict in verdicts:
            self.stated += sign * (verdict.stated_score is not None)
            if verdict.decision in {Decision.PASS, Decision.FAIL}:
                self.scoreless[True] += sign * (verdict.stated_score is None)
                self.scoreless[False] += sign * (verdict.score is None)
        for (source, stated), counters in self.counters.items():
            for row in rows_of(verdicts, source, scores_stated=stated):
                counters.move(row, sign)

    def metrics(self) -> Metrics:
        """Return the figures that ``summary.alone`` gives."""
        stated = self.stated > 0
        used = ("vote_share", False) if self.scoreless[stated] else ("support", stated)
        return self.counters[used].metrics()


class LiveFigures:
    """The labelled contents of one run, and their figures at any moment.

    ``calibration`` equals ``summary.summarise`` of the same verdicts: words and counts exactly,
    floats to 1e-12. A change and the figures cost no pass over the other labels; see ``Prefix``.
    """

    def __init__(self, figures: RunFigures, source: str | None = None) -> None:
        """Start without any label; ``source`` replaces the run's own confidence mapping."""
        self.figures = figures
        self.held: Held[list[LabelledRow]] = dict[int, list[LabelledRow]]()
        """The verdicts on a content, by the key of the first of them."""
        self.run = RunCounters(figures, chosen_source(figures, source))
        self.strata: dict[int, StratumLabels] = {}
        self.alone_counters = BlindCounters()

    def __len__(self) -> int:
        """Return how many contents have a label."""
        return self.run.labelled

    def apply(self, changes: Changes) -> None:
        """Update the labels of some contents; old labels are removed before new ones are added.

        Of a content, all verdicts are given.
        """
        rows = [row for row in changes.values() if row is not None]
        new = {min(one.key for one in same): same for same in by_content(rows)}
        for key in changes:
            if key in self.held:
                old = self.held[key]
                del self.held[key]
                self._move(old, -1)
                place, after = old[0].place, new.get(key)
                if place.seen and not (after is not None and after[0].place.seen):
                    stratum = self.strata[place.stratum]
                    stratum.follow(stratum.prefix.take(place.rank))
        for key, same in new.items():
            self.held[key] = same
            self._move(same, 1)
            place = same[0].place
            if place.seen:
                stratum = self.strata.setdefault(place.stratum, StratumLabels())
                stratum.follow(stratum.prefix.give(place.rank, self.label_in_stratum(same)))

    def _rows(self, verdicts: Sequence[LabelledRow]) -> ContentRows:
        return rows_of(verdicts, self.run.source, scores_stated=self.figures.scores_stated)

    def label_in_stratum(self, verdicts: Sequence[LabelledRow]) -> tuple[bool, ContentRows]:
        """Return what a stratum holds of a content: whether its label counts, and its rows."""
        return any(one.place.counts for one in verdicts), self._rows(verdicts)

    def _move(self, verdicts: Sequence[LabelledRow], sign: int) -> None:
        """Add or remove a content in all counters that ignore the draw."""
        for row in self._rows(verdicts):
            self.run.every.move(row, sign)
        self.run.move(verdicts, sign)
        self.alone_counters.move(verdicts, sign)

    def calibration(self) -> Calibration:
        """Return both lines of the strip: the labels alone, and the population if it stands."""
        counted = {h: stratum for h, stratum in self.strata.items() if stratum.counted}
        sizes = self.figures.sizes
        return self.run.calibration(
            {h: one.counted for h, one in counted.items()},
            lambda: Counters.blend(
                (one.inside, sizes[h] / one.counted) for h, one in counted.items()
            ),
            gaps({h: stratum.prefix for h, stratum in self.strata.items()}),
        )

    def alone(self) -> Metrics:
        """Return the figures for a blind session, which depend on the labelled verdicts alone."""
        return self.alone_counters.metrics()


class RecountedFigures:
    """The figures of a run whose verdicts were drawn, and in which several are on one content.

    The weight of such a content depends on every stratum that has one of them, so all labels are
    counted again after a change. It is used as ``LiveFigures`` is.
    """

    def __init__(self, figures: RunFigures, rows: Iterable[LabelledRow]) -> None:
        """Start with the labelled verdicts ``rows``."""
        self.figures = figures
        self.held = {row.key: row for row in rows}

    def apply(self, changes: Changes) -> None:
        """Update the labels of some verdicts."""
        for key, new in changes.items():
            if new is not None:
                self.held[key] = new
            elif key in self.held:
                del self.held[key]

    def calibration(self) -> Calibration:
        """Return both lines of the strip: the labels alone, and the population if it stands."""
        # Imported here because it loads numpy, which the strip of other runs does not need.
        from reviewdesk.domain.labels.summary import summarise

        return summarise(self._rows(), self.figures)

    def alone(self) -> Metrics:
        """Return the figures for a blind session, which depend on the labelled verdicts alone."""
        from reviewdesk.domain.labels.summary import alone

        return alone(self._rows(), {}).metrics

    def _rows(self) -> list[LabelledRow]:
        return sorted(self.held.values(), key=lambda row: row.key)
