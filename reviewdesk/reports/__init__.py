"""Read reports: recognise a file's format by its content and map it to canonical verdicts.

The readers are imported when a report is read, because panel and cases files need none of them.
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError
from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source
from reviewdesk.reports.options import TABLE_OPTIONS, ReadOptions

if TYPE_CHECKING:
    from reviewdesk.domain.records import ProposedMap
    from reviewdesk.reports.report import Report

__all__ = ["DEFAULT_MAX_SIZE", "ReadOptions", "Source", "formats", "propose", "read"]

_DEFAULT = ReadOptions()
_OF_FORMATS = {"models", "pass_labels", "fail_labels", "scale", *TABLE_OPTIONS}
"""The options that only some formats use."""


def read(source: Source, options: ReadOptions = _DEFAULT, *, streamed: bool = False) -> "Report":
    """Recognise a report's format and read its header.

    Syntax errors are raised here, but those in a canonical report's verdicts as they are read. If
    ``streamed``, most files are read once instead of twice: a canonical document is assumed to end
    with its verdicts, and a fact that decides how a file is read to stand before the verdicts that
    need it. Any error may then come from this alone; read without it to get the real error.

    A table with a map beside it, ``FILE.map.toml``, is read by that map unless ``options`` say how,
    and the map is part of the format's name. Raise ReportError if the file cannot be opened, and
    UsageError if ``options`` name an unknown format, or an option that this format does not use.
    """
    from reviewdesk.reports.canonical.reader import DIALECTS as OWN
    from reviewdesk.reports.sniff import recognise

    forced = None
    # An option that only tables have makes the file a table, whatever it looks like.
    of_table = any(getattr(options, name) for name in TABLE_OPTIONS)
    if not of_table and options.format is None and (beside := source.map_beside) is not None:
        made = read(source, replace(options, map=beside), streamed=streamed)
        version = hashlib.sha256(Path(beside).read_bytes()).hexdigest()[:8]
        made.format = f"{made.format}, map {version}"
        return made
    wanted = options.format or ("table" if of_table else None)
    if wanted is not None:
        from reviewdesk.reports.dialects import named

        forced = named(wanted)
        if forced is None:
            known = ", ".join(formats())
            raise UsageError(f'there is no format "{show_line(wanted, 60)}"', f"Use {known}.")
    dialect, look = recognise(source, forced, streamed=streamed)
    for name in options.given():
        if name in _OF_FORMATS and name not in dialect.uses:
            flag = name.replace("_labels", "_label").replace("_", "-")
            raise UsageError(
                f"--{flag} means nothing to {source.shown_name}, which is {dialect.what}",
                "Leave it out.",
            )
    report = dialect.open(source, look, options)
    if options.texts is not None:
        from reviewdesk.reports.texts import JoinedTexts

        report.texts = JoinedTexts(options.texts)
    return report if dialect in OWN else report.guard()


def propose(source: Source, options: ReadOptions = _DEFAULT) -> "ProposedMap":
    """Return a map for a table, with its first verdicts as it reads them, or raise ReportError."""
    from reviewdesk.reports.sniff import recognise
    from reviewdesk.reports.tables import table

    return table.propose(source, recognise(source, table.DIALECT)[1], options)


def formats() -> tuple[str, ...]:
    """Return the names that ``--format`` takes, which are the values of ``Report.format``."""
    from reviewdesk.reports.dialects import names

    return names()
