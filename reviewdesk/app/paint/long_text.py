"""Painters for long texts: one page with its inks and search hits, folded or not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content, Span

from reviewdesk.app.paint.styled import ELLIPSIS, Lines, block, heading, line, paragraph
from reviewdesk.app.texts.fold import cuts
from reviewdesk.app.texts.inked import (
    InkedLine,
    diff_inked,
    is_diff,
    is_json,
    json_inked,
    prose_rows,
    rows,
    text_inked,
)
from reviewdesk.app.texts.layout import part
from reviewdesk.app.theme.inks import Ink

_WORD = re.compile(r"[^\W_]+")


def highlight(lines: Sequence[Content], words: Sequence[str]) -> list[Content]:
    """Return the lines with every search hit marked. Section titles are never marked."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return list(lines)
    return [_with_hits_marked(content, pattern) for content in lines]


def found_line(lines: Sequence[Content], words: Sequence[str]) -> int | None:
    """Return the number of the first line with a search hit, or None."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return None
    return next((at for at, line in enumerate(lines) if any(_hits(line, pattern))), None)


def _with_hits_marked(content: Content, pattern: re.Pattern[str]) -> Content:
    spans = [Span(start, end, Ink.FOUND.value) for start, end in _hits(content, pattern)]
    return content.add_spans(spans) if spans else content


def _hits(content: Content, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of every search hit, in characters of the line."""
    text = content.plain
    if any(span.style == Ink.HEAD for span in content.spans):
        return
    if text.isascii():
        yield from (match.span() for match in pattern.finditer(text.lower()))
        return
    bare, origins = _bare(text)
    for match in pattern.finditer(bare):
        start = origins[match.start()]
        yield start, max(start + 1, origins[match.end()])


def _bare(text: str) -> tuple[str, list[int]]:
    """Return the text without case and accents, and the origin in ``text`` of each character."""
    letters: list[str] = []
    origins: list[int] = []
    for at, char in enumerate(text):
        bare = _bare_char(char)
        letters.append(bare)
        origins += [at] * len(bare)
    # A mark that was dropped belongs to the word before it.
    origins.append(len(text))
    return "".join(letters), origins


@lru_cache(maxsize=8192)
def _bare_char(char: str) -> str:
    apart = unicodedata.normalize("NFKD", char)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()


@lru_cache(maxsize=32)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Compile a pattern for any of the words at a word's start; ideographs match anywhere."""
    bare = {part for word in words for part in _WORD.findall(_bare(word)[0])}
    if not bare:
        return None
    longest = sorted(bare, key=lambda word: (-len(word), word))
    return re.compile("|".join(_start_pattern(word) + re.escape(word) for word in longest))


def _start_pattern(word: str) -> str:
    return "" if cell_len(word[0]) == 2 else r"(?<![^\W_])"


MEASURE = 105
"""The most cells of a folded line of prose: the eye loses its way back over longer ones."""
WORTH = 8
"""The fewest hidden lines for which a fold is worth its line."""
BESIDE = 60
"""The least width of a pane that shows two columns."""
_BETWEEN = " │ "


class PaintedText(Struct, frozen=True):
    """The lines of a page of a text, and the character of the page at which each line begins."""

    lines: tuple[Content, ...]
    starts: tuple[int, ...]
    end: int
    folded: bool = False

    @classmethod
    def counted(cls, lines: Sequence[Content]) -> PaintedText:
        return cls(tuple(lines), tuple(range(len(lines))), len(lines))


def page_lines(text: str, width: int, page: int) -> PaintedText:
    """Return one page of a text, whole."""
    return _body(text, part(text, page).number - 1, width) if text else PaintedText((), (), 0)


def folded(text: PaintedText, size: int, key: str, words: Sequence[str] = ()) -> PaintedText:
    """Return the first and last lines of a text, ``size`` lines with the one that counts the rest.

    ``key`` shows the rest. A text of which fewer than ``WORTH`` lines would be hidden stays whole,
    and so does one that has a search hit of ``words`` in them.
    """
    hidden = len(text.lines) - size + 1
    last = max(1, (size - 1) // 3)
    first = size - 1 - last
    back = len(text.lines) - last
    if hidden < WORTH or found_line(text.lines[first:back], words) is not None:
        return text
    count = line((f"{ELLIPSIS} {hidden:,} lines {ELLIPSIS}", Ink.MUTED))
    if key:
        count += line("  ", (key, Ink.KEY), (" shows them", Ink.MUTED))
    return PaintedText(
        (*text.lines[:first], count, *text.lines[back:]),
        (*text.starts[: first + 1], *text.starts[back:]),
        text.end,
        folded=True,
    )


def beside(left: Lines, right: Lines, width: int) -> Lines:
    """Join two painted columns with a rule between them. ``column`` returns their width."""
    room = column(width)
    rule = line((_BETWEEN, Ink.RULE))
    blank = Content("")
    height = max(len(left), len(right))
    left, right = (lines + [blank] * (height - len(lines)) for lines in (left, right))
    return [
        one + Content(" " * (room - one.cell_length)) + rule + two
        for one, two in zip(left, right, strict=True)
    ]


def column(width: int) -> int:
    """Return the width of each of two columns."""
    return (width - cell_len(_BETWEEN)) // 2


def above(title: str, text: str, width: int, page: int, said: str = "") -> Lines:
    """Return what stands above a text: its title, with the page number and what is noted of it."""
    shown = part(text, page)
    notes = [said] if said else []
    if shown.of > 1:
        notes.append(f"page {shown.number} of {shown.of}")
        notes.append(f"characters {shown.start + 1:,}-{shown.end:,} of {len(text):,}")
    note = " · ".join(notes)
    if cell_len(f"{title}  {note} ") <= width:
        return [heading(title, width, note)]
    return [heading(title, width), *paragraph(note, width, Ink.MUTED)]


@lru_cache(maxsize=24)
def _body(text: str, page: int, width: int) -> PaintedText:
    """Return one page as lines. They are cached, because every move paints the pane again."""
    lines: Lines = []
    starts: list[int] = []
    at = 0
    for row, short in _rows(text, page):
        room = min(width, MEASURE) if short else width
        for number, (start, painted) in enumerate(_folded_lines(row, room)):
            lines.append(painted)
            # What stands before the first piece, its indentation, belongs to it.
            starts.append(at + (start if number else 0))
        at += len(row.text) + 1
    return PaintedText(tuple(lines), tuple(starts), at)


@lru_cache(maxsize=12)
def _rows(text: str, page: int) -> tuple[tuple[InkedLine, bool], ...]:
    """Return the lines of a sanitised page with their inks, and whether each is prose."""
    shown = part(text, page)
    before = text[: shown.start]
    clean = block(text[shown.start : shown.end], limit=shown.end - shown.start)
    if is_json(text):
        return tuple(zip(rows(json_inked(clean)), repeat(False)))
    if is_diff(text):
        return tuple(zip(rows(diff_inked(clean, started=bool(before))), repeat(False)))
    inked = tuple(rows(text_inked(clean, before)))
    return tuple(zip(inked, prose_rows((row.text for row in inked), before), strict=True))


def _folded_lines(row: InkedLine, width: int) -> Iterator[tuple[int, Content]]:
    """Fold a line under its own indentation, which takes at most a third of the width.

    Each piece comes with its first character.
    """
    text = row.text
    spans = row.spans
    if cell_len(text) <= width:
        yield 0, Content(text, [Span(*span) for span in spans])
        return
    deep = len(text) - len(text.lstrip(" ")) - width // 3
    skip = deep if deep > width // 6 else 0
    hang = max(0, min(row.hang, width // 3))
    at = 0
    for number, (start, end) in enumerate(cuts(text[skip:], width, width - hang)):
        indent = hang if number else 0
        first = start + skip
        last = end + skip
        while at < len(spans) and spans[at][1] <= first:
            at += 1
        yield first, _piece(text[first:last], first, indent, spans, at, width)


def _piece(
    text: str, start: int, indent: int, spans: Sequence[tuple[int, int, str]], at: int, width: int
) -> Content:
    """Return a folded piece behind its indentation, with its inks from ``spans[at:]``."""
    if width - indent < 2 and cell_len(text) > width - indent:
        # A double-width character cannot stand in a single column.
        return Content(" " * indent + ELLIPSIS)
    mine = []
    for first, last, ink in spans[at:]:
        if first >= start + len(text):
            break
        low = max(first, start) - start
        high = min(last, start + len(text)) - start
        mine.append(Span(low + indent, high + indent, ink))
    return Content(" " * indent + text, mine)
