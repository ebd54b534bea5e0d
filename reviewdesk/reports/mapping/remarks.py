"""Count what a reader could not map, for the import notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reviewdesk.domain.safetext import show_line

_MOST = 30


class Remarks:
    """Collects unmapped keys, once each, and sentences with the number of cases."""

    def __init__(self) -> None:
        """Start with nothing to say."""
        self._keys: dict[str, None] = {}
        self._counts: Counter[str] = Counter()

    def unmapped(self, keys: Iterable[str], prefix: str = "") -> None:
        """Record keys that have no place in a canonical body."""
        for key in keys:
            self._keys.setdefault(prefix + key)

    def count(self, sentence: str) -> None:
        """Count one more case of what the sentence says."""
        self._counts[sentence] += 1

    def notes(self, unmapped: str = "keys not mapped, kept under meta.raw") -> list[str]:
        """Return the import notes, in the order in which their causes were met."""
        lines = [f"{sentence} ({count}x)" for sentence, count in self._counts.items()]
        if self._keys:
            names = [show_line(key, 60) for key in self._keys]
            more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
            listed = ", ".join(names[:_MOST])
            lines.append(f"{unmapped}: {listed}{more}")
        return lines
