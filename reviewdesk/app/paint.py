"""The one door by which text enters the screen, and the few shapes that painters build from it.

A painter is a pure function of data and width that returns lines of ``Content``: plain strings with
inks, never markup. No line is wider than the width, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content, Span

from reviewdesk.app.themes import Ink
from reviewdesk.domain import safetext

Lines: TypeAlias = list[Content]
Painter: TypeAlias = Callable[[int], Lines]
Piece: TypeAlias = tuple[str, str]
"""A text that has been through ``block`` or ``inline`` (or is our own), and its ink."""

ELLIPSIS = "…"

_UNSTEADY = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d(?=[\u2000-\U0010ffff])")
"""What terminals disagree about the width of: emoji styles, skin tones, joined emoji. They are left
out of the painted line, so that columns stand; the emoji themselves stay."""


_SARA_AM = str.maketrans({"\u0e33": "\u0e4d\u0e32", "\u0eb3": "\u0ecd\u0eb2"})
"""Thai and Lao vowels of two parts, which terminals give one column or two."""


def inline(text: object, limit: int = 500) -> str:
    """Text from outside, on one line."""
    return _steady(safetext.show_line(str(text), limit))


def block(text: object, limit: int = 20_000) -> str:
    """Text from outside, with its line breaks."""
    return _steady(safetext.show(str(text), limit))


def _steady(text: str) -> str:
    return text if text.isascii() else _UNSTEADY.sub("", text).translate(_SARA_AM)


def line(*pieces: Piece | str) -> Content:
    """One line of styled pieces, of whatever width."""
    text, spans = "", []
    for piece in pieces:
        words, ink = (piece, "") if isinstance(piece, str) else piece
        if ink and words:
            spans.append(Span(len(text), len(text) + len(words), str(ink)))
        text += words
    return Content(text, spans=spans)


def fitting(text: str, width: int, start: int = 0) -> int:
    """How many characters from ``start`` fit into ``width`` cells."""
    window = text[start : start + width + 1]
    if window.isascii():
        return min(width, len(text) - start)
    used = count = 0
    for char in text[start : start + 4 * width + 8]:
        used += cell_len(char)
        if used > width:
            break
        count += 1
    return count


def clip(text: str, width: int) -> str:
    """The text cut at the end to ``width`` cells, with an ellipsis."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return text[: fitting(text, width - 1)] + ELLIPSIS


def clip_start(text: str, width: int) -> str:
    """The text cut at the start: of an id the end tells more."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    kept = fitting(text[::-1], width - 1)
    return ELLIPSIS + text[len(text) - kept :]


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text in a column of exactly ``width`` cells."""
    text = clip(text, width)
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def cut(content: Content, width: int) -> Content:
    """A styled line cut to ``width`` cells."""
    if content.cell_length <= width:
        return content
    if width <= 0:
        return Content("")
    kept = fitting(content.plain, width - 1)
    return content[:kept] + Content(ELLIPSIS)


def wrap(text: str, width: int) -> list[str]:
    """Fold text at spaces, and words that are too long anywhere; every line fits ``width``."""
    width = max(1, width)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_wrap_line(paragraph, width))
    return lines


def _wrap_line(text: str, width: int) -> Iterable[str]:
    if len(text) <= width and text.isascii():
        return [text]
    lines, start = [], 0
    while start < len(text):
        count = fitting(text, width, start)
        if count == 0:
            # A double-width character cannot stand in a single column.
            lines.append(ELLIPSIS)
            start += 1
            continue
        end = start + count
        if end < len(text) and (space := text.rfind(" ", start + 1, end + 1)) > start:
            lines.append(text[start:space])
            start = space + 1
        else:
            lines.append(text[start:end])
            start = end
    return lines or [""]


def paragraph(
    text: str, width: int, ink: str = "", *, first: Sequence[Piece] = (), indent: int = 0
) -> Lines:
    """Wrapped text with a hanging indent; ``first`` stands before the first line."""
    indent = indent if indent <= width // 2 else 0
    lead = line(*first)
    if lead.cell_length > max(indent, width // 2):
        return [cut(lead, width), *paragraph(text, width, ink, indent=indent)]
    rows = wrap(text, width - max(indent, lead.cell_length))
    if lead.cell_length > indent and len(rows) > 1:
        # The lead is wider than the indent: only its own line is short.
        rest = text[len(rows[0]) :].removeprefix("\n").removeprefix(" ")
        rows = [rows[0], *wrap(rest, width - indent)]
    head = lead + Content(" " * max(0, indent - lead.cell_length)) + line((rows[0], ink))
    return [head, *(line(" " * indent, (row, ink)) for row in rows[1:])]


def flow(groups: Iterable[Content], width: int, gap: int = 3) -> Lines:
    """Small facts side by side, as many on a line as fit; a fact is broken only if it must."""
    lines: Lines = []
    for group in groups:
        if lines and lines[-1].cell_length + gap + group.cell_length <= width:
            lines[-1] += Content(" " * gap) + group
        else:
            lines += fold(group, width)
    return lines


def fold(content: Content, width: int) -> Lines:
    """A styled line folded at spaces where it is too wide."""
    if content.cell_length <= width:
        return [content]
    text, lines, start = content.plain, [], 0
    for row in wrap(text, width):
        found = text.find(row, start)
        lines.append(content[found : found + len(row)] if found >= 0 else Content(row))
        start = max(start, found + len(row))
    return lines


def heading(title: str, width: int, note: str = "") -> Content:
    """A section's title with a rule behind it."""
    head = line((title, Ink.HEAD), (f"  {note}" if note else "", Ink.MUTED), " ")
    if head.cell_length >= width:
        return cut(head, width)
    return head + line(("─" * (width - head.cell_length), Ink.RULE))
