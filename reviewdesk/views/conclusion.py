"""Whether a judge may gate, and why not: the sentence that calibration begins with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from reviewdesk.domain.gates.limits import (
    FEWEST,
    SPECIFICITY_LIMIT,
    UNUSUAL,
    GateStatus,
    LimitCheck,
)
from reviewdesk.domain.records import Blocker, Design, Metrics, labels_missing
from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, Interval, NullEce
from reviewdesk.domain.verdict import SLACK
from reviewdesk.views.document import Block, Paragraph, Section, Tone, outside
from reviewdesk.views.labels import MEANS
from reviewdesk.views.progress import waits
from reviewdesk.views.words import SIDES, chance, labels, number, plural

_ASKS = "May this judge gate?"
_NAMES = {"ece": "ECE", "brier": "Brier", "corrected_rate": "the corrected pass rate"}
_BLIND = (
    f"{_ASKS} A blind session does not tell: that rests on the draw, and so on what the panel said "
    "of verdicts without a label."
)


class _Evidence(Struct, frozen=True):
    """What the answer rests on; intervals are of such items, as those of a suite's gates are."""

    line: Metrics
    gates: Sequence[LimitCheck]
    null: NullEce | None
    brier: Interval | None
    accuracy: Estimate | Interval | None
    specificity: Estimate | None
    least_pass_rate: float | None = None
    """The lower end of the pass rate through the draw."""


def run_conclusion(page: CalibrationPage, *, blind: bool = False) -> Section:
    """Say whether the judge of a run may gate, and which items labels wait behind, if any do."""
    found = _answer(page, blind=blind)
    named = page.skipped if blind else page.blockers
    return Section(found.title, (*found.blocks, *waiting(named)))


def waiting(found: Sequence[Blocker]) -> tuple[Block, ...]:
    """Return a line for each undecided item that labels wait behind."""
    return tuple(
        Paragraph((before.capitalize(), outside(name, 200), f"{after}."), Tone.WARN)
        for before, name, after in waits(found)
    )


def _answer(page: CalibrationPage, *, blind: bool) -> Section:
    """Say whether the judge of a run may gate by the default limits, and what to do if not.

    It may not while labels are missing: without a label in every stratum of the draw they do not
    represent the run, and ``FEWEST`` must count. Nor may it if a limit is missed, if an interval
    reaches past its limit, as ``gate --require-representative`` has it, or if it may pass more than
    a fifth of the bad answers.
    """
    found = page.calibration
    such = page.such
    line = found.headline
    design = found.design
    few = _few(page)
    if blind and found.labelled.n:
        return _section(_BLIND, few)
    more = few if blind else " ".join(filter(None, (few, _next_step(page))))
    if not found.labelled.n:
        text = (
            f"no label makes a row, so there is nothing to measure. At least {FEWEST} are needed."
        )
        return _section(f"{_ASKS} Not yet: {text}", more)
    if not design.stands:
        they = "it does" if line.n == 1 else "they do"
        subject = f"{plural(line.n, 'label')}, and {they} not stand for the run"
        why, _, _ = MEANS[design].partition(":")
        return _section(f"{_ASKS} Not yet: {subject} ({design.value}: {why}).", more)
    if line.n < FEWEST:
        return _section(f"{_ASKS} Not yet: {_too_few(line.n, design)}", more)
    evidence = _Evidence(
        line,
        page.gates,
        page.fit.null if page.fit else None,
        such.brier if such else None,
        such.accuracy if such else None,
        such.specificity if such else None,
        page.honest.low,
    )
    return _section(*_judged(evidence, f"{plural(line.n, 'label')} through the draw"))


def _too_few(labels: int, design: Design) -> str:
    """Say how many labels there are, and how many are needed."""
    if design is not Design.CENSUS:
        return f"{plural(labels, 'label')} through the draw, and at least {FEWEST} are needed."
    one = "the one decided verdict has"
    every = one if labels == 1 else f"all {labels} decided verdicts have"
    return f"{every} a label, fewer than the {FEWEST} needed."


def file_conclusion(page: FilePage) -> Section:
    """Say whether the judge of a labels file may gate by the default limits, and why not."""
    line = page.calibration.headline
    fit = page.fit
    rows = plural(line.n, "row")
    if line.n < FEWEST:
        text = f"{rows}, and at least {FEWEST} labels are needed"
    elif not page.representative:
        text = f"the file does not say that its {rows} are drawn from a whole run"
    else:
        evidence = _Evidence(line, page.gates, fit.null, fit.brier, fit.accuracy, page.specificity)
        return _section(*_judged(evidence, rows))
    return _section(f"{_ASKS} Not yet: {text}.")


def _few(page: CalibrationPage) -> str:
    """Say how many labels are missing until the figures mean something, as the strip does."""
    n = page.calibration.labelled.n
    counts = page.counts
    missing = labels_missing(n, counts.verdicts - counts.labelled) if n else 0
    text = f"The figures come from few labels: {missing:,} more until they mean something."
    return text if missing else ""


def _next_step(page: CalibrationPage) -> str:
    if page.counts.verdicts < FEWEST:
        return (
            f"This run of {plural(page.counts.verdicts, 'verdict')} is too small to show it alone."
        )
    left = plural(page.left, "verdict has", "verdicts have")
    return f"Label on in the order of the draw: {left} no label yet." if page.left else ""


def _section(text: str, more: str = "") -> Section:
    blocks: list[Block] = [Paragraph(text, Tone.STRONG)]
    if more:
        blocks.append(Paragraph(more))
    return Section("", tuple(blocks))


def _judged(found: _Evidence, basis: str) -> tuple[str, str]:
    """Return the answer that enough labels give, and a second sentence, which may be empty."""
    line = found.line
    doubts = list(_doubts(found))
    faults = list(_faults(found))
    right = f"Right {number(line.accuracy, 2)} of the time{_ends(found.accuracy)} on {basis}."
    passes, few_enough = _false_passes(found)
    unproven = [passes] if passes and not few_enough else []
    if faults:
        return f"{_ASKS} No: {'; '.join(faults + unproven)}.", right
    if unproven:
        return f"{_ASKS} Not as a gate: {'; '.join(unproven + doubts)}.", right
    if doubts:
        return f"{_ASKS} Not yet: {'; '.join(doubts)}.", right
    kept = [_kept(one, found) for one in found.gates if one.status is GateStatus.PASS]
    kept.append(f"and {passes}, at most {1 - SPECIFICITY_LIMIT:.0%}")
    weak = line.corrected_status == CorrectionStatus.WEAK_JUDGE
    judge = f" It is a weak judge: Youden's J is {number(line.youden_j, 2)}." if weak else ""
    return f"{_ASKS} Yes, by the default limits: {', '.join(kept)}.", right + judge


def _false_passes(found: _Evidence) -> tuple[str, bool]:
    """Say how many bad answers the judge passes, and whether these are shown to be few enough.

    The text is empty if no label says fail, which ``_doubts`` says.
    """
    fp = found.line.fp
    tn = found.line.tn
    if fp is None or tn is None:
        unknown = "the rows do not say what the judge decided, nor how many bad answers it passes"
        return unknown, False
    if not fp + tn:
        return "", False
    text = f"it passes {labels(fp)} of {plural(fp + tn, 'bad answer')}"
    if found.specificity is None:
        return f"{text}, which has no interval", False
    low = found.specificity.low
    # Rounded up, so that a share over the limit never reads as the limit.
    most = math.ceil(100 * (1 - low) - SLACK)
    return f"{text} (95%: up to {most}%)", low >= SPECIFICITY_LIMIT - SLACK


def _kept(one: LimitCheck, found: _Evidence) -> str:
    ends = _ends(found.brier) if one.target == "brier" else ""
    value = f"{_NAMES[one.target]} {number(one.value, 2)}{ends}"
    return f"{value}, {SIDES[one.op]} {number(one.limit, 2)}"


def _ends(found: Estimate | Interval | None) -> str:
    return "" if found is None else f" (95%: {number(found.low, 2)} to {number(found.high, 2)})"


def _missed(found: _Evidence) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each missed limit, and whether chance can explain it."""
    for one in (one for one in found.gates if one.status is GateStatus.FAIL):
        limit = one.limit or 0.0
        text = f"{_NAMES[one.target]} {number(one.value, 2)}"
        over = f"is over {number(one.limit, 2)}"
        if one.target == "ece" and found.null is not None:
            p = found.null.p
            yield f"{text} {over} ({chance(p)} if it were calibrated)", p >= UNUSUAL
        elif one.target == "brier" and found.brier is not None:
            yield f"{text}{_ends(found.brier)} {over}", found.brier.low <= limit + SLACK
        elif one.target == "corrected_rate":
            least = found.least_pass_rate
            yield f"{text} {over} observed", least is None or least <= limit + SLACK
        else:
            yield f"{text} {over}", True


def _faults(found: _Evidence) -> Iterator[str]:
    """Yield the missed limits that chance does not explain."""
    yield from (text for text, by_chance in _missed(found) if not by_chance)


def _doubts(found: _Evidence) -> Iterator[str]:
    """Yield why the labels do not prove that the judge may gate."""
    line = found.line
    if line.tp is not None and not line.tp + (line.fn or 0):
        yield "no label says pass, so nobody knows how much of what is good it lets through"
    elif line.tp is not None and not (line.tn or 0) + (line.fp or 0):
        yield "no label says fail, so nobody knows how much of what is bad it catches"
    elif line.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        yield f"by the labels it carries no signal (Youden's J {number(line.youden_j, 2)})"
    yield from (f"{text}, maybe by chance" for text, by_chance in _missed(found) if by_chance)
    for one in found.gates:
        if one.target != "brier" or one.status is not GateStatus.PASS:
            continue
        limit = number(one.limit, 2)
        if found.brier is None:
            yield f"Brier {number(one.value, 2)} is at most {limit}, but has no interval"
        elif found.brier.high > (one.limit or 0.0) + SLACK:
            yield f"Brier {number(one.value, 2)}{_ends(found.brier)} may be over {limit}"
