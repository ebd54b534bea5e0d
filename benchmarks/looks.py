"""Looks after every label: how often an interval misses the truth at some look, and how wide it is.

Run it with ``python benchmarks/looks.py [--sessions 2000]``. It invents runs of 400 verdicts from
four panels of the study of coverage, asks a question of each, labels in the order that the question
draws, and looks after every label: at the interval that holds at every look, and as the control at
the one for a fixed number of labels. It takes 50 ms a session.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from coverage import PROCESSES, SIZE, Process

from reviewdesk.domain.labels.question import PLANNED
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.sequence import ConfidenceSequence, DrawnGroup, Learned, shares
from reviewdesk.domain.stats.stratified import stratified_rate

PANELS = ("mixed", "weak", "strong", "correlated")
AT = (PLANNED // 2, PLANNED, 2 * PLANNED)
FIRST = 20
"""The label from which the interval for a fixed number is looked at, as the console shows it."""
BLOCK = 10


@dataclass(frozen=True, slots=True)
class Session:
    """One run labelled to the end: the misses, and both widths at some numbers of labels."""

    missed: bool
    missed_fixed: bool
    widths: dict[int, tuple[float, float]]


def session(process: Process, seed: int) -> Session:
    """Label one invented run, and look after every label."""
    rng = np.random.default_rng([seed, 41])
    run = process.make(SIZE, rng)
    strata = np.asarray(run.strata)
    right = {h: run.correct[strata == h].tolist() for h in range(len(STRATA)) if h in strata}
    # The votes predict it as the desk's confidence does, which is not always right.
    guess = {h: float(run.confidence[strata == h].mean()) for h in right}
    made = ConfidenceSequence({h: DrawnGroup(len(found), guess[h]) for h, found in right.items()})
    drawn = Learned.of(made.groups)
    seen = {h: [0, 0] for h in right}
    truth = float(run.correct.mean())
    missed = missed_fixed = False
    widths = {}
    means = drawn.means()
    for count in range(1, SIZE + 1):
        if count % BLOCK == 1:
            means = drawn.means()
        chances = shares(drawn.left, means)
        h = int(rng.choice(list(chances), p=list(chances.values())))
        value = float(right[h][seen[h][0]])
        made.add(h, chances, value)
        drawn.left[h] -= 1
        drawn.count(h, value)
        seen[h][0] += 1
        seen[h][1] += int(value)
        look = made.look()
        missed |= not look.low - 1e-9 <= truth <= look.high + 1e-9
        if count >= FIRST:
            fixed = stratified_rate([Part(len(right[h]), *seen[h]) for h in right])
            missed_fixed |= not fixed.low - 1e-9 <= truth <= fixed.high + 1e-9
            if count in AT:
                widths[count] = look.high - look.low, fixed.high - fixed.low
    return Session(missed, missed_fixed, widths)


def main() -> None:
    """Print one line for each panel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    count = parser.parse_args().sessions
    print(f"{count:,} sessions a panel, {SIZE} verdicts, a look after every label to the last\n")
    heads = [f"width at {n}" for n in AT]
    print(f"| panel | misses | fixed n misses | {' | '.join(heads)} |")
    print("|---" * (3 + len(AT)) + "|")
    for process in PROCESSES:
        if process.name not in PANELS:
            continue
        found = [session(process, seed) for seed in range(count)]
        cells = [f"{np.mean([getattr(one, name) for one in found]):.1%}"
                 for name in ("missed", "missed_fixed")]  # fmt: skip
        for n in AT:
            wide, fixed = (np.mean([one.widths[n][side] for one in found]) for side in (0, 1))
            cells.append(f"{wide:.3f}, {wide / fixed:.2f}x")
        print(f"| {process.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
