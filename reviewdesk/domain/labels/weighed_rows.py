"""The labelled verdicts of a run with their draw, and the calibration rows that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, chosen_source, confidence
from reviewdesk.domain.labels.sampling import Weighing, decided_strata, decided_verdicts, weigh
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.clusters import Clusters
from reviewdesk.domain.stats.correction import CELLS, RIGHT, WRONG, Cells
from reviewdesk.domain.stats.figures import ALONE, Effect, LabelSpread, Part, Target
from reviewdesk.domain.stats.stratified import Voted, pass_part, right_part
from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True)
class LabelledRows:
    """The labelled verdicts of a run with their draw, and the rows that they give.

    ``verdicts``, ``rows`` and ``weights`` are of those that give a row.
    """

    labelled: Sequence[LabelledRow]
    figures: RunFigures
    verdicts: list[LabelledRow]
    rows: Rows
    weights: list[float]
    weighing: Weighing
    source: str
    again: Callable[[Mapping[int, Truth]], LabelledRows] | None = None
    """Builds the rows anew with the truths of some verdicts, where ``make_rows`` cannot."""

    def with_truths(self, truths: Mapping[int, Truth]) -> LabelledRows:
        """Return the rows as they are if some verdicts, by key, had these truths."""
        if self.again is not None:
            return self.again(truths)
        labelled = [
            replace(one, place=replace(one.place, truth=truths.get(one.key, one.place.truth)))
            for one in self.labelled
        ]
        return make_rows(labelled, self.figures, self.source)

    @cached_property
    def left_out(self) -> int:
        """The number of verdicts that would give a row, but have no confidence from the source."""
        return sum(verdict.decided for verdict in self.labelled) - len(self.verdicts)

    @cached_property
    def drawn(self) -> dict[int, bool]:
        """Whether each label lies in its stratum's labelled prefix, by verdict key."""
        return {v.key: at for v, at in zip(self.labelled, self.weighing.drawn, strict=True)}

    @cached_property
    def inclusion(self) -> dict[int, float]:
        """The chance with which each label counts, by verdict key."""
        return {v.key: pi for v, pi in zip(self.labelled, self.weighing.inclusion, strict=True)}

    @cached_property
    def clusters(self) -> Clusters | None:
        """The labels that count by content and case; ``None`` if each is of a case of its own."""
        rows = [
            (verdict, weight)
            for verdict, weight in zip(self.labelled, self.weighing.weights, strict=True)
            if weight and verdict.place.usable
        ]
        contents = [one.place.content or one.place.unit for one, _ in rows]
        tests = [one.test or content for (one, _), content in zip(rows, contents, strict=True)]
        return Clusters.gathered(
            [one.place.stratum for one, _ in rows],
            contents,
            tests,
            [weight for _, weight in rows],
            [CELLS.index(one.cell) for one, _ in rows],
        )

    @cached_property
    def voted(self) -> tuple[Voted, ...]:
        """The panel's decisions per decided stratum, with the labels that count."""
        sizes = self.figures.sizes
        decided = self.figures.decided
        clusters = self.clusters
        cells = Counter(
            (verdict.place.stratum, verdict.cell)
            for verdict, inside in zip(self.labelled, self.weighing.drawn, strict=True)
            if inside and verdict.place.usable
        )
        made = []
        for h in sorted(decided_strata(sizes, decided)):
            found = Cells(**{name: cells[h, name] for name in CELLS})
            spread = None
            if clusters is not None and clusters.repeated:
                found, spread = clusters.of_stratum(h)
            passes, fails = decided_verdicts(h, sizes[h], decided)
            if not found.n and passes + fails != sizes[h]:
                spread = LabelSpread(sizes[h], 0, 0, passes + fails)
            made.append(Voted(h, passes, fails, found, found, spread))
        return tuple(made)

    @cached_property
    def pass_parts(self) -> tuple[Part, ...]:
        """Per decided stratum, how many of the labels that count say pass, for this run."""
        deff = self.pass_effect(Target.RUN).deff
        return tuple(pass_part(one, deff) for one in self.voted)

    @cached_property
    def right_parts(self) -> tuple[Part, ...]:
        """Per decided stratum, how many of the labels that count agree with the panel."""
        deff = ALONE if self.clusters is None else self.clusters.effect(RIGHT, WRONG, Target.RUN)
        return tuple(right_part(one, deff.deff) for one in self.voted)

    def pass_effect(self, target: Target) -> Effect:
        """Return the design effect of the share of verdicts that should pass."""
        found = self.clusters
        return ALONE if found is None else found.effect((0, 1), (2, 3), target)

    @cached_property
    def headline(self) -> Rows:
        """The rows behind the headline, weighted if the labels stand for the run."""
        return self.rows.weighted(self.weights) if self.weighing.design.stands else self.rows


def make_rows(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> LabelledRows:
    """Build the rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    source = chosen_source(figures, source)
    weighing = weigh([verdict.place for verdict in labelled], figures.sizes, figures.decided)
    sure = [
        confidence(one, source, scores_stated=figures.scores_stated) if one.decided else None
        for one in labelled
    ]
    kept = [place for place, value in enumerate(sure) if value is not None]
    verdicts = [labelled[place] for place in kept]
    return LabelledRows(
        labelled=labelled,
        figures=figures,
        verdicts=verdicts,
        rows=Rows.of(
            [value for value in sure if value is not None],
            [one.correct for one in verdicts],
            passed=[one.decision is Decision.PASS for one in verdicts],
            content=[one.place.content or one.place.unit for one in verdicts],
        ),
        weights=[weighing.weights[place] for place in kept],
        weighing=weighing,
        source=source,
    )
