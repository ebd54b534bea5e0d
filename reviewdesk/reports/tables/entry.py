"""What one row of a table says, in the words that all tables share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from reviewdesk.reports.mapping.remarks import Remarks
from reviewdesk.reports.tables.rows import TableRow

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Vote:
    """One judge's ballot as the cells have it."""

    judge: str
    score: Any = None
    column: str = "score"
    """Where the score stands, for errors."""
    cells: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Other cells by role, such as ``reason``; a ``pass`` that is there and empty is no vote."""
    words: bool = False
    """Whether the score may be any word, because no other cell could hold one."""
    unread: tuple[str, ...] = ()
    """Columns under which an answer may stand, where no column of an answer says anything."""
    check: bool = False
    """Whether it is a program's check rather than a juror."""


@dataclass(frozen=True, slots=True)
class Human:
    """A person's label as the cells have it; the first of ``words`` that decides counts."""

    words: tuple[Any, ...]
    by: Any = None
    at: Any = None
    note: Any = None


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One row: what it says of an item, and the ballots, checks or label it holds."""

    item: str
    rubric: str = ""
    name: str = ""
    """The item's id on the desk, where rows are told apart by another one."""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    votes: tuple[Vote, ...] = ()
    human: Human | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Rows with the same key are one verdict."""
        return self.item, self.rubric


EntryOf: TypeAlias = Callable[[TableRow, Remarks], TableEntry | None]
"""Reads a row; nothing where the row says nothing of a jury.

Raises:
    CellError: the row cannot be read.
"""


@dataclass(frozen=True, slots=True)
class TableShape:
    """How the rows of one kind of table are read."""

    entry: EntryOf
    notes: tuple[str, ...] = ()
    repeats: bool = False
    """Whether one judge may rate an item twice; the second ballot is ``#2``."""
    scale_by_judge: bool = False
    """Whether judges measure different things, so that each has a scale of its own."""
    header: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
