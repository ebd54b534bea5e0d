"""The only way for text from outside onto the screen, and the shapes that painters build."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

import msgspec
from rich.cells import cell_len, split_graphemes
from textual.content import Content, Span
from textual.style import Style

from reviewdesk.domain import safetext
from reviewdesk.views.document import Tone

SINGLE = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u024f\u0370-\u0482\u048a-\u04ff\u2010-\u2027\u2030-\u205e"
    "\u2190-\u22ff\u2500-\u25fc\u26a0\u2713\u2717]*"
)
"""Texts that every terminal draws in one column per character, without joined characters."""


def single(text: str) -> bool:
    """Return True if every character takes one column by itself."""
    return text.isascii() or SINGLE.fullmatch(text) is not None


Cut = tuple[int, int]
"""Start and end of a piece of a text, in characters."""
_WORD = re.compile("[^ ]+")


def fitting(text: str, width: int) -> int:
    """Return how many characters from the start fit into ``width`` cells, in whole graphemes."""
    if single(text[: width + 1]):
        return min(width, len(text))
    used = 0
    for start, _, size in split_graphemes(text)[0]:
        used += size
        if used > width:
            return start
    return len(text)


def fitting_end(text: str, width: int) -> int:
    """Return how many characters at the end of a short text fit into ``width`` cells."""
    used = 0
    for _, end, size in reversed(split_graphemes(text)[0]):
        used += size
        if used > width:
            return len(text) - end
    return len(text)


def cuts(text: str, first: int, rest: int) -> list[Cut]:
    """Cut one line into pieces: the first fits ``first`` cells and the others ``rest``.

    The spaces at a break are left out. A grapheme that is wider than the room stands alone.
    """
    if len(text) <= first and cells(text) <= first:
        return [(0, len(text))]
    found: list[Cut] = []
    start = end = used = 0
    room = first
    for at, stop, size in _words(text):
        if found and start == end:
            start = end = at
        used += at - end + size
        while used > room:
            if end > start:
                found.append((start, end))
                start = at
            else:
                # The word alone is too wide, behind the blanks at the start of the text.
                kept = start + fitting(text[start:stop], room)
                if start < at >= kept:
                    start = end = at
                    used = size
                    continue
                if kept == start:
                    kept += split_graphemes(text[start:stop])[0][0][1]
                found.append((start, kept))
                start = kept
            end = start
            used = cells(text[start:stop])
            room = rest
        end = stop
    if used + len(text) - end <= room:
        end = len(text)
    return [*found, (start, end)] if end > start or not found else found


def _words(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start, the end and the cells of what a break may not part."""
    if single(text):
        yield from ((*word.span(), len(word[0])) for word in _WORD.finditer(text))
        return
    start = used = 0
    before = " "
    for at, end, size in [*split_graphemes(text)[0], (len(text), len(text), 0)]:
        char = text[at:end] or " "
        if before != " " and (char == " " or _ideograph(before[0]) or _ideograph(char[0])):
            yield start, at, used
            before = " "
        if before == " ":
            start = at
            used = 0
        used += size
        before = char


@lru_cache(maxsize=8192)
def _ideograph(char: str) -> bool:
    return char >= "\u2e80" and not "\uac00" <= char <= "\ud7a3" and cell_len(char) == 2


_LONGEST_LAID = 200_000
_DEEPEST = 24
"""The most characters and levels of JSON that is indented."""


@lru_cache(maxsize=16)
def laid_out(text: str) -> str:
    """Return JSON from one line with our white space between its tokens, other text unchanged."""
    bare = text.strip()
    if bare[:1] not in ("{", "[") or "\n" in bare or len(text) > _LONGEST_LAID:
        return text
    if max(accumulate((char in "[{") - (char in "]}") for char in bare)) > _DEEPEST:
        return text
    try:
        return msgspec.json.format(bare, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


_HANG = re.compile(r" *(?:(?:[-*+•]|\d{1,3}[.)]|>)(?: +|$))*")


def hang_of(row: str) -> int:
    """Return the cells by which a line of a text is indented where it continues."""
    found = _HANG.match(row)
    return found.end() if found else 0


ELLIPSIS = "…"

_UNSTEADY = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d(?![\x00-\u1fff]|\\Z)"
"""Characters whose width differs between terminals: emoji styles, skin tones and joiners. Painted
lines leave them out, so that columns align; the emoji themselves stay."""

_SARA_AM = str.maketrans({"\u0e33": "\u0e4d\u0e32", "\u0eb3": "\u0ecd\u0eb2"})
"""Thai and Lao vowels of two parts. Some terminals give them one column, others two."""


def cells(text: str) -> int:
    return len(text) if single(text) else cell_len(text)


def inline(text: object, limit: int = 500) -> str:
    """Sanitise text from outside and return it on one line."""
    words = str(text)
    if len(words) <= limit and words.isascii() and words.isprintable():
        return words
    return _steady(safetext.show_line(words, limit))


def block(text: object, limit: int = 20_000) -> str:
    """Sanitise text from outside and return it with its line breaks."""
    return _steady(safetext.show(str(text), limit))


def _steady(text: str) -> str:
    return text if text.isascii() else re.sub(_UNSTEADY, "", text).translate(_SARA_AM)


def clip(text: str, width: int, *, lead: float = 1) -> str:
    """Cut the text to ``width`` cells, with an ellipsis; ``lead`` is the share of its start."""
    return text if cells(text) <= width else cut(Content(text), width, lead=lead).plain


def clip_middle(text: str, width: int) -> str:
    """Cut the text in its middle to ``width`` cells: ids differ at the end, and begin telling."""
    return clip(text, width, lead=0.5)


def pad(text: str, width: int) -> str:
    text = clip(text, width)
    return text + " " * (width - cells(text))


Lines: TypeAlias = list[Content]
Painter: TypeAlias = Callable[[int], Lines]
Piece: TypeAlias = tuple[str, str]
"""A text and its ink. The text is our own, or has been through ``block`` or ``inline``."""

_PART = 12
"""The most characters that ``cut_words`` leaves out to end a line with a whole word."""


def line(*pieces: Piece | str) -> Content:
    text = ""
    spans = []
    for piece in pieces:
        words, ink = (piece, "") if isinstance(piece, str) else piece
        if ink and words:
            spans.append(Span(len(text), len(text) + len(words), str(ink)))
        text += words
    return Content(text, spans=spans)


def one_line(draw: Callable[..., Content], *facts: object, **more: object) -> Lines:
    return [draw(*facts, **more)]


def clickable(content: Content, action: str) -> Content:
    """Return content that does what the key of ``action`` does when it is clicked."""
    return content.stylize(Style.from_meta({"@click": f"screen.do({action!r})"}))


def cut(content: Content, width: int, *, lead: float = 1) -> Content:
    """Cut a styled line to ``width`` cells as ``clip`` does."""
    if content.cell_length <= width:
        return content
    if width <= 0:
        return Content("")
    start = content[: fitting(content.plain, int((width - 1) * lead))]
    if lead == 1:
        return start + Content(ELLIPSIS)
    rest = fitting_end(content.plain, width - 1 - start.cell_length)
    return start + Content(ELLIPSIS) + content[len(content) - rest :]


def cut_words(content: Content, width: int) -> Content:
    """Cut a styled line as ``cut`` does, but before a word that would be cut to a few letters."""
    kept = cut(content, width)
    at = kept.plain.rfind(" ")
    if kept is content or at <= 0 or len(kept) - at > _PART:
        return kept
    return content[:at].rstrip() + Content(f" {ELLIPSIS}")


def cut_below(rows: Lines, most: int, width: int) -> Lines:
    """Return at most that many lines of a text, 0 for all, with a sign where some are left out."""
    if not most or len(rows) <= most:
        return rows
    last = rows[most - 1].rstrip() + line((f" {ELLIPSIS}", Tone.MUTED))
    return [*rows[: most - 1], cut_words(last, width)]


def cut_apart(names: Sequence[Content], width: int, *, tail: bool) -> list[Content]:
    """Cut names so that they stay different, first at the end or, with ``tail``, at the start."""
    apart = {name.plain for name in names}
    for lead in (not tail, tail, 1 / 3):
        made = [cut(name, width, lead=lead) for name in names]
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
            hang = indent if rows else 0
            # A double-width character cannot stand in a single column.
            rows.append(cut(piece(whole, start + at, start + end, hang), hang + room))
            room = rest
        start += len(part) + 1
    if lead or indent:
        rows[0] = lead.pad_right(max(0, indent - lead.cell_length)) + rows[0]
    return rows


def piece(content: Content, start: int, end: int, indent: int) -> Content:
    """Return some characters of a line, behind blanks."""
    text = content.plain[start:end]
    shift = indent - start
    spans = [
        Span(max(first, start) + shift, min(last, end) + shift, ink)
        for first, last, ink in content.spans
        if first < end and last > start
    ]
    return Content(" " * indent + text, spans, strip_control_codes=False)


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
    head = line((title, Tone.HEAD), (f"  {note}" if note else "", Tone.MUTED), " ")
    if head.cell_length >= width:
        return cut_words(head, width)
    return head + line(("─" * (width - head.cell_length), Tone.RULE))
