"""Computes what labelled verdicts say: intervals through the draw, strata, and simulations."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import asdict, replace

from reviewdesk.domain.gates.expect import default_checks
from reviewdesk.domain.labels.label_columns import LabelColumns, LabelledRows, row_warnings, weigh
from reviewdesk.domain.labels.sampling import STRATA, LabelledRow, Stratum, decided_strata
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.calibration_page import BlindFigures, BlindSplit
from reviewdesk.domain.stats.correction import RIGHT, WRONG
from reviewdesk.domain.stats.figures import (
    ALONE,
    ConfidenceSums,
    Effect,
    Estimate,
    PanelIntervals,
    Part,
    SimulatedFigure,
    Target,
    widest,
)
from reviewdesk.domain.stats.kappa import kappa_interval
from reviewdesk.domain.stats.rates import part_of
from reviewdesk.domain.stats.reliability import brier_interval, fit, gap_interval, loss_strata
from reviewdesk.domain.verdict import SLACK


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
    made: LabelledRows, given: Mapping[bytes, bool | None], source: str | None = None
) -> BlindFigures:
    """Compute a blind session's figures from the labelled verdicts alone."""
    # In file order, because the order of the draw depends on the strata of all verdicts.
    order = np.argsort(made.columns.key)
    columns = made.columns.at(order)
    rows, kept = columns.own_rows(source)
    line = measure(rows, None)
    fitted = fit(rows)
    return BlindFigures(
        metrics=line,
        split=split([made.labelled[place] for place in order[kept].tolist()], rows, given),
        gates=default_checks(line, fitted.null),
        warnings=tuple(row_warnings(int(columns.decided.sum()) - len(kept), line)),
        fit=fitted,
    )


def strata(made: LabelledRows) -> tuple[Stratum, ...]:
    """Return every stratum with contents, and how far its labels and its audit reach."""
    sizes = made.figures.sizes
    held = decided_strata(sizes, made.figures.decided)
    counted = made.weighing.counted
    _, leads = made.columns.units
    stratum = made.columns.stratum[leads]
    every = Counter(stratum.tolist())
    audited = Counter(stratum[made.in_audit[leads]].tolist())
    return tuple(
        Stratum(
            name=STRATA[h],
            size=sizes[h],
            labelled=every[h],
            prefix=made.weighing.ends.get(h, 0),
            counted=counted[h],
            weight=sizes[h] / counted[h] if counted[h] and h in held else None,
            audit=made.figures.audits.get(h, 0),
            audit_done=audited[h],
            decided=h in held,
        )
        for h in sorted(sizes)
        if sizes[h]
    )


def audited(made: LabelledRows) -> list[bool]:
    """Return, for each audit label that counts, if the panel is right on all of its verdicts."""
    columns = made.columns
    kept = columns.decided & made.weighing.drawn & made.in_audit
    wrong = columns.any_of(kept & ~columns.right, columns.units)
    right: list[bool] = (~wrong[columns.any_of(kept, columns.units)]).tolist()
    return right


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
    ends = [_of_answers(one, target, sums) for one in made.either_answer()]
    wide = {
        name: widest(getattr(found, name), [getattr(one, name) for one in ends])
        for name in ("accuracy", "sensitivity", "specificity", "brier", "gap", "kappa")
    }
    return replace(found, **wide)


def _of_answers(
    made: LabelledRows, target: Target, sums: Mapping[int, ConfidenceSums] | None
) -> PanelIntervals:
    """Compute the intervals by the labels that say pass or fail alone."""
    found = made.rates(target)
    effect = made.clusters.effect(RIGHT, WRONG, target) if made.clusters else ALONE
    brier, gap = _losses(made, target, effect, sums)
    # Undefined without a label, and if chance alone would agree on all.
    kappa = None
    value = measure(made.rows.weighted(made.weights)).kappa
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
        tests=counted if made.clusters is None else len(np.unique(made.clusters.test)),
        **asdict(found),
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
    stratum = made.columns.stratum[made.places][made.weights > 0]
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
    line = measure(rows)
    # The labels' own confidences may differ from those of all verdicts.
    return (
        _holding(line.brier, brier_interval(strata, target, effect.z)),
        _holding(line.gap, gap_interval(strata, target, effect.z)),
    )


def _holding(value: float | None, ends: tuple[float, float]) -> Estimate:
    every = ends if value is None else (*ends, value)
    return Estimate(value, min(every), max(every))


SIMULATED = ("accuracy", "should_pass", "specificity", "sensitivity", "gap", "brier")


def simulate(
    made: LabelledRows, every: Sequence[LabelledRow], sums: Mapping[int, ConfidenceSums], runs: int
) -> tuple[SimulatedFigure, ...]:
    """Draw ``runs`` runs like the one at hand and check the intervals for this run.

    ``every`` has all verdicts. A content deserves its first verdict's decision with the rate ``(k +
    1/2)/(m + 1)``, where k of the m labels in its stratum and decision are right. As many contents
    of each stratum are labelled as count now. The seed is fixed.
    """
    rng = np.random.default_rng(0)
    columns = LabelColumns.of_rows(every)
    own = made.columns
    seen, right = (
        np.bincount((own.stratum * 2 + own.passed)[kept], minlength=2 * len(STRATA))
        for kept in (made.counting, made.counting & own.right)
    )
    rate = (right + 0.5) / (seen + 1)
    # The first decided verdict of each content, in their order, and each verdict's place there.
    content, leads = columns.contents
    decided = np.flatnonzero(columns.judged)
    first = decided[np.sort(np.unique(content[decided], return_index=True)[1])]
    place = np.full(len(leads), -1)
    place[content[first]] = np.arange(len(first))
    place = place[content]
    chance = rate[(columns.stratum * 2 + columns.passed)[first]]
    sure = columns.confidences(made.source, scores_stated=made.figures.scores_stated)
    known = columns.judged & ~np.isnan(sure)
    counted = np.array([made.weighing.counted[h] for h in columns.stratum.tolist()])
    units = []
    for h in dict.fromkeys(columns.stratum.tolist()):
        mine = columns.stratum == h
        units.append((mine, np.unique(columns.rank[mine], return_inverse=True)[1]))
    found = defaultdict[str, list[Sequence[float]]](list)
    for _ in range(runs):
        good = (rng.random(len(chance)) < chance) == columns.passed[first]
        deserved = good[place] & (place >= 0)
        rank = np.empty(len(columns), np.int64)
        for mine, unit in units:
            rank[mine] = np.argsort(rng.permutation(unit.max() + 1))[unit]
        answered = columns.with_truths(place >= 0, deserved)
        drawn = dataclasses.replace(answered, rank=rank).at(np.flatnonzero(rank < counted))
        labelled = weigh(drawn, made.figures, made.source)
        correct = (columns.passed == deserved)[known]
        whole = Rows(sure[known], correct, np.ones(len(correct)), columns.passed[known])
        mean = float(deserved[decided].mean())
        for name, *figures in _checked(labelled, whole, mean, sums):
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
            found = made.rates(Target.RUN).should_pass
            estimate = found.estimate
            true: float | None = deserved
        else:
            found = getattr(drawn, name)
            estimate = getattr(line, name)
            true = getattr(truth, name)
        if estimate is not None and true is not None and found is not None:
            yield name, estimate, found.low, found.high, true
