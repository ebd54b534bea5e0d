"""What of a long JSON value is taken over: an allow-list in the value's own shape."""

from __future__ import annotations

from typing import Any, TypeAlias

from reviewdesk.reports.bytes.window import Window

KEEP = "keep"
"""The value as it is; null where it is too long to be held."""

ANY = "*"
"""Stands for every key of an object."""

OTHERS = "*others"
"""In a shape: list the names of the keys that are not taken over."""

Shape: TypeAlias = Any
"""``KEEP``, a dict of keys to shapes, or a list with the shape of every element."""


_MOST_OTHERS = 12


def pick(window: Window, shape: Shape, where: str) -> Any:
    """Step over the value that starts here and return what its shape names.

    A value of another kind than its shape is kept whole, so that its reader can say what is wrong.
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
