"""Chooses which verdicts a person labels, and how many verdicts each label stands for.

Flagged verdicts alone would make a judge look worse than it is, so an audit of the rest is mixed in
unmarked. A seeded permutation fixes the order inside every stratum permanently.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.verdict import SLACK, Decision

STRATA = (
    "flagged/pass",
    "flagged/fail",
    "flagged/none",
    "rest/pass",
    "rest/fail",
    "rest/none",
)
_SIDES = {Decision.PASS: 0, Decision.FAIL: 1}
FIRST_REST = 3
MIN_AUDIT = 30
AUDIT_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Draw:
    """The draw of a run, one entry per verdict in file order."""

    rank: list[int]
    """Each verdict's position within its stratum."""
    audit: list[bool]
    order: list[int]
    """Each verdict's position in the queue: flagged and audit interleaved, then the rest."""
    mixed: list[int]
    """Each verdict's position in the blind queue, which reveals nothing of the strata."""
    sizes: dict[int, int]
    audited: dict[int, int]


@dataclass(frozen=True, slots=True)
class LabelledVerdict:
    """One labelled verdict, with what its weight depends on.

    ``decided`` is False if the panel decides neither pass nor fail. A verdict that was drawn as a
    pass or a fail but now is neither keeps its stratum, and its label is a non-response there.
    """

    stratum: int
    rank: int
    truth: Truth
    decided: bool = True

    @property
    def counts(self) -> bool:
        """Whether the label is a pass or a fail that counts in its stratum, not a non-response."""
        apart = self.stratum % FIRST_REST == 2
        return self.truth in {Truth.PASS, Truth.FAIL} and (self.decided or apart)

    @property
    def usable(self) -> bool:
        """Whether the label counts and its verdict was drawn as a pass or a fail."""
        return self.counts and self.stratum % FIRST_REST != 2


@dataclass(frozen=True, slots=True)
class Weighing:
    """The weight of each labelled verdict (0 if it does not count) and the design of the labels."""

    weights: list[float]
    drawn: list[bool]
    """Whether each verdict lies in its stratum's labelled prefix; the others are ad hoc."""
    inclusion: dict[int, float]
    empty: tuple[int, ...]
    """The decided strata without a label that counts."""
    design: Design


def stratum(decision: Decision | None, *, flagged: bool) -> int:
    """Return the index into ``STRATA``; a decision other than pass or fail belongs to ``none``."""
    return (0 if flagged else FIRST_REST) + (_SIDES.get(decision, 2) if decision else 2)


def draw_key(seed: str, verdict_id: str) -> bytes:
    """Return the key that sorts verdicts into the draw: sha256 of the seed followed by the id."""
    return hashlib.sha256((seed + verdict_id).encode()).digest()


def audit_size(rest: int, share: float = AUDIT_SHARE) -> int:
    """Return how many of the rest to audit: ``share`` rounded up, at least thirty, at most all."""
    return min(rest, max(MIN_AUDIT, math.ceil(rest * share - SLACK)))


def audit_shares(sizes: Mapping[int, int], share: float = AUDIT_SHARE) -> dict[int, int]:
    """Split the audit over the strata of the rest in proportion, with at least one each.

    The largest remainders get what is left over. If the minimum of one gives too many, the largest
    shares are reduced. No stratum gets more than it holds.
    """
    rest = {h: n for h, n in sizes.items() if h >= FIRST_REST and n}
    total = sum(rest.values())
    wanted = audit_size(total, share)
    shares = {h: max(1, wanted * n // total) for h, n in rest.items()}
    by_remainder = sorted(rest, key=lambda h: (-(wanted * rest[h] % total), h))
    while sum(shares.values()) < wanted:
        for h in by_remainder:
            if shares[h] < rest[h] and sum(shares.values()) < wanted:
                shares[h] += 1
    while sum(shares.values()) > wanted:
        shares[max(shares, key=lambda h: (shares[h], -h))] -= 1
    return shares


def draw(ids: Sequence[str], strata: Sequence[int], seed: str, share: float = AUDIT_SHARE) -> Draw:
    """Permute every stratum by the seed and order the queue; ``share`` of the rest is audited.

    One permutation covers all verdicts, and each stratum takes its order from it, so that a blind
    queue in that order extends every stratum's labelled prefix as it goes.
    """
    mixed = sorted(range(len(ids)), key=lambda i: draw_key(seed, ids[i]))
    sizes: dict[int, int] = {}
    rank = [0] * len(ids)
    for i in mixed:
        rank[i] = sizes.get(strata[i], 0)
        sizes[strata[i]] = rank[i] + 1
    audited = audit_shares(sizes, share)
    audit = [strata[i] in audited and rank[i] < audited[strata[i]] for i in range(len(ids))]
    flagged = [i for i in mixed if strata[i] < FIRST_REST]
    checked = [i for i in mixed if audit[i]]
    left = [i for i in mixed if strata[i] >= FIRST_REST and not audit[i]]
    queue = _interleave(flagged, checked) + left
    return Draw(rank, audit, _places(queue), _places(mixed), sizes, audited)


def _interleave(first: list[int], second: list[int]) -> list[int]:
    """Merge both lists, each spread evenly over the result and kept in order."""
    spread = [((k + 0.5) / len(first), 0, i) for k, i in enumerate(first)]
    spread += [((k + 0.5) / len(second), 1, i) for k, i in enumerate(second)]
    return [i for _, _, i in sorted(spread)]


def _places(order: Sequence[int]) -> list[int]:
    places = [0] * len(order)
    for place, i in enumerate(order):
        places[i] = place
    return places


def weigh(labelled: Sequence[LabelledVerdict], sizes: Mapping[int, int]) -> Weighing:
    """Weigh the pass and fail labels in each stratum's labelled prefix by ``N_h / m_h``, others 0.

    The prefix is the verdicts from the start of the stratum's draw that all have a label; ``m_h``
    counts the pass and fail labels in it. Unsure and disputed labels, and those of undecided
    verdicts in decided strata, extend the prefix without counting. ``sizes`` is N_h.
    """
    ranks: dict[int, set[int]] = {}
    for row in labelled:
        ranks.setdefault(row.stratum, set()).add(row.rank)
    ends = {h: prefix_end(found) for h, found in ranks.items()}
    drawn = [row.rank < ends[row.stratum] for row in labelled]
    counted = [inside and row.counts for row, inside in zip(labelled, drawn, strict=True)]
    m: dict[int, int] = {}
    for row, inside in zip(labelled, counted, strict=True):
        m[row.stratum] = m.get(row.stratum, 0) + inside
    weights = [
        sizes[row.stratum] / m[row.stratum] if inside else 0.0
        for row, inside in zip(labelled, counted, strict=True)
    ]
    inclusion = {h: m.get(h, 0) / n for h, n in sizes.items() if n}
    empty = tuple(h for h in decided_strata(sizes) if not m.get(h))
    usable = sum(row.usable for row in labelled)
    return Weighing(weights, drawn, inclusion, empty, design_word(usable, sizes, empty))


def decided_strata(sizes: Mapping[int, int]) -> list[int]:
    """Return the non-empty strata of verdicts that the judge decided as pass or fail."""
    return [h for h, n in sizes.items() if n and h % FIRST_REST != 2]


def prefix_end(ranks: AbstractSet[int]) -> int:
    """Return the length of a stratum's labelled prefix: its first verdicts that all have a label.

    ``ranks`` are the positions, within the stratum's draw, of the verdicts that have a label.
    """
    end = 0
    while end in ranks:
        end += 1
    return end


def design_word(usable: int, sizes: Mapping[int, int], empty: Sequence[int]) -> Design:
    """Return how the labels were drawn, over the strata that the judge decided.

    ``usable`` is the number of usable labels, see ``LabelledVerdict.usable``; ``empty`` are the
    decided strata without a label that counts.
    """
    decided = decided_strata(sizes)
    if not usable:
        return Design.NONE
    if usable == sum(sizes[h] for h in decided):
        return Design.CENSUS
    if len(empty) == len(decided):
        return Design.AD_HOC
    if any(h >= FIRST_REST for h in empty):
        return Design.ESCALATED_ONLY
    return Design.PARTIAL if empty else Design.WEIGHTED
