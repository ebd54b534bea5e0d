"""Looks after every label: how often an interval misses the truth at some look, and how wide it is.

Run it with ``python benchmarks/looks.py [--sessions 2000] [--figure NAME]``. It invents runs of 400
verdicts from panels of the study of coverage, asks a question of each, labels in the order that the
question draws, and looks after every label: at the interval that holds at every look, and as the
control at the one for a fixed number of labels. It takes 50 ms a session.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from coverage import PROCESSES, SIZE, Process, Run

from reviewdesk.domain.labels.confidence_sequence import (
    ConfidenceSequence,
    DrawnGroup,
    Learned,
    shares,
)
from reviewdesk.domain.labels.question import PLANNED
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.rates import stratified_rate

AT = (PLANNED // 2, PLANNED, 2 * PLANNED)
FIRST = 20
"""The label from which the interval for a fixed number is looked at, as the console shows it."""
BLOCK = 10
BEST, WORST = 0, 4
"""The most and the least accurate of the five jurors."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks of an invented run: the items that it is about, ``[n]``, or all.

    ``value`` is what a label of each would add to the mean, ``guess`` what the votes predict.
    ``apart`` of all items are asked about by a difference, which is 0 on the others.
    """

    value: np.ndarray
    guess: np.ndarray
    kept: np.ndarray
    apart: float | None = None


def accuracy(run: Run) -> Asked:
    """The panel's accuracy; the votes predict it by a confidence that is not always right."""
    return Asked(run.correct.astype(float), run.confidence, np.ones(len(run.truth), bool))


def brier(run: Run) -> Asked:
    """The squared error of the panel's confidence."""
    error = (run.confidence - run.correct) ** 2
    return Asked(error, run.confidence * (1 - run.confidence), np.ones(len(run.truth), bool))


def juror(seat: int) -> Callable[[Run], Asked]:
    """One juror's accuracy, where it voted."""

    def made(run: Run) -> Asked:
        cast = run.votes[seat]
        return Asked((cast == run.truth).astype(float), _sure(run, cast), cast >= 0)

    return made


def difference(one: int | None, other: int) -> Callable[[Run], Asked]:
    """The accuracy of a juror, or of the panel, less that of another."""

    def made(run: Run) -> Asked:
        first = run.passed.astype(np.int8) if one is None else run.votes[one]
        both = (first >= 0) & (run.votes[other] >= 0)
        differ = both & (first != run.votes[other])
        right = (first == run.truth).astype(float)
        return Asked(right, _sure(run, first), differ, differ.sum() / both.sum())

    return made


def _sure(run: Run, cast: np.ndarray) -> np.ndarray:
    """The share of votes that are alike with a rater's, as the desk predicts who is right."""
    alike = (run.votes == cast).sum(axis=0) / np.maximum((run.votes >= 0).sum(axis=0), 1)
    return np.clip(alike, 0.05, 0.95)


FIGURES = {
    "accuracy": (accuracy, ("mixed", "weak", "strong", "correlated")),
    "brier": (brier, ("mixed", "weak", "strong", "correlated")),
    "best juror": (juror(BEST), ("correlated", "lenient jury")),
    "worst juror": (juror(WORST), ("correlated", "lenient jury")),
    "panel less worst": (difference(None, WORST), ("correlated", "lenient jury")),
    "best less worst": (difference(BEST, WORST), ("correlated", "lenient jury")),
}
"""What is asked, and of which panels."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run labelled to the end: the misses, and both widths at some numbers of labels."""

    missed: bool
    missed_fixed: bool
    widths: dict[int, tuple[float, float]]


def session(process: Process, ask: Callable[[Run], Asked], seed: int) -> Session:
    """Label one invented run, and look after every label."""
    rng = np.random.default_rng([seed, 41])
    run = process.make(SIZE, rng)
    asked = ask(run)
    strata = np.asarray(run.strata)
    mine = {h: asked.kept & (strata == h) for h in range(len(STRATA))}
    right = {h: asked.value[kept].tolist() for h, kept in mine.items() if kept.any()}
    guess = {h: float(asked.guess[mine[h]].mean()) for h in right}
    whole = bool(np.isin(asked.value, (0, 1)).all())
    groups = {h: DrawnGroup(len(found), guess[h]) for h, found in right.items()}
    made = ConfidenceSequence(groups, whole=whole)
    drawn = Learned.of(groups)
    seen = {h: [0, 0.0] for h in right}
    truth = float(asked.value[asked.kept].mean())
    scale = 1.0 if asked.apart is None else 2 * asked.apart
    missed = missed_fixed = False
    widths = {}
    means = drawn.means()
    for count in range(1, int(asked.kept.sum()) + 1):
        if count % BLOCK == 1:
            means = drawn.means()
        chances = shares(drawn.left, means)
        h = int(rng.choice(list(chances), p=list(chances.values())))
        value = right[h][int(seen[h][0])]
        made.add(h, chances, value)
        drawn.left[h] -= 1
        drawn.count(h, value)
        seen[h][0] += 1
        seen[h][1] += value
        look = made.look()
        missed |= not look.low - 1e-9 <= truth <= look.high + 1e-9
        if count >= FIRST:
            # It is of shares: for the Brier score it means nothing, and is not printed.
            fixed = stratified_rate([Part(len(right[h]), *seen[h]) for h in right])
            missed_fixed |= not fixed.low - 1e-9 <= truth <= fixed.high + 1e-9
            if count in AT:
                ends = look.high - look.low, fixed.high - fixed.low
                widths[count] = ends[0] * scale, ends[1] * scale
    return Session(missed, missed_fixed, widths)


def lines(wanted: str | None, count: int) -> Iterator[str]:
    """Yield a row of the table for each figure and panel."""
    processes = {one.name: one for one in PROCESSES}
    for name, (ask, panels) in FIGURES.items():
        if wanted not in (None, name):
            continue
        for panel in panels:
            found = [session(processes[panel], ask, seed) for seed in range(count)]
            missed, fixed = (np.mean([getattr(one, which) for one in found])
                             for which in ("missed", "missed_fixed"))  # fmt: skip
            cells = [f"{missed:.1%}", "-" if name == "brier" else f"{fixed:.1%}"]
            for n in AT:
                ends = [one.widths[n] for one in found if n in one.widths]
                wide, alone = np.mean(ends, axis=0) if len(ends) == count else (None, None)
                more = "" if name == "brier" or wide is None else f", {wide / alone:.2f}x"
                cells.append("-" if wide is None else f"{wide:.3f}{more}")
            yield f"| {name} | {panel} | {' | '.join(cells)} |"


def main() -> None:
    """Print one line for each figure and panel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--figure", choices=FIGURES)
    options = parser.parse_args()
    count = options.sessions
    print(f"{count:,} sessions a panel, {SIZE} verdicts, a look after every label to the last\n")
    heads = [f"width at {n}" for n in AT]
    print(f"| figure | panel | misses | fixed n misses | {' | '.join(heads)} |")
    print("|---" * (4 + len(AT)) + "|")
    for line in lines(options.figure, count):
        print(line, flush=True)


if __name__ == "__main__":
    main()
