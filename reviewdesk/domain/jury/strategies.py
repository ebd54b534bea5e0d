"""The strategies: what each one reads, the score it gives and the decision it takes.

A juror that failed, abstained or was not understood could have answered anything. Three strategies
are chosen for safety (unanimous, lowest, supermajority) and decide beside such a juror only if no
answer of it could change the decision; else they are inconclusive.

All code that iterates over strategies (values, decisions, pivotal votes, comparisons of rules)
takes them from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from reviewdesk.domain import arguments
from reviewdesk.domain.jury.quorum import least_answered, quorum_met
from reviewdesk.domain.jury.supermajority import vote_decision
from reviewdesk.domain.jury.trim import Trim, kept_mean
from reviewdesk.domain.verdict import SLACK, Ballot, Decision, Policy, Status, Strategy


class Votes(Struct, frozen=True):
    """The vote count of a panel: how many passed, how many were cast, how many seats there are."""

    passes: int
    answered: int
    seated: int
    unknown: int = 0
    """Jurors whose score needs an unknown threshold to vote; with any, no rule on votes decides."""
    withheld: int = 0
    """Jurors that answered without casting a vote; if nobody voted, their scores decide nothing."""
    missing: int = 0
    """Jurors that were asked and gave no answer: they failed, abstained or were not understood."""
    not_asked: int = 0

    @property
    def fails(self) -> int:
        """The number of votes to fail."""
        return self.answered - self.passes

    @property
    def split(self) -> bool:
        """Whether both pass and fail were voted for."""
        return 0 < self.passes < self.answered

    @property
    def silent(self) -> bool:
        """Whether jurors answered and none of them cast a vote."""
        return self.withheld > 0 and not self.answered

    @property
    def known(self) -> bool:
        """Whether votes were cast, and every juror that answered cast or withheld its vote."""
        return self.answered > 0 and not self.unknown

    @property
    def returned(self) -> int:
        """The number of jurors that answered, with or without a vote."""
        return self.seated - self.missing - self.not_asked

    @property
    def of_answered(self) -> Votes:
        """The same votes of a panel of those who voted, as some producers count them."""
        return Votes(self.passes, self.answered, self.answered, self.unknown)

    def too_few(self, policy: Policy) -> bool:
        """Whether fewer jurors answered than ``min_answered`` asks for; never without a panel."""
        least = least_answered(policy.min_answered, self.seated)
        return self.seated > 0 and self.returned < least


def tally(ballots: Sequence[Ballot]) -> Votes:
    """Count the votes; a juror that failed or withheld its vote stays seated."""
    cast = [ballot.vote for ballot in ballots if ballot.vote is not None]
    unknown = withheld = missing = not_asked = 0
    if len(cast) < len(ballots):
        unknown = sum(ballot.undetermined for ballot in ballots)
        withheld = sum(ballot.usable and ballot.withheld for ballot in ballots)
        not_asked = sum(ballot.status is Status.NOT_ASKED for ballot in ballots)
        missing = sum(not ballot.usable for ballot in ballots) - not_asked
    return Votes(sum(cast), len(cast), len(ballots), unknown, withheld, missing, not_asked)


def mean(scores: Sequence[float | None]) -> float | None:
    """Return ``Σ s / m`` over the m scores that were given; ``None`` without a score."""
    given = [score for score in scores if score is not None]
    return arguments.total("a score", given) / len(given) if given else None


def median(scores: Sequence[float | None]) -> float | None:
    """Return the median of the given scores, the mean of two middle ones; ``None`` without."""
    given = [score for score in scores if score is not None]
    arguments.total("a score", given)
    ordered, middle = sorted(given), len(given) // 2
    return (ordered[middle] + ordered[~middle]) / 2 if given else None


def weighted_average(
    scores: Sequence[float | None], weights: Sequence[float | None]
) -> float | None:
    """Return ``Σ s·w / Σ w`` over the jurors that answered; a missing weight is 1.0.

    The weight of a juror without a score is left out of both sums. Return ``None`` without a score;
    raise UsageError unless the weights are finite and above 0. Source: the multi-judge decision
    record.
    """
    pairs = [
        (score, 1.0 if weight is None else weight)
        for score, weight in zip(scores, weights, strict=True)
        if score is not None
    ]
    if not pairs:
        return None
    given, heavy = zip(*pairs, strict=True)
    arguments.total("a score", given)
    # Weights are divided by the heaviest, so that no sum of finite weights overflows.
    heaviest, lightest = max(heavy), min(heavy)
    total = math.fsum([weight / heaviest for weight in heavy]) if lightest > 0 else math.nan
    if not math.isfinite(total):
        for weight in heavy:
            arguments.weight("a weight", weight)
    return math.fsum(score * (weight / heaviest) for score, weight in pairs) / total


class Reads(StrEnum):
    """The part of a ballot that a strategy reads."""

    SCORES = "scores"
    VOTES = "votes"
    LABELS = "labels"
    NOTHING = "nothing"


class Sheet(NamedTuple):
    """The answers of a panel in seat order; a missing score or weight is ``None``."""

    scores: Sequence[float | None]
    weights: Sequence[float | None]
    votes: Votes
    cut: Trim


Valued: TypeAlias = Callable[[Sheet], float | None]
Decides: TypeAlias = Callable[[Votes, float | None, Policy], Decision | None]


class Method(Struct, frozen=True):
    """One strategy: its panel score from a sheet, and its decision from votes and score."""

    strategy: Strategy
    reads: Reads
    value: Valued
    """Computes the panel score; gives ``None`` if what the strategy reads is missing."""
    published: Decides
    """Decides by the answers that came back, as the strategy's source does.

    It gives ``None`` if nobody voted, or if something that the strategy needs is missing. That may
    be the threshold, the quorum, a vote that depends on the threshold, or all that it reads.
    """
    about: str
    cautious: bool = False
    """Whether a missing answer that could change the decision makes it inconclusive."""

    def decide(self, votes: Votes, value: float | None, policy: Policy) -> Decision | None:
        """Return the decision, an error if too few jurors answered, or ``None`` without one."""
        if policy.min_answered is not None and votes.too_few(policy):
            return Decision.ERROR
        found = self.published(votes, value, policy)
        if not self.cautious or found not in _SIDES:
            return found
        if self.reads is Reads.SCORES:
            # One lower score turns a pass, and no score turns a fail.
            turns = votes.missing > 0 and found is Decision.PASS and (policy.threshold or 0) > SLACK
        else:
            absent = votes.missing + votes.withheld
            turns = absent > 0 and len(decisions_by_votes(self, votes, absent, policy)) > 1
        return Decision.INCONCLUSIVE if turns else found

    @property
    def title(self) -> str:
        """The name of the strategy in words for the screen."""
        return self.strategy.value.replace("_", " ")


_SIDES = frozenset({Decision.PASS, Decision.FAIL})


def decisions_by_votes(
    method: Method, votes: Votes, absent: int, policy: Policy
) -> frozenset[Decision | None]:
    """Return what a rule on votes may decide if any of ``absent`` more jurors vote.

    Each of them may pass, fail or stay silent; the votes that are there stay. Whether enough
    answered is another matter.
    """
    # The keys are exactly what a rule on votes reads, so the many equal panels of a run share.
    read = Votes(votes.passes, votes.answered, votes.seated, votes.unknown)
    return _decisions_by_votes(method, read, absent, policy.quorum, policy.supermajority)


@lru_cache(maxsize=65_536)
def _decisions_by_votes(
    method: Method,
    votes: Votes,
    absent: int,
    quorum: float | str | None,
    supermajority: float | str | None,
) -> frozenset[Decision | None]:
    policy = Policy(quorum=quorum, supermajority=supermajority)
    return frozenset(
        method.published(
            Votes(votes.passes + passes, votes.answered + passes + fails, votes.seated,
                  votes.unknown),
            None, policy,
        )
        for passes in range(absent + 1)
        for fails in range(absent + 1 - passes)
    )  # fmt: skip


def _mean(sheet: Sheet) -> float | None:
    return mean(sheet.scores)


def _extreme(pick: Callable[[list[float]], float]) -> Valued:
    def value(sheet: Sheet) -> float | None:
        given = [score for score in sheet.scores if score is not None]
        return pick(given) if given else None

    return value


def _majority_value(sheet: Sheet) -> float | None:
    return {Decision.PASS: 1.0, Decision.FAIL: 0.0}.get(
        _majority(sheet.votes, None, Policy()) or Decision.INCONCLUSIVE
    )


def _unanimous_value(sheet: Sheet) -> float | None:
    votes = sheet.votes
    alike = votes.known and not votes.split and not votes.missing and not votes.withheld
    return mean(sheet.scores) if alike else None


def _by_score(votes: Votes, value: float | None, policy: Policy) -> Decision | None:
    # If every juror withheld its vote, the scores give a value but no decision.
    if value is None or policy.threshold is None or votes.silent:
        return None
    return Decision.PASS if value >= policy.threshold - SLACK else Decision.FAIL


def _quorum(votes: Votes, _value: float | None, policy: Policy) -> Decision | None:
    if policy.quorum is None or not votes.known:
        return None
    met = quorum_met(votes.passes, votes.seated, policy.quorum)
    return Decision.PASS if met else Decision.FAIL


def _majority(votes: Votes, _value: float | None, _policy: Policy) -> Decision | None:
    """Decide for the side with over half of all seats, the empty ones too; else inconclusive."""
    if not votes.known:
        return None
    if 2 * votes.passes > votes.seated:
        return Decision.PASS
    return Decision.FAIL if 2 * votes.fails > votes.seated else Decision.INCONCLUSIVE


def _unanimous(votes: Votes, _value: float | None, _policy: Policy) -> Decision | None:
    if not votes.known:
        return None
    if votes.split:
        return Decision.INCONCLUSIVE
    return Decision.PASS if votes.passes else Decision.FAIL


def _supermajority(votes: Votes, _value: float | None, policy: Policy) -> Decision | None:
    if not votes.known:
        return None
    return vote_decision(votes.passes, votes.answered, policy.supermajority)


def _single(votes: Votes, _value: float | None, _policy: Policy) -> Decision | None:
    if votes.answered != 1 or votes.unknown:
        return None
    return Decision.PASS if votes.passes else Decision.FAIL


def _no_decision(_votes: Votes, _value: float | None, _policy: Policy) -> Decision | None:
    return None


def _on_scores(strategy: Strategy, value: Valued, about: str, *, cautious: bool = False) -> Method:
    return Method(strategy, Reads.SCORES, value, _by_score, about, cautious)


def _on_votes(
    strategy: Strategy, value: Valued, decide: Decides, about: str, *, cautious: bool = False
) -> Method:
    return Method(strategy, Reads.VOTES, value, decide, about, cautious)


def _score_only(strategy: Strategy, reads: Reads, about: str) -> Method:
    return Method(strategy, reads, _mean, _no_decision, about)


_METHODS = (
    _on_votes(
        Strategy.QUORUM, _mean, _quorum, "passes when the share of seats that passed meets a quorum"
    ),
    _on_votes(
        Strategy.MAJORITY, _majority_value, _majority, "1 or 0: more than half of the seats agree"
    ),
    _on_votes(
        Strategy.UNANIMOUS,
        _unanimous_value,
        _unanimous,
        "the mean where every vote agrees; a split decides nothing and goes to a person",
        cautious=True,
    ),
    _on_scores(
        Strategy.WEIGHTED_AVERAGE,
        lambda sheet: weighted_average(sheet.scores, sheet.weights),
        "the mean by the weights of the jurors that answered",
    ),
    _on_scores(Strategy.MEAN, _mean, "the mean of the scores"),
    _on_scores(
        Strategy.MEDIAN,
        lambda sheet: median(sheet.scores),
        "the middle score, which near half of the panel cannot move",
    ),
    _on_scores(
        Strategy.HIGHEST, _extreme(max), "the highest score: passes if one juror is content"
    ),
    _on_scores(
        Strategy.LOWEST,
        _extreme(min),
        "the lowest score: passes only if all jurors are content",
        cautious=True,
    ),
    _on_scores(
        Strategy.TRIMMED_MEAN,
        lambda sheet: kept_mean(sheet.scores, sheet.cut),
        "the mean of what is left when both ends are cut",
    ),
    _score_only(
        Strategy.WEIGHTED_VOTE, Reads.LABELS, "the label with the most weight times confidence"
    ),
    _score_only(
        Strategy.FIRST_DISAGREEMENT, Reads.LABELS, "the common label, or DISAGREE on any difference"
    ),
    _on_votes(Strategy.SINGLE, _mean, _single, "the vote of the only juror that cast one"),
    _score_only(Strategy.EXTERNAL, Reads.NOTHING, "a rule that only the report's producer knows"),
    _on_votes(
        Strategy.SUPERMAJORITY,
        _mean,
        _supermajority,
        "passes or fails by two thirds, or another share, of the three or more that committed",
        cautious=True,
    ),
)

STRATEGIES: Mapping[Strategy, Method] = {method.strategy: method for method in _METHODS}
"""Every strategy by its name. Majorities and unanimity count labels if no juror voted."""

COMPARED = (Strategy.QUORUM, Strategy.TRIMMED_MEAN, Strategy.MEDIAN, Strategy.MEAN)
"""The rules whose decisions are compared; if they differ, the verdict depends on its regime."""


def strategy_named(word: str) -> Strategy:
    """Return the strategy of that name; raise UsageError, listing all names, if there is none."""
    return arguments.member(Strategy, word, "no strategy")
