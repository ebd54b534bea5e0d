"""What other rules make of one panel, and which of them turn its decision."""

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
    """Hold one panel to each variant, by the registry of ``domain/jury/strategies.py``.

    Labels decide nothing here: neither a threshold nor a trim nor a quorum moves them.
    """
    panels: dict[tuple[float | None, str | None], _Panel] = {}
    found = []
    for variant in variants:
        changed = variant.threshold, variant.dropped
        if changed not in panels:
            panels[changed] = _panel(verdict, *changed)
        found.append(_outcome(verdict, variant, panels[changed]))
    return tuple(found)


class _Panel(NamedTuple):
    """The ballots that a variant leaves, and what is read of them."""

    ballots: Sequence[Ballot]
    scores: Sequence[float | None]
    weights: Sequence[float | None]
    votes: Votes


def _panel(verdict: Verdict, threshold: float | None, dropped: str | None) -> _Panel:
    names = seat_names([ballot.id for ballot in verdict.ballots])
    ballots = [
        _revoted(ballot, threshold)
        for name, ballot in zip(names, verdict.ballots, strict=True)
        if name != dropped
    ]
    return _Panel(ballots, [b.score for b in ballots], [b.weight for b in ballots], tally(ballots))


def _outcome(verdict: Verdict, variant: Variant, panel: _Panel) -> PolicyResult:
    asked = verdict.policy
    policy = replace(
        asked,
        strategy=variant.strategy or asked.strategy,
        threshold=asked.threshold if variant.threshold is None else variant.threshold,
    )
    if variant.outliers is not None:
        scores = [score for score in panel.scores if score is not None]
        mean_ = VALUES[variant.outliers](scores) if scores else None
        method = STRATEGIES[Strategy.MEAN]
        return PolicyResult(variant, mean_, method.decide(panel.votes, mean_, policy))
    used = rule_for(policy, panel.ballots, verdict.regime).used
    if used is None:
        return PolicyResult(variant, mean(panel.scores), None)
    if variant.quorum is not None:
        # Only here: a quorum alone does not change by what a verdict is decided.
        policy = replace(policy, quorum=variant.quorum)
    if variant.supermajority is not None:
        policy = replace(policy, supermajority=variant.supermajority)
    method, cut = STRATEGIES[used], _UNCUT
    if used is Strategy.TRIMMED_MEAN:
        cut = _cut(verdict, variant, panel.scores)
    value = method.value(Sheet(panel.scores, panel.weights, panel.votes, cut))
    return PolicyResult(variant, value, method.decide(panel.votes, value, policy))


_UNCUT = trim((), 0.0)


def _cut(verdict: Verdict, variant: Variant, scores: Sequence[float | None]) -> Trim:
    fraction = variant.fraction
    if fraction is None:
        fraction = verdict.trim.fraction_under(verdict.policy)
    return trim(scores, fraction, variant.rounding or verdict.trim.rounding or Rounding.DOWN)


def _revoted(ballot: Ballot, threshold: float | None) -> Ballot:
    """The ballot under another threshold: its score votes, unless it withheld its vote."""
    if threshold is None or ballot.score is None or ballot.withheld:
        return ballot
    return replace(ballot, vote=ballot.score >= threshold - SLACK)
