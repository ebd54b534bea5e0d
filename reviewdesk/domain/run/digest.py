"""The content hash of a run: over its bodies, its rows, its packed ballots and its facts."""

import hashlib
import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reviewdesk.domain.verdict import canonical_json

RULES = 4
"""The version of the rules; a change of them adds 1 and a migration that recomputes runs."""
_SHORT = 32
"""The number of hexadecimal digits of a column's hash, which only tells columns apart."""
_TEXTS = frozenset({
    "id", "test", "decision", "band", "agreement_source", "ours_band", "body", "item", "tag",
})  # fmt: skip
_WHOLE = frozenset({
    "passes", "answered", "seated", "marks", "flags", "stratum", "rank", "draw", "mix", "audit",
    "place",
})  # fmt: skip


class RunDigest:
    """Hashes each column of a run separately, so the window size does not change the result.

    Texts enter by bytes and lengths (-1 for NULL), numbers as 8 bytes (NaN for NULL).
    """

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}

    def add(self, name: str, values: Iterable[Any]) -> None:
        """Add the values of the next verdicts in one column."""
        if name in _TEXTS:
            parts = [one.encode() if isinstance(one, str) else one for one in values]
            sizes = [-1 if part is None else len(part) for part in parts]
            self._update(f"{name} sizes", _numbers("q", sizes))
            self._update(name, b"".join(filter(None, parts)))
        elif name in _WHOLE:
            self._update(name, _numbers("q", values))
        else:
            self._update(name, _numbers("d", [math.nan if v is None else v for v in values]))

    def add_rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        for name, values in zip(names, zip(*rows, strict=True), strict=bool(rows)):
            self.add(name, values)

    def add_packed(self, packed: Mapping[str, bytes]) -> None:
        for name in packed:
            self._update(f"packed {name}", packed[name])

    def columns(self) -> dict[str, str]:
        """Return a hash of each column, to find the columns that differ."""
        return {name: column.hexdigest()[:_SHORT] for name, column in self._columns.items()}

    def add_tags(self, tags: Iterable[tuple[int, str]]) -> None:
        """Add the tags of the next verdicts, each with the place of its verdict in file order."""
        if found := sorted(set(tags)):
            self.add_rows(("place", "tag"), found)

    def hexdigest(self, facts: Mapping[str, Any] = MappingProxyType({})) -> str:
        """Return the sha256 of all columns and of the facts about the run as a whole."""
        columns = {name: column.hexdigest() for name, column in self._columns.items()}
        return hashlib.sha256(canonical_json([columns, dict(facts)])).hexdigest()

    def _update(self, name: str, data: bytes) -> None:
        self._columns.setdefault(name, hashlib.sha256()).update(data)


def _numbers(code: str, values: Iterable[float]) -> bytes:
    column = array(code, values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
