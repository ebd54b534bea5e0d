"""Describe several reviewers: their agreement, their differences, and their work."""

from collections.abc import Iterator, Sequence

from reviewdesk.domain.labels.chain import AGENT, DESK
from reviewdesk.domain.labels.team import (
    EDGE,
    AlternativeTest,
    Disagreement,
    ReviewerError,
    TeamMember,
    TeamPage,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
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
from reviewdesk.views.words import NONE, between, decision, interval, label, moment, number, plural

_ALONE = "No item has labels of two people yet."
_DOUBLE = " `open --double 20%` asks for a second opinion on about one labelled item in five."


def team(
    page: TeamPage, found: Sequence[Disagreement] = (), *, blind: bool = False, double: float = 0
) -> Document:
    """Return how people agree, differ and work; if ``blind``, without the panel's decisions.

    ``double`` is the share of labelled items for which a second opinion is asked already.
    """
    differing = (_disagreements(found, blind=blind),) if found else ()
    stand_in = () if blind else _stand_in(page.alternative)
    made = Section("Agreement", (Paragraph(_ALONE + _DOUBLE * (not double), Tone.MUTED),))
    if page.agreement.n:
        made = _agreement(page)
    return Document((made, *stand_in, *differing, _members(page.members)))


def _stand_in(found: AlternativeTest) -> tuple[Section, ...]:
    """Say whether the panel may replace a person; empty with fewer than three reviewers."""
    if not found.reviewers:
        return ()
    heads = ("without", "items", "panel", "reviewer", "p")
    rows: list[Sequence[Words]] = [
        (
            outside(one.reviewer, 40),
            f"{one.items:,}",
            number(one.panel, 2),
            number(one.person, 2),
            number(one.p),
        )
        for one in found.reviewers
    ]
    won = sum(one.won for one in found.reviewers)
    of = f"it is as good as {won} of {plural(len(found.reviewers), 'reviewer')}"
    said = "The panel may stand in for a person" if found.passed else "It is not shown that it may"
    note = f"how often each agrees with at least as many others; the panel may be {EDGE:g} worse"
    blocks = (table(heads, rows, "The panel against each reviewer"), Paragraph(f"{said}: {of}."))
    return (Section("May the panel stand in for a person?", blocks, note),)


def _agreement(page: TeamPage) -> Section:
    found = page.agreement
    heads = ("", "alike", "95%", "kappa")
    rows: list[Sequence[Words]] = []
    for one in found.pairs:
        alike = f"{one.same:,} of {one.n:,}"
        if page.drawn:
            alike += f" ({number(one.raw.estimate, 2)} after weighting by group)"
        names = (outside(one.one, 40), " and ", outside(one.two, 40))
        ends = Text(between(one.raw), Tone.MUTED)
        rows.append((names, alike, ends, number(one.kappa.estimate)))
    blocks: list[Block] = [table(heads, rows, "Every two people")]
    alpha = found.alpha
    text = f"Krippendorff's alpha of all: {number(alpha.estimate)}"
    if alpha.reason:
        text = f"Krippendorff's alpha is undefined: {alpha.reason}"
    blocks.append(Paragraph(text))
    open_ = page.disputed
    text = f"{plural(open_, 'verdict')} without a truth, as people differ"
    text += f"; {page.adjudicated:,} adjudicated"
    blocks.append(Paragraph(text, Tone.WARN if open_ else Tone.TEXT))
    return Section("Agreement", tuple(blocks), f"{plural(page.items, 'item')} with two labels")


def _members(members: Sequence[TeamMember]) -> Section:
    heads = ("reviewer", "items", "per hour", "seconds each", "labelled twice", "alike", "95%")
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


def _disagreements(found: Sequence[Disagreement], *, blind: bool) -> Section:
    """Return the verdicts on which people differ, their labels side by side."""
    names = sorted({one.reviewer for item in found for one in item.opinions})
    people = (outside(name, 24, Tone.STRONG) for name in names)
    heads: tuple[Words, ...] = ("item", *people, *(() if blind else ("panel",)), "truth")
    columns = tuple(Column(head, right=False) for head in heads)
    rows = []
    for item in found:
        said = {one.reviewer: one for one in item.opinions}
        settled = item.adjudication
        truth: Words = NONE
        if settled is not None:
            truth = (label(settled.label), " by ", outside(settled.reviewer, 24))
        cells: tuple[Words, ...] = (
            outside(item.id, 60),
            *(label(said[name].label) if name in said else NONE for name in names),
            *(() if blind else (decision(item.decision),)),
            truth,
        )
        rows.append(Row(cells, below=tuple(_notes(item))))
    open_ = sum(one.adjudication is None for one in found)
    note = f"{plural(open_, 'verdict')} to settle, {len(found) - open_:,} settled"
    return Section("Disagreements", (Table(columns, tuple(rows)),), note)


def _notes(item: Disagreement) -> Iterator[Quote]:
    """Yield each note once, as the person who settles an item may repeat an earlier note."""
    shown = set()
    for one in (*([item.adjudication] if item.adjudication else []), *item.opinions):
        if one.note and (one.reviewer, one.note) not in shown:
            shown.add((one.reviewer, one.note))
            lead = (outside(one.reviewer, 24), ", ", moment(one.at), ": ")
            yield Quote(one.note, Tone.MUTED, lead)


def people_err(error: ReviewerError | None, band: Estimate | None) -> list[Section]:
    """Return how often people err, and the effect on the accuracy."""
    if error is None:
        return []
    title = "What if people err?"
    if error.rate.estimate is None:
        return [Section(title, (Paragraph(f"not known: {error.rate.reason}", Tone.MUTED),))]
    ends = between(error.rate)
    differ = f"{number(error.disagreement.estimate)} of {plural(error.n, 'item')} with two labels"
    if error.drawn:
        differ += ", weighted by group"
    if error.chosen:
        differ += ", which people chose: nothing follows for the others"
    rows: list[tuple[str, Words]] = [
        ("people differ", differ),
        ("a label is wrong", f"{number(error.rate.estimate)} {ends} of the time"),
        ("ceiling", f"{number(error.ceiling)}: a perfect judge agrees with no more of the labels"),
    ]
    if band is not None:
        ends = f"{band.low:.3f} to {band.high:.3f}"
        rows.append(("accuracy", f"{ends}, whether people err apart from the panel or with it"))
    if error.more:
        more = plural(error.more, "second opinion")
        rows.append(("to narrow it", f"{more} more would halve the interval of people's errors"))
    return [Section(title, (Facts.of(*rows, column=17),), "a band, not an interval")]


def chain_name(reviewer: str, desk: str) -> str:
    """Return the owner of a chain of events in words: a person, the programs or the desk itself."""
    short = f"desk {desk[:8]}"
    return {DESK: f"{short} itself", AGENT: f"agents on {short}"}.get(
        reviewer, f"{show_line(reviewer, 80)} on {short}"
    )
