"""A dialect (report format): its name, the test that recognises it, and its reader."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report


class FirstLook(Struct, frozen=True):
    """What the start of a file reveals about its format.

    ``outline`` is filled for JSON and JSON Lines only; ``text`` is the start of a text file, and
    ``columns`` those of a binary table.
    """

    kind: str
    """``json``, ``text``, ``zip``, or the kind of a binary table."""
    text: str = ""
    outline: Outline = field(default_factory=lambda: Outline("object"))
    columns: tuple[str, ...] = ()


class Dialect(Struct, frozen=True):
    """A reader in the registry. ``uses`` names the reading options that it accepts."""

    name: str
    """The name for ``--format``, and for ``Report.format`` unless the reader sets a finer one."""
    what: str
    """The format in words, for errors: ``a promptfoo result``."""
    fits: Callable[[FirstLook], bool]
    open: Callable[[Source, FirstLook, ReadOptions], Report]
    uses: frozenset[str] = frozenset()
    reads_tables: bool = False
    """Whether the reader, when forced, opens any CSV and reports missing columns itself."""
    steps_in: bool = False
    """Whether the reader steps into long values, so that one may exceed ``MAX_ITEM``."""
