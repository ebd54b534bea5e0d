"""The records that the calibration page shows; drawing them loads no numpy."""

import math
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain import records
from reviewdesk.domain.gates.expect import LimitCheck
from reviewdesk.domain.jurors.facts import BiasProbe, JurorCounts
from reviewdesk.domain.labels.question import RunAnswer
from reviewdesk.domain.labels.sampling import AuditSample, Stratum
from reviewdesk.domain.labels.segments import SegmentFigures
from reviewdesk.domain.labels.team import ReviewerError, sensitivity
from reviewdesk.domain.stats.correction import Cells, Z, lang_reiczigel, rogan_gladen
from reviewdesk.domain.stats.figures import Bin, Estimate, Fit, PanelIntervals
from reviewdesk.domain.verdict import SLACK

OF_ITSELF = "a labels file describes its own rows: name a run that it was not drawn from"
NO_SIGNAL = "the trusted set lacks a class, or the judge carries no signal"


def of_trusted(k: float, n: float, tp: float, fn: float, tn: float, fp: float) -> Estimate:
    """Correct k passes of n by a trusted set from elsewhere (Lang and Reiczigel 2014)."""
    found = lang_reiczigel(k, n, tp, fn, tn, fp)
    if found is None:
        return Estimate(None, reason=NO_SIGNAL)
    rate, _ = rogan_gladen(k / n, tp / (tp + fn), tn / (tn + fp))
    return Estimate(rate, *found)


class BlindSplit(Struct, frozen=True):
    """The figures of verdicts labelled blind, of the ``open`` ones, and how many do not say."""

    blind: records.Metrics
    open: records.Metrics
    unsaid: int


class BlindFigures(Struct, frozen=True):
    """A blind session's figures, which no answer of the panel on an unlabelled verdict moves."""

    metrics: records.Metrics
    split: BlindSplit
    gates: tuple[LimitCheck, ...]
    warnings: tuple[str, ...]
    fit: Fit


class CalibrationPage(Struct, frozen=True):
    """Everything that a run's labels say about its judge.

    ``fit`` describes the headline's rows. ``honest`` is the pass rate of the whole run and
    ``accuracy`` the judge's accuracy, both estimated by the strata of the draw; ``intervals`` are
    for this run and ``such`` for such items, through the draw. ``bins`` counts the labelled
    verdicts in each bin of confidence, and ``tags`` the items with each tag.
    """

    calibration: records.Calibration
    split: BlindSplit
    alone: BlindFigures
    gates: tuple[LimitCheck, ...]
    strata: tuple[Stratum, ...]
    audit: AuditSample
    verdicts: int
    labelled: int
    """How many of the run's verdicts have a label, of whatever kind."""
    cells: Cells
    """The decided verdicts with a pass or fail label, by decision and label."""
    honest: Estimate
    accuracy: Estimate
    intervals: PanelIntervals
    such: PanelIntervals
    fit: Fit
    bins: Mapping[int, int]
    tags: tuple[records.TagCount, ...]
    blockers: tuple[records.Blocker, ...]
    answer: RunAnswer | None
    people: ReviewerError | None
    """How often people err; ``None`` if one person gave every label."""
    jurors: tuple[JurorCounts, ...] | None = None
    """``None`` if not requested."""
    worst: Mapping[str, SegmentFigures] = {}
    """The segment with the lowest accuracy by each property with figures for two, if requested."""
    probes: tuple[BiasProbe, ...] = ()
    """Associations that the scores should not have, if requested."""
    skipped: tuple[records.Blocker, ...] = ()
    """The blockers that a blind session shows instead, if requested."""

    def telling(self, *, blind: bool = False) -> bool:
        """Return True if the labels suffice for figures or, unless ``blind``, are a census."""
        n = self.calibration.labelled.n
        left = self.verdicts - self.labelled
        census = self.calibration.design is records.Design.CENSUS and not blind
        return n > 0 and (census or not records.labels_missing(n, left))

    @property
    def people_band(self) -> Estimate | None:
        """What the judge's accuracy may be, given that people err."""
        return None if self.people is None else sensitivity(self.accuracy, self.people)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(stratum.missing for stratum in self.strata if stratum.missing)

    @property
    def left(self) -> int:
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

    calibration: records.Calibration
    fit: Fit
    honest: Estimate
    gates: tuple[LimitCheck, ...]
    representative: bool
    specificity: Estimate | None = None


class DrillDown(Struct, frozen=True):
    """A group of verdicts behind a figure, and the filter that lists them."""

    title: str
    filter: str
    count: int


def drill(page: CalibrationPage) -> tuple[DrillDown, ...]:
    """Return the groups of verdicts that a reviewer may want to look into, even if empty."""
    found = page.calibration
    cells = page.cells
    every = (
        ("wrong passes: the panel passed what should fail", "wrong:pass", cells.fp),
        ("wrong fails: the panel failed what should pass", "wrong:fail", cells.fn),
        ("right passes: the panel passed what should pass", "decision:pass label:pass", cells.tp),
        ("right fails: the panel failed what should fail", "decision:fail label:fail", cells.tn),
        ("labelled can't tell", "label:unsure", found.unsure),
        ("disputed: reviewers differ", "label:disputed", found.disputed),
    )
    return tuple(DrillDown(title, text, round(count)) for title, text, count in every)


class BinPosition(StrEnum):
    """Where a bin lies relative to a calibrated judge's band; below it is overconfident."""

    INSIDE = "inside"
    BELOW = "outside, below"
    ABOVE = "outside, above"


def band(one: Bin) -> Estimate:
    """Return a calibrated judge's accuracy in a bin, and the ends ``c ± z·√(c(1-c)/n)``."""
    c = one.mean_confidence
    half = Z * math.sqrt(max(c * (1 - c), 0.0) / one.ess)
    return Estimate(c, max(c - half, 0.0), min(c + half, 1.0))


def place(one: Bin) -> BinPosition:
    """Return whether a bin lies inside, below or above its band; the band includes its ends."""
    expected = band(one)
    if one.accuracy < expected.low - SLACK:
        return BinPosition.BELOW
    return BinPosition.ABOVE if one.accuracy > expected.high + SLACK else BinPosition.INSIDE


def edges(index: int) -> tuple[float, float]:
    """Return the confidences that bound a bin; the bin includes the upper one only if it is 1."""
    return index / 10, (index + 1) / 10


def bin_drills(page: CalibrationPage, *, blind: bool) -> tuple[DrillDown, ...]:
    """Return a drill-down to the labelled verdicts of each bin; none in a blind session."""
    if blind:
        return ()
    bins = {one.index: one for one in page.fit.bins}
    made = []
    for index, count in sorted(page.bins.items()):
        title = f"right {bins[index].accuracy:.2f}" if index in bins else "weighs nothing"
        low, high = (f"{edge:.1f}"[1:] for edge in edges(index))
        # The last bin has no upper end.
        below = f" confidence<{high}" if index < 9 else ""
        text = f"label:pass|label:fail confidence>={low if index else 0}{below}"
        made.append(DrillDown(title, text, count))
    return tuple(made)
