"""What is counted over the labels of a run, and the two lines of the strip and warnings from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import (
    FIRST_REST,
    STRATA,
    decided_strata,
    empty_strata,
    run_design,
)
from reviewdesk.domain.records import Calibration, Design, DrawGap, Metrics, Truth
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.counters import Counters
from reviewdesk.domain.verdict import Decision

ESCALATED_ONLY = "describes escalated verdicts only"


@dataclass(slots=True)
class RunCounters:
    """What is counted over the labelled contents of a run, whatever their draw."""

    figures: RunFigures
    source: str
    every: Counters = field(default_factory=Counters)
    """The rows of all labelled verdicts, at weight 1."""
    labelled: int = 0
    usable: int = 0
    decided: int = 0
    no_verdict: int = 0
    truths: Counter[Truth] = field(default_factory=Counter)

    def move(self, verdicts: Sequence[LabelledRow], sign: int = 1) -> None:
        """Count the verdicts on one content, or take them away with ``sign`` -1, but not its rows.

        The content is decided if one of them is.
        """
        self.labelled += sign
        held = decided_strata(self.figures.sizes, self.figures.decided)
        self.usable += sign * any(
            one.place.usable and one.place.stratum in held for one in verdicts
        )
        self.decided += sign * any(one.decided for one in verdicts)
        self.no_verdict += sign * all(
            one.decision not in {Decision.PASS, Decision.FAIL} for one in verdicts
        )
        self.truths[verdicts[0].place.truth] += sign

    def calibration(
        self,
        counted: Mapping[int, int],
        weighted: Callable[[], Counters],
        gaps: tuple[DrawGap, ...] = (),
    ) -> Calibration:
        """Compute both lines; ``weighted`` counts the rows by the draw, if the design stands.

        ``counted`` is how many labels of each stratum count, and others wait behind ``gaps``.
        """
        figures = self.figures
        design = run_design(self.usable, figures.sizes, counted, figures.decided)
        empty = empty_strata(figures.sizes, counted, figures.decided)
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
            warnings=warnings_of(population or line, design, empty, figures, left_out),
            gaps=gaps,
        )


def warnings_of(
    line: Metrics, design: Design, empty: Sequence[int], figures: RunFigures, left_out: int
) -> tuple[str, ...]:
    """Return the warnings about the headline's figures; ``empty`` strata lack a label."""
    found = []
    if line.n == 0:
        found.append("no labels yet: ECE is 0 by definition, not by merit")
    if design is Design.ESCALATED_ONLY:
        found.append(coverage_text(empty, figures))
    if design is Design.AD_HOC:
        found.append("labels outside the draw: they describe themselves only")
    found += left_out_warnings(left_out) + one_class_warnings(line)
    if line.n and line.corrected_status == CorrectionStatus.WEAK_JUDGE:
        # Rounded, because sums in another order differ in their last bits.
        found.append(f"weak judge: Youden's J is {round(line.youden_j or 0.0, 9):.2f}")
    if line.n and line.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        found.append("the judge carries no signal: the observed rate is left as it is")
    return tuple(found)


def left_out_warnings(count: int) -> list[str]:
    """Return a warning about labels that give no row for want of a confidence."""
    if not count:
        return []
    return [f"{count} labelled verdicts have no confidence of this kind and are left out"]


def one_class_warnings(line: Metrics) -> list[str]:
    """Return warnings about rates that are 0 by convention, as no label is of their class."""
    if not line.n or line.tp is None:
        return []
    found = []
    if not (line.tp + (line.fn or 0)):
        found.append("no positive-truth labels: sensitivity is 0 by convention")
    if not ((line.tn or 0) + (line.fp or 0)):
        found.append("no negative-truth labels: specificity is 0 by convention")
    return found


def coverage_text(empty: Sequence[int], figures: RunFigures) -> str:
    """Return what the figures describe while the ``empty`` strata have no label that counts."""
    held = decided_strata(figures.sizes, figures.decided)
    rest, flagged = ([h for h in held if (h >= FIRST_REST) is side] for side in (True, False))
    if set(rest) <= set(empty) and not set(flagged) <= set(empty):
        return ESCALATED_ONLY
    names = ", ".join(STRATA[h] for h in empty)
    return f"describes the labelled strata only, none yet in {names}"
