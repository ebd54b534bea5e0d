"""Computes the two lines of the strip from labelled verdicts, with the design of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reviewdesk.domain.gates.limits import default_checks
from reviewdesk.domain.labels.rows import LabelledRow, LabelledRows, RunFigures, make_rows
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA, empty_strata, run_design
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.stats.calibration import Counters, bin_index, measure
from reviewdesk.domain.stats.calibration_page import BlindFigures, BlindSplit
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.fit import fit
from reviewdesk.domain.verdict import Decision

ESCALATED_ONLY = "describes escalated verdicts only"


@dataclass(slots=True)
class RunCounters:
    """What is counted over the labelled verdicts of a run, whatever their draw."""

    figures: RunFigures
    source: str
    every: Counters = field(default_factory=Counters)
    """The rows of all labelled verdicts, at weight 1."""
    labelled: int = 0
    usable: int = 0
    decided: int = 0
    no_verdict: int = 0
    truths: Counter[Truth] = field(default_factory=Counter)

    def move(self, verdict: LabelledRow, sign: int = 1) -> None:
        """Count a labelled verdict, or take it away with ``sign`` -1; its row is not moved."""
        self.labelled += sign
        self.usable += sign * verdict.place.usable
        self.decided += sign * verdict.decided
        self.no_verdict += sign * (verdict.decision not in {Decision.PASS, Decision.FAIL})
        self.truths[verdict.place.truth] += sign

    def calibration(
        self, counted: Mapping[int, int], weighted: Callable[[], Counters]
    ) -> Calibration:
        """Compute both lines; ``weighted`` counts the rows by the draw, if the design stands.

        ``counted`` is how many labels of each stratum count.
        """
        figures = self.figures
        design = run_design(self.usable, figures.sizes, counted)
        empty = empty_strata(figures.sizes, counted)
        line = self.every.metrics(figures.observed)
        population = weighted().metrics(figures.observed) if design.stands else None
        left_out = self.decided - line.n
        return Calibration(
            labelled=line,
            population=population,
            design=design,
            confidence_source=self.source,
            unsure=self.truths[Truth.UNSURE],
            disputed=self.truths[Truth.DISPUTED],
            no_verdict=self.no_verdict,
            rowless=self.labelled - line.n,
            waiting=line.n - population.n if population else 0,
            warnings=warnings_of(population or line, design, empty, figures.sizes, left_out),
        )


def summarise(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> Calibration:
    """Compute both lines: ``labelled`` weighs every row 1, ``population`` weighs by the draw.

    ``population`` is ``None`` unless the design is weighted or a census.
    """
    return both_lines(make_rows(labelled, figures, source))


def both_lines(made: LabelledRows) -> Calibration:
    """Compute both lines, as ``summarise`` does, from rows that are already built."""
    counters = RunCounters(made.figures, made.source, Counters.of(made.rows))
    for verdict in made.labelled:
        counters.move(verdict)
    return counters.calibration(made.weighing.counted, lambda: Counters.of(made.headline))


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


def described(made: LabelledRows) -> str | None:
    """Return what the labels describe while some stratum has none that counts.

    ``None`` if every decided stratum has one, or if no label counts at all.
    """
    if made.weighing.design in {Design.NONE, Design.AD_HOC} or not made.weighing.empty:
        return None
    return _coverage_text(made.weighing.empty, made.figures.sizes)


def audited(made: LabelledRows) -> list[bool]:
    """Return, for each audit label that counts (confidence or not), if the panel was right."""
    audits = made.figures.audits
    return [
        verdict.correct
        for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True)
        if inside and verdict.decided and verdict.place.rank < audits.get(verdict.place.stratum, 0)
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
