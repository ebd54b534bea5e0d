"""The registry of readers, in the order in which they are tried on a file."""

from __future__ import annotations

from reviewdesk.reports import deepeval, mcptest
from reviewdesk.reports.canonical import reader as canonical
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.inspectai import log as inspect_log
from reviewdesk.reports.promptfoo import result as promptfoo
from reviewdesk.reports.tables import table

FOREIGN: tuple[Dialect, ...] = (
    promptfoo.DIALECT,
    inspect_log.DIALECT,
    deepeval.DIALECT,
    *table.TOOLS,
    table.DIALECT,
)
"""Formats of other tools that are recognised by a signature."""

LAST = mcptest.DIALECT
"""The format without a signature, recognised only by its structure."""

DIALECTS: tuple[Dialect, ...] = (*canonical.DIALECTS, *FOREIGN, LAST)


def named(name: str) -> Dialect | None:
    """Return the dialect that ``--format`` names, or None."""
    return next((dialect for dialect in DIALECTS if dialect.name == name), None)


def fitting(look: FirstLook) -> Dialect | None:
    """Return the first foreign dialect whose signature fits the file, or None."""
    return next((dialect for dialect in FOREIGN if dialect.fits(look)), None)
