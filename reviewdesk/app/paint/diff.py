"""Painters that show two runs' verdicts on the same item side by side."""

from __future__ import annotations

from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    block,
    cut,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.paint.table import number
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.assess import Seat
from reviewdesk.domain.assessment.flags import names
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Decision

_INKS = {Decision.PASS: Ink.PASS, Decision.FAIL: Ink.FAIL}


def diff_lines(here: Item, there: Item, width: int) -> Lines:
    """Return the verdict, the numbers and every juror of both runs. ``≠`` marks what differs."""
    lines = [
        *paragraph(inline(here.verdict.test), width, Ink.STRONG),
        *_pair("", inline(here.run.name, 80), inline(there.run.name, 80), width, mark=False),
        heading("VERDICT", width),
        *_verdict(here, there, width),
        Content(""),
        heading("JURORS", width, "matched by name"),
    ]
    mine = {seat.ballot.id: seat for seat in here.assessment.seats}
    theirs = {seat.ballot.id: seat for seat in there.assessment.seats}
    for name in [*mine, *(name for name in theirs if name not in mine)]:
        one, two = _ballot(mine.get(name)), _ballot(theirs.get(name))
        lines += _pair(inline(name, 200), one, two, width)
    return [*lines, Content(""), *_reasons(mine, theirs, width)]


def _verdict(here: Item, there: Item, width: int) -> Lines:
    rows = [
        ("decision", _decision(here), _decision(there)),
        ("score", number(here.assessment.score), number(there.assessment.score)),
        ("agreement", number(here.row.agreement), number(there.row.agreement)),
        ("band", here.row.band or "-", there.row.band or "-"),
        (
            "threshold",
            number(here.verdict.policy.threshold),
            number(there.verdict.policy.threshold),
        ),
        ("votes", _votes(here), _votes(there)),
        (
            "flags",
            ", ".join(names(here.row.flags)) or "-",
            ", ".join(names(there.row.flags)) or "-",
        ),
    ]
    return [row for name, one, two in rows for row in _pair(name, one, two, width)]


def _pair(name: str, one: str, two: str, width: int, *, mark: bool = True) -> Lines:
    """Return one fact of both runs, one below the other where columns would be too narrow."""
    differs: Piece = ("≠ " if mark and one != two else "  ", Ink.WARN)
    label = min(16, width // 4)
    room = (width - label - 2) // 2
    if room < 14 or max(len(one), len(two)) > room:
        head = cut(line(differs, (name, Ink.MUTED)), width)
        below = [*paragraph(one, width, indent=4, first=[("    ", "")])]
        return [head, *below, *paragraph(two, width, indent=4, first=[("  → ", Ink.MUTED)])]
    pieces: list[Piece | str] = [
        differs,
        (pad(name, label), Ink.MUTED),
        pad(one, room),
        pad(two, room),
    ]
    return [cut(line(*pieces), width)]


def _decision(item: Item) -> str:
    found = item.assessment.decision
    return "-" if found is None else found.value


def _votes(item: Item) -> str:
    votes = item.assessment.votes
    return f"{votes.passes} of {votes.answered}, {votes.seated} seated"


def _ballot(seat: Seat | None) -> str:
    if seat is None:
        return "not on the panel"
    vote = {True: "pass", False: "fail", None: "no vote"}[seat.ballot.vote]
    return f"{number(seat.ballot.score)} {vote} {seat.state.value.replace('_', ' ')}"


def _reasons(mine: dict[str, Seat], theirs: dict[str, Seat], width: int) -> Lines:
    """Return the full reasons of the jurors whose vote differs."""
    lines: Lines = []
    for name, seat in mine.items():
        other = theirs.get(name)
        if other is None or other.ballot.vote == seat.ballot.vote:
            continue
        lines += paragraph(inline(name, 200), width, Ink.STRONG)
        for mark, ballot in (("− ", seat.ballot), ("+ ", other.ballot)):
            text = block(ballot.reason or ballot.error or "no reason given")
            lines += paragraph(text, width, indent=2, first=[(mark, Ink.MUTED)])
    return [heading("REASONS OF TURNED VOTES", width), *lines] if lines else []
