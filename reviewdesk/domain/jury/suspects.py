"""Tell which of many verdicts hold a suspicious passage, searching only where one may be."""

import re
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jury.injection import SIGNS, TAGS, UNSEEN, passages
from reviewdesk.domain.panel.case import outside_columns
from reviewdesk.domain.report_model import VerdictModel
from reviewdesk.domain.stats.dense import Ints

_AT_ONCE = 1 << 17
"""How many places of the texts are compared at once."""
_EVERY = (2 << len(SIGNS)) - 1
"""Each sign as a bit, and one more bit for passages of characters that nobody sees."""


_HINTS: dict[int, list[tuple[bytes, int, int]]] = {}
"""Each hint of a first group by the four bytes in its middle: its bytes, their start, its sign."""
for _sign in range(len(SIGNS)):
    for _hint in map(str.encode, SIGNS[_sign].hints[0]):
        _start = (len(_hint) + 1) // 2 - 2
        _code = int.from_bytes(_hint[_start : _start + 4], "little")
        _HINTS.setdefault(_code, []).append((_hint, _start, _sign))


_WORDS = 6
_NEAR = 300
"""The number of bytes in which these words are looked for."""


@cache
def _then(sign: int) -> re.Pattern[bytes]:
    """Return what follows a hint in UTF-8; any byte beyond ASCII may be of a blank."""
    return re.compile(SIGNS[sign].then.replace(r"\s", r"[\s\x1c-\x1f\x80-\xff]").encode())


def _may_match(sign: int, data: bytes, start: int, end: int) -> bool:
    """Return whether what stands around a hint of a sign may be that of a match."""
    if _then(sign).match(data, end):
        return True
    if not (before := SIGNS[sign].before):
        return False
    first = max(0, start - _NEAR)
    near = data[first:start].decode(errors="replace").replace("-", " ").rsplit(None, _WORDS)
    # Fewer words are all there are, or are very long, or there are many blanks.
    few = len(near) <= _WORDS
    return (few and first > 0) or bool(re.search(before, " ".join(near if few else near[1:])))


def _slots(codes: npt.NDArray[np.uint32]) -> Ints:
    """Return 16 bits of a hash of each code."""
    return (codes * np.uint32(2_654_435_761) >> np.uint32(16)).astype(np.intp)


_MAY_BE = np.zeros(1 << 16, np.bool_)
_MAY_BE[_slots(np.array([*_HINTS], np.uint32))] = True
# Those that nobody sees, and the letters that a pattern without case takes for ASCII letters.
_ODD = [char.encode() for char in (*UNSEEN, *"\u212a\u0130\u0131\u017f")] + [TAGS]
_LEAD = min(_ODD)[0]
_ODD_PAIRS, _ODD_THREES = (
    np.array([int.from_bytes(one) for one in _ODD if len(one) == size]) for size in (2, 3)
)


def suspects(verdicts: Sequence[VerdictModel]) -> list[bool]:
    """Return for each verdict whether one of its outside texts has a suspicious passage."""
    found = [False] * len(verdicts)
    outside = list(outside_columns(verdicts))
    for (at, text), bits in zip(outside, _hinted([text for _, text in outside]), strict=True):
        if bits and not found[at]:
            signs = [sign for bit, sign in enumerate(SIGNS) if bits >> bit & 1]
            found[at] = bool(passages(text, signs))
    return found


def _hinted(texts: Sequence[str]) -> list[int]:
    """Return the signs, as bits, that each text may show: it may have a hint of the first group.

    A text may show any sign if characters that nobody sees may be part of its words.
    """
    encoded = [text.encode(errors="replace") for text in texts]
    data = b"\n".join((*encoded, b"\n\n\n")).lower()
    ends = list(accumulate(len(one) + 1 for one in encoded))
    found = [0] * len(texts)
    for start in range(4):
        fours = np.frombuffer(data, "<u4", (len(data) - start) // 4, start)
        for first in range(0, len(fours), _AT_ONCE):
            near = first + np.flatnonzero(_MAY_BE[_slots(fours[first : first + _AT_ONCE])])
            for code, at in zip(fours[near].tolist(), (4 * near + start).tolist(), strict=True):
                for hint, before, sign in _HINTS.get(code, ()):
                    begin = at - before
                    end = begin + len(hint)
                    if data[begin:end] == hint and _may_match(sign, data, begin, end):
                        found[bisect(ends, at)] |= 1 << sign
    letters = np.frombuffer(data, np.uint8)
    for first in range(0, len(letters), _AT_ONCE):
        lead = first + np.flatnonzero(letters[first : first + _AT_ONCE] >= _LEAD)
        pairs = letters[lead].astype(np.int64) << 8 | letters[lead + 1]
        odd = np.isin(pairs, _ODD_PAIRS) | np.isin(pairs << 8 | letters[lead + 2], _ODD_THREES)
        for at in lead[odd].tolist():
            found[bisect(ends, at)] = _EVERY
    return found
