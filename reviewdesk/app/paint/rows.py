"""Painters for the lines of the queue and of the list of runs, and the legend of all signs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    cells,
    clip,
    clip_middle,
    cut,
    flow,
    heading,
    inline,
    line,
    moment,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.flag_words import SHORT, WORDS, Flag
from reviewdesk.domain.query.tokens import HELP
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.run.details import RunLine
from reviewdesk.domain.verdict import Decision
from reviewdesk.views import glossary
from reviewdesk.views.glossary import FLAG_TERMS
from reviewdesk.views.words import number

DECISIONS: dict[str | None, tuple[str, str]] = {
    "pass": ("pass", Ink.PASS),
    "fail": ("fail", Ink.FAIL),
    "inconclusive": ("none", Ink.WARN),
    "error": ("error", Ink.WARN),
    None: ("-", Ink.MUTED),
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
MARKED = "*"
NOTED = "¶"
CHOSEN = "+"
DEFERRED = ("z", Ink.NOTE)
UNSAVED = "~"
"""The suffix of what waits to be saved."""
SPELLED = 56
"""The width from which a line has room for the agreement."""
_NAMES = 26
_TITLE = 12
"""The cells of ids that stand in one column, and the least that the title of a test gets."""
_FLAG = 11
_FLAGS = 44
"""The least and the most cells of the flags."""
LOUD = Flag.ESCALATED | Flag.BIAS_WARNING | Flag.TRIMMED_DISSENT | Flag.DISPUTE | Flag.NO_VERDICT


def label_mark(row: QueueRow) -> Piece:
    """Return the label as up to three characters: ``·`` none, ``z`` deferred.

    ``✓`` is the label of another, which is not told, and ``@`` no label, but open with another.
    Behind it a ``~`` says that it waits to be saved.
    """
    mark, ink = LABELS[row.label]
    if row.label is None and (row.labelled_by_other or row.open_with or row.deferred):
        open_ = OPEN_WITH if row.open_with else DEFERRED
        mark, ink = NOT_TOLD if row.labelled_by_other else open_
    return f"{mark}{UNSAVED * row.saving}", ink


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
    wide = width >= SPELLED
    room = width - 12
    agreement = _agreement(row, wide=wide)
    room -= sum(cells(text) for text, _ in agreement) + 1
    flags = min(_FLAGS, max(_FLAG, room - _NAMES)) if wide else _FLAG
    column = min(room - flags, max(_NAMES, room - flags - _TITLE)) if wide else room - flags
    title = room - flags - column - 2
    shown = flag_names(row.flags & ~_said(row), flags)
    loud = Ink.WARN if row.flags & LOUD else Ink.MUTED
    if not wide and not shown and row.band != "low":
        column = room + 4
        flags = 0
        agreement = []
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
    figure = "    -" if row.agreement is None else f"{min(1.0, max(0.0, row.agreement)):5.2f}"
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
    return _bare(inline(row.test)) not in _bare(inline(row.id))


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def queue_line(
    row: QueueRow, width: int, *, current: bool, blind: bool, chosen: bool = False
) -> Content:
    """Return the line of one verdict, which may be ``chosen`` to be labelled with others."""
    pieces = row_pieces(row, width, current=current, blind=blind, chosen=chosen)
    return cut(line(*pieces), width)


_COLUMNS = {
    "format": 9, "verdicts": 8, "flagged": 7, "labelled": 8, "alpha": 6, "failed": 6, "skipped": 7,
    "loaded": 16, "day": 10,
}  # fmt: skip
_OPEN = (
    ("format", "verdicts", "flagged", "labelled", "alpha", "failed", "skipped", "loaded"),
    ("verdicts", "flagged", "labelled", "alpha", "failed", "skipped", "day"),
    ("verdicts", "flagged", "labelled", "alpha", "failed", "skipped"),
    ("verdicts", "flagged", "labelled", "alpha", "failed"),
    ("verdicts", "flagged", "labelled", "alpha"),
    ("verdicts", "flagged", "labelled"),
    ("verdicts", "labelled"),
    (),
)
_BLIND = (
    ("format", "verdicts", "labelled", "loaded"),
    ("verdicts", "labelled", "day"),
    ("verdicts", "labelled"),
    (),
)
"""The columns of the line. The first choice that leaves room for the name is used."""
_RUN_NAME = 24
_TITLES = {"day": "loaded"}


def run_head(width: int, *, blind: bool) -> Content:
    """Return the line with the names of the columns of ``run_row``."""
    shown = _shown_columns(width, blind=blind)
    names = {name: (_TITLES.get(name, name), Ink.MUTED) for name in shown}
    return _line("    ", ("run", Ink.MUTED), names, width)


def run_row(found: RunLine, width: int, *, current: bool, chosen: bool, blind: bool) -> Content:
    """Return the line of one run: ``current`` is under the cursor, ``chosen`` is being reviewed."""
    run = found.run
    values: dict[str, Piece] = {
        "format": (clip(inline(run.format, 40), _COLUMNS["format"]), Ink.MUTED),
        "verdicts": (str(run.verdicts), Ink.TEXT),
        "flagged": (str(run.flagged), Ink.TEXT),
        "labelled": (str(found.labelled), Ink.STRONG if found.labelled else Ink.MUTED),
        "alpha": (number(found.alphas.alpha), Ink.TEXT),
        "failed": (str(run.failed_ballots), Ink.WARN if run.failed_ballots else Ink.MUTED),
        "skipped": (str(run.skipped), Ink.WARN if run.skipped else Ink.MUTED),
        "loaded": (moment(run.loaded_at), Ink.MUTED),
        "day": (moment(run.loaded_at)[:10], Ink.MUTED),
    }
    mark = f"{'▸' if current else ' '} {'●' if chosen else ' '} "
    name: Piece = (inline(run.name, 300), Ink.STRONG if current or chosen else Ink.TEXT)
    shown = _shown_columns(width, blind=blind)
    return _line(mark, name, {column: values[column] for column in shown}, width)


def _shown_columns(width: int, *, blind: bool) -> Sequence[str]:
    choices = _BLIND if blind else _OPEN
    room = width - 4 - _RUN_NAME
    return next((columns for columns in choices if _columns_width(columns) <= room), ())


def _columns_width(columns: Iterable[str]) -> int:
    return sum(_COLUMNS[name] + 2 for name in columns)


def _line(mark: str, name: Piece, values: Mapping[str, Piece], width: int) -> Content:
    room = max(0, width - 4 - _columns_width(values))
    pieces: list[Piece | str] = [(mark, Ink.KEY), (pad(name[0], room), name[1])]
    for column, (text, ink) in values.items():
        left = column in {"format", "loaded", "day"}
        pieces.append(("  " + pad(text, _COLUMNS[column], right=not left), ink))
    return cut(line(*pieces), width)


TRUTHS: dict[Truth | None, str] = {
    None: "no label",
    Truth.PASS: "pass",
    Truth.FAIL: "fail",
    Truth.UNSURE: "can't tell",
    Truth.DISPUTED: "reviewers differ",
}
CAME_OUT: dict[Decision | None, str] = {
    Decision.PASS: "the panel passes it",
    Decision.FAIL: "the panel fails it",
    Decision.INCONCLUSIVE: "no decision",
    Decision.ERROR: "the panel broke down",
    None: "none stated",
}
AGREEMENT = (
    ("0.41 low", Ink.WARN),
    "how close the jurors are, and its band: high, medium or low; no word if the measure has none",
)
FLAGS = {flag: term.text for flag, term in FLAG_TERMS.items()}
"""What each flag means in general. The jury pane gives the reason for one verdict."""
_INKS = {
    "▸": Ink.KEY, "*": Ink.NOTE, "▹ ▿": Ink.HEAD, "+": Ink.KEY, "¶": Ink.NOTE, "~": Ink.NOTE,
    "◆": Ink.WARN, "≠": Ink.WARN, "○": Ink.MUTED, "✓": Ink.PASS, "✗": Ink.FAIL, "–": Ink.MUTED,
    "⚠": Ink.WARN, "×": Ink.TEXT, "…": Ink.TEXT,
}  # fmt: skip
SIGNS: tuple[tuple[Piece, str], ...] = tuple(
    ((sign, _INKS.get(sign, Ink.STRONG)), text) for sign, text in glossary.SIGNS.items()
)
"""The signs of all panes."""

MOUSE: tuple[tuple[Piece, str], ...] = (
    (("click", Ink.KEY), "a hint at the foot does what its key does; a row shows its item"),
    (("drag", Ink.KEY), "the rule between two panes sets their widths; a text selects it"),
    (("wheel", Ink.KEY), "scrolls what is under the mouse"),
)
"""What the mouse does."""

_COLUMN = 11


def legend_lines(width: int) -> Lines:
    """Return all signs, grouped by the place where they appear, and what the mouse does."""
    labels = [(LABELS[truth], text) for truth, text in TRUTHS.items()]
    labels += [
        (DEFERRED, "deferred"),
        (NOT_TOLD, "labelled by another, told once you label or reveal it"),
        (OPEN_WITH, "open with another reviewer"),
    ]
    made = [(DECISIONS[made], text) for made, text in CAME_OUT.items()]
    flags = [
        ((short, Ink.WARN if flag in LOUD else Ink.MUTED), f"{WORDS[flag]}: {FLAGS[flag]}")
        for flag, short in SHORT.items()
    ]
    rest = (("", Ink.MUTED), "A line without room for all of them names the first ones.")
    filters = (paragraph(row, width, indent=2, first=[("  ", "")]) for row in HELP.splitlines())
    blocks = {
        "LABELS": _small_facts(labels, width),
        "DECISION AND AGREEMENT": [*_small_facts(made, width), *_list([AGREEMENT], width)],
        "FLAGS": _list([*flags, rest], width),
        "SIGNS": _list(SIGNS, width),
        "FILTERS": [*chain.from_iterable(filters)],
        "MOUSE": _list(MOUSE, width),
    }
    lines: Lines = []
    for title, block in blocks.items():
        lines += [*([Content("")] if lines else []), heading(title, width), *block]
    return lines


def _small_facts(signs: Iterable[tuple[Piece, str]], width: int) -> Lines:
    return flow((line("  ", sign, f" {text}") for sign, text in signs), width, 2)


def _list(signs: Iterable[tuple[Piece, str]], width: int) -> Lines:
    """Return the signs one below the other."""
    lines: Lines = []
    for (sign, ink), text in signs:
        lead = (f"  {pad(sign, _COLUMN - 2)}", ink)
        lines += paragraph(text, width, first=[lead], indent=_COLUMN)
    return lines
