"""Painters for the panes of an item: its long texts, checks, labels and note, and its jury."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content, Span

from reviewdesk.app.controllers.exposure import ItemLayout, PartLines
from reviewdesk.app.controllers.state import RESPONSES, TITLE, TOOLS, ReadingOptions
from reviewdesk.app.paint.document import block_lines, document_lines, section_lines
from reviewdesk.app.paint.styled import (
    ELLIPSIS,
    Lines,
    block,
    cells,
    clip,
    cuts,
    hang_of,
    heading,
    laid_out,
    line,
    paragraph,
)
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.views import jury as juries
from reviewdesk.views import verdict, words
from reviewdesk.views.document import Section, Tone

_WORD = re.compile(r"[^\W_]+")
_TURN = re.compile(r"[^\W\dA-Z_][\w.-]*(?: [\w.-]+){0,2}: ")
_TOOL = re.compile(r"tool: |[^:]+: calls(?:$| (?:a tool|[^\s(]+)(?:\(|$))")
"""How a turn of a conversation begins, and how a tool's call or result begins."""


def highlight(lines: Sequence[Content], words: Sequence[str]) -> list[Content]:
    """Return the lines with every search hit marked. Section titles are never marked."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return list(lines)
    return [
        content.add_spans([Span(start, end, Tone.FOUND.value) for start, end in hits])
        if (hits := [*_hits(content, pattern)])
        else content
        for content in lines
    ]


def found_line(lines: Sequence[Content], words: Sequence[str]) -> int | None:
    """Return the number of the first line with a search hit, or None."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return None
    return next((at for at, line in enumerate(lines) if any(_hits(line, pattern))), None)


def _hits(content: Content, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    if not any(span.style == Tone.HEAD for span in content.spans):
        yield from (match.span() for match in pattern.finditer(_bare(content.plain)))


def _bare(text: str) -> str:
    """Return the text without case and accents, character by character."""
    return text.lower() if text.isascii() else "".join(map(_bare_char, text))


@lru_cache(maxsize=8192)
def _bare_char(char: str) -> str:
    return unicodedata.normalize("NFKD", char)[0].casefold()[:1]


@lru_cache(maxsize=32)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Compile a pattern for any of the words at a word's start; ideographs match anywhere."""
    bare = {part for word in words for part in _WORD.findall(_bare(word))}
    if not bare:
        return None
    longest = sorted(bare, key=lambda word: (-len(word), word))
    at_start = r"(?<![^\W_])"
    each = (("" if cell_len(word[0]) == 2 else at_start) + re.escape(word) for word in longest)
    return re.compile("|".join(each))


MEASURE = 105
"""The most cells of a folded line of prose: the eye loses its way back over longer ones."""
WORTH = 8
"""The fewest hidden lines for which a fold is worth its line."""

Row: TypeAlias = tuple[Content, int, int]
"""A line, the character at which it begins, and how many lines of the text it stands for."""


class _Part(Struct, frozen=True):
    """One part of the pane before it is placed: the lines above its text, and those of the text."""

    name: str
    above: Lines
    rows: Sequence[Row]
    end: int
    """The number of characters of the text."""
    folded: str = ""
    """The name in ``ReadingOptions`` that shows all lines, if some are left out."""

    @property
    def lines(self) -> Lines:
        return [*self.above, *(row for row, *_ in self.rows)]

    def placed(self, head: int) -> PartLines:
        starts = tuple(start for _, start, _ in self.rows)
        return PartLines(self.name, head, head + len(self.above), starts, self.end, self.folded)


def _counted(name: str, above: Lines, lines: Lines) -> _Part:
    """Return a part that is not a text: its characters are the numbers of its lines."""
    return _Part(name, above, [(one, at, 1) for at, one in enumerate(lines)], len(lines))


def folded(rows: Sequence[Row], size: int, key: str, words: Sequence[str] = ()) -> Sequence[Row]:
    """Return the first and last lines of a text: ``size`` lines with the one that counts the rest.

    ``key`` shows the rest. A text stays whole if fewer than ``WORTH`` lines would be hidden, or
    if these have a search hit of ``words``.
    """
    last = max(1, (size - 1) // 3)
    first = size - 1 - last
    hidden = rows[first : len(rows) - last]
    if len(hidden) < WORTH or found_line([row for row, *_ in hidden], words) is not None:
        return rows
    count = sum(number for *_, number in hidden)
    gap = line((f"{ELLIPSIS} {count:,} lines {ELLIPSIS}", Tone.MUTED))
    if key:
        gap += line("  ", (key, Tone.KEY), (" shows them", Tone.MUTED))
    return [*rows[:first], (gap, hidden[0][1], count), *rows[-last:]]


@lru_cache(maxsize=24)
def text_lines(text: str, width: int) -> tuple[list[Row], int]:
    """Return a text as lines, and its characters; cached, as every move paints the pane again."""
    rows: list[Row] = []
    at = 0
    for row in block(text, limit=len(text)).split("\n") if text else ():
        # Code and tables are indented or ruled, and take the width that there is.
        room = min(width, MEASURE) if row[:1].isalnum() else width
        hang = hang_of(row)
        for number, (start, painted) in enumerate(_folded_lines(row, room, hang)):
            # The indentation before the first piece belongs to that piece.
            rows.append((painted, at + (start if number else 0), 1))
        at += len(row) + 1
    return rows, at


def _folded_lines(text: str, width: int, hang: int) -> Iterator[tuple[int, Content]]:
    """Fold a line under its indentation; yield each piece with the index of its first character."""
    if cells(text) <= width:
        yield 0, Content(text)
        return
    deep = len(text) - len(text.lstrip(" ")) - width // 3
    skip = deep if deep > width // 6 else 0
    hang = min(hang, width // 3)
    for number, (start, end) in enumerate(cuts(text[skip:], width, width - hang)):
        indent = " " * hang if number else ""
        # A double-width character cannot stand in a single column.
        yield start + skip, Content(clip(indent + text[start + skip : end + skip], width))


AIRY = 30
"""The height of a pane from which a blank line stands between two sections."""
_LEAST = 3
"""The fewest lines of a folded text: its first, the one that counts the others, and its last."""
_ASKS = "does the response meet it?"
_ASKS_OF_PAIR = "does it hold for response A?"
_DISSENT = 3
"""The least lines of the reason of a dissent."""
_FLAG = 4
"""The most lines of a flag's reason where rows are short."""
_ALL = 1 << 20
_USUAL = ReadingOptions()


class PaintedItem(Struct, frozen=True):
    """The lines of the item pane, and the layout of its parts."""

    lines: Lines
    layout: ItemLayout = field(default_factory=ItemLayout)


def painted_item(
    item: Item,
    width: int,
    height: int | None,
    *,
    hidden: bool,
    reading: ReadingOptions = _USUAL,
    key: str = "",
    named: bool = False,
) -> PaintedItem:
    """Return the whole pane; ``hidden`` leaves out what a blind session must not show.

    In a pane of ``height`` lines long texts fold, so that the response is in view at its start;
    ``key`` unfolds them; ``named`` says that its id stands above. No line is wider than the width.
    """
    airy = height is None or height >= AIRY
    title = section_lines(Section("", verdict.title(item, blind=hidden, named=named)), width)
    parts = [_counted(TITLE, [], title), *_texts(item, width)]
    if height is not None:
        parts = _folded(parts, height - airy * (len(parts) - 1), reading, key)
    for one in (*verdict.checks(item), *verdict.review(item, blind=hidden)):
        lines = section_lines(one, width)
        parts.append(_counted(one.title.lower(), lines[:1], lines[1:]))
    painted: Lines = []
    placed = []
    for part in parts:
        painted += [Content("")] if airy and painted else []
        placed.append(part.placed(len(painted)))
        painted += part.lines
    return PaintedItem(highlight(painted, reading.find), ItemLayout(item.read_as, tuple(placed)))


def _texts(item: Item, width: int) -> Iterator[_Part]:
    """Yield every text under its title, and a note in place of a missing response."""
    texts = verdict.texts(item)
    pair = RESPONSES[1] in texts
    for key, title in verdict.TEXTS.items():
        name = title.upper() + " A" * (pair and key == "output")
        if (text := texts.get(key)) is not None:
            # A list that fits on its line is read faster there.
            short = "{" not in text and cells(text) <= width
            shown = text if short else laid_out(text)
            rows, end = text_lines(shown.rstrip() if key == "rubric" else shown, width)
            said = "JSON, indented here" if shown != text else ""
            if key == "rubric":
                # The question is seen first: nothing else above the response is as strong.
                rows = [(one.stylize_before(Tone.STRONG.value), at, n) for one, at, n in rows]
                said = _ASKS_OF_PAIR if pair else _ASKS
            yield _Part(key, [heading(name, width, said)], rows, end)
        elif key == "output":
            lines = paragraph(verdict.NO_RESPONSE, width, Tone.MUTED)
            yield _counted(key, [heading(name, width)], lines)


def _folded(parts: Sequence[_Part], room: int, reading: ReadingOptions, key: str) -> list[_Part]:
    """Fold the texts above the response, so that half of the ``room`` lines are left for it.

    A reference, which is below the response, folds to half of the room. Nothing folds if all fits.
    """
    if sum(len(one.lines) for one in parts) > room:
        parts = [_tools_folded(one, reading, key) for one in parts]
    half = room // 2
    responses = [one for one in parts if one.name in RESPONSES]
    before = parts[: parts.index(responses[0])]
    judged = max(len(one.rows) for one in responses)
    left = room - min(half, judged) - sum(len(one.above) for one in (*before, responses[0]))
    sizes = {"reference": half}
    # The shortest first: the unused rest of its share goes to the longer ones.
    for at, one in enumerate(sorted(before, key=lambda one: len(one.rows))):
        sizes[one.name] = max(_LEAST, left // (len(before) - at))
        left -= min(sizes[one.name], len(one.rows))
    made = []
    for one in parts:
        rows = one.rows
        if one.name in sizes and one.name not in reading.open_sections:
            rows = folded(rows, sizes[one.name], key, reading.find)
        made.append(one if rows is one.rows else replace(one, rows=rows, folded=one.name))
    return made


def _tools_folded(one: _Part, reading: ReadingOptions, key: str) -> _Part:
    """Fold each long call and result of a tool in a conversation, so that its turns are seen."""
    if one.name != "input" or TOOLS in reading.open_sections:
        return one
    texts = [row.plain for row, *_ in one.rows]
    turns = [
        at
        for at, row in enumerate(texts)
        if _TURN.match(row) and not (at and texts[at - 1].strip())
    ]
    if not turns or turns[0]:
        # A text that does not begin with a turn is not a conversation.
        return one
    made: list[Row] = []
    # The blank line between two turns belongs to neither.
    blanks = [at - 1 for at in turns[1:]]
    for start, end in pairwise(sorted((*turns, *blanks, len(texts)))):
        turn = one.rows[start:end]
        tool = _TOOL.match(texts[start])
        made += folded(turn, _LEAST, key, reading.find) if tool else turn
    return one if len(made) == len(texts) else replace(one, rows=made, folded=TOOLS)


def jury_lines(
    item: Item, history: RerunHistory, keys: Mapping[str, str], reading: ReadingOptions, room: int,
    width: int,
) -> Lines:  # fmt: skip
    """Return the whole pane; ``keys`` are those of ``verdict.jury``.

    Reasons are cut only where the pane has no ``room`` for all lines, and never in a search. The
    rows that are free go to the reasons in reading order, in which dissents are the first.
    """
    opened = reading.open_sections

    def drawn(lines: Mapping[int, int] | None, flags: Sequence[int] | None = None) -> Lines:
        return document_lines(verdict.jury(item, history, keys, opened, lines, flags), width)

    if reading.find or verdict.REASONS in opened:
        return highlight(drawn(None), reading.find)
    against = juries.dissents(item)
    seats = juries.ranked(item)
    lines = {seat.ballot.seat: _DISSENT if seat in against else 1 for seat in seats}
    heights: dict[int, list[int]] = {}
    for seat in seats:
        body = item.verdict.body["jurors"][seat.ballot.seat]
        answers = words.answers(body, item.verdict.policy.threshold)
        texts = juries.reasons(seat.ballot, _ALL, answers)
        heights[seat.ballot.seat] = [len(block_lines(one, width)) for one in texts]
    # A sentence that is cut says nothing, so the reasons of flags are whole unless they are long.
    told = [len(block_lines(note, width)) for note in juries.loud_flags(item)]
    flags = [min(height, _FLAG) for height in told]
    free = room - len(drawn(lines, flags))
    cut = sum(max(0, height - lines[at]) for at, each in heights.items() for height in each)
    if cut + sum(told) - sum(flags) <= free and len(whole := drawn(None)) <= room:
        return whole
    # Dissents get all the lines they need before the others get a second one.
    for group in (against, [seat for seat in seats if seat not in against]):
        growing = [seat.ballot.seat for seat in group]
        while free > 0 and growing:
            for place in [*growing]:
                more = sum(height > lines[place] for height in heights[place])
                if 0 < more <= free:
                    lines[place] += 1
                    free -= more
                else:
                    growing.remove(place)
    for at, height in enumerate(told):
        more = min(max(0, free), height - flags[at])
        flags[at] += more
        free -= more
    return drawn(lines, flags)
