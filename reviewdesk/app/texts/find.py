"""Search hits in painted lines: words that start with a search word, in any case or accent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.cells import cell_len
from textual.content import Content, Span

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
