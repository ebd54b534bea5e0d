"""One dialect that reports come in: its name, how it is recognised, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a first look at a file tells.

    ``outline`` is filled for JSON and JSON Lines alone; ``text`` is the start of what is text, and
    empty for a zip archive.
    """

    kind: Literal["json", "text", "zip"]
    text: str = ""
    outline: Outline = field(default_factory=lambda: Outline("object"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """A reader in the registry. ``uses`` names the reading options that mean something to it."""

    name: str
    """What ``--format`` takes, and ``Report.format`` unless the reader says it more exactly."""
    what: str
    """The format in words, for errors: ``a promptfoo result``."""
    fits: Callable[[FirstLook], bool]
    open: Callable[[Source, FirstLook, ReadOptions], Report]
    uses: frozenset[str] = frozenset()
    reads_tables: bool = False
    """Whether it opens any CSV that it is forced on, and says itself what is missing in it."""
    steps_in: bool = False
    """Whether it reads values by their parts, so that one may be longer than what is held."""
