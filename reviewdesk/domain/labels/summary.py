"""Computes the two lines of the strip from labelled verdicts, with the design of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reviewdesk.domain.gates.limits import default_checks
from reviewdesk.domain.labels.coverage import parts
from reviewdesk.domain.labels.sampling import (
    FIRST_REST,
    STRATA,
    LabelledVerdict,
    Weighing,
    weigh,
)
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.stats.calibration import Rows, bin_index, measure
from reviewdesk.domain.stats.calibration_page import BlindFigures, BlindSplit
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Fit, Part
from reviewdesk.domain.stats.fit import fit
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError

SOURCES = ("support", "score", "reported", "vote_share")
ESCALATED_ONLY = "describes escalated verdicts only"


@dataclass(frozen=True, slots=True)
class LabelledRow:
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
        return self.decision in {Decision.PASS, Decision.FAIL} and self.place.truth in {
            Truth.PASS,
            Truth.FAIL,
        }

    @property
    def correct(self) -> bool:
        """Whether the panel's decision matches the label."""
        return self.decision is not None and self.decision.value == self.place.truth.value


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The facts of a whole run that calibration needs."""

    passed: int
    failed: int
    confidence_source: str
    scores_stated: bool
    sizes: Mapping[int, int]
    audits: Mapping[int, int] = field(default_factory=dict)
    """The number of verdicts in the audit, by stratum."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """The labelled verdicts that give a row, with their confidences and draw weights.

    ``left_out`` counts those that would give a row but have no confidence from the source.
    """

    verdicts: list[LabelledRow]
    rows: Rows
    weights: list[float]
    drawn: dict[int, bool]
    """Whether the label lies in its stratum's labelled prefix, by verdict key."""
    weighing: Weighing
    source: str
    left_out: int


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
    """Return the confidence mapping that ``source`` names, else the run's own.

    Raises:
        UsageError: there is no such mapping.
    """
    source = source or figures.confidence_source
    if source not in SOURCES:
        raise UsageError(f"no confidence source {source!r}", f"One of {', '.join(SOURCES)}.")
    return source


def make_rows(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> LabelledRows:
    """Build the rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    source = chosen_source(figures, source)
    weighing = weigh([verdict.place for verdict in labelled], figures.sizes)
    kept: list[tuple[LabelledRow, float, float]] = []
    left_out = 0
    for verdict, weight in zip(labelled, weighing.weights, strict=True):
        if not verdict.decided:
            continue
        found = confidence(verdict, source, scores_stated=figures.scores_stated)
        if found is None:
            left_out += 1
        else:
            kept.append((verdict, found, weight))
    rows = Rows.of(
        [found for _, found, _ in kept],
        [verdict.correct for verdict, _, _ in kept],
        passed=[verdict.decision is Decision.PASS for verdict, _, _ in kept],
    )
    return LabelledRows(
        [verdict for verdict, _, _ in kept],
        rows,
        [weight for _, _, weight in kept],
        {v.key: inside for v, inside in zip(labelled, weighing.drawn, strict=True)},
        weighing,
        source,
        left_out,
    )


def summarise(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> Calibration:
    """Compute both lines: ``labelled`` weighs every row 1, ``population`` weighs by the draw.

    ``population`` is ``None`` unless the design is weighted or a census.
    """
    return both_lines(make_rows(labelled, figures, source), labelled, figures)


def both_lines(
    made: LabelledRows, labelled: Sequence[LabelledRow], figures: RunFigures
) -> Calibration:
    """Compute both lines, as ``summarise`` does, from rows that are already built."""
    decided = figures.passed + figures.failed
    observed = figures.passed / decided if decided else None
    design = made.weighing.design
    population = None
    if design in {Design.WEIGHTED, Design.CENSUS}:
        population = measure(made.rows.weighted(made.weights), observed)
    line = measure(made.rows, observed)
    waiting = made.weights.count(0.0) if population is not None else 0
    return Calibration(
        labelled=line,
        population=population,
        design=design,
        confidence_source=made.source,
        unsure=sum(v.place.truth is Truth.UNSURE for v in labelled),
        disputed=sum(v.place.truth is Truth.DISPUTED for v in labelled),
        no_verdict=sum(v.decision not in {Decision.PASS, Decision.FAIL} for v in labelled),
        rowless=len(labelled) - line.n,
        waiting=waiting,
        warnings=warnings_of(
            population or line, design, made.weighing.empty, figures.sizes, made.left_out
        ),
    )


def split(made: LabelledRows, given: Mapping[bytes, bool | None]) -> BlindSplit:
    """Compute the figures of rows labelled blind, and of all others.

    ``given`` says by item whether it was labelled blind; ``None`` if its labels do not record it.
    """
    ways = [given.get(verdict.item) for verdict in made.verdicts]
    return BlindSplit(
        blind=measure(made.rows.weighted([float(way is True) for way in ways]), None),
        open=measure(made.rows.weighted([float(way is not True) for way in ways]), None),
        unsaid=ways.count(None),
    )


def bin_counts(made: LabelledRows) -> dict[int, int]:
    """Count the rows in each of the ten bins of confidence, including rows of weight 0."""
    return dict(Counter(bin_index(made.rows.confidence).tolist()))


def headline_fit(made: LabelledRows, found: Calibration) -> Fit:
    """Fit the rows behind the headline, weighted if there is a population line."""
    return fit(headline_rows(made, found))


def headline_rows(made: LabelledRows, found: Calibration) -> Rows:
    """Return the rows behind the headline, weighted if there is a population line."""
    return made.rows if found.population is None else made.rows.weighted(made.weights)


def alone(
    labelled: Sequence[LabelledRow],
    given: Mapping[bytes, bool | None],
    source: str | None = None,
    *,
    fits: bool = False,
) -> BlindFigures:
    """Compute the figures of a blind session, from the labelled verdicts alone.

    The confidence mapping, too, is chosen from these verdicts. ``fits`` asks for the fit as well.
    """
    # In file order, because the order of the draw depends on the strata of all verdicts.
    rows = sorted(labelled, key=lambda verdict: verdict.key)
    decided = [row for row in rows if row.decision in {Decision.PASS, Decision.FAIL}]
    stated = any(row.stated_score is not None for row in rows)
    scores = [row.stated_score if stated else row.score for row in decided]
    figures = RunFigures(
        passed=0,
        failed=0,
        confidence_source="vote_share" if None in scores else "support",
        scores_stated=stated,
        sizes=Counter(row.place.stratum for row in rows),
    )
    made = make_rows(rows, figures, source)
    line, fitted = measure(made.rows, None), fit(made.rows) if fits else None
    return BlindFigures(
        metrics=line,
        split=split(made, given),
        gates=default_checks(line, fitted.null if fitted else None),
        confidence_source=made.source,
        warnings=tuple(_left_out_warnings(made.left_out) + _one_class_warnings(line)),
        fit=fitted,
    )


def pass_parts(labelled: Sequence[LabelledRow], figures: RunFigures) -> tuple[Part, ...]:
    """Return, per decided stratum, how many of the labels that count say pass."""
    return parts([(one.place, one.place.truth is Truth.PASS) for one in labelled], figures.sizes)


def right_parts(labelled: Sequence[LabelledRow], figures: RunFigures) -> tuple[Part, ...]:
    """Return, per decided stratum, how many of the labels that count agree with the panel."""
    return parts([(one.place, one.correct) for one in labelled], figures.sizes)


def described(made: LabelledRows, figures: RunFigures) -> str | None:
    """Return what the labels describe while some stratum has none that counts.

    ``None`` if every decided stratum has one, or if no label counts at all.
    """
    if made.weighing.design in {Design.NONE, Design.AD_HOC} or not made.weighing.empty:
        return None
    return _coverage_text(made.weighing.empty, figures.sizes)


def audited(
    made: LabelledRows, labelled: Sequence[LabelledRow], audits: Mapping[int, int]
) -> list[bool]:
    """Return, for each audit label that counts, whether the panel was right.

    Verdicts without a confidence are included.
    """
    return [
        verdict.correct
        for verdict in labelled
        if verdict.decided
        and made.drawn[verdict.key]
        and verdict.place.rank < audits.get(verdict.place.stratum, 0)
    ]


def warnings_of(
    line: Metrics, design: Design, empty: Sequence[int], sizes: Mapping[int, int], left_out: int
) -> tuple[str, ...]:
    """Return the warnings about the headline's figures; ``empty`` strata lack a label."""
    found = []
    if line.n == 0:
        found.append("no labels yet: ECE is 0 by definition, not by merit")
    if design is Design.ESCALATED_ONLY:
        found.append(_coverage_text(empty, sizes))
    if design is Design.AD_HOC:
        found.append("labels outside the draw: they describe themselves only")
    found += _left_out_warnings(left_out) + _one_class_warnings(line)
    if line.n and line.corrected_status == CorrectionStatus.WEAK_JUDGE:
        # Rounded, because sums in another order differ in their last bits.
        found.append(f"weak judge: Youden's J is {round(line.youden_j or 0.0, 9):.2f}")
    if line.n and line.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        found.append("the judge carries no signal: the observed rate is left as it is")
    return tuple(found)


def _left_out_warnings(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count} labelled verdicts have no confidence of this kind and are left out"]


def _one_class_warnings(line: Metrics) -> list[str]:
    """Return warnings about rates that are 0 by convention, as no label is of their class."""
    if not line.n or line.tp is None:
        return []
    found = []
    if not (line.tp + (line.fn or 0)):
        found.append("no positive-truth labels: sensitivity is 0 by convention")
    if not ((line.tn or 0) + (line.fp or 0)):
        found.append("no negative-truth labels: specificity is 0 by convention")
    return found


def _coverage_text(empty: Sequence[int], sizes: Mapping[int, int]) -> str:
    """Return what the figures describe while the ``empty`` strata have no label that counts."""
    rest = [h for h, n in sizes.items() if n and h >= FIRST_REST and h % FIRST_REST != 2]
    flagged = [h for h, n in sizes.items() if n and h < FIRST_REST and h % FIRST_REST != 2]
    if set(rest) <= set(empty) and not set(flagged) <= set(empty):
        return ESCALATED_ONLY
    names = ", ".join(STRATA[h] for h in empty)
    return f"describes the labelled strata only, none yet in {names}"
