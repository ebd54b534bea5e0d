"""What is known of each juror over time. Records and plain arithmetic: drawing them is cheap."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reviewdesk.domain.jurors.accuracy import JurorCounts
from reviewdesk.domain.jurors.leniency import Leniency
from reviewdesk.domain.jurors.rates import (
    CARRIED,
    ENOUGH,
    Cells,
    Contest,
    JurorRates,
    kappa,
)
from reviewdesk.domain.records import Design
from reviewdesk.domain.stats.correction import CorrectionStatus, rogan_gladen
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.stats.rates import kappa_weights, wilson
from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True, slots=True)
class Rate:
    """``k`` of ``n``, with Wilson's 95% interval; without data the share is ``None``."""

    k: int
    n: int

    @property
    def share(self) -> float | None:
        """``k / n``."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's; (0, 1) without data."""
        return wilson(self.k, self.n)


@dataclass(frozen=True, slots=True)
class Seats:
    """A juror's seats in a whole run, labelled or not, the votes it cast and the passes of them."""

    first: int
    seats: int
    failed: int
    parse_failed: int
    votes: int = 0
    passes: int = 0


class Windows(StrEnum):
    """What a juror's offsets in this run are held against."""

    EARLIER = "earlier runs"
    HALVES = "first half"


@dataclass(frozen=True, slots=True)
class Drift:
    """A juror's offsets in two windows of ``before`` and ``after`` verdicts.

    ``change`` is the later mean offset less the earlier; ``t``, ``df`` and ``p`` are Welch's, ``q``
    is p adjusted over the jurors, ``alarm`` the key of the verdict where CUSUM left its ``limit``,
    which in 5% of driftless runs any juror leaves.
    What either window is too short or too even for is ``None``.
    """

    windows: Windows
    runs: int
    before: int
    after: int
    change: float
    t: float | None
    df: float | None
    p: float | None
    q: float | None = None
    alarm: int | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Offset:
    """A juror's score less the mean of the other jurors on a verdict: the mean over ``n`` of them.

    Positive is the more lenient juror.
    """

    mean: float
    n: int
    drift: Drift | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A rate as it may be quoted, with its ends for all the verdicts on which the juror voted.

    Where the labels do not carry a rate of the run, ``share`` is of the labels alone, each once,
    and the ends are ``bounds`` of what the run may come to.
    """

    share: float | None
    low: float
    high: float
    bounds: bool


@dataclass(frozen=True, slots=True)
class JurorFacts:
    """One juror: against the labels, through the draw, and over all its verdicts of the run.

    ``labelled_*`` are of the labels alone, each once, which a blind session is shown; the others
    are through the draw. ``weight`` is a suggestion, from the votes of the window. ``offset`` is
    ``None`` where the juror never scored beside another.
    """

    counts: JurorCounts
    seats: Seats
    drawn: JurorRates
    offset: Offset | None = None
    weight: float | None = None

    @property
    def name(self) -> str:
        """The juror's id, ``id#2`` for the second seat of one id."""
        return self.counts.name

    @property
    def cells(self) -> Cells:
        """Labelled votes by what was voted and deserved, each once."""
        return Cells(self.counts.tp, self.counts.fn, self.counts.tn, self.counts.fp)

    @property
    def labelled_accuracy(self) -> Rate:
        """Labelled votes that match the label."""
        return Rate(self.counts.right, self.counts.votes)

    @property
    def labelled_sensitivity(self) -> Rate:
        """Passes among the labelled votes on responses that should pass."""
        return Rate(self.counts.tp, self.counts.tp + self.counts.fn)

    @property
    def labelled_specificity(self) -> Rate:
        """Fails among the labelled votes on responses that should fail."""
        return Rate(self.counts.tn, self.counts.tn + self.counts.fp)

    @property
    def labelled_dissent(self) -> Rate:
        """Labelled votes that dissented alone, or were trimmed and dissented, and were right."""
        return Rate(self.counts.lone_right, self.counts.lone_dissents)

    @property
    def labelled_kappa(self) -> float | None:
        """Cohen's kappa over the labels, each once."""
        return kappa(self.cells) if self.counts.votes >= ENOUGH else None

    @property
    def accuracy(self) -> Quoted:
        """Votes that are right."""
        return self.rate("accuracy")

    @property
    def sensitivity(self) -> Quoted:
        """Passes among the votes on responses that should pass."""
        return self.rate("sensitivity")

    @property
    def specificity(self) -> Quoted:
        """Fails among the votes on responses that should fail."""
        return self.rate("specificity")

    @property
    def dissent(self) -> Quoted:
        """How often the juror was right when it dissented alone or was trimmed and dissented."""
        return _quoted(self.labelled_dissent, self.drawn.dissent, self.drawn.dissent_design)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa with the labels; ``None`` under ``ENOUGH`` votes and where undefined."""
        return self.drawn.kappa if self.drawn.design in CARRIED else self.labelled_kappa

    @property
    def observed(self) -> Rate:
        """Passes among the votes that the juror cast in the whole run."""
        return Rate(self.seats.passes, self.seats.votes)

    @property
    def corrected(self) -> tuple[float | None, CorrectionStatus | None]:
        """The observed rate with the juror's own mistakes taken out, and how that came out.

        It is the rate of what deserves a pass among the verdicts on which the juror voted. ``None``
        where it never voted, or has no labelled vote to learn its mistakes from.
        """
        observed = self.observed.share
        if observed is None or not self.counts.votes:
            return None, None
        hit, reject = self.sensitivity.share or 0.0, self.specificity.share or 0.0
        return rogan_gladen(observed, hit, reject)

    @property
    def parse_failures(self) -> Rate:
        """Seats of the run whose reply could not be read."""
        return Rate(self.seats.parse_failed, self.seats.seats)

    def rate(self, name: str, target: Target = Target.RUN) -> Quoted:
        """One of accuracy, sensitivity and specificity, with ends of either target."""
        drawn = getattr(self.drawn.run if target is Target.RUN else self.drawn.such, name)
        return _quoted(getattr(self, f"labelled_{name}"), drawn, self.drawn.design)


def _quoted(labelled: Rate, drawn: Estimate, design: Design) -> Quoted:
    if design in CARRIED:
        return Quoted(drawn.estimate, drawn.low, drawn.high, bounds=False)
    return Quoted(labelled.share, drawn.low, drawn.high, bounds=True)


@dataclass(frozen=True, slots=True)
class Basis:
    """What the suggested weights rest on: ``labels`` labelled verdicts of the last ``days`` days.

    ``days`` is ``None`` for all of them; ``mean`` is the mean clipped kappa they are drawn to.
    """

    labels: int
    days: int | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class VolatileCase:
    """A case whose panel score moved between runs: ``scores`` by run, the oldest first.

    ``sd`` is the sample standard deviation, ``swing`` the largest difference of two runs;
    ``turned`` says whether one run passed it and another failed it.
    """

    key: int
    id: str
    scores: tuple[tuple[str, float], ...]
    sd: float
    swing: float
    turned: bool


@dataclass(frozen=True, slots=True)
class JurorsPage:
    """Everything about the jurors of one run; ``labels`` counts verdicts labelled pass or fail."""

    jurors: tuple[JurorFacts, ...]
    labels: int
    basis: Basis
    leniency: Leniency
    contest: Contest = field(default_factory=Contest)
    volatile: tuple[VolatileCase, ...] = ()
    repeated: int = 0
    """How many cases of the run have a score in another run too."""
    ids: Mapping[int, str] = field(default_factory=dict)
    """The ids of the verdicts that an alarm names by key."""
    models: Mapping[str, str | None] = field(default_factory=dict)
    """The model of each juror's first ballot, by the juror's name."""

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs of the jurors' labels, each once; usually all have one."""
        return tuple(dict.fromkeys(one.drawn.design for one in self.jurors))


def suggested_weights(
    kappas: Sequence[tuple[float | None, float]],
) -> tuple[list[float | None], float | None]:
    """A weight for each juror, summing to 1 over those that have one, and the mean kappa behind it.

    Takes each juror's kappa and the n labelled votes behind it. The kappas are clipped at 0 and
    shrunk to their mean: ``n/(n+20)·kappa + 20/(n+20)·mean``. Without a kappa there is no weight.
    """
    clipped = [(None if value is None else max(value, 0.0), n) for value, n in kappas]
    known = [value for value, _ in clipped if value is not None]
    if not known:
        return [None] * len(kappas), None
    mean = math.fsum(known) / len(known)
    shrunk = [
        None if value is None else (n * value + ENOUGH * mean) / (n + ENOUGH)
        for value, n in clipped
    ]
    return kappa_weights(shrunk), mean


def volatile(
    key: int, name: str, seen: Sequence[tuple[str, float, Decision | None]]
) -> VolatileCase | None:
    """One case's scores by run, the oldest first; ``None`` under two runs."""
    if len(seen) < 2:
        return None
    scores = [score for _, score, _ in seen]
    decided = {made for _, _, made in seen}
    return VolatileCase(
        key=key,
        id=name,
        scores=tuple((run, score) for run, score, _ in seen),
        sd=statistics.stdev(scores),
        swing=max(scores) - min(scores),
        turned={Decision.PASS, Decision.FAIL} <= decided,
    )
