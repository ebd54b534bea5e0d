"""The overview of a run: its verdicts, the judge's quality and errors, and the next steps."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from reviewdesk.domain.assessment.result import Seat, in_words
from reviewdesk.domain.gates.expect import FEWEST
from reviewdesk.domain.records import Design, Item, QueueRow, Truth
from reviewdesk.domain.run.details import RunDetails
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.verdict import Decision
from reviewdesk.views import jury, words
from reviewdesk.views.calibration import diagram, headline
from reviewdesk.views.conclusion import conclusion, next_steps, progress, target
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    joined,
    outside,
)
from reviewdesk.views.queue import tag_list
from reviewdesk.views.words import plural

_MOST_NAMES = 7
_WRONG = "What the judge got wrong"


class RunOverview(Struct, frozen=True):
    """A run with the data of its overview.

    ``labellers`` are people with the number of verdicts that each labelled and the time of their
    last label, ``wrong`` the first of the verdicts whose label contradicts the judge, and ``first``
    those to label first.
    """

    details: RunDetails
    calibration: CalibrationPage
    jurors: tuple[str, ...]
    labellers: tuple[tuple[str, int, str], ...]
    wrong: tuple[Item, ...]
    first: tuple[QueueRow, ...]
    written_at: str

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
            Section("Conclusion", (*conclusion(page).blocks, *target(page))),
            *([headline(page)] if page.telling() else []),
            Section(_WRONG, tuple(_wrong(found))),
            *([diagram(page.fit, basis)] if page.telling() else []),
            Section("What to do next", tuple(_steps(found))),
        )
    )


def short_overview(found: RunOverview) -> Document:
    """Return the overview in some ten lines and two tables, without headings."""
    page = found.calibration
    blocks = (
        _one_line(_about(found)),
        *conclusion(page).blocks,
        *(target(page)[:-1]),
        *(headline(page).blocks if page.telling() else ()),
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
        for name, count, _ in people[:_MOST_NAMES]
    ]
    left = len(people) - _MOST_NAMES
    labelled: Words = progress(found.calibration)
    written = f"Written on {words.moment(found.written_at).text[:10]}."
    if people:
        last = words.moment(max(at for *_, at in people)).text[:10]
        end = f"{f' and {left} more' * (left > 0)}, last on {last}. {written}"
        labelled = (f"{labelled} Labels by people: ", *joined(who), end)
    else:
        labelled = f"{labelled} {written}"
    return Paragraph(judged), Paragraph(labelled)


def _wrong(found: RunOverview) -> Iterator[Block]:
    """Yield the verdicts that labels contradict, with reasons; without labels, those to label."""
    page = found.calibration
    if not page.calibration.labelled.n:
        text = "Nobody has said pass or fail yet, so nobody knows what the judge got wrong."
        yield Paragraph(text, Tone.STRONG)
        if found.first:
            yield Paragraph("Label these first, in this order:")
            rows = []
            for row in found.first:
                why = in_words(row.flags) or ("random check" if row.audit else "not flagged")
                rows.append(_row(row, None, why))
            yield _table(("item", "judge", "why"), rows, "The verdicts to label first")
        return
    cells = page.cells
    passes = round(cells.fp)
    fails = round(cells.fn)
    every = f"{plural(round(cells.n), 'decided verdict')} with a pass or fail label"
    if not passes + fails:
        yield Paragraph(f"Nothing: the judge is right on {every}.", Tone.STRONG)
        return
    text = (
        f"The judge was wrong on {passes + fails:,} of {every}: it passed {passes:,} that should "
        f"fail, and failed {fails:,} that should pass."
    )
    yield Paragraph(text, Tone.STRONG)
    if page.calibration.design is Design.WEIGHTED:
        text = "These counts are of the labelled verdicts, more of which are doubtful than in the "
        yield Paragraph(f"{text}run. The figures above are for the whole run.", Tone.MUTED)
    if found.wrong:
        rows = [_row(item.row, item.row.label, _why(item)) for item in found.wrong]
        yield _table(("item", "judge", "should be", "why"), rows, _WRONG)
    if (left := passes + fails - len(found.wrong)) > 0:
        text = f"{left:,} more are wrong: reviewdesk queue --filter wrong lists all."
        yield Paragraph(text, Tone.MUTED)


def _table(heads: Sequence[str], rows: Sequence[Row], caption: str) -> Table:
    columns = tuple(Column(head, right=False, folds=head == "why") for head in heads)
    return Table(columns, tuple(rows), least=12, caption=caption)


def _row(row: QueueRow, truth: Truth | None, why: Words) -> Row:
    label = () if truth is None else (words.label(truth),)
    name = outside(row.test or row.id, 80)
    return Row((name, words.decision(row.decision), *label, why), link=f"verdict-{row.key}")


def _why(item: Item) -> Words:
    """Return the votes, each side with its surest juror's reason, and the reviewer's note."""
    passed = item.assessment.decision is Decision.PASS
    seats = item.assessment.seats
    sides = [one for one in seats if one.ballot.vote is passed]
    others = [one for one in seats if one.ballot.vote is (not passed)]
    text = f"{len(sides)} of {plural(len(seats), 'juror')} vote {words.VOTES[passed]}"
    said: list[Words] = [(text, *_reason_of(item, sides, highest=passed))]
    if others:
        said.append((f"{len(others)} against", *_reason_of(item, others, highest=not passed)))
    notes = [one.detail.get("note") for one in item.history if not one.undone]
    note = item.note or next((text for text in reversed(notes) if isinstance(text, str)), "")
    if note:
        said.append(("reviewer: ", outside(note, 100)))
    if tags := item.tags or item.other_tags:
        said.append(joined([tag_list(tags)]))
    return joined(said, " · ")


def _reason_of(item: Item, seats: Sequence[Seat], *, highest: bool) -> list[str | Text]:
    """Return the name and the reason of the surest of these jurors that gives one."""
    given = [
        ((one.ballot.score or 0.0) * (-1 if highest else 1), one.ballot.seat, one.ballot)
        for one in seats
        if jury.first_line(one.ballot.reason)
    ]
    if not given:
        return []
    ballot = min(given)[-1]
    name = outside(jury.short_names(item)[ballot.id], 80)
    return [", ", name, ": ", outside(jury.first_line(ballot.reason), 80)]


def _steps(found: RunOverview) -> Iterator[Block]:
    page = found.calibration
    if not page.verdicts:
        yield Paragraph("The report has no verdicts. Check what wrote it, and load it again.")
        return
    yield from next_steps(page)
    if not page.calibration.labelled.n:
        yield Paragraph("Label them with reviewdesk open, then export this again.")
        return
    if found.wrong:
        text = "Read the wrong verdicts. To see what they have in common and try a better panel:"
        yield Paragraph(f"{text} reviewdesk improve.")
    if page.calibration.design.stands and page.calibration.headline.n >= FEWEST:
        text = "To notice when the judge gets worse, write gates and check them in CI:"
        yield Paragraph(f"{text} reviewdesk labels export --format suite -o judge.")
