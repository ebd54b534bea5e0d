"""The first pass over a JSON file: its outermost keys, its syntax errors, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.strict_json import Fail
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.wording import spell_path

_SAMPLES = 3
_MAX_KEYS = 1000


@dataclass
class Outline:
    """The first value of a file. Lists are represented by their first elements."""

    kind: Literal["object", "array"]
    keys: dict[str, Any] = field(default_factory=dict)
    """An object's values; for an array of objects, those of its first element."""
    lengths: dict[str, int] = field(default_factory=dict)
    length: int = 0
    goes_on: bool = False
    """Something follows the first value, as in JSON Lines."""

    def forget(self) -> None:
        """Start again, as if nothing had been seen."""
        self.keys.clear()
        self.lengths.clear()
        self.length, self.goes_on = 0, False

    def first(self, key: str) -> dict[str, Any]:
        """The first element of a list of objects, or the object itself; else nothing."""
        value = self.keys.get(key)
        if isinstance(value, list):
            value = value[0] if value else None
        return value if isinstance(value, dict) else {}


def outline_object(
    window: Window, outline: Outline, fail: Fail, steps_in: Callable[[], bool]
) -> None:
    """Fill the outline of the object the window stands before, up to an error if there is one.

    Where ``steps_in`` says so, by what the outline holds already, a value too long to be held is
    no error, and a shell of it is left.
    """
    for key in window.members():
        if key in outline.keys:
            text = f'has the key "{show_line(key, 60)}" twice'
            raise fail("$", text, "Keep one of them.")
        if len(outline.keys) >= _MAX_KEYS:
            raise fail("$", f"has more than {_MAX_KEYS} keys", "")
        outline.keys[key] = None
        look_at = window.skim if steps_in() else window.value
        path = spell_path((key,))
        if window.peek() == "[":
            outline.keys[key] = samples = []
            outline.lengths[key] = 0
            for index in window.elements():
                value = look_at(f"{path}[{index}]")
                outline.lengths[key] += 1
                if index < _SAMPLES:
                    samples.append(value)
        else:
            outline.keys[key] = look_at(path)
    outline.goes_on = window.peek() != ""


def outline_array(window: Window, outline: Outline) -> None:
    """Fill the outline of the array the window stands before."""
    for index in window.elements():
        value = window.value(f"$[{index}]")
        outline.length += 1
        if index == 0 and isinstance(value, dict):
            outline.keys = value
        if index == 0 and not isinstance(value, dict | list):
            # A list of bare values is no report, however long it goes on.
            return
    outline.goes_on = window.peek() != ""
