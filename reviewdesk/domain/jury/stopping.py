"""Whether the jurors of a verdict that were not asked could still have turned its decision.

A panel that asks one juror after another may stop as soon as one decision is left. What is
promised is the decision alone: score, agreement and flags may differ from those of the full panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from reviewdesk.domain.jury.agreement import stopped_early
from reviewdesk.domain.jury.label_rules import (
    LABEL_RULES,
    confidence_sums,
    label_counts,
    label_vote,
    labelled,
)
from reviewdesk.domain.jury.label_words import LabelRules
from reviewdesk.domain.jury.rule import rule_for, stand_in
from reviewdesk.domain.jury.strategies import STRATEGIES, Method, Reads, Sheet, Votes, tally
from reviewdesk.domain.jury.supermajority import LEAST_COMMITTED, commits, exact_share
from reviewdesk.domain.jury.trim import trim
from reviewdesk.domain.verdict import (
    SLACK,
    Decision,
    Policy,
    Rounding,
    Status,
    Strategy,
    Verdict,
    folded,
)

_ANY: Final = frozenset({Decision.PASS, Decision.FAIL, None})


def can_turn(verdict: Verdict) -> bool:
    """Return whether the jurors that were not asked might change the verdict's decision.

    Each of them may vote either way with any score from 0 to 1, abstain or fail. False is certain:
    whatever they answer, the decision of the full panel is that of the ballots so far. For rules on
    votes it is also tight. A mean, a median, an extreme and a trimmed mean rise with every score,
    so for rules on scores all further scores are taken as 0, and as 1. For a weighted vote of
    labels it holds as long as no label can catch up with the first. Labels that a panel declares
    decide under every rule that can count them, as far as one of them can still win.
    """
    return stopped_early(verdict.ballots) and len(reachable(verdict)) > 1


def reachable(verdict: Verdict) -> frozenset[Decision | None]:
    """Return the decisions that remain possible, that of the ballots so far among them.

    Where only a person or the producer decides, every decision remains possible.
    """
    found: set[Decision | None] = set()
    for strategy, waiting in _strategies(verdict):
        if strategy in {None, Strategy.EXTERNAL}:
            return _ANY
        found |= _reachable_by(STRATEGIES[strategy], verdict, waiting)
    return frozenset(found)


def _strategies(verdict: Verdict) -> Iterator[tuple[Strategy | None, int]]:
    """Yield each rule that may decide in the end, and how many jurors may then still answer.

    A juror that fails may bring in the median, so that one juror less can answer.
    """
    policy, ballots = verdict.policy, verdict.ballots
    waiting = sum(ballot.status is Status.NOT_ASKED for ballot in ballots)
    rule = rule_for(policy, ballots, verdict.regime)
    yield rule.used, waiting
    other = stand_in(policy, rule.strategy)
    failed = any(ballot.status.failed for ballot in ballots)
    if other is not None and rule.used is not other and (failed or waiting):
        yield other, waiting if failed else waiting - 1


def _reachable_by(method: Method, verdict: Verdict, waiting: int) -> set[Decision | None]:
    votes, rules = tally(verdict.ballots), verdict.policy.counting
    if rules is not None and rules.labels and method.strategy in LABEL_RULES:
        return _by_declared(method.strategy, verdict, rules, waiting)
    if method.reads is Reads.VOTES:
        # The keys are exactly what a rule on votes reads, so the many equal panels of a run share.
        policy = verdict.policy
        return {*_by_votes(method, votes, waiting, policy.quorum, policy.supermajority)}
    if method.reads is Reads.SCORES and votes.answered:
        return _by_scores(method, verdict, waiting)
    if method.strategy is Strategy.FIRST_DISAGREEMENT:
        words = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
        return {None} if len(words) > 1 else {*_ANY}
    if method.strategy is Strategy.WEIGHTED_VOTE:
        return _by_labels(verdict)
    return {*_ANY}


def _by_declared(
    strategy: Strategy, verdict: Verdict, rules: LabelRules, waiting: int
) -> set[Decision | None]:
    """Return the decisions that the labels so far, and ``waiting`` more, can still give."""
    share = verdict.policy.supermajority
    now = label_vote(verdict.ballots, strategy, replace(rules, share=share)).decision
    if not waiting:
        return {now}
    if strategy is Strategy.WEIGHTED_VOTE:
        return _by_labels(verdict)
    counts = dict.fromkeys(rules.labels, 0) | label_counts(labelled(verdict.ballots))
    if strategy is Strategy.MAJORITY:
        most = max(counts.values())
        return {now, *(rules.outcome(one) for one in counts if counts[one] + waiting >= most)}
    if strategy is Strategy.SUPERMAJORITY:
        counts = {one: n for one, n in counts.items() if commits(one)}
        given = sum(counts.values())
        needed = exact_share(share) * (given + waiting)
        if given >= LEAST_COMMITTED and max(counts.values()) >= needed:
            return {now}
        enough = given + waiting >= LEAST_COMMITTED
        won = {rules.outcome(one) for one, n in counts.items() if enough and n + waiting >= needed}
        return {now, Decision.INCONCLUSIVE, *won}
    # Unanimity, and the first disagreement: any second label ends it.
    said = [one for one, n in counts.items() if n]
    if len(said) > 1:
        return {now}
    return {now, Decision.INCONCLUSIVE, *(rules.outcome(one) for one in said or counts)}


@lru_cache(maxsize=65_536)
def _by_votes(
    method: Method,
    votes: Votes,
    waiting: int,
    quorum: float | str | None,
    supermajority: float | str | None,
) -> frozenset[Decision | None]:
    """Try every number of further passes and fails; the other jurors abstain or fail."""
    policy = Policy(quorum=quorum, supermajority=supermajority)
    return frozenset(
        method.decide(
            Votes(votes.passes + passes, votes.answered + passes + fails, votes.seated,
                  votes.unknown),
            None, policy,
        )
        for passes in range(waiting + 1)
        for fails in range(waiting + 1 - passes)
    )  # fmt: skip


def _by_scores(method: Method, verdict: Verdict, waiting: int) -> set[Decision | None]:
    """Compare the bounds of the value with the threshold, clear of its slack and of rounding."""
    values = _values(method, verdict, waiting)
    threshold = verdict.policy.threshold
    known = [value for value in values if value is not None]
    if threshold is None or len(known) < len(values):
        return {*_ANY}
    if min(known) >= threshold - SLACK / 2:
        return {Decision.PASS}
    return {Decision.FAIL} if max(known) < threshold - 2 * SLACK else {*_ANY}


def _values(method: Method, verdict: Verdict, waiting: int) -> list[float | None]:
    """Return the value with no further score, and with 1, 2, ... of them, all lowest or highest."""
    ballots = verdict.ballots
    scores = [ballot.score for ballot in ballots]
    weights = [ballot.weight for ballot in ballots]
    seats = [ballot.seat for ballot in ballots if ballot.status is Status.NOT_ASKED]
    fraction = verdict.trim.fraction_under(verdict.policy)
    rounding = verdict.trim.rounding or Rounding.DOWN
    found: list[float | None] = []
    for count in range(waiting + 1):
        for extreme in (0.0, 1.0):
            given = list(scores)
            for seat in seats[:count]:
                given[seat] = extreme
            cut = trim(given, fraction, rounding)
            found.append(method.value(Sheet(given, weights, Votes(0, 0, len(ballots)), cut)))
    return found


def _by_labels(verdict: Verdict) -> set[Decision | None]:
    """Return the decision of the leading label if all waiting weight together cannot pass it.

    A waiting juror adds its weight times a confidence of at most 1, to a label that may be new. If
    no confidence is known yet, the first one that is given changes what the others count.
    """
    counted = labelled(verdict.ballots)
    if all(ballot.confidence is None for ballot in counted):
        return {*_ANY}
    first, *others = sorted(confidence_sums(counted).items(), key=lambda one: -one[1])
    weights = [1.0 if one.weight is None else one.weight for one in verdict.ballots]
    added = sum(
        weight
        for weight, ballot in zip(weights, verdict.ballots, strict=True)
        if ballot.status is Status.NOT_ASKED
    )
    second = others[0][1] if others else 0.0
    ahead = first[1] - second - added > max(weights) * len(weights) * 1e-6
    rules = verdict.policy.counting or LabelRules()
    return {rules.outcome(first[0])} if ahead else {*_ANY}
