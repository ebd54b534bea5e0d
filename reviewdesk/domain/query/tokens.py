"""Split a filter into its tokens: words, bars, parentheses and spaces, with their places."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum, auto

from msgspec import Struct

from reviewdesk.errors import UsageError

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_UNSPACED = (
    "[\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3040-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9f\U00016fe0-\U00018cff\U0001aff0-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Ideographs, kana, bopomofo and hangul syllables; compiled when a text is searched for."""
_UNINDEXABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that cannot be indexed.

A NUL ends a text for some of SQLite's functions, and a lone surrogate is not a character.
"""


class SearchTerm(Struct, frozen=True):
    """One text that must occur: a word (of which the ``beginning`` is enough) or a phrase."""

    text: str
    beginning: bool


def parse_search(text: str) -> tuple[SearchTerm, ...]:
    """Parse a search; raise UsageError if it names no word."""
    found = tuple(
        SearchTerm(spaced(quoted or word), bool(word))
        for quoted, word in _PIECE.findall(text)
        if _has_word(quoted or word)
    )
    if not found:
        raise UsageError(
            "there is no word to search for", 'Give words, or "several in quotes" for a phrase.'
        )
    return found


def words(text: str) -> list[str]:
    """Return the words of a search, as typed and without repeats, for highlighting on a screen."""
    found: dict[str, None] = {}
    for quoted, word in _PIECE.findall(text):
        for piece in quoted.split() if quoted else [word]:
            inside = [place for place, char in enumerate(piece) if char.isalnum()]
            if _has_word(piece):
                found[piece[inside[0] : inside[-1] + 1] if inside else piece] = None
    return list(found)


def spaced(text: str) -> str:
    """Return a text as it is indexed and looked up: in form NFKC, with spaces around CJK signs."""
    if text.isascii():
        return text.replace("\x00", " ")
    return re.sub(_UNSPACED, r" \g<0> ", unicodedata.normalize("NFKC", _UNINDEXABLE.sub(" ", text)))


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in spaced(text))


RULE = "a space is and, ! not, | or (binds tighter), ( ) group"
"""How the words of a filter are combined, as shown to users."""
EXAMPLE = "esc|bias !(mark note)"
"""A filter that uses the whole rule: one of two flags, and not both of two facts."""
HELP = f"{RULE}\n{EXAMPLE} keeps (esc or bias) and not (mark and note)"
"""The rule, and on a second line the example with what it keeps."""


class Piece(Enum):
    """The kind of a token."""

    WORD = auto()
    SPACE = auto()
    BAR = auto()
    OPEN = auto()
    CLOSE = auto()


class Token(Struct, frozen=True):
    """One token and its place; the ``OPEN`` of a negated group begins at its ``!``."""

    piece: Piece
    start: int
    end: int


_SIGNS = {" ": Piece.SPACE, "|": Piece.BAR, "(": Piece.OPEN, ")": Piece.CLOSE}


def tokens(text: str) -> list[Token]:
    """Split a filter into its tokens; each begins where the one before it ends."""
    found = []
    place = 0
    while place < len(text):
        sign = _SIGNS.get(text[place])
        end = place + 1
        if text.startswith("!(", place):
            sign = Piece.OPEN
            end = place + 2
        elif sign is Piece.SPACE:
            while text.startswith(" ", end):
                end += 1
        elif sign is None:
            sign = Piece.WORD
            end = _word_end(text, place)
        found.append(Token(sign, place, end))
        place = end
    return found


def _word_end(text: str, start: int) -> int:
    """Find the end of a word; quotes hide all signs, and ``f(x)`` keeps its own parentheses."""
    quoted = False
    inner = 0
    for place in range(start, len(text)):
        char = text[place]
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in " |" or (char == ")" and not inner):
            return place
        else:
            inner += (char == "(") - (char == ")")
    return len(text)


def unclosed(word: str) -> int | None:
    """Return the place of a parenthesis that a word opens and does not close, or ``None``."""
    quoted = False
    opened = []
    for place, char in enumerate(word):
        quoted ^= char == '"'
        if not quoted and char == "(":
            opened.append(place)
        elif not quoted and char == ")":
            opened.pop()
    return opened[-1] if opened else None
