"""Painters for the runs screen: a line for each loaded run, and the details of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    clip,
    cut,
    heading,
    inline,
    line,
    moment,
    pad,
    paragraph,
)
from reviewdesk.app.paint.table import (
    Section,
    facts,
    number,
    stack,
    table,
    two_columns,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.flags import SHORT, Flag
from reviewdesk.domain.query.words import BREACHES, CHOICES
from reviewdesk.domain.records import Run
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.run.measures import RunAlphas, Undefined
from reviewdesk.domain.verdict import Decision

_COLUMNS = {
    "format": 9, "verdicts": 8, "flagged": 7, "labelled": 8, "alpha": 6, "failed": 6, "skipped": 7,
    "loaded": 16, "day": 10,
}  # fmt: skip
_OPEN = (
    ("format", "verdicts", "flagged", "labelled", "alpha", "failed", "skipped", "loaded"),
    ("verdicts", "flagged", "labelled", "alpha", "failed", "skipped", "day"),
    ("verdicts", "flagged", "labelled", "alpha", "failed", "skipped"),
    ("verdicts", "flagged", "labelled", "alpha", "failed"),
    ("verdicts", "flagged", "labelled", "alpha"),
    ("verdicts", "flagged", "labelled"),
    ("verdicts", "labelled"),
    (),
)
_BLIND = (
    ("format", "verdicts", "labelled", "loaded"),
    ("verdicts", "labelled", "day"),
    ("verdicts", "labelled"),
    (),
)
"""The columns of the line. The first choice that leaves room for the name is used."""
_NAME = 15
_TITLES = {"day": "loaded"}


def run_head(width: int, *, blind: bool) -> Content:
    """Return the line with the names of the columns of ``run_row``."""
    shown = _shown_columns(width, blind=blind)
    return _line(
        "    ",
        ("run", Ink.MUTED),
        {name: (_TITLES.get(name, name), Ink.MUTED) for name in shown},
        width,
    )


def run_row(found: RunLine, width: int, *, current: bool, chosen: bool, blind: bool) -> Content:
    """Return the line of one run: ``current`` is under the cursor, ``chosen`` is being reviewed."""
    run = found.run
    values: dict[str, Piece] = {
        "format": (clip(inline(run.format, 40), _COLUMNS["format"]), Ink.MUTED),
        "verdicts": (str(run.verdicts), Ink.TEXT),
        "flagged": (str(run.flagged), Ink.TEXT),
        "labelled": (str(found.labelled), Ink.STRONG if found.labelled else Ink.MUTED),
        "alpha": (number(found.alphas.alpha), Ink.TEXT),
        "failed": (str(run.failed_ballots), Ink.WARN if run.failed_ballots else Ink.MUTED),
        "skipped": (str(run.skipped), Ink.WARN if run.skipped else Ink.MUTED),
        "loaded": (moment(run.loaded_at), Ink.MUTED),
        "day": (moment(run.loaded_at)[:10], Ink.MUTED),
    }
    mark = f"{'▸' if current else ' '} {'●' if chosen else ' '} "
    name: Piece = (inline(run.name, 300), Ink.STRONG if current or chosen else Ink.TEXT)
    shown = _shown_columns(width, blind=blind)
    return _line(mark, name, {column: values[column] for column in shown}, width)


def _shown_columns(width: int, *, blind: bool) -> Sequence[str]:
    choices = _BLIND if blind else _OPEN
    fits = (columns for columns in choices if 4 + _NAME + _columns_width(columns) <= width)
    return next(fits, ())


def _columns_width(columns: Sequence[str]) -> int:
    return sum(_COLUMNS[name] + 2 for name in columns)


def _line(mark: str, name: Piece, values: Mapping[str, Piece], width: int) -> Content:
    room = max(0, width - 4 - _columns_width(tuple(values)))
    pieces: list[Piece | str] = [(mark, Ink.KEY), (pad(name[0], room), name[1])]
    for column, (text, ink) in values.items():
        left = column in {"format", "loaded", "day"}
        pieces.append(("  " + pad(text, _COLUMNS[column], right=not left), ink))
    return cut(line(*pieces), width)


def details_lines(found: RunDetails, width: int, *, blind: bool) -> Lines:
    """Return all about one run; a blind page leaves out what comes from the panels' answers."""
    run = found.run

    def section(title: str, pairs: list[tuple[str, str]], note: str = "") -> Section:
        column = max(13, *(len(name) + 1 for name, _ in pairs))
        return lambda width: [heading(title, width, note), *facts(pairs, width, column)]

    about = section("RUN", _file(found, blind=blind), inline(run.name, 300))
    rest = [
        section("REPORT", _report(found)),
        section("LABELS", _labels(found)),
        section("DESK", _desk(found, blind=blind)),
    ]
    if blind:
        return stack([about, *rest, lambda width: paragraph(_HIDDEN, width, Ink.NOTE)], width)
    left = [
        about,
        section("AGREEMENT", _agreement(found), "of the jurors, over all verdicts"),
        section("AUDIT", _breach_facts(found), "where the report breaks its own rules"),
        *rest,
    ]
    right = [
        section("DECISIONS", _decisions(found)),
        section("FLAGS", _flags(found), f"{run.flagged} verdicts to review"),
        lambda width: _strata(found, width),
    ]
    return [*two_columns(left, right, width), Content(""), *_notes(run, width)]


_HIDDEN = (
    "Blind: flags, decisions, agreement, audit, strata, ballots, skipped rows, notes and hashes "
    "are left out, for they come from what the panels said."
)


def _file(found: RunDetails, *, blind: bool) -> list[tuple[str, str]]:
    run = found.run
    pairs = [
        ("file", inline(run.file, 1000)),
        ("format", inline(run.format, 80)),
        ("loaded", f"{moment(run.loaded_at)} UTC"),
        ("verdicts", str(run.verdicts)),
    ]
    # The item pane of a blind session shows no label of the file either.
    if blind:
        return pairs
    return [
        *pairs,
        *([("human labels", _file_labels_text(found))] if run.human_labels else []),
        ("ballots", f"{run.ballots}, {run.failed_ballots} of them failed{_unknown(found)}"),
        ("skipped rows", str(run.skipped)),
    ]


def _unknown(found: RunDetails) -> str:
    unknown = found.tally.unknown_ballots
    return f", {unknown} not understood" if unknown else ""


def _report(found: RunDetails) -> list[tuple[str, str]]:
    """Return what the head of the report states for all verdicts, and what a person filled in."""
    header = found.run.header
    generator = header.get("generator") or {}
    defaults = {**(header.get("defaults") or {})}
    names = [generator.get("model"), generator.get("vendor")]
    pairs = [
        ("generator", ", ".join(inline(name, 200) for name in names if name) or "- not stated"),
        ("defaults", _settings(defaults) or "- none stated"),
    ]
    if filled := _settings(found.filled):
        pairs.append(("set by you", filled))
    return pairs


def _settings(values: Mapping[str, Any]) -> str:
    stated = {name: value for name, value in values.items() if value not in (None, {}, [])}
    return ", ".join(f"{inline(name, 60)} {inline(value, 300)}" for name, value in stated.items())


def _labels(found: RunDetails) -> list[tuple[str, str]]:
    labels = found.labels
    return [
        ("decided", f"{labels.decided} of {found.run.verdicts} (pass or fail)"),
        ("can't tell", str(labels.unsure)),
        ("disputed", str(labels.disputed)),
        ("tentative", str(labels.tentative)),
    ]


def _file_labels_text(found: RunDetails) -> str:
    """Describe the labels that came with the report, and how many could still be imported."""
    count, left = found.run.human_labels, found.unlabelled
    text = f"{count} human label{'s' * (count > 1)} in the file"
    if not left:
        return f"{text}, none left to take: every such item has a label"
    some = f"{left} of {count}" if left < count else "it" if count == 1 else "them"
    return f"{text}; --import-labels takes {some}"


def _alpha_facts(found: RunAlphas) -> list[tuple[str, str]]:
    """Return Krippendorff's alphas, or for an undefined one the reason."""

    def alpha_text(name: str, value: float | None, what: str) -> str:
        why = found.reasons.get(name)
        return f"{number(value)}  {what}" if why is None else f"-  {why.words}"

    if found.alpha_low is None or found.alpha_high is None:
        interval = alpha_text("alpha_low", None, "")
    else:
        interval = f"[{number(found.alpha_low)}, {number(found.alpha_high)}]  95% interval"
    return [
        ("alpha", alpha_text("alpha", found.alpha, "interval, on the scores")),
        *([("", interval)] if found.alpha is not None else []),
        ("on votes", alpha_text("alpha_votes", found.alpha_votes, "nominal")),
        ("on ranks", alpha_text("alpha_ordinal", found.alpha_ordinal, "ordinal, on the scores")),
    ]


def _agreement(found: RunDetails) -> list[tuple[str, str]]:
    """Return the alphas, and how many verdicts are unanimous, by the names of the filters."""
    counted = found.tally
    scores = str(counted.unanimous_scores) if found.alphas.measured else "-"
    return [
        *_alpha_facts(found.alphas),
        ("unanimous", f"{scores} unanimous_scores, {counted.unanimous_votes} unanimous_votes"),
    ]


def _breach_facts(found: RunDetails) -> list[tuple[str, str]]:
    """Return how many verdicts breach each rule, named by the filter that lists them."""
    if not found.alphas.measured:
        return [("-", Undefined.NOT_MEASURED.words)]
    counted = found.tally.breaches
    broken = [
        (f"breach:{word}", f"{counted[kind]}  {CHOICES['breach'][word]}")
        for word, kind in BREACHES.items()
        if counted.get(kind)
    ]
    return broken or [("none", "no verdict breaks a rule of the report")]


def _decisions(found: RunDetails) -> list[tuple[str, str]]:
    made = found.tally.decisions
    return [
        *((word.value, str(made.get(word, 0))) for word in Decision),
        ("none", str(made.get(None, 0))),
    ]


def _flags(found: RunDetails) -> list[tuple[str, str]]:
    carried = found.tally.flags
    flags = [
        (SHORT.get(flag, "?"), f"{carried[flag]}  {flag.label.replace('_', ' ')}")
        for flag in Flag
        if carried.get(flag)
    ]
    return flags or [("none", "no verdict carries a flag")]


def _strata(found: RunDetails, width: int) -> Lines:
    rows: list[list[Piece]] = [
        [(one.name, Ink.TEXT), (str(one.size), Ink.TEXT), (str(one.audit or "-"), Ink.TEXT)]
        for one in found.strata
    ]
    if not rows:
        return []
    lines = [heading("STRATA", width, "how many verdicts, how many of them audited")]
    return [*lines, *table(["stratum", "N", "audit"], rows, width)]


def _notes(run: Run, width: int) -> Lines:
    lines = [heading("NOTES", width, "what the reader noticed")]
    if not run.notes:
        return [*lines, *paragraph("none", width, Ink.MUTED)]
    for note in run.notes:
        lines += paragraph(inline(note, 5000), width, first=[("· ", Ink.MUTED)], indent=2)
    return lines


def _desk(found: RunDetails, *, blind: bool) -> list[tuple[str, str]]:
    """Return the desk's file, the seed of the run, and the hashes that identify it."""
    pairs = [("file", inline(found.desk, 1000)), ("seed", inline(found.run.seed, 200))]
    if blind:
        return pairs
    return [
        *pairs,
        ("run hash", inline(found.run.hash, 80)),
        ("file sha256", inline(found.file_hash, 80)),
        # The log's chain includes the run's hash, which depends on what the panels said.
        ("log head", inline(found.head, 200)),
    ]
