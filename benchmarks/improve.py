"""Simulate tries of changes that do nothing, and of changes that help, on the holdouts of desks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.jurors.tries import cells, try_verdict
from reviewdesk.domain.labels.split import TryVerdict, level

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


class Holdout(Struct, frozen=True):
    """One desk: its strata's sizes, and the stratum and the chance of each item of the holdout."""

    sizes: dict[int, int]
    strata: np.ndarray
    chance: np.ndarray


def holdout(kind: Kind, items: int, rng: np.random.Generator) -> Holdout:
    """Draw a desk: flagged verdicts have twice their share of the labels, as in a queue."""
    flagged = round(RUN * kind.flagged)
    sizes = {0: flagged // 2, 1: flagged - flagged // 2, 3: (RUN - flagged) * 2 // 3}
    sizes[4] = RUN - flagged - sizes[3]
    share = np.array([2.0 * sizes[0], 2.0 * sizes[1], sizes[3], sizes[4]])
    strata = rng.choice([0, 1, 3, 4], items, p=share / share.sum())
    rate = np.where(strata < 3, *kind.right)
    return Holdout(sizes, strata, rng.beta(rate * kind.total, (1 - rate) * kind.total))


Change = Callable[[Kind, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""Returns the candidate's chances, given the desk's kind, the strata and the parent's chances."""


def nothing(_: Kind, __: np.ndarray, chance: np.ndarray, ___: np.random.Generator) -> np.ndarray:
    """Leave every item as it is, so that only asking again moves answers."""
    return chance


def elsewhere(
    _: Kind, strata: np.ndarray, chance: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Exchange the chances of items of one group: as good a panel that is wrong elsewhere."""
    made = chance.copy()
    for h in np.unique(strata):
        mine = np.flatnonzero(strata == h)
        made[mine] = chance[rng.permutation(mine)]
    return made


def traded(
    kind: Kind, strata: np.ndarray, chance: np.ndarray, _: np.random.Generator
) -> np.ndarray:
    """Lose among the rest what the flagged gain: half of their errors, over the whole run."""
    gain = 0.5
    flagged, rest = kind.right
    loss = gain * kind.flagged * (1 - flagged) / ((1 - kind.flagged) * rest)
    return np.where(strata < 3, chance + gain * (1 - chance), chance * (1 - loss))


def mended(gain: float) -> Change:
    """Return a change that adds ``gain`` to the mean accuracy of a desk's items."""

    def change(_: Kind, __: np.ndarray, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        some = rng.random(len(chance)) < gain / max(1 - chance.mean(), 1e-9)
        return np.where(some, 1.0, chance)

    return change


def ask(kind: Kind, desk: Holdout, change: Change, k: int, rng: np.random.Generator) -> TryVerdict:
    """Ask both panels afresh about the holdout, and return the word."""
    parent = rng.random(len(desk.chance)) < desk.chance
    candidate = rng.random(len(desk.chance)) < change(kind, desk.strata, desk.chance, rng)
    if 2.0 ** -np.count_nonzero(parent != candidate) > level(k):
        return TryVerdict.NOT_SHOWN  # not even if all went one way
    rows = zip(desk.strata.tolist(), parent.tolist(), candidate.tolist(), strict=True)
    return try_verdict(cells(desk.sizes, list(rows)), k)


def called_better(kind: Kind, items: int, change: Change, desks: int, tries: int) -> float:
    """Return the share of desks on which any of a sequence of tries is called better."""
    rng = np.random.default_rng([SEED, items, KINDS.index(kind)])
    found = 0
    for _ in range(desks):
        desk = holdout(kind, items, rng)
        found += any(ask(kind, desk, change, k, rng) is TryVerdict.BETTER for k in range(tries))
    return found / desks


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print both tables of docs/explanation/measured.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desks", type=int, default=DESKS)
    desks = parser.parse_args().desks
    changes = {
        "do nothing": nothing,
        "are wrong elsewhere": elsewhere,
        "gain among the flagged what they lose among the rest": traded,
    }
    for name, change in changes.items():
        rows = [
            [kind.name, *(f"{called_better(kind, n, change, desks, TRIES):.1%}" for n in HOLDOUTS)]
            for kind in KINDS
        ]
        print(f"\n{TRIES} tries of changes that {name}; any called better")
        print(table(["desk", *(f"{n} items" for n in HOLDOUTS)], rows))
    rows = [
        [
            f"+{100 * gain:g} points",
            *(f"{called_better(KINDS[0], n, mended(gain), desks, 1):.0%}" for n in HOLDOUTS),
        ]
        for gain in (0.03, 0.05, 0.08, 0.12)
    ]
    print("\nthe first try of a change that helps; called better")
    print(table(["true gain", *(f"{n} items" for n in HOLDOUTS)], rows))


if __name__ == "__main__":
    main()
