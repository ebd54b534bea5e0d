"""The vocabulary of documents: sections of paragraphs, facts, tables and figures.

A document states each fact once and has no colour, width or toolkit. The terminal, the shell, HTML
and Markdown each lay out the same document, and each makes text harmless when it does so.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.domain.assessment.result import Seat
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Fit


class Tone(StrEnum):
    """The meaning of a piece of text for its reader; renderers decide how it looks.

    The last three are of renderers alone: no document has them.
    """

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
    RULE = "rule"
    HEAD = "head"
    FOUND = "found"


class Text(Struct, frozen=True):
    """A piece of text; ``outside`` marks text that a report, a juror or a file wrote."""

    text: str
    tone: Tone = Tone.TEXT
    outside: bool = False


Words: TypeAlias = str | Text | tuple[str | Text, ...]
"""A text of one line: our own words are ``str``, other text is ``Text``."""


def outside(text: object, limit: int = 500, tone: Tone = Tone.TEXT) -> Text:
    """Return text from outside as one line of at most ``limit`` characters."""
    return Text(show_line(text if isinstance(text, str) else str(text), limit), tone, outside=True)


def joined(parts: Sequence[Words], between: str = ", ") -> tuple[str | Text, ...]:
    """Join texts with ``between`` as the separator."""
    pieces: list[str | Text] = []
    for part in parts:
        pieces += [between] if pieces else []
        pieces += part if isinstance(part, tuple) else [part]
    return tuple(pieces)


def spans(words: Words, tone: Tone = Tone.TEXT) -> Iterator[Text]:
    """Yield the pieces of a text; pieces without a tone get ``tone``."""
    for part in words if isinstance(words, tuple) else (words,):
        piece = Text(part) if isinstance(part, str) else part
        if piece.text:
            yield piece if piece.tone else Text(piece.text, tone, piece.outside)


def plain(words: Words) -> str:
    """Return a text without tones."""
    return "".join(span.text for span in spans(words))


class Paragraph(Struct, frozen=True):
    """A sentence or two; ``lead`` comes first, and later lines are indented."""

    text: Words
    tone: Tone = Tone.TEXT
    lead: Words = ""
    indent: int = 0


class Fact(Struct, frozen=True):
    """A name with its text."""

    name: str
    text: Words
    tone: Tone = Tone.MUTED
    """The tone of the name."""
    mark: Text | None = None
    """A sign before the name."""


class Facts(Struct, frozen=True):
    """A list of facts; if there is room, their names take ``column`` cells."""

    rows: tuple[Fact, ...]
    column: int = 13
    lines: int = 0
    """The most lines that a terminal gives each of them; 0 means any number."""

    @classmethod
    def of(cls, *pairs: tuple[str, Words], column: int = 13) -> "Facts":
        """Return the facts of pairs of name and text."""
        return cls(tuple(Fact(name, text) for name, text in pairs), column)


class Flow(Struct, frozen=True):
    """Small facts side by side, as many on a line as there is room for."""

    groups: tuple[Words, ...]
    gap: int = 3
    lines: int = 0
    """If set, the most lines for all of them: facts between the second and the last are left out,
    from the end, until they fit."""
    short: Words = ""
    """A short form of the last fact, for use if it still does not fit."""


class Column(Struct, frozen=True):
    """A column of a table; the column with the highest rank is left out first."""

    title: Words
    rank: int = 0
    width: int = 0
    """The least width in cells, so that tables under each other line up."""
    right: bool = True
    most: int = 0
    """The most cells for its texts if room is short; 0 means any number."""
    tail: bool = False
    """Whether names that are too long are cut at their start; only for the first column."""
    folds: bool = False
    """Whether a text wraps below its row if room is short, for the last column; for the first,
    whether a name that is too long stands above its row."""


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
    """The cells of a row; ``mark`` precedes the first cell, ``below`` is on separate lines."""

    cells: tuple[Words, ...]
    mark: Text | None = None
    below: tuple[Quote, ...] = ()
    link: str = ""
    """The anchor in an HTML page that the row links to; empty for no link."""


class Table(Struct, frozen=True):
    """Rows under columns. The first column holds names, the others figures or words."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: Words = ""
    """A title in the head of the first column."""
    least: int = 15
    """The least width of names; columns with a rank are left out to keep it."""
    span: int = 0
    """The width that the table fills if there is room, in cells; 0 fits it to its content."""
    caption: str = ""
    """A description of the table for readers who cannot see it below its heading."""
    stops: bool = False
    """Whether moving from section to section stops at every row."""

    @property
    def marked(self) -> bool:
        """Whether any row has a mark."""
        return any(row.mark is not None for row in self.rows)


def table(
    heads: Sequence[str | Column], rows: Sequence[Sequence[Words]], caption: str = ""
) -> Table:
    """Return a table of plain columns; the first is aligned left, the others right."""
    columns = tuple(
        Column(head, right=at > 0) if isinstance(head, str) else head
        for at, head in enumerate(heads)
    )
    return Table(columns, tuple(Row(tuple(cells)) for cells in rows), caption=caption)


class ReliabilityDiagram(Struct, frozen=True):
    """A reliability diagram: how often the judge is right at each level of confidence."""

    fit: Fit
    basis: str


class ScorePlot(Struct, frozen=True):
    """The jurors' scores on a line from 0 to 1, with the threshold."""

    seats: tuple[Seat, ...]
    threshold: float | None


class Gap(Struct, frozen=True):
    """A blank line."""


Block: TypeAlias = Paragraph | Facts | Flow | Table | Quote | ReliabilityDiagram | ScorePlot | Gap


class Section(Struct, frozen=True):
    """Blocks under a heading; without a title, no heading is shown."""

    title: str
    blocks: tuple[Block, ...]
    note: Words = ""
    """The basis of the figures, shown next to the title."""


class Document(Struct, frozen=True):
    """Sections in reading order; wide screens show those of ``aside`` in a second column."""

    sections: tuple[Section, ...]
    aside: tuple[Section, ...] = ()
    end: tuple[Block, ...] = ()
    """Blocks about all sections, shown below both columns."""

    @property
    def every(self) -> tuple[Section, ...]:
        """All sections, in the order in which one column shows them."""
        end = (Section("", self.end),) if self.end else ()
        return (*self.sections, *self.aside, *end)
