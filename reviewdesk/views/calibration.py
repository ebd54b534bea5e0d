"""What labels say about the judge: metrics, rates, confusion, gates and confidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reviewdesk.domain.gates.limits import GateStatus, LimitCheck
from reviewdesk.domain.labels.coverage import LabelsNeeded, RateMethod, RunRate
from reviewdesk.domain.records import Calibration, Design, Metrics
from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage, TruthCounts
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, Fit, Interval, PanelIntervals, Target
from reviewdesk.domain.verdict import SLACK
from reviewdesk.views import confidence, labels, words
from reviewdesk.views.conclusion import file_conclusion, run_conclusion
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Gap,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    outside,
    table,
)
from reviewdesk.views.words import number, plural

_OUTCOMES = {GateStatus.PASS: Tone.PASS, GateStatus.FAIL: Tone.FAIL, GateStatus.SKIP: Tone.MUTED}
_HIDDEN = (
    "Blind: the strata and their weights, the audit, the design, the population line, and the "
    "observed and corrected pass rates are left out, for they rest on what the panel said of "
    "verdicts that have no label."
)
_Ends = Callable[[str], "Interval | Estimate | None"]


def calibration(
    page: CalibrationPage, *, blind: bool = False, target: Target = Target.RUN
) -> Document:
    """Return all figures of a run; a blind document uses the labelled verdicts alone.

    ``target`` says what the intervals of the metrics describe.
    """
    metrics = page.alone.metrics if blind else page.calibration.labelled
    if not metrics.n:
        return _nothing(page, blind=blind)
    return _blind(page) if blind else _open(page, target)


def file_calibration(page: FilePage) -> Document:
    """Return the figures of a labels file."""
    found = page.calibration
    basis = _basis(found)
    rate = Facts.of(("by strata", rate_text(page.honest, "should pass, of the run named")))
    sections = (
        file_conclusion(page),
        _metrics(found, lambda name: getattr(page.fit, name), Target.RUN, (rate,)),
        *confidence.sections(page.fit, basis),
        _confusion(found.headline, basis, _left_out_text(found)),
        _gates(page.gates, page.fit, basis),
    )
    return Document(sections)


def summary(page: CalibrationPage) -> Document:
    """Return what a reader in a hurry needs: the pass rates, the warnings and the gates."""
    found = page.calibration
    if not found.labelled.n:
        return _nothing(page, blind=True)
    blocks = (*_rates(page), *_warnings(found.warnings))
    gates = _gates(page.gates, page.fit, _basis(found), page.more)
    return Document((run_conclusion(page), Section("Pass rate", blocks, _basis(found)), gates))


def _open(page: CalibrationPage, target: Target) -> Document:
    found = page.calibration
    basis = _basis(found)
    return Document(
        (
            run_conclusion(page),
            _metrics(
                found,
                lambda name: page.ends(name, target),
                target,
                _rates(page),
                on_tests(page.such),
            ),
            *confidence.sections(page.fit, basis),
            _confusion(found.headline, basis, _left_out_text(found)),
            _gates(page.gates, page.fit, basis, page.more),
        ),
        (
            labels.design(page),
            *labels.jurors(page.jurors),
            labels.split(page.split, f"{found.design.value}, each label once"),
            *labels.tags(page.tags),
            *labels.pace(page.pace, page.undone),
        ),
    )


def _blind(page: CalibrationPage) -> Document:
    alone = page.alone
    basis = f"n {alone.metrics.n}"
    blocks: list[Block] = [
        _figures(["labelled"], [], [alone.metrics], lambda name: getattr(alone.fit, name, None)),
        Paragraph(f"{confidence_text(alone.metrics)} ({basis})", Tone.STRONG),
        *_warnings(alone.warnings),
        Gap(),
        Paragraph(_HIDDEN, Tone.NOTE),
    ]
    note = f"confidence from {alone.confidence_source}"
    return Document(
        (
            run_conclusion(page, blind=True),
            Section("Metrics", tuple(blocks), note),
            *confidence.sections(alone.fit, basis),
            _confusion(alone.metrics, basis, _left_out_text(page.calibration)),
        ),
        (
            _gates(alone.gates, alone.fit, basis),
            *labels.jurors(page.jurors),
            labels.split(alone.split, "each label once"),
            *labels.tags(page.tags),
            *labels.pace(page.pace, page.undone),
        ),
    )


def _nothing(page: CalibrationPage, *, blind: bool) -> Document:
    """Return why a run has no figures, and what to do."""
    blocks: list[Block] = [*run_conclusion(page, blind=blind).blocks]
    if page.counts.labelled:
        blocks.append(Paragraph(f"labelled: {_left_out_text(page.calibration)}", Tone.WARN))
    blocks += [
        Gap(),
        Paragraph(
            "A label says that the response should pass or that it should fail; the figures move "
            "with every label."
        ),
    ]
    if blind:
        return Document((Section("", tuple(blocks)),))
    text = "Labels in the order of the draw count for the whole run, others for themselves."
    return Document((Section("", (*blocks, Paragraph(text))), labels.design(page)))


def _basis(found: Calibration) -> str:
    """Return the design of the headline and its number of labels."""
    return f"{found.design.value}, n {found.headline.n}"


def _left_out_text(found: Calibration) -> str:
    return (
        f"{found.unsure} can't tell, {found.disputed} disputed, "
        f"{found.no_verdict} without a pass or fail by the panel"
    )


def _warnings(texts: Sequence[str]) -> list[Block]:
    return [Paragraph(outside(text, 2000), Tone.WARN) for text in texts]


# Metrics


def on_tests(found: PanelIntervals | None) -> str:
    """Return how many labels are on how many tests, if several are on one; else no text."""
    if found is None or found.tests >= found.counted:
        return ""
    return f"{words.plural(found.counted, 'label')} on {words.plural(found.tests, 'test')}"


def _metrics(
    found: Calibration, ends: _Ends, target: Target, rates: Sequence[Block], basis: str = ""
) -> Section:
    """Return the metrics of both lines of the strip, with the pass rates below them."""
    # Under a weighted design the first column is still every label at weight 1.
    first = "unweighted" if found.design is Design.WEIGHTED else found.design.value
    whole = found.population
    designs = [first, found.design.value if whole else "-"]
    what = f"population, {target.value}" if whole else "labelled"
    blocks: list[Block] = [
        _figures(["labelled", "population"], designs, [found.labelled, whole], ends),
        Paragraph(f"95%: of {what}; ECE has no interval that covers", Tone.MUTED),
    ]
    if basis:
        text = f"{basis}: for such items, labels of one test count as related"
        blocks.append(Paragraph(text, Tone.MUTED))
    if whole is None:
        text = "population: - until each stratum has a pass or fail label in its prefix"
        blocks.append(Paragraph(text, Tone.MUTED))
    text = f"{confidence_text(found.headline)} ({_basis(found)})"
    blocks += [Paragraph(text, Tone.STRONG), Gap(), *rates, *_warnings(found.warnings)]
    return Section("Metrics", tuple(blocks), f"confidence from {found.confidence_source}")


def _figures(
    names: Sequence[str],
    designs: Sequence[str],
    found: Sequence[Metrics | None],
    ends: _Ends,
) -> Table:
    """Return the figures that need no pass rate, with a column per line of the strip.

    The last column holds the 95% intervals; ``ends`` returns that of a figure by its name.
    """
    columns = [None if one is None else words.metrics(one) for one in found]

    def row(name: str, interval: str = "") -> Row:
        cells = (words.NONE if texts is None else texts[name] for texts in columns)
        return Row((Text(name, Tone.MUTED), *cells, interval))

    rows = [
        row("n"),
        row("ECE"),
        row("Brier", between(ends("brier"))),
        row("gap", between(ends("gap"), "+")),
        row("accuracy", between(ends("accuracy"))),
    ]
    if designs:
        cells = (Text(word, Tone.NOTE) for word in designs)
        rows.insert(0, Row((Text("design", Tone.MUTED), *cells, "")))
        rows.insert(2, row("ESS"))
    heads = (Column("", right=False), *(Column(name) for name in names), Column("95%", rank=1))
    return Table(heads, tuple(rows), caption="What the labels say about the judge")


def between(found: Interval | Estimate | RunRate | None, sign: str = "") -> str:
    """Return an interval in brackets, or ``-`` if it is undefined."""
    return words.NONE if found is None else words.interval(found.low, found.high, sign=sign)


def confidence_text(found: Metrics) -> str:
    """Compare confidence with accuracy in words. The difference is that of the rounded numbers."""
    if found.accuracy is None or found.gap is None:
        return "nothing to compare yet"
    mean = round(found.accuracy + found.gap, 2)
    right = round(found.accuracy, 2)
    claim = f"says {mean:.2f} on average and is right {right:.2f} of the time"
    if mean == right:
        return f"{claim}: as sure as it is right"
    word = "overconfident" if mean > right else "underconfident"
    return f"{claim}: {word} by {abs(mean - right):.2f}"


def _rates(page: CalibrationPage) -> tuple[Block, ...]:
    """Return the observed pass rate and the rate corrected for the panel's errors."""
    found = page.calibration
    line = found.headline
    texts = words.metrics(line)
    observed = line.observed_positive_rate
    fixed = line.corrected_rate
    if observed is None or fixed is None:
        return (Facts.of(("pass rate", "-  the run has no verdict that is a pass or a fail")),)
    facts: list[tuple[str, Words]] = [
        ("pass rate", f"{texts['observed']} observed, over {_decided_text(page.counts)}"),
        ("corrected", f"{texts['corrected']} {texts['interval']} Wald 95%, {_basis(found)}"),
        ("by strata", rate_text(page.honest, "should pass, of this run")),
    ]
    # An estimate and its interval stand in the table of metrics already.
    if page.accuracy.estimate is None:
        facts.append(("", rate_text(page.accuracy, "is decided right")))
    if line.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        return (Facts.of(*facts),)
    text = f"about {fixed:.2f} should pass where the judge passes {observed:.2f}"
    return Facts.of(*facts), Paragraph(text, Tone.STRONG)


def _decided_text(found: TruthCounts) -> str:
    """Name the verdicts that a pass rate is of, and count those that it leaves out."""
    if not found.undecided:
        return "all verdicts"
    decided = found.verdicts - found.undecided
    left = found.undecided
    word = plural(left, "verdict that is", "verdicts that are")
    return f"the {plural(decided, 'decided verdict')}, without the {word} neither pass nor fail"


def rate_text(found: RunRate, what: str) -> str:
    """Return a rate over the strata of the draw with its interval, or else with its bounds."""
    if found.estimate is not None:
        return f"{found.estimate:.3f} {between(found)} 95% {what}"
    reason = found.reason or "undefined"
    if found.method is RateMethod.NONE:
        return f"- {reason}"
    return f"- {what}: bounds {between(found)}, the labelled strata at their ends; {reason}"


# Confusion and gates


def _confusion(found: Metrics, basis: str, left_out: str) -> Section:
    if found.tp is None or found.fn is None or found.tn is None or found.fp is None:
        return Section("Confusion", (), basis)
    passed = (
        "judge passed",
        Text(f"{words.labels(found.tp)} tp", Tone.PASS),
        Text(f"{words.labels(found.fp)} fp", Tone.FAIL),
    )
    failed = (
        "judge failed",
        Text(f"{words.labels(found.fn)} fn", Tone.FAIL),
        Text(f"{words.labels(found.tn)} tn", Tone.PASS),
    )
    none = "0 by convention: no label says"
    positive = found.tp + found.fn
    negative = found.tn + found.fp
    blocks: list[Block] = [
        table(("", "should pass", "should fail"), (passed, failed), "Decisions against labels"),
        Facts.of(
            ("sensitivity", number(found.sensitivity) if positive else f"{none} pass"),
            ("specificity", number(found.specificity) if negative else f"{none} fail"),
            ("Youden's J", number(found.youden_j, sign="+")),
        ),
    ]
    if found.ess is not None and abs(found.ess - found.n) > SLACK:
        text = "the counts are of labels, the rates weighted by the draw"
        blocks.append(Paragraph(text, Tone.MUTED))
    blocks += [
        Paragraph(_mistakes(found.tp, found.fn, found.tn, found.fp), Tone.STRONG),
        Paragraph(f"left out: {left_out}", Tone.MUTED),
    ]
    return Section("Confusion", tuple(blocks), basis)


def _mistakes(tp: float, fn: float, tn: float, fp: float) -> str:
    """Say how many of the panel's passes and of its fails contradict the label."""
    passes = (
        f"{words.labels(fp)} of its {words.labels(tp + fp)} passes should have failed"
        if tp + fp
        else "it passed none"
    )
    fails = (
        f"{words.labels(fn)} of its {words.labels(tn + fn)} fails should have passed"
        if tn + fn
        else "it failed none"
    )
    return f"{passes}; {fails}"


def _gates(
    checks: Sequence[LimitCheck], fit: Fit | None, basis: str, more: Sequence[LabelsNeeded] = ()
) -> Section:
    column = max((len(check.target) for check in checks), default=0) + 2
    lines = [_gate(check, fit, column) for check in checks]
    blocks = (*lines, Paragraph(_outcome(checks), Tone.STRONG), *labels_needed(more))
    return Section("Gates", blocks, f"defaults, {basis}")


def _gate(check: LimitCheck, fit: Fit | None, column: int) -> Paragraph:
    margin = "" if check.margin is None else f"margin {check.margin:+.3f}"
    null = check.note
    if check.target == "ece" and fit and fit.null:
        null = f"calibrated: about {fit.null.expected:.3f}, {words.chance(fit.null.p)}"
    lead = (
        Text(f"{check.status.value.upper():6}", _OUTCOMES[check.status]),
        f"{check.target:{column}}{number(check.value)} {check.op.value} {number(check.limit)}  ",
    )
    text = "  ".join(part for part in (margin, null) if part)
    return Paragraph(text, Tone.MUTED, lead, indent=6)


def _outcome(checks: Sequence[LimitCheck]) -> str:
    failed = [check.target for check in checks if check.status is GateStatus.FAIL]
    if failed:
        return f"over the limit: {', '.join(failed)}"
    skipped = sum(check.status is GateStatus.SKIP for check in checks)
    if skipped == len(checks):
        return "nothing could be held to a limit"
    return "every limit is kept" + (f", {skipped} skipped" if skipped else "")


def labels_needed(found: Sequence[LabelsNeeded]) -> tuple[Block, ...]:
    """Return how many more audits settle each limit. Limits without a number share a reason."""
    blocks: list[Block] = []
    for one in (one for one in found if one.labels is not None):
        limit = f"{one.target} {one.op.value} {number(one.limit)}"
        text = f"about {one.labels} more audits settle {limit}, if the rates stay"
        blocks.append(Paragraph(text if one.labels else f"{limit} is settled", Tone.NOTE))
    for reason in dict.fromkeys(one.reason for one in found if one.labels is None):
        names = ", ".join(one.target for one in found if one.reason == reason)
        blocks.append(Paragraph(f"{names}: {reason or 'undefined'}", Tone.MUTED))
    return tuple(blocks)
