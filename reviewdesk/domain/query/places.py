"""Find and count verdicts in a queue, which may hold a million keys."""

from array import array
from collections.abc import Sequence

_FEW = 5_000
"""The number of keys up to which a plain loop is fast enough, without loading numpy."""


def place_of(keys: "array[int]", key: int) -> int | None:
    """Return the index of a key in a queue, or ``None`` if the queue does not hold it."""
    if len(keys) <= _FEW:
        return keys.index(key) if key in keys else None
    import numpy as np

    found = np.flatnonzero(np.frombuffer(keys, dtype=keys.typecode) == key)
    return int(found[0]) if len(found) else None


def places_of(keys: "array[int]", wanted: "array[int]") -> "array[int]":
    """Return the ascending indices of the wanted keys in a queue."""
    if len(keys) <= _FEW:
        sought = set(wanted)
        return array("q", (place for place, key in enumerate(keys) if key in sought))
    import numpy as np

    queue, hits = (np.frombuffer(found, dtype=found.typecode) for found in (keys, wanted))
    places = np.flatnonzero(np.isin(queue, hits, kind="table")).astype(np.int64)
    return array("q", places.tobytes())


def moved(keys: "array[int]", moves: Sequence[tuple[int, int]]) -> "array[int]":
    """Return a queue after moves in turn; each puts its first key directly after its second."""
    named = array("q", (key for move in moves for key in move))
    # The queue in pieces: each named key by itself, and the stretches between them.
    pieces: list[array[int]] = []
    alone: dict[int, array[int]] = {}
    start = 0
    for place in places_of(keys, named):
        alone[keys[place]] = keys[place : place + 1]
        pieces += [keys[start:place], alone[keys[place]]]
        start = place + 1
    pieces.append(keys[start:])
    for key, after in moves:
        if key in alone and after in alone and key != after:
            pieces = [one for one in pieces if one is not alone[key]]
            at = next(at for at, one in enumerate(pieces) if one is alone[after])
            pieces.insert(at + 1, alone[key])
    made = array("q")
    for piece in pieces:
        made += piece
    return made


def members(
    keys: Sequence[int], first: int, size: int, contents: Sequence[int] | None = None
) -> bytearray:
    """Return a byte for each verdict of a run: 1 for those that represent a queue's contents."""
    found = bytearray(size)
    if len(keys) <= _FEW:
        places = [key - first for key in keys]
        if contents is not None:
            places = list({contents[place]: place for place in reversed(places)}.values())
        for place in places:
            found[place] = 1
        return found
    import numpy as np

    chosen = np.asarray(keys) - first
    if contents is not None:
        chosen = chosen[np.unique(np.asarray(contents)[chosen], return_index=True)[1]]
    np.frombuffer(found, np.uint8)[chosen] = 1
    return found
