"""What other rules give for one panel, and how far bought jurors could move it under each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jury.label_rules import recount, said_labels
from reviewdesk.domain.jury.outliers import VALUES
from reviewdesk.domain.jury.rule import rule_for
from reviewdesk.domain.jury.strategies import STRATEGIES, Sheet, Votes, mean, tally
from reviewdesk.domain.jury.trim import Trim, trim
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import SLACK, Ballot, Decision, Rounding, Strategy, Verdict
from reviewdesk.domain.whatif.policies import Group, PolicyResult, Variant


def outcomes(verdict: Verdict, variants: Iterable[Variant]) -> tuple[PolicyResult, ...]:
    """Decide one panel by each variant, with the strategies of ``domain/jury/strategies.py``.

    Labels are ignored, because no threshold, trim or quorum changes what they decide. What labels
    decided stays undecided unless a variant names a strategy, which then reads the votes alone.
    """
    panels: dict[tuple[float | None, str | None], _Panel] = {}
    found = []
    for variant in variants:
        changed = variant.threshold, variant.dropped
        if changed not in panels:
            panels[changed] = _panel(verdict, *changed)
        found.append(_result(verdict, variant, panels[changed]))
    return tuple(found)


class _Panel(NamedTuple):
    ballots: Sequence[Ballot]
    scores: Sequence[float | None]
    weights: Sequence[float | None]
    votes: Votes


def _panel(verdict: Verdict, threshold: float | None, dropped: str | None) -> _Panel:
    names = seat_names([ballot.id for ballot in verdict.ballots])
    ballots = [
        _ballot_at(ballot, threshold)
        for name, ballot in zip(names, verdict.ballots, strict=True)
        if name != dropped
    ]
    return _Panel(ballots, [b.score for b in ballots], [b.weight for b in ballots], tally(ballots))


def _result(verdict: Verdict, variant: Variant, panel: _Panel) -> PolicyResult:
    policy = verdict.policy
    if variant.strategy is None and said_labels(verdict) and recount(verdict, _used(verdict)):
        policy = replace(policy, strategy=Strategy.EXTERNAL)
    if variant.strategy is not None and variant.strategy is not policy.strategy:
        policy = replace(policy, strategy=variant.strategy)
    if variant.threshold is not None:
        policy = replace(policy, threshold=variant.threshold)
    if variant.outliers is not None:
        scores = [score for score in panel.scores if score is not None]
        mean_ = VALUES[variant.outliers](scores) if scores else None
        method = STRATEGIES[Strategy.MEAN]
        return PolicyResult(variant, mean_, method.decide(panel.votes, mean_, policy))
    used = rule_for(policy, panel.ballots, verdict.regime).used
    if used is None:
        return PolicyResult(variant, mean(panel.scores), None)
    if variant.quorum is not None:
        # Set after rule_for, because a quorum alone must not change which strategy decides.
        policy = replace(policy, quorum=variant.quorum)
    if variant.supermajority is not None:
        policy = replace(policy, supermajority=variant.supermajority)
    method, cut = STRATEGIES[used], _UNCUT
    if used is Strategy.TRIMMED_MEAN:
        cut = _trim_under(verdict, variant, panel.scores)
    value = method.value(Sheet(panel.scores, panel.weights, panel.votes, cut))
    return PolicyResult(variant, value, method.decide(panel.votes, value, policy))


def _used(verdict: Verdict) -> Strategy | None:
    return rule_for(verdict.policy, verdict.ballots, verdict.regime).used


_UNCUT = trim((), 0.0)


def _trim_under(verdict: Verdict, variant: Variant, scores: Sequence[float | None]) -> Trim:
    fraction = variant.fraction
    if fraction is None:
        fraction = verdict.trim.fraction_under(verdict.policy)
    return trim(scores, fraction, variant.rounding or verdict.trim.rounding or Rounding.DOWN)


def _ballot_at(ballot: Ballot, threshold: float | None) -> Ballot:
    """Return the ballot at another threshold: its score votes, unless it withheld its vote."""
    if threshold is None or ballot.score is None or ballot.withheld:
        return ballot
    vote = ballot.score >= threshold - SLACK
    return ballot if vote is ballot.vote else dataclasses.replace(ballot, vote=vote)


MOST_TRIES = 400
"""The most tries for one number of bought jurors; a number that needs more is left out."""


class Attack(Struct, frozen=True):
    """What ``bought`` jurors could force: the range of values, and other decisions."""

    bought: int
    low: float | None
    high: float | None
    change: float | None
    """The largest distance from the panel's present value; ``None`` if either value is missing."""
    decisions: tuple[Decision | None, ...]
    """The reachable decisions that differ from the one that the rule gives now."""


def attacks(verdict: Verdict, variant: Variant) -> tuple[Attack, ...]:
    """Return what 1, 2, ... bought jurors could force under a rule, up to all that answered.

    Every set of jurors of each size is tried, and all of the set give the same score. A strategy
    never falls when a score rises, so the scores 0 and 1 give the ends of the range. A rule on
    outliers may fall, so each score of the panel is tried too, and the true range may be wider
    than the one returned. A bought vote follows the bought score. Empty for a variant that is no
    rule, such as another threshold.
    """
    if variant.group is not Group.RULES:
        return ()
    [base] = outcomes(verdict, [variant])
    seated = sum(ballot.usable for ballot in verdict.ballots)
    offers = sorted({0.0, 1.0, *(b.score for b in verdict.ballots if b.score is not None)})
    if variant.outliers is None:
        offers = [0.0, 1.0]
    return tuple(
        _attack(base, verdict, variant, bought, offers)
        for bought in range(1, seated + 1)
        if math.comb(seated, bought) * len(offers) <= MOST_TRIES
    )


def _attack(
    base: PolicyResult, verdict: Verdict, variant: Variant, bought: int, offers: Sequence[float]
) -> Attack:
    threshold = verdict.policy.threshold
    line = 0.5 if threshold is None else threshold
    found: list[PolicyResult] = []
    for chosen in combinations((one.seat for one in verdict.ballots if one.usable), bought):
        for offer in offers:
            ballots = tuple(
                dataclasses.replace(
                    one,
                    score=None if one.score is None else offer,
                    vote=offer >= line - SLACK,
                    withheld=False,
                )
                if one.seat in chosen
                else one
                for one in verdict.ballots
            )
            found += outcomes(replace(verdict, ballots=ballots), [variant])
    values = [one.value for one in found if one.value is not None]
    low, high = min(values, default=None), max(values, default=None)
    change = None
    if base.value is not None and low is not None and high is not None:
        change = max(base.value - low, high - base.value, 0.0)
    others = {one.decision for one in found} - {base.decision}
    return Attack(bought, low, high, change, tuple(sorted(others, key=str)))
