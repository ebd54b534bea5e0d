"""What the calibration page shows. Records alone: drawing them loads no numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewdesk.domain.gates.limits import LimitCheck
from reviewdesk.domain.jurors.accuracy import JurorCounts
from reviewdesk.domain.labels.coverage import LabelsNeeded, RateMethod, RunRate
from reviewdesk.domain.labels.strata import AuditSample, Stratum
from reviewdesk.domain.records import Calibration, Metrics, Pace, TagCount, Truth
from reviewdesk.domain.stats.figures import (
    Estimate,
    Fit,
    Interval,
    PanelIntervals,
    Target,
)
from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True, slots=True)
class BlindSplit:
    """The verdicts labelled before the panel's answer was seen, beside all others.

    A verdict counts as blind where every label that stands on it was given blind. ``unsaid`` are
    those of the others whose labels do not say: they come from a shell or a file.
    """

    blind: Metrics
    open: Metrics
    unsaid: int


@dataclass(frozen=True, slots=True)
class BlindFigures:
    """What the labelled verdicts tell by themselves, for a blind session.

    Nothing in it moves with what a panel said of a verdict that has no label. ``fit`` is of its
    rows at weight 1, and ``None`` if not asked for.
    """

    metrics: Metrics
    split: BlindSplit
    gates: tuple[LimitCheck, ...]
    confidence_source: str
    warnings: tuple[str, ...]
    fit: Fit | None = None


@dataclass(frozen=True, slots=True)
class TruthCounts:
    """How many verdicts of a run people decided, could not, or disagree about."""

    verdicts: int
    labelled: int
    cells: Mapping[tuple[Decision, Truth], int] = field(default_factory=dict)
    """Labelled verdicts by what the panel decided and what people say, pass and fail alone."""


_NO_PACE = Pace(per_hour=None, median_dwell=None, counted=0)
_NOTHING = RunRate(RateMethod.NONE, None, None, None)


@dataclass(frozen=True, slots=True)
class CalibrationPage:
    """Everything that a run's labels say of its judge.

    ``jurors`` and ``fit`` are ``None`` if not asked for; ``fit`` is of the headline's rows.
    ``honest`` is the pass rate of the whole run and ``accuracy`` the judge's, both by the strata of
    the draw; ``more`` is what would settle the gates. ``tags`` count the items that carry them, and
    ``pace`` is that of the reviewer who asks.
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
    """Of this run, through the draw; ``None`` if ``fit`` was not asked for."""
    such: PanelIntervals | None = None
    """The same of such items."""
    fit: Fit | None = None
    bins: Mapping[int, int] = field(default_factory=dict)
    """Labelled verdicts by the bin of their confidence, each once whatever its weight."""
    jurors: tuple[JurorCounts, ...] | None = None
    tags: tuple[TagCount, ...] = ()
    pace: Pace = _NO_PACE

    def ends(self, figure: str, target: Target = Target.RUN) -> Interval | Estimate | None:
        """The interval of one figure of the headline: of the target, or of the labels alone."""
        drawn = self.intervals if target is Target.RUN else self.such
        if self.calibration.population is not None and drawn is not None:
            found: Interval | Estimate | None = getattr(drawn, figure)
            return found
        return getattr(self.fit, figure, None)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to do for the population line, a sentence for each stratum."""
        return tuple(stratum.missing for stratum in self.strata if stratum.missing)

    @property
    def left(self) -> int:
        """How many verdicts of the flagged and the audit have no label."""
        return sum(
            stratum.audit - stratum.audit_done
            if stratum.name.startswith("rest/")
            else stratum.size - stratum.labelled
            for stratum in self.strata
        )


@dataclass(frozen=True, slots=True)
class FilePage:
    """What a labels file says of a judge.

    ``honest`` is the corrected rate of a run that the file was not drawn from, where one is named;
    ``representative`` whether the file itself says that its rows stand for a whole run.
    """

    calibration: Calibration
    fit: Fit
    honest: RunRate
    gates: tuple[LimitCheck, ...]
    representative: bool


@dataclass(frozen=True, slots=True)
class DrillDown:
    """A group of verdicts behind a figure, and the filter that lists them."""

    title: str
    filter: str
    count: int


_CELLS = (
    ("right passes: the panel passed what should pass", Decision.PASS, Truth.PASS),
    ("wrong passes: the panel passed what should fail", Decision.PASS, Truth.FAIL),
    ("right fails: the panel failed what should fail", Decision.FAIL, Truth.FAIL),
    ("wrong fails: the panel failed what should pass", Decision.FAIL, Truth.PASS),
)


def drill(page: CalibrationPage) -> tuple[DrillDown, ...]:
    """The groups of verdicts that a reviewer may want to look into, empty ones included."""
    found = page.calibration
    cells = [
        DrillDown(title, f"decision:{said} label:{truth}", page.counts.cells.get((said, truth), 0))
        for title, said, truth in _CELLS
    ]
    return (
        *cells,
        DrillDown("labelled can't tell", "label:unsure", found.unsure),
        DrillDown("disputed: reviewers differ", "label:disputed", found.disputed),
    )
