"""What the figures rest on: the draw, the jurors' counts, blind and open labels, tags and pace."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.domain.jurors.accuracy import JurorCounts
from reviewdesk.domain.labels.sampling import AuditSample, Stratum
from reviewdesk.domain.records import Design, Metrics, Pace, TagCount
from reviewdesk.domain.stats.calibration_page import BlindSplit, CalibrationPage
from reviewdesk.views.document import (
    Block,
    Flow,
    Paragraph,
    Section,
    Text,
    Tone,
    Words,
    outside,
    table,
)
from reviewdesk.views.progress import duration, pace_text
from reviewdesk.views.words import number

MEANS = {
    Design.NONE: "no pass or fail label yet",
    Design.AD_HOC: "labels outside the draw: they describe themselves only",
    Design.ESCALATED_ONLY: "a stratum of the rest has no label that counts: not the run's figures",
    Design.PARTIAL: "a flagged stratum has no label that counts: not the run's figures",
    Design.WEIGHTED: "each label counts for the verdicts it stands for: the run's figures",
    Design.CENSUS: "every decided verdict has a label: the run's figures, not an estimate",
    Design.FILE: "the rows of a file, as they are",
    Design.SELECTED: "not always asked: the figures are of the verdicts that needed this juror",
}
_STRATUM = ("stratum", "N", "labels", "prefix", "p/f", "other", "weight", "audit")
_JUROR = ("juror", "votes", "tp", "fn", "tn", "fp", "none", "trim", "diss", "right")


def design(page: CalibrationPage) -> Section:
    """Return the strata with prefix and weight, the audit, the ESS, and what is still to do."""
    found = page.calibration
    blocks: list[Block] = []
    if page.strata:
        rows = [_stratum(one) for one in page.strata]
        text = "prefix: the first of the draw, all labelled; a p/f in it weighs N / p/f"
        blocks += [table(_STRATUM, rows, "The strata of the draw"), Paragraph(text, Tone.MUTED)]
    blocks += [Paragraph(MEANS[found.design], Tone.STRONG), Paragraph(_audit(page.audit))]
    if found.population is not None and found.population.ess is not None:
        n = found.population.n
        ess = found.population.ess
        text = f"loss by unequal weights: {n} labels count as {ess:.1f} equal ones (Kish's ESS)"
        blocks.append(Paragraph(text))
    blocks += [Paragraph(text, Tone.WARN) for text in page.missing]
    return Section("Design", tuple(blocks), found.design.value)


def _stratum(one: Stratum) -> list[Words]:
    weight = "no row" if not one.decided else number(one.weight, 2)
    return [
        Text(one.name, Tone.WARN if one.missing else Tone.TEXT),
        str(one.size),
        str(one.labelled),
        str(one.prefix),
        str(one.counted),
        str(one.unanswered),
        Text(weight, Tone.TEXT if one.weight else Tone.MUTED),
        f"{one.audit_done}/{one.audit}" if one.audit else "-",
    ]


def _audit(found: AuditSample) -> str:
    if not found.planned:
        return "audit: - no verdict is without a flag, there is no rest to audit"
    text = f"audit: {found.done} of {found.planned} done"
    if not found.counted:
        return f"{text}; none of them counts yet"
    text += f", the panel wrong on {found.errors} of the {found.counted} that count"
    if found.bound is None:
        return text
    return f"{text}: unstable, at most {found.bound:.3f} of the rest (one-sided 95%)"


def jurors(
    found: Sequence[JurorCounts] | None,
    elsewhere: str = "; rates of the run are on the jurors' page",
) -> list[Section]:
    """Return each juror's counts against the labels, and how many dissents were right."""
    if not found:
        return []
    rows = [_juror(one) for one in found]
    text = (
        "none: no vote; trim: left out; diss: votes against the decision, then how many were right"
    )
    dissents = sum(one.dissents for one in found)
    right = sum(one.dissents_right for one in found)
    lost = f"{right} of {dissents} dissents were right" if dissents else "nobody dissented"
    blocks = (
        table(_JUROR, rows, "Every juror's votes against the labels"),
        Paragraph(text, Tone.MUTED),
        Paragraph(f"{lost}{elsewhere}", Tone.STRONG),
    )
    return [Section("Jurors", blocks, "counts of labels")]


def _juror(one: JurorCounts) -> list[Words]:
    figures = [
        one.votes, one.tp, one.fn, one.tn, one.fp, one.abstained + one.failed, one.trimmed,
        one.dissents, one.dissents_right,
    ]  # fmt: skip
    return [outside(one.name, 200, Tone.STRONG), *map(str, figures)]


def split(found: BlindSplit, basis: str) -> Section:
    """Compare, side by side, labels given before and after the panel's answer was seen."""
    ways = (found.blind, found.open)
    rows: list[list[Words]] = [
        [Text(name, Tone.MUTED), *cells]
        for name, cells in (
            ("n", [str(one.n) for one in ways]),
            ("ECE", [number(one.ece if one.n else None) for one in ways]),
            ("Brier", [number(one.brier) for one in ways]),
            ("gap", [number(one.gap, sign="+") for one in ways]),
            ("accuracy", [number(one.accuracy) for one in ways]),
        )
    ]
    blocks: list[Block] = [table(("", "blind", "open"), rows, "Blind and open labels")]
    if found.unsaid:
        text = f"open: {found.unsaid} of {found.open.n} come from a shell or a file and do not say"
        blocks.append(Paragraph(text, Tone.MUTED))
    blocks.append(Paragraph(_anchoring_text(found.blind, found.open), Tone.STRONG))
    return Section("Blind and open", tuple(blocks), basis)


def _anchoring_text(blind: Metrics, seen: Metrics) -> str:
    """Say whether labels agree with the panel more often once its answer was seen."""
    if blind.accuracy is None:
        return (
            "- no label is blind (b in the queue): whether the answer in view sways it is unknown"
        )
    if seen.accuracy is None:
        return "every label was given before the panel's answer was seen"
    hidden = round(blind.accuracy, 2)
    shown = round(seen.accuracy, 2)
    agree = f"labels side with the panel {hidden:.2f} blind, {shown:.2f} open"
    if hidden == shown:
        return f"{agree}: no difference"
    word = "more" if shown > hidden else "less"
    return f"{agree}: {abs(shown - hidden):.2f} {word} with the answer in view"


def tags(found: Sequence[TagCount]) -> list[Section]:
    """Return how many items carry each tag, the most frequent first."""
    if not found:
        return []
    groups = tuple((outside(one.tag, 80), " ", Text(str(one.count), Tone.STRONG)) for one in found)
    return [Section("Tags", (Flow(groups),), "items that carry them")]


def pace(found: Pace, left: int) -> list[Section]:
    """Return how fast the reviewer labels, and how long the ``left`` verdicts take at that pace."""
    if not found.steady:
        return []
    text = pace_text(found)
    if left:
        text += f"; the {left:,} left take about {duration(left, found)}"
    note = f"yours, {found.counted} labels timed"
    return [Section("Pace", (Paragraph(text, Tone.STRONG),), note)]
