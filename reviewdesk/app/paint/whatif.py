"""What other rules would have decided: the table of a run, and the section of an item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    cut,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.paint.table import (
    WIDE,
    Section,
    number,
    two_columns,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Design, Item
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import Decision, Rounding, Strategy
from reviewdesk.domain.whatif.item import outcomes
from reviewdesk.domain.whatif.policies import (
    MOST_LEFT_OUT,
    Group,
    Result,
    Table,
    Variant,
    departures,
    left_out,
    quorums,
    thresholds,
    trims,
    written,
)

_Column: TypeAlias = tuple[str, int, Callable[[Result], str]]
_COLUMNS: tuple[_Column, ...] = (
    ("flips", 6, lambda row: f"{row.flipped}" if row.decided else "-"),
    ("incon.", 7, lambda row: f"{row.inconclusive}"),
    ("pass", 6, lambda row: number(row.pass_rate)),
    ("n", 6, lambda row: f"{row.n_labelled}"),
    ("acc", 6, lambda row: number(row.accuracy)),
    ("Brier", 6, lambda row: number(row.brier)),
    ("ECE", 6, lambda row: number(row.ece)),
)
"""The figures, the most needed first."""
_SHORTEST = 18
"""What marks and names get before a figure is left out."""
_OWN, _MOST = "● ", "▲ "
_HALF = 76
"""What one column of the page needs; a wider one would only part the names from their figures."""


def what_if_lines(found: Table, width: int) -> Lines:
    """The run as it stands and, group by group, what each policy makes of it."""
    if not found.verdicts:
        return paragraph("The run has no verdicts.", width, Ink.MUTED)
    lines = [*_standing(found, width), Content("")]
    groups = {group: rows for group in _TITLES if (rows := _of(found, group))}
    right = {Group.TRIMS, Group.JURORS} if width >= WIDE else set()
    lines += two_columns(
        [_section(group, rows) for group, rows in groups.items() if group not in right],
        [_section(group, rows) for group, rows in groups.items() if group in right],
        width,
    )
    return [*lines, Content(""), *_legend(found, width)]


def _of(found: Table, group: Group) -> list[Result]:
    """The rows of one group; no rounding changes a trim of nothing, so one of these is enough."""
    return [
        row
        for row in found.rows
        if row.variant.group is group
        and not (row.variant.fraction == 0 and row.variant.rounding is not Rounding.DOWN)
    ]


def _standing(found: Table, width: int) -> Lines:
    basis = "no labels" if found.design is Design.NONE else f"labels: {found.design.value}"
    lines = [heading("WHAT IF", width, f"{found.verdicts:,} verdicts, {basis}")]
    room = min(width, _HALF)
    lines += [_head("", "", room), _row(found.standing, Group.STANDING.value, "  ", room)]
    if text := departures(found):
        lines += paragraph(text, width, Ink.WARN)
    flips = max((row.flipped for row in found.rows), default=0)
    if not flips:
        text = "None of these policies turns a pass into a fail or a fail into a pass."
        return [*lines, *paragraph(text, width, Ink.STRONG)]
    most = [row.variant for row in found.rows if row.flipped == flips]
    text = f"{_named(most)} turns the most decisions: {flips:,} of {found.verdicts:,}."
    return [*lines, *paragraph(text, width, Ink.STRONG)]


def _named(variants: Sequence[Variant]) -> str:
    name = inline(variants[0].name, 80)
    name = name[:1].upper() + name[1:]
    return name if len(variants) == 1 else f"{name} (and {len(variants) - 1} more)"


_TITLES = {
    Group.RULES: ("RULE", ""),
    Group.TRIMS: ("TRIMMED MEAN", "  cut at each end"),
    Group.QUORUMS: ("QUORUM", "  of the seats"),
    Group.THRESHOLDS: ("THRESHOLD", "  under the run's own rule"),
    Group.JURORS: ("JUROR LEFT OUT", "  under the own rule"),
}


def _section(group: Group, rows: Sequence[Result]) -> Section:
    def draw(width: int) -> Lines:
        room = min(width, _HALF)
        most = max(row.flipped for row in rows)
        lines = [_head(*_TITLES[group], room)]
        for row in rows:
            mark = _OWN if row.own else _MOST if most and row.flipped == most else "  "
            lines.append(_row(row, short(row.variant), mark, room))
        return lines

    return draw


def short(variant: Variant) -> str:
    """A policy under the title of its group."""
    group = variant.group
    if group is Group.JURORS:
        return inline(variant.dropped or "", 200)
    if group is Group.THRESHOLDS:
        return f"{variant.threshold:g}"
    if group is Group.QUORUMS and variant.quorum is not None:
        return inline(written(variant.quorum), 40)
    if group is Group.TRIMS and variant.fraction is not None:
        way = variant.rounding if variant.fraction else None
        return _percent(variant.fraction) + (f" {way.value}" if way else "")
    return "" if variant.strategy is None else rule(variant.strategy)


def rule(strategy: Strategy) -> str:
    """A strategy in words."""
    return strategy.value.replace("_", " ")


def _head(title: str, note: str, width: int) -> Content:
    """The title of a group stands above its names, those of the columns above the figures."""
    room = _room(width) + len(_OWN)
    words = cut(line((title, Ink.HEAD), (note, Ink.MUTED)), room)
    columns = [(pad(name, size, right=True), Ink.MUTED) for name, size, _ in _columns(width)]
    return cut(words.pad_right(max(0, room - words.cell_length)) + line(*columns), width)


def _row(row: Result, name: str, mark: str, width: int) -> Content:
    pieces: list[Piece] = []
    for title, room, value in _columns(width):
        loud = title == "flips" and row.flipped
        pieces.append((pad(value(row), room, right=True), Ink.STRONG if loud else Ink.TEXT))
    name_ink = Ink.STRONG if mark.strip() else Ink.TEXT
    mark_ink = Ink.WARN if mark == _MOST else Ink.STRONG
    return cut(line((mark, mark_ink), (pad(name, _room(width)), name_ink), *pieces), width)


def _columns(width: int) -> Sequence[_Column]:
    """The figures that fit beside the names: a number that is cut would be another number."""
    kept = len(_COLUMNS)
    while kept and _SHORTEST + sum(column[1] for column in _COLUMNS[:kept]) > width:
        kept -= 1
    return _COLUMNS[:kept]


def _room(width: int) -> int:
    """What the names get: all that the figures leave."""
    return max(1, width - len(_OWN) - sum(column[1] for column in _columns(width)))


_WORDS = (
    "● the run's own; ▲ the most flips of its group.",
    (
        "flips: passes that become fails or the reverse, against the decision as it stands; "
        "incon.: decided neither way; pass: passes / (passes + fails); n: labelled and decided."
    ),
)


def _legend(found: Table, width: int) -> Lines:
    lines: Lines = []
    for text in (*_WORDS, *_cautions(found)):
        lines += paragraph(text, width, Ink.MUTED)
    return lines


def _cautions(found: Table) -> list[str]:
    said = []
    lacking = max((row.undecided for row in found.rows), default=0)
    if lacking:
        said.append(
            f"incon. holds at most {lacking:,} that lack the threshold, quorum, score or "
            "vote that a policy needs."
        )
    if found.jurors > MOST_LEFT_OUT:
        said.append(f"Of {found.jurors:,} jurors the {MOST_LEFT_OUT} that sit most are left out.")
    if found.design is Design.NONE:
        return [*said, "acc, Brier and ECE need labels that say pass or fail."]
    return [
        *said,
        (
            "acc, Brier and ECE: by the labels of the verdicts that the policy decides. The best "
            "of many policies on the same labels looks better than it is."
        ),
    ]


# One item

_CHANGES = {
    Group.TRIMS: "trimmed mean",
    Group.QUORUMS: "quorum",
    Group.THRESHOLDS: "threshold",
    Group.JURORS: "without",
}
_INKS = {Decision.PASS: Ink.PASS, Decision.FAIL: Ink.FAIL}


def item_whatif_lines(item: Item, width: int) -> Lines:
    """Which trims, quorums, thresholds and jurors left out would turn this decision."""
    standing = item.assessment.decision
    names = seat_names([ballot.id for ballot in item.verdict.ballots])[:MOST_LEFT_OUT]
    asked = (*trims(), *quorums(), *thresholds(), *left_out(names))
    own, *found = outcomes(item.verdict, (Variant(), *asked))
    turned = [
        (one.variant, one.decision)
        for one in found
        if one.decision not in {None, standing, _before(one.variant, own.decision, standing)}
    ]
    word = "no decision" if standing is None else standing.value
    lines = [heading("WHAT IF", width, f"what would turn this {word}")]
    if own.decision not in {None, standing}:
        text = f"Its own rule, of the seats, gives {own.decision}: what follows starts from there."
        lines += paragraph(text, width, Ink.WARN)
    if not turned:
        text = (
            "Nothing among these turns it: trims to 40 %, quorums from 0.5 to 1, thresholds from "
            "0.5 to 0.9, any one juror left out."
        )
        return [*lines, *paragraph(text, width, Ink.MUTED)]
    for group, title in _CHANGES.items():
        mine = [(variant, made) for variant, made in turned if variant.group is group]
        for decision in dict.fromkeys(made for _, made in mine):
            variants = [variant for variant, made in mine if made is decision]
            lines += _turning(title, decision, _listed(group, variants), width)
    return lines


def _before(variant: Variant, own: Decision | None, standing: Decision | None) -> Decision | None:
    """What a policy that keeps the own rule is held against: what that rule itself gives here."""
    return own if variant.group in {Group.THRESHOLDS, Group.JURORS} else standing


def _turning(title: str, decision: Decision, names: Sequence[str], width: int) -> Lines:
    ink = _INKS.get(decision, Ink.WARN)
    first: list[Piece] = [(pad(title, 14), Ink.MUTED), (f"{decision.value}: ", ink)]
    return paragraph(", ".join(names), width, first=first, indent=20)


def _listed(group: Group, variants: Sequence[Variant]) -> list[str]:
    """The policies by name; a trim that turns it by every rounding is named once."""
    if group is not Group.TRIMS:
        return [short(variant) for variant in variants]
    names = []
    for fraction in dict.fromkeys(variant.fraction or 0.0 for variant in variants):
        same = [variant for variant in variants if variant.fraction == fraction]
        every = len(same) == len(Rounding)
        names += [_percent(fraction)] if every else [short(variant) for variant in same]
    return names


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"
