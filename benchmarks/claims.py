"""How often the program would claim what is not so: a best juror among equals, and people's error.

Run it with ``python benchmarks/claims.py [--runs 2000]``. Jurors that are equally good are compared
by labels in the order of the queue, and the runs are counted in which one of them is said to beat
all others, or the panel. Then people who err label a quarter of the items twice, and the runs are
counted in which the band of the accuracy holds what it would be by labels without error.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np
from agreement import panels
from coverage import Drawn, Run
from msgspec.structs import replace

from reviewdesk.domain.jurors.votes import juror_rates
from reviewdesk.domain.labels.team import Labels, RatedStratum, second_opinions, sensitivity
from reviewdesk.domain.run.packing import DECISIONS
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.rates import stratified_rate
from reviewdesk.domain.verdict import Decision

SIZE = 400
SEATS = 5
COUNTS = (50, 100, 200, 400)
ERROR = 0.1
"""How often a person's label is wrong."""


def equals(apart: float) -> Callable[[int], Run]:
    """Invent panels of five equal jurors; ``apart`` of their errors are each juror's own."""

    def made(seed: int) -> Run:
        rng = np.random.default_rng([seed, 53])
        truth = rng.random(SIZE) < 0.6
        shared = rng.random(SIZE) < 0.2
        own = rng.random((SEATS, SIZE)) < 0.2
        wrong = np.where(rng.random((SEATS, SIZE)) < apart, own, shared)
        votes = (truth ^ wrong).astype(np.int8)
        passes = votes.sum(axis=0)
        flagged = (np.abs(2 * passes - SEATS) <= 1) | (rng.random(SIZE) < 0.05)
        sure = np.maximum(passes, SEATS - passes) / SEATS
        return Run(truth, passes * 2 > SEATS, sure, flagged, votes)

    return made


def contest(run: Run, labels: int, seed: str) -> tuple[bool, bool]:
    """Return whether a juror is said to beat all others, and whether one beats the panel."""
    sample = Drawn(run, seed).first(labels)
    decided = [DECISIONS.index(Decision.PASS if one else Decision.FAIL) for one in run.passed]
    empty = panels(SIZE, 1, 0.0)
    columns = replace(empty, votes=run.votes, decision=np.array(decided, np.int8))
    nothing = dict.fromkeys(columns.names, np.zeros(SIZE, np.bool_))
    found = juror_rates(columns, sample.labels, nothing)[1]
    return found.best_stands, found.best_beats_panel


def best(runs: int) -> None:
    """Print how often one of five equal jurors is called the best."""
    print(f"five equal jurors, {SIZE} verdicts, {runs:,} runs: called better than every other\n")
    print("| errors | " + " | ".join(f"{n} labels" for n in COUNTS) + " |")
    print("|---" * (len(COUNTS) + 1) + "|")
    for name, apart in (("each its own", 1.0), ("half shared", 0.5), ("nine in ten shared", 0.1)):
        make = equals(apart)
        cells = []
        for labels in COUNTS:
            found = [contest(make(seed), labels, f"best/{seed}/")[0] for seed in range(runs)]
            cells.append(f"{np.mean(found):.2%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def reviewed(seed: int, size: int, *, follows: float) -> tuple[bool, bool]:
    """Return whether the band, and the interval that ignores people's error, hold the accuracy.

    All labels are of people who err one time in ten; ``follows`` of their errors are where the
    panel errs. A quarter of the items have a second person's label.
    """
    rng = np.random.default_rng([seed, 59])
    flagged = rng.random(size) < 0.3
    wrong = rng.random(size) < np.where(flagged, 0.35, 0.05)
    # The mean chance is ERROR whichever part of the errors is where the panel errs.
    chance = ERROR * np.where(wrong, follows / wrong.mean(), 0.0) + ERROR * (1 - follows)
    errs = rng.random((2, size)) < np.minimum(chance, 0.5)
    right = wrong == errs[0]
    strata = [RatedStratum(Counter(_twice(errs, flagged == side, rng)), None) for side in (0, 1)]
    error = second_opinions(strata)
    counts = [(flagged == side).sum() for side in (0, 1)]
    hits = [right[flagged == side].sum() for side in (0, 1)]
    naive = stratified_rate(
        [Part(1_000_000 * n, int(n), int(k)) for n, k in zip(counts, hits, strict=True)]
    )
    truth = 1 - float(wrong.mean())
    band = sensitivity(naive, error)
    held = band is not None and band.low <= truth <= band.high
    return held, naive.low <= truth <= naive.high


def _twice(errs: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> list[Labels]:
    """Return both labels of a quarter of the items, as pass or fail by whether each is wrong."""
    places = np.flatnonzero(kept & (rng.random(len(kept)) < 0.25))
    return [tuple("fail" if one else "pass" for one in errs[:, at]) for at in places]


def people(runs: int) -> None:
    """Print how often the band of an accuracy holds it, and how often the bare interval does."""
    print(f"\npeople err {ERROR:.0%} of the time, a quarter labelled twice, {runs:,} runs\n")
    print("| their errors | labels | band | interval alone |")
    print("|---|---|---|---|")
    for name, follows in (("apart from the panel's", 0.0), ("half where the panel errs", 0.5),
                          ("all where the panel errs", 1.0)):  # fmt: skip
        for size in (100, 200, 400):
            found = [reviewed(seed, size, follows=follows) for seed in range(runs)]
            band, alone = np.mean(found, axis=0)
            print(f"| {name} | {size} | {band:.1%} | {alone:.1%} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    best(runs)
    people(runs)


if __name__ == "__main__":
    main()
