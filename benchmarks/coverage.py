"""How often calibration's intervals hold the truth, and what escalated labels alone would say.

Invented runs whose truth is known are drawn, labelled and measured with the project's own
functions; ``--quick`` takes seconds and is that much rougher. Every figure has fixed seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.draw import draw
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledVerdict, Weighing, stratum, weigh
from reviewdesk.domain.labels.weighed_rows import make_rows
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.correction import Cells, lang_reiczigel, wald
from reviewdesk.domain.stats.figures import Interval, Part
from reviewdesk.domain.stats.panel_intervals import panel_intervals
from reviewdesk.domain.stats.stratified import stratified_rate
from reviewdesk.domain.verdict import Decision

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Process:
    """How a run comes about: who deserves a pass, how sure the judge is, and how often right.

    ``right`` gives the chance of a correct verdict from confidence and truth; ``trusted`` is the
    size of a labelled set from elsewhere, of the same process.
    """

    name: str
    story: str
    prevalence: float
    right: Callable[[Floats, Bools], Floats]
    trusted: int


PROCESSES = (
    Process(
        "calibrated",
        "half pass; the judge is right as often as it says; 200 trusted labels",
        0.5,
        lambda sure, _: sure,
        200,
    ),
    Process(
        "overconfident",
        "half pass; sure of 0.5..1 and right 0.5..0.8 of the time; 200 trusted labels",
        0.5,
        lambda sure, _: 0.5 + 0.6 * (sure - 0.5),
        200,
    ),
    Process(
        "rare failures",
        "95 of 100 pass and 6 of 10 failures are caught; 100 trusted labels",
        0.95,
        lambda sure, truth: np.where(truth, sure, 0.5 * sure + 0.2),
        100,
    ),
    Process(
        "lenient, few labels",
        "a third passes; the judge lets a third of the failures through; 40 trusted labels",
        1 / 3,
        lambda sure, truth: np.where(truth, 0.95, np.clip(sure - 0.15, 0, 1)),
        40,
    ),
)
SIZE = 1_000


@dataclass(frozen=True, slots=True)
class Run:
    """A run as nobody sees it: every verdict with what its response deserved."""

    truth: Bools
    passed: Bools
    confidence: Floats
    flagged: Bools

    @property
    def correct(self) -> Bools:
        """Where the judge decided what the response deserved."""
        return self.truth == self.passed

    @property
    def rows(self) -> Rows:
        """Every verdict as a labelled row: what the figures estimate."""
        return Rows(self.confidence, self.correct, np.ones(len(self.truth)), self.passed)

    @property
    def strata(self) -> list[int]:
        """The stratum of every verdict."""
        decisions = [Decision.PASS if passed else Decision.FAIL for passed in self.passed]
        pairs = zip(decisions, self.flagged.tolist(), strict=True)
        return [stratum(decision, flagged=flagged) for decision, flagged in pairs]


@dataclass(frozen=True, slots=True)
class Sample:
    """The labels of a run: which verdicts, how they weigh, and the strata as estimates see them."""

    rows: Rows
    weighing: Weighing
    parts: tuple[Part, ...]
    labelled: list[LabelledRow]
    figures: RunFigures


def invented(process: Process, n: int, rng: np.random.Generator) -> Run:
    """A run of n verdicts; the unsure ones are flagged, and a few of the others."""
    truth = rng.random(n) < process.prevalence
    confidence = 0.5 + 0.5 * rng.beta(3, 1.5, n)
    correct = rng.random(n) < process.right(confidence, truth)
    flagged = rng.random(n) < np.where(confidence < 0.65, 0.8, 0.03)
    return Run(truth, truth == correct, confidence, flagged)


def labelled(run: Run, seed: str, flagged: int, *, audit: bool = True) -> Sample:
    """Label so many of the flagged in the order of the draw and, if asked, the rest's audit."""
    strata = run.strata
    made = draw([str(place) for place in range(len(strata))], strata, seed)
    queue = sorted(range(len(strata)), key=made.order.__getitem__)
    picked = [i for i in queue if strata[i] < FIRST_REST][:flagged]
    if audit:
        picked += [i for i in queue if made.audit[i]]
    places = [
        LabelledVerdict(strata[i], made.rank[i], Truth.PASS if run.truth[i] else Truth.FAIL)
        for i in picked
    ]
    weighing = weigh(places, made.sizes)
    rows = Rows(
        run.confidence[picked], run.correct[picked], np.ones(len(picked)), run.passed[picked]
    )
    parts = tuple(
        Part(size, len(inside), sum(place.truth is Truth.PASS for place in inside))
        for h, size in sorted(made.sizes.items())
        for inside in [
            [p for p, w in zip(places, weighing.weights, strict=True) if w and p.stratum == h]
        ]
    )
    found = [_labelled(run, i, place) for i, place in zip(picked, places, strict=True)]
    passed = int(run.passed.sum())
    sizes = RunFigures(passed, len(run.passed) - passed, "support", False, made.sizes)
    return Sample(rows, weighing, parts, found, sizes)


def _labelled(run: Run, i: int, place: LabelledVerdict) -> LabelledRow:
    """A verdict as the desk reads it, its score the support of its decision."""
    passed, sure = bool(run.passed[i]), float(run.confidence[i])
    decision = Decision.PASS if passed else Decision.FAIL
    score = sure if passed else 1 - sure
    return LabelledRow(i, str(i), b"", decision, score, None, None, 1, 1, place)


def trials(process: Process, seed: int) -> Iterator[tuple[str, Interval | None, float]]:
    """Every interval of one invented run, with the truth it should hold."""
    rng = np.random.default_rng(seed)
    run, trusted = invented(process, SIZE, rng), invented(process, process.trusted, rng)
    rate = float(run.truth.mean())
    found = measure(trusted.rows, float(run.passed.mean()))
    cells = (found.tp or 0, found.fn or 0, found.tn or 0, found.fp or 0)
    rates = (found.sensitivity or 0.0, found.specificity or 0.0)
    yield "corrected rate, Wald", Interval(*wald(float(run.passed.mean()), *rates, found.n)), rate
    honest = lang_reiczigel(int(run.passed.sum()), SIZE, *cells)
    yield "corrected rate, Lang-Reiczigel", Interval(*honest) if honest else None, rate
    sample = labelled(run, f"{process.name}/{seed}/", SIZE)
    estimate = stratified_rate(sample.parts)
    whole = None if estimate.estimate is None else Interval(estimate.low, estimate.high)
    yield "pass rate, stratified", whole, rate
    made = make_rows(sample.labelled, sample.figures)
    panel = panel_intervals(made)
    whole_run = measure(run.rows, None)
    for name, rate in (
        ("accuracy", panel.accuracy),
        ("sensitivity", panel.sensitivity),
        ("specificity", panel.specificity),
    ):
        ends = None if rate.estimate is None else Interval(rate.low, rate.high)
        yield f"{name}, stratified", ends, getattr(whole_run, name) or 0.0
    yield "Brier, bootstrap in strata", panel.brier, whole_run.brier or 0.0
    yield "gap, bootstrap in strata", panel.gap, whole_run.gap or 0.0
    cells = Cells(*(float(getattr(whole_run, name) or 0) for name in ("tp", "fn", "tn", "fp")))
    yield "kappa, bootstrap in strata", panel.kappa, cells.kappa or 0.0


def coverage(runs: int) -> None:
    """Print the share of intervals that hold the truth, and their mean width."""
    print(
        f"Intervals of 95%, {runs} runs of {SIZE} verdicts each: share that holds the truth (width)"
    )
    print("Flagged verdicts and the audit are labelled; the trusted sets come from elsewhere.\n")
    for process in PROCESSES:
        print(f"{process.name}: {process.story}")
        held: dict[str, list[tuple[bool, float]]] = {}
        for seed in range(runs):
            for name, interval, truth in trials(process, seed):
                entries = held.setdefault(name, [])
                if interval is not None:
                    inside = interval.low - 1e-9 <= truth <= interval.high + 1e-9
                    entries.append((inside, interval.high - interval.low))
        for name, entries in held.items():
            share, width = np.mean(entries, axis=0)
            undefined = f"  {runs - len(entries)} undefined" if len(entries) < runs else ""
            print(f"  {name:32} {share:6.1%}  ({width:.3f}){undefined}")
        print()


def trap() -> Run:
    """1,000 verdicts: 150 flagged ones, right 0.58 of the time, and the rest right 0.91."""
    rng = np.random.default_rng(86)
    flagged = np.arange(1_000) < 150
    # Counts and not chances, so that the population is what its story says.
    correct = np.concatenate([np.arange(150) < 87, np.arange(850) < 774])
    confidence = np.where(flagged, rng.uniform(0.5, 0.75, 1_000), rng.uniform(0.82, 1.0, 1_000))
    passed = rng.random(1_000) < np.where(flagged, 0.5, 0.75)
    return Run(passed == correct, passed, confidence, flagged)


@dataclass(frozen=True, slots=True)
class Told:
    """What one set of labels tells of a run; the corrected rate is from its own confusion."""

    accuracy: float
    brier: float
    corrected: float


def told(rows: Rows, observed: float) -> Told:
    """What these rows say of a run with this observed pass rate."""
    found = measure(rows, observed)
    return Told(found.accuracy or 0.0, found.brier or 0.0, found.corrected_rate or 0.0)


def trapped(runs: int) -> tuple[Told, list[Told], list[Told], float]:
    """The truth, what escalated labels say, what the design says, and the stratified coverage."""
    run = trap()
    observed, rate = float(run.passed.mean()), float(run.truth.mean())
    alone, designed, held = [], [], 0
    for seed in range(runs):
        escalated = labelled(run, f"trap/{seed}/", 100, audit=False)
        alone.append(told(escalated.rows, observed))
        sample = labelled(run, f"trap/{seed}/", 100)
        designed.append(told(sample.rows.weighted(sample.weighing.weights), observed))
        estimate = stratified_rate(sample.parts)
        held += estimate.low <= rate <= estimate.high
    truth = told(run.rows, observed)
    return truth, alone, designed, held / runs


def _mean(found: Sequence[Told], name: str) -> tuple[float, float]:
    values = [getattr(one, name) for one in found]
    return float(np.mean(values)), float(np.std(values))


def escalated_only(runs: int) -> None:
    """Print the bias of escalated-only labels beside the design's."""
    truth, alone, designed, held = trapped(runs)
    print(f"The trap: 100 escalated labels, with and without the audit of 85, over {runs} draws")
    print(f"  {'':16} {'truth':>8} {'escalated only':>20} {'with the audit':>20}")
    for name in ("accuracy", "brier", "corrected"):
        told_alone, told_design = (
            "{:.4f} ± {:.4f}".format(*_mean(found, name)) for found in (alone, designed)
        )
        print(f"  {name:16} {getattr(truth, name):8.4f} {told_alone:>20} {told_design:>20}")
    print(f"  the stratified interval of the pass rate holds it in {held:.1%} of the draws")
    print(f"  (a share of 95% over {runs} draws has a standard error of "
          f"{math.sqrt(0.95 * 0.05 / runs):.1%})")  # fmt: skip


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    quick = parser.parse_args().quick
    coverage(runs=40 if quick else 1_000)
    escalated_only(runs=200 if quick else 4_000)


if __name__ == "__main__":
    main()
