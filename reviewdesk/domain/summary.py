"""From labelled verdicts to the two lines of the strip, each with the word for its design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reviewdesk.domain.calibration import Rows, measure
from reviewdesk.domain.correction import Status
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.sampling import FIRST_REST, STRATA, LabelledVerdict, Weighing, weigh
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError

SOURCES = ("support", "score", "reported", "vote_share")
ESCALATED_ONLY = "describes escalated verdicts only"


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled verdict with what confidence can be read from."""

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
        """Whether both the panel and the people came to pass or fail, so that it makes a row."""
        return self.decision in {Decision.PASS, Decision.FAIL} and self.place.truth in {
            Truth.PASS,
            Truth.FAIL,
        }

    @property
    def correct(self) -> bool:
        """Whether the panel decided as the label says."""
        return self.decision is not None and self.decision.value == self.place.truth.value


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What calibration needs to know of the run as a whole."""

    passed: int
    failed: int
    confidence_source: str
    scores_stated: bool
    sizes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Rowed:
    """The labelled verdicts that make a row, with their confidences and draw weights."""

    verdicts: list[Labelled]
    rows: Rows
    weights: list[float]
    drawn: dict[int, bool]
    """Whether the label lies in its stratum's completed prefix, by verdict key."""
    weighing: Weighing
    source: str
    left_out: int


def confidence(verdict: Labelled, source: str, *, scores_stated: bool) -> float | None:
    """How sure the panel is of its own decision, by one declared mapping.

    ``support`` is the score of a pass and one less the score of a fail; ``vote_share`` the share of
    votes for the decision; ``score`` the score as it is; ``reported`` the jurors' own mean.
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


def make_rows(
    labelled: Sequence[Labelled], figures: RunFigures, source: str | None = None
) -> Rowed:
    """The rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    source = source or figures.confidence_source
    if source not in SOURCES:
        raise UsageError(f"no confidence source {source!r}", f"One of {', '.join(SOURCES)}.")
    weighing = weigh([verdict.place for verdict in labelled], figures.sizes)
    kept: list[tuple[Labelled, float, float]] = []
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
    return Rowed(
        [verdict for verdict, _, _ in kept],
        rows,
        [weight for _, _, weight in kept],
        {v.key: inside for v, inside in zip(labelled, weighing.drawn, strict=True)},
        weighing,
        source,
        left_out,
    )


def summarise(
    labelled: Sequence[Labelled], figures: RunFigures, source: str | None = None
) -> Calibration:
    """Both lines: ``labelled`` weighs every row 1, ``population`` by the draw where it may."""
    made = make_rows(labelled, figures, source)
    decided = figures.passed + figures.failed
    observed = figures.passed / decided if decided else None
    design = made.weighing.design
    population = None
    if design in {Design.WEIGHTED, Design.CENSUS}:
        population = measure(made.rows.weighted(made.weights), observed)
    line = measure(made.rows, observed)
    return Calibration(
        labelled=line,
        population=population,
        design=design,
        confidence_source=made.source,
        unsure=sum(v.place.truth is Truth.UNSURE for v in labelled),
        disputed=sum(v.place.truth is Truth.DISPUTED for v in labelled),
        no_verdict=sum(v.decision not in {Decision.PASS, Decision.FAIL} for v in labelled),
        rowless=len(labelled) - line.n,
        warnings=tuple(_warnings(population or line, made.weighing, figures.sizes, made.left_out)),
    )


def _warnings(
    line: Metrics, weighing: Weighing, sizes: Mapping[int, int], left_out: int
) -> list[str]:
    found, design = [], weighing.design
    if line.n == 0:
        found.append("no labels yet: ECE is 0 by definition, not by merit")
    if design is Design.ESCALATED_ONLY:
        found.append(_described(weighing.empty, sizes))
    if design is Design.AD_HOC:
        found.append("labels outside the draw: they describe themselves only")
    if left_out:
        found.append(
            f"{left_out} labelled verdicts have no confidence of this kind and are left out"
        )
    if line.n and line.tp is not None:
        if not (line.tp + (line.fn or 0)):
            found.append("no positive-truth labels: sensitivity is 0 by convention")
        if not ((line.tn or 0) + (line.fp or 0)):
            found.append("no negative-truth labels: specificity is 0 by convention")
    if line.n and line.corrected_status == Status.WEAK_JUDGE:
        found.append(f"weak judge: Youden's J is {line.youden_j:.2f}")
    if line.n and line.corrected_status == Status.SKIPPED_NO_SIGNAL:
        found.append("the judge carries no signal: the observed rate is left as it is")
    return found


def _described(empty: Sequence[int], sizes: Mapping[int, int]) -> str:
    """What the figures describe while a stratum of the rest has no label that counts."""
    rest = [h for h, n in sizes.items() if n and h >= FIRST_REST and h % FIRST_REST != 2]
    flagged = [h for h, n in sizes.items() if n and h < FIRST_REST and h % FIRST_REST != 2]
    if set(rest) <= set(empty) and not set(flagged) <= set(empty):
        return ESCALATED_ONLY
    names = ", ".join(STRATA[h] for h in empty)
    return f"describes the labelled strata only, none yet in {names}"
