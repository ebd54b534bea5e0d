"""The records of each juror over time, with plain arithmetic that is cheap to draw."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jurors.rates import ENOUGH, Contest, JurorRates
from reviewdesk.domain.records import Design
from reviewdesk.domain.stats.correction import Cells, CorrectionStatus, rogan_gladen
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.stats.rates import kappa_weights, wilson
from reviewdesk.domain.verdict import Decision, stated_trim

if TYPE_CHECKING:
    from reviewdesk.domain.jurors.pairs import JurorPair


class JurorCounts(Struct, frozen=True):
    """One juror's votes against the labels; a positive is a response that should pass.

    ``seat`` is the lowest seat the juror ever had. A dissent is a vote against a pass or a fail of
    the panel; it is lone if no other juror dissented, or if the trim left the juror out.
    """

    name: str
    seat: int
    tp: int
    fn: int
    tn: int
    fp: int
    abstained: int
    failed: int
    trimmed: int
    dissents: int
    dissents_right: int
    lone_dissents: int = 0
    lone_right: int = 0

    @property
    def votes(self) -> int:
        return self.right + self.wrong

    @property
    def right(self) -> int:
        return self.tp + self.tn

    @property
    def wrong(self) -> int:
        return self.fn + self.fp


def trim_named(body: CanonicalVerdict) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    stated = stated_trim(body)
    if stated.low is None:
        return None
    named = {*stated.low, *(stated.high or ())}
    return {seat for seat, juror in enumerate(body["jurors"]) if juror["id"] in named}


class Rate(Struct, frozen=True):
    """A rate of ``k`` in ``n`` with Wilson's 95% interval; the share is ``None`` without data."""

    k: int
    n: int

    @property
    def share(self) -> float | None:
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval; (0, 1) without data."""
        return wilson(self.k, self.n)


class Seats(Struct, frozen=True):
    """Counts of a juror's seats in a whole run, labelled or not, and of its votes and passes."""

    first: int
    seats: int
    failed: int
    parse_failed: int
    votes: int = 0
    passes: int = 0
    not_asked: int = 0


class Windows(StrEnum):
    """What a juror's offsets in this run are compared with."""

    EARLIER = "earlier runs"
    HALVES = "first half"


class Drift(Struct, frozen=True):
    """A juror's offsets in two windows of ``before`` and ``after`` verdicts.

    ``change`` is the later mean offset less the earlier; ``t``, ``df`` and ``p`` are Welch's, and
    ``q`` is p adjusted over the jurors. ``alarm`` is the key of the verdict where CUSUM exceeded
    its ``limit``, which any juror does in 5% of driftless runs. A figure is ``None`` if a window is
    too short for it, or varies too little.
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


class Offset(Struct, frozen=True):
    """The mean over ``n`` verdicts of a juror's score less the mean score of the other jurors.

    A positive mean is that of a more lenient juror.
    """

    mean: float
    n: int
    drift: Drift | None = None


class Quoted(Struct, frozen=True):
    """A rate that may be quoted, with its ends for all the verdicts on which the juror voted.

    If the labels do not represent the run, ``share`` describes the labels alone, unweighted, and
    the ends are ``bounds`` on the rate of the run.
    """

    share: float | None
    low: float
    high: float
    bounds: bool


class JurorFacts(Struct, frozen=True):
    """One juror: against the labels, through the draw, and over all its verdicts of the run.

    ``labelled_*`` describe the labels alone, unweighted, as a blind session may show them; the
    other rates are through the draw. ``weight`` is a suggestion from the votes that have labels.
    ``offset`` is ``None`` if the juror never scored a verdict together with another juror.
    """

    counts: JurorCounts
    seats: Seats
    drawn: JurorRates
    offset: Offset | None = None
    weight: float | None = None

    @property
    def name(self) -> str:
        """The juror's id, or ``id#2`` for the second seat with the same id."""
        return self.counts.name

    @property
    def selected(self) -> bool:
        """Whether the juror was not always asked, so that its verdicts are a selected sample."""
        return self.seats.not_asked > 0

    @property
    def cells(self) -> Cells:
        return Cells(self.counts.tp, self.counts.fn, self.counts.tn, self.counts.fp)

    @property
    def labelled_accuracy(self) -> Rate:
        return Rate(self.counts.right, self.counts.votes)

    @property
    def labelled_sensitivity(self) -> Rate:
        """The share of passes among the labelled votes on responses that should pass."""
        return Rate(self.counts.tp, self.counts.tp + self.counts.fn)

    @property
    def labelled_specificity(self) -> Rate:
        """The share of fails among the labelled votes on responses that should fail."""
        return Rate(self.counts.tn, self.counts.tn + self.counts.fp)

    @property
    def labelled_dissent(self) -> Rate:
        """The share of right votes among the labelled dissents that were alone or trimmed."""
        return Rate(self.counts.lone_right, self.counts.lone_dissents)

    @property
    def labelled_kappa(self) -> float | None:
        """Cohen's kappa over the labels, unweighted; ``None`` under ``ENOUGH`` votes."""
        return self.cells.kappa if self.counts.votes >= ENOUGH else None

    @property
    def accuracy(self) -> Quoted:
        """The share of the juror's votes that are right."""
        return self.rate("accuracy")

    @property
    def sensitivity(self) -> Quoted:
        """The share of passes among the votes on responses that should pass."""
        return self.rate("sensitivity")

    @property
    def specificity(self) -> Quoted:
        """The share of fails among the votes on responses that should fail."""
        return self.rate("specificity")

    @property
    def dissent(self) -> Quoted:
        """The share of right votes among the dissents that were alone or trimmed."""
        return _quotable_rate(self.labelled_dissent, self.drawn.dissent, self.drawn.dissent_design)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa with the labels; ``None`` under ``ENOUGH`` votes and if undefined."""
        return self.drawn.kappa if self.drawn.design.stands else self.labelled_kappa

    @property
    def observed(self) -> Rate:
        return Rate(self.seats.passes, self.seats.votes)

    @property
    def corrected(self) -> tuple[float | None, CorrectionStatus | None]:
        """The observed rate corrected for the juror's errors, and the correction's status.

        It estimates the share of responses that should pass among the verdicts on which the juror
        voted. Both are ``None`` if the juror never voted, or has no labelled vote.
        """
        observed = self.observed.share
        if observed is None or not self.counts.votes:
            return None, None
        hit = self.sensitivity.share or 0.0
        reject = self.specificity.share or 0.0
        return rogan_gladen(observed, hit, reject)

    @property
    def parse_failures(self) -> Rate:
        """The share of the juror's seats in the run whose reply could not be parsed."""
        return Rate(self.seats.parse_failed, self.seats.seats)

    def rate(self, name: str, target: Target = Target.RUN) -> Quoted:
        """Return the accuracy, sensitivity or specificity by ``name``, with ends for ``target``."""
        drawn = getattr(self.drawn.run if target is Target.RUN else self.drawn.such, name)
        return _quotable_rate(getattr(self, f"labelled_{name}"), drawn, self.drawn.design)


def _quotable_rate(labelled: Rate, drawn: Estimate, design: Design) -> Quoted:
    if design.stands:
        return Quoted(drawn.estimate, drawn.low, drawn.high, bounds=False)
    return Quoted(labelled.share, drawn.low, drawn.high, bounds=True)


class Basis(Struct, frozen=True):
    """The data behind the suggested weights: labelled verdicts, and the mean kappa of shrinkage."""

    labels: int
    mean: float | None = None


class VolatileCase(Struct, frozen=True):
    """A case whose panel score changed between runs: ``scores`` by run, the oldest first.

    ``sd`` is the sample standard deviation, ``swing`` the largest difference of two runs;
    ``turned`` says whether one run passed it and another failed it.
    """

    key: int
    id: str
    scores: tuple[tuple[str, float], ...]
    sd: float
    swing: float
    turned: bool


class JurorsPage(Struct, frozen=True):
    """Everything about the jurors of one run; ``labels`` counts verdicts labelled pass or fail."""

    jurors: tuple[JurorFacts, ...]
    labels: int
    basis: Basis
    contest: Contest = field(default_factory=Contest)
    volatile: tuple[VolatileCase, ...] = ()
    repeated: int = 0
    """The number of cases of the run that have a score in another run too."""
    ids: Mapping[int, str] = field(default_factory=dict)
    """The ids of the verdicts that an alarm names by key."""
    models: Mapping[str, str | None] = field(default_factory=dict)
    """The model of each juror's first ballot, by the juror's name."""
    pairs: tuple[JurorPair, ...] = ()
    """The pairs of jurors that sat on the same verdicts."""
    of_archive: bool = False
    """Whether the run is an archive: its jurors are not compared, as most ballots are not here."""

    @property
    def designs(self) -> tuple[Design, ...]:
        return tuple(dict.fromkeys(one.drawn.design for one in self.jurors))


def suggested_weights(
    kappas: Sequence[tuple[float | None, float]],
) -> tuple[list[float | None], float | None]:
    """Return each juror's weight, and the mean kappa behind the weights.

    ``kappas`` pairs each juror's kappa with its n labelled votes. Kappas are clipped at 0, shrunk
    to their mean, ``n/(n+20)·kappa + 20/(n+20)·mean``, and scaled to sum 1. A juror without a kappa
    gets ``None``; if no juror has one, the mean is ``None`` too.
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
    """Build the record of one case from its scores by run, oldest first; ``None`` under two."""
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
