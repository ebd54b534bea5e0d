"""The agreement of the jurors of a run over all of its verdicts."""

from __future__ import annotations

from collections.abc import Callable

from reviewdesk.domain.run.columns import score_units, vote_units
from reviewdesk.domain.run.measures import RunAlphas, RunMeasures, Undefined
from reviewdesk.domain.run.packing import Bar, PackedRun
from reviewdesk.domain.stats.alpha import (
    ENOUGH,
    AlphaState,
    LogMoments,
    NominalState,
    alpha_ordinal,
    interval_ci,
    merged_ci,
)


def run_measures(read: Callable[..., PackedRun]) -> RunMeasures:
    """Compute the alphas of a run and its disagreement ``W`` from its packed ballots.

    ``read`` returns the named columns, so that scores and votes are not held at the same time.
    """
    scores = score_units(read("seated", "scores")).T
    state = AlphaState.of(scores)
    alpha, ordinal = state.alpha, alpha_ordinal(scores)
    interval = None if alpha is None else interval_ci(scores)
    del scores
    found = read("seated", "votes")
    votes = vote_units(found).T
    return _measures(found.names, found.quorums, state, interval, NominalState.of(votes), ordinal)


def merged_measures(
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
    state: AlphaState,
    logs: LogMoments | None,
    votes: NominalState,
    ranks: AlphaState,
) -> RunMeasures:
    """Compute the figures of an archive from the merged states of its parts.

    ``logs`` is ``None`` if one of its units has no logarithm; ``ranks`` is of the mid-ranks.
    """
    interval = None if logs is None else merged_ci(state, logs)
    return _measures(names, quorums, state, interval, votes, ranks.alpha)


def _measures(
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
    state: AlphaState,
    interval: tuple[float, float] | None,
    votes: NominalState,
    ordinal: float | None,
) -> RunMeasures:
    alpha, nominal, (low, high) = state.alpha, votes.alpha, interval or (None, None)
    reasons: dict[str, Undefined] = {}
    if alpha is None:
        reasons |= dict.fromkeys(("alpha", "alpha_low", "alpha_high"), _why_no_alpha(state))
    elif interval is None:
        why = Undefined.ONE_UNIT if state.splits else Undefined.NO_DISAGREEMENT
        why = Undefined.FEW_UNITS if state.units < ENOUGH else why
        reasons |= dict.fromkeys(("alpha_low", "alpha_high"), why)
    if ordinal is None:
        reasons["alpha_ordinal"] = _why_no_alpha(state)
    if nominal is None:
        reasons["alpha_votes"] = Undefined.NO_VARIATION if votes.values else Undefined.NO_PAIRS
    return RunMeasures(
        names=names,
        quorums=quorums,
        alphas=RunAlphas(alpha, low, high, nominal, ordinal, reasons),
        mass=state.W if state.splits else None,
    )


def _why_no_alpha(state: AlphaState) -> Undefined:
    return Undefined.NO_VARIATION if state.units else Undefined.NO_PAIRS
