"""Paint the list of the runs screen: a line for each loaded run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from reviewdesk.app.paint.styled import Piece, clip, cut, inline, line, moment, pad
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.run.details import RunLine
from reviewdesk.views.words import number

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
_NAME = 24
_TITLES = {"day": "loaded"}


def run_head(width: int, *, blind: bool) -> Content:
    """Return the line with the names of the columns of ``run_row``."""
    shown = _shown_columns(width, blind=blind)
    return _line(
        "    ",
        ("run", Ink.MUTED),
        {name: (_TITLES.get(name, name), Ink.MUTED) for name in shown},
        width,
    )


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
    fits = (columns for columns in choices if 4 + _NAME + _columns_width(columns) <= width)
    return next(fits, ())


def _columns_width(columns: Sequence[str]) -> int:
    return sum(_COLUMNS[name] + 2 for name in columns)


def _line(mark: str, name: Piece, values: Mapping[str, Piece], width: int) -> Content:
    room = max(0, width - 4 - _columns_width(tuple(values)))
    pieces: list[Piece | str] = [(mark, Ink.KEY), (pad(name[0], room), name[1])]
    for column, (text, ink) in values.items():
        left = column in {"format", "loaded", "day"}
        pieces.append(("  " + pad(text, _COLUMNS[column], right=not left), ink))
    return cut(line(*pieces), width)
