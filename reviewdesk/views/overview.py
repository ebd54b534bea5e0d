"""The overview of a run: its verdicts, the judge's quality and errors, and the next steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from reviewdesk.domain.assessment.result import WORDS
from reviewdesk.domain.gates.expect import FEWEST
from reviewdesk.domain.records import Item, QueueRow, Truth
from reviewdesk.domain.run.details import RunDetails
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.verdict import Decision
from reviewdesk.views import jury, words
from reviewdesk.views.calibration import headline
from reviewdesk.views.conclusion import conclusion, next_steps, progress
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Fact,
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
    plain,
)
from reviewdesk.views.queue import tag_list
from reviewdesk.views.reliability import diagram
from reviewdesk.views.words import plural

_MOST_NAMES = 7
_WRONG = "What the judge got wrong"
_TRUTHS = {Truth.PASS: Tone.PASS, Truth.FAIL: Tone.FAIL}


class RunOverview(Struct, frozen=True):
    """A run with the data of its overview.

    ``labellers`` are people with the number of verdicts that each labelled, ``wrong`` the first of
    the verdicts whose label contradicts the judge, and ``first`` those to label first.
    """

    details: RunDetails
    calibration: CalibrationPage
    jurors: tuple[str, ...]
    labellers: tuple[tuple[str, int], ...]
    wrong: tuple[Item, ...]
    first: tuple[QueueRow, ...]

    @property
    def named(self) -> tuple[QueueRow, ...]:
        """The verdicts that have a row in the overview."""
        return tuple(item.row for item in self.wrong) or self.first


def overview(found: RunOverview) -> Document:
    """Return the overview; for figures that need labels, it says how to get them."""
    page = found.calibration
    basis = words.basis(page.calibration.design, page.calibration.headline.n)
    return Document(
        (
            Section("", _about(found)),
            Section("Conclusion", conclusion(page).blocks),
            *([headline(page)] if page.telling() else []),
            Section(_WRONG, tuple(_wrong(found))),
            *([diagram(page.fit, basis)] if page.telling() and page.fit is not None else []),
            Section("What to do next", tuple(_steps(found))),
        )
    )


def short_overview(found: RunOverview) -> Document:
    """Return the overview in some ten lines and a table, without headings."""
    page = found.calibration
    figures: list[Fact] = []
    for block in headline(page).blocks if page.telling() else ():
        if isinstance(block, Table):
            heads = [plain(column.title) for column in block.columns[2:]]
            for name, value, *ends in (row.cells for row in block.rows):
                shown = [
                    joined([f"{head}:", end], " ")
                    for head, end in zip(heads, ends, strict=True)
                    if plain(end)
                ]
                known = [name, value] if plain(value) != "-" else [name]
                said = [joined(known, ": "), *shown]
                figures.append(Fact("", joined(said, "; ")))
    blocks = (
        _one_line(_about(found)),
        *conclusion(page).blocks,
        *([Facts(tuple(figures))] if figures else []),
        *_wrong(found),
        _one_line(_steps(found)),
    )
    return Document((Section("", blocks),))


def _one_line(blocks: Iterable[Block]) -> Paragraph:
    return Paragraph(joined([one.text for one in blocks if isinstance(one, Paragraph)], " "))


def _about(found: RunOverview) -> tuple[Block, ...]:
    """Say what the verdicts decide, which jurors gave them, and who labelled how many."""
    run = found.details.run
    made: Counter[str] = Counter()
    for one, count in found.details.tally.decisions.items():
        made[words.decided(one)] += count
    decided = [f"{count:,} {word}" for word, count in made.most_common()]
    names = list(words.short_names(found.jurors).values())
    shown = joined([outside(name, 80) for name in names[:_MOST_NAMES]])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    text = f"{words.held(run)}: {', '.join(decided) or 'none decided'}."
    judged: Words = f"{text} No juror is named."
    if names:
        judged = (f"{text} Judged by {plural(len(names), 'juror')}: ", *shown, f"{more}.")
    people = found.labellers
    who = [
        (outside(name, 80), f" ({count:,})" * (len(people) > 1))
        for name, count in people[:_MOST_NAMES]
    ]
    left = len(people) - _MOST_NAMES
    labelled: Words = progress(found.calibration)
    if people:
        end = f" and {left} more." if left > 0 else "."
        labelled = (f"{labelled} Labelled by ", *joined(who), end)
    return Paragraph(judged), Paragraph(labelled)


def _wrong(found: RunOverview) -> Iterator[Block]:
    """Yield the verdicts that labels contradict, with reasons; without labels, those to label."""
    if not found.calibration.calibration.labelled.n:
        yield from _unlabelled(found)
        return
    cells = found.calibration.counts.cells
    passes = cells.get((Decision.PASS, Truth.FAIL), 0)
    fails = cells.get((Decision.FAIL, Truth.PASS), 0)
    every = f"{plural(sum(cells.values()), 'verdict')} with a pass or fail label"
    if not passes + fails:
        yield Paragraph(f"Nothing: the judge is right on {every}.", Tone.STRONG)
        return
    text = (
        f"The judge was wrong on {passes + fails:,} of {every}: it passed {passes:,} that should "
        f"fail, and failed {fails:,} that should pass."
    )
    yield Paragraph(text, Tone.STRONG)
    if found.wrong:
        rows = [_row(item.row, item.row.label, _why(item)) for item in found.wrong]
        yield _table(("item", "judge", "should be", "why"), rows, _WRONG)
    if (left := passes + fails - len(found.wrong)) > 0:
        text = f"{left:,} more are wrong: reviewdesk queue --filter wrong lists all."
        yield Paragraph(text, Tone.MUTED)


def _unlabelled(found: RunOverview) -> Iterator[Block]:
    """Yield a note that nothing is known yet, and the verdicts to label first."""
    text = "Nobody has said pass or fail yet, so nobody knows what the judge got wrong."
    yield Paragraph(text, Tone.STRONG)
    if found.first:
        yield Paragraph("Label these first, in this order:")
        rows = []
        for row in found.first:
            names = [word for flag, word in WORDS.items() if flag in row.flags]
            why = ", ".join(names) or ("random check" if row.audit else "not flagged")
            rows.append(_row(row, None, why))
        yield _table(("item", "judge", "why"), rows, "The verdicts to label first")


def _table(heads: Sequence[str], rows: Sequence[Row], caption: str) -> Table:
    columns = tuple(Column(head, right=False, folds=head == "why") for head in heads)
    return Table(columns, tuple(rows), least=12, caption=caption)


def _row(row: QueueRow, truth: Truth | None, why: Words) -> Row:
    label = () if truth is None else (Text(truth.value, _TRUTHS.get(truth, Tone.NOTE)),)
    name = outside(row.test or row.id, 80)
    return Row((name, words.decision(row.decision), *label, why), link=f"verdict-{row.key}")


def _why(item: Item) -> Words:
    """Return the reviewer's note and tags, else the reason of the strongest dissent."""
    notes = [one.detail.get("note") for one in item.history if not one.undone]
    note = item.note or next((text for text in reversed(notes) if isinstance(text, str)), "")
    tags = item.tags or item.other_tags
    if note or tags:
        return joined([one for one in (outside(note, 200), joined([tag_list(tags)])) if one], " · ")
    against = jury.dissents(item)
    # Without a dissent, the juror with a reason whose score is nearest to the other decision.
    sign = 1 if item.assessment.decision is Decision.PASS else -1
    reasoned = (one for one in item.assessment.seats if jury.first_line(one.ballot.reason))
    sure = [
        (sign * one.ballot.score, one.ballot.seat, one)
        for one in reasoned
        if one.ballot.score is not None
    ]
    if not against and not sure:
        return "no juror dissented"
    seat = against[0] if against else min(sure)[-1]
    reason = jury.first_line(seat.ballot.reason)
    said = (": ", outside(reason, 200)) if reason else (" dissented",)
    name = outside(jury.short_names(item)[seat.ballot.id], 80)
    return ("" if against else "no juror dissented; ", name, *said)


def _steps(found: RunOverview) -> Iterator[Block]:
    """Yield the next steps, the most urgent first."""
    page = found.calibration
    yield from next_steps(page)
    if not page.calibration.labelled.n:
        yield Paragraph("Label them with reviewdesk open, then export this again.")
        return
    if found.wrong:
        text = "Read the wrong verdicts. reviewdesk improve counts what they have in common, and"
        yield Paragraph(f"{text} tries a changed panel on labels that are kept aside for that.")
    if page.calibration.design.stands and page.calibration.headline.n >= FEWEST:
        text = "Notice when the judge gets worse: reviewdesk labels export --format suite -o judge"
        yield Paragraph(f"{text} writes the gates, and reviewdesk gate checks them.")
