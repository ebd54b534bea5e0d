"""Find which of many verdicts hold a text that tries to influence its jurors.

Most texts hold no word that any pattern asks for. One look at all of them together leaves few to
be searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jury.injection import passages, rarest_hints
from reviewdesk.domain.panel.case import outside_columns

_CASE = 0x20202020
"""The bits that tell small ASCII letters from capitals; they are set in all bytes compared."""
_GRAM = 4
_CLASSES = 4


def _start(hint: str) -> int:
    """Return the first four bytes of a hint as a number, or the first two of a shorter one."""
    data = hint.encode()
    start = data[: _GRAM if len(data) >= _GRAM else 2]
    return int.from_bytes(start, "little") | (_CASE >> 8 * (_GRAM - len(start)))


_STARTS = np.array(sorted({_start(hint) for hint in rarest_hints()}), np.uint32)


def _pairs() -> npt.NDArray[np.uint8]:
    """Return the hints that two bytes can belong to: a bit for each class of hints.

    The four low bits are of the hints that begin with these bytes, the others of those that go on
    with them.
    """
    found = np.zeros(1 << 16, np.uint8)
    for place, start in enumerate(_STARTS.tolist()):
        bit = 1 << place % _CLASSES
        found[start & 0xFFFF] |= bit
        found[start >> 16 or slice(None)] |= bit << _CLASSES
    made: npt.NDArray[np.uint8] = found[np.arange(1 << 16) | _CASE & 0xFFFF]
    return made


_PAIRS = _pairs()


def suspects(bodies: Sequence[CanonicalVerdict]) -> list[bool]:
    """Return for each verdict whether one of its outside texts holds a suspicious passage."""
    places: dict[str, list[int]] = {}
    for at, text in outside_columns(bodies, set().union(*bodies)):
        places.setdefault(text, []).append(at)
    found = [False] * len(bodies)
    texts = list(places)
    for one in _hinted([text.encode(errors="replace") for text in texts]):
        if passages(texts[one]):
            for at in places[texts[one]]:
                found[at] = True
    return found


def _hinted(texts: Sequence[bytes]) -> set[int]:
    """Return the places of the texts in which a pattern may match."""
    # Blanks keep the last four bytes of a text from reaching into the next.
    joined = (b" " * _GRAM).join([*texts, b""])
    if len(joined) < _GRAM:
        return set()
    maybe = np.concatenate([_candidates(joined, start) for start in (0, 1)])
    grams: npt.NDArray[np.uint32] = np.ndarray(
        (len(joined) - _GRAM + 1,), "<u4", joined, strides=(1,)
    )
    held = grams[maybe] | np.uint32(_CASE)
    sure = np.concatenate([maybe[_begin(held) | _begin(held & np.uint32(0xFFFF))], _odd(joined)])
    ends = np.cumsum([len(text) + _GRAM for text in texts])
    places: list[int] = np.searchsorted(ends, sure, side="right").tolist()
    return set(places)


def _odd(joined: bytes) -> npt.NDArray[np.int64]:
    """Return where a character stands that nobody sees, or whose small letter is ASCII."""
    data = np.frombuffer(joined, np.uint8)
    # The blanks at the end keep three bytes of every character within the text.
    leads = np.flatnonzero(data[:-_GRAM] >= 0xC2)
    first, second, third = (data[leads + place] for place in range(3))
    pair = first.astype(np.uint16) << 8 | second
    found = np.isin(pair, (0xC2AD, 0xC4B0, 0xEFBB, 0xF3A0))
    for start, low, high in ((0xE280, 0x8B, 0x8D), (0xE281, 0xA0, 0xA4), (0xE284, 0xAA, 0xAA)):
        found |= (pair == start) & (third >= low) & (third <= high)
    return leads[found]


def _begin(held: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which four bytes are the start of a hint; the few starts are searched in order."""
    found: npt.NDArray[np.bool_] = _STARTS.take(_STARTS.searchsorted(held), mode="clip") == held
    return found


def _candidates(joined: bytes, start: int) -> npt.NDArray[np.int64]:
    """Return every second place, from ``start``, where four bytes may be the start of a hint."""
    pairs = np.frombuffer(joined, "<u2", (len(joined) - start) // 2, start)
    classes = _PAIRS.take(pairs)
    both = classes[:-1] & (classes[1:] >> _CLASSES)
    found: npt.NDArray[np.int64] = 2 * np.flatnonzero(both != 0) + start
    return found
