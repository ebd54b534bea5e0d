"""Split a filter into its tokens: words, bars, parentheses and spaces, with their places."""

from __future__ import annotations

from enum import Enum, auto

from msgspec import Struct

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
