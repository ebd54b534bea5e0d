"""How often a run without drift sets off an alarm of the CUSUM over jurors.

Every figure has fixed seeds; ``--quick`` takes seconds and is that much rougher.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jurors.drift import alarms

Floats = npt.NDArray[np.float64]


def offsets(rng: np.random.Generator, n: int, kind: str) -> Floats:
    """Offsets ``[n, 5]`` of a run without drift: each juror's score less the others' mean."""
    noise = rng.normal(size=(n, 5))
    if kind == "skewed":
        noise = 0.05 * noise - 0.6 * (rng.random((n, 5)) < 0.1)
    elif kind == "votes":
        noise = (rng.random((n, 5)) < 0.9).astype(np.float64)
    found: Floats = noise - (noise.sum(axis=1, keepdims=True) - noise) / 4
    return found


def alarmed(n: int, kind: str, runs: int) -> float:
    """The share of driftless runs of n verdicts in which any juror has an alarm."""
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(runs):
        found = offsets(rng, n, kind)
        hits += any(one is not None for one in alarms(found[: n // 2], found[n // 2 :])[1])
    return hits / runs


def print_alarms(runs: int) -> None:
    """Print how often driftless runs alarm."""
    print(f"Runs of 5 jurors without drift in which any has an alarm (of {runs}; 5% are meant)")
    for kind in ("normal", "skewed", "votes"):
        shares = ", ".join(f"{n:,} verdicts {alarmed(n, kind, runs):.1%}" for n in (400, 1_000))
        print(f"  {kind:8} {shares}")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    quick = parser.parse_args().quick
    print_alarms(runs=20 if quick else 2_000)


if __name__ == "__main__":
    main()
