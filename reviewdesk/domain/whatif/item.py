"""The value and the decision that other rules give for one panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from reviewdesk.domain.jury.averages import mean
from reviewdesk.domain.jury.outliers import VALUES
from reviewdesk.domain.jury.rule import rule_for
from reviewdesk.domain.jury.strategies import STRATEGIES, Sheet
from reviewdesk.domain.jury.trim import Trim, trim
from reviewdesk.domain.jury.votes import Votes, tally
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import SLACK, Ballot, Rounding, Strategy, Verdict
from reviewdesk.domain.whatif.policies import PolicyResult, Variant


def outcomes(verdict: Verdict, variants: Iterable[Variant]) -> tuple[PolicyResult, ...]:
    """Decide one panel by each variant, with the strategies of ``domain/jury/strategies.py``.

    Labels are ignored, because no threshold, trim or quorum changes what they decide.
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
    """The ballots that a variant leaves, with their scores, weights and votes."""

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
    return ballot if vote is ballot.vote else replace(ballot, vote=vote)
