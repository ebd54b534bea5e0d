"""Whether answers that are not there could still turn the decision of a verdict.

A panel that asks one juror after another may stop as soon as one decision is left. What is
promised is the decision alone: score, agreement and flags may differ from those of the full panel.
A verdict that missing answers could turn goes to a person.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from msgspec.structs import replace

from reviewdesk.domain.jury.agreement import stopped_early
from reviewdesk.domain.jury.label_rules import LABEL_RULES, LabelVote, labelled, recount
from reviewdesk.domain.jury.label_words import LabelRules
from reviewdesk.domain.jury.quorum import least_answered
from reviewdesk.domain.jury.rule import Rule, rule_for, stand_in
from reviewdesk.domain.jury.strategies import (
    STRATEGIES,
    Method,
    Reads,
    Sheet,
    Votes,
    decisions_by_votes,
    tally,
)
from reviewdesk.domain.jury.trim import trim
from reviewdesk.domain.verdict import SLACK, Decision, Rounding, Status, Strategy, Verdict, folded

_ANY: Final = frozenset({Decision.PASS, Decision.FAIL, None})
_NEW_LABEL = "a label that no juror gave"


def can_turn(verdict: Verdict) -> bool:
    """Return whether the jurors that were not asked might change the verdict's decision.

    Each of them may vote either way with any score from 0 to 1, give any label, abstain or fail.
    False is certain: whatever they answer, the decision of the full panel is that of the ballots so
    far. For rules on votes it is also tight.
    """
    if not stopped_early(verdict.ballots):
        return False
    used = rule_for(verdict.policy, verdict.ballots, verdict.regime).used
    # A cautious rule waits for missing jurors, which a re-run may ask.
    cautious = used is not None and STRATEGIES[used].cautious
    return len(reachable(verdict, missing=cautious)) > 1


def left_open(verdict: Verdict) -> str | None:
    """Return a sentence if answers that are not there could change the outcome, else ``None``.

    They are those of jurors that failed, abstained, withheld the vote that the rule reads, were not
    understood or were not asked. Where the producer alone knows the rule, nothing is said.
    """
    votes = tally(verdict.ballots)
    used = rule_for(verdict.policy, verdict.ballots, verdict.regime).used
    if not _own_count(verdict) and used in {None, Strategy.EXTERNAL}:
        return None
    missing = votes.missing + _withheld(verdict, used, votes)
    if not missing + votes.not_asked:
        return None
    if len(reachable(verdict, missing=True)) < 2:
        return None
    whose = "its vote" if missing + votes.not_asked == 1 else "their votes"
    silent = f"{missing} of {votes.seated} jurors did not answer"
    were = "was" if votes.not_asked == 1 else "were"
    unasked = f"{votes.not_asked} of {votes.seated} jurors {were} not asked"
    who = " and ".join([silent] * (missing > 0) + [unasked] * (votes.not_asked > 0))
    return f"{who}, and {whose} could change this"


def cautioned(
    verdict: Verdict, strategy: Strategy | None, words: LabelVote | None
) -> LabelVote | None:
    """Return a vote of labels with what the strategy decides by it beside missing jurors.

    The count stays as published. A cautious strategy is inconclusive if a missing answer could
    change its decision.
    """
    if words is None or strategy is None or not STRATEGIES[strategy].cautious:
        return words
    sides = {Decision.PASS, Decision.FAIL}
    if words.decision not in sides or not tally(verdict.ballots).missing or not left_open(verdict):
        return words
    return replace(words, decision=Decision.INCONCLUSIVE)


def reachable(verdict: Verdict, *, missing: bool = False) -> frozenset[str | None]:
    """Return the decisions that remain possible, that of the ballots so far among them.

    Jurors that were not asked may still answer; with ``missing``, so may those that failed,
    abstained or were not understood. A label that decides nothing stands for itself. Where only a
    person, the producer or a caller's own rule decides, every decision remains possible.
    """
    policy, ballots = verdict.policy, verdict.ballots
    rule = rule_for(policy, ballots, verdict.regime)
    if _own_count(verdict) or rule.used in {None, Strategy.EXTERNAL}:
        return _ANY
    votes = tally(ballots)
    seats = [
        ballot.seat
        for ballot in ballots
        if ballot.status is Status.NOT_ASKED or (missing and not ballot.usable)
    ]
    least = least_answered(policy.min_answered, votes.seated)
    if votes.returned + len(seats) < least:
        return frozenset({Decision.ERROR})
    found: set[str | None] = {Decision.ERROR} if votes.returned < least else set()
    for strategy, counts in _strategies(verdict, rule, seats, missing=missing):
        method = STRATEGIES[strategy]
        if _counts_labels(verdict, method, votes):
            found |= _by_labels(verdict, strategy, seats)
        elif method.reads is Reads.VOTES:
            absent = len(seats) + missing * _withheld(verdict, strategy, votes)
            found |= decisions_by_votes(method, votes, absent, policy)
        elif votes.answered:
            found |= _by_scores(method, verdict, seats, counts)
        else:
            found |= _ANY
    return frozenset(found)


def _own_count(verdict: Verdict) -> bool:
    """Return whether a caller's own function counts the labels."""
    counting = verdict.policy.counting
    return counting is not None and counting.aggregate is not None


def _counts_labels(verdict: Verdict, method: Method, votes: Votes) -> bool:
    """Return whether labels decide: declared ones, or those of jurors that cast no vote."""
    counting = verdict.policy.counting
    if counting is not None and counting.labels and method.strategy in LABEL_RULES:
        return True
    return method.reads is Reads.LABELS or (not votes.answered and bool(labelled(verdict.ballots)))


def _withheld(verdict: Verdict, strategy: Strategy | None, votes: Votes) -> int:
    """Return how many jurors answered without the vote that the strategy reads."""
    method = None if strategy is None else STRATEGIES[strategy]
    reads_votes = method is not None and method.reads is Reads.VOTES
    if method is None or not reads_votes or _counts_labels(verdict, method, votes):
        return 0
    return votes.withheld


def _strategies(
    verdict: Verdict, rule: Rule, seats: Sequence[int], *, missing: bool
) -> Iterator[tuple[Strategy, Sequence[int]]]:
    """Yield each rule that may decide in the end, and how many of the seats may then answer.

    Missing jurors are taken to answer all or not at all. Of those that were not asked, any may
    fail, and one that fails may bring in the median.
    """
    if rule.used is None or rule.strategy is None:
        return
    if missing:
        yield rule.used, (0,)
        yield rule.strategy, (len(seats),)
        return
    yield rule.used, range(len(seats) + 1)
    other = stand_in(verdict.policy, rule.strategy)
    if other is not None and other is not rule.used:
        yield other, range(len(seats))


def _by_scores(
    method: Method, verdict: Verdict, seats: Sequence[int], counts: Sequence[int]
) -> frozenset[Decision | None]:
    """Compare the bounds of the value with the threshold, clear of its slack and of rounding.

    A mean, a median, an extreme and a trimmed mean rise with every score, so all further scores are
    taken as 0, and as 1.
    """
    values = _values(method, verdict, seats, counts)
    threshold = verdict.policy.threshold
    known = [value for value in values if value is not None]
    if threshold is None or len(known) < len(values):
        return _ANY
    if min(known) >= threshold - SLACK / 2:
        return frozenset({Decision.PASS})
    return frozenset({Decision.FAIL}) if max(known) < threshold - 2 * SLACK else _ANY


def _values(
    method: Method, verdict: Verdict, seats: Sequence[int], counts: Sequence[int]
) -> list[float | None]:
    """Return the value with each number of further scores, all lowest or all highest."""
    ballots = verdict.ballots
    weights = [ballot.weight for ballot in ballots]
    fraction = verdict.trim.fraction_under(verdict.policy)
    rounding = verdict.trim.rounding or Rounding.DOWN
    found: list[float | None] = []
    for count, extreme in product(counts, (0.0, 1.0)):
        given = [ballot.score for ballot in ballots]
        for seat in seats[:count]:
            given[seat] = extreme
        cut = trim(given, fraction, rounding)
        found.append(method.value(Sheet(given, weights, Votes(0, 0, len(ballots)), cut)))
    return found


def _by_labels(verdict: Verdict, strategy: Strategy, seats: Sequence[int]) -> frozenset[str | None]:
    """Return what may come of the labels: a decision, or a label that is none.

    No label threatens the first more than if every juror of the seats gives it. A confidence of 0
    matters too: with it, ballots without a confidence no longer count.
    """
    rules = verdict.policy.counting or LabelRules()
    words = recount(verdict, strategy)
    if words is None:
        return _ANY
    found = {_outcome(words, rules)}
    labels = {one.label for one in labelled(verdict.ballots)} | {*(rules.labels or [_NEW_LABEL])}
    for label, sure in product(labels if seats else (), (None, 0.0, 1.0)):
        ballots = list(verdict.ballots)
        for seat in seats:
            ballots[seat] = dataclasses.replace(
                ballots[seat], status=Status.OK, label=label, confidence=sure, error=None
            )
        if made := recount(replace(verdict, ballots=tuple(ballots)), strategy):
            found.add(_outcome(made, rules))
    return frozenset(found)


def _outcome(words: LabelVote, rules: LabelRules) -> str | None:
    return words.decision or (None if rules.labels else folded(words.label))
