"""What a panel is worth: how far its jurors err together, what each adds, and smaller panels."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import Added, PanelWorth, SubPanel
from reviewdesk.domain.jurors.strata import Labels, compare, panel_votes, votes_of
from reviewdesk.domain.jury.panels import Panels, without
from reviewdesk.domain.run.columns import Columns, Floats, Small
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.verdict import Strategy
from reviewdesk.domain.whatif import Variant, under

RULES = (
    Strategy.QUORUM,
    Strategy.MAJORITY,
    Strategy.UNANIMOUS,
    Strategy.MEAN,
    Strategy.MEDIAN,
    Strategy.TRIMMED_MEAN,
)
"""The rules that every smaller panel is tried with."""
MOST = 9
"""The most jurors for which every smaller panel is tried."""
ENOUGH = 20
"""The fewest labels that count for these figures."""
_RESAMPLES = 1_000
_FEWEST = 200
"""The fewest resamples, of a large panel."""
_MOST_CELLS = 100_000_000


def worth(columns: Columns, labels: Labels, costs: Mapping[str, float] | None = None) -> PanelWorth:
    """Return what the panel of a run is worth; ``costs`` are of one question to each juror."""
    votes = votes_of(columns)
    names = [name for name, cast in votes.items() if (cast >= 0).any()]
    rows = np.flatnonzero(labels.counted & (labels.truth >= 0))
    count = len(np.unique(labels.content[rows]))
    if count < ENOUGH or len(names) < 2:
        why = Estimate(None, reason=f"fewer than {ENOUGH} labels that count, or two jurors")
        return PanelWorth(count, len(names), why, why)
    size = np.bincount(labels.stratum)
    seen = np.bincount(labels.stratum[rows], minlength=len(size))
    weights = (size / np.maximum(seen, 1))[labels.stratum[rows]]
    cast = np.array([votes[name][rows] for name in names])
    wrong = np.where(cast >= 0, cast != labels.truth[rows], np.nan)
    correlation = error_correlation(wrong, weights, labels.stratum[rows], labels.content[rows])
    known = costs or {}
    priced = all(known.get(name) for name in names)
    price = {name: known[name] if priced else 1.0 for name in names}
    whole = _decisions(columns, Variant())
    frontier, tried = _frontier(columns, labels, rows, weights, price)
    return PanelWorth(
        labels=count,
        jurors=len(names),
        correlation=correlation,
        effective=effective(len(names), correlation),
        added=tuple(
            Added(name, compare(f"without {name}", whole, _decisions(fewer, Variant()), labels))
            for name in names
            for fewer in [without(columns, name)]
        ),
        frontier=frontier,
        tried=tried,
        priced=priced,
    )


def error_correlation(
    wrong: Floats, weights: Floats, strata: np.ndarray, contents: np.ndarray
) -> Estimate:
    """Return the mean over pairs of the weighted phi of two jurors' errors, ``[s, n]``.

    NaN marks a verdict without a vote; a pair in which one never or always errs has no phi and is
    left out. The 95% interval is the bootstrap's over contents, 1,000 times within strata from a
    fixed seed, or less often in a large panel. ``None`` without any pair.
    Source: Pearson's phi; Efron 1979.
    """
    order = np.argsort(contents, kind="stable")
    _, starts = np.unique(contents[order], return_index=True)
    rows = np.concatenate([np.nan_to_num(wrong, nan=-1.0), strata[None], weights[None]])[:, order]
    times = np.ones(len(starts), np.int64)
    if len(starts) == len(order):
        # Contents of one verdict each that are alike are counted.
        rows, times = np.unique(rows, axis=1, return_counts=True)
        starts = np.arange(len(times))
    rng = np.random.default_rng(0)
    counts = np.zeros((_RESAMPLES + 1, len(times)))
    counts[0] = times
    for h in np.unique(strata).tolist():
        mine = np.flatnonzero(rows[-2, starts] == h)
        n = int(times[mine].sum())
        counts[1:, mine] = rng.multinomial(n, times[mine] / n, _RESAMPLES)
    most = max(_FEWEST, min(_RESAMPLES, _MOST_CELLS // (len(wrong) ** 2 * len(times))))
    total, pairs = _of_pairs(rows, starts, counts[: 1 + most])
    if not pairs[0]:
        return Estimate(None, reason="no two jurors err on some items and not on others")
    found = np.divide(total, pairs, out=np.full(len(total), np.nan), where=pairs > 0)
    low, high = np.nanquantile(found[1:], [0.025, 0.975])
    return Estimate(float(found[0]), float(low), float(high))


def _of_pairs(rows: Floats, starts: np.ndarray, counts: Floats) -> tuple[Floats, Floats]:
    """Return the sum of phi over pairs, and their number, under each weighting of the contents.

    A pair is looked at over what both voted on.
    """
    answered = rows[:-2] >= 0
    errors = rows[:-2] > 0
    total, pairs = np.zeros((2, len(counts)))
    for i in range(len(errors) - 1):
        both = answered[i] & answered[i + 1 :]
        one, two = errors[i] & both, errors[i + 1 :] & both
        sums = np.array([both, one, two, one & two]) * rows[-1]
        if len(starts) < sums.shape[-1]:
            sums = np.add.reduceat(sums, starts, axis=-1)
        mass, *shares = sums @ counts.T
        with np.errstate(divide="ignore", invalid="ignore"):
            p, q, joint = (share / mass for share in shares)
            phi = (joint - p * q) / np.sqrt(p * (1 - p) * q * (1 - q))
        known = np.isfinite(phi)
        total += np.where(known, phi, 0.0).sum(axis=0)
        pairs += known.sum(axis=0)
    return total, pairs


def effective(jurors: int, correlation: Estimate) -> Estimate:
    """Return ``n/(1 + (n-1)ρ)``, the number of independent jurors; at least 1, at most n.

    Its ends are those of ρ. Source: Kish's design effect for equicorrelated errors.
    """
    if correlation.estimate is None:
        return correlation

    def number(rho: float) -> float:
        return jurors / (1 + (jurors - 1) * min(max(rho, 0.0), 1.0))

    return Estimate(number(correlation.estimate), number(correlation.high), number(correlation.low))


def _decisions(columns: Columns, variant: Variant) -> Small:
    return panel_votes(replace(columns, decision=under(Panels(columns), variant).decision))


def _frontier(
    columns: Columns, labels: Labels, rows: np.ndarray, weights: Floats, price: Mapping[str, float]
) -> tuple[tuple[SubPanel, ...], int]:
    """Try every smaller panel with every rule; return those that no other beats, and how many."""
    if len(price) > MOST:
        return (), 0
    some, mass = _distinct(columns.at(rows.astype(np.int32)), labels.truth[rows], weights)
    own = panel_votes(columns)
    # A panel that decides less than the run's own is not an alternative to it.
    least = 0.98 * float(weights[own[rows] >= 0].sum())
    candidates: list[tuple[float, float, tuple[str, ...], Strategy]] = []
    for kept in (kept for size in range(len(price)) for kept in combinations(price, size + 1)):
        panels = Panels(_only(some, kept))
        cost = sum(price[name] for name in kept)
        for rule in RULES:
            vote = panel_votes(replace(some, decision=under(panels, Variant(rule)).decision))
            total = float(mass[:, vote >= 0].sum())
            if total and total >= least:
                right = float(mass[0, vote == 0].sum() + mass[1, vote == 1].sum())
                candidates.append((cost, -right / total, kept, rule))
    best: list[SubPanel] = []
    for cost, wrong, kept, rule in sorted(candidates, key=lambda one: one[:2]):
        if not best or -wrong > best[-1].accuracy + 1e-12:
            made = _decisions(_only(columns, kept), Variant(rule))
            found = compare("the panel", made, own, labels)
            best.append(SubPanel(kept, rule, -wrong, cost, found))
    return tuple(best), len(candidates)


def _distinct(columns: Columns, truth: Small, weights: Floats) -> tuple[Columns, Floats]:
    """Return each kind of panel once, and the weight of its fails and of its passes, ``[2, k]``."""
    kinds = [
        np.nan_to_num(np.atleast_2d(column).astype(np.float64), nan=-9e9)
        for name in columns.__struct_fields__
        if name not in {"key", "decision", "score"}
        and isinstance(column := getattr(columns, name), np.ndarray)
        and len(column)
    ]
    _, first, place = np.unique(
        np.concatenate(kinds), axis=1, return_index=True, return_inverse=True
    )
    mass = np.zeros((2, len(first)))
    np.add.at(mass, (truth, place.reshape(-1)), weights)
    return columns.at(first.astype(np.int32)), mass


def _only(columns: Columns, kept: Sequence[str]) -> Columns:
    for name in columns.names:
        if name not in kept:
            columns = without(columns, name)
    return columns
