"""Painters for the jurors page: jurors against labels, against each other, and over runs."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    clip,
    heading,
    inline,
    paragraph,
)
from reviewdesk.app.paint.table import (
    Section,
    number,
    table,
    two_columns,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.jurors.facts import (
    JurorFacts,
    JurorsPage,
    Quoted,
    Rate,
    VolatileCase,
    Windows,
    suggested_weights,
)
from reviewdesk.domain.jurors.leniency import Leniency
from reviewdesk.domain.jurors.rates import ENOUGH, Difference
from reviewdesk.domain.stats.figures import Target

_DRIFT_RATE = 0.05
"""A change of offsets counts as drift up to this false discovery rate."""
_MOST_CASES = 8
"""How many of the most volatile cases the page lists."""


def jurors_page_lines(
    page: JurorsPage, width: int, *, blind: bool, target: Target = Target.RUN
) -> Lines:
    """Return the whole page; a blind page uses the labelled verdicts alone.

    ``target`` says what the intervals of the rates describe.
    """
    if not page.jurors:
        return paragraph("No juror sat in this run.", width, Ink.STRONG)
    if blind:
        left: list[Section] = [
            lambda width: _labelled_rates(page, width),
            lambda width: _kappas(page, width, blind=True),
        ]
        return [*two_columns(left, [], width), Content(""), *paragraph(_HIDDEN, width, Ink.NOTE)]
    return two_columns(
        [
            lambda width: _rates(page, target, width),
            lambda width: _against_panel(page, width),
            lambda width: _kappas(page, width, blind=False),
            lambda width: _leniency(page.leniency, width),
        ],
        [
            lambda width: _offsets(page, width),
            lambda width: _failures(page.jurors, width),
            lambda width: _volatile(page, width),
        ],
        width,
    )


_HIDDEN = (
    "Blind: figures of the whole run, offsets, drift, failed replies and moving scores are left "
    "out, for they rest on what the jurors said of verdicts that have no label."
)


def _name(one: JurorFacts) -> Piece:
    return inline(one.name, 200), Ink.STRONG


def _plain(*cells: str) -> list[Piece]:
    return [(cell, Ink.MUTED if cell == "-" else Ink.TEXT) for cell in cells]


def _two_decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


_RATES = ["juror", "n", "acc", "95%", "sens", "95%", "spec", "95%"]


def _rates(page: JurorsPage, target: Target, width: int) -> Lines:
    """Return each juror's accuracy, sensitivity and specificity, weighted by the draw."""
    words = ", ".join(word.value for word in page.designs)
    lines = [heading("AGAINST THE LABELS", width, f"{page.labels} labels, {words}: {target.value}")]
    rows = [
        [
            _name(one),
            *_plain(str(one.counts.votes)),
            *_quoted_rate(one.rate("accuracy", target)),
            *_quoted_rate(one.rate("sensitivity", target)),
            *_quoted_rate(one.rate("specificity", target)),
        ]
        for one in page.jurors
    ]
    lines += table(_RATES, rows, width)
    text = "sens: of what should pass, passed; spec: of what should fail, failed; by the draw"
    lines += paragraph(text, width, Ink.MUTED)
    bounded = [inline(one.name, 60) for one in page.jurors if one.accuracy.bounds]
    if bounded:
        who = "every juror" if len(bounded) == len(page.jurors) else ", ".join(bounded)
        text = (
            f"{who}: a stratum has no label that counts, so the rates are of the labels alone; "
            f"the ends bound {target.value}"
        )
        lines += paragraph(text, width, Ink.WARN)
    return lines


def _quoted_rate(rate: Quoted) -> list[Piece]:
    if rate.share is None:
        return _plain("-", "-")
    return [(_two_decimals(rate.share), Ink.TEXT), (f"{rate.low:.2f}-{rate.high:.2f}", Ink.MUTED)]


def _labelled_rates(page: JurorsPage, width: int) -> Lines:
    """Return each juror's rates over the labels, each counted once, with Wilson's intervals."""
    lines = [heading("AGAINST THE LABELS", width, f"{page.labels} verdicts, each label once")]
    rows = [
        [
            _name(one),
            *_plain(str(one.counts.votes)),
            *_rate(one.labelled_accuracy),
            *_rate(one.labelled_sensitivity),
            *_rate(one.labelled_specificity),
        ]
        for one in page.jurors
    ]
    lines += table(_RATES, rows, width)
    text = "sens: of what should pass, passed; spec: of what should fail, failed; Wilson intervals"
    return [*lines, *paragraph(text, width, Ink.MUTED)]


def _rate(rate: Rate) -> list[Piece]:
    if rate.share is None:
        return _plain("-", "-")
    low, high = rate.interval
    return [(_two_decimals(rate.share), Ink.TEXT), (f"{low:.2f}-{high:.2f}", Ink.MUTED)]


def _against_panel(page: JurorsPage, width: int) -> Lines:
    """Return how much more often each juror is right than the panel, on the same verdicts."""
    found = page.contest
    if found.best is None or found.panel is None:
        return []
    lines = [heading("AGAINST THE PANEL", width, "accuracy less the panel's, paired: this run")]
    rows = [[_name(one), *_difference(one.drawn.difference)] for one in page.jurors]
    lines += table(["juror", "apart", "labels", "less panel", "95%"], rows, width)
    best = inline(found.best, 60)
    if found.beats_every:
        text = "the panel beats every juror"
    elif found.panel.low > 0:
        text = f"the panel is right more often than {best}, the best by these labels"
    elif found.best_beats_panel:
        text = f"{best} is right more often than the panel"
    else:
        text = f"these labels do not tell the panel from {best}, the best by them"
    lines += paragraph(text, width, Ink.STRONG)
    others = f"{best} beats every other juror" if found.best_stands else "no juror beats all others"
    return [*lines, *paragraph(others, width)]


def _difference(found: Difference | None) -> list[Piece]:
    if found is None or not found.items:
        return _plain(*"----")
    middle = "-" if found.estimate is None else f"{found.estimate:+.2f}"
    return [
        *_plain(str(found.apart), str(found.labelled), middle),
        (f"{found.low:+.2f} to {found.high:+.2f}", Ink.MUTED),
    ]


def _kappas(page: JurorsPage, width: int, *, blind: bool) -> Lines:
    """Return each juror's errors, kappa, suggested weight and share of right lone dissents."""
    lines = [heading("KAPPA AND WEIGHTS", width, "suggested, never applied")]
    head = ["juror", "fp", "fn", "kappa", "weight", "corrected", "lone"]
    weights = [one.weight for one in page.jurors]
    if blind:
        weights, _ = suggested_weights([(j.labelled_kappa, j.counts.votes) for j in page.jurors])
    rows = [_kappa(one, weight, blind) for one, weight in zip(page.jurors, weights, strict=True)]
    lines += table(head, rows, width)
    basis = page.basis
    when = "" if basis.days is None else f" of the last {basis.days} days"
    text = (
        f"kappa from {ENOUGH} votes on; weights: kappa clipped at 0, drawn to the mean, sum 1, "
        f"by {basis.labels} labels{when}; fp, fn: false passes and fails; corrected: its pass rate "
        "less its own mistakes; lone: dissents that were right, alone or trimmed, and their rate"
    )
    return [*lines, *paragraph(text, width, Ink.MUTED)]


def _kappa(one: JurorFacts, weight: float | None, blind: bool) -> list[Piece]:
    right, n = one.counts.lone_right, one.counts.lone_dissents
    dissents = f"{right}/{n}" if n else "-"
    if n and not blind and one.dissent.share is not None and not one.dissent.bounds:
        dissents += f" {one.dissent.share:.2f}"
    kappa = one.labelled_kappa if blind else one.kappa
    counts = str(one.counts.fp), str(one.counts.fn)
    corrected = None if blind else one.corrected[0]
    return [
        _name(one),
        *_plain(
            *counts, _two_decimals(kappa), _two_decimals(weight), _two_decimals(corrected), dissents
        ),
    ]


def _leniency(found: Leniency, width: int) -> Lines:
    """Return whether jurors of the generator's family pass more of what should fail."""
    lines = [heading("OWN FAMILY", width, "passes of what should fail")]
    rows = [
        [
            (name, Ink.TEXT),
            (f"{side.k}/{side.n}", Ink.TEXT),
            *_plain(_two_decimals(side.share)),
        ]
        for name, side in (("generator's family", found.own), ("other families", found.others))
    ]
    lines += table(["jurors", "passed", "of this run"], rows, width)
    made = found.difference
    if made.diff is None or made.low is None or made.high is None:
        return [*lines, *paragraph(f"difference: - {found.reason}", width, Ink.MUTED)]
    text = f"difference {made.diff:+.2f} [{made.low:+.2f}, {made.high:+.2f}]: "
    if made.low > 0:
        return [*lines, *paragraph(text + "more lenient with its own", width, Ink.WARN)]
    word = "stricter with its own" if made.high < 0 else "no leniency shown"
    return [*lines, *paragraph(text + word, width, Ink.STRONG)]


def _offsets(page: JurorsPage, width: int) -> Lines:
    """Return each juror's mean score minus that of the others, and whether it drifted."""
    lines = [heading("OFFSET AND DRIFT", width, "score less the mean of the other jurors")]
    head = ["juror", "offset", "n", "change", "against", "q"]
    lines += table(head, [_offset(one) for one in page.jurors], width)
    text = (
        "change: later mean less earlier, by Welch's t; q: p adjusted over the jurors; "
        "runs: all earlier ones of the same jurors, half: the first half of this run"
    )
    lines += paragraph(text, width, Ink.MUTED)
    if not any(one.offset and one.offset.drift for one in page.jurors):
        return [*lines, *paragraph("no juror has scores enough to compare", width, Ink.MUTED)]
    moved = [
        inline(one.name, 60)
        for one in page.jurors
        if one.offset and one.offset.drift and (one.offset.drift.q or 1.0) <= _DRIFT_RATE
    ]
    if moved:
        lines += paragraph(f"drifted: {', '.join(moved)} (q <= {_DRIFT_RATE})", width, Ink.WARN)
    else:
        lines += paragraph(f"no juror drifted (q <= {_DRIFT_RATE})", width, Ink.STRONG)
    return [*lines, *_alarms(page, width)]


def _offset(one: JurorFacts) -> list[Piece]:
    offset = one.offset
    if offset is None:
        return [_name(one), *_plain(*"-----")]
    cells = [number(offset.mean, "+"), str(offset.n)]
    drift = offset.drift
    if drift is None:
        return [_name(one), *_plain(*cells, *"---")]
    against = (
        "half"
        if drift.windows is Windows.HALVES
        else f"{drift.runs} run{'s' if drift.runs > 1 else ''}"
    )
    cells += [number(drift.change, "+"), f"{against} {drift.before}", number(drift.q)]
    return [_name(one), *_plain(*cells)]


def _alarms(page: JurorsPage, width: int) -> Lines:
    """Return where CUSUM left its limit, and how often that happens by chance."""
    lines: Lines = []
    limit = 0.0
    for one in page.jurors:
        drift = one.offset.drift if one.offset else None
        if drift is not None and drift.alarm is not None:
            where = inline(page.ids.get(drift.alarm, "?"), 100)
            lines += paragraph(f"CUSUM alarm: {inline(one.name, 60)} at {where}", width, Ink.WARN)
        if drift is not None and drift.limit is not None:
            limit = drift.limit
    if lines:
        text = f"CUSUM k 0.5, h {limit:.1f}: in 5% of runs without drift any juror has an alarm"
        lines += paragraph(text, width, Ink.MUTED)
    return lines


def _failures(found: Sequence[JurorFacts], width: int) -> Lines:
    """Return each juror's seats without an answer and its replies that could not be read."""
    lines = [heading("FAILED REPLIES", width, "over all seats of the run")]
    rows = [
        [
            _name(one),
            *_plain(str(one.seats.seats), str(one.seats.failed), str(one.seats.parse_failed)),
            *_rate(one.parse_failures),
        ]
        for one in found
    ]
    return [
        *lines,
        *table(["juror", "seats", "failed", "unread", "unread rate", "95%"], rows, width),
    ]


def _volatile(page: JurorsPage, width: int) -> Lines:
    """Return the cases whose panel score moves most from run to run."""
    lines = [heading("MOVING SCORES", width, f"{page.repeated} cases scored in two runs or more")]
    if not page.volatile:
        text = "- no case of this run has a panel score in another loaded run"
        return [*lines, *paragraph(text, width, Ink.MUTED)]
    rows = [_case(one) for one in page.volatile[:_MOST_CASES]]
    lines += table(["case", "SD", "swing", "runs", "decision"], rows, width)
    return [*lines, *_swing(page.volatile[0], width)]


def _case(one: VolatileCase) -> list[Piece]:
    turned = ("turned", Ink.WARN) if one.turned else ("same", Ink.MUTED)
    name = clip(inline(one.id, 200), 40)
    return [
        (name, Ink.STRONG),
        *_plain(_two_decimals(one.sd), _two_decimals(one.swing), str(len(one.scores))),
        turned,
    ]


def _swing(most: VolatileCase, width: int) -> Lines:
    scores = ", ".join(f"{inline(run, 40)} {score:.2f}" for run, score in most.scores[-6:])
    return paragraph(f"{inline(most.id, 60)}: {scores}", width)
