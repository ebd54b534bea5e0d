"""The figures of a judge that gates check, each with its interval for such items.

Such items are what the process behind a run produces. A run is itself a sample of them, so a fully
labelled run has an interval as wide as that of the same number of labels drawn at random.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import NOT_STATED, STRATA, Decided, LabelledRow, RunFigures
from reviewdesk.domain.labels.summary import LabelledRows, either_answer, make_rows
from reviewdesk.domain.records import Metrics, Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.figures import Estimate, Fit, PanelIntervals, Part, Target, widest
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.reliability import kappa_interval, share_ends
from reviewdesk.domain.stats.stratified import part_of, share
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

    Rows on one content are one label, whose stratum may be that of another verdict on the content;
    ``tests`` names the case of each row. Return ``None`` unless each row names a stratum, and all
    contents of a stratum weigh alike, if none has several rows.
    """
    if rows.passed is None or strata is None or not set(strata) <= set(STRATA):
        return None
    contents = np.arange(len(strata)) if rows.content is None else rows.content
    units: dict[tuple[int, int], int] = {}
    mass = Counter[int]()
    sizes = defaultdict[int, float](float)
    decided = defaultdict[tuple[int, bool], float](float)
    given: dict[tuple[int, bytes], float] = {}
    labelled: list[LabelledRow] = []
    for at, (name, right) in enumerate(zip(strata, rows.correct.tolist(), strict=True)):
        passed = bool(rows.passed[at])
        content = int(contents[at])
        h = STRATA.index(name)
        weight = float(rows.weight[at])
        test = tests[at] if tests else ""
        item = b"%d" % content
        truth = Truth.PASS if passed is right else Truth.FAIL
        if (h, content) not in units:
            units[h, content] = mass[h]
            mass[h] += 1
            sizes[h] += weight
        place = h, units[h, content], truth
        row = _row(at, item, passed, float(rows.confidence[at]), place, test)
        decided[h, passed] += weight
        given[h, item] = weight
        labelled.append(row)
    for h in mass if rows.content is None else ():
        mine = rows.weight[[one.stratum == h for one in labelled]]
        if float(np.ptp(mine)) > SLACK * float(mine.max()):
            return None
    whole = {h: max(round(sizes[h]), count) for h, count in mass.items()}
    counts = {h: (round(decided[h, True]), round(decided[h, False])) for h in mass}
    seen = Counter((row.stratum, row.decision) for row in labelled)
    counts |= {
        h: (passes, fails)
        for h, (passes, fails) in stated.items()
        if passes >= seen[h, Decision.PASS] and fails >= seen[h, Decision.FAIL]
    }
    ranks: dict[str, int] = {}
    for at, one in enumerate(unanswered, len(labelled)):
        h = STRATA.index(one.stratum)
        if h in whole:
            if one.item not in ranks:
                ranks[one.item] = mass[h]
                mass[h] += 1
            item = b"?" + one.item.encode()
            place = h, ranks[one.item], Truth.UNSURE
            labelled.append(_row(at, item, one.passed, one.confidence, place, one.test))
    figures = RunFigures(0, 0, "reported", scores_stated=False, sizes=whole, decided=counts)
    made = make_rows(labelled, figures)
    return made if rows.content is None else made.reweighed(given, sizes)


def _row(
    at: int, item: bytes, passed: bool, sure: float, place: tuple[int, int, Truth], test: str
) -> LabelledRow:
    decision = Decision.PASS if passed else Decision.FAIL
    return LabelledRow(at, str(at), item, decision, None, None, sure, 0, 0, *place, test=test)


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
    """Return sensitivity, specificity and kappa of a confusion alone, in counts or scaled weights.

    A rate whose class is empty is 0.0, as the judge calibration document defines it, with the
    interval 0..1.
    """
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
    rates = []
    for one in (made, *either_answer(made, as_label=True)):
        effect = one.pass_effect(Target.ITEMS)
        parts = [part_of(voted, voted.counted.deserved, effect.deff) for voted in one.voted]
        rates.append(share(parts, lacking, Target.ITEMS, effect.z))
    found: Estimate = widest(rates[0], rates[1:])
    return found
