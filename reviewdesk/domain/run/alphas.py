"""The agreement of the jurors of a run over all of its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reviewdesk.domain.run.measures import RunAlphas, RunMeasures, Undefined
from reviewdesk.domain.run.packing import Bar
from reviewdesk.domain.stats.alpha import ENOUGH, AlphaState, NominalState, merged_ci, rank_state
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.stats.ranks import RankTables


def run_measures(
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
    scores: Callable[[], Iterable[Floats]],
    tables: RankTables,
    state: AlphaState,
    votes: NominalState,
) -> RunMeasures:
    """Compute the alphas of a run and its disagreement ``W``.

    ``scores`` yields those of all verdicts, ``[seats, verdicts]``, some verdicts at a time, as
    often as it is called; ``state`` and ``votes`` are the merged states of their parts. What else
    must be remembered of all ballots, their ranks, is put into ``tables``.
    """
    alpha = state.alpha
    nominal = votes.alpha
    ordinal = rank_state(scores, tables).alpha
    interval = merged_ci(state, scores())
    low, high = interval or (None, None)
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
