"""What all parts of an archive have in common: header, format, and notes of their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviewdesk.desk.archive.parts import PartSummary

_MOST_NOTES = 20
MIXED = "archive"
"""The format of an archive whose parts are of several."""


class Common:
    """Collects what the parts have in common, one part after the other."""

    def __init__(self) -> None:
        """Start without parts."""
        self.header: dict[str, Any] = {}
        self.format = ""
        self.skipped = 0
        self._notes: list[str] = []

    def add(self, name: str, part: PartSummary) -> None:
        """Take in a part."""
        if not self.format:
            self.format, self.header = part.format, dict(part.header)
        if self.format != part.format:
            self.format = MIXED
        self.header = {
            key: value
            for key, value in self.header.items()
            if key in part.header and part.header[key] == value
        }
        self.skipped += part.skipped
        self._notes += [f"{name}: {note}" for note in part.notes]

    def notes(self) -> list[str]:
        """Return the notes of the parts, as many as a person reads."""
        more = len(self._notes) - _MOST_NOTES
        return self._notes[:_MOST_NOTES] + ([f"and {more:,} notes more"] if more > 0 else [])
