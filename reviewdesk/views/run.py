"""Describe a run: its file and report, its verdicts, its jurors' agreement, its labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.domain.assessment.result import WORDS, Breach
from reviewdesk.domain.labels.segments import Composite, SegmentFigures
from reviewdesk.domain.records import Run
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.run.volatility import AgainstEarlier, EarlierRange
from reviewdesk.domain.stats.figures import SimulatedFigure
from reviewdesk.domain.verdict import Decision
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)

_HIDDEN = (
    "Blind: flags, decisions, agreement, broken rules, groups, ballots, skipped rows, notes and "
    "hashes are left out, because they come from what the panels said."
)
_Pairs = list[tuple[str, Words]]
_BREACHES = {
    Breach.QUORUM: "the votes do not give the stated decision",
    Breach.DECISION: "the stated rule does not give the stated decision",
    Breach.BAND: "the stated agreement is of another band",
    Breach.ESCALATION: "the stated agreement escalates otherwise",
    Breach.SAME_FAMILY: "the models say otherwise of the same model family",
    Breach.TRIM: "the stated trim drops other scores",
    Breach.PASS_SCORE: "a juror's pass is not what its score says",
    Breach.LABEL: "the labels do not give the stated decision",
    Breach.ROUNDING: "the quorum is met by rounding alone, or missed by it",
    Breach.STOPPED_EARLY: "a panel stopped early although its decision could still turn",
    Breach.AGAINST_ALL: "no juror voted for the stated decision",
    Breach.CONTRADICTION: "the file contradicts itself",
}
"""The meaning of a breach of each rule."""


def run(found: RunDetails, *, blind: bool = False) -> Document:
    """Describe one run; a blind document leaves out all that depends on the panels' answers."""
    about = _section("Run", _about(found, blind=blind), outside(found.run.name, 300))
    report = _section("Report", _report(found))
    labels = _section("Labels", _labels(found, blind=blind))
    kept: _Pairs = [("file", outside(found.desk, 1000))] if found.desk else []
    kept.append(("seed", outside(found.run.seed, 200)))
    if not blind:
        kept.append(("run hash", outside(found.run.hash, 80)))
        kept.append(("file sha256", outside(found.run.file_hash, 80)))
    desk = _section("Desk", kept)
    if blind:
        return Document((about, report, labels, desk), end=(Paragraph(_HIDDEN, Tone.NOTE),))
    made = found.tally.decisions
    decisions: _Pairs = [
        (
            "none stated" if word is None else words.decided(word),
            f"{made.get(word, 0):,}  {words.share(made.get(word, 0), found.run.whole)}",
        )
        for word in (*Decision, None)
    ]
    counted = found.tally.breaches
    broken: _Pairs = [
        (kind.label, f"{counted[kind]:,}  {text}")
        for kind, text in _BREACHES.items()
        if counted.get(kind)
    ]
    # A rounded quorum is counted with the breaches, but it is not a breach.
    if counted.keys() <= {Breach.ROUNDING}:
        broken.insert(0, ("none", "no verdict breaks a rule of the report"))
    carried = found.tally.flags
    flags: _Pairs = [
        (word, f"{carried[flag]:,}") for flag, word in WORDS.items() if carried.get(flag)
    ]
    flags = flags or [("none", "no verdict carries a flag")]
    notes: list[Block] = [
        Paragraph(outside(note, 5000), lead=Text("· ", Tone.MUTED), indent=2)
        for note in found.run.notes
    ]
    notes = notes or [Paragraph("none", Tone.MUTED)]
    return Document(
        (
            about,
            _section("Agreement", _agreement(found), "of the jurors, over all verdicts"),
            _section("Broken rules", broken, "rules of the report's own"),
            report,
            labels,
            desk,
        ),
        (
            _section("Decisions", decisions),
            _section("Flags", flags, f"{found.run.flagged:,} verdicts to review"),
            Section("Notes", tuple(notes), "what the reader noticed"),
        ),
    )


def title(found: Run) -> Text:
    """Return the title of the report, or else the name of the run."""
    stated = found.header.get("title")
    return outside(stated if isinstance(stated, str) and stated.strip() else found.name, 300)


_OF_PANEL = {"hash", "flagged", "alpha"}
"""The columns that depend on what the panel answered."""


def run_lines(
    found: Sequence[RunLine],
    newest: AgainstEarlier | None = None,
    *,
    at: tuple[int, str] | None = None,
    blind: bool = False,
) -> Document:
    """Return a line for each run: its name and hash, its counts, and how far its jurors agree.

    ``at`` marks the line under a cursor, and the run of a hash; a blind list names no panel.
    Below, the ``newest`` run is compared with the earlier runs.
    """
    columns = (
        Column("run", right=False), Column("hash", 4, right=False), Column("verdicts"),
        Column("flagged", 2), Column("labelled", 1), Column("alpha", 3),
        Column("file", 5, right=False),
    )  # fmt: skip
    shown = [number for number, one in enumerate(columns) if not (blind and one.title in _OF_PANEL)]
    rows = []
    for place, one in enumerate(found):
        chosen = at is not None and one.run.hash == at[1]
        name = outside(one.run.name, 300, Tone.STRONG if chosen else Tone.TEXT)
        cells: tuple[Words, ...] = (
            name if at is None else (Text("● " if chosen else "  ", Tone.KEY), name),
            one.run.hash[:8],
            words.held(one.run, ""),
            f"{one.run.flagged:,}",
            f"{one.labelled:,}",
            words.number(one.alphas.alpha),
            outside(one.run.file, 1000),
        )
        mark = None if at is None else Text("▸ " if place == at[0] else "  ", Tone.KEY)
        rows.append(Row(tuple(cells[one] for one in shown), mark))
    kept = tuple(columns[one] for one in shown)
    lines = Table(kept, tuple(rows), least=24, caption="The runs")
    return Document((Section("", (lines,)), *over_runs(newest)))


def _section(name: str, pairs: Sequence[tuple[str, Words]], note: Words = "") -> Section:
    column = max(13, *(len(name) + 1 for name, _ in pairs))
    return Section(name, (Facts.of(*pairs, column=column),), note)


def _about(found: RunDetails, *, blind: bool) -> _Pairs:
    run = found.run
    unknown = found.tally.unknown_ballots
    ballots = f"{run.ballots:,}, {run.failed_ballots:,} of them failed"
    pairs: _Pairs = [
        ("file", outside(run.file, 1000)),
        ("format", outside(run.format, 80)),
        ("loaded", (words.moment(run.loaded_at), " UTC")),
        ("verdicts", words.held(run, "")),
    ]
    # The item pane of a blind session shows no label of the file either.
    if blind:
        return pairs
    if count := run.human_labels:
        left = found.unlabelled
        some = f"{left:,} of {count:,}" if left < count else "it" if count == 1 else "them"
        none = ", none left to take: every such item has a label"
        taken = f"; --import-labels takes {some}" if left else none
        pairs.append(("human labels", f"{words.plural(count, 'human label')} in the file{taken}"))
    return [
        *pairs,
        ("ballots", ballots + (f", {unknown:,} not understood" if unknown else "")),
        ("skipped rows", f"{run.skipped:,}"),
    ]


def _report(found: RunDetails) -> _Pairs:
    header = found.run.header
    stated: _Pairs = [
        ("title", outside(header["title"], 300) if header.get("title") else ""),
        ("made", words.moment(header["created_at"]) if header.get("created_at") else ""),
        ("producer", _fields(header.get("producer"), "name", "version", "format")),
        ("generator", _fields(header.get("generator"), "model", "vendor") or "- not stated"),
        ("defaults", _settings(header.get("defaults")) or "- none stated"),
        ("set by you", _settings(found.filled)),
    ]
    return [(name, text) for name, text in stated if text]


def _fields(stated: Mapping[str, Any] | None, *keys: str) -> Words:
    return joined([outside(stated[key], 200) for key in keys if stated.get(key)] if stated else [])


def _settings(values: Mapping[str, Any] | None) -> Words:
    return joined(
        [
            (outside(name, 60), " ", outside(value, 300))
            for name, value in (values or {}).items()
            if value not in (None, {}, [])
        ]
    )


def _agreement(found: RunDetails) -> _Pairs:
    """Return Krippendorff's alphas, or reasons for undefined ones, and the unanimous verdicts."""
    alphas = found.alphas
    counted = found.tally

    def alpha_text(name: str, what: str) -> str:
        why = alphas.reasons.get(name)
        return (
            f"{words.number(getattr(alphas, name))}  {what}" if why is None else f"-  {why.words}"
        )

    ends = words.interval(alphas.alpha_low, alphas.alpha_high)
    interval = alpha_text("alpha_low", "") if ends == words.NONE else f"{ends}  95% interval"
    alike = f"{counted.unanimous_scores:,} on scores, {counted.unanimous_votes:,} on votes"
    return [
        ("alpha", alpha_text("alpha", "interval, on the scores")),
        *([("", interval)] if alphas.alpha is not None else []),
        ("on votes", alpha_text("alpha_votes", "nominal")),
        ("on ranks", alpha_text("alpha_ordinal", "ordinal, on the scores")),
        ("unanimous", alike),
    ]


def _labels(found: RunDetails, *, blind: bool) -> _Pairs:
    labels = found.labels
    done = found.progress
    pairs: _Pairs = [
        ("decided", f"{labels.decided:,} of {found.run.verdicts:,} (pass or fail)"),
        ("can't tell", f"{labels.unsure:,}"),
        ("disputed", f"{labels.disputed:,}"),
    ]
    if done is None or blind:
        return pairs
    return [
        *pairs,
        ("flagged", f"{done.flagged_done:,} of {done.flagged:,} have a label"),
        ("random check", f"{done.audit_done:,} of {done.audit:,} have a label"),
    ]


def over_runs(found: AgainstEarlier | None) -> list[Section]:
    """Compare a run with earlier runs of the same jurors: its dimensions, and unanimity."""
    if found is None or (not found.dimensions and found.unanimity is None):
        return []
    blocks: list[Block] = []
    swing = found.swings
    moved = [one for one in found.dimensions if one.outside]
    if swing is not None:
        text = f" swings while the others hold: {_against(swing)}"
        blocks.append(Paragraph((outside(swing.name, 60), text), Tone.WARN))
    elif moved:
        names = joined([(outside(one.name, 60), f" {_against(one)}") for one in moved], "; ")
        blocks.append(Paragraph(("several dimensions moved: ", *names), Tone.NOTE))
    elif len(found.dimensions) > 1:
        count = len(found.dimensions)
        blocks.append(Paragraph(f"none of the {count} dimensions swings by itself", Tone.MUTED))
    if (watch := found.unanimity) is not None:
        text = f"unanimous votes: {_against(watch.share)}"
        if watch.warns:
            text += f"; with {words.labels(watch.labels)} labels nobody knows if accuracy rose too"
        blocks.append(Paragraph(text, Tone.WARN if watch.warns else Tone.MUTED))
    return [Section("Over runs", tuple(blocks), "against earlier runs of the same jurors")]


def _against(one: EarlierRange) -> str:
    ends = words.interval(max(one.low, 0.0), min(one.high, 1.0), 2)
    return f"{one.now:.2f}, by {words.plural(one.runs, 'earlier run')} expected in {ends}"


# Parts of a run, and runs like it


def segments(by: str, found: Sequence[SegmentFigures]) -> Document:
    """Return the figures by segment; segments with few labels are named without figures."""
    rates = ("accuracy", "false_passes", "false_fails", "should_pass")
    heads = (
        by, Column("verdicts", rank=2), "labels", "accuracy", "95%", "false passes", "95%",
        "false fails", Column("95%", rank=1), "should pass", Column("95%", rank=1),
    )  # fmt: skip
    rows: list[list[Words]] = []
    small: list[Text] = []
    for one in found:
        name = outside(one.segment, 60)
        if one.accuracy is None:
            small.append(name)
            continue
        row: list[Words] = [name, f"{one.verdicts:,}", f"{one.labels:,}"]
        for rate in (getattr(one, key) for key in rates):
            known = rate is not None and (rate.low > 0 or rate.high < 1)
            row += (
                [words.number(rate.estimate, 2), words.between(rate)]
                if known
                else [words.NONE, words.NONE]
            )
        rows.append(row)
    blocks: list[Block] = []
    if rows:
        text = "Each interval is for one row alone: among many, the worst looks worse than it is."
        blocks += [table(heads, rows, f"Figures by {by}"), Paragraph(text, Tone.MUTED)]
    if small:
        more = f" and {len(small) - 12} more" if len(small) > 12 else ""
        few = (
            "too small, under 20 labels: "
            if rows
            else f"no {by} has 20 labels, so none has figures: "
        )
        blocks.append(Paragraph((few, *joined(small[:12]), more), Tone.WARN))
    return Document((Section(f"By {by}", tuple(blocks), "the worst first"),))


def composites(found: Sequence[Composite]) -> Document:
    """Return each subject's composite with its dimensions, the lowest first."""
    heads = ("subject", "by the panel", "should pass", "95%", Column("labels", right=False))
    rows: list[list[Words]] = []
    reasons: list[Block] = []
    for one in found:
        counts = [
            (outside(part.dimension, 60), f" {words.number(part.weight, 2)} x {part.labels}")
            for part in one.dimensions
        ]
        share = words.number(one.found.estimate)
        figures = (words.number(one.panel), share, words.between(one.found))
        rows.append([outside(one.subject, 60), *figures, joined(counts)])
        if one.found.reason:
            reason = (outside(one.subject, 60), f": {one.found.reason}")
            reasons.append(Paragraph(reason, Tone.WARN))
    text = "A weighted sum of the shares that should pass. Behind each weight: the labels of it."
    blocks = (table(heads, rows, "Composites"), Paragraph(text, Tone.MUTED), *reasons)
    return Document((Section("Composite", blocks, "the lowest first"),))


_SIMULATED = {
    "should_pass": "should pass", "specificity": "false passes", "sensitivity": "false fails",
    "brier": "Brier",
}  # fmt: skip


def simulation(found: Sequence[SimulatedFigure], runs: int) -> Document:
    """Return how often each interval of the page contains the truth in runs like this one."""
    heads = ("", "holds the truth", "mean width", "bias", "runs")
    # Rates of errors are 1 minus the simulated figures.
    turned = {"specificity", "sensitivity"}
    rows = [
        (
            _SIMULATED.get(one.figure, one.figure),
            words.share(round((one.coverage or 0.0) * one.runs), one.runs)
            if one.runs
            else words.NONE,
            words.number(one.width),
            words.number(-one.bias if one.bias and one.figure in turned else one.bias, sign="+"),
            str(one.runs),
        )
        for one in found
    ]
    text = "Truth is drawn by the labels' own rates, and every draw labels as many as count now."
    if not found[0].width:
        text = "Every decided verdict is labelled: the figures are exact. Nothing is left to check."
    blocks = (table(heads, rows, "Intervals in simulated runs"), Paragraph(text, Tone.MUTED))
    return Document((Section("Do the intervals hold?", blocks, f"{runs:,} runs like this one"),))
