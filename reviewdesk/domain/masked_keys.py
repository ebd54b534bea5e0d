"""Find the part of a known key beside a mask, such as the end of a vendor's ``sk-...****3210``."""

import re
from collections.abc import Iterable

SHOWN = 4
"""The fewest characters of a key that are hidden beside a mask; fewer reveal nothing."""

_MASK = re.compile(
    r" ?(?:[*•●∗·.…█▒xX#_-]{2,}|[*•●…]|\\{1,8}u20(?:26|22)|&(?:hellip|bull);"
    r"|[\[<(](?:redacted|masked|hidden|key|\.{3})[\])>])+ ?",
    re.IGNORECASE,
)


class MaskedKeys:
    """Replaces masks together with the parts of keys next to them."""

    __slots__ = ("_chars", "_longest", "_parts")

    def __init__(self, keys: Iterable[str]) -> None:
        known = [key.lower() for key in keys]
        self._chars = frozenset("".join(known))
        self._longest = max(map(len, known), default=0)
        self._parts = {key[at : at + SHOWN] for key in known for at in range(len(key) - SHOWN + 1)}

    def without(self, text: str, hidden: str) -> str:
        """Return the text with each mask and the parts of a key beside it replaced."""
        low = text.lower()
        if not self._parts or len(low) != len(text):
            return text
        parts = []
        done = 0
        for mask in _MASK.finditer(low):
            first, last = mask.span()
            least = max(done, first - self._longest)
            while first > least and low[first - 1] in self._chars:
                first -= 1
            most = min(len(low), last + self._longest)
            while last < most and low[last] in self._chars:
                last += 1
            spans = range(first, last - SHOWN + 1)
            if any(low[at : at + SHOWN] in self._parts for at in spans):
                parts += [text[done:first], hidden]
                done = last
        return "".join([*parts, text[done:]])
