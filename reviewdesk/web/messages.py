"""What a page may send to its console: keys, sizes, and whether it has the focus."""

from __future__ import annotations

import json
import re

from msgspec import Struct

LARGEST = 1_000
"""The most columns or rows of a page that is believed."""
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
    """A question whether the server is there, with a word to send back."""

    word: str


class Focused(Struct, frozen=True):
    """Whether the page has the focus."""

    has_it: bool


PageMessage = Typed | Resized | Pinged | Focused


def read_message(text: str) -> PageMessage | None:
    """Return what a page says, ``None`` if it is nothing that a page of ours says."""
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
    """Return a size given as numbers or as digits, ``None`` if no screen has it."""
    numbers = [
        int(str(one)) if re.fullmatch("[0-9]{1,4}", str(one)) else 0 for one in (width, height)
    ]
    if all(0 < number <= LARGEST for number in numbers):
        return Resized(*numbers)
    return None
