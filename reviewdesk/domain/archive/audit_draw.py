"""Draws the audit of an archive in one pass over its parts, none of which holds all ids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.draw import draw_keys
from reviewdesk.domain.labels.sampling import FIRST_REST

_SURE = 6.0
"""Standard deviations that the bound on keys leaves at first."""


class AuditDraw:
    """Keeps the verdicts with the lowest keys of each stratum of the rest.

    Keys are spread evenly, so that a bound a little above the audited share keeps little more than
    the audit. Where it keeps too few, which all but never happens, a wider one must be tried.
    """

    def __init__(
        self, sizes: Mapping[int, int], audited: Mapping[int, int], seed: str, wider: float = 1
    ) -> None:
        """Take the size and the audit of each stratum."""
        self._audited, self._seed = audited, seed
        self._bounds = {
            h: _bound(sizes[h], audited[h], _SURE * wider) for h in audited if h >= FIRST_REST
        }
        self._found: dict[int, list[npt.NDArray[np.uint64]]] = {h: [] for h in self._bounds}

    def add(self, part: int, ids: Sequence[str], strata: bytes) -> None:
        """Take in the verdicts of one part; ``strata`` holds a byte for each."""
        sides = np.frombuffer(strata, np.uint8)
        for h, bound in self._bounds.items():
            rows = np.flatnonzero(sides == h)
            keys = draw_keys([ids[row] for row in rows.tolist()], self._seed)
            low = keys[:, 0] <= np.uint64(bound)
            places = np.full(int(low.sum()), part, np.uint64)
            kept = np.column_stack([keys[low], places, rows[low].astype(np.uint64)])
            self._found[h].append(kept)

    def chosen(self) -> dict[int, list[int]] | None:
        """Return the places of the audited verdicts in each part; ``None`` if too few were kept."""
        places: dict[int, list[int]] = {}
        for h, found in self._found.items():
            every = np.concatenate(found) if found else np.empty((0, 4), np.uint64)
            if len(every) < self._audited[h]:
                return None
            order = np.lexsort((every[:, 1], every[:, 0]))[: self._audited[h]]
            for _, _, part, place in every[order].tolist():
                places.setdefault(part, []).append(place)
        return places


def _bound(size: int, audited: int, sure: float) -> int:
    """Return a bound on keys of 64 bits that keeps ``audited`` of ``size``, all but surely."""
    share = audited / size
    above = sure * math.sqrt(share * (1 - share) / size) + sure**2 / size
    return min((1 << 64) - 1, int((share + above) * (1 << 64)))
