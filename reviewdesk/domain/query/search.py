"""The language of search: beginnings of words and "phrases in quotes", which must all occur.

Any other sign is plain text. Words are runs of letters and digits; scripts that write no spaces are
split into characters, so that any part of a run can be found.
"""

from __future__ import annotations

import re
import unicodedata

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
