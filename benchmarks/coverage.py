"""How often every 95% interval holds the truth, and what escalated labels alone would say.

Runs of 400 verdicts by five jurors are invented with a known truth, drawn, and labelled in the
order of the queue; at 20, 50, 100 and 200 labels every interval is computed by the product's own
functions. ``--quick`` is a hundredth of it. Every figure has fixed seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jurors.votes import Labels, compare, voted
from reviewdesk.domain.labels.draw import draw
from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledRow, RunFigures, stratum
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.correction import Cells, lang_reiczigel, wald
from reviewdesk.domain.stats.figures import ConfidenceSums, Estimate, Target
from reviewdesk.domain.stats.rates import stratified_rates as rates
from reviewdesk.domain.verdict import Decision

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Small = npt.NDArray[np.int8]

SIZE = 400
LABELS = (20, 50, 100, 200)
RUNS = 2_000
PROCESS = 400_000
"""Verdicts of one long run, whose figures are those of such items to within .002."""
LEAST = 0.92
"""The least coverage that is promised for an interval of 95%."""
RISK_Z = 3.0902323
"""The one-sided point of the normal distribution at .001."""
FIGURES = ("accuracy", "sensitivity", "specificity", "kappa", "brier", "gap")


@dataclass(frozen=True, slots=True)
class Run:
    """A run as nobody sees it: every verdict with what its response deserved, and its votes."""

    truth: Bools
    passed: Bools
    confidence: Floats
    flagged: Bools
    votes: Small = field(default_factory=lambda: np.empty((0, 0), np.int8))

    @property
    def correct(self) -> Bools:
        """Where the panel decided what the response deserved."""
        return self.truth == self.passed

    @property
    def strata(self) -> list[int]:
        """The stratum of every verdict."""
        decisions = [Decision.PASS if passed else Decision.FAIL for passed in self.passed]
        pairs = zip(decisions, self.flagged.tolist(), strict=True)
        return [stratum(decision, flagged=flagged) for decision, flagged in pairs]

    @property
    def rows(self) -> Rows:
        """Every verdict as a labelled row: what the figures estimate."""
        return Rows(self.confidence, self.correct, np.ones(len(self.truth)), self.passed)


@dataclass(frozen=True, slots=True)
class Process:
    """How runs come about: ``make`` invents one of n verdicts."""

    name: str
    story: str
    make: Callable[[int, np.random.Generator], Run]


def _two_strata(share: float, rights: tuple[float, float], passes: float) -> Callable:
    """Invent runs in which ``share`` is flagged, and the panel is right ``rights`` of the time."""

    def make(n: int, rng: np.random.Generator) -> Run:
        flagged = rng.random(n) < share
        correct = rng.random(n) < np.where(flagged, *rights)
        passed = rng.random(n) < passes
        sure = np.where(flagged, rng.uniform(0.5, 0.75, n), rng.uniform(0.8, 1, n))
        return Run(passed == correct, passed, sure, flagged)

    return make


def _sure(prevalence: float, right: Callable[[Floats, Bools], Floats]) -> Callable:
    """Invent runs whose confidence is the main sign; ``right`` is the chance to be right."""

    def make(n: int, rng: np.random.Generator) -> Run:
        truth = rng.random(n) < prevalence
        sure = 0.5 + 0.5 * rng.beta(3, 1.5, n)
        correct = rng.random(n) < right(sure, truth)
        flagged = rng.random(n) < np.where(sure < 0.65, 0.8, 0.03)
        return Run(truth, truth == correct, sure, flagged)

    return make


ACCURACY = (0.93, 0.90, 0.87, 0.83, 0.78)


def _jury(prevalence: float, hard: float) -> Callable:
    """Invent runs of five jurors, who err together on hard responses: a small ``hard`` means few.

    The panel goes by the majority, and its confidence is the majority's share.
    """

    def make(n: int, rng: np.random.Generator) -> Run:
        truth = rng.random(n) < prevalence
        how_hard = rng.beta(hard, 5, n)
        wrong = (1 - np.asarray(ACCURACY))[:, None] * how_hard * (hard + 5) / hard
        wrong = np.clip(wrong * np.where(truth, 0.8, 1.5), 0, 0.8)
        votes = np.where(rng.random(wrong.shape) < wrong, ~truth, truth).astype(np.int8)
        passes = (votes == 1).sum(axis=0)
        close = (np.abs(2 * passes - 5) <= 1) & (rng.random(n) < 0.95)
        split = (passes % 5 > 0) & (rng.random(n) < 0.3)
        flagged = close | split | (rng.random(n) < 0.02)
        sure = np.maximum(passes, 5 - passes) / 5
        abstains = rng.random(votes.shape) < 0.03
        return Run(truth, passes >= 3, sure, flagged, np.where(abstains, np.int8(-1), votes))

    return make


PROCESSES = (
    Process("mixed", "30% flagged, right .65; the rest .97", _two_strata(0.3, (0.65, 0.97), 0.7)),
    Process("weak", "half flagged, right .75; the rest .85", _two_strata(0.5, (0.75, 0.85), 0.6)),
    Process("strong", "a quarter flagged, right .95; the rest .99",
            _two_strata(0.25, (0.95, 0.99), 0.7)),
    Process("correlated", "five jurors who err together; half deserve a pass", _jury(0.5, 0.6)),
    Process("lenient jury", "five jurors; three of four deserve a pass", _jury(0.75, 1.2)),
    Process("calibrated", "half deserve a pass; right as often as it says",
            _sure(0.5, lambda sure, _: sure)),
    Process("overconfident", "sure of .5 to 1 and right .5 to .8 of the time",
            _sure(0.5, lambda sure, _: 0.5 + 0.6 * (sure - 0.5))),
    Process("rare failures", "95 of 100 deserve a pass; 6 of 10 failures are caught",
            _sure(0.95, lambda sure, truth: np.where(truth, sure, 0.5 * sure + 0.2))),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """The labels of a run, as calibration and the jurors' page see them."""

    made: LabelledRows
    labels: Labels
    sums: dict[int, ConfidenceSums]


class Drawn:
    """A run with its draw, to be labelled in the order of the queue."""

    def __init__(self, run: Run, seed: str) -> None:
        """Draw the run by a seed."""
        self.run, self.strata = run, run.strata
        self._draw = draw([str(place) for place in range(len(self.strata))], self.strata, seed)
        self._queue = np.argsort(self._draw.order).tolist()
        self._figures = RunFigures(
            int(run.passed.sum()), int((~run.passed).sum()), "support", False, self._draw.sizes
        )
        self._sums = {
            h: sums_of(run.confidence[np.asarray(self.strata) == h]) for h in self._draw.sizes
        }

    def first(self, labels: int) -> Sample:
        """Label the first verdicts of the queue."""
        return self.label(self._queue[:labels])

    def label(self, picked: Sequence[int]) -> Sample:
        """Label some verdicts."""
        found = [_row(self.run, i, self.strata[i], int(self._draw.rank[i])) for i in picked]
        labels = Labels.of(range(len(self.strata)), self.strata, found)
        return Sample(make_rows(found, self._figures), labels, self._sums)

    def trap(self, flagged: int, *, audit: bool) -> Sample:
        """Label so many of the flagged in the order of the draw and, if asked, the rest's audit."""
        picked = [i for i in self._queue if self.strata[i] < FIRST_REST][:flagged]
        return self.label(picked + [i for i in self._queue if audit and self._draw.audit[i]])


def sums_of(confidence: Floats) -> ConfidenceSums:
    """Sum up the confidences of a stratum, as the store does."""
    powers = [float((confidence**power).sum()) for power in (1, 2, 3, 4)]
    return ConfidenceSums(
        len(confidence), tuple(powers), float(confidence.min()), float(confidence.max())
    )


def _row(run: Run, i: int, h: int, rank: int) -> LabelledRow:
    """A verdict as the desk reads it, its score the support of its decision."""
    passed, sure = bool(run.passed[i]), float(run.confidence[i])
    decision = Decision.PASS if passed else Decision.FAIL
    score = sure if passed else 1 - sure
    truth = Truth.PASS if run.truth[i] else Truth.FAIL
    return LabelledRow(i, str(i), b"", decision, score, None, None, 1, 1, h, rank, truth)


Ends = tuple[float | None, float | None, float | None]
"""An estimate and its ends, each ``None`` if undefined."""


def _ends(found: Estimate | None, value: float | None = None) -> Ends:
    if found is None:
        return value, None, None
    return found.estimate, found.low, found.high


def truths(run: Run) -> dict[str, float | None]:
    """What each figure of a run really is."""
    found = measure(run.rows, None)
    made = {name: getattr(found, name) for name in FIGURES}
    made["pass rate"] = float(run.truth.mean())
    for juror, votes in enumerate(run.votes):
        cast = votes >= 0
        right = votes == run.truth
        among = {
            "accuracy": cast,
            "sensitivity": cast & run.truth,
            "specificity": cast & ~run.truth,
        }
        for name, kept in among.items():
            made[f"juror {name}/{juror}"] = float(right[kept].mean()) if kept.any() else None
        made[f"juror less panel/{juror}"] = float((right.astype(float) - run.correct)[cast].mean())
    return made


def intervals(sample: Sample, run: Run) -> Iterator[tuple[str, Target, Ends]]:
    """Every interval that the product prints of a run's labels."""
    made = sample.made
    for target in Target:
        found = panel_intervals(made, target, sample.sums if target is Target.RUN else None)
        line = measure(made.headline, None)
        for name in FIGURES:
            yield name, target, _ends(getattr(found, name), getattr(line, name))
        yield "pass rate", target, _ends(made.rates(target).should_pass)
        for juror, votes in enumerate(run.votes):
            mine = rates(voted(votes, sample.labels)[0], target)
            for name in FIGURES[:3]:
                yield f"juror {name}/{juror}", target, _ends(getattr(mine, name))
    panel = run.passed.astype(np.int8)
    for juror, votes in enumerate(run.votes):
        one = compare("panel", votes, panel, sample.labels)
        yield f"juror less panel/{juror}", Target.RUN, (one.estimate, one.low, one.high)


Cell = tuple[str, Target, str, int]
"""A figure, its target, a process and a number of labels."""


@dataclass(frozen=True, slots=True)
class Trials:
    """One interval in many runs: ``[n, 4]`` of estimate, low, high and truth, NaN if undefined."""

    values: Floats

    @property
    def held(self) -> float:
        """The share of the defined intervals that hold the truth."""
        return 1 - self.below - self.above

    @property
    def below(self) -> float:
        """The share of truths under the lower end."""
        _, low, _, truth = self._defined.T
        return float((truth < low - 1e-9).mean())

    @property
    def above(self) -> float:
        """The share of truths over the upper end."""
        _, _, high, truth = self._defined.T
        return float((truth > high + 1e-9).mean())

    @property
    def undefined(self) -> float:
        """The share of runs without an interval."""
        return 1 - len(self._defined) / max(len(self.values), 1)

    @property
    def width(self) -> float:
        """The mean width."""
        return float((self._defined[:, 2] - self._defined[:, 1]).mean())

    @property
    def ratio(self) -> float:
        """The mean width as a multiple of what the known spread of the estimate would give."""
        kept = self.values[~np.isnan(self.values).any(axis=1)]
        spread = float((kept[:, 0] - kept[:, 3]).std()) if len(kept) else 0.0
        width = float((kept[:, 2] - kept[:, 1]).mean()) if len(kept) else math.nan
        return width / (2 * 1.959964 * spread) if spread else math.nan

    @property
    def fails(self) -> bool:
        """Whether the coverage is under ``LEAST`` by more than chance."""
        n = len(self._defined)
        return self.held < LEAST - RISK_Z * math.sqrt(LEAST * (1 - LEAST) / n)

    @property
    def _defined(self) -> Floats:
        return self.values[~np.isnan(self.values[:, 1:]).any(axis=1)]


def coverage(
    runs: int, processes: Sequence[Process] = PROCESSES, labels: Sequence[int] = LABELS
) -> dict[Cell, Trials]:
    """Invent, label and measure so many runs of each process."""
    made: dict[Cell, list[tuple[float | None, ...]]] = {}
    for process in processes:
        such = truths(process.make(PROCESS, np.random.default_rng(7)))
        for seed in range(runs):
            run = process.make(SIZE, np.random.default_rng([seed, 29]))
            drawn, here = Drawn(run, f"{process.name}/{seed}/"), truths(run)
            for count in labels:
                for name, target, ends in intervals(drawn.first(count), run):
                    truth = (here if target is Target.RUN else such)[name]
                    if truth is not None:
                        cell = name.split("/")[0], target, process.name, count
                        made.setdefault(cell, []).append((*ends, truth))
    return {cell: Trials(np.asarray(found, np.float64)) for cell, found in made.items()}


def print_coverage(found: dict[Cell, Trials], runs: int) -> None:
    """Print for each figure and number of labels the process with the lowest coverage."""
    print(f"95% intervals, {runs} runs of {SIZE} verdicts of each of {len(PROCESSES)} processes:")
    for process in PROCESSES:
        print(f"  {process.name}: {process.story}")
    print("\nThe lowest coverage of any process / the highest share of misses on either side\n")
    print("| interval | " + " | ".join(f"{n} labels" for n in LABELS) + " |")
    print("|---" * (len(LABELS) + 1) + "|")
    for name, target in dict.fromkeys(cell[:2] for cell in found):
        cells = []
        for count in LABELS:
            mine = [
                one for cell, one in found.items() if (*cell[:2], cell[3]) == (name, target, count)
            ]
            least = min(one.held for one in mine)
            most = max(max(one.below, one.above) for one in mine)
            cells.append(f"{least:.1%} / {most:.1%}")
        print(f"| {name}, {target.value} | " + " | ".join(cells) + " |")
    failed = [cell for cell, one in found.items() if one.fails]
    share = f"{len(failed)} of {len(found)} cells"
    print(f"\nSignificantly under {LEAST:.0%} (p < .001): {share} {failed}")
    undefined = max(found.items(), key=lambda item: item[1].undefined)
    print(f"Most runs without an interval: {undefined[1].undefined:.1%} {undefined[0]}")


def print_cells(found: dict[Cell, Trials]) -> None:
    """Print every cell: coverage, misses below and above, mean width and its ratio."""
    for (name, target, process, count), one in found.items():
        print(f"{name:18} {target.value:10} {process:14} {count:4}  {one.held:6.1%}"
              f"  below {one.below:5.1%} above {one.above:5.1%}  undefined {one.undefined:5.1%}"
              f"  width {one.width:.3f}  ratio {one.ratio:.2f}{'  FAILS' * one.fails}")  # fmt: skip


def corrected(runs: int) -> None:
    """Print the coverage of the corrected rate by a trusted set from elsewhere."""
    print(f"\nThe corrected pass rate of {SIZE} verdicts by a trusted set of 100, {runs} runs:")
    for process in PROCESSES:
        held = {"the document's Wald": [], "Lang-Reiczigel": []}
        for seed in range(runs):
            rng = np.random.default_rng([seed, 31])
            run, trusted = process.make(SIZE, rng), process.make(100, rng)
            found = measure(trusted.rows, None)
            cells = Cells(*(getattr(found, name) for name in ("tp", "fn", "tn", "fp")))
            passed, rate = run.passed.mean(), run.truth.mean()
            ends = wald(passed, cells.sensitivity, cells.specificity, found.n)
            held["the document's Wald"].append(ends[0] <= rate <= ends[1])
            honest = lang_reiczigel(run.passed.sum(), SIZE, cells.tp, cells.fn, cells.tn, cells.fp)
            if honest is not None:
                held["Lang-Reiczigel"].append(honest[0] <= rate <= honest[1])
        shares = ", ".join(f"{name} {np.mean(one):.1%}" for name, one in held.items())
        print(f"  {process.name:14} {shares}")


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
        drawn = Drawn(run, f"trap/{seed}/")
        alone.append(told(drawn.trap(100, audit=False).made.rows, observed))
        made = drawn.trap(100, audit=True).made
        designed.append(told(made.headline, observed))
        estimate = made.share("should_pass")
        held += (estimate.low or 0.0) <= rate <= (estimate.high or 1.0)
    return told(run.rows, observed), alone, designed, held / runs


def _mean(found: Sequence[Told], name: str) -> tuple[float, float]:
    values = [getattr(one, name) for one in found]
    return float(np.mean(values)), float(np.std(values))


def escalated_only(runs: int) -> None:
    """Print the bias of escalated-only labels beside the design's."""
    truth, alone, designed, held = trapped(runs)
    print(f"\nThe trap: 100 escalated labels, with and without the audit of 85, over {runs} draws")
    print(f"  {'':16} {'truth':>8} {'escalated only':>20} {'with the audit':>20}")
    for name in ("accuracy", "brier", "corrected"):
        told_alone, told_design = (
            "{:.4f} ± {:.4f}".format(*_mean(found, name)) for found in (alone, designed)
        )
        print(f"  {name:16} {getattr(truth, name):8.4f} {told_alone:>20} {told_design:>20}")
    print(f"  the stratified interval of the pass rate holds it in {held:.1%} of the draws")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 runs in place of 2,000")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each process")
    parser.add_argument("--cells", action="store_true", help="print every cell as well")
    parser.add_argument("--process", action="append", metavar="NAME", help="this process only")
    options = parser.parse_args()
    runs = 20 if options.quick else options.runs
    wanted = [one for one in PROCESSES if not options.process or one.name in options.process]
    found = coverage(runs, wanted)
    if options.cells:
        print_cells(found)
    print_coverage(found, runs)
    corrected(runs)
    escalated_only(runs=2 * runs)


if __name__ == "__main__":
    main()
