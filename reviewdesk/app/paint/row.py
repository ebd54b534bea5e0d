"""The pieces of a line of the queue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from reviewdesk.app.paint.plain import cells, clip, clip_middle, inline, pad
from reviewdesk.app.paint.styled import Piece
from reviewdesk.app.theme.ink import Ink
from reviewdesk.domain.assessment.flag_words import SHORT, WORDS, Flag
from reviewdesk.domain.records import QueueRow

DECISIONS: dict[str | None, tuple[str, str]] = {
    "pass": ("pass", Ink.PASS),
    "fail": ("fail", Ink.FAIL),
    "inconclusive": ("incon", Ink.WARN),
    "error": ("error", Ink.WARN),
    None: ("none", Ink.MUTED),
}
_BANDS = {"high": Ink.MUTED, "medium": Ink.TEXT, "low": Ink.WARN}
LABELS: dict[str | None, tuple[str, str]] = {
    "pass": ("p", Ink.PASS),
    "fail": ("f", Ink.FAIL),
    "unsure": ("?", Ink.NOTE),
    "disputed": ("!", Ink.WARN),
    None: ("·", Ink.MUTED),
}
NOT_TOLD = ("✓", Ink.MUTED)
OPEN_WITH = ("@", Ink.NOTE)
MARKED, NOTED, CHOSEN = "*", "¶", "+"
DEFERRED = ("z", Ink.NOTE)
TENTATIVE = "?"
"""The suffix of a tentative label."""
UNSAVED = "~"
"""The suffix of what waits to be saved."""
SPELLED = 56
"""The width from which a line has room for the agreement."""
_NAMES, _TITLE = 26, 12
"""The cells of ids that stand in one column, and the least that the title of a test gets."""
_FLAG, _FLAGS = 11, 44
"""The least and the most cells of the flags."""
LOUD = Flag.ESCALATED | Flag.BIAS_WARNING | Flag.TRIMMED_DISSENT | Flag.DISPUTE | Flag.NO_VERDICT


def label_mark(row: QueueRow) -> Piece:
    """Return the label as up to three characters: ``·`` none, ``p?`` tentative, ``z`` deferred.

    ``✓`` is the label of another, which is not told, and ``@`` no label, but open with another.
    Behind it a ``~`` says that it waits to be saved.
    """
    mark, ink = LABELS[row.label]
    if row.label is None and (row.labelled_by_other or row.open_with or row.deferred):
        open_ = OPEN_WITH if row.open_with else DEFERRED
        mark, ink = NOT_TOLD if row.labelled_by_other else open_
    tentative = row.tentative and row.label in {"pass", "fail"}
    return f"{mark}{TENTATIVE * tentative}{UNSAVED * row.saving}", ink


@lru_cache(1024)
def flag_names(flags: Flag, room: int) -> str:
    """Return the flags in words, as many as fit if these hold all that ask for a person.

    If not, it returns all by their short names or, without room for these either, the first ones.
    """
    words = [word for flag, word in WORDS.items() if flag in flags]
    short = " ".join(name for flag, name in SHORT.items() if flag in flags)
    first = _leading(words, ", ", room)
    if all(word in first for flag, word in WORDS.items() if flag in flags & LOUD) and first:
        return first
    if len(short) <= room:
        return short
    return first or _leading(short.split(), " ", room)


def _leading(names: Sequence[str], between: str, room: int) -> str:
    """Return as many names as fit, from the first on."""
    fitting = (between.join(names[:count]) for count in range(len(names), 0, -1))
    return next((text for text in fitting if len(text) <= room), "")


def row_pieces(
    row: QueueRow, width: int, *, current: bool, blind: bool, chosen: bool = False
) -> list[Piece]:
    """Return the pieces of one verdict's line. A blind session shows only id, test and label."""
    mark, ink = label_mark(row)
    # What others wrote may give away what they think of the item.
    noted = row.noted or (row.noted_by_others and not blind)
    pieces: list[Piece] = [
        ("▸" if current else " ", Ink.KEY),
        (CHOSEN, Ink.KEY) if chosen else (MARKED if row.marked else " ", Ink.NOTE),
        (NOTED if noted else " ", Ink.NOTE),
        (pad(mark, 3), ink),
    ]
    name = Ink.STRONG if current else Ink.TEXT
    more = _names(row, width - 6, name) if blind else _facts(row, width, name)
    return pieces + more


def _facts(row: QueueRow, width: int, name: str) -> list[Piece]:
    """Return decision, id, agreement, flags and test.

    A narrow line leaves out the test and says of the agreement only that it is low. Ids and flags
    share the room, each in a column of its own.
    """
    word, ink = DECISIONS[row.decision]
    wide, room = width >= SPELLED, width - 12
    agreement = _agreement(row, wide=wide)
    room -= sum(cells(text) for text, _ in agreement) + 1
    flags = min(_FLAGS, max(_FLAG, room - _NAMES)) if wide else _FLAG
    column = min(room - flags, max(_NAMES, room - flags - _TITLE)) if wide else room - flags
    title = room - flags - column - 2
    shown = flag_names(row.flags & ~_said(row), flags)
    loud = Ink.WARN if row.flags & LOUD else Ink.MUTED
    if not wide and not shown and row.band != "low":
        column, flags, agreement = room + 4, 0, []
    found = [
        (pad(word, 6), ink),
        (pad(clip_middle(inline(row.id), column), column + 1), name),
        *agreement,
        (f"{shown:{flags}}", loud),
    ]
    if title >= _TITLE and _says_more(row):
        found.append((f"  {clip(inline(row.test), title)}", Ink.MUTED))
    return found


def _agreement(row: QueueRow, *, wide: bool) -> list[Piece]:
    """Return the agreement and, behind it, its band; a narrow line has room for a low band only."""
    if not wide:
        return [("low " if row.band == "low" else "    ", Ink.WARN)]
    band = "" if row.band is None else str(row.band)
    figure = "    -" if row.agreement is None else f"{row.agreement:5.2f}"
    ink = Ink.MUTED if row.band is None else _BANDS[row.band]
    return [(figure[-5:], Ink.TEXT), (f" {band:<7} ", ink)]


def _said(row: QueueRow) -> Flag:
    """Return the flags that the line says without their names.

    The decision or the band may say them; a dissent that was trimmed says that votes differ.
    """
    said = Flag(0) if row.decision in {"pass", "fail"} else Flag.NO_VERDICT
    said |= Flag.DERIVED_LOW if row.band == "low" else Flag(0)
    return said | (Flag.SPLIT if Flag.TRIMMED_DISSENT in row.flags else Flag(0))


def _names(row: QueueRow, width: int, ink: str) -> list[Piece]:
    """Return the id, whole where it fits, and behind it the test where that says more."""
    name = inline(row.id)
    column = max(cells(name), min(_NAMES, width // 2))
    room = width - column - 2
    if not _says_more(row) or room < _TITLE:
        return [(clip_middle(name, width), ink)]
    return [(pad(name, column), ink), (f"  {clip(inline(row.test), room)}", Ink.MUTED)]


def _says_more(row: QueueRow) -> bool:
    """Whether the test's title says more than the id does."""
    return _bare(inline(row.test)) not in _bare(inline(row.id))


def _bare(name: str) -> str:
    """Return a name without what an id writes otherwise than a title: case, spaces, signs."""
    return "".join(filter(str.isalnum, name.casefold()))
