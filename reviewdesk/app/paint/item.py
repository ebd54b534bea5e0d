"""Painters for the panes of an item: its texts, checks, labels and note, and its jury."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from textual.content import Content

from reviewdesk.app.paint.document import block_lines, document_lines, section_lines
from reviewdesk.app.paint.long_text import (
    BESIDE,
    PaintedText,
    above,
    beside,
    column,
    folded,
    highlight,
    page_lines,
)
from reviewdesk.app.paint.styled import Lines, paragraph
from reviewdesk.app.texts.inked import laid_out
from reviewdesk.app.texts.layout import (
    RESPONSES,
    TITLE,
    ItemLayout,
    PartLines,
    ReadingOptions,
    page_count,
    part,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.seats import Seat
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.views import jury as juries
from reviewdesk.views import verdict, words
from reviewdesk.views.document import Section

AIRY = 30
"""The height of a pane from which a blank line stands between two sections."""
_LEAST = 3
"""The fewest lines of a folded text: its first, the one that counts the others, and its last."""
_ASKS = "does the response meet it?"
_DISSENT = 3
"""The lines that the reason of a dissent has in any case."""
_ALL = 1 << 20
_USUAL = ReadingOptions()


class PaintedItem(Struct, frozen=True):
    """The lines of the item pane, and what stands in them."""

    lines: Lines
    layout: ItemLayout = field(default_factory=ItemLayout)


class _Part(Struct, frozen=True):
    """One part of the pane before it has its place: what stands above its text, and the text."""

    name: str
    above: Lines
    text: PaintedText
    page: int = 0
    pages: int = 1
    paired: bool = False
    """Whether it stands beside the other response."""

    @property
    def lines(self) -> Lines:
        return [*self.above, *self.text.lines]

    def placed(self, head: int) -> PartLines:
        return PartLines(
            self.name,
            head,
            head + len(self.above),
            self.text.starts,
            self.text.end,
            self.page,
            self.pages,
            self.text.folded,
        )


def item_lines(item: Item, width: int, *, hidden: bool, reading: ReadingOptions = _USUAL) -> Lines:
    """Return the whole pane with every text in full, as ``painted_item`` does."""
    return painted_item(item, width, None, hidden=hidden, reading=reading).lines


def painted_item(
    item: Item,
    width: int,
    height: int | None,
    *,
    hidden: bool,
    reading: ReadingOptions = _USUAL,
    key: str = "",
) -> PaintedItem:
    """Return the whole pane; ``hidden`` leaves out what a blind session must not show.

    In a pane of ``height`` lines long texts fold, so that the response is met at its start;
    ``key`` unfolds them. No line is wider than the width.
    """
    airy = height is None or height >= AIRY
    parts = [_title(item, width, hidden=hidden), *_texts(item, width, reading)]
    if height is not None:
        parts = _folded(parts, height - airy * (len(parts) - 1), reading, key)
    for one in (*verdict.checks(item), *verdict.review(item, blind=hidden)):
        lines = section_lines(one, width)
        parts.append(_Part(one.title.lower(), lines[:1], PaintedText.counted(lines[1:])))
    return _stacked(item.item_hash, parts, width, reading, airy=airy)


def pages(item: Item) -> int:
    """Return how many pages the longest text of the item has."""
    return max((page_count(laid_out(text)) for text in verdict.texts(item).values()), default=1)


def _title(item: Item, width: int, *, hidden: bool) -> _Part:
    lines = section_lines(Section("", verdict.title(item, blind=hidden)), width)
    decided = [] if hidden else section_lines(Section("", verdict.headline(item)), width)
    return _Part(TITLE, decided, PaintedText.counted(lines))


def _texts(item: Item, width: int, reading: ReadingOptions) -> Iterator[_Part]:
    """Yield every text under its title, and where the response would stand if there is none."""
    texts = verdict.texts(item)
    together = texts.keys() >= {*RESPONSES} and width >= BESIDE
    for key, title in verdict.TEXTS.items():
        name = title.upper()
        text = texts.get(key)
        room = column(width) if together and key in RESPONSES else width
        if text is not None:
            page = part(laid_out(text), reading.page)
            stacked = key == RESPONSES[0] and RESPONSES[1] in texts and not together
            note = paragraph(verdict.SIDE_NOTE, width, Ink.MUTED) if stacked else []
            shown = laid_out(text)
            said = _ASKS if key == "rubric" else ""
            if shown != text:
                said = "JSON, indented here"
            painted = page_lines(shown, room, reading.page)
            if key == "rubric":
                # What is asked is met first: nothing else above the response is as strong.
                bold = tuple(row.stylize_before(Ink.STRONG.value) for row in painted.lines)
                painted = replace(painted, lines=bold)
            yield _Part(
                key,
                [*note, *above(name, shown, room, reading.page, said)],
                painted,
                page.number - 1,
                page.of,
                together and key in RESPONSES,
            )
        elif key == "output":
            lines = paragraph(verdict.NO_RESPONSE, width, Ink.MUTED)
            yield _Part(key, above(name, "", width, 0), PaintedText.counted(lines))


def _folded(parts: Sequence[_Part], room: int, reading: ReadingOptions, key: str) -> list[_Part]:
    """Fold what stands above the response, so that in ``room`` lines half are left for it.

    A reference, which stands below, folds to half of the room. Nothing folds if all fits.
    """
    half = room // 2
    responses = [one for one in parts if one.name in RESPONSES]
    before = parts[: parts.index(responses[0])]
    judged = max(len(one.text.lines) for one in responses)
    left = room - min(half, judged) - sum(len(one.above) for one in (*before, responses[0]))
    sizes = {"reference": half}
    # The shortest first: what it leaves of its share goes to the longer ones.
    for at, one in enumerate(sorted(before, key=lambda one: len(one.text.lines))):
        sizes[one.name] = max(_LEAST, left // (len(before) - at))
        left -= min(sizes[one.name], len(one.text.lines))
    return [_fold(one, sizes.get(one.name), reading, key) for one in parts]


def _fold(one: _Part, size: int | None, reading: ReadingOptions, key: str) -> _Part:
    """Fold a text, unless the reviewer wants it whole, turns its pages or found its lines."""
    whole = one.name in reading.open_sections or (reading.page and one.pages > 1)
    if size is None or whole:
        return one
    return replace(one, text=folded(one.text, size, key, reading.find))


def _stacked(
    item: str, parts: Sequence[_Part], width: int, reading: ReadingOptions, *, airy: bool
) -> PaintedItem:
    """Return the parts below each other, but two responses side by side where they fit."""
    lines: Lines = []
    placed = []
    for at, one in enumerate(parts):
        if one.paired and one.name == RESPONSES[1]:
            continue
        lines += [Content("")] if airy and lines else []
        if one.paired:
            other = parts[at + 1]
            lines += paragraph(verdict.SIDE_NOTE, width, Ink.MUTED)
            placed += [part.placed(len(lines)) for part in (one, other)]
            lines += beside(one.lines, other.lines, width)
        else:
            placed.append(one.placed(len(lines)))
            lines += one.lines
    return PaintedItem(highlight(lines, reading.find), ItemLayout(item, tuple(placed)))


def jury_lines(
    item: Item, history: RerunHistory, key: str, reading: ReadingOptions, width: int, room: int
) -> Lines:
    """Return the whole pane; ``key`` starts a re-run.

    Reasons are cut only where the pane has no ``room`` for all lines, and never in a search. The
    rows that are free go to the reasons in reading order, in which dissents are the first.
    """
    opened = reading.open_sections

    def drawn(lines: Mapping[int, int] | None, flags: Sequence[int] | None = None) -> Lines:
        return document_lines(verdict.jury(item, history, key, opened, lines, flags), width)

    whole = drawn(None)
    if len(whole) <= room or reading.find or verdict.REASONS in opened:
        return highlight(whole, reading.find)
    against = juries.dissents(item)
    seats = juries.ranked(item)
    lines = {seat.ballot.seat: _DISSENT if seat in against else 1 for seat in seats}
    notes = juries.loud_flags(item.assessment.notes)
    flags = [1] * len(notes)
    free = room - len(drawn(lines, flags))
    # Dissents get all they need before the others get a second line.
    for group in (against, [seat for seat in seats if seat not in against]):
        growing = {seat.ballot.seat: _heights(item, seat, width) for seat in group}
        while free > 0 and growing:
            for place, heights in list(growing.items()):
                more = sum(height > lines[place] for height in heights)
                if 0 < more <= free:
                    lines[place] += 1
                    free -= more
                else:
                    del growing[place]
    for at, note in enumerate(notes):
        more = min(max(0, free), len(block_lines(note, width)) - 1)
        flags[at] += more
        free -= more
    return drawn(lines, flags)


def _heights(item: Item, seat: Seat, width: int) -> list[int]:
    """Return how many lines each text below a juror has in full."""
    body = item.verdict.body["jurors"][seat.ballot.seat]
    answers = words.answers(body, item.verdict.policy.threshold)
    return [len(block_lines(one, width)) for one in juries.reasons(seat.ballot, _ALL, answers)]
