"""What is said of several reviewers: their work, how far they agree, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.domain.labels.chain import AGENT, DESK
from reviewdesk.domain.labels.team import Disagreement, TeamMember, TeamPage
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Ranged
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Paragraph,
    Quote,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    outside,
    table,
)
from reviewdesk.views.words import NONE, decision, interval, moment, number, plural

TRUTHS = {
    Truth.PASS: Text("pass", Tone.PASS),
    Truth.FAIL: Text("fail", Tone.FAIL),
    Truth.UNSURE: Text("can't tell", Tone.NOTE),
}
_ALONE = (
    "No item has labels of two people yet. `open --double 20%` asks for a second opinion on about "
    "one labelled item in five."
)


def team(page: TeamPage) -> Document:
    """Return how the people of a run agree and work."""
    return Document((_agreement(page), *_pairs(page), _members(page.members)))


def _agreement(page: TeamPage) -> Section:
    found = page.agreement
    if not found.n:
        return Section("Agreement", (Paragraph(_ALONE, Tone.MUTED),))
    rows = [
        ("same label", *_ranged(found.raw)),
        ("Krippendorff's alpha", number(found.alpha.value), ""),
    ]
    blocks: list[Block] = [table(("", "", "95%"), rows, "The agreement of all")]
    if found.alpha.reason:
        blocks.append(Paragraph(f"alpha is undefined: {found.alpha.reason}", Tone.WARN))
    open_ = page.disputed
    text = f"{plural(open_, 'verdict')} without a truth, as people differ"
    text += f"; {page.adjudicated:,} adjudicated"
    blocks.append(Paragraph(text, Tone.WARN if open_ else Tone.TEXT))
    note = f"{plural(page.items, 'item')} with two labels, "
    note += f"through the draw of {found.n:,} of them" if page.drawn else "of these items alone"
    return Section("Agreement", tuple(blocks), note)


def _pairs(page: TeamPage) -> tuple[Section, ...]:
    pairs = page.agreement.pairs
    if not pairs:
        return ()
    heads = ("two people", "items", "alike", "same label", "95%", "kappa")
    rows: list[Sequence[Words]] = [
        (
            (outside(one.one, 40), " and ", outside(one.two, 40)),
            f"{one.n:,}",
            f"{one.same:,}",
            *_ranged(one.raw),
            number(one.kappa.value),
        )
        for one in pairs
    ]
    return (Section("Each two of them", (table(heads, rows, "Every two people"),)),)


def _members(members: Sequence[TeamMember]) -> Section:
    heads = ("reviewer", "items", "per hour", "seconds each", "labelled twice", "same label", "95%")
    rows: list[Sequence[Words]] = [
        (
            outside(one.reviewer, 40),
            f"{one.labels:,}",
            number(one.pace.per_hour if one.pace.steady else None, 0),
            number(one.pace.mean_dwell, 0),
            f"{one.repeats.n:,}",
            number(one.repeats.rate),
            interval(one.repeats.low, one.repeats.high),
        )
        for one in members
    ]
    if not rows:
        return Section("Reviewers", (Paragraph("Nobody has labelled this run yet.", Tone.MUTED),))
    return Section("Reviewers", (table(heads, rows, "Every reviewer"),))


def _ranged(found: Ranged) -> tuple[Words, Words]:
    return number(found.value), Text(interval(found.low, found.high), Tone.MUTED)


def whole(page: TeamPage, found: Sequence[Disagreement], *, blind: bool) -> Document:
    """Return how the people of a run agree and work, and where they differ."""
    differ = disagreements(found, blind=blind).sections if found else ()
    return Document((*team(page).sections[:1], *differ, *team(page).sections[1:]))


def disagreements(found: Sequence[Disagreement], *, blind: bool = False) -> Document:
    """Return the verdicts on which people differ, their labels side by side.

    A blind session is not told what the panel decided.
    """
    if not found:
        text = "Nobody differs: every label of an item is the same."
        return Document((Section("Disagreements", (Paragraph(text, Tone.MUTED),)),))
    names = sorted({one.reviewer for item in found for one in item.opinions})
    people = (outside(name, 24, Tone.STRONG) for name in names)
    heads: tuple[Words, ...] = ("item", *people, *(() if blind else ("panel",)), "truth")
    columns = tuple(Column(head, right=False) for head in heads)
    rows = tuple(_row(item, names, blind=blind) for item in found)
    open_ = sum(one.adjudication is None for one in found)
    note = f"{plural(open_, 'verdict')} to settle, {len(found) - open_:,} settled"
    return Document((Section("Disagreements", (Table(columns, rows),), note),))


def _row(item: Disagreement, names: Sequence[str], *, blind: bool) -> Row:
    said = {one.reviewer: one for one in item.opinions}
    settled = item.adjudication
    cells: tuple[Words, ...] = (
        outside(item.id, 60),
        *(TRUTHS[said[name].label] if name in said else NONE for name in names),
        *(() if blind else (decision(item.decision),)),
        NONE if settled is None else (TRUTHS[settled.label], " by ", outside(settled.reviewer, 24)),
    )
    every = (*item.opinions, *((settled,) if settled else ()))
    notes = (
        Quote(one.note, Tone.MUTED, (outside(one.reviewer, 24), ", ", moment(one.at), ": "))
        for one in every
        if one.note
    )
    return Row(cells, below=tuple(notes))


def chain_name(reviewer: str, desk: str) -> str:
    """Return whose chain of events it is, in words: a person's, the programs' or the desk's own."""
    short = f"desk {desk[:8]}"
    return {DESK: f"{short} itself", AGENT: f"agents on {short}"}.get(
        reviewer, f"{reviewer} on {short}"
    )
