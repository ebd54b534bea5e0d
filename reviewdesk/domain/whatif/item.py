"""What other rules give for one panel, and how far bought jurors could move it under each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jury.panels import Panels
from reviewdesk.domain.jury.scores import VALUES
from reviewdesk.domain.jury.verdicts import verdicts_of
from reviewdesk.domain.run.columns import DECISIONS, NOTHING, STRATEGIES, Columns
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import SLACK, Decision, Strategy, Verdict
from reviewdesk.domain.whatif.policies import Group, PolicyResult, Variant
from reviewdesk.domain.whatif.table import changed, under


def outcomes(verdict: Verdict, variants: Iterable[Variant]) -> tuple[PolicyResult, ...]:
    """Decide one panel by each variant.

    Labels are ignored, because no threshold, trim or quorum changes what they decide. What labels
    decided stays undecided unless a variant names a strategy, which then reads the votes alone.
    """
    panels = _panels(verdict)
    ballots: dict[Variant, Panels] = {}
    found = []
    for variant in variants:
        bare = Variant(threshold=variant.threshold, dropped=variant.dropped)
        if bare not in ballots:
            ballots[bare] = changed(panels, bare)
        [value], [decision] = _results(ballots[bare], variant)
        found.append(PolicyResult(variant, value, decision))
    return tuple(found)


def _panels(verdict: Verdict) -> Panels:
    """Return one verdict as panels that can be replayed from scores and votes."""
    found = verdicts_of([verdict])
    columns = found.sheet.columns
    if found.says[0] and found.counts[0]:
        external = np.array([STRATEGIES.index(Strategy.EXTERNAL)], np.int8)
        columns = replace(columns, strategy=external)
    names = seat_names([ballot.id for ballot in verdict.ballots])
    seats = np.arange(len(names)).reshape(-1, 1)
    return Panels(replace(columns, names=tuple(names), juror=seats), exact=True)


def _results(panels: Panels, variant: Variant) -> tuple[list[float | None], list[Decision | None]]:
    """Return the value and the decision of each panel, whose ballots are those of the variant."""
    found = under(panels, variant)
    value = found.value
    decision = found.decision
    if variant.outliers is not None:
        rule = VALUES[variant.outliers]
        given = [row[~np.isnan(row)].tolist() for row in found.columns.scores.T]
        value = np.array([rule(scores) if scores else np.nan for scores in given])
        decision = found.compared(value, cautious=False)
    values = [None if np.isnan(one) else one for one in value.tolist()]
    return values, [None if one == NOTHING else DECISIONS[one] for one in decision.tolist()]


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
    panels = _panels(verdict)
    columns = panels.columns
    usable = np.flatnonzero((~columns.missing & ~columns.not_asked)[:, 0]).tolist()
    offers = sorted({0.0, 1.0, *columns.scores[~np.isnan(columns.scores)].tolist()})
    if variant.outliers is None:
        offers = [0.0, 1.0]
    [value], [decision] = _results(changed(panels, variant), variant)
    base = PolicyResult(variant, value, decision)
    return tuple(
        _attack(base, columns, list(combinations(usable, bought)), offers)
        for bought in range(1, len(usable) + 1)
        if math.comb(len(usable), bought) * len(offers) <= MOST_TRIES
    )


def _attack(
    base: PolicyResult, columns: Columns, groups: list[tuple[int, ...]], offers: Sequence[float]
) -> Attack:
    line = 0.5 if np.isnan(columns.threshold[0]) else float(columns.threshold[0])
    tries = columns.at(np.zeros(len(groups) * len(offers), np.int64))
    bought = np.zeros(tries.scores.shape, np.bool_)
    for at, (group, _) in enumerate(product(groups, offers)):
        bought[list(group), at] = True
    paid = np.tile(np.array(offers), len(groups))
    scores = np.where(bought & ~np.isnan(tries.scores), paid, tries.scores)
    votes = np.where(bought, paid >= line - SLACK, tries.votes).astype(np.int8)
    tries = replace(tries, scores=scores, votes=votes, withheld=tries.withheld & ~bought)
    values, decisions = _results(Panels(tries, exact=True), base.variant)
    known = [value for value in values if value is not None]
    low = min(known, default=None)
    high = max(known, default=None)
    change = None
    if base.value is not None and low is not None and high is not None:
        change = max(base.value - low, high - base.value, 0.0)
    others = set(decisions) - {base.decision}
    return Attack(len(groups[0]), low, high, change, tuple(sorted(others, key=str)))
