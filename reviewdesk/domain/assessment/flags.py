"""The flags of a verdict: bits in the desk, names in filters and JSON, reasons on the screen."""

from __future__ import annotations

from msgspec import Struct

from reviewdesk.domain.assessment.flag_words import SHORT, WORDS, Flag, in_words, names

__all__ = ["SHORT", "WORDS", "Flag", "FlagNote", "in_words", "names"]


class FlagNote(Struct, frozen=True):
    """A flag of one verdict, and the reason for it."""

    flag: Flag
    reason: str
