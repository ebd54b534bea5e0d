"""The rules that decide one verdict, and their results: quorum, strategies, size of a trim."""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain import values
from reviewdesk.domain.values import BY_REGIME, Band, Decision, Regime, Rounding, Strategy, folded
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    FAILED_LABELS,
    SLACK,
    UNCLEAR,
    Ballot,
    Policy,
)
from reviewdesk.errors import UsageError

STOPPED_EARLY = "stopped early"
"""The reason why a panel that did not ask every juror has no agreement, band or escalation."""

R_WG = "r_wg"
ALPHA = "krippendorff_alpha"
LINED = (R_WG, ALPHA, "unknown")
"""The metrics that the band limits apply to; the scales of the others differ."""


class Spread(Struct, frozen=True):
    """An agreement, raw and clamped at 0, with its band; ``reason`` says why they are ``None``."""

    raw: float | None
    clamped: float | None
    band: Band | None
    n: int
    reason: str | None = None


class LabelVote(Struct, frozen=True):
    """The result of a label vote. Shares and confidence are ``None`` without ballots to count."""

    rule: str
    """The name of the strategy or of the callable."""
    label: str
    disagreement: bool | None
    agreement_pct: float | None
    """The share of the usable ballots whose label is the consensus, 0..1."""
    seated_share: float | None
    """The same share of all seats."""
    avg_confidence: float | None
    usable: int
    seated: int
    tie: str | None = None
    tied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why a supermajority is inconclusive, or why ``disagreement`` is ``None``."""
    decision: Decision | None = None
    """Inconclusive for a missed supermajority, or a fallback among declared labels."""


class Trim(Struct, frozen=True):
    """The seats left out at each end; ``tied`` ones scored as much as one that was kept."""

    fraction: float
    rounding: Rounding
    per_side: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    tied: frozenset[int]


@lru_cache(maxsize=4096)
def trim_count(
    n: int, fraction: float = DEFAULT_TRIM_FRACTION, rounding: Rounding | str = Rounding.DOWN
) -> int:
    """Return how many of ``n`` scores are dropped at each end.

    With ``x = fraction * n`` in exact arithmetic, ``down`` takes the floor, or 1 if the floor is
    0 and x > 1/2; ``nearest`` rounds half to even; ``up`` takes the ceiling. The count is at most
    ``(n - 1) // 2``, and 0 for one or two scores. Raise UsageError unless 0 <= fraction < 0.5 and
    the rounding is known. Source: the jury trim rule, with its rounding named.
    """
    rounding = values.member(Rounding, rounding, "no rounding")
    values.trim_fraction("fraction", fraction)
    exact = Fraction(repr(float(fraction))) * n
    if rounding is Rounding.DOWN:
        count = math.floor(exact) or int(exact > Fraction(1, 2))
    else:
        count = math.ceil(exact) if rounding is Rounding.UP else round(exact)
    return max(min(count, (n - 1) // 2), 0)


class Breakdown(Struct, frozen=True):
    """The number of bribed jurors that a trimmed panel tolerates, and the price of breaking it."""

    jurors: int
    tolerates: int
    bribe: float | None = None
    """The price of ``breaks_at`` jurors; ``None`` if no price is given."""

    @property
    def breaks_at(self) -> int:
        """The smallest number of jurors that can move the value to any point."""
        return self.tolerates + 1

    def __str__(self) -> str:
        """Return both numbers; a percentage would not show which of two conventions it follows."""
        return f"tolerates {self.tolerates} of {self.jurors}, breaks at {self.breaks_at}"


def breakdown(
    n: int,
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
    price: float | None = None,
) -> Breakdown:
    """Return the breakdown point of the trim rule: it tolerates g bribed jurors of n, not g + 1.

    ``g`` is ``trim_count(n, fraction, rounding)``; the bribe costs ``(g + 1) * price``. Raise
    UsageError for an empty panel, or for a price that is negative or not finite.
    """
    if n < 1:
        raise UsageError(f"breakdown of {n} jurors", "A panel has at least one juror")
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise UsageError(
            f"price {price} is not an amount", "Give the price of one juror, 0 or more"
        )
    tolerated = trim_count(n, fraction, rounding)
    return Breakdown(n, tolerated, None if price is None else (tolerated + 1) * price)


LEAST_COMMITTED = 3
DEFAULT_SHARE = "2/3"
_UNCOMMITTED = {*FAILED_LABELS, folded(UNCLEAR), ""}


def commits(label: str | None) -> bool:
    return folded(label) not in _UNCOMMITTED


def exact_share(share: float | str | None) -> Fraction:
    """Return the required share as an exact fraction; 2/3 for ``None``."""
    return values.supermajority("supermajority", DEFAULT_SHARE if share is None else share)


def own_share(share: float | str | None) -> str | None:
    """Return the share as reports and panel hashes store it: in lowest terms, ``None`` if 2/3."""
    exact = exact_share(share)
    return None if exact == exact_share(None) else str(exact)


@lru_cache(maxsize=4096)
def quorum_met(passes: int, n: int, quorum: float | str) -> bool:
    """Return True if ``passes`` of ``n`` reach the quorum, with the share rounded half up.

    The share is rounded to the number of decimals in the quorum, at least two: two of three
    meet 0.67. A quorum ``"k/n"`` is an exact fraction, and 1.0 requires every juror. Raise
    UsageError for a quorum outside 0..1, or for more passes than jurors.
    """
    _check(passes, n, quorum)
    if isinstance(quorum, str):
        return Fraction(passes, n) >= Fraction(quorum)
    written = Decimal(repr(float(quorum))).normalize()
    if written == 1:
        return passes == n
    decimals = max(2, -int(written.as_tuple().exponent))
    scale = 10**decimals
    rounded = Fraction(math.floor(Fraction(passes, n) * scale + Fraction(1, 2)), scale)
    return rounded >= Fraction(written)


@lru_cache(maxsize=4096)
def quorum_met_strictly(passes: int, n: int, quorum: float | str) -> bool:
    """Return True if ``passes / n >= quorum`` without rounding (slack 1e-9), for comparison."""
    if isinstance(quorum, str):
        return quorum_met(passes, n, quorum)
    _check(passes, n, quorum)
    return passes / n >= quorum - SLACK


def least_answered(minimum: float | str | None, seated: int) -> int:
    """Return how many jurors must answer: a count, or a share rounded up; 0 if None."""
    if isinstance(minimum, str):
        return math.ceil(Fraction(minimum) * seated)
    return math.ceil(minimum or 0)


def _check(passes: int, n: int, quorum: float | str) -> None:
    values.quorum("quorum", quorum)
    if not 0 <= passes <= n > 0:
        raise UsageError(f"{passes} of {n} jurors passed", "Give 0 to n passes of n jurors, n > 0")


class Votes(Struct, frozen=True):
    """The vote count of a panel: the votes to pass, the votes cast and the number of seats."""

    passes: int
    answered: int
    seated: int
    unknown: int = 0
    """Jurors whose score needs an unknown threshold to vote; one prevents any decision by votes."""
    withheld: int = 0
    """Jurors that answered without casting a vote; if nobody voted, their scores decide nothing."""
    missing: int = 0
    """Jurors that were asked and gave no answer: they failed, abstained or were not understood."""
    not_asked: int = 0

    @property
    def fails(self) -> int:
        return self.answered - self.passes

    @property
    def split(self) -> bool:
        return 0 < self.passes < self.answered

    @property
    def known(self) -> bool:
        """Whether votes were cast, and every juror that answered cast or withheld its vote."""
        return self.answered > 0 and not self.unknown

    @property
    def returned(self) -> int:
        return self.seated - self.missing - self.not_asked

    @property
    def of_answered(self) -> "Votes":
        """The same votes with only the jurors that voted as seats, as some producers count them."""
        return replace(self, seated=self.answered)

    def too_few(self, policy: Policy) -> bool:
        """Return True if fewer jurors answered than required; never for an empty panel."""
        least = least_answered(policy.min_answered, self.seated)
        return self.seated > 0 and self.returned < least


class Reads(StrEnum):
    """The part of a ballot that a strategy reads."""

    SCORES = "scores"
    VOTES = "votes"
    LABELS = "labels"
    NOTHING = "nothing"


ByVotes = Callable[[Votes, Policy], Decision | None]


class Method(Struct, frozen=True):
    """One strategy: the part of a ballot that it reads, and its decision if votes determine it."""

    strategy: Strategy
    reads: Reads = Reads.SCORES
    published: ByVotes = lambda _votes, _policy: None
    """Decides by the votes cast, as the source does; ``None`` if what it needs is missing."""
    cautious: bool = False
    """Whether a missing answer that could change the decision makes it inconclusive."""

    def decide(self, votes: Votes, policy: Policy) -> Decision | None:
        """Return the decision, an error if too few jurors answered, or ``None`` without one."""
        if policy.min_answered is not None and votes.too_few(policy):
            return Decision.ERROR
        found = self.published(votes, policy)
        absent = votes.missing + votes.withheld
        if not self.cautious or found not in SIDES or not absent:
            return found
        # Each missing juror may pass, fail or stay silent; votes already cast do not change.
        made = {
            self.published(
                replace(votes, passes=votes.passes + more, answered=votes.answered + cast), policy
            )
            for cast in range(absent + 1)
            for more in range(cast + 1)
        }
        return Decision.INCONCLUSIVE if len(made) > 1 else found

    @property
    def title(self) -> str:
        return self.strategy.value.replace("_", " ")


SIDES = frozenset({Decision.PASS, Decision.FAIL})


def quorum_decision(
    votes: Votes, policy: Policy, met: Callable[[int, int, float | str], bool] = quorum_met
) -> Decision | None:
    """Return the decision of a quorum of the seats, as ``met`` reads the share."""
    if policy.quorum is None or not votes.known:
        return None
    return Decision.PASS if met(votes.passes, votes.seated, policy.quorum) else Decision.FAIL


def _side_with(least: Callable[[Votes, Policy], float | Fraction]) -> ByVotes:
    """Return a rule that decides for the side with the ``least`` votes; else it is inconclusive."""

    def decide(votes: Votes, policy: Policy) -> Decision | None:
        if not votes.known:
            return None
        needed = least(votes, policy)
        if votes.passes >= needed:
            return Decision.PASS
        return Decision.FAIL if votes.fails >= needed else Decision.INCONCLUSIVE

    return decide


_every = _side_with(lambda votes, _: votes.answered)
_over_half = _side_with(lambda votes, _: votes.seated // 2 + 1)
_committed_share = _side_with(
    lambda votes, policy: (
        exact_share(policy.supermajority) * votes.answered
        if votes.answered >= LEAST_COMMITTED
        else math.inf
    )
)

STRATEGIES: Mapping[Strategy, Method] = {
    method.strategy: method
    for method in (
        Method(Strategy.QUORUM, Reads.VOTES, quorum_decision),
        Method(Strategy.MAJORITY, Reads.VOTES, _over_half),
        Method(Strategy.UNANIMOUS, Reads.VOTES, _every, cautious=True),
        Method(Strategy.WEIGHTED_AVERAGE),
        Method(Strategy.MEAN),
        Method(Strategy.MEDIAN),
        Method(Strategy.HIGHEST),
        Method(Strategy.LOWEST, cautious=True),
        Method(Strategy.TRIMMED_MEAN),
        Method(Strategy.WEIGHTED_VOTE, Reads.LABELS),
        Method(Strategy.FIRST_DISAGREEMENT, Reads.LABELS),
        Method(
            Strategy.SINGLE,
            Reads.VOTES,
            lambda one, how: _every(one, how) if one.answered == 1 else None,
        ),
        Method(Strategy.EXTERNAL, Reads.NOTHING),
        Method(Strategy.SUPERMAJORITY, Reads.VOTES, _committed_share, cautious=True),
    )
}
"""Every strategy by its name. Majorities and unanimity count labels if no juror voted."""

COMPARED = (Strategy.QUORUM, Strategy.TRIMMED_MEAN, Strategy.MEDIAN, Strategy.MEAN)
"""The rules whose decisions are compared; if they differ, the verdict depends on its regime."""


def strategy_named(word: str) -> Strategy:
    """Return the strategy of that name; raise UsageError with all names if it is not known."""
    return values.member(Strategy, word, "no strategy")


class Rule(Struct, frozen=True):
    """The strategy of a verdict: as set and as used, and why these differ or are ``None``."""

    strategy: Strategy | None
    used: Strategy | None
    reason: str | None


def rule_for(policy: Policy, ballots: Sequence[Ballot], regime: str | None = None) -> Rule:
    """Return the rule that decides: the policy's strategy, else the regime's, else a known quorum.

    Only a person decides a dispute without a strategy. If a juror failed, ``stand_in`` may decide
    instead; one that abstained, was not asked or was not understood did not fail.
    """
    strategy = policy.strategy
    if strategy is None and regime is not None:
        if regime == Regime.DISPUTE:
            return Rule(None, None, "regime dispute: a person decides")
        strategy = BY_REGIME.get(regime)
    elif strategy is None and policy.quorum is not None:
        strategy = Strategy.QUORUM
    other = stand_in(policy, strategy)
    failed = [ballot.id for ballot in ballots if ballot.status.failed]
    if other is not None and failed:
        return Rule(strategy, other, f"failed: {', '.join(failed)}")
    return Rule(strategy, strategy, None)


def stand_in(policy: Policy, strategy: Strategy | None) -> Strategy | None:
    """Return the strategy that replaces an average if a juror failed, or ``None``."""
    if strategy is Strategy.WEIGHTED_AVERAGE:
        return policy.failed_jurors or Strategy.MEDIAN
    return policy.failed_jurors if strategy in {Strategy.MEAN, Strategy.TRIMMED_MEAN} else None
