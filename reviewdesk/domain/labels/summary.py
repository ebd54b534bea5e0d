"""Computes the two lines of the strip from labelled verdicts, with the design of the labels."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.gates.expect import default_checks
from reviewdesk.domain.labels.label_columns import (
    LabelColumns,
    both_lines,
    coverage_text,
    row_warnings,
)
from reviewdesk.domain.labels.sampling import (
    LabelledRow,
    RunFigures,
    Weighing,
    chosen_source,
    decided_strata,
    decided_verdicts,
)
from reviewdesk.domain.records import Calibration, Design, Truth
from reviewdesk.domain.stats.calibration import Rows, counters_of, measure, numbered
from reviewdesk.domain.stats.calibration_page import BlindFigures, BlindSplit
from reviewdesk.domain.stats.clusters import Clusters
from reviewdesk.domain.stats.correction import CELLS, RIGHT, WRONG, Cells
from reviewdesk.domain.stats.figures import (
    ALONE,
    ConfidenceSums,
    Effect,
    Estimate,
    LabelSpread,
    PanelIntervals,
    Part,
    SimulatedFigure,
    Target,
    widest,
)
from reviewdesk.domain.stats.reliability import (
    brier_interval,
    fit,
    gap_interval,
    kappa_interval,
    loss_strata,
)
from reviewdesk.domain.stats.stratified import Voted, drawn_rate, part_of, stratified_rates
from reviewdesk.domain.verdict import SLACK, Decision


@dataclass(frozen=True)
class LabelledRows:
    """The labelled verdicts of a run with their draw, and the rows that they give.

    ``verdicts``, ``rows`` and ``weights`` cover the verdicts that give a row.
    """

    labelled: Sequence[LabelledRow]
    figures: RunFigures
    columns: LabelColumns
    weighing: Weighing
    source: str
    again: "Callable[[Mapping[int, Truth]], LabelledRows] | None" = None
    """Rebuilds the rows with the truths of some verdicts, where ``make_rows`` cannot."""

    def with_truths(self, truths: Mapping[int, Truth]) -> "LabelledRows":
        """Return the rows as they would be if some verdicts, by key, had these truths."""
        if self.again is not None:
            return self.again(truths)
        labelled = [replace(one, truth=truths.get(one.key, one.truth)) for one in self.labelled]
        return make_rows(labelled, self.figures, self.source)

    def reweighed(
        self, given: Mapping[tuple[int, bytes], float], sizes: Mapping[int, float]
    ) -> "LabelledRows":
        """Return the rows with given weights by stratum and item, scaled to the sizes of strata.

        Items of a stratum may weigh differently, as older versions drew verdicts. An item without a
        weight, which nobody answered, has the average of its stratum.
        """
        units: dict[int, dict[bytes, None]] = {}
        for row in self.labelled:
            if not row.unanswered:
                units.setdefault(row.stratum, {})[row.item] = None
        weights: dict[tuple[int, bytes], float] = {}
        for h, items in units.items():
            known = [given[h, item] for item in items if (h, item) in given]
            usual = sum(known) / len(known) if known else 1.0
            mine = {item: given.get((h, item), usual) for item in items}
            scale = sizes[h] / sum(mine.values())
            weights |= {(h, item): weight * scale for item, weight in mine.items()}

        every = [weights.get((row.stratum, row.item), 0.0) for row in self.labelled]
        return dataclasses.replace(
            self,
            weighing=replace(self.weighing, weights=every),
            again=lambda truths: (
                dataclasses.replace(self, again=None).with_truths(truths).reweighed(given, sizes)
            ),
        )

    @cached_property
    def _kept(self) -> tuple[Rows, list[int]]:
        stated = self.figures.scores_stated
        rows, kept = self.columns.rows(self.source, scores_stated=stated)
        return rows, kept.tolist()

    @property
    def rows(self) -> Rows:
        return self._kept[0]

    @cached_property
    def verdicts(self) -> list[LabelledRow]:
        return [self.labelled[place] for place in self._kept[1]]

    @cached_property
    def weights(self) -> list[float]:
        return [self.weighing.weights[place] for place in self._kept[1]]

    @property
    def left_out(self) -> int:
        return int(self.columns.decided.sum()) - len(self._kept[1])

    @cached_property
    def drawn(self) -> dict[int, bool]:
        return {v.key: at for v, at in zip(self.labelled, self.weighing.drawn, strict=True)}

    @cached_property
    def inclusion(self) -> dict[int, float]:
        return {v.key: pi for v, pi in zip(self.labelled, self.weighing.inclusion, strict=True)}

    @cached_property
    def clusters(self) -> Clusters | None:
        """The labels that count by content and case; ``None`` if no two verdicts share one."""
        rows = [
            (verdict, weight)
            for verdict, weight in zip(self.labelled, self.weighing.weights, strict=True)
            if weight and verdict.decided
        ]
        content = numbered([one.content for one, _ in rows])
        test = numbered([one.test or one.content for one, _ in rows])
        if content is None and test is None:
            return None
        every = np.arange(len(rows))
        return Clusters.of(
            np.array([one.stratum for one, _ in rows]),
            every if content is None else content,
            every if test is None else test,
            np.array([weight for _, weight in rows]),
            np.array([CELLS.index(one.cell) for one, _ in rows]),
        )

    @cached_property
    def voted(self) -> tuple[Voted, ...]:
        """The panel's decisions per decided stratum, with the labels that count."""
        sizes = self.figures.sizes
        decided = self.figures.decided
        clusters = self.clusters
        cells = Counter(
            (verdict.stratum, verdict.cell)
            for verdict, inside in zip(self.labelled, self.weighing.drawn, strict=True)
            if inside and verdict.decided
        )
        made = []
        for h in sorted(decided_strata(sizes, decided)):
            found = Cells(**{name: cells[h, name] for name in CELLS})
            spread = None
            if clusters is not None and clusters.repeated:
                found, spread = clusters.of_stratum(h)
            passes, fails = decided_verdicts(h, sizes[h], decided)
            if not found.n and passes + fails != sizes[h]:
                spread = LabelSpread(sizes[h], 0, 0, passes + fails)
            made.append(Voted(h, passes, fails, found, found, spread))
        return tuple(made)

    @property
    def pass_parts(self) -> tuple[Part, ...]:
        deff = self.pass_effect(Target.RUN).deff
        return tuple(part_of(one, one.counted.deserved, deff) for one in self.voted)

    @property
    def right_parts(self) -> tuple[Part, ...]:
        deff = self.right_effect(Target.RUN).deff
        return tuple(part_of(one, one.counted.right, deff) for one in self.voted)

    def pass_effect(self, target: Target) -> Effect:
        return self.clusters.effect((0, 1), (2, 3), target) if self.clusters else ALONE

    def right_effect(self, target: Target) -> Effect:
        return self.clusters.effect(RIGHT, WRONG, target) if self.clusters else ALONE

    @cached_property
    def lines(self) -> Calibration:
        return both_lines(self.figures, self.columns, self.source, self.weighing)

    @cached_property
    def headline(self) -> Rows:
        return self.rows.weighted(self.weights) if self.weighing.design.stands else self.rows


def make_rows(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> LabelledRows:
    """Build the rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    source = chosen_source(figures, source)
    columns = LabelColumns.of_rows(labelled)
    weighing = columns.weigh(figures.sizes, figures.decided)
    return LabelledRows(labelled, figures, columns, weighing, source)


def either_answer(made: LabelledRows, *, as_label: bool = False) -> tuple[LabelledRows, ...]:
    """Return the rows with the panel wrong on every unanswered item of the draw, then right.

    ``as_label`` makes every such item a fail, then a pass. If the labels do not represent the run,
    all unanswered items count. Without any, return ().
    """
    everywhere = not made.weighing.design.stands
    passed = {
        verdict.key: verdict.decision is Decision.PASS
        for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True)
        if (inside or everywhere) and verdict.unanswered
    }
    if not passed:
        return ()
    found = []
    for answer in (False, True):
        good = {key: answer if as_label else one is answer for key, one in passed.items()}
        truths = {key: Truth.PASS if one else Truth.FAIL for key, one in good.items()}
        found.append(made.with_truths(truths))
    return tuple(found)


def split(
    verdicts: Sequence[LabelledRow], rows: Rows, given: Mapping[bytes, bool | None]
) -> BlindSplit:
    """Compute the figures of rows labelled blind and of all others, as ``given`` for each item."""
    ways = [given.get(verdict.item) for verdict in verdicts]
    return BlindSplit(
        blind=measure(rows.weighted([float(way is True) for way in ways]), None),
        open=measure(rows.weighted([float(way is not True) for way in ways]), None),
        unsaid=len({one.content for one, way in zip(verdicts, ways, strict=True) if way is None}),
    )


def alone(
    labelled: Sequence[LabelledRow],
    given: Mapping[bytes, bool | None],
    source: str | None = None,
    *,
    fits: bool = False,
) -> BlindFigures:
    """Compute a blind session's figures, and the fit if asked, from the labelled verdicts alone."""
    # In file order, because the order of the draw depends on the strata of all verdicts.
    held = sorted(labelled, key=lambda verdict: verdict.key)
    columns = LabelColumns.of_rows(held)
    own, stated = columns.own_source
    rows, kept = columns.rows(source or own, scores_stated=stated)
    line = measure(rows, None)
    fitted = fit(rows) if fits else None
    return BlindFigures(
        metrics=line,
        split=split([held[place] for place in kept.tolist()], rows, given),
        gates=default_checks(line, fitted.null if fitted else None),
        confidence_source=source or own,
        warnings=tuple(row_warnings(int(columns.decided.sum()) - len(kept), line)),
        fit=fitted,
    )


def described(made: LabelledRows) -> str | None:
    """Return what the labels describe while some decided stratum has none that counts."""
    if made.weighing.design in {Design.NONE, Design.AD_HOC} or not made.weighing.empty:
        return None
    return coverage_text(made.weighing.empty, made.figures)


def audited(made: LabelledRows) -> list[bool]:
    """Return, for each audit label that counts, if the panel is right on all of its verdicts."""
    audits = made.figures.audits
    found: dict[tuple[int, int], bool] = {}
    for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True):
        h, rank = unit = verdict.unit
        if inside and verdict.decided and rank < audits.get(h, 0):
            found[unit] = found.get(unit, True) and verdict.correct
    return list(found.values())


def panel_intervals(
    made: LabelledRows,
    target: Target = Target.RUN,
    sums: Mapping[int, ConfidenceSums] | None = None,
) -> PanelIntervals:
    """Compute the panel's intervals through the draw.

    Those for such items, for gates, cover any answer of unanswered items. Without ``sums`` of all
    confidences by stratum, Brier and gap also cover unknown ones, so that a run, a file of its
    labels and a new report agree.
    """
    found = _of_answers(made, target, sums)
    if target is Target.RUN:
        return found
    ends = [_of_answers(one, target, sums) for one in either_answer(made)]
    wide = {}
    for name in ("accuracy", "sensitivity", "specificity", "brier", "gap", "kappa"):
        wide[name] = widest(getattr(found, name), [getattr(one, name) for one in ends])
    return replace(found, **wide)


def _of_answers(
    made: LabelledRows, target: Target, sums: Mapping[int, ConfidenceSums] | None
) -> PanelIntervals:
    """Compute the intervals by the labels that say pass or fail alone."""
    found = stratified_rates(made.voted, target, made.clusters)
    effect = made.right_effect(target)
    brier, gap = _losses(made, target, effect, sums)
    # Undefined without a label, and if chance alone would agree on all.
    kappa = None
    value = counters_of(made.rows.weighted(made.weights)).cells.kappa
    if value is not None:
        parts = []
        passed = []
        for one in made.voted:
            whole = part_of(one, one.counted.right, effect.deff)
            cells = one.counted
            each = whole.labelled / cells.n if cells.n else 0.0
            for decision, count, right, wrong in (
                (True, one.passes, cells.tp, cells.fp),
                (False, one.fails, cells.tn, cells.fn),
            ):
                share = count / one.size
                labelled = (right + wrong) * each
                if count:
                    size = max(whole.size * share, labelled)
                    parts.append(Part(size, labelled, right * each, whole.share * share))
                    passed.append(decision)
        kappa = _holding(value, kappa_interval(parts, passed, target, effect.z))
    counted = round(sum(one.labels for one in made.voted))
    return PanelIntervals(
        target=target,
        counted=counted,
        tests=counted if made.clusters is None else made.clusters.tests,
        accuracy=found.accuracy,
        sensitivity=found.sensitivity,
        specificity=found.specificity,
        brier=brier,
        gap=gap,
        kappa=kappa,
    )


def _losses(
    made: LabelledRows, target: Target, effect: Effect, sums: Mapping[int, ConfidenceSums] | None
) -> tuple[Estimate | None, Estimate | None]:
    """Return the intervals of Brier and gap over the decided verdicts that have a confidence."""
    rows = made.rows.weighted(made.weights)
    if not len(rows.weight):
        return None, None
    every = zip(made.verdicts, made.weights, strict=True)
    stratum = np.array([verdict.stratum for verdict, weight in every if weight > 0])
    parts = {}
    for one in made.voted:
        mine = stratum == one.stratum
        known = one.size if sums is None else sums[one.stratum].n if one.stratum in sums else 0
        if known:
            weight = rows.weight[mine]
            right = float(np.average(rows.correct[mine], weights=weight)) if len(weight) else 0.0
            part = part_of(one, one.counted.right, effect.deff)
            share = known / one.size
            rated = len(weight) / one.counted.n if one.counted.n else 0.0
            labelled = min(part.labelled * rated, part.size * share)
            hits = min(right, 1.0) * labelled
            parts[one.stratum] = Part(part.size * share, labelled, hits, part.share * share)
    strata = loss_strata(rows, stratum.tolist(), parts, sums)
    counters = counters_of(rows)
    # The labels' own confidences may differ from those of all verdicts.
    return (
        _holding(counters.brier, brier_interval(strata, target, effect.z)),
        _holding(counters.gap, gap_interval(strata, target, effect.z)),
    )


def _holding(value: float | None, ends: tuple[float, float]) -> Estimate:
    every = ends if value is None else (*ends, value)
    return Estimate(value, min(every), max(every))


SIMULATED = ("accuracy", "should_pass", "specificity", "sensitivity", "gap", "brier")
"""The figures whose intervals the page shows, in its order."""


def simulate(
    made: LabelledRows, every: Sequence[LabelledRow], sums: Mapping[int, ConfidenceSums], runs: int
) -> tuple[SimulatedFigure, ...]:
    """Draw ``runs`` runs like the one at hand and check the intervals for this run.

    ``every`` has all verdicts. A content deserves its first verdict's decision with the rate ``(k +
    1/2)/(m + 1)``, where k of the m labels in its stratum and decision are right. As many contents
    of each stratum are labelled as count now. The seed is fixed.
    """
    rng = np.random.default_rng(0)
    decided = [one for one in every if one.judged]
    units = defaultdict[int, dict[int, list[LabelledRow]]](lambda: defaultdict(list))
    for one in every:
        units[one.stratum][one.rank].append(one)
    contents: dict[object, tuple[int, float, bool]] = {}
    seen = defaultdict[tuple[int, bool], list[bool]](list)
    for one, weight in zip(made.labelled, made.weighing.weights, strict=True):
        if weight and one.decided:
            seen[one.stratum, one.decision is Decision.PASS].append(one.correct)
    for one in decided:
        passed = one.decision is Decision.PASS
        some = seen[one.stratum, passed]
        rate = (sum(some) + 0.5) / (len(some) + 1)
        contents.setdefault(one.content, (len(contents), rate, passed))
    chance = np.array([rate for _, rate, _ in contents.values()])
    first = np.array([passed for _, _, passed in contents.values()])
    place = np.array([contents[one.content][0] for one in decided])
    passes = np.array([one.decision is Decision.PASS for one in decided])
    columns = LabelColumns.of_rows(decided)
    sure = columns.confidences(made.source, scores_stated=made.figures.scores_stated)
    known = ~np.isnan(sure)
    values = sure[known]
    no = Truth.UNSURE
    found = defaultdict[str, list[Sequence[float]]](list)
    for _ in range(runs):
        good = (rng.random(len(chance)) < chance) == first
        deserved = good[place]
        truths = (Truth.PASS if one else Truth.FAIL for one in good.tolist())
        given = dict(zip(contents, truths, strict=True))
        rows = [
            replace(one, rank=rank, truth=given.get(one.content, no))
            for h, held in units.items()
            for rank, at in enumerate(rng.permutation(len(held))[: made.weighing.counted[h]])
            for one in [*held.values()][at]
        ]
        right = (passes == deserved)[known]
        whole = Rows(values, right, np.ones(len(values)), passes[known])
        labelled = make_rows(rows, made.figures, made.source)
        for name, *figures in _checked(labelled, whole, float(deserved.mean()), sums):
            found[name].append(figures)
    checked = {name: SimulatedFigure(name, 0, None, None, None) for name in SIMULATED}
    for name, rows_found in found.items():
        estimate, low, high, truth = np.array(rows_found).T
        held = (low - SLACK <= truth) & (truth <= high + SLACK)
        means = ((estimate - truth).mean(), held.mean(), (high - low).mean())
        checked[name] = SimulatedFigure(name, len(truth), *map(float, means))
    return tuple(checked.values())


def _checked(
    made: LabelledRows, whole: Rows, deserved: float, sums: Mapping[int, ConfidenceSums]
) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield each figure that is defined: its estimate, ends and truth."""
    line = measure(made.headline, None)
    truth = measure(whole, None)
    drawn = panel_intervals(made, Target.RUN, sums)
    for name in SIMULATED:
        if name == "should_pass":
            found = drawn_rate(made.pass_parts)
            estimate = found.estimate
            true: float | None = deserved
        else:
            found = getattr(drawn, name)
            estimate = getattr(line, name)
            true = getattr(truth, name)
        if estimate is not None and true is not None and found is not None:
            yield name, estimate, found.low, found.high, true
