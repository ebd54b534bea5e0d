"""The frozen records of calibration's statistics, for screens and reports: no statistics here."""

from collections.abc import Iterable
from enum import StrEnum
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.stats.correction import Z


class Estimate(Struct, frozen=True):
    """A figure with the ends of its 95% interval.

    If it is undefined, ``estimate`` is ``None`` and ``reason`` says why. The ends are then bounds:
    if a stratum has no label, the rate as if all of its verdicts fail or pass, with the others at
    the ends of their intervals (Imbens and Manski 2004). Ends of which nothing is known are
    infinite, and ``null`` in JSON.
    """

    estimate: float | None
    low: float = -inf
    high: float = inf
    reason: str = ""

    @property
    def bounded(self) -> bool:
        return self.low > -inf

    @property
    def complement(self) -> "Estimate":
        value = None if self.estimate is None else 1 - self.estimate
        return Estimate(value, 1 - self.high, 1 - self.low, self.reason)


def widest(found: Any, others: Iterable[Any]) -> Any:
    """Return a figure with the outermost ends of the others; without others, with its own."""
    known = [one for one in others if one is not None and one.bounded]
    if found is None or not known:
        return found
    return replace(found, low=min(one.low for one in known), high=max(one.high for one in known))


class Bin(Struct, frozen=True):
    """One populated bin of the diagram, with the accuracy's Wilson interval at ``ess``."""

    index: int
    n: int
    weight: float
    mean_confidence: float
    accuracy: float
    low: float
    high: float
    ess: float


class ZTest(Struct, frozen=True):
    """A normal test statistic and its two-sided p; ``reason`` says why they are ``None``."""

    z: float | None
    p: float | None
    reason: str | None = None


class LogLoss(Struct, frozen=True):
    """The mean log-loss in nats, and how many rows were clipped for being too near 0 or 1."""

    value: float
    clipped: int


class NullEce(Struct, frozen=True):
    """The ECE that a perfectly calibrated judge with the same confidences would show."""

    expected: float
    exact: bool
    p95: float
    p: float


class LabelSpread(Struct, frozen=True):
    """How the labels of one stratum are spread over contents of different sizes.

    Of its ``contents``, ``labels`` are labelled, which are worth as much as ``effective`` contents
    of one size (Kish's number); the stratum stands for ``mass`` verdicts.
    """

    contents: float
    labels: float
    effective: float
    mass: float


class Effect(Struct, frozen=True):
    """The design effect of a rate, and the point of the distribution that its interval uses."""

    deff: float = 1.0
    z: float = Z


ALONE = Effect()
"""The effect if each label is of one verdict, and no two labels are of one case."""


class Part(Struct, frozen=True):
    """One stratum's counts for a rate: its contents, those with a label, and the hits among them.

    ``labelled`` and ``hits`` may be fractions, if a rate is extended to another sample size or its
    labels are worth less than as many single verdicts. The stratum stands for ``mass`` verdicts, by
    default as many as it has contents.
    """

    size: float
    labelled: float
    hits: float
    mass: float | None = None

    @property
    def share(self) -> float:
        return self.size if self.mass is None else self.mass


class Pair(Struct, frozen=True):
    """One stratum's counts for a ratio: hits, and ``misses``, which are another kind of label.

    The ratio is hits / (hits + misses). ``most_hits`` and ``most_misses`` are how many of the
    verdicts could be of each kind, which bounds a stratum without labels.
    """

    part: Part
    misses: float
    most_hits: int
    most_misses: int


class ConfidenceSums(Struct, frozen=True):
    """Sums of c, c², c³ and c⁴ over the n decided verdicts of a stratum with a confidence c."""

    n: int
    powers: tuple[float, float, float, float]
    low: float
    high: float


class Target(StrEnum):
    """What an interval is about: the verdicts of the run, or the process that produced them."""

    RUN = "this run"
    ITEMS = "new items"


class Rates(Struct, frozen=True):
    """A rater's rates with 95% intervals about one target, and the share that should pass."""

    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    should_pass: Estimate


class PanelIntervals(Rates, frozen=True, kw_only=True):
    """The panel's figures with 95% intervals through the draw, all about one target.

    If a stratum has no label, a rate is ``None`` between bounds, and the ends of Brier, gap and
    kappa are bounds. Brier and gap are ``None`` without a label that gives a row, kappa also if
    chance would agree on all. ``counted`` is the number of labels behind the rates; at 0 their
    bounds carry no information. These labels are on ``tests`` cases.
    """

    target: Target
    counted: int
    tests: int
    brier: Estimate | None
    gap: Estimate | None
    kappa: Estimate | None


class Fit(Struct, frozen=True):
    """How confidence relates to being right in some rows; ``None`` where it is undefined."""

    n: int
    ece: float
    null: NullEce | None
    bins: tuple[Bin, ...]
    spiegelhalter: ZTest
    auroc: float | None
    log_loss: LogLoss | None
    brier: Estimate | None
    gap: Estimate | None
    accuracy: Estimate | None
    kappa: Estimate | None = None


class Look(Struct, frozen=True):
    """The mean over the whole run after some labels; ``None`` while a stratum has no label.

    ``low`` and ``high`` hold at every look: they are the intersection of all looks so far.
    ``now_low`` and ``now_high`` are this look's own.
    """

    labels: int
    estimate: float | None
    low: float
    high: float
    now_low: float
    now_high: float


class SimulatedFigure(Struct, frozen=True):
    """How one interval performs over the ``runs`` in which its figure is defined."""

    figure: str
    runs: int
    bias: float | None
    coverage: float | None
    width: float | None
