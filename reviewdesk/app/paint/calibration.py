"""Painters for the calibration page: figures, confusion, gates, and the labels behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from textual.content import Content

from reviewdesk.app.paint.fit import (
    between,
    fit_lines,
    more_lines,
    null_note,
    run_rate_text,
    suggestion_lines,
)
from reviewdesk.app.paint.labels_basis import (
    design_lines,
    jurors_lines,
    pace_lines,
    split_lines,
    tags_lines,
)
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    heading,
    inline,
    pad,
    paragraph,
)
from reviewdesk.app.paint.table import (
    Section,
    facts,
    number,
    table,
    two_columns,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.gates.limits import GateStatus, LimitCheck
from reviewdesk.domain.records import Calibration, Design, Metrics
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import (
    Estimate,
    Fit,
    Interval,
    Target,
)
from reviewdesk.domain.verdict import SLACK

_INTERVALS = 52
"""The intervals have a column beside their figures from this width on."""
_OUTCOMES = {GateStatus.PASS: Ink.PASS, GateStatus.FAIL: Ink.FAIL, GateStatus.SKIP: Ink.MUTED}


def calibration_lines(
    page: CalibrationPage, width: int, *, blind: bool, target: Target = Target.RUN
) -> Lines:
    """Return the whole page; a blind page uses the labelled verdicts alone.

    ``target`` says what the intervals of the metrics describe.
    """
    metrics = page.alone.metrics if blind else page.calibration.labelled
    if not metrics.n:
        return _nothing(page, width, blind=blind)
    left, right = _blind_sections(page) if blind else _sections(page, target)
    return two_columns(left, right, width)


def _sections(page: CalibrationPage, target: Target) -> tuple[list[Section], list[Section]]:
    found = page.calibration
    basis = f"{found.design.value}, n {found.headline.n}"
    return [
        lambda width: _metrics(page, target, width),
        lambda width: fit_lines(page.fit, basis, width),
        lambda width: _confusion(found.headline, basis, _left_out_text(found), width),
        lambda width: [
            *_gates(page.gates, page.fit, basis, width),
            *more_lines(page.more, width),
        ],
        lambda width: suggestion_lines(page.fit, width),
    ], [
        lambda width: design_lines(page, width),
        lambda width: jurors_lines(page.jurors, "counts of labels", width),
        lambda width: split_lines(page.split, f"{found.design.value}, each label once", width),
        lambda width: tags_lines(page.tags, width),
        lambda width: pace_lines(page.pace, page.left, width),
    ]


def _blind_sections(page: CalibrationPage) -> tuple[list[Section], list[Section]]:
    alone = page.alone
    basis = f"n {alone.metrics.n}"
    return [
        lambda width: _blind_metrics(page, width),
        lambda width: fit_lines(alone.fit, basis, width),
        lambda width: _confusion(alone.metrics, basis, _left_out_text(page.calibration), width),
    ], [
        lambda width: _gates(alone.gates, alone.fit, basis, width),
        lambda width: suggestion_lines(alone.fit, width),
        lambda width: jurors_lines(page.jurors, "counts of labels", width),
        lambda width: split_lines(alone.split, "each label once", width),
        lambda width: tags_lines(page.tags, width),
        lambda width: pace_lines(page.pace, None, width),
    ]


def _nothing(page: CalibrationPage, width: int, *, blind: bool) -> Lines:
    """Return the page for a run without figures: why there are none, and what to do."""
    lines = paragraph("No label makes a row yet: there is nothing to measure.", width, Ink.STRONG)
    if page.counts.labelled:
        lines += paragraph(f"labelled: {_left_out_text(page.calibration)}", width, Ink.WARN)
    lines += [
        Content(""),
        *paragraph(
            "In the queue, p says that the response should pass, f that it should fail; "
            "the figures move with every label.",
            width,
        ),
    ]
    if blind:
        return lines
    lines += paragraph(
        "Labels in the order of the draw count for the whole run, others for themselves.", width
    )
    return [*lines, Content(""), *design_lines(page, width)]


def _left_out_text(found: Calibration) -> str:
    return (
        f"{found.unsure} can't tell, {found.disputed} disputed, "
        f"{found.no_verdict} without a pass or fail by the panel"
    )


# Metrics


def _metrics(page: CalibrationPage, target: Target, width: int) -> Lines:
    found = page.calibration
    # Under a weighted design the first column is still every label at weight 1.
    plain = "unweighted" if found.design is Design.WEIGHTED else found.design.value
    line_, whole = found.labelled, found.population
    lines = [heading("METRICS", width, f"confidence from {found.confidence_source}")]
    names = ["labelled", "population"]
    designs = [plain, found.design.value if whole else "-"]
    ends = None if page.fit is None else partial(page.ends, target=target)
    what = f"population, {target.value}" if whole else "labelled"
    lines += _columns(names, designs, [line_, whole], ends, width, what)
    if whole is None:
        text = "population: - until each stratum has a pass or fail label in its prefix"
        lines += paragraph(text, width, Ink.MUTED)
    basis = f"{found.design.value}, n {found.headline.n}"
    lines += paragraph(f"{confidence_text(found.headline)} ({basis})", width, Ink.STRONG)
    lines += [Content(""), *_rates(page, width)]
    for warning in found.warnings:
        lines += paragraph(inline(warning, 2000), width, Ink.WARN)
    return lines


def _blind_metrics(page: CalibrationPage, width: int) -> Lines:
    alone = page.alone
    lines = [heading("METRICS", width, f"confidence from {alone.confidence_source}")]
    ends = None if alone.fit is None else partial(getattr, alone.fit)
    lines += _columns(["labelled"], [], [alone.metrics], ends, width)
    lines += paragraph(f"{confidence_text(alone.metrics)} (n {alone.metrics.n})", width, Ink.STRONG)
    for warning in alone.warnings:
        lines += paragraph(inline(warning, 2000), width, Ink.WARN)
    hidden = (
        "Blind: the strata and their weights, the audit, the design, the population line, and the "
        "observed and corrected pass rates are left out, for they rest on what the panel said of "
        "verdicts that have no label."
    )
    return [*lines, Content(""), *paragraph(hidden, width, Ink.NOTE)]


def _columns(
    names: Sequence[str],
    designs: Sequence[str],
    found: Sequence[Metrics | None],
    ends: Callable[[str], Interval | Estimate | None] | None,
    width: int,
    what: str = "labelled",
) -> Lines:
    """Return the table of figures that need no pass rate, with a column per line of the strip.

    Where the width allows, a last column holds the 95% intervals of ``what``. ``ends`` returns the
    interval of a figure by its name.
    """
    roomy = ends is not None and width >= _INTERVALS
    found_ends = ends or (lambda _: None)

    def row(name: str, value: Callable[[Metrics], str], interval: str = "") -> list[Piece]:
        cells = ["-" if one is None else value(one) for one in found]
        last = [(interval, Ink.TEXT)] if roomy else []
        return [(name, Ink.MUTED), *((cell, Ink.TEXT) for cell in cells), *last]

    rows = [
        row("n", lambda one: str(one.n)),
        row("ECE", lambda one: number(one.ece)),
        row("Brier", lambda one: number(one.brier), between(found_ends("brier"))),
        row("gap", lambda one: number(one.gap, "+"), between(found_ends("gap"), "+")),
        row("accuracy", lambda one: number(one.accuracy), between(found_ends("accuracy"))),
    ]
    if designs:
        first: list[Piece] = [("design", Ink.MUTED), *((word, Ink.NOTE) for word in designs)]
        rows.insert(0, [*first, *([("", Ink.TEXT)] if roomy else [])])
        rows.insert(2, row("ESS", lambda one: _tenths(one.ess)))
    lines = table(["", *names, *(["95%"] if roomy else [])], rows, width)
    if roomy:
        text = f"95%: of {what}; ECE has no interval that covers"
        lines += paragraph(text, width, Ink.MUTED)
    return lines


def _tenths(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def confidence_text(found: Metrics) -> str:
    """Compare confidence with accuracy in words. The difference is that of the rounded numbers."""
    if found.accuracy is None or found.gap is None:
        return "nothing to compare yet"
    mean, right = round(found.accuracy + found.gap, 2), round(found.accuracy, 2)
    claim = f"says {mean:.2f} on average and is right {right:.2f} of the time"
    if mean == right:
        return f"{claim}: as sure as it is right"
    word = "overconfident" if mean > right else "underconfident"
    return f"{claim}: {word} by {abs(mean - right):.2f}"


def _rates(page: CalibrationPage, width: int) -> Lines:
    """Return the observed pass rate and the rate corrected for the panel's errors."""
    found = page.calibration
    line_ = found.headline
    observed, fixed = line_.observed_positive_rate, line_.corrected_rate
    if observed is None or fixed is None:
        return facts([("pass rate", "-  the run has no verdict that is a pass or a fail")], width)
    interval = f"[{number(line_.corrected_rate_low)}, {number(line_.corrected_rate_high)}]"
    lines = facts(
        [
            ("pass rate", f"{number(observed)} observed, over all decided verdicts"),
            (
                "corrected",
                f"{number(fixed)} {interval} Wald 95%, {found.design.value}, n {line_.n}",
            ),
            ("by strata", run_rate_text(page.honest, "should pass, of this run")),
            # An estimate and its interval stand in the table of metrics already.
            *(
                [("", run_rate_text(page.accuracy, "is decided right"))]
                if page.accuracy.estimate is None
                else []
            ),
        ],
        width,
    )
    if line_.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        return lines
    words = f"about {fixed:.2f} should pass where the judge passes {observed:.2f}"
    return [*lines, *paragraph(words, width, Ink.STRONG)]


# Confusion and gates


def _confusion(found: Metrics, basis: str, left_out: str, width: int) -> Lines:
    lines = [heading("CONFUSION", width, basis)]
    if found.tp is None or found.fn is None or found.tn is None or found.fp is None:
        return lines
    rows: list[list[Piece]] = [
        [("judge passed", Ink.TEXT), (f"{found.tp} tp", Ink.PASS), (f"{found.fp} fp", Ink.FAIL)],
        [("judge failed", Ink.TEXT), (f"{found.fn} fn", Ink.FAIL), (f"{found.tn} tn", Ink.PASS)],
    ]
    lines += table(["", "should pass", "should fail"], rows, width)
    none = "0 by convention: no label says"
    positive, negative = found.tp + found.fn, found.tn + found.fp
    lines += facts(
        [
            ("sensitivity", number(found.sensitivity) if positive else f"{none} pass"),
            ("specificity", number(found.specificity) if negative else f"{none} fail"),
            ("Youden's J", number(found.youden_j, "+")),
        ],
        width,
    )
    if found.ess is not None and abs(found.ess - found.n) > SLACK:
        text = "the counts are of labels, the rates weighted by the draw"
        lines += paragraph(text, width, Ink.MUTED)
    lines += paragraph(_mistakes(found.tp, found.fn, found.tn, found.fp), width, Ink.STRONG)
    return [*lines, *paragraph(f"left out: {left_out}", width, Ink.MUTED)]


def _mistakes(tp: int, fn: int, tn: int, fp: int) -> str:
    """Say how many of the panel's passes and of its fails contradict the label."""
    passes = f"{fp} of its {tp + fp} passes should have failed" if tp + fp else "it passed none"
    fails = f"{fn} of its {tn + fn} fails should have passed" if tn + fn else "it failed none"
    return f"{passes}; {fails}"


def _gates(found: Sequence[LimitCheck], fit: Fit | None, basis: str, width: int) -> Lines:
    lines = [heading("GATES", width, f"defaults, {basis}")]
    column = max((len(check.target) for check in found), default=0) + 2
    for check in found:
        margin = "" if check.margin is None else f"margin {check.margin:+.3f}"
        null = null_note(fit.null) if check.target == "ece" and fit and fit.null else ""
        note = "  ".join(part for part in (margin, null or check.note) if part)
        first: list[Piece] = [
            (pad(check.status.value.upper(), 6), _OUTCOMES[check.status]),
            (pad(check.target, column), Ink.TEXT),
            (f"{number(check.value)} {check.op.value} {number(check.limit)}  ", Ink.TEXT),
        ]
        lines += paragraph(note, width, Ink.MUTED, first=first, indent=6)
    return [*lines, *paragraph(_verdict(found), width, Ink.STRONG)]


def _verdict(found: Sequence[LimitCheck]) -> str:
    failed = [check.target for check in found if check.status is GateStatus.FAIL]
    if failed:
        return f"do not gate on this judge yet: {', '.join(failed)} over the limit"
    skipped = sum(check.status is GateStatus.SKIP for check in found)
    if skipped == len(found):
        return "nothing could be held to a limit"
    return "every limit is kept" + (f", {skipped} skipped" if skipped else "")
