"""What people's labels say about panels: two on the same items, and what one is worth."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import Added, Difference, PanelWorth, SubPanel, design
from reviewdesk.domain.jurors.votes import Labels, compare, panel_votes, voted, votes_of
from reviewdesk.domain.jury.panels import Panels, without
from reviewdesk.domain.query.filter import condition
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.stats.calibration_page import DrillDown
from reviewdesk.domain.stats.dense import Floats, Small
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import sign_test, stratified_rates
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.domain.whatif import Variant, under

Cell = tuple[Decision | None, Decision | None, Truth | None]
"""The decisions of the first and the second panel on an item, and the item's label."""
_DECIDED = frozenset({Decision.PASS, Decision.FAIL})
"""The decisions that a label can confirm; one is right if the label is the same word."""
_KNOWN = frozenset({Truth.PASS, Truth.FAIL})


class ComparedRun(Struct, frozen=True):
    """One of two runs that are compared; ``rate`` is its panel's accuracy through the draw."""

    name: str
    hash: str
    rate: Estimate


class PanelComparison(Struct, frozen=True):
    """Two panels on the verdicts of the first run whose content the second run judged too.

    ``cells`` counts these ``items``; the decisions on the ``flips`` differ. ``labelled`` items have
    a pass or fail label and are decided by both. The rates and the ``difference``, the first
    panel's accuracy less the second's, are over the items that both decided; ``design`` is that of
    these items' labels in the draw of the run named ``drawn``. ``p`` is that of the sign test over
    the labels, one for each content, on which one panel alone is right; ``None`` without one.
    """

    first: ComparedRun
    second: ComparedRun
    cells: Mapping[Cell, int]
    items: int
    decided: int
    flips: int
    labelled: int
    both_right: int
    both_wrong: int
    first_alone: int
    second_alone: int
    drawn: str
    design: Design
    difference: Difference
    p: float | None

    def count(self, wanted: Callable[[Cell], bool]) -> int:
        return sum(n for cell, n in self.cells.items() if wanted(cell))


def _sides(cells: Mapping[Cell, int]) -> Counter[tuple[bool, bool]]:
    """Count labelled items that both panels decided by whether each panel is right."""
    made = Counter[tuple[bool, bool]]()
    for (one, two, label), n in cells.items():
        if one in _DECIDED and two in _DECIDED and label in _KNOWN:
            made[Truth(one) is label, Truth(two) is label] += n
    return made


def flipped(cell: Cell) -> bool:
    one, two, _ = cell
    return one is not None and two is not None and one is not two


def panel_drills(found: PanelComparison) -> tuple[DrillDown, ...]:
    """Return the groups of verdicts behind a comparison."""
    first = found.first.name
    second = found.second.name
    flip = condition("flip", second) or f"flip:{found.second.hash}"

    def group(title: str, more: str, wanted: Callable[[Cell], bool]) -> DrillDown:
        count = found.count(lambda cell: flipped(cell) and wanted(cell))
        return DrillDown(title, f"{flip} {more}".strip(), count)

    def against(cell: Cell) -> bool:
        return cell[0] in _DECIDED and cell[2] in _KNOWN and Truth(cell[0]) is not cell[2]

    return (
        group(f"decided otherwise in {second}", "", lambda _: True),
        group(f"labelled against {first}", "wrong", against),
        group(
            f"labelled, and {first} is not wrong",
            "label:pass|label:fail !wrong",
            lambda cell: cell[2] in _KNOWN and not against(cell),
        ),
        group("without a label yet", "label:none", lambda cell: cell[2] is None),
    )


Decisions = tuple[Decision | None, Decision | None]


class CommonItems(Struct, frozen=True):
    """The n verdicts of one run, with both panels' votes ``[n]``: -1 unless both decided."""

    name: str
    hash: str
    labels: Labels
    votes: Small
    others: Small
    """The votes of the other run's panel on the same content."""

    @staticmethod
    def of(
        name: str, run_hash: str, labels: Labels, decisions: Mapping[int, Decisions]
    ) -> "CommonItems":
        """Arrange both decisions by row; leave out the rows that one panel did not decide."""
        votes, others = np.full((2, len(labels.truth)), NOTHING, np.int8)
        for row, (here, there) in decisions.items():
            if here in _DECIDED and there in _DECIDED:
                votes[row] = here is Decision.PASS
                others[row] = there is Decision.PASS
        return CommonItems(name, run_hash, labels, votes, others)

    @property
    def counted(self) -> int:
        return int((self.labels.counted & (self.votes >= 0)).sum())


def compare_panels(
    first: CommonItems, second: CommonItems, cells: Mapping[Cell, int], labels: Mapping[Cell, int]
) -> PanelComparison:
    """Compare two panels; ``cells`` counts the common items, ``labels`` one verdict a content."""
    swapped = second.counted > first.counted
    base = second if swapped else first
    one, two = (base.others, base.votes) if swapped else (base.votes, base.others)
    found = [voted(votes, base.labels) for votes in (one, two)]
    rated = [stratified_rates(mine, clusters=groups).accuracy for mine, groups in found]
    sides = _sides(cells)
    alone = _sides(labels)
    return PanelComparison(
        first=ComparedRun(first.name, first.hash, rated[0]),
        second=ComparedRun(second.name, second.hash, rated[1]),
        cells=cells,
        items=sum(cells.values()),
        decided=sum(n for cell, n in cells.items() if set(cell[:2]) <= _DECIDED),
        flips=sum(n for cell, n in cells.items() if flipped(cell)),
        labelled=sides.total(),
        both_right=sides[True, True],
        both_wrong=sides[False, False],
        first_alone=sides[True, False],
        second_alone=sides[False, True],
        drawn=base.name,
        design=design(found[0][0]),
        difference=compare(second.name, one, two, base.labels),
        p=sign_test(alone[True, False], alone[False, True]),
    )


RULES = (
    Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.MEAN, Strategy.MEDIAN,
    Strategy.TRIMMED_MEAN,
)  # fmt: skip
MOST = 9
"""The most jurors for which every smaller panel is tried."""
ENOUGH = 20
"""The fewest labels that count for these figures."""
_RESAMPLES = 1_000


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

    NaN marks a verdict without a vote; a pair in which one never or always errs is left out. The
    95% interval is the bootstrap's over contents within strata. Source: Pearson's phi; Efron 1979.
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
    most = max(200, min(_RESAMPLES, 100_000_000 // (len(wrong) ** 2 * len(times))))
    total, pairs = _of_pairs(rows, starts, counts[: 1 + most])
    if not pairs[0]:
        return Estimate(None, reason="no two jurors err on some items and not on others")
    found = np.divide(total, pairs, out=np.full(len(total), np.nan), where=pairs > 0)
    low, high = np.nanquantile(found[1:], [0.025, 0.975])
    return Estimate(float(found[0]), float(low), float(high))


def _of_pairs(rows: Floats, starts: np.ndarray, counts: Floats) -> tuple[Floats, Floats]:
    """Return the sum of phi over pairs, and their number, under each weighting of the contents."""
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
    """Return ``n/(1 + (n-1)ρ)``, the number of independent jurors, with the ends of ρ (Kish)."""
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
