"""Painter for one line of the queue."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint.styled import Piece, clip, clip_start, cut, inline, line, pad
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.flags import SHORT, Flag
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.verdict import Band, Decision

DECISIONS: dict[Decision | None, tuple[str, str]] = {
    Decision.PASS: ("PASS", Ink.PASS),
    Decision.FAIL: ("FAIL", Ink.FAIL),
    Decision.INCONCLUSIVE: ("INC", Ink.WARN),
    Decision.ERROR: ("ERR", Ink.WARN),
    None: ("-", Ink.MUTED),
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
MARKED = "*"
DEFERRED = ("z", Ink.NOTE)
TENTATIVE, MORE = "?", "+"
"""The suffix of a tentative label, and that of a list of flags of which some are left out."""
LOUD = Flag.ESCALATED | Flag.BIAS_WARNING | Flag.TRIMMED_DISSENT | Flag.DISPUTE | Flag.NO_VERDICT


def label_mark(row: QueueRow) -> Piece:
    """Return the label as one or two characters: ``·`` none, ``p?`` tentative, ``z`` deferred."""
    if row.label is None and row.deferred:
        return DEFERRED
    mark, ink = LABELS[row.label]
    tentative = row.tentative and row.label in {Truth.PASS, Truth.FAIL}
    return (f"{mark}{TENTATIVE}" if tentative else mark), ink


def flag_names(flags: Flag, width: int) -> str:
    """Return as many short names as fit, the most important first, then ``+`` if some do not."""
    names = [short for flag, short in SHORT.items() if flag in flags]
    text = ""
    for i, name in enumerate(names):
        longer = f"{text} {name}".strip()
        room = width - (1 if i + 1 < len(names) else 0)
        if len(longer) > room:
            return text + MORE if text else clip(name, width)
        text = longer
    return text


def queue_line(row: QueueRow, width: int, *, current: bool, blind: bool) -> Content:
    """Return the line of one verdict. A blind session shows only id, test and label."""
    mark, ink = label_mark(row)
    pieces: list[Piece | str] = [
        ("▸" if current else " ", Ink.KEY),
        (MARKED if row.marked else " ", Ink.NOTE),
        (pad(mark, 3), ink),
    ]
    used = 5
    if not blind:
        facts = _facts(row, 10 if width < 72 else 26)
        pieces += facts
        used += sum(cell_len(text) for text, _ in facts)
    pieces += _names(row, width - used, strong=current)
    return cut(line(*pieces), width)


def _facts(row: QueueRow, flags: int) -> list[Piece]:
    word, ink = DECISIONS[row.decision]
    letter, band_ink = BANDS[row.band]
    figure = "    -" if row.agreement is None else f"{row.agreement:5.2f}"
    loud = Ink.WARN if row.flags & LOUD else Ink.MUTED
    return [
        (pad(word, 5), ink),
        (figure[-5:], Ink.TEXT),
        (f" {letter}  ", band_ink),
        (pad(flag_names(row.flags, flags), flags + 1), loud),
    ]


def _names(row: QueueRow, width: int, *, strong: bool) -> list[Piece]:
    """Return id and test, fitted into the width that the facts leave."""
    if width <= 0:
        return []
    name, test = inline(row.id), inline(row.test)
    ink = Ink.STRONG if strong else Ink.TEXT
    if test == name or width < 24:
        return [(_clip_name(name, width), ink)]
    column = min(28, width // 2)
    return [
        (pad(_clip_name(name, column), column), ink),
        ("  ", Ink.TEXT),
        (clip(test, width - column - 2), Ink.MUTED),
    ]


def _clip_name(name: str, width: int) -> str:
    """Clip a sentence at its end, and a path-like id at its start: such ids differ at the end."""
    return clip(name, width) if " " in name else clip_start(name, width)
