"""The only way for text from outside onto the screen, and the shapes that painters build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content, Span
from textual.style import Style

from reviewdesk.app.texts.layout import cuts, fitting, fitting_end
from reviewdesk.app.theme.inks import Ink

ELLIPSIS = "…"

_OWN = str.maketrans("▸▶·…│¶✓", "x" * 7)
"""Signs of ours that take one column, with a sign of ASCII for each."""

_UNSTEADY = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d(?=[\u2000-\U0010ffff])"
"""Characters whose width differs between terminals: emoji styles, skin tones and joiners. Painted
lines leave them out, so that columns align; the emoji themselves stay."""


_SARA_AM = str.maketrans({"\u0e33": "\u0e4d\u0e32", "\u0eb3": "\u0ecd\u0eb2"})
"""Thai and Lao vowels of two parts. Some terminals give them one column, others two."""


def cells(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii() or text.translate(_OWN).isascii():
        return len(text)

    return cell_len(text)


def inline(text: object, limit: int = 500) -> str:
    """Sanitise text from outside and return it on one line."""
    words = str(text)
    if len(words) <= limit and words.isascii() and words.isprintable():
        return words
    from reviewdesk.domain import safetext

    return _steady(safetext.show_line(words, limit))


def block(text: object, limit: int = 20_000) -> str:
    """Sanitise text from outside and return it with its line breaks."""
    from reviewdesk.domain import safetext

    return _steady(safetext.show(str(text), limit))


def _steady(text: str) -> str:
    return text if text.isascii() else re.sub(_UNSTEADY, "", text).translate(_SARA_AM)


def clip(text: str, width: int) -> str:
    """Cut the text at its end to ``width`` cells, with an ellipsis."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    return _start(text, width - 1) + ELLIPSIS


def clip_start(text: str, width: int) -> str:
    """Cut the text at its start to ``width`` cells: the end of an id tells more."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    return ELLIPSIS + _end(text, width - 1)


def clip_middle(text: str, width: int) -> str:
    """Cut the text in its middle to ``width`` cells: ids differ at the end, and begin telling."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    start = _start(text, (width - 1) // 2)
    return start + ELLIPSIS + _end(text, width - 1 - cells(start))


def _start(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    from reviewdesk.app.texts.layout import fitting

    return text[: fitting(text, width)]


def _end(text: str, width: int) -> str:
    if text.isascii():
        return text[len(text) - width :]
    from reviewdesk.app.texts.layout import fitting_end

    return text[len(text) - fitting_end(text, width) :]


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Cut or pad the text to exactly ``width`` cells."""
    text = clip(text, width)
    space = " " * (width - cells(text))
    return space + text if right else text + space


Lines: TypeAlias = list[Content]
Painter: TypeAlias = Callable[[int], Lines]
Piece: TypeAlias = tuple[str, str]
"""A text and its ink. The text is our own, or has been through ``block`` or ``inline``."""

_WORD = 12
"""The most characters of a word that ``cut_words`` leaves out to end a line with a whole one."""


def moment(at: str) -> str:
    """Format a stored time to the minute, in UTC as it was stored."""
    return inline(at, 40)[:16].replace("T", " ")


def line(*pieces: Piece | str) -> Content:
    """Join styled pieces into one line of any width."""
    text = ""
    spans = []
    for piece in pieces:
        words, ink = (piece, "") if isinstance(piece, str) else piece
        if ink and words:
            spans.append(Span(len(text), len(text) + len(words), str(ink)))
        text += words
    return Content(text, spans=spans)


def one_line(draw: Callable[..., Content], *facts: object, **more: object) -> Lines:
    """Return the line that ``draw`` makes of facts, of which the last is the width."""
    return [draw(*facts, **more)]


def clickable(content: Content, action: str) -> Content:
    """Return content that, when it is clicked, does what the key of ``action`` does."""
    return content.stylize(Style.from_meta({"@click": f"screen.do({action!r})"}))


def cut(content: Content, width: int) -> Content:
    """Cut a styled line at its end to ``width`` cells, with an ellipsis."""
    if content.cell_length <= width:
        return content
    if width <= 0:
        return Content("")
    kept = fitting(content.plain, width - 1)
    return content[:kept] + Content(ELLIPSIS)


def cut_words(content: Content, width: int) -> Content:
    """Cut a styled line as ``cut`` does, but before a word of which little would be left."""
    kept = cut(content, width)
    at = kept.plain.rfind(" ")
    if kept is content or at <= 0 or len(kept) - at > _WORD:
        return kept
    return content[:at].rstrip() + Content(f" {ELLIPSIS}")


def cut_below(rows: Lines, most: int, width: int) -> Lines:
    """Return at most so many lines of a text, 0 for all, with a sign where some are left out."""
    if not most or len(rows) <= most:
        return rows
    last = rows[most - 1].rstrip() + line((f" {ELLIPSIS}", Ink.MUTED))
    return [*rows[: most - 1], cut(last, width)]


def cut_start(content: Content, width: int) -> Content:
    """Cut a styled line at its start to ``width`` cells: the end of an id tells more."""
    if content.cell_length <= width:
        return content
    if width <= 0:
        return Content("")
    return Content(ELLIPSIS) + content[len(content) - fitting_end(content.plain, width - 1) :]


def cut_apart(names: Sequence[Content], width: int) -> list[Content]:
    """Cut names to ``width`` cells so that different ones stay different: at the start, if it may.

    Where neither a cut at the start nor at the end tells them apart, they are numbered.
    """
    apart = {name.plain for name in names}
    for way in (cut_start, cut):
        made = [way(name, width) for name in names]
        if len({one.plain for one in made}) == len(apart):
            return made
    places = {name: f"{at} " for at, name in enumerate(sorted(apart), 1)}
    return [cut(Content(places[name.plain]) + name, width) for name in names]


def paragraph(
    text: str | Content,
    width: int,
    ink: str = "",
    *,
    first: Sequence[Piece] | Content = (),
    indent: int = 0,
) -> Lines:
    """Wrap text with a hanging indent. ``first`` stands before the first line."""
    indent = indent if indent <= width // 2 else 0
    lead = first if isinstance(first, Content) else line(*first)
    if lead.cell_length > max(indent, width // 2):
        return [cut(lead, width), *paragraph(text, width, ink, indent=indent)]
    rest = max(1, width - indent)
    room = max(1, width - max(indent, lead.cell_length))
    whole = line((text, ink)) if isinstance(text, str) else text
    rows: Lines = []
    start = 0
    for part in whole.plain.split("\n"):
        for at, end in cuts(part, room, rest):
            # A double-width character cannot stand in a single column.
            rows.append(cut(whole[start + at : start + end], room))
            room = rest
        start += len(part) + 1
    head = lead + Content(" " * max(0, indent - lead.cell_length)) + rows[0]
    return [head, *(Content(" " * indent) + row if indent else row for row in rows[1:])]


def flow(groups: Iterable[Content], width: int, gap: int = 3) -> Lines:
    """Return small facts side by side, as many on a line as fit. Only wider facts are folded."""
    lines: Lines = []
    for group in groups:
        if lines and lines[-1].cell_length + gap + group.cell_length <= width:
            lines[-1] += Content(" " * gap) + group
        else:
            lines += paragraph(group, width)
    return lines


def heading(title: str, width: int, note: str = "") -> Content:
    """Return a section's title with a rule behind it."""
    head = line((title, Ink.HEAD), (f"  {note}" if note else "", Ink.MUTED), " ")
    if head.cell_length >= width:
        return cut_words(head, width)
    return head + line(("─" * (width - head.cell_length), Ink.RULE))
