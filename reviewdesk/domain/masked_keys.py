"""Find a long part of a known key, or a short one beside a mask, such as ``sk-...****3210``."""

import re
from collections.abc import Iterable, Iterator

SHOWN = 4
"""The fewest characters of a key that are hidden beside a mask; fewer reveal nothing."""

LONG_PART = 12
"""The fewest characters of a key that are hidden without a mask; fewer may be a word."""

_MASK = re.compile(
    r" ?(?:[*•●∗·.…█▒xX#_-]{2,}|[*•●…]|\\{1,8}u20(?:26|22)|&(?:hellip|bull);"
    r"|[\[<(](?:redacted|masked|hidden|key|\.{3})[\])>])+ ?",
    re.IGNORECASE,
)


class MaskedKeys:
    """Replaces long parts of keys, and masks together with the parts of keys next to them."""

    __slots__ = ("_chars", "_long", "_longest", "_parts", "_run")

    def __init__(self, keys: Iterable[str]) -> None:
        known = [key.lower() for key in keys]
        self._chars = frozenset("".join(known))
        self._longest = max(map(len, known), default=0)
        self._parts = {part for key in known for part in _parts(key, SHOWN)}
        self._long = {part for key in known for part in _parts(key, LONG_PART)}
        chars = re.escape("".join(sorted(self._chars)))
        self._run = re.compile(f"[{chars}]{{{LONG_PART},}}" if chars else "(?!)", re.IGNORECASE)

    def without(self, text: str, hidden: str) -> str:
        """Return the text with each long part of a key, mask, and part beside a mask replaced."""
        text = self._run.sub(lambda run: hidden if self._is_part(run[0]) else run[0], text)
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

    def _is_part(self, run: str) -> bool:
        return any(part in self._long for part in _parts(run.lower(), LONG_PART))


def _parts(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(len(text) - size + 1))
