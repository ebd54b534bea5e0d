"""The figures of a judge that gates check, each with its interval for such items."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import nan

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import NOT_STATED, STRATA, Decided, LabelledRow, RunFigures
from reviewdesk.domain.labels.summary import LabelledRows, either_answer, make_rows
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


class UnansweredRow(Struct, frozen=True):
    """A decided verdict on an ``item`` that nobody answered; see ``non_response``."""

    item: str
    confidence: float
    passed: bool
    stratum: str
    test: str = ""


def as_run(
    rows: Rows,
    strata: Sequence[str] | None,
    tests: Sequence[str] = (),
    unanswered: Sequence[UnansweredRow] = (),
    stated: Decided = NOT_STATED,
) -> LabelledRows | None:
    """Return the run that drawn rows stand for: the size of a stratum is the sum of its weights.

    ``stated`` has its decisions; a stratum that it lacks has as many as its rows stand for.
    ``tests`` names the case of each row. Return ``None`` unless each row names a stratum, and all
    contents of a stratum weigh alike, if none has several rows.
    """
    if rows.passed is None or strata is None or not set(strata) <= set(STRATA):
        return None
    contents = np.arange(len(strata)) if rows.content is None else rows.content
    stratum = np.array([STRATA.index(name) for name in strata], np.int64)
    sizes = {}
    decided = {}
    for h in np.flatnonzero(np.bincount(stratum)).tolist():
        mine = stratum == h
        weight = rows.weight[mine]
        if rows.content is None and float(np.ptp(weight)) > SLACK * float(weight.max()):
            return None
        _, first = np.unique(contents[mine], return_index=True)
        sizes[h] = max(round(float(weight[first].sum())), len(first))
        passed = rows.passed[mine]
        passes, fails = (round(float(weight[side].sum())) for side in (passed, ~passed))
        if h in stated and stated[h][0] >= passed.sum() and stated[h][1] >= (~passed).sum():
            passes, fails = stated[h]
        decided[h] = passes, fails
    more = [one for one in unanswered if one.stratum in strata]
    own = zip(
        strata, contents.tolist(), rows.confidence.tolist(), rows.passed.tolist(),
        np.where(rows.passed == rows.correct, Truth.PASS, Truth.FAIL), tests or [""] * len(strata),
        strict=True,
    )  # fmt: skip
    others = [
        (one.stratum, one.item, one.confidence, one.passed, Truth.UNSURE, one.test) for one in more
    ]
    ranks = defaultdict[str, dict[Hashable, int]](dict)
    labelled = []
    for key, (name, item, sure, passes, truth, test) in enumerate([*own, *others]):
        made = Decision.PASS if passes else Decision.FAIL
        rank = ranks[name].setdefault(item, len(ranks[name]))
        place = STRATA.index(name), rank, Truth(truth)
        row = LabelledRow(
            key, "", repr(item).encode(), made, None, None, sure, 0, 0, *place, test=test
        )
        labelled.append(row)
    figures = RunFigures(0, 0, "reported", scores_stated=False, sizes=sizes, decided=decided)
    given = None if rows.content is None else [*rows.weight.tolist(), *(nan for _ in more)]
    return make_rows(labelled, figures, "reported", given)


def as_wrong_and_right(rows: Rows, unanswered: Sequence[UnansweredRow]) -> tuple[Rows, ...]:
    """Return undrawn rows with all unanswered ones wrong, then right; () without any."""
    n = len(unanswered)
    if not n:
        return ()
    passed = content = None
    if rows.passed is not None:
        passed = np.append(rows.passed, [one.passed for one in unanswered])
    if rows.content is not None:
        items = dict.fromkeys(one.item for one in unanswered)
        numbers = {item: at for at, item in enumerate(items, int(rows.content.max(initial=-1)) + 1)}
        content = np.append(rows.content, [numbers[one.item] for one in unanswered])
    sure = np.append(rows.confidence, [one.confidence for one in unanswered])
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


def pass_rate(made: LabelledRows, lacking: str | None = None) -> Estimate:
    """Estimate how many such items should pass; the ends cover any truth of unanswered ones."""
    every = (made, *either_answer(made, as_label=True))
    rates = [one.share("should_pass", lacking, Target.ITEMS) for one in every]
    found: Estimate = widest(rates[0], rates[1:])
    return found
