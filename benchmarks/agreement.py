"""How long a million panels of five take, as multiples of copying their scores once.

Run it as ``python benchmarks/agreement.py``; ``--verdicts`` and ``--seed`` change what is drawn. A
copy reads and writes every score, so the multiples say how near a figure comes to what the memory
allows, and hold on a faster or slower machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jurors.drift import drifts, offsets
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import DECISIONS, NOTHING, ROUNDINGS, STRATEGIES
from reviewdesk.domain.stats.alpha import (
    AlphaState,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    interval_ci,
)
from reviewdesk.domain.verdict import Decision, Rounding, Strategy
from reviewdesk.domain.whatif import under

SEATS, THRESHOLD, QUORUM, FRACTION, MISSING = 5, 0.6, 0.6, 0.2, 0.03


def panels(n: int, seed: int, missing: float = MISSING) -> Columns:
    """Panels whose jurors waver about a common truth, a few ballots missing."""
    dice = np.random.default_rng(seed)
    scores = np.clip(dice.random(n) + dice.normal(0, 0.15, (SEATS, n)), 0, 1).round(3)
    scores[dice.random(scores.shape) < missing] = np.nan
    return Columns(
        key=np.arange(n),
        scores=scores,
        votes=np.where(np.isnan(scores), NOTHING, scores >= THRESHOLD).astype(np.int8),
        withheld=np.zeros(scores.shape, np.bool_),
        failed=np.isnan(scores),
        missing=np.isnan(scores),
        not_asked=np.zeros(scores.shape, np.bool_),
        unknown=np.zeros(scores.shape, np.bool_),
        replaced=np.zeros(scores.shape, np.bool_),
        weights=np.full(scores.shape, np.nan),
        juror=np.repeat(np.arange(SEATS, dtype=np.int32)[:, None], n, axis=1),
        seated=np.full(n, SEATS, np.int32),
        threshold=np.full(n, THRESHOLD),
        quorum=np.zeros(n, np.int32),
        minimum=np.full(n, NOTHING, np.int32),
        share=np.full(n, NOTHING, np.int32),
        strategy=np.full(n, STRATEGIES.index(Strategy.QUORUM), np.int8),
        fraction=np.full(n, FRACTION),
        rounding=np.full(n, ROUNDINGS.index(Rounding.DOWN), np.int8),
        decision=np.full(n, DECISIONS.index(Decision.PASS), np.int8),
        score=np.full(n, np.nan),
        names=tuple(f"juror-{seat}" for seat in range(SEATS)),
        quorums=(QUORUM,),
        shares=(None,),
        minima=(None,),
    )


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The fastest of a few runs: the others waited for something else."""
    return min(_once(work) for _ in range(times))


def _once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def figures(found: Columns) -> dict[str, Callable[[], object]]:
    """What is timed, by name; each starts from the bare columns."""
    from reviewdesk.domain.whatif import Panels, Variant

    scores = found.scores.T
    votes: npt.NDArray[np.float64] = np.where(found.votes == NOTHING, np.nan, found.votes).T
    halves = np.array_split(scores, 2)
    return {
        "alpha, interval": lambda: alpha_interval(scores),
        "alpha, two parts merged": lambda: AlphaState.of(halves[0]).merge(AlphaState.of(halves[1])),
        "alpha, interval, 95%": lambda: interval_ci(scores),
        "alpha, nominal, votes": lambda: alpha_nominal(votes),
        "alpha, ordinal": lambda: alpha_ordinal(scores),
        "quorum": lambda: under(Panels(found), Variant(strategy=Strategy.QUORUM)).decision,
        "trimmed mean": lambda: (
            under(Panels(found), Variant(strategy=Strategy.TRIMMED_MEAN)).decision
        ),
        "offsets and drift": lambda: drifts(offsets(found)),
    }


def main() -> None:
    """Print each figure's time and its multiple of a copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = panels(asked.verdicts, asked.seed)
    copy = seconds(found.scores.copy, times=9)
    print(f"{asked.verdicts:,} verdicts of {SEATS} jurors, seed {asked.seed}")
    print(f"{'a copy of the scores':24} {copy:8.3f} s  {1:6.0f} x")
    for name, work in figures(found).items():
        took = seconds(work)
        print(f"{name:24} {took:8.3f} s  {took / copy:6.0f} x")


if __name__ == "__main__":
    main()
