"""Whether a panel may stand in for a person: the alternative annotator test.

Source: Calderon, Reichart and Dror 2025, arXiv 2501.10970.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.stats.rates import benjamini_hochberg, t_two_sided

REVIEWERS = 3
"""The fewest reviewers for the test."""
ITEMS = 30
"""The fewest items that a reviewer must share with two others."""
EDGE = 0.15
"""How much worse a panel may be, because people cost more: .2 for experts, .1 for a crowd."""
_RATE = 0.05


class LeftOut(Struct, frozen=True):
    """One reviewer compared with the panel, by how often each agrees with the other reviewers.

    ``panel`` and ``person`` are the shares of the ``items`` on which each agrees with at least as
    many of the others as the opponent does; ``p`` tests that the panel is worse by ``EDGE``.
    """

    reviewer: str
    items: int
    panel: float
    person: float
    p: float
    won: bool = False


class AlternativeTest(Struct, frozen=True):
    """The test over all reviewers; ``reason`` says why it was not possible."""

    reviewers: tuple[LeftOut, ...] = ()
    reason: str = ""

    @property
    def winning(self) -> float | None:
        """The share of reviewers whom the panel may stand in for."""
        found = self.reviewers
        return fmean(one.won for one in found) if found else None

    @property
    def passed(self) -> bool:
        """Whether the panel may stand in for at least half of the reviewers."""
        return (self.winning or 0.0) >= 0.5


def alternative_test(
    labels: Sequence[Sequence[str | None]], panel: Sequence[str | None], names: Sequence[str]
) -> AlternativeTest:
    """Test the panel against each reviewer in turn, over the items that both decided.

    ``labels`` has each item's label by each of the ``names``, ``panel`` its decision; an item is
    used for a reviewer if two others labelled it. A paired t-test compares the difference of both
    shares with ``EDGE``; Benjamini and Yekutieli bound the false discoveries over reviewers at 5%.
    """
    found = []
    for j, name in enumerate(names):
        differences = []
        panels = []
        persons = []
        for given, decided in zip(labels, panel, strict=True):
            others = [one for k, one in enumerate(given) if k != j and one is not None]
            if given[j] is None or decided is None or len(others) < REVIEWERS - 1:
                continue
            mine = sum(one == given[j] for one in others)
            its = sum(one == decided for one in others)
            panels.append(its >= mine)
            persons.append(mine >= its)
            differences.append(float(persons[-1]) - float(panels[-1]))
        if len(differences) >= ITEMS:
            p = _less(differences, EDGE)
            found.append(LeftOut(name, len(differences), fmean(panels), fmean(persons), p))
    if len(found) < REVIEWERS:
        return AlternativeTest(
            reason=f"it takes {REVIEWERS} reviewers with {ITEMS} items in common with two others"
        )
    # Benjamini and Yekutieli's adjustment is that of Benjamini and Hochberg times Σ 1/i.
    harmonic = sum(1 / i for i in range(1, len(found) + 1))
    adjusted = benjamini_hochberg([one.p for one in found])
    return AlternativeTest(
        tuple(
            replace(one, won=q is not None and q * harmonic <= _RATE)
            for one, q in zip(found, adjusted, strict=True)
        )
    )


def _less(values: Sequence[float], than: float) -> float:
    """Return the p of Student's test that the mean of ``values`` is less than a number."""
    apart = fmean(values) - than
    spread = stdev(values)
    if not spread:
        return 0.0 if apart < 0 else 1.0
    t = apart / (spread / math.sqrt(len(values)))
    half = t_two_sided(t, len(values) - 1) / 2
    return half if t < 0 else 1 - half
