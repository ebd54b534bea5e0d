"""The first sentence of a calibration: whether the judge may decide alone and, if not, why."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from reviewdesk.domain.gates.expect import (
    BRIER_LIMIT,
    ECE_LIMIT,
    FEWEST,
    SPECIFICITY_LIMIT,
    UNUSUAL,
    GateStatus,
    LimitCheck,
)
from reviewdesk.domain.records import Design, Metrics, labels_missing
from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, NullEce
from reviewdesk.domain.verdict import SLACK
from reviewdesk.views.document import Block, Paragraph, Section, Tone, outside
from reviewdesk.views.queue import strip_line, waits
from reviewdesk.views.words import DESIGNS, labels, plural

_ASKS = "May this judge decide alone?"
_NAMES = {"ece": "ECE", "brier": "Brier", "corrected_rate": "the share that should pass"}
_WHY_NOT = {
    Design.AD_HOC: "the labels are out of the random order",
    Design.ESCALATED_ONLY: "only escalated verdicts are labelled, which are the hard ones",
    Design.PARTIAL: "one group of verdicts has no label, so the labels do not describe the run",
}
"""Why the labels of a design say nothing about the run."""
_MOST = math.ceil(100 * (1 - SPECIFICITY_LIMIT) - SLACK)
"""The percentage of bad answers that a judge may pass at most, at the upper end."""
_BLIND = "A blind session does not say, because the answer uses verdicts without a label."


class _Evidence(Struct, frozen=True):
    """The evidence for the answer; intervals are for such items, as in the gates of a suite."""

    line: Metrics
    gates: Sequence[LimitCheck]
    null: NullEce | None
    brier: Estimate | None
    specificity: Estimate | None
    least_pass_rate: float = -math.inf
    """The lower end of the pass rate through the draw."""


def conclusion(page: CalibrationPage, *, blind: bool = False) -> Section:
    """Say whether the judge of a run may decide alone, by the default limits.

    It may not while labels are missing: each stratum of the draw needs a label, so that they
    represent the run, and at least ``FEWEST`` must count. It also may not if a limit is missed, if
    an interval reaches past its limit, as in ``gate --require-representative``, or if it may pass
    more than a fifth of the bad answers.
    """
    found = page.calibration
    line = found.headline
    design = found.design
    if not found.labelled.n and found.no_verdict:
        text = "the panel decided none of the verdicts that have a pass or fail label"
        return _section(f"Not yet: {text}.")
    if not found.labelled.n:
        return _section("Not yet: there are no pass or fail labels.")
    if blind:
        return _section(_BLIND)
    if not design.stands:
        named = named_design(page)
        return _section(f"Not yet: {_WHY_NOT.get(named, DESIGNS[named])}.")
    if line.n < FEWEST and _nothing_left(page):
        few = f"{plural(line.n, 'label is', 'labels are')} fewer than the {FEWEST} needed"
        return _section(f"Not yet: every decided verdict has a label, and {few}.")
    if line.n < FEWEST:
        text = f"{plural(line.n, 'label counts', 'labels count')}, and at least {FEWEST} are needed"
        return _section(f"Not yet: {text}.")
    evidence = _Evidence(
        line, page.gates, page.fit.null, page.such.brier, page.such.specificity, page.honest.low
    )
    return _section(_answer(evidence))


def _nothing_left(page: CalibrationPage) -> bool:
    whole = page.labelled == page.verdicts
    return whole or page.calibration.design is Design.CENSUS


def named_design(page: CalibrationPage) -> Design:
    """Return the design in words for people: one group lacks a label if another of the rest has."""
    design = page.calibration.design
    others = any(one.counted for one in page.strata if one.name.startswith("rest/"))
    return Design.PARTIAL if others and design is Design.ESCALATED_ONLY else design


def progress(page: CalibrationPage) -> str:
    """Return how many verdicts have a label, and how many more labels the figures need."""
    n = page.calibration.labelled.n
    some = f", and {plural(n, 'label counts', 'labels count')}" if n < page.labelled else ""
    text = f"{page.labelled:,} of {plural(page.verdicts, 'verdict')} labelled{some}."
    missing = labels_missing(n, page.verdicts - page.labelled)
    return f"{text} Figures show after {plural(missing, 'more label')}." if missing else text


def next_steps(page: CalibrationPage, *, blind: bool = False) -> tuple[Block, ...]:
    """Return the items that hold up labels, and the next steps."""
    named = page.skipped if blind else page.blockers
    steps: list[Block] = [
        Paragraph((before.capitalize(), outside(name, 200), f"{after}."), Tone.WARN)
        for before, name, after in waits(named)
    ]
    if blind:
        return tuple(steps)
    few = page.calibration.headline.n < FEWEST
    if page.verdicts < FEWEST or (few and _nothing_left(page)):
        steps.append(Paragraph("This run alone is too small to show it."))
    elif page.left and (few or not page.calibration.design.stands):
        rest = page.verdicts > page.labelled + page.left
        left = plural(page.left, "more verdict")
        text = f"Next: label on in the order of the queue, at most {left}"
        more = ": the flagged ones and a random check. The others need no label"
        steps.append(Paragraph(f"{text}{more * rest}."))
    return tuple(steps)


def target(page: CalibrationPage) -> tuple[Block, ...]:
    """Say what the judge must show: the answer to the run's question, and the default limits."""
    limits = (
        f"Alone means that no person checks it: a gate. That needs {FEWEST} labels that describe "
        f"the run, at most {_MOST}% of the bad answers passed (upper end of the 95% interval on "
        f"new items), and confidence close to how often it is right: ECE at most {ECE_LIMIT:.2f}, "
        f"Brier at most {BRIER_LIMIT:.2f}."
    )
    if page.answer is None:
        return (Paragraph(f"{limits} No other target is set: reviewdesk ask sets one."),)
    asked = f"Target, set {page.answer.question.at[:10]}: "
    return Paragraph((asked, outside(strip_line(page.answer), 200), ".")), Paragraph(limits)


def file_conclusion(page: FilePage) -> Section:
    """Say whether the judge of a labels file may decide alone, or why not."""
    line = page.calibration.headline
    fit = page.fit
    rows = plural(line.n, "row")
    if line.n < FEWEST:
        return _section(f"Not yet: {rows}, and at least {FEWEST} labels are needed.")
    if not page.representative:
        return _section(f"Not yet: the file does not say that its {rows} are drawn from a run.")
    return _section(_answer(_Evidence(line, page.gates, fit.null, fit.brier, page.specificity)))


def _section(text: str) -> Section:
    return Section("", (Paragraph(f"{_ASKS} {text}", Tone.STRONG),))


def _answer(found: _Evidence) -> str:
    """Return the answer for a sufficient number of labels, with its reasons."""
    doubts = list(_doubts(found))
    faults = [text for text, by_chance in _missed(found) if not by_chance]
    passes, few_enough = _false_passes(found)
    unproven = [passes] if passes and not few_enough else []
    if faults:
        return f"No: {'; '.join(faults + unproven)}."
    if unproven:
        return f"Not alone: {'; '.join(unproven + doubts)}."
    if doubts:
        return f"Not yet: {'; '.join(doubts)}."
    kept = [_NAMES[one.target] for one in found.gates if one.status is GateStatus.PASS]
    weak = found.line.corrected_status == CorrectionStatus.WEAK_JUDGE
    more = " It is close to guessing." if weak else ""
    return f"Yes, by the default limits: {', '.join(kept)}, and {passes}.{more}"


def _false_passes(found: _Evidence) -> tuple[str, bool]:
    """Return how many bad answers pass, if a label says fail, and whether that is few enough."""
    fp = found.line.fp
    tn = found.line.tn
    if fp is None or tn is None:
        unknown = "the rows do not say what the judge decided, nor how many bad answers it passes"
        return unknown, False
    if not fp + tn:
        return "", False
    text = f"it passes {labels(fp)} of {plural(fp + tn, 'bad answer')}"
    share = 1 - (found.line.specificity or 0.0)
    if abs(share - fp / (fp + tn)) > SLACK:
        # The rate is weighted by group, and the counts of labels would contradict it.
        text = f"it passes about {share:.0%} of bad answers"
    if found.specificity is None:
        return f"{text}, which has no interval", False
    low = found.specificity.low
    # Rounded up, so that a share over the limit never reads as the limit.
    most = math.ceil(100 * (1 - low) - SLACK)
    may = f"new items, 95%: up to {most}%; the limit is {_MOST}%"
    return f"{text} ({may})", low >= SPECIFICITY_LIMIT - SLACK


def _missed(found: _Evidence) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each missed limit, and whether chance can explain it."""
    for one in (one for one in found.gates if one.status is GateStatus.FAIL):
        limit = one.limit or 0.0
        over = "its confidence is off (ECE)"
        by_chance = True
        if one.target == "ece" and found.null is not None:
            by_chance = found.null.p >= UNUSUAL
        elif one.target == "brier":
            over = "its confidence is often wrong (Brier)"
            by_chance = found.brier is None or found.brier.low <= limit + SLACK
        elif one.target == "corrected_rate":
            over = "it passes fewer than should pass"
            by_chance = found.least_pass_rate <= limit + SLACK
        yield over, by_chance


def _doubts(found: _Evidence) -> Iterator[str]:
    """Yield the reasons why the labels do not prove that the judge may gate."""
    line = found.line
    if line.tp is not None and not line.tp + (line.fn or 0):
        yield "no label says pass, so nobody knows how many good answers it passes"
    elif line.tp is not None and not (line.tn or 0) + (line.fp or 0):
        yield "no label says fail, so nobody knows how many bad answers it catches"
    elif line.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        yield "by the labels it is no better than guessing"
    yield from (f"{text}, maybe by chance" for text, by_chance in _missed(found) if by_chance)
    for one in found.gates:
        if one.target != "brier" or one.status is not GateStatus.PASS:
            continue
        if found.brier is None:
            yield "Brier has no interval"
        elif found.brier.high > (one.limit or 0.0) + SLACK:
            yield "Brier may be over its limit"
