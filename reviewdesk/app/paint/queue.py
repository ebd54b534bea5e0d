"""Painter for one line of the queue."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint.styled import Piece, clip, clip_middle, cut, inline, line, pad
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.flags import SHORT, WORDS, Flag
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.verdict import Band, Decision

DECISIONS: dict[Decision | None, tuple[str, str]] = {
    Decision.PASS: ("pass", Ink.PASS),
    Decision.FAIL: ("fail", Ink.FAIL),
    Decision.INCONCLUSIVE: ("incon", Ink.WARN),
    Decision.ERROR: ("error", Ink.WARN),
    None: ("none", Ink.MUTED),
}
BANDS: dict[Band | None, tuple[str, str]] = {
    Band.HIGH: ("H", Ink.MUTED),
    Band.MEDIUM: ("M", Ink.TEXT),
    Band.LOW: ("L", Ink.WARN),
    None: (" ", Ink.TEXT),
}
LABELS: dict[Truth | None, tuple[str, str]] = {
    Truth.PASS: ("p", Ink.PASS),
    Truth.FAIL: ("f", Ink.FAIL),
    Truth.UNSURE: ("?", Ink.NOTE),
    Truth.DISPUTED: ("!", Ink.WARN),
    None: ("·", Ink.MUTED),
}
MARKED, NOTED = "*", "¶"
DEFERRED = ("z", Ink.NOTE)
TENTATIVE = "?"
"""The suffix of a tentative label."""
SPELLED = 60
"""The width from which a line spells the band, and flags in words where they fit."""
_NAMES, _TITLE = 28, 12
"""The cells of ids that stand in one column, and the least that the title of a test gets."""
LOUD = Flag.ESCALATED | Flag.BIAS_WARNING | Flag.TRIMMED_DISSENT | Flag.DISPUTE | Flag.NO_VERDICT


def label_mark(row: QueueRow) -> Piece:
    """Return the label as one or two characters: ``·`` none, ``p?`` tentative, ``z`` deferred."""
    if row.label is None and row.deferred:
        return DEFERRED
    mark, ink = LABELS[row.label]
    tentative = row.tentative and row.label in {Truth.PASS, Truth.FAIL}
    return (f"{mark}{TENTATIVE}" if tentative else mark), ink


def flag_names(flags: Flag, width: int, most: int) -> str:
    """Return all flags, the most important first, because one that is left out would mislead.

    They stand in words if these fit into ``width``, else by their short names if these fit into
    ``most`` cells, else by the first two letters of each.
    """
    words = ", ".join(word for flag, word in WORDS.items() if flag in flags)
    if len(words) <= width:
        return words
    names = [short for flag, short in SHORT.items() if flag in flags]
    short = " ".join(names)
    return short if len(short) <= most else " ".join(name[:2] for name in names)


def queue_line(row: QueueRow, width: int, *, current: bool, blind: bool) -> Content:
    """Return the line of one verdict. A blind session shows only id, test and label."""
    mark, ink = label_mark(row)
    # What others wrote may give away what they think of the item.
    noted = row.noted or (row.noted_by_others and not blind)
    pieces: list[Piece | str] = [
        ("▸" if current else " ", Ink.KEY),
        (MARKED if row.marked else " ", Ink.NOTE),
        (NOTED if noted else " ", Ink.NOTE),
        (pad(mark, 3), ink),
    ]
    used = 6
    if not blind:
        facts = _facts(row, width)
        pieces += facts
        used += sum(cell_len(text) for text, _ in facts)
    pieces += _names(row, width - used, strong=current)
    return cut(line(*pieces), width)


def _facts(row: QueueRow, width: int) -> list[Piece]:
    """Return decision, agreement with its band, and flags; ids keep 8 cells, or 14 if wide."""
    word, ink = DECISIONS[row.decision]
    letter, band_ink = BANDS[row.band]
    band = pad("" if row.band is None else row.band.value, 7) if width >= SPELLED else f"{letter} "
    flags, most = max(10, min(44, width - 49)), width - (39 if width >= SPELLED else 27)
    figure = "    -" if row.agreement is None else f"{row.agreement:5.2f}"
    loud = Ink.WARN if row.flags & LOUD else Ink.MUTED
    return [
        (pad(word, 6), ink),
        (figure[-5:], Ink.TEXT),
        (f" {band} ", band_ink),
        (f"{flag_names(row.flags & ~_said(row), flags, most):{flags}} ", loud),
    ]


def _said(row: QueueRow) -> Flag:
    """Return the flags that the line says without their names.

    The decision or the band may say them; a dissent that was trimmed says that votes differ.
    """
    said = Flag(0) if row.decision in {Decision.PASS, Decision.FAIL} else Flag.NO_VERDICT
    said |= Flag.DERIVED_LOW if row.band is Band.LOW else Flag(0)
    return said | (Flag.SPLIT if Flag.TRIMMED_DISSENT in row.flags else Flag(0))


def _names(row: QueueRow, width: int, *, strong: bool) -> list[Piece]:
    """Return the id, whole where it fits, and behind it the test where that says more."""
    name, test = inline(row.id), inline(row.test)
    ink = Ink.STRONG if strong else Ink.TEXT
    column = max(cell_len(name), min(_NAMES, width // 2))
    if _bare(test) in _bare(name) or width - column - 2 < _TITLE:
        return [(clip_middle(name, width), ink)]
    return [(pad(name, column), ink), ("  ", Ink.TEXT), (clip(test, width - column - 2), Ink.MUTED)]


def _bare(name: str) -> str:
    """Return a name without what an id writes otherwise than a title: case, spaces, signs."""
    return "".join(filter(str.isalnum, name.casefold()))
