"""Find the part of a known key beside a mask, such as the end of a vendor's ``sk-...****3210``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

SHOWN: Final = 4
"""The fewest characters of a key's end that are hidden beside a mask; fewer reveal nothing."""

_MASK = re.compile(
    r" ?(?:[*•●∗·.…█▒xX#_-]{2,}|[*•●…]|\\{1,8}u20(?:26|22)|&(?:hellip|bull);"
    r"|[\[<(](?:redacted|masked|hidden|key|\.{3})[\])>])+ ?",
    re.IGNORECASE,
)

_Ends = dict[str, list[tuple[int, int]]]


class MaskedKeys:
    """Replaces masks together with the ends of keys next to them.

    The four characters next to a mask are looked up among those of all keys, so that a text takes
    the same short time whatever it holds.
    """

    __slots__ = ("_keys", "_starts", "_tails")

    def __init__(self, keys: Iterable[str]) -> None:
        """Store which starts of a key any four characters end, and which tails they begin."""
        self._keys = [key.lower() for key in keys]
        self._starts: _Ends = defaultdict(list)
        self._tails: _Ends = defaultdict(list)
        for place, key in enumerate(self._keys):
            for size in range(len(key), SHOWN - 1, -1):
                self._starts[key[size - SHOWN : size]].append((place, size))
                self._tails[key[-size:][:SHOWN]].append((place, size))

    def without(self, text: str, hidden: str) -> str:
        """Return the text with each mask and the ends of a key beside it replaced."""
        low = text.lower() if self._keys else ""
        if len(low) != len(text):
            return text
        parts = []
        done = 0
        for mask in _MASK.finditer(low):
            first, last = self._around(low, mask.start(), mask.end())
            if last > max(first, done):
                parts += [text[done : max(first, done)], hidden]
                done = last
        return "".join([*parts, text[done:]]) if done else text

    def _around(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return where the ends of a key around a mask begin and end, or an empty span.

        A character of the key can also be a mask character, so an end may reach into the mask.
        """
        keys: set[int] = set()
        first = start
        last = end
        for at in range(start, end):
            for place, size in self._starts.get(text[max(0, at - SHOWN) : at], ()):
                if text.startswith(self._keys[place][:size], max(0, at - size)) and size <= at:
                    first = min(first, at - size)
                    keys = keys | {place}
        for at in range(start + 1, end + 1):
            for place, size in self._tails.get(text[at : at + SHOWN], ()):
                if text.startswith(self._keys[place][-size:], at):
                    last = max(last, at + size)
                    keys = keys | {place}
        if not keys:
            return 0, 0
        # One end reveals the key, so the visible part of the other is hidden however short it is.
        for key in (self._keys[place] for place in keys):
            for size in range(1, SHOWN):
                first = min(first, start - size * (text[:start].endswith(key[:size])))
                last = max(last, end + size * text.startswith(key[-size:], end))
        return first, last
