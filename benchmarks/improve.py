"""Simulate tries of changes that do nothing, and of changes that help, on the holdouts of desks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.labels.improve import TryVerdict, cells, level, try_verdict
from reviewdesk.domain.labels.sampling import FIRST_REST

DESKS = 2_000
TRIES = 10
RUN = 400
SEED = 20_261_127


class Kind(Struct, frozen=True):
    """A kind of desk: how often the panel is right on flagged verdicts and on the rest.

    An item's chance of a right answer is drawn from a beta distribution about the rate of its
    group with parameters that sum to ``total``: the larger, the more answers vary when asked again.
    """

    name: str
    flagged: float
    right: tuple[float, float]
    total: float


KINDS = (
    Kind("strata", 0.3, (0.65, 0.97), 1.0),
    Kind("strata, noisy jurors", 0.3, (0.65, 0.97), 20.0),
    Kind("strata, steady jurors", 0.3, (0.65, 0.97), 0.1),
    Kind("weak", 0.5, (0.7, 0.9), 3.0),
    Kind("strong", 0.25, (0.93, 0.997), 1.0),
)
HOLDOUTS = (15, 30, 60, 120)


STRATA = (0, 1, 3, 4)
"""Flagged passes and fails, and those of the rest."""


class Holdouts(Struct, frozen=True):
    """The holdouts of many desks of a kind: stratum and chance of each item, ``[desks, items]``."""

    sizes: dict[int, int]
    strata: np.ndarray
    chance: np.ndarray


def holdouts(kind: Kind, desks: int, items: int, rng: np.random.Generator) -> Holdouts:
    """Draw desks: flagged verdicts have twice their share of the labels, as in a queue."""
    flagged = round(RUN * kind.flagged)
    sizes = {0: flagged // 2, 1: flagged - flagged // 2, 3: (RUN - flagged) * 2 // 3}
    sizes[4] = RUN - flagged - sizes[3]
    share = np.array([2.0 * sizes[0], 2.0 * sizes[1], sizes[3], sizes[4]])
    strata = rng.choice(STRATA, (desks, items), p=share / share.sum())
    rate = np.where(strata < FIRST_REST, *kind.right)
    return Holdouts(sizes, strata, rng.beta(rate * kind.total, (1 - rate) * kind.total))


Change = Callable[[Kind, Holdouts, np.random.Generator], np.ndarray]
"""Returns the chances of a candidate's right answers, ``[desks, items]``."""


def nothing(_: Kind, desks: Holdouts, __: np.random.Generator) -> np.ndarray:
    """Leave every item as it is, so that only asking again moves answers."""
    return desks.chance


def traded(kind: Kind, desks: Holdouts, _: np.random.Generator) -> np.ndarray:
    """Lose among the rest what the flagged gain: half of their errors, over the whole run."""
    gain = 0.5
    flagged, rest = kind.right
    loss = gain * kind.flagged * (1 - flagged) / ((1 - kind.flagged) * rest)
    won = desks.chance + gain * (1 - desks.chance)
    return np.where(desks.strata < FIRST_REST, won, desks.chance * (1 - loss))


def mended(gain: float) -> Change:
    """Return a change that adds ``gain`` to the mean accuracy of each desk's items."""

    def change(_: Kind, desks: Holdouts, rng: np.random.Generator) -> np.ndarray:
        wrong = np.maximum(1 - desks.chance.mean(axis=1, keepdims=True), 1e-9)
        return np.where(rng.random(desks.chance.shape) < gain / wrong, 1.0, desks.chance)

    return change


def called_better(kind: Kind, items: int, change: Change, desks: int, tries: int) -> float:
    """Return the share of desks on which any of a sequence of tries is called better.

    Both panels are asked afresh in each try. The word is worked out where it can be *better*: more
    is gained than lost through the draw, and enough items differ if all went one way.
    """
    rng = np.random.default_rng([SEED, items, KINDS.index(kind)])
    drawn = holdouts(kind, desks, items, rng)
    better = np.zeros(desks, np.bool_)
    for k in range(tries):
        parent = rng.random(drawn.chance.shape) < drawn.chance
        candidate = rng.random(drawn.chance.shape) < change(kind, drawn, rng)
        gain = np.zeros(desks)
        for h in STRATA:
            mine = drawn.strata == h
            moved = np.where(mine, candidate.astype(int) - parent, 0).sum(axis=1)
            gain += drawn.sizes[h] * moved / np.maximum(mine.sum(axis=1), 1)
        apart = (parent != candidate).sum(axis=1)
        for d in np.flatnonzero(~better & (gain > 0) & (0.5**apart <= level(k))).tolist():
            rows = zip(
                drawn.strata[d].tolist(), parent[d].tolist(), candidate[d].tolist(), strict=True
            )
            better[d] = try_verdict(cells(drawn.sizes, list(rows)), k) is TryVerdict.BETTER
    return float(better.mean())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]])


def tables(desks: int = DESKS) -> tuple[str, str, str]:
    """Return the tables of docs/reference/measured.md.

    They are of tries of changes that do nothing, of changes that gain here what they lose there,
    and of the first try of a change that helps.
    """
    heads = ["desk", *(f"{n} items" for n in HOLDOUTS)]
    idle, even = (
        table(
            heads,
            [
                [
                    one.name,
                    *(f"{called_better(one, n, change, desks, TRIES):.1%}" for n in HOLDOUTS),
                ]
                for one in KINDS
            ],
        )
        for change in (nothing, traded)
    )
    gains = [
        [
            f"+{100 * gain:g} points",
            *(f"{called_better(KINDS[0], n, mended(gain), desks, 1):.0%}" for n in HOLDOUTS),
        ]
        for gain in (0.03, 0.05, 0.08, 0.12)
    ]
    return idle, even, table(["true gain", *heads[1:]], gains)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desks", type=int, default=DESKS)
    print("\n\n".join(tables(parser.parse_args().desks)))


if __name__ == "__main__":
    main()
