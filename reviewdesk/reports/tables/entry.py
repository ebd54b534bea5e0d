"""The content of one row, in the same form for all kinds of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.tables.rows import TableRow

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Vote:
    """One judge's ballot, as the cells of a row hold it."""

    judge: str
    score: Any = None
    column: str = "score"
    """The column of the score, for error messages."""
    cells: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Other cells by role, such as ``reason``. An empty ``pass`` means no vote."""
    words: bool = False
    """Whether the score may be any word, because no other cell can hold a label."""
    unread: tuple[str, ...] = ()
    """Columns that may hold the answer, if the usual columns for an answer are empty."""
    check: bool = False
    """Whether this is a program's check rather than a juror's ballot."""


@dataclass(frozen=True, slots=True)
class Human:
    """A person's label in a row. The first of ``words`` that is a label counts."""

    words: tuple[Any, ...]
    by: Any = None
    at: Any = None
    note: Any = None


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One row: facts on an item, with the ballots, checks or human label in the row."""

    item: str
    rubric: str = ""
    name: str = ""
    """The item's name on the desk, if ``item`` is an id that only groups the rows."""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    votes: tuple[Vote, ...] = ()
    human: Human | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The key of the verdict: rows with the same key form one verdict."""
        return self.item, self.rubric


EntryOf: TypeAlias = Callable[[TableRow, Remarks], TableEntry | None]
"""Reads a row; returns None if the row has nothing to do with a jury.

Raises:
    CellError: the row cannot be read.
"""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The rules for reading the rows of one kind of table."""

    entry: EntryOf
    notes: tuple[str, ...] = ()
    producer: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The tool that wrote the table; empty for a plain table.

    In a tool's table each judge has a separate scale, because judges measure different things, and
    one judge may rate an item twice; the second ballot is ``#2``.
    """
