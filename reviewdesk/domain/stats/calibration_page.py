"""The records that the calibration page shows; drawing them loads no numpy."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from reviewdesk.domain.gates.limits import LimitCheck
from reviewdesk.domain.jurors.facts import JurorCounts
from reviewdesk.domain.labels.coverage import LabelsNeeded, RateMethod, RunRate
from reviewdesk.domain.labels.sampling import AuditSample, Stratum
from reviewdesk.domain.records import (
    Blocker,
    Calibration,
    Design,
    Metrics,
    TagCount,
    Truth,
    labels_missing,
)
from reviewdesk.domain.stats.figures import Estimate, Fit, Interval, PanelIntervals, Target
from reviewdesk.domain.verdict import Decision


class BlindSplit(Struct, frozen=True):
    """The figures of the verdicts that were labelled blind, beside those of all others.

    A verdict is blind if each of its current labels was given before the panel's answer was shown.
    ``unsaid`` counts the others whose labels do not record it: they come from a shell or a file.
    """

    blind: Metrics
    open: Metrics
    unsaid: int


class BlindFigures(Struct, frozen=True):
    """The figures that a blind session may show, from the labelled verdicts alone.

    None of them changes with the panel's answer to an unlabelled verdict. ``fit`` weighs every row
    1, and is ``None`` if it was not requested.
    """

    metrics: Metrics
    split: BlindSplit
    gates: tuple[LimitCheck, ...]
    confidence_source: str
    warnings: tuple[str, ...]
    fit: Fit | None = None


class TruthCounts(Struct, frozen=True):
    """Counts of a run's verdicts, of its labelled ones, and of decisions against labels.

    ``undecided`` verdicts are decided neither pass nor fail.
    """

    verdicts: int
    labelled: int
    cells: Mapping[tuple[Decision, Truth], int] = field(default_factory=dict)
    """Labelled verdicts by the panel's decision and the label, pass and fail only."""
    undecided: int = 0


_NOTHING = RunRate(RateMethod.NONE, None, None, None)


class CalibrationPage(Struct, frozen=True):
    """Everything that a run's labels say about its judge.

    ``jurors`` and ``fit`` are ``None`` if not requested; ``fit`` describes the headline's rows.
    ``honest`` is the pass rate of the whole run and ``accuracy`` the judge's accuracy, both
    estimated by the strata of the draw; ``more`` is how many labels would settle each gate.
    ``tags`` counts the items with each tag.
    """

    calibration: Calibration
    split: BlindSplit
    alone: BlindFigures
    gates: tuple[LimitCheck, ...]
    strata: tuple[Stratum, ...]
    audit: AuditSample
    counts: TruthCounts
    honest: RunRate = _NOTHING
    accuracy: RunRate = _NOTHING
    more: tuple[LabelsNeeded, ...] = ()
    intervals: PanelIntervals | None = None
    """Intervals for this run, through the draw; ``None`` if ``fit`` was not requested."""
    such: PanelIntervals | None = None
    """Intervals for such items, through the draw; ``None`` if ``fit`` was not requested."""
    fit: Fit | None = None
    bins: Mapping[int, int] = field(default_factory=dict)
    """The unweighted number of labelled verdicts in each bin of confidence."""
    jurors: tuple[JurorCounts, ...] | None = None
    tags: tuple[TagCount, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    """What labels wait behind, by the draw."""
    skipped: tuple[Blocker, ...] = ()
    """What a blind session tells in its place, if it was asked for."""

    def ends(self, figure: str, target: Target = Target.RUN) -> Interval | Estimate | None:
        """Return the interval of one headline figure, or ``None`` if there is none.

        It is about ``target`` if the population line stands, else about the labels alone.
        """
        drawn = self.intervals if target is Target.RUN else self.such
        if self.calibration.population is not None and drawn is not None:
            found: Interval | Estimate | None = getattr(drawn, figure)
            return found
        return getattr(self.fit, figure, None)

    def telling(self, *, blind: bool = False) -> bool:
        """Return whether labels are enough for figures to mean something, or no more can follow.

        That all decided verdicts have a label tells a blind session of the panel.
        """
        n = self.calibration.labelled.n
        left = self.counts.verdicts - self.counts.labelled
        census = self.calibration.design is Design.CENSUS and not blind
        return n > 0 and (census or not labels_missing(n, left))

    @property
    def missing(self) -> tuple[str, ...]:
        """What each stratum still lacks for the population line, one sentence per stratum."""
        return tuple(stratum.missing for stratum in self.strata if stratum.missing)

    @property
    def left(self) -> int:
        """The number of flagged and audit verdicts without a label."""
        return sum(
            stratum.audit - stratum.audit_done
            if stratum.name.startswith("rest/")
            else stratum.size - stratum.labelled
            for stratum in self.strata
        )


class FilePage(Struct, frozen=True):
    """Everything that a labels file says about a judge.

    ``honest`` is the corrected rate of a named run that the file was not drawn from;
    ``representative`` says whether the file declares that its rows stand for a whole run.
    ``specificity`` is about such items, and ``None`` unless the rows are a draw of a run.
    """

    calibration: Calibration
    fit: Fit
    honest: RunRate
    gates: tuple[LimitCheck, ...]
    representative: bool
    specificity: Estimate | None = None


class DrillDown(Struct, frozen=True):
    """A group of verdicts behind a figure, and the filter that lists them."""

    title: str
    filter: str
    count: int


_CELLS = (
    ("wrong passes: the panel passed what should fail", "wrong:pass", Decision.PASS, Truth.FAIL),
    ("wrong fails: the panel failed what should pass", "wrong:fail", Decision.FAIL, Truth.PASS),
    (
        "right passes: the panel passed what should pass",
        "decision:pass label:pass",
        Decision.PASS,
        Truth.PASS,
    ),
    (
        "right fails: the panel failed what should fail",
        "decision:fail label:fail",
        Decision.FAIL,
        Truth.FAIL,
    ),
)


def drill(page: CalibrationPage) -> tuple[DrillDown, ...]:
    """Return the groups of verdicts that a reviewer may want to look into, even if empty."""
    found = page.calibration
    cells = [
        DrillDown(title, text, page.counts.cells.get((panel, truth), 0))
        for title, text, panel, truth in _CELLS
    ]
    return (
        *cells,
        DrillDown("labelled can't tell", "label:unsure", found.unsure),
        DrillDown("disputed: reviewers differ", "label:disputed", found.disputed),
    )
