"""The calibration of a judge by labels: the conclusion with its figures, then the details."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.gates.expect import GateStatus, LimitCheck, specificity_check
from reviewdesk.domain.jurors.facts import BiasProbe, JurorCounts
from reviewdesk.domain.records import TELLING, Calibration, Design, Metrics
from reviewdesk.domain.stats.calibration_page import (
    BinPosition,
    BlindSplit,
    CalibrationPage,
    FilePage,
    band,
    edges,
    place,
)
from reviewdesk.domain.stats.figures import Bin, Estimate, Fit, NullEce, PanelIntervals, Target
from reviewdesk.views import words
from reviewdesk.views.conclusion import (
    conclusion,
    file_conclusion,
    named_design,
    next_steps,
    progress,
)
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Flow,
    Gap,
    Paragraph,
    ReliabilityDiagram,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    outside,
    table,
)
from reviewdesk.views.jurors import bias_facts
from reviewdesk.views.queue import strip_line
from reviewdesk.views.team import people_err
from reviewdesk.views.words import DESIGNS, MEANS, NONE, between, number, plural

RISK = 0.05
"""P-values below this count as more than chance."""
_OUTCOMES = {GateStatus.PASS: Tone.PASS, GateStatus.FAIL: Tone.FAIL, GateStatus.SKIP: Tone.MUTED}
_HIDDEN = (
    "Blind: groups, weights and pass rates are left out, because they rest on what the panel said "
    "of verdicts that have no label."
)
_COMPARED = (
    ("accuracy", "accuracy", 3, ""),
    ("gap", "gap", 3, "+"),
    ("Brier", "brier", 3, ""),
    ("ECE", "ece", 3, ""),
)
"""The figures that are set side by side: name, field, decimals and sign."""


class _Figures(Struct, frozen=True):
    """The figures of one set of labels, with the intervals of its rates."""

    line: Metrics
    fit: Fit
    basis: str
    """A description of the labels, and of the items that they represent."""
    ends: Fit | PanelIntervals
    """The record of their intervals, by the names of the figures."""
    should_pass: Estimate | None = None
    """The share that should pass; ``None`` hides the pass rates."""


def calibration(
    page: CalibrationPage, *, blind: bool = False, target: Target = Target.RUN, full: bool = False
) -> Document:
    """Return the conclusion with its figures and, if ``full``, the rest by question.

    With too few labels, it has only the conclusion and the progress. A blind document uses only
    labelled verdicts. ``target`` says what the intervals describe.
    """
    found = _run_figures(page, target)
    # Once every verdict has a label, there is nothing left to hide.
    blind = blind and page.labelled < page.verdicts
    if blind:
        alone = page.alone
        n = plural(alone.metrics.n, "label")
        basis = f"{n}, each counted once; they describe themselves only"
        found = _Figures(alone.metrics, alone.fit, basis, alone.fit)
    first = [conclusion(page, blind=blind)]
    if page.answer is not None:
        line = outside(strip_line(page.answer, blind=blind))
        first.append(Section("", (Paragraph(line, Tone.STRONG),)))
    if page.telling(blind=blind):
        warnings = page.alone.warnings if blind else page.calibration.warnings
        about = Paragraph(f"{found.basis}.")
        steps = next_steps(page, blind=blind)
        # What the labels describe is said once.
        warnings = tuple(text for text in warnings if text.split(": ")[-1] not in found.basis)
        first.append(Section("", (_first_layer(found), about, *_warnings(warnings), *steps)))
    else:
        steps = next_steps(page, blind=blind) if full else ()
        first.append(Section("", (Paragraph(progress(page)), *steps)))
    if full:
        first += _answers(page, found, blind=blind)
    return Document(tuple(first), end=(Paragraph(_HIDDEN, Tone.NOTE),) if blind and full else ())


def file_calibration(page: FilePage, *, full: bool = False) -> Document:
    """Return the figures of a labels file and, if ``full``, the rest by question."""
    line = page.calibration.headline
    basis = f"{plural(line.n, 'row')} of the file"
    found = _Figures(line, page.fit, basis, page.fit, page.honest)
    blocks = (_first_layer(found), *_warnings(page.calibration.warnings))
    sections = [file_conclusion(page), Section("", blocks)]
    if full:
        sections += [_how_right(found, page.calibration), *confidence(found.fit, found.line)]
        sections.append(_gates((*page.gates, specificity_check(page.specificity)), found))
    return Document(tuple(sections))


def headline(page: CalibrationPage) -> Section:
    """Return accuracy, pass rates and errors with their intervals and the labels behind them.

    If the labels describe the run, there are intervals for this run and for new items.
    """
    found = _run_figures(page, Target.RUN)
    rows: list[list[Words]] = []
    for name, value, interval, meaning in _all_rows(found):
        # ECE has no interval, only its value by chance.
        alone = name == "ECE"
        told = f"{meaning}, {interval}" if alone and interval else meaning
        about = Text(name, Tone.STRONG), Text(f" {told}", Tone.MUTED)
        rows.append([about, value, "" if alone else interval])
    ends = ["95%"]
    if page.calibration.population is not None:
        ends = [f"95%, {target.value}" for target in Target]
        for cells, row in zip(rows, _all_rows(_run_figures(page, Target.ITEMS)), strict=True):
            # The share that should pass is estimated only for this run, and ECE has no interval.
            cells.append("" if row[0] in {"should pass", "ECE"} else row[2])
    rates = table(("", "", *ends), rows, "How often the judge is right")
    more = page.calibration.waiting
    basis = found.basis + (f"; {more:,} more do not count yet" if more else "")
    text = f"{basis}. 95%: an interval holds the true value in 95 of 100 samples."
    return Section(
        "Figures", (rates, Paragraph(text, Tone.MUTED), *_warnings(page.calibration.warnings))
    )


def _run_figures(page: CalibrationPage, target: Target) -> _Figures:
    found = page.calibration
    line = found.headline
    basis = f"{words.basis(found.design, line.n)}; {MEANS[found.design]}"
    if found.population is not None and target is Target.ITEMS:
        basis += f"; the intervals are for {target.value}"
    drawn = page.intervals if target is Target.RUN else page.such
    ends = page.fit if found.population is None else drawn
    return _Figures(line, page.fit, basis, ends, page.honest)


def _warnings(texts: Sequence[str]) -> list[Block]:
    return [Paragraph(outside(text, 2000), Tone.WARN) for text in texts]


# The first layer


def _figure(found: _Figures, name: str) -> Estimate:
    ends = getattr(found.ends, name, None) or Estimate(None)
    return replace(ends, estimate=getattr(found.line, name))


def _all_rows(found: _Figures) -> list[tuple[str, str, str, str]]:
    """Return name, value, interval and meaning of each rate and figure of confidence."""
    line = found.line
    rate = found.should_pass
    rows = [_row("accuracy", _figure(found, "accuracy"), "decides as the label says")]
    if rate is not None and line.observed_positive_rate is not None:
        rows.append(_row("pass rate", Estimate(line.observed_positive_rate), "passed by the judge"))
    if rate is not None and rate.bounded:
        why = "by the labels" if rate.estimate is not None else "bounds, for lack of labels"
        rows.append(_row("should pass", rate, why))
    for name, figure, deserved, labels in (
        ("false passes", "specificity", "fail", (line.fp, line.tn)),
        ("false fails", "sensitivity", "pass", (line.fn, line.tp)),
    ):
        # Without such labels the rate is 0 by convention.
        errors = _row(name, Estimate(None), f"no label says {deserved}")
        if any(labels):
            errors = _row(
                name, _figure(found, figure).complement, f"share of what should {deserved}"
            )
        rows.append(errors)
    null = found.fit.null
    chance = "" if null is None else f"chance {number(null.expected)}"
    sure = "confidence less accuracy"
    if line.gap is not None:
        # In words, the rounded number that is shown.
        gap = round(line.gap, 2)
        more = "surer" if gap > 0 else "less sure"
        sure = f"{more} than it is right" if gap else "as sure as it is right"
    return [
        *rows,
        _row("gap", _figure(found, "gap"), sure, "+"),
        _row("Brier", _figure(found, "brier"), "error of confidence, lower is better"),
        _row("ECE", Estimate(line.ece), "distance of confidence from accuracy", ends=chance),
    ]


def _first_layer(found: _Figures) -> Table:
    heads = (
        Column("", width=12, right=False),
        Column(""),
        Column("95%"),
        Column("", rank=1, right=False),
    )
    rows = [
        Row((Text(name, Tone.MUTED), value, ends, Text(meaning, Tone.MUTED)))
        for name, value, ends, meaning in _all_rows(found)
    ]
    return Table(heads, tuple(rows), least=12, caption="What the labels say about the judge")


def _row(
    name: str, found: Estimate, meaning: str, sign: str = "", ends: str = ""
) -> tuple[str, str, str, str]:
    ends = between(found, sign) if found.bounded else ends
    return name, number(found.estimate, 3, sign), ends, meaning


# The second layer, by question


def _answers(page: CalibrationPage, found: _Figures, *, blind: bool) -> list[Section]:
    measured = found.line.n > 0
    gates = page.alone.gates
    if not blind:
        gates = (*page.gates, specificity_check(page.such.specificity))
    split = page.alone.split if blind else page.split
    tags = tuple(
        (outside(one.tag, 80), " ", Text(str(one.count), Tone.STRONG)) for one in page.tags
    )
    return [
        *([_how_right(found, page.calibration, blind=blind)] if measured else []),
        *(confidence(found.fit, found.line) if measured else []),
        *([] if blind else [_which_items(page)]),
        *([_blind_and_open(split)] if measured else []),
        *([] if blind else people_err(page.people, page.people_band)),
        *_which_juror(page.jurors, () if blind else page.probes),
        *([_gates(gates, found)] if measured else []),
        *([Section("Tags", (Flow(tags),), "items that carry them")] if tags else []),
    ]


def _how_right(found: _Figures, counted: Calibration, *, blind: bool = False) -> Section:
    """Compare the decisions with the labels, and return the rates that follow."""
    line = found.line
    blocks: list[Block] = []
    if not blind and counted.design is Design.WEIGHTED and counted.population is not None:
        figures = (*_COMPARED, ("effective labels", "ess", 1, ""))
        rows = _beside((counted.labelled, counted.population), figures)
        heads = ("", "labels alone", DESIGNS[counted.design])
        blocks += [table(heads, rows, "Labels alone and weighted"), Gap()]
    if None not in {line.tp, line.fn, line.tn, line.fp}:
        tp, fn, tn, fp = (words.labels(one or 0) for one in (line.tp, line.fn, line.tn, line.fp))
        confusion = (
            ("judge passed", Text(tp, Tone.PASS), Text(fp, Tone.FAIL)),
            ("judge failed", Text(fn, Tone.FAIL), Text(tn, Tone.PASS)),
        )
        rates = (
            ("sensitivity", line.sensitivity if line.tp or line.fn else None, "of good, passed"),
            ("specificity", line.specificity if line.tn or line.fp else None, "of bad, failed"),
            ("Youden's J", line.youden_j, "their sum less 1: 0 is chance"),
            ("kappa", line.kappa, "agreement with the labels: 0 is chance"),
        )
        shown = (
            (name, f"{number(value)} {said}") for name, value, said in rates if value is not None
        )
        blocks.append(table(("", "should pass", "should fail"), confusion, "Decisions and labels"))
        blocks.append(Facts.of(*shown, column=16))
    text = (
        f"not counted: {counted.unsure} can't tell, {counted.disputed} disputed, "
        f"{counted.no_verdict} without a pass or fail by the panel"
    )
    blocks.append(Paragraph(text, Tone.MUTED))
    if found.should_pass is not None and line.corrected_rate is not None:
        ends = words.interval(line.corrected_rate_low, line.corrected_rate_high)
        text = f"{number(line.corrected_rate)} {ends} by Wald, who takes its errors as "
        text += "known; the share that should pass is better"
        blocks.append(Facts.of(("corrected rate", text), column=16))
    return Section("How right?", tuple(blocks))


def _beside(
    pair: tuple[Metrics, Metrics], figures: Sequence[tuple[str, str, int, str]]
) -> list[Sequence[Words]]:
    return [
        (
            Text(name, Tone.MUTED),
            *(number(getattr(one, key) if one.n else None, digits, sign) for one in pair),
        )
        for name, key, digits, sign in figures
    ]


def confidence(fit: Fit, line: Metrics) -> list[Section]:
    """Return ECE with its value by chance, Spiegelhalter's test, AUROC and log-loss."""
    if not fit.n:
        return []
    test = fit.spiegelhalter
    ztest = f"- {test.reason or 'undefined'}"
    if test.z is not None and test.p is not None:
        ztest = f"z {test.z:+.3f}, {words.chance(test.p)}: a test of confidence"
    # Both tests in one sentence, so that the page never gives two answers.
    found_off = {
        "ECE": fit.null and fit.null.p < RISK,
        "the test": test.p is not None and test.p < RISK,
    }
    off = [name for name, one in found_off.items() if one]
    together = "no more than chance" if fit.null is not None or test.p is not None else NONE
    if off:
        alone = f", by {off[0]} alone" if len(off) == 1 else ""
        together = f"confidence is off by more than chance{alone}"
    auroc = "- not known: it needs both right and wrong verdicts"
    if fit.auroc is not None:
        auroc = f"{fit.auroc:.3f}: how often a right verdict is surer than a wrong one"
        auroc += "; chance gives 0.5"
    loss = NONE
    if (found := fit.log_loss) is not None:
        clipped = f", {found.clipped} limited at certainty" if found.clipped else ""
        loss = f"{found.value:.3f} on average{clipped}; always saying 0.5 gives 0.693"
    facts = Facts.of(
        ("ECE", f"{fit.ece:.3f}; {null_text(fit.null)}"),
        ("Spiegelhalter", ztest),
        ("together", together),
        ("AUROC", auroc),
        ("log-loss", loss),
        column=16,
    )
    text = Paragraph(confidence_text(line), Tone.STRONG)
    return [Section("Which confidence?", (text, facts))]


def confidence_text(found: Metrics) -> str:
    """Compare confidence with accuracy in words, by the difference of the rounded numbers."""
    if found.accuracy is None or found.gap is None:
        return "nothing to compare yet"
    mean = round(found.accuracy + found.gap, 2)
    right = round(found.accuracy, 2)
    claim = f"says {mean:.2f} on average and is right {right:.2f} of the time"
    if mean == right:
        return f"{claim}: as sure as it is right"
    word = "overconfident" if mean > right else "underconfident"
    return f"{claim}: {word} by {abs(mean - right):.2f}"


def null_text(found: NullEce | None) -> str:
    """Give the ECE of a calibrated panel by chance, as ECE itself has no interval."""
    if found is None:
        return "what a calibrated judge would show is not known"
    return (
        f"a calibrated judge would show about {found.expected:.3f} (95% under {found.p95:.3f}), "
        f"{words.chance(found.p)}"
    )


def _which_items(page: CalibrationPage) -> Section:
    """Return the groups with their labels and weights, and the labels that each still lacks."""
    blocks: list[Block] = []
    if page.strata:
        text = (
            "in order: labelled without a gap from the start of the group's draw; only these count"
        )
        rows: list[Sequence[Words]] = [
            (
                Text(one.name, Tone.WARN if one.missing else Tone.TEXT),
                *map(str, (one.size, one.labelled, one.prefix, one.counted, one.unanswered)),
                Text(
                    number(one.weight, 2) if one.decided else NONE,
                    Tone.TEXT if one.weight else Tone.MUTED,
                ),
                f"{one.audit_done}/{one.audit}" if one.audit else NONE,
            )
            for one in page.strata
        ]
        heads = (
            "group", "items", Column("labels", rank=1), "in order", "pass or fail",
            Column("can't tell", rank=2), "weight", "random check",
        )  # fmt: skip
        groups = replace(table(heads, rows, "The groups of the draw"), least=12)
        blocks += [groups, Paragraph(text, Tone.MUTED)]
    audit = page.audit
    text = "random check: none, because every verdict is flagged"
    if audit.planned:
        text = f"random check: {audit.done} of {audit.planned} done; none of them counts yet"
    if audit.planned and audit.counted:
        wrong = f"the panel wrong on {audit.errors} of the {audit.counted} that count"
        text = f"random check: {audit.done} of {audit.planned} done, {wrong}"
        if audit.bound is not None:
            text += f": too few to say more than at most {audit.bound:.3f} of the rest"
            text += " (95%, one side)"
    blocks.append(Paragraph(text))
    such = page.such
    if such.tests < such.counted:
        text = f"{plural(such.counted, 'label')} on {plural(such.tests, 'test')}"
        text += ": for new items, labels of one test count as related"
        blocks.append(Paragraph(text, Tone.MUTED))
    blocks += [Paragraph(text, Tone.WARN) for text in page.missing]
    blocks += _worst(page)
    return Section("Which items?", tuple(blocks), DESIGNS[named_design(page)])


def _worst(page: CalibrationPage) -> list[Block]:
    """Return a line for each of the worst segments with an interval below that of the run."""
    shown: list[Block] = []
    calm = []
    for by, one in page.worst.items():
        rate = one.accuracy or Estimate(None)
        if rate.high >= page.accuracy.low:
            calm.append(by)
            continue
        text = f" is right {number(rate.estimate, 2)} {between(rate)} by {words.labels(one.labels)}"
        name = outside(one.segment, 60)
        shown.append(Paragraph((f"worst by {by}: ", name, f"{text} labels"), Tone.WARN))
    if calm:
        shown.append(Paragraph(f"by {', '.join(calm)}: nothing shown", Tone.MUTED))
    return shown


def _blind_and_open(found: BlindSplit) -> Section:
    """Compare labels given before the panel's answer was seen with labels given after."""
    blind = found.blind
    seen = found.open
    counts = (Text("labels", Tone.MUTED), str(blind.n), str(seen.n))
    rows = [counts, *_beside((blind, seen), _COMPARED)]
    blocks: list[Block] = [table(("", "blind", "open"), rows, "Blind and open labels")]
    if found.unsaid:
        text = f"open: {found.unsaid} of {seen.n} come from a shell or a file and do not say"
        blocks.append(Paragraph(text, Tone.MUTED))
    if blind.accuracy is None:
        text = (
            "- no label is blind (b in the queue): nobody knows if seeing the answer changes labels"
        )
    elif seen.accuracy is None:
        text = "every label was given before the panel's answer was seen"
    elif min(blind.n, seen.n) < TELLING:
        text = f"too few labels to compare: wait for {TELLING} of each"
    else:
        hidden = round(blind.accuracy, 2)
        shown = round(seen.accuracy, 2)
        more = "more" if shown > hidden else "less"
        apart = f"{abs(shown - hidden):.2f} {more} with the answer in view"
        text = f"labels agree with the panel {hidden:.2f} blind, {shown:.2f} open: "
        text += "no difference" if hidden == shown else apart
    blocks.append(Paragraph(text, Tone.STRONG))
    return Section("Blind or open?", tuple(blocks), "each label once")


def _which_juror(
    found: Sequence[JurorCounts] | None, probes: Sequence[BiasProbe] = ()
) -> list[Section]:
    """Return each juror's votes, counted against the labels, and how many dissents were right."""
    if not found:
        return []
    names = words.short_names(one.name for one in found)
    rows: list[Sequence[Words]] = []
    for one in found:
        silent = one.abstained + one.failed
        counts = one.n, one.right, one.fp, one.fn, silent, one.trimmed
        told = f"{one.dissents_right} of {one.dissents}"
        rows.append((outside(names[one.name], 200, Tone.STRONG), *map(str, counts), told))
    dissents = sum(one.dissents for one in found)
    right = sum(one.dissents_right for one in found)
    text = f"{right} of {dissents} dissents were right" if dissents else "nobody dissented"
    heads = (
        "juror", Column("votes", rank=2), "right", "false passes", "false fails",
        Column("no vote", rank=1), Column("trimmed", rank=1), "right dissents",
    )  # fmt: skip
    made = table(heads, rows, "Every juror's votes against the labels")
    blocks: list[Block] = [made, Paragraph(text, Tone.STRONG)]
    blocks += [bias_facts(probes)] if probes else []
    return [Section("Which juror?", tuple(blocks), "counts of labels; the jurors' page has rates")]


def _gates(checks: Sequence[LimitCheck], found: _Figures) -> Section:
    column = max((len(check.target) for check in checks), default=0) + 2
    blocks: list[Block] = []
    for check in checks:
        margin = "" if check.margin is None else f"margin {check.margin:+.3f}"
        note = check.note
        if check.target == "ece" and (null := found.fit.null):
            note = f"calibrated: about {null.expected:.3f}, {words.chance(null.p)}"
        limit = f"{number(check.value)} {check.op} {number(check.limit)}  "
        lead = (
            Text(f"{check.status.value.upper():6}", _OUTCOMES[check.status]),
            f"{check.target:{column}}{limit}",
        )
        text = "  ".join(part for part in (margin, note) if part)
        blocks.append(Paragraph(text, Tone.MUTED, lead, indent=6))
    failed = [check.target for check in checks if check.status is GateStatus.FAIL]
    skipped = sum(check.status is GateStatus.SKIP for check in checks)
    text = "every limit is kept" + (f", {skipped} skipped" if skipped else "")
    if failed:
        text = f"missed: {', '.join(failed)}"
    elif skipped == len(checks):
        text = "no limit could be checked"
    blocks.append(Paragraph(text, Tone.STRONG))
    return Section("Which gates?", tuple(blocks), "default limits")


# How often the judge is right at each confidence: the diagram, and its bins as a table

_MARKS = {
    BinPosition.INSIDE: ("●", Tone.PASS),
    BinPosition.BELOW: ("▼", Tone.FAIL),
    BinPosition.ABOVE: ("▲", Tone.WARN),
}
_COLUMNS = (
    Column("bin", right=False), Column("n"), Column("says"), Column("right"),
    Column("95%", rank=1), Column("calibrated", rank=2), Column("the bin lies"),
)  # fmt: skip
_LEGEND = (
    "n: labels; says: mean confidence; right: how often it was, with its 95% interval; "
    "calibrated: where 95 of 100 bins of a calibrated judge would lie, "
    "says ± 1.96·√(says·(1 - says)/n), with n its effective sample size. "
    "A bin below that is overconfident, above it underconfident."
)


def reliability(page: CalibrationPage, *, blind: bool = False) -> Document:
    """Return the diagram and its table, if ``blind`` of the labelled verdicts."""
    metrics = page.alone.metrics if blind else page.calibration.headline
    fit = page.alone.fit if blind else page.fit
    design = Design.AD_HOC if blind else page.calibration.design
    basis = words.basis(design, metrics.n)
    if not fit.bins:
        text = "There are no pass or fail labels yet: there is nothing to draw."
        return Document((Section("", (Paragraph(text, Tone.STRONG),)),))
    return Document((diagram(fit, basis),), (bins(fit, basis),))


def diagram(fit: Fit, basis: str) -> Section:
    text = Paragraph(_outside_text(fit.bins), Tone.STRONG)
    note = f"how often it is right by how sure it is, {basis}"
    return Section("Reliability", (ReliabilityDiagram(fit, basis), text), note)


def bins(fit: Fit, basis: str) -> Section:
    """Return the points of the diagram as a table, with the place of each bin in words."""
    rows = []
    for one in fit.bins:
        expected = band(one)
        low, high = edges(one.index)
        sign, tone = _MARKS[place(one)]
        cells = (
            f"{low:.1f}-{high:.1f}",
            f"{one.n:,}",
            number(one.mean_confidence, 2),
            number(one.accuracy, 2),
            Text(f"{one.low:.2f}-{one.high:.2f}", Tone.MUTED),
            Text(f"{expected.low:.2f}-{expected.high:.2f}", Tone.MUTED),
            Text(f"{place(one).value} {sign}", tone),
        )
        rows.append(Row(cells))
    blocks = (
        Table(_COLUMNS, tuple(rows), caption="The bins of confidence"),
        Gap(),
        Paragraph(_LEGEND, Tone.MUTED),
    )
    return Section("Bins", blocks, basis)


def _outside_text(found: Sequence[Bin]) -> str:
    over = sum(place(one) is BinPosition.BELOW for one in found)
    under = sum(place(one) is BinPosition.ABOVE for one in found)
    if not over + under:
        whole = "the only bin lies" if len(found) == 1 else f"all {len(found)} bins lie"
        return f"{whole} in the band of chance"
    parts = [f"{over} overconfident"] * bool(over) + [f"{under} underconfident"] * bool(under)
    outside = f"{over + under} of {len(found)} bins outside ({', '.join(parts)})"
    return f"{outside}; chance alone puts about 1 in 20 there"
