"""Two verdicts on an item side by side, and two panels on all items that both judged."""

from collections.abc import Iterator, Mapping, Sequence

from reviewdesk.domain.assessment.result import WORDS, Seat
from reviewdesk.domain.jurors.panels import ComparedRun, PanelComparison
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.views import words
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
    plain,
    table,
)
from reviewdesk.views.jury import vote_words
from reviewdesk.views.words import DESIGNS, MEANS, number, plural

_SAME = "An item is in both runs if input, response, reference and rubric are the same."
UNPROVEN = 0.05
"""With a p-value of at least this, the split of the items is put down to chance."""
_UNKNOWN = "Which panel is right more often is not known:"


def comparison(here: Item, there: Item) -> Document:
    """Return the verdict, numbers and jurors of both runs; differences are marked."""
    mine = {seat.ballot.id: seat for seat in here.assessment.seats}
    theirs = {seat.ballot.id: seat for seat in there.assessment.seats}
    names = words.short_names((*mine, *theirs))
    jurors = [
        (outside(short, 200), _ballot(mine.get(name)), _ballot(theirs.get(name)))
        for name, short in names.items()
    ]
    sides = [dict(_facts(one)) for one in (here, there)]
    facts = [
        (name, *(side.get(name, words.NONE) for side in sides)) for name in sides[0] | sides[1]
    ]
    heads = ("", outside(here.run.name, 80), outside(there.run.name, 80))
    turned = tuple(_turned(mine, theirs))
    return Document(
        (
            Section("", (Paragraph(outside(here.verdict.test), Tone.STRONG),)),
            Section("Verdict", (_beside(heads, facts),)),
            Section("Jurors", (_beside(heads, jurors),), "matched by name"),
            *([Section("Reasons of turned votes", turned)] if turned else []),
        )
    )


def _beside(heads: Sequence[Words], rows: Sequence[tuple[Words, ...]]) -> Table:
    """Return the facts of both sides; a fact on which they differ is marked."""
    marks = ("≠ " if plain(row[1]) != plain(row[2]) else "  " for row in rows)
    return Table(
        tuple(Column(head, right=False) for head in heads),
        tuple(Row(row, Text(mark, Tone.WARN)) for row, mark in zip(rows, marks, strict=True)),
        caption="Both sides",
    )


def _facts(item: Item) -> Iterator[tuple[str, Words]]:
    row = item.row
    yield "decision", words.decision(item.assessment.decision)
    yield "score", number(item.assessment.score)
    agreement, band = row.agrees
    yield "agreement", words.agreement(agreement)
    yield "band", band or words.NONE
    yield "threshold", number(item.verdict.policy.threshold)
    yield "votes", vote_words(item.assessment)
    yield from ((WORDS[flag], "yes") for flag in row.flags)


def _ballot(seat: Seat | None) -> str:
    if seat is None:
        return "not on the panel"
    state = seat.state.value.replace("_", " ")
    return f"{number(seat.ballot.score)} {words.VOTES[seat.ballot.vote]} {state}"


def _turned(mine: Mapping[str, Seat], theirs: Mapping[str, Seat]) -> Iterator[Block]:
    for name, seat in mine.items():
        other = theirs.get(name)
        if other is None or other.ballot.vote == seat.ballot.vote:
            continue
        yield Paragraph(outside(name, 200), Tone.STRONG)
        for mark, ballot in (("− ", seat.ballot), ("+ ", other.ballot)):
            text = ballot.reason or ballot.error or "no reason given"
            yield Quote(text, lead=Text(mark, Tone.MUTED), indent=2)


# Two panels


def two_panels(found: PanelComparison) -> Document:
    """Return the comparison, conclusion first."""
    blocks: list[Block] = [Paragraph(conclusion(found), Tone.STRONG)]
    if not found.items:
        blocks.append(Paragraph(_SAME, Tone.MUTED))
        return Document((Section("", tuple(blocks)),))
    blocks += _advice(found)
    right = (_right(found),) if found.labelled else ()
    return Document((Section("", tuple(blocks)), *right, _decisions(found)))


def conclusion(found: PanelComparison) -> Words:
    """Return one sentence that says which panel is right more often, if its interval shows it."""
    first = _name(found.first)
    second = _name(found.second)
    made = found.difference
    if not found.items:
        return ("No item of ", first, " was judged in ", second, ": there is nothing to compare.")
    differ = plural(found.flips, "decision differs", "decisions differ")
    common = f"the {plural(found.decided, 'item')} that both decided"
    if not found.labelled:
        return f"{_UNKNOWN} no label says pass or fail of {common}; {differ}."
    if not made.apart:
        return f"Neither panel is right more often: they decide {common} alike."
    if made.estimate is None:
        apart = plural(made.apart, "item") + " that only one panel passes"
        if not made.labelled:
            return f"{_UNKNOWN} no label that counts is on the {apart}; {differ}."
        ends = f"{100 * made.low:.1f} and {100 * made.high:.1f} points"
        return (
            f"{_UNKNOWN} one group of the queue lacks labels that count where the panels differ. "
            f"The difference lies between {ends}; {differ}."
        )
    ahead = first if made.estimate > 0 else second
    points = f"{_points(found)} on {plural(found.labelled, 'common label')}; {differ}."
    if made.low > SLACK or made.high < -SLACK:
        return (ahead, f" is right more often by {points}")
    if abs(made.estimate) <= SLACK:
        return f"Neither panel is shown to be right more often: they are apart by {points}"
    return ("Neither panel is shown to be right more often: ", ahead, f" by {points}")


def _name(run: ComparedRun) -> Text:
    return outside(run.name, 80)


def _points(found: PanelComparison) -> str:
    """Return the lead of the better panel in points of accuracy, with its interval."""
    made = found.difference
    sign = -100 if made.estimate is not None and made.estimate < 0 else 100
    low, middle, high = sorted(sign * (end or 0.0) for end in (made.low, made.estimate, made.high))
    ends = "exact" if made.labelled == made.apart else f"95%: {low:.1f} to {high:.1f}"
    return f"{middle:.1f} points ({ends})"


def _advice(found: PanelComparison) -> Iterator[Block]:
    """Yield the limits of the conclusion, and the labels that would help most."""
    made = found.difference
    alone = (found.first_alone, found.second_alone)
    stands = made.low > SLACK or made.high < -SLACK
    if stands and found.p is not None and found.p >= UNPROVEN:
        yield Paragraph(
            "This holds for these items and proves nothing about others: only one panel is right "
            f"on {plural(sum(alone), 'labelled item')}, {max(alone)} to {min(alone)}, and panels "
            "that are as good as each other may differ so by chance "
            f"({words.chance(found.p)}, sign test).",
            Tone.WARN,
        )
    open_ = made.apart - sum(alone)
    if open_ > 0:
        yield Paragraph(
            "Of the items that one panel passes and the other fails, "
            f"{plural(open_, 'has', 'have')} no pass or fail label; once all have one, the "
            "difference is exact.",
            Tone.NOTE,
        )


def _right(found: PanelComparison) -> Section:
    n = found.labelled
    rows: list[list[Words]] = []
    for run, alone in ((found.first, found.first_alone), (found.second, found.second_alone)):
        right = found.both_right + alone
        rate = words.number(run.rate.estimate), words.between(run.rate)
        rows.append([_name(run), str(right), words.share(right, n), str(alone), *rate])
    heads = ("", "right", f"of {n}", "right alone", "accuracy", "95%")
    blocks: list[Block] = [
        table(heads, rows, "The panels against the labels"),
        Facts.of(("both right", str(found.both_right)), ("both wrong", str(found.both_wrong))),
    ]
    means = f"{DESIGNS[found.design]}; {MEANS[found.design]}"
    if not found.design.stands:
        means += "; the ends are bounds"
    drawn = ("labels as drawn for ", outside(found.drawn, 80), f": {means}")
    blocks.append(Paragraph(drawn, Tone.MUTED))
    return Section("Right by the labels", tuple(blocks), words.basis(found.design, n))


def _decisions(found: PanelComparison) -> Section:
    """Return the table of both decisions, and in which direction they differ."""
    made = {side: {cell[side] for cell in found.cells} for side in (0, 1)}
    rows, columns = ([one for one in (*Decision, None) if one in made[side]] for side in (0, 1))
    grid: list[tuple[Words, ...]] = [
        (words.decision(one, "none"), *(f"{_count(found, one, two):,}" for two in columns))
        for one in rows
    ]
    heads = ("", *(f"{words.decided(two) if two else 'none'} there" for two in columns))
    lost = _count(found, Decision.PASS, Decision.FAIL)
    won = _count(found, Decision.FAIL, Decision.PASS)
    first = _name(found.first)
    second = _name(found.second)
    text = second, f" fails {lost:,} that ", first, f" passes, and passes {won:,} that it fails"
    blocks = (
        table(heads, grid, "Decisions of both panels"),
        Paragraph(("rows: ", first, ", columns: ", second), Tone.MUTED),
        Paragraph(text, Tone.STRONG),
    )
    return Section("Decisions", blocks, plural(found.items, "common item"))


def _count(found: PanelComparison, one: Decision | None, two: Decision | None) -> int:
    return found.count(lambda cell: cell[:2] == (one, two))
