"""Files by their names: a report into the desk, labels out of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk import exporting
from reviewdesk.desk.exporting import Exported, JudgeCounts, Resample
from reviewdesk.domain.records import Design, Loaded, Run
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


def export(
    desk: Desk, run: Run, kind: str, source: str | None = None, drawn: Resample | None = None
) -> tuple[str, Exported]:
    """A run's labels as text, and the rows that are in it.

    ``mcptest`` and ``yaml`` have two keys per row and may be ``drawn`` by weight; ``full`` and
    ``csv`` hold everything known of each label, its weight too.
    """
    from reviewdesk.reports.labelswrite import as_csv, as_jsonl, as_yaml

    if kind in {"full", "csv"}:
        found = exporting.full_rows(desk, run, source)
        return as_csv(found.rows) if kind == "csv" else as_jsonl(found.rows), found
    found = exporting.score_rows(desk, run, source, drawn)
    if kind == "yaml":
        about = _about(run, found.design, drawn) | {"confidence_source": found.source}
        return as_yaml(found.rows, about | {"n": len(found.rows)}), found
    return as_jsonl(found.rows), found


def reliability(desk: Desk, run: Run, drawn: Resample | None = None) -> tuple[str, JudgeCounts]:
    """What a suite's calibration entry takes to correct the pass rate, as text and as counts.

    Raises:
        UsageError: no label makes a row.
    """
    from reviewdesk.reports.labelswrite import as_reliability

    found = exporting.judge_counts(desk, run, drawn)
    about = _about(run, found.design, drawn) | {"n": found.n}
    return as_reliability(found.cells, found.observed, about), found


def _about(run: Run, design: Design, drawn: Resample | None) -> dict[str, str]:
    """What a file's comments say of where its numbers come from."""
    seed = {} if drawn is None else {"resampled by weight, seed": drawn.seed}
    return {"run": run.name, "design": design.value, **seed}


def write(desk: Desk, path: Path, text: str) -> None:
    """Write an export to a file, which must not be the desk itself."""
    if _there(path) and path.samefile(desk.path):
        raise UsageError(f"{path}: is the desk itself", "Name another file.")
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}", "Name another file.") from error
