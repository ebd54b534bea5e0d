"""The first pass over a JSON file: find its outermost keys and its syntax errors."""

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
    """The first value of a file, with only the first elements of its lists."""

    kind: Literal["object", "array"]
    keys: dict[str, Any] = field(default_factory=dict)
    """The values of an object; for an array of objects, those of its first element."""
    lengths: dict[str, int] = field(default_factory=dict)
    length: int = 0
    goes_on: bool = False
    """Whether something follows the first value, as in JSON Lines."""
    streamed: bool = False
    """Whether to stop at a list that its reader checks; ``stopped`` is true if there was one."""
    stopped: bool = False
    by_row: bool = False
    """Whether there are more keys than are kept, and every key holds an object."""

    def forget(self) -> None:
        """Clear the outline, so that it can be filled again."""
        self.keys.clear()
        self.lengths.clear()
        self.length = 0
        self.goes_on = False
        self.stopped = self.by_row = False

    def first(self, key: str) -> dict[str, Any]:
        """Return the object under a key, or the first of a list of objects; else an empty dict."""
        value = self.keys.get(key)
        if isinstance(value, list):
            value = value[0] if value else None
        return value if isinstance(value, dict) else {}


def outline_object(
    window: Window,
    outline: Outline,
    fail: Fail,
    steps_in: Callable[[], bool],
    ends_at: Callable[[str], bool],
) -> None:
    """Fill the outline from the object at the window's position; an error keeps what was read.

    ``steps_in`` is called for each value that is too long, and may look at the outline so far. If
    it returns True, the value is reduced to a shell (``Window.skim``) instead of being an error.
    Lists are counted, but only their first elements are checked, because their reader checks the
    rest while it reads. If the outline is ``streamed``, the pass ends at the verdicts.
    """
    for key in window.members():
        if key in outline.keys:
            text = f'has the key "{show_line(key, 60)}" twice'
            raise fail("$", text, "Keep one of them.")
        if len(outline.keys) >= _MAX_KEYS:
            # A table may have a key for each row; the first keys are enough to recognise it.
            if not outline.by_row and not all(isinstance(v, dict) for v in outline.keys.values()):
                raise fail("$", f"has more than {_MAX_KEYS} keys", "")
            outline.by_row = True
            window.skim(spell_path((key,)), allowed=steps_in)
            continue
        outline.keys[key] = None
        path = spell_path((key,))
        if window.peek() == "[":
            samples: list[Any] = []
            outline.keys[key] = samples
            outline.lengths[key] = 0
            if outline.streamed and ends_at(key):
                outline.stopped = True
                return
            for _ in window.elements():
                value = window.skim(f"{path}[{outline.lengths[key]}]", allowed=steps_in)
                outline.lengths[key] += 1
                if len(samples) < _SAMPLES:
                    samples.append(value)
                else:
                    outline.lengths[key] += window.leap()
        else:
            outline.keys[key] = window.skim(path, allowed=steps_in)
    outline.goes_on = window.peek() != ""


def outline_array(window: Window, outline: Outline) -> None:
    """Fill the outline from the array at the window's position."""
    for index in window.elements():
        value = window.value(f"$[{index}]")
        outline.length += 1
        if index == 0 and isinstance(value, list):
            outline.keys = {str(number): one for number, one in enumerate(value, 1)}
        if index == 0 and isinstance(value, dict):
            outline.keys = value
        if index == 0 and not isinstance(value, dict | list):
            # A list of plain values is not a report, so the rest need not be read.
            return
        outline.length += window.leap()
    outline.goes_on = window.peek() != ""
