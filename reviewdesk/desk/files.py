"""Files by their names: a report into the desk, labels out of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.labels import rows
from reviewdesk.desk.labels.rows import (
    ConfusionCounts,
    ExportedRows,
    Resample,
    SuiteExport,
)
from reviewdesk.domain.records import Design, Loaded, Run
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.loading import LoadOptions, ProgressCall


def open_file(
    desk: Desk, path: str, options: LoadOptions, progress: ProgressCall | None = None
) -> Loaded:
    """Load the report of that name; ``~`` is the home folder."""
    from reviewdesk.reports.bytes.source import Source

    return desk.load(Source.from_path(str(named(path))), options, progress)


def named(text: str) -> Path:
    """The path that a person typed; ``~`` and ``~NAME`` are home folders."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{text}: there is no such home folder", "Write the path out.") from error


def run_kind(path: Path) -> str | None:
    """What of a run a file of that name holds; ``None`` where its labels are meant."""
    if path.name.endswith("report.jsonl"):
        return "report"
    return {".json": "report", ".html": "html", ".htm": "html", ".md": "markdown"}.get(path.suffix)


def write_run(desk: Desk, run: Run, path: Path, progress: ProgressCall | None = None) -> None:
    """Write a run to a file that is not there yet: its report, its page or its summary."""
    from reviewdesk.desk.export import page, report
    from reviewdesk.reports.canonical.writer import is_lines

    check_new(path)
    kind = run_kind(path)
    if kind == "report":
        lines = is_lines(path)
        pieces: Iterable[str] = report.report(desk, run, as_lines=lines, progress=progress)
    elif kind == "html":
        pieces = page.html(desk, run, progress=progress)
    else:
        pieces = [page.summary(desk, run)]
    write_pieces(desk, path, pieces)


def check_new(path: Path) -> None:
    """Refuse a file that is there already."""
    if _there(path):
        raise UsageError(f"{path}: is there already", "Name a new file.")


def write_new(desk: Desk, path: Path, text: str) -> None:
    """Write an export to a file that is not there yet."""
    check_new(path)
    write(desk, path, text)


def _there(path: Path) -> bool:
    """Whether something stands there; what cannot be looked at is left to the writing."""
    try:
        return path.exists()
    except OSError:
        return False


def export(
    desk: Desk, run: Run, kind: str, source: str | None = None, drawn: Resample | None = None
) -> tuple[str, ExportedRows]:
    """A run's labels as text, and the rows that are in it.

    ``mcptest`` and ``yaml`` have two keys per row and may be ``drawn`` by weight; ``full`` and
    ``csv`` hold everything known of each label, its weight too.
    """
    from reviewdesk.reports.labels.writer import as_csv, as_jsonl, as_yaml

    if kind in {"full", "csv"}:
        found = rows.full_rows(desk, run, source)
        return as_csv(found.rows) if kind == "csv" else as_jsonl(found.rows), found
    found = rows.score_rows(desk, run, source, drawn)
    if kind == "yaml":
        about = _about(run, found.design, drawn) | {"confidence_source": found.source}
        return as_yaml(found.rows, about | {"n": len(found.rows)}), found
    return as_jsonl(found.rows), found


def reliability(desk: Desk, run: Run, drawn: Resample | None = None) -> tuple[str, ConfusionCounts]:
    """What a suite's calibration entry takes to correct the pass rate, as text and as counts.

    Raises:
        UsageError: no label makes a row.
    """
    from reviewdesk.reports.labels.writer import as_reliability

    found = rows.judge_counts(desk, run, drawn)
    about = _about(run, found.design, drawn) | {"n": found.n}
    return as_reliability(found.cells, found.observed, about), found


def write_suite(desk: Desk, run: Run, folder: Path, source: str | None = None) -> SuiteExport:
    """Write ``labels.jsonl`` and a ``suite.yml`` that holds its judge to the default limits.

    The labels go first: a suite beside older ones would be refused, where the reverse might pass.

    Raises:
        UsageError: no label makes a row, or the folder cannot be written.
    """
    from reviewdesk.reports.labels.writer import SUITE_LABELS, as_jsonl, as_suite

    found = rows.suite_rows(desk, run, source)
    about = _about(run, found.design, None) | {"confidence_source": found.source}
    about |= {"n": len(found.rows)}
    name = f"the judge of {run.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: {(error.strerror or str(error)).lower()}", "Name another folder."
        ) from error
    write(desk, folder / SUITE_LABELS, as_jsonl(found.rows))
    write(
        desk,
        folder / "suite.yml",
        as_suite(name, found.cells, found.observed, found.decided, about),
    )
    return found


def _about(run: Run, design: Design, drawn: Resample | None) -> dict[str, Any]:
    """What a file's comments say of where its numbers come from."""
    seed = {} if drawn is None else {"resampled by weight, seed": drawn.seed}
    return {"run": run.name, "design": design.value, **seed}


def write(desk: Desk, path: Path, text: str) -> None:
    """Write an export to a file, which must not be the desk itself."""
    write_pieces(desk, path, [text])


def write_pieces(desk: Desk, path: Path, pieces: Iterable[str]) -> None:
    """Write an export piece by piece; the file is there once it is whole, or stays as it was."""
    if _there(path) and path.samefile(desk.path):
        raise UsageError(f"{path}: is the desk itself", "Name another file.")
    try:
        if _there(path) and not path.is_file():
            # A pipe or a device, in the place of which nothing may be put.
            _fill(path, pieces)
            return
        whole = path.resolve()
        part = whole.with_name(f".{whole.name}.part")
        try:
            _fill(part, pieces)
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}", "Name another file.") from error


def _fill(path: Path, pieces: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        out.writelines(pieces)
