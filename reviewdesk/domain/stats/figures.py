"""The frozen records of calibration's statistics, for screens and reports: no arithmetic here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval; where one is undefined the function gives ``None`` in its place."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ranged:
    """A figure with the ends of its 95% interval; ``reason`` says why ``value`` is ``None``."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bin:
    """One populated bin of the reliability diagram.

    ``n`` counts its rows of positive weight, ``weight`` is their sum and ``ess`` their effective
    number; ``low`` and ``high`` are the Wilson interval of its accuracy at that number.
    """

    index: int
    n: int
    weight: float
    mean_confidence: float
    accuracy: float
    low: float
    high: float
    ess: float


@dataclass(frozen=True, slots=True)
class ZTest:
    """A normal test statistic and its two-sided p; ``reason`` says why they are ``None``."""

    z: float | None
    p: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LogLoss:
    """Mean log-loss in nats, and how many rows were so sure that they had to be clipped."""

    value: float
    clipped: int


@dataclass(frozen=True, slots=True)
class Corp:
    """Brier = miscalibration - discrimination + uncertainty, with the fitted reliability curve.

    ``curve`` holds the corners of the isotonic fit as (confidence, rate of being right).
    """

    miscalibration: float
    discrimination: float
    uncertainty: float
    brier: float
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Murphy:
    """Brier = reliability - resolution + uncertainty + within-bin variance - covariance."""

    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float
    brier: float


@dataclass(frozen=True, slots=True)
class NullEce:
    """What ECE a perfectly calibrated judge with the same confidences would show.

    ``exact`` says whether ``expected`` was computed or is a mean of simulations; ``p`` is the share
    of simulated calibrated judges whose ECE is at least the observed one.
    """

    expected: float
    exact: bool
    p95: float
    p: float


class RecalibrationMethod(StrEnum):
    """A map from stated to recalibrated confidence, from the stiffest to the most flexible."""

    TEMPERATURE = "temperature"
    PLATT = "platt"
    ISOTONIC = "isotonic"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a recalibration would do to Brier; it is never applied.

    ``before`` and ``after`` are of the same rows, ``after`` cross-validated, and ``change`` is
    their difference: below 0 is better. They are ``None`` where ``reason`` says why nothing is
    suggested. ``bounded`` says that the best fit lies at infinity and a finite one stands in.
    """

    method: RecalibrationMethod
    n: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    before: float | None = None
    after: float | None = None
    change: float | None = None
    bounded: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A stratum as an estimate sees it: ``size`` verdicts, ``labelled`` of them, ``hits`` yes.

    ``hits`` may be a fraction, where a rate is carried over to other sample sizes.
    """

    size: int
    labelled: float
    hits: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A stratum as a ratio sees it: ``hits`` and ``misses`` are two exclusive kinds of label.

    The ratio is hits among hits and misses. ``most_hits`` and ``most_misses`` say how many of the
    ``size`` verdicts could be either, which bounds a stratum without labels.
    """

    size: int
    labelled: int
    hits: int
    misses: int
    most_hits: int
    most_misses: int


class Target(StrEnum):
    """What an interval speaks of: the verdicts of the run, or the process that made them."""

    RUN = "this run"
    ITEMS = "such items"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate over a population with its 95% interval.

    ``estimate`` is ``None`` where a stratum has no label; ``low`` and ``high`` are then bounds:
    such strata failing or passing whole, the others at the ends of their intervals (Imbens and
    Manski 2004), and ``reason`` says so.
    """

    estimate: float | None
    low: float
    high: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PanelIntervals:
    """The panel's figures with 95% intervals through the draw, all of one target.

    A rate without a label in some stratum is ``None`` between bounds. Brier, gap and kappa are
    ``None`` unless the design is weighted or a census. ``counted`` labels are behind them: without
    one, all ends are bounds that say nothing.
    """

    target: Target
    counted: int
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    brier: Interval | None
    gap: Interval | None
    kappa: Interval | None


@dataclass(frozen=True, slots=True)
class Fit:
    """How confidence and being right go together in one set of rows, with what chance would show.

    Intervals and tests are ``None`` where they are undefined; nothing here has an interval for ECE.
    """

    n: int
    ece: float
    null: NullEce | None
    bins: tuple[Bin, ...]
    corp: Corp | None
    murphy: Murphy | None
    spiegelhalter: ZTest
    auroc: float | None
    log_loss: LogLoss | None
    brier: Interval | None
    gap: Interval | None
    accuracy: Interval | None
    suggestions: tuple[Suggestion, ...] = ()
