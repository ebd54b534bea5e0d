"""Read chosen parts of a long JSON value: an allow-list in the shape of the value."""

from __future__ import annotations

from typing import Any, TypeAlias

from reviewdesk.reports.bytes.window import Window

KEEP = "keep"
"""In a shape: keep the value as it is, or None if it is too long to hold in memory."""

ANY = "*"
"""In a shape: stands for every key of an object."""

OTHERS = "*others"
"""In a shape: list the names of the keys that are not kept."""

Shape: TypeAlias = Any
"""``KEEP``, a dict of keys to shapes, or a list with the shape of every element."""


_MOST_OTHERS = 12


def pick(window: Window, shape: Shape, where: str) -> Any:
    """Read the value at the window and return the parts that the shape names.

    A value of another type than its shape is returned whole, so that the caller can say what is
    wrong.
    """
    start = window.peek()
    if isinstance(shape, dict) and start == "{":
        return _members(window, shape, where)
    if isinstance(shape, list) and start == "[":
        return [pick(window, shape[0], f"{where}[{index}]") for index in window.elements()]
    return window.skim(where)


def _members(window: Window, shape: dict[str, Shape], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in window.members():
        wanted = None if key == OTHERS else shape.get(key, shape.get(ANY))
        if wanted is None:
            window.skip(where)
            if OTHERS in shape and len(others := found.setdefault(OTHERS, [])) < _MOST_OTHERS:
                others.append(key)
        else:
            found[key] = pick(window, wanted, where)
    return found
