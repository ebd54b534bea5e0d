"""Files by their names: a report into the desk, labels out of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk import transfer
from reviewdesk.desk.transfer import Exported
from reviewdesk.domain.records import Loaded, Run
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.loading import LoadOptions, ProgressCall


def open_file(
    desk: Desk, path: str, options: LoadOptions, progress: ProgressCall | None = None
) -> Loaded:
    """Load the report of that name; ``~`` is the home folder."""
    from reviewdesk.reports.source import Source

    return desk.load(Source.from_path(str(named(path))), options, progress)


def named(text: str) -> Path:
    """The path that a person typed; ``~`` and ``~NAME`` are home folders."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{text}: there is no such home folder", "Write the path out.") from error


def write_new(desk: Desk, path: Path, text: str) -> None:
    """Write an export to a file that is not there yet."""
    if _there(path):
        raise UsageError(f"{path}: is there already", "Name a new file.")
    write(desk, path, text)


def _there(path: Path) -> bool:
    """Whether something stands there; what cannot be looked at is left to the writing."""
    try:
        return path.exists()
    except OSError:
        return False


def export(desk: Desk, run: Run, kind: str, source: str | None = None) -> tuple[str, Exported]:
    """A run's labels as text: ``mcptest`` (two keys per row), ``full`` or ``csv``."""
    from reviewdesk.reports.labelswrite import as_csv, as_jsonl

    make = transfer.score_rows if kind == "mcptest" else transfer.full_rows
    found = make(desk, run, source)
    return as_csv(found.rows) if kind == "csv" else as_jsonl(found.rows), found


def write(desk: Desk, path: Path, text: str) -> None:
    """Write an export to a file, which must not be the desk itself."""
    if _there(path) and path.samefile(desk.path):
        raise UsageError(f"{path}: is the desk itself", "Name another file.")
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}", "Name another file.") from error
