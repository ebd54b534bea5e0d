"""The vocabulary of documents: sections of paragraphs, facts, tables and figures.

A document says each fact once and knows no colour, width or toolkit. The terminal, the shell, HTML
and Markdown each lay the same document out, and each of them makes text harmless as it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.domain.assessment.result import Seat
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Fit


class Tone(StrEnum):
    """What a piece of text means to its reader; a renderer decides how it looks."""

    TEXT = ""
    STRONG = "strong"
    MUTED = "muted"
    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    NOTE = "note"
    KEY = "key"
    BIG_PASS = "big-pass"
    BIG_FAIL = "big-fail"
    BIG_WARN = "big-warn"


class Text(Struct, frozen=True):
    """A piece of text; ``outside`` marks text that a report, a juror or a file wrote."""

    text: str
    tone: Tone = Tone.TEXT
    outside: bool = False


Words: TypeAlias = str | Text | tuple[str | Text, ...]
"""A text of one line: our own words as ``str``, others as a ``Text``."""


def outside(text: object, limit: int = 500, tone: Tone = Tone.TEXT) -> Text:
    """Return text from outside as one line of at most ``limit`` characters."""
    return Text(show_line(text if isinstance(text, str) else str(text), limit), tone, outside=True)


def joined(parts: Sequence[Words], between: str = ", ") -> tuple[str | Text, ...]:
    """Join texts with ``between`` from one to the next."""
    pieces: list[str | Text] = []
    for part in parts:
        pieces += [between] if pieces else []
        pieces += part if isinstance(part, tuple) else [part]
    return tuple(pieces)


def spans(words: Words, tone: Tone = Tone.TEXT) -> Iterator[Text]:
    """Yield the pieces of a text; ``tone`` is that of the pieces without one."""
    for part in words if isinstance(words, tuple) else (words,):
        piece = Text(part) if isinstance(part, str) else part
        if piece.text:
            yield piece if piece.tone else Text(piece.text, tone, piece.outside)


def plain(words: Words) -> str:
    """Return a text without tones."""
    return "".join(span.text for span in spans(words))


class Paragraph(Struct, frozen=True):
    """A sentence or two; ``lead`` stands before it, and later lines are indented."""

    text: Words
    tone: Tone = Tone.TEXT
    lead: Words = ""
    indent: int = 0


class Fact(Struct, frozen=True):
    """A name with what is said of it."""

    name: str
    text: Words
    tone: Tone = Tone.MUTED
    """The tone of the name."""
    mark: Text | None = None
    """A sign before the name."""


class Facts(Struct, frozen=True):
    """A list of facts; where room is given, their names take ``column`` cells."""

    rows: tuple[Fact, ...]
    column: int = 13
    lines: int = 0
    """The most lines that a terminal gives each of them; 0 means any number."""

    @classmethod
    def of(cls, *pairs: tuple[str, Words], column: int = 13) -> Facts:
        """Return the facts of pairs of name and text."""
        return cls(tuple(Fact(name, text) for name, text in pairs), column)


class Flow(Struct, frozen=True):
    """Small facts side by side, as many on a line as there is room for."""

    groups: tuple[Words, ...]
    gap: int = 3
    lines: int = 0
    """If set, all stand on so many lines: those between the second and the last are left out, from
    the end, until they fit."""
    short: Words = ""
    """What stands for the last where even so there is no room for it."""


class Column(Struct, frozen=True):
    """A column of a table; of columns with a rank, the highest is left out first."""

    title: Words
    rank: int = 0
    width: int = 0
    """The least width in cells, so that tables under each other line up."""
    right: bool = True
    most: int = 0
    """The most cells that its texts get, where room is dear; 0 means any number."""
    tail: bool = False
    """Whether a name that is too long is cut at its start; for the first column alone."""
    folds: bool = False
    """Whether a text goes on below its row where room is short; for the last column alone."""


class Quote(Struct, frozen=True):
    """A text from outside with its line breaks, such as a juror's reason or a response."""

    text: str
    tone: Tone = Tone.TEXT
    lead: Words = ""
    indent: int = 0
    limit: int = 20_000
    lines: int = 0
    """The most lines that a terminal gives it; 0 means any number."""


class Row(Struct, frozen=True):
    """The cells of a row; ``mark`` stands before the first, and ``below`` on lines of its own."""

    cells: tuple[Words, ...]
    mark: Text | None = None
    below: tuple[Quote, ...] = ()
    link: str = ""
    """The name of the place in an HTML page that the row leads to; empty if there is none."""


class Table(Struct, frozen=True):
    """Rows under columns. The first column holds names, the others figures or words."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: Words = ""
    """A title in the head of the first column."""
    least: int = 8
    """The least width that names keep; columns with a rank are left out before they get less."""
    span: int = 0
    """The cells that the table fills, where there is room; 0 fits it to its cells."""
    caption: str = ""
    """What the table holds, for readers who do not see it below its heading."""
    stops: bool = False
    """Whether a reader who goes from section to section stops at every row."""

    @property
    def marked(self) -> bool:
        """Whether any row has a mark."""
        return any(row.mark is not None for row in self.rows)


def table(
    heads: Sequence[str | Column], rows: Sequence[Sequence[Words]], caption: str = ""
) -> Table:
    """Return a table of plain columns; the first is on the left, the others on the right."""
    columns = tuple(
        Column(head, right=at > 0) if isinstance(head, str) else head
        for at, head in enumerate(heads)
    )
    return Table(columns, tuple(Row(tuple(cells)) for cells in rows), caption=caption)


class Comparison(Struct, frozen=True):
    """Facts of two sides; a fact on which they differ is marked."""

    heads: tuple[Words, Words]
    rows: tuple[tuple[Words, Words, Words], ...]
    """Name, first side, second side."""


class ReliabilityDiagram(Struct, frozen=True):
    """A reliability diagram: how often the judge is right by its confidence."""

    fit: Fit
    basis: str


class ScorePlot(Struct, frozen=True):
    """The jurors' scores on a line from 0 to 1, with the threshold."""

    seats: tuple[Seat, ...]
    threshold: float | None


class Gap(Struct, frozen=True):
    """A blank line."""


Block: TypeAlias = (
    Paragraph | Facts | Flow | Table | Quote | Comparison | ReliabilityDiagram | ScorePlot | Gap
)


class Section(Struct, frozen=True):
    """Blocks under a heading; without a title, no heading is shown."""

    title: str
    blocks: tuple[Block, ...]
    note: Words = ""
    """What the figures rest on, beside the title."""


class Document(Struct, frozen=True):
    """Sections in reading order; on a wide screen, those of ``aside`` stand in a second column."""

    sections: tuple[Section, ...]
    aside: tuple[Section, ...] = ()
    end: tuple[Block, ...] = ()
    """What holds for all sections, below both columns."""

    @property
    def every(self) -> tuple[Section, ...]:
        """All sections, in the order in which one column shows them."""
        end = (Section("", self.end),) if self.end else ()
        return (*self.sections, *self.aside, *end)
