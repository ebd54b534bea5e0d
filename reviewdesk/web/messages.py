"""The messages from a page to its console: keys, sizes, pings and focus."""

from __future__ import annotations

import json
import re

from msgspec import Struct

LARGEST = 1_000
"""The most columns or rows that are accepted from a page."""
_SENSELESS = re.compile(r"\x1b\[[<=>?]?[\d;:]*\d{6}[\d;:]*[ -/]*[@-~]?")
"""A sequence with a number that no terminal sends."""


class Typed(Struct, frozen=True):
    """Keys, pastes and movements of the mouse, as a terminal sends them."""

    text: str


class Resized(Struct, frozen=True):
    """The size of the page in characters."""

    width: int
    height: int


class Pinged(Struct, frozen=True):
    """A ping to the server, with a word to send back."""

    word: str


class Focused(Struct, frozen=True):
    """Whether the page has the focus."""

    has_it: bool


PageMessage = Typed | Resized | Pinged | Focused


def read_message(text: str) -> PageMessage | None:
    """Parse a message of a page; ``None`` if our pages send no such message."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match found:
        case ["stdin", str(typed)]:
            return Typed(_SENSELESS.sub("", typed))
        case ["resize", {"width": int(width), "height": int(height)}]:
            return size_of(width, height)
        case ["ping", str(word)]:
            return Pinged(word[:40])
        case ["focus" | "blur" as what]:
            return Focused(what == "focus")
    return None


def size_of(width: object, height: object) -> Resized | None:
    """Return a size given as numbers or digits, ``None`` if no screen has that size."""
    numbers = [
        int(str(one)) if re.fullmatch("[0-9]{1,4}", str(one)) else 0 for one in (width, height)
    ]
    if all(0 < number <= LARGEST for number in numbers):
        return Resized(*numbers)
    return None
