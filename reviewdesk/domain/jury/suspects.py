"""Tell which of many verdicts hold a suspicious passage, searching only where one may be."""

import re
from bisect import bisect
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jury.injection import SIGNS, TAGS, UNSEEN, passages
from reviewdesk.domain.panel.case import outside_columns
from reviewdesk.domain.report_model import VerdictModel
from reviewdesk.domain.stats.dense import Ints

_AT_ONCE = 1 << 17
"""How many places of the texts are compared at once."""
_HIDDEN = 1 << len(SIGNS)
"""The bit, after those of the signs, of passages of characters that nobody sees."""
_END = b"\xff"
"""The end of a text among others; no text in UTF-8 has this byte."""
_BLANK = r"[\s\x1c-\x1f\x80-\xff]"
"""A blank in UTF-8; any byte beyond ASCII may be part of one."""

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
_FAR = 800
"""The most bytes of these words and of their blanks, if any of them is not ASCII."""
_BLANKS = bytes.maketrans(b"-\x1c\x1d\x1e\x1f", b" " * 5)


@cache
def _around(sign: int) -> tuple[re.Pattern[bytes], re.Pattern[bytes] | None]:
    """Return the patterns after and before a sign's hint; before it, a hyphen counts as a blank."""
    then, before = (one.replace(r"\s", _BLANK) for one in (SIGNS[sign].then, SIGNS[sign].before))
    before = before.replace(" ", f"(?:{_BLANK}|-)+")
    return re.compile(then.encode()), re.compile(before.encode()) if before else None


def _follows(before: re.Pattern[bytes], data: bytes, start: int) -> bool:
    """Return whether the pattern may be in the last words before a place."""
    begin = data.rfind(_END, max(0, start - _FAR), start) + 1
    first = max(begin, start - _NEAR)
    near = data[first:start]
    if not near.isascii():  # then blanks may have more bytes, or be taken for words
        return bool(before.search(data, max(begin, start - _FAR), start))
    words = near.translate(_BLANKS).rsplit(None, _WORDS)
    if len(words) > _WORDS:
        return bool(before.search(data, first + len(words[0]), start))
    # Fewer words are all there are, or are very long, or there are many blanks.
    return first > begin or bool(before.search(data, first, start))


def _slots(codes: npt.NDArray[np.uint32]) -> Ints:
    """Return 16 bits of a hash of each code."""
    return (codes * np.uint32(2_654_435_761) >> np.uint32(16)).astype(np.intp)


_MAY_BE = np.zeros(1 << 16, np.bool_)
_MAY_BE[_slots(np.array([*_HINTS], np.uint32))] = True
_ALIKE = {"\u212a": b"k", "\u0130": b"i", "\u0131": b"i", "\u017f": b"s"}
"""The letters that a pattern without case takes for ASCII letters."""
_INSTEAD = {one.encode(): b"" for one in UNSEEN} | {k.encode(): v for k, v in _ALIKE.items()}
"""What patterns see in place of a character: nothing, or the ASCII letter it is taken for."""
_LEAD = min(_INSTEAD)[0]
_ODD_PAIRS, _ODD_THREES = (
    np.array([int.from_bytes(one) for one in (*_INSTEAD, TAGS) if len(one) == size])
    for size in (2, 3)
)
_TAG = int.from_bytes(TAGS)
_RUN = 6
"""How many invisible characters in a row make a hidden passage."""


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
    """Return for each text, as bits, the signs of which it may hold a hint."""
    found = [0] * len(texts)
    encoded = [text.encode(errors="replace") for text in texts]
    data = _END.join((*encoded, b"\n" * 7)).lower()
    if not data.isascii():
        data = _seen(data, found)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _END[0]).tolist()
    for start in range(4):
        fours = np.frombuffer(data, "<u4", (len(data) - start) // 4, start)
        near = [
            first + np.flatnonzero(_MAY_BE[_slots(fours[first : first + _AT_ONCE])])
            for first in range(0, len(fours), _AT_ONCE)
        ]
        places = np.concatenate(near)
        codes = fours[places]
        for code, hints in _HINTS.items():
            here = (4 * places[codes == code] + start).tolist()
            for hint, middle, sign in hints if here else ():
                size = len(hint)
                then, before = _around(sign)
                for at in here:
                    begin = at - middle
                    if data.startswith(hint, begin) and (
                        then.match(data, begin + size) or (before and _follows(before, data, begin))
                    ):
                        found[bisect(ends, at)] |= 1 << sign
    return found


def _seen(data: bytes, found: list[int]) -> bytes:
    """Return the texts as the patterns see them, and mark those with hidden passages."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == _END[0]).tolist()
    unseen = []
    present: set[int] = set()
    for first in range(0, len(letters), _AT_ONCE):
        lead = first + np.flatnonzero(letters[first : first + _AT_ONCE] >= _LEAD)
        pairs = letters[lead].astype(np.int64) << 8 | letters[lead + 1]
        threes = pairs << 8 | letters[lead + 2]
        two = np.isin(pairs, _ODD_PAIRS)
        three = np.isin(threes, _ODD_THREES)
        present.update(pairs[two].tolist(), threes[three].tolist())
        for at in lead[two & (pairs == _TAG)].tolist():
            found[bisect(ends, at)] |= _HIDDEN
        unseen.append(lead[three])
    row = np.concatenate(unseen)
    for at in row[: 1 - _RUN][row[_RUN - 1 :] - row[: 1 - _RUN] == 3 * (_RUN - 1)].tolist():
        found[bisect(ends, at)] |= _HIDDEN
    for char, letter in _INSTEAD.items():
        if int.from_bytes(char) in present:
            data = data.replace(char, letter)
    return data
