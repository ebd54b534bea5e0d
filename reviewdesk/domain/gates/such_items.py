"""The figures of a judge that gates check, each with its interval for such items."""

from collections import defaultdict
from collections.abc import Sequence
from math import nan

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.gates.join import LabelRow
from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import NOT_STATED, STRATA, Decided, LabelledRow, RunFigures
from reviewdesk.domain.records import Metrics, Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.figures import Estimate, Fit, PanelIntervals, Part, Target, widest
from reviewdesk.domain.stats.kappa import kappa_interval
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.reliability import share_ends
from reviewdesk.domain.verdict import SLACK, Decision

UNDECIDED = "not every row says what the judge decided"
NO_KAPPA = "chance alone would agree on every row"


def as_run(
    rows: Sequence[LabelRow],
    unanswered: Sequence[LabelRow] = (),
    stated: Decided = NOT_STATED,
) -> LabelledRows | None:
    """Return the run that drawn rows stand for: the size of a stratum is the sum of its weights.

    ``stated`` has its decisions; a stratum that it lacks has as many as its rows stand for. Return
    ``None`` unless all contents of a stratum weigh alike, if none has several rows.
    """
    alone = len({row.item_hash for row in rows}) == len(rows)
    sizes = {}
    decided = {}
    for h in sorted({row.place for row in rows if row.place is not None}):
        mine = [row for row in rows if row.place == h]
        weights = {row.item_hash: row.weight or 0.0 for row in reversed(mine)}.values()
        if alone and max(weights) - min(weights) > SLACK * max(weights):
            return None
        sizes[h] = max(round(sum(weights)), len(weights))
        sides = [
            [row.weight or 0.0 for row in mine if row.decision == side]
            for side in (Decision.PASS, Decision.FAIL)
        ]
        passes, fails = stated.get(h, (-1, -1))
        if passes < len(sides[0]) or fails < len(sides[1]):
            passes, fails = (round(sum(side)) for side in sides)
        decided[h] = passes, fails
    ranks = defaultdict[int, dict[str | None, int]](dict)
    labelled = []
    for key, row in enumerate([*rows, *unanswered]):
        h = STRATA.index(row.stratum or "")
        if h not in sizes:
            continue
        rank = ranks[h].setdefault(row.item_hash, len(ranks[h]))
        made = Decision(row.decision or "")
        truth = Truth.PASS if (made is Decision.PASS) is row.correct else Truth.FAIL
        truth = Truth.UNSURE if row.correct is None else truth
        item = (row.item_hash or "").encode()
        place = h, rank, truth
        labelled.append(
            LabelledRow(
                key, "", item, made, None, None, row.confidence, 0, 0, *place, test=row.test or ""
            )
        )
    figures = RunFigures(0, 0, "reported", scores_stated=False, sizes=sizes, decided=decided)
    known = [row.weight or 0.0 for row in rows]
    given = None if alone else known + [nan] * (len(labelled) - len(rows))
    return make_rows(labelled, figures, "reported", given)


def as_wrong_and_right(rows: Rows, unanswered: Sequence[LabelRow]) -> tuple[Rows, ...]:
    """Return undrawn rows with all unanswered ones wrong, then right; () without any."""
    n = len(unanswered)
    if not n:
        return ()
    passed = content = None
    if rows.passed is not None:
        made = [one.decision == Decision.PASS for one in unanswered]
        passed = np.append(rows.passed, made)
    if rows.content is not None:
        items = dict.fromkeys(one.item_hash for one in unanswered)
        numbers = {item: at for at, item in enumerate(items, int(rows.content.max(initial=-1)) + 1)}
        content = np.append(rows.content, [numbers[one.item_hash] for one in unanswered])
    sure = np.append(rows.confidence, [one.confidence or 0.0 for one in unanswered])
    weight = np.append(rows.weight, np.ones(n))
    return tuple(
        Rows(sure, np.append(rows.correct, [right] * n), weight, passed, content)
        for right in (False, True)
    )


def such_items(
    rows: Rows, line: Metrics, fit: Fit, found: PanelIntervals | None
) -> dict[str, Estimate]:
    """Return every figure of labelled rows that has an interval, by name; empty without rows.

    ``line`` and ``fit`` give the values. ``found`` holds the intervals through the draw; without it
    rows count as drawn at random, with Kish's effective number.
    """
    if not line.n:
        return {}
    ends = fit if found is None else found
    made = {name: getattr(ends, name) for name in ("accuracy", "brier", "gap")}
    if rows.passed is not None:
        made["kappa"] = ends.kappa
        deserved = rows.passed == rows.correct
        for name, kept in (("sensitivity", deserved), ("specificity", ~deserved)):
            alone = Estimate(None, *share_ends(rows.weighted(rows.weight * kept)))
            made[name] = getattr(found, name, alone)
    lacking = Estimate(None, reason=UNDECIDED if rows.passed is None else NO_KAPPA)
    return dict.fromkeys(("sensitivity", "specificity", "kappa"), lacking) | {
        name: replace(one, estimate=getattr(line, name)) for name, one in made.items() if one
    }


def of_counts(tp: float, fn: float, tn: float, fp: float) -> dict[str, Estimate]:
    """Return the figures of a confusion alone; the rate of an empty class is 0.0, within 0..1."""
    cells = Cells(tp, fn, tn, fp)
    parts = [Part(tp + fp, tp + fp, tp), Part(tn + fn, tn + fn, tn)]
    kappa = Estimate(None, reason=NO_KAPPA)
    if cells.kappa is not None:
        kappa = Estimate(cells.kappa, *kappa_interval(parts, [True, False], Target.ITEMS))
    # A class of almost no weight counts as empty; its interval would leave the range of floats.
    hit, reject = (
        wilson(right, size) if size > SLACK else (0.0, 1.0)
        for right, size in ((tp, tp + fn), (tn, tn + fp))
    )
    return {
        "sensitivity": Estimate(cells.sensitivity, *hit),
        "specificity": Estimate(cells.specificity, *reject),
        "kappa": kappa,
    }


def pass_rate(made: LabelledRows) -> Estimate:
    """Estimate how many such items should pass; the ends cover any truth of unanswered ones."""
    every = (made, *made.either_answer(as_label=True))
    rates = [one.share("should_pass", Target.ITEMS) for one in every]
    found: Estimate = widest(rates[0], rates[1:])
    return found
