"""Cells of the terminal: how a drawn piece of a line becomes cells, and cells become a sequence.

Textual draws by three sequences alone: it moves the cursor, sets a style on plain ground, and
resets it. Whatever else a text holds is not a drawing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H|\x1b\[(?P<style>[\d;]*)m|(?P<break>\n)"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
)
_SINGLE = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u024f\u0370-\u0482\u048a-\u04ff\u2010-\u2027\u2030-\u205e"
    "\u2190-\u22ff\u2500-\u25fc\u26a0\u2713\u2717]*"
)
"""Texts that every terminal draws in one column a character."""
_AGREED = (
    f"(?:{_SINGLE.pattern[:-1]}|[\u2e80-\u2fff\u3001-\u3029\u3030-\u303e\u3041-\u3096\u309b-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60])*"
)
"""Texts on whose width terminals agree: those, and East Asian characters of two columns."""
_OFF = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28",
    "9": "29", "21": "24", "51": "54", "52": "54", "53": "55",
}  # fmt: skip
"""The code that ends each attribute."""
_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""Attributes that show on a blank: lines over, under, through and around it, and reversal."""


class Look(NamedTuple):
    """How a cell is drawn: its attributes, ink and ground, as the parameters of sequences."""

    attributes: frozenset[str] = frozenset()
    ink: str = ""
    ground: str = ""


class Cell(NamedTuple):
    """One column: its character and look.

    The first cell of a text whose characters are not all one column wide holds the whole text, and
    its other cells hold none.
    """

    text: str
    look: Look
    single: bool = True
    """Whether the cell is a character by itself."""
    agreed: bool = True
    """Whether all terminals agree where the cell is."""


@dataclass(slots=True)
class CellRun:
    """A row, the column where a piece of it starts, and the cells from there."""

    row: int
    column: int
    cells: list[Cell] = field(default_factory=list)
    plain: bool = True
    """Whether every cell is a character by itself."""


PLAIN = Look()


def runs(drawing: str) -> list[CellRun] | None:
    """Return what is drawn, in order, or None if the text holds anything else.

    The last run is empty where the drawing ends with a move of the cursor.
    """
    found: list[CellRun] = []
    at, look = 0, PLAIN
    while at < len(drawing):
        token = _TOKEN.match(drawing, at)
        if token is None:
            return None
        at = token.end()
        kind = token.lastgroup
        if kind == "column":
            found.append(CellRun(int(token["row"]) - 1, int(token["column"]) - 1))
        elif kind == "style":
            wanted = _look(token["style"])
            if PLAIN not in {look, wanted}:
                return None
            look = wanted
        elif kind == "text":
            if not found:
                return None
            cells = cells_of(token["text"], look)
            found[-1].cells += cells
            found[-1].plain &= cells[0].single
    return found


@lru_cache(4096)
def cells_of(text: str, look: Look) -> tuple[Cell, ...]:
    """Return the cells of a text; a list that scrolls draws the same ones elsewhere."""
    if _SINGLE.fullmatch(text) is None:
        agreed = re.fullmatch(_AGREED, text) is not None
        rest = Cell("", look, single=False)
        return (Cell(text, look, single=False, agreed=agreed), *(rest,) * (cell_len(text) - 1))
    return tuple(_single(character, look) for character in text)


@lru_cache(4096)
def _single(character: str, look: Look) -> Cell:
    if character == " " and not look.attributes & _ON_BLANKS:
        look = Look(ground=look.ground)
    return Cell(character, look)


@lru_cache(4096)
def _look(parameters: str) -> Look:
    """Return the look that the parameters of one sequence set on plain ground."""
    attributes, colours = set(), {"3": "", "4": ""}
    codes = iter(parameters.split(";"))
    for code in codes:
        if code in {"38", "48"}:
            count = 3 if (kind := next(codes, "")) == "2" else 1
            colours[code[0]] = ";".join([code, kind, *(next(codes, "") for _ in range(count))])
        elif code in _OFF:
            attributes.add(code)
        elif code[:-1] in {"3", "9"}:
            colours["3"] = code
        elif code[:-1] in {"4", "10"}:
            colours["4"] = code
    return Look(frozenset(attributes), colours["3"], colours["4"])


def agreed(cells: Iterable[Cell | None]) -> bool:
    """Whether all terminals agree where each of these cells is."""
    return all(cell is not None and cell.agreed for cell in cells)


class CellWriter:
    """Writes cells with as few changes of style as they need, starting and ending plain."""

    def __init__(self) -> None:
        """Start with nothing written."""
        self._pieces: list[str] = []
        self._look = PLAIN

    def move(self, row: int, column: int) -> None:
        """Put the cursor on a cell."""
        self._pieces.append(f"\x1b[{row + 1};{column + 1}H")

    def write(self, cells: Iterable[Cell]) -> None:
        """Write cells from where the cursor is."""
        for text, look, *_ in cells:
            wanted = look
            if text == " " and not look.attributes:
                # Of a blank only the ground shows, so that the rest can stay as it is.
                wanted = Look(self._look.attributes - _ON_BLANKS, self._look.ink, look.ground)
            if wanted != self._look:
                self._pieces.append(_change(self._look, wanted))
                self._look = wanted
            self._pieces.append(text)

    def written(self) -> str:
        """Return all that was written, with the style reset."""
        return "".join(self._pieces) + ("\x1b[0m" if self._look != PLAIN else "")


@lru_cache(4096)
def _change(before: Look, after: Look) -> str:
    """Return the sequence that turns one look into another."""
    ended = {_OFF[code] for code in before.attributes - after.attributes}
    begun = {
        code for code in after.attributes if code not in before.attributes or _OFF[code] in ended
    }
    codes = [*sorted(ended), *sorted(begun)]
    if before.ink != after.ink:
        codes.append(after.ink or "39")
    if before.ground != after.ground:
        codes.append(after.ground or "49")
    return f"\x1b[{';'.join(codes)}m"
