"""Found words in painted lines: words that begin like a search word, whatever case or accent."""

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
    """The lines with every found word marked; section titles of our own are left alone."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return list(lines)
    return [_marked(content, pattern) for content in lines]


def found_line(lines: Sequence[Content], words: Sequence[str]) -> int | None:
    """The first line that holds a search word."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return None
    return next((at for at, line in enumerate(lines) if any(_places(line, pattern))), None)


def _marked(content: Content, pattern: re.Pattern[str]) -> Content:
    spans = [Span(start, end, Ink.FOUND.value) for start, end in _places(content, pattern)]
    return content.add_spans(spans) if spans else content


def _places(content: Content, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where found words stand in a line, in characters of the line."""
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
    """The text without case and marks, and which character each of its characters comes from."""
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
    """Any of the words where a word starts; ideographs have no starts and match anywhere."""
    bare = {part for word in words for part in _WORD.findall(_bare(word)[0])}
    if not bare:
        return None
    longest = sorted(bare, key=lambda word: (-len(word), word))
    return re.compile("|".join(_start(word) + re.escape(word) for word in longest))


def _start(word: str) -> str:
    return "" if cell_len(word[0]) == 2 else r"(?<![^\W_])"
