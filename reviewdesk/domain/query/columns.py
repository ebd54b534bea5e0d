"""The columns of a run that its queue is filtered and ordered by: their names, types and codes."""

from __future__ import annotations

from collections.abc import Mapping

from reviewdesk.domain.query.words import NUMBERS, UNANIMOUS

NOT_TOLD = "not told"
"""The truth of an item that one other person labelled, which the reviewer may not see yet."""
CODES: Mapping[str, tuple[str, ...]] = {
    "decision": ("fail", "pass", "inconclusive", "error"),
    "band": ("high", "medium", "low"),
    "ours_band": ("high", "medium", "low"),
    "truth": ("pass", "fail", "unsure", "disputed", NOT_TOLD),
}
"""The words of the coded columns; a code is the index of its word, and -1 is none."""
PLACES = frozenset({"draw", "mix", "id"})
"""Columns that hold the rows in an order, and not a fact about each row."""
LABELS = frozenset({"truth"})
"""The columns that change with the labels."""
TYPES: Mapping[str, str] = {
    **dict.fromkeys(NUMBERS, "d"),
    **dict.fromkeys(sorted(PLACES), "i"),
    **dict.fromkeys((*CODES, *UNANIMOUS), "b"),
    "flags": "i",
}
"""The type code of every column, as of ``array``."""
