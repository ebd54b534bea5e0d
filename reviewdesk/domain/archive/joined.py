"""Joins windows of verdicts that were read apart into those of one run."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.run.packing import NOTHING, Bar
from reviewdesk.domain.run.window import VerdictWindow

Name = TypeVar("Name", str, Bar)


class JoinedWindows:
    """Numbers the jurors, quorums and verdicts of windows anew, in the order in which they come."""

    def __init__(self) -> None:
        """Start without windows."""
        self._names: dict[str, int] = {}
        self._quorums: dict[Bar, int] = {}
        self.verdicts = 0
        self.flags = array("i")

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors so far."""
        return tuple(self._names)

    @property
    def quorums(self) -> tuple[Bar, ...]:
        return tuple(self._quorums)

    def add(
        self, window: VerdictWindow, names: Sequence[str], quorums: Sequence[Bar]
    ) -> VerdictWindow:
        """Return the window as the next of the run; its columns index ``names`` and ``quorums``."""
        packed = dict(window.packed)
        packed["juror"] = _renumbered(packed["juror"], names, self._names)
        packed["quorum"] = _renumbered(packed["quorum"], quorums, self._quorums)
        shift = self.verdicts - window.first
        made = replace(
            window,
            first=self.verdicts,
            tags=[(place + shift, tag) for place, tag in window.tags],
            packed=packed,
        )
        self.verdicts += len(window.flags)
        self.flags.extend(window.flags)
        return made


def _renumbered(column: bytes, names: Sequence[Name], known: dict[Name, int]) -> bytes:
    """Return a column of indices into ``names`` as one of indices into what is known."""
    found = np.frombuffer(column, "<i4")
    table = np.full(len(names) + 1, NOTHING, "<i4")  # the last is for the index -1
    for place in np.unique(found[found >= 0]).tolist():
        table[place] = known.setdefault(names[place], len(known))
    return bytes(table[found].tobytes())
