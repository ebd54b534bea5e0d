"""The labelled verdicts of a run, and the calibration rows that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reviewdesk.domain.labels.sampling import (
    FIRST_REST,
    LabelledVerdict,
    Weighing,
    decided_strata,
    weigh,
)
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import CalibrationRow, Rows
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.stratified import Voted, pass_part, right_part
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError
from reviewdesk.frozen import Frozen, field

SOURCES = ("support", "score", "reported", "vote_share")


class LabelledRow(Frozen):
    """One labelled verdict, with the values that confidence can be taken from."""

    key: int
    id: str
    item: bytes
    decision: Decision | None
    score: float | None
    stated_score: float | None
    confidence: float | None
    passes: int
    answered: int
    place: LabelledVerdict

    @property
    def decided(self) -> bool:
        """Whether panel and label both say pass or fail, so that the verdict gives a row."""
        # Tuples, because to hash an enum costs more than to compare it.
        truth = self.place.truth
        return self.decision in (Decision.PASS, Decision.FAIL) and truth in (Truth.PASS, Truth.FAIL)

    @property
    def correct(self) -> bool:
        """Whether the panel's decision matches the label."""
        return str.__eq__(self.decision or "", self.place.truth)

    @property
    def cell(self) -> str:
        """The cell of the confusion that a pass or fail label adds to."""
        if self.place.truth is Truth.PASS:
            return "tp" if self.correct else "fn"
        return "tn" if self.correct else "fp"


class RunFigures(Frozen):
    """The facts of a whole run that calibration needs."""

    passed: int
    failed: int
    confidence_source: str
    scores_stated: bool
    sizes: Mapping[int, int]
    audits: Mapping[int, int] = field(default_factory=dict)
    """The number of verdicts in the audit, by stratum."""

    @property
    def observed(self) -> float | None:
        """The share of passes among the decided verdicts; ``None`` if none is decided."""
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


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

    @cached_property
    def left_out(self) -> int:
        """The number of verdicts that would give a row, but have no confidence from the source."""
        return sum(verdict.decided for verdict in self.labelled) - len(self.verdicts)

    @cached_property
    def drawn(self) -> dict[int, bool]:
        """Whether each label lies in its stratum's labelled prefix, by verdict key."""
        return {v.key: at for v, at in zip(self.labelled, self.weighing.drawn, strict=True)}

    @cached_property
    def voted(self) -> tuple[Voted, ...]:
        """The panel's decisions per decided stratum, with the labels that count."""
        cells = Counter(
            (verdict.place.stratum, verdict.cell)
            for verdict, inside in zip(self.labelled, self.weighing.drawn, strict=True)
            if inside and verdict.place.usable
        )
        made = []
        for h in sorted(decided_strata(self.figures.sizes)):
            size, found = self.figures.sizes[h], Cells(**{name: cells[h, name] for name in CELLS})
            passes = size if h % FIRST_REST == 0 else 0
            made.append(Voted(h, passes, size - passes, found, found))
        return tuple(made)

    @cached_property
    def pass_parts(self) -> tuple[Part, ...]:
        """Per decided stratum, how many of the labels that count say pass."""
        return tuple(map(pass_part, self.voted))

    @cached_property
    def right_parts(self) -> tuple[Part, ...]:
        """Per decided stratum, how many of the labels that count agree with the panel."""
        return tuple(map(right_part, self.voted))

    @cached_property
    def headline(self) -> Rows:
        """The rows behind the headline, weighted if the labels stand for the run."""
        return self.rows.weighted(self.weights) if self.weighing.design.stands else self.rows


def confidence(verdict: LabelledRow, source: str, *, scores_stated: bool) -> float | None:
    """Return how sure the panel is of its decision, by one declared mapping; ``None`` if unknown.

    ``support`` is the score of a pass, and 1 less the score of a fail; ``vote_share`` the share of
    votes for the decision; ``score`` the score itself; ``reported`` the mean that jurors report.
    """
    passed = verdict.decision is Decision.PASS
    score = verdict.stated_score if scores_stated else verdict.score
    if source == "score":
        return score
    if source == "reported":
        return verdict.confidence
    if source == "vote_share":
        score = verdict.passes / verdict.answered if verdict.answered else None
    if score is None:
        return None
    return score if passed else 1 - score


def chosen_source(figures: RunFigures, source: str | None) -> str:
    """Return the confidence mapping ``source``, else the run's own; raise UsageError if unknown."""
    source = source or figures.confidence_source
    if source not in SOURCES:
        raise UsageError(f"no confidence source {source!r}", f"One of {', '.join(SOURCES)}.")
    return source


def row_of(verdict: LabelledRow, source: str, *, scores_stated: bool) -> CalibrationRow | None:
    """Return the row of a labelled verdict; ``None`` unless it is decided and has a confidence."""
    sure = confidence(verdict, source, scores_stated=scores_stated) if verdict.decided else None
    if sure is None:
        return None
    return CalibrationRow(sure, verdict.correct, verdict.decision is Decision.PASS)


def make_rows(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> LabelledRows:
    """Build the rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    source = chosen_source(figures, source)
    weighing = weigh([verdict.place for verdict in labelled], figures.sizes)
    found = [row_of(one, source, scores_stated=figures.scores_stated) for one in labelled]
    rows = [row for row in found if row is not None]
    kept = [place for place, row in enumerate(found) if row is not None]
    return LabelledRows(
        labelled=labelled,
        figures=figures,
        verdicts=[labelled[place] for place in kept],
        rows=Rows.of(
            [row.confidence for row in rows],
            [row.correct for row in rows],
            passed=[row.passed for row in rows],
        ),
        weights=[weighing.weights[place] for place in kept],
        weighing=weighing,
        source=source,
    )
