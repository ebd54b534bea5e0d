"""What is known of each juror over time. Records and plain arithmetic: drawing them is cheap."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reviewdesk.domain.bias import family
from reviewdesk.domain.correction import Status, rogan_gladen
from reviewdesk.domain.jurors import JurorCounts, Panel
from reviewdesk.domain.standards import (
    RateDifference,
    kappa_of,
    kappa_weights,
    rate_difference,
    wilson,
)
from reviewdesk.domain.verdict import Decision, Generator

ENOUGH = 20
"""Labelled votes from which a juror's kappa, and a weight from it, is given."""
PER_CELL = 10
"""Votes on responses that should fail from which leniency is told, on either side."""


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
    is p adjusted over the jurors, ``alarm`` the key of the verdict where CUSUM left its limit.
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


@dataclass(frozen=True, slots=True)
class Offset:
    """A juror's score less the mean of the other jurors on a verdict: the mean over ``n`` of them.

    Positive is the more lenient juror.
    """

    mean: float
    n: int
    drift: Drift | None = None


@dataclass(frozen=True, slots=True)
class JurorFacts:
    """One juror: against the labels, and over all its verdicts of the run.

    ``kappa`` is ``None`` under twenty labelled votes, and where chance alone would agree on all;
    ``weight`` is a suggestion, from as many votes of the window. ``offset`` is ``None`` where the
    juror never scored beside another.
    """

    counts: JurorCounts
    seats: Seats
    offset: Offset | None = None
    weight: float | None = None

    @property
    def name(self) -> str:
        """The juror's id, ``id#2`` for the second seat of one id."""
        return self.counts.name

    @property
    def accuracy(self) -> Rate:
        """Votes that match the label."""
        return Rate(self.counts.right, self.counts.votes)

    @property
    def sensitivity(self) -> Rate:
        """Passes among the responses that should pass."""
        return Rate(self.counts.tp, self.counts.tp + self.counts.fn)

    @property
    def specificity(self) -> Rate:
        """Fails among the responses that should fail."""
        return Rate(self.counts.tn, self.counts.tn + self.counts.fp)

    @property
    def observed(self) -> Rate:
        """Passes among the votes that the juror cast in the whole run."""
        return Rate(self.seats.passes, self.seats.votes)

    @property
    def corrected(self) -> tuple[float | None, Status | None]:
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
    def dissent(self) -> Rate:
        """How often the juror was right when it dissented alone or was trimmed and dissented."""
        return Rate(self.counts.lone_right, self.counts.lone_dissents)

    @property
    def parse_failures(self) -> Rate:
        """Seats of the run whose reply could not be read."""
        return Rate(self.seats.parse_failed, self.seats.seats)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa with the labels."""
        return kappa(self.counts)


@dataclass(frozen=True, slots=True)
class Basis:
    """What the suggested weights rest on: ``labels`` labelled verdicts of the last ``days`` days.

    ``days`` is ``None`` for all of them; ``mean`` is the mean clipped kappa they are drawn to.
    """

    labels: int
    days: int | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class Leniency:
    """P(pass | should fail) of jurors of the generator's own family, and of the others.

    ``difference`` is own less others with Newcombe's interval, all ``None`` under ten votes on
    either side. Votes on one response are not independent, so the interval is, if anything, narrow.
    """

    own: Rate
    others: Rate
    unknown: int
    """Votes of jurors whose family is unknown: they are on neither side."""
    difference: RateDifference

    @property
    def reason(self) -> str | None:
        """Why there is no difference."""
        if self.difference.diff is not None:
            return None
        if not (self.own.n or self.others.n or self.unknown):
            return "no vote on a response that should fail, or a generator of unknown family"
        return f"under {PER_CELL} votes on responses that should fail, on one side or both"


@dataclass(frozen=True, slots=True)
class Volatile:
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
    volatile: tuple[Volatile, ...] = ()
    repeated: int = 0
    """How many cases of the run have a score in another run too."""
    ids: Mapping[int, str] = field(default_factory=dict)
    """The ids of the verdicts that an alarm names by key."""


def kappa(counts: JurorCounts) -> float | None:
    """A juror's Cohen's kappa with the labels; ``None`` under twenty votes or where undefined."""
    if counts.votes < ENOUGH:
        return None
    cells: collections.Counter[tuple[Hashable, Hashable]] = collections.Counter(
        {
            (True, True): counts.tp,
            (True, False): counts.fn,
            (False, False): counts.tn,
            (False, True): counts.fp,
        }
    )
    return kappa_of(cells)


def suggested_weights(counts: Sequence[JurorCounts]) -> tuple[list[float | None], float | None]:
    """A weight for each juror, summing to 1 over those that have one, and the mean kappa behind it.

    The kappas are clipped at 0 and shrunk to their mean: ``n/(n+20)·kappa + 20/(n+20)·mean``, n
    the juror's labelled votes. A juror without a kappa has no weight.
    """
    kappas = [kappa(one) for one in counts]
    clipped = [None if value is None else max(value, 0.0) for value in kappas]
    known = [value for value in clipped if value is not None]
    if not known:
        return [None] * len(counts), None
    mean = math.fsum(known) / len(known)
    shrunk = [
        None if value is None else (one.votes * value + ENOUGH * mean) / (one.votes + ENOUGH)
        for one, value in zip(counts, clipped, strict=True)
    ]
    return kappa_weights(shrunk), mean


class LeniencyCounter:
    """Counts passes of responses that should fail, by whether juror and generator are kin."""

    def __init__(self) -> None:
        """Start with no vote."""
        self._votes: collections.Counter[tuple[bool | None, bool]] = collections.Counter()

    def add(self, panel: Panel, generator: Generator, votes: Iterable[bool | None]) -> None:
        """Count one labelled verdict, ``votes`` in the order of its seats."""
        own = family(generator.model, generator.vendor)
        if panel.deserved or own is None:
            return
        for juror, vote in zip(panel.body.get("jurors") or (), votes, strict=True):
            if vote is not None:
                found = family(juror.get("model"), juror.get("vendor"))
                self._votes[None if found is None else found.name == own.name, vote] += 1

    def leniency(self) -> Leniency:
        """The rates on both sides and their difference."""
        own, others = (
            Rate(self._votes[kin, True], self._votes[kin, True] + self._votes[kin, False])
            for kin in (True, False)
        )
        few = min(own.n, others.n) < PER_CELL
        return Leniency(
            own=own,
            others=others,
            unknown=self._votes[None, True] + self._votes[None, False],
            difference=(
                RateDifference(None, None, None)
                if few
                else rate_difference(own.k, own.n, others.k, others.n)
            ),
        )


def volatile(
    key: int, name: str, seen: Sequence[tuple[str, float, Decision | None]]
) -> Volatile | None:
    """One case's scores by run, the oldest first; ``None`` under two runs."""
    if len(seen) < 2:
        return None
    scores = [score for _, score, _ in seen]
    decided = {made for _, _, made in seen}
    return Volatile(
        key=key,
        id=name,
        scores=tuple((run, score) for run, score, _ in seen),
        sd=statistics.stdev(scores),
        swing=max(scores) - min(scores),
        turned={Decision.PASS, Decision.FAIL} <= decided,
    )
