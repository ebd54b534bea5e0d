"""Painters for what-if: the table of a run and the section of an item."""

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
    Variant,
    WhatIfTable,
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
"""The columns of figures, the most needed first."""
_SHORTEST = 18
"""The least width for marks and names. A figure is left out before they get less."""
_OWN, _MOST = "● ", "▲ "
_HALF = 76
"""The width of one column of the page. In a wider one, figures stand too far from names."""


def what_if_lines(found: WhatIfTable, width: int) -> Lines:
    """Return the run as it stands and, group by group, what each policy would decide."""
    if not found.verdicts:
        return paragraph("The run has no verdicts.", width, Ink.MUTED)
    lines = [*_standing_lines(found, width), Content("")]
    groups = {group: rows for group in _TITLES if (rows := _rows_of(found, group))}
    right = {Group.TRIMS, Group.JURORS} if width >= WIDE else set()
    lines += two_columns(
        [_section(group, rows) for group, rows in groups.items() if group not in right],
        [_section(group, rows) for group, rows in groups.items() if group in right],
        width,
    )
    return [*lines, Content(""), *_legend(found, width)]


def _rows_of(found: WhatIfTable, group: Group) -> list[Result]:
    """Return the rows of one group. A trim of 0 appears once, as rounding does not change it."""
    return [
        row
        for row in found.rows
        if row.variant.group is group
        and not (row.variant.fraction == 0 and row.variant.rounding is not Rounding.DOWN)
    ]


def _standing_lines(found: WhatIfTable, width: int) -> Lines:
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
    text = f"{_policy_text(most)} turns the most decisions: {flips:,} of {found.verdicts:,}."
    return [*lines, *paragraph(text, width, Ink.STRONG)]


def _policy_text(variants: Sequence[Variant]) -> str:
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
    """Return the short name of a policy, as it stands under the title of its group."""
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
    """Return the name of a strategy in words."""
    return strategy.value.replace("_", " ")


def _head(title: str, note: str, width: int) -> Content:
    """Return the head of a group: its title above the names, column titles above the figures."""
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
    """Return the columns that fit whole beside the names: a number cut short would mislead."""
    kept = len(_COLUMNS)
    while kept and _SHORTEST + sum(column[1] for column in _COLUMNS[:kept]) > width:
        kept -= 1
    return _COLUMNS[:kept]


def _room(width: int) -> int:
    """Return the width that the figures leave to the names."""
    return max(1, width - len(_OWN) - sum(column[1] for column in _columns(width)))


_WORDS = (
    "● the run's own; ▲ the most flips of its group.",
    (
        "flips: passes that become fails or the reverse, against the decision as it stands; "
        "incon.: decided neither way; pass: passes / (passes + fails); n: labelled and decided."
    ),
)


def _legend(found: WhatIfTable, width: int) -> Lines:
    lines: Lines = []
    for text in (*_WORDS, *_cautions(found)):
        lines += paragraph(text, width, Ink.MUTED)
    return lines


def _cautions(found: WhatIfTable) -> list[str]:
    notes = []
    lacking = max((row.undecided for row in found.rows), default=0)
    if lacking:
        notes.append(
            f"incon. holds at most {lacking:,} that lack the threshold, quorum, score or "
            "vote that a policy needs."
        )
    if found.jurors > MOST_LEFT_OUT:
        notes.append(f"Of {found.jurors:,} jurors the {MOST_LEFT_OUT} that sit most are left out.")
    if found.design is Design.NONE:
        return [*notes, "acc, Brier and ECE need labels that say pass or fail."]
    return [
        *notes,
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
    """Return which trims, quorums, thresholds and left-out jurors would turn this decision."""
    standing = item.assessment.decision
    names = seat_names([ballot.id for ballot in item.verdict.ballots])[:MOST_LEFT_OUT]
    variants = (*trims(), *quorums(), *thresholds(), *left_out(names))
    own, *found = outcomes(item.verdict, (Variant(), *variants))
    turned = [
        (one.variant, one.decision)
        for one in found
        if one.decision
        not in {None, standing, _compared_decision(one.variant, own.decision, standing)}
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
            same = [variant for variant, made in mine if made is decision]
            lines += _turning_lines(title, decision, _policy_names(group, same), width)
    return lines


def _compared_decision(
    variant: Variant, own: Decision | None, standing: Decision | None
) -> Decision | None:
    """Return the decision to compare with: the own rule's if the policy keeps that rule."""
    return own if variant.group in {Group.THRESHOLDS, Group.JURORS} else standing


def _turning_lines(title: str, decision: Decision, names: Sequence[str], width: int) -> Lines:
    ink = _INKS.get(decision, Ink.WARN)
    first: list[Piece] = [(pad(title, 14), Ink.MUTED), (f"{decision.value}: ", ink)]
    return paragraph(", ".join(names), width, first=first, indent=20)


def _policy_names(group: Group, variants: Sequence[Variant]) -> list[str]:
    """Return the names of the policies. A trim that turns it by every rounding is named once."""
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
