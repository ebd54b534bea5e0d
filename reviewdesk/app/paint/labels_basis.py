"""Painters for what the figures rest on: the draw, the jurors, and blind and open labels."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    flow,
    heading,
    inline,
    line,
    paragraph,
)
from reviewdesk.app.paint.table import number, table
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.jurors.accuracy import JurorCounts
from reviewdesk.domain.labels.strata import AuditSample, Stratum
from reviewdesk.domain.records import Design, Metrics, Pace, TagCount
from reviewdesk.domain.stats.calibration_page import BlindSplit, CalibrationPage

_MEANS = {
    Design.NONE: "no pass or fail label yet",
    Design.AD_HOC: "labels outside the draw: they describe themselves only",
    Design.ESCALATED_ONLY: "a stratum of the rest has no label that counts: not the run's figures",
    Design.PARTIAL: "a flagged stratum has no label that counts: not the run's figures",
    Design.WEIGHTED: "each label counts for the verdicts it stands for: the run's figures",
    Design.CENSUS: "every decided verdict has a label: the run's figures, not an estimate",
    Design.FILE: "the rows of a file, as they are",
}


def design_lines(page: CalibrationPage, width: int) -> Lines:
    """Return the strata with prefix and weight, the audit, the ESS, and what is still to do."""
    found = page.calibration
    lines = [heading("DESIGN", width, found.design.value)]
    if page.strata:
        head = ["stratum", "N", "labels", "prefix", "p/f", "other", "weight", "audit"]
        lines += table(head, [_stratum(one) for one in page.strata], width)
        text = "prefix: the first of the draw, all labelled; a p/f in it weighs N / p/f"
        lines += paragraph(text, width, Ink.MUTED)
    lines += paragraph(_MEANS[found.design], width, Ink.STRONG)
    lines += paragraph(_audit(page.audit), width)
    if found.population is not None and found.population.ess is not None:
        n, ess = found.population.n, found.population.ess
        lost = f"loss by unequal weights: {n} labels count as {ess:.1f} equal ones (Kish's ESS)"
        lines += paragraph(lost, width)
    for text in page.missing:
        lines += paragraph(text, width, Ink.WARN)
    return lines


def _stratum(one: Stratum) -> list[Piece]:
    weight = "no row" if not one.decided else "-" if one.weight is None else f"{one.weight:.2f}"
    return [
        (one.name, Ink.WARN if one.missing else Ink.TEXT),
        (f"{one.size}", Ink.TEXT),
        (f"{one.labelled}", Ink.TEXT),
        (f"{one.prefix}", Ink.TEXT),
        (f"{one.counted}", Ink.TEXT),
        (f"{one.unanswered}", Ink.TEXT),
        (weight, Ink.TEXT if one.weight else Ink.MUTED),
        (f"{one.audit_done}/{one.audit}" if one.audit else "-", Ink.TEXT),
    ]


def _audit(found: AuditSample) -> str:
    if not found.planned:
        return "audit: - every verdict is flagged, there is no rest to audit"
    text = f"audit: {found.done} of {found.planned} done"
    if not found.counted:
        return f"{text}; none of them counts yet"
    text += f", the panel wrong on {found.errors} of the {found.counted} that count"
    if found.bound is None:
        return text
    return f"{text}: unstable, at most {found.bound:.3f} of the rest (one-sided 95%)"


_JUROR = (
    "juror", "votes", "tp", "fn", "tn", "fp", "none", "trim", "diss", "right",
)  # fmt: skip


def jurors_lines(found: Sequence[JurorCounts] | None, basis: str, width: int) -> Lines:
    """Return each juror's counts against the labels. The jurors page has the rates."""
    if not found:
        return []
    lines = [heading("JURORS", width, basis), *table(_JUROR, [_juror(one) for one in found], width)]
    text = (
        "none: no vote; trim: left out; diss: votes against the decision, then how many were right"
    )
    lines += paragraph(text, width, Ink.MUTED)
    return [*lines, *paragraph(_dissent_text(found), width, Ink.STRONG)]


def _juror(one: JurorCounts) -> list[Piece]:
    figures = [
        one.votes, one.tp, one.fn, one.tn, one.fp, one.abstained + one.failed, one.trimmed,
        one.dissents, one.dissents_right,
    ]  # fmt: skip
    return [(inline(one.name, 200), Ink.STRONG), *((str(figure), Ink.TEXT) for figure in figures)]


def _dissent_text(found: Sequence[JurorCounts]) -> str:
    """Say how many dissents were right."""
    dissents = sum(one.dissents for one in found)
    heard = sum(one.dissents_right for one in found)
    lost = f"{heard} of {dissents} dissents were right" if dissents else "nobody dissented"
    return f"{lost}; rates of the run are on the jurors' page"


def split_lines(found: BlindSplit, basis: str, width: int) -> Lines:
    """Compare, side by side, labels given before and after the panel's answer was seen."""
    ways = (found.blind, found.open)

    def row(name: str, *cells: str) -> list[Piece]:
        return [(name, Ink.MUTED), *((cell, Ink.TEXT) for cell in cells)]

    rows = [
        row("n", *(str(one.n) for one in ways)),
        row("ECE", *(number(one.ece if one.n else None) for one in ways)),
        row("Brier", *(number(one.brier) for one in ways)),
        row("gap", *(number(one.gap, "+") for one in ways)),
        row("accuracy", *(number(one.accuracy) for one in ways)),
    ]
    lines = [heading("BLIND AND OPEN", width, basis), *table(["", "blind", "open"], rows, width)]
    if found.unsaid:
        text = f"open: {found.unsaid} of {found.open.n} come from a shell or a file and do not say"
        lines += paragraph(text, width, Ink.MUTED)
    return [*lines, *paragraph(_anchoring_text(found.blind, found.open), width, Ink.STRONG)]


def _anchoring_text(blind: Metrics, seen: Metrics) -> str:
    """Say whether labels agree with the panel more often once its answer was seen."""
    if blind.accuracy is None:
        return (
            "- no label is blind (b in the queue): whether the answer in view sways it is unknown"
        )
    if seen.accuracy is None:
        return "every label was given before the panel's answer was seen"
    hidden, shown = round(blind.accuracy, 2), round(seen.accuracy, 2)
    agree = f"labels side with the panel {hidden:.2f} blind, {shown:.2f} open"
    if hidden == shown:
        return f"{agree}: no difference"
    word = "more" if shown > hidden else "less"
    return f"{agree}: {abs(shown - hidden):.2f} {word} with the answer in view"


def tags_lines(found: Sequence[TagCount], width: int) -> Lines:
    """Return how many items carry each tag, the most frequent first."""
    if not found:
        return []
    shown = (
        line((f"{inline(one.tag, 80)} ", Ink.TEXT), (f"{one.count}", Ink.STRONG)) for one in found
    )
    return [heading("TAGS", width, "items that carry them"), *flow(shown, width)]


def pace_lines(found: Pace, left: int | None, width: int) -> Lines:
    """Return how fast the reviewer labels, and how long the ``left`` verdicts take at that pace."""
    if not found.steady or found.per_hour is None or found.median_dwell is None:
        return []
    lines = [heading("PACE", width, f"yours, {found.counted} labels timed")]
    text = f"{found.per_hour:.0f} labels an hour; half of them within {found.median_dwell:.0f} s"
    if left:
        minutes = max(1, round(60 * left / found.per_hour))
        text += f"; the {left} left of flagged and audit take about {minutes} min"
    return [*lines, *paragraph(text, width, Ink.STRONG)]
