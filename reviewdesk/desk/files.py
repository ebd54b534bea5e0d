"""Load reports from files into the desk, and write runs and labels to files."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.domain.records import ProposedMap, Run
from reviewdesk.errors import LabelsFileError, UsageError, reason
from reviewdesk.file_output import is_stream, only_desk, whole_file, whole_path
from reviewdesk.store.connect import is_open_desk, is_own_file

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.labels.rows import ExportedRows, SuiteExport
    from reviewdesk.desk.loading import LoadOptions, ProgressCall
    from reviewdesk.domain.gates.join import LabelRow
    from reviewdesk.reports.bytes.source import Source


keep_to_desk = only_desk


def formats() -> tuple[str, ...]:
    from reviewdesk.reports import formats as readable

    return readable()


def source(name: str, max_size: int | None = None) -> "Source":
    """Return a file of at most ``max_size`` bytes as a source; ``-`` is standard input."""
    from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source

    if is_open_desk(Path(name)):
        raise UsageError(f"{name}: is the desk itself, not a report", "Name a report.")
    limit = DEFAULT_MAX_SIZE if max_size is None else max_size
    if name != "-":
        return Source.from_path(name, limit)
    if not sys.stdin:
        raise UsageError("standard input is closed", "Name a file, or pipe one in.")
    return Source.from_bytes("-", sys.stdin.buffer.read(limit + 1), limit)


def proposed_map(name: str, options: "LoadOptions", max_size: int | None = None) -> ProposedMap:
    """Return a map for a table, by the options' rule, with three verdicts as the map reads them."""
    import tomllib

    from reviewdesk.reports import propose

    made = propose(source(name, max_size), options)
    threshold = options.threshold
    if threshold is not None and (scale := tomllib.loads(made.text).get("scale")):
        # A map states it on the scale of its scores.
        low, high = scale
        threshold = float(f"{low + threshold * (high - low):.12g}")
    rules = {"strategy": options.strategy, "threshold": threshold}
    stated = [
        f'{key} = "={value}"\n'
        for key, value in rules.items()
        if value is not None and f"\n{key} = " not in f"\n{made.text}"
    ]
    return replace(made, text="".join([*stated, made.text]))


def labels(name: str) -> "list[LabelRow]":
    """Read a labels file's rows that name a verdict and its truth; ``-`` is standard input."""
    from reviewdesk.reports.labels.reader import read_labels

    if rows := read_labels(source(name)):
        return rows
    raise LabelsFileError(name, "", "there are no labels in this file", "Give rows: id, truth.")


def named(text: str) -> Path:
    """Return the path that a person typed, with ``~`` and ``~NAME`` expanded."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{text}: there is no such home folder", "Write the path out.") from error


def of_run(run: Run, suffix: str) -> Path:
    """Return the name of a file about a run, for a person who named none."""
    return Path((re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "run") + suffix)


def run_kind(path: Path) -> str | None:
    if path.name.endswith("report.jsonl"):
        return "report"
    return {".json": "report", ".html": "html", ".htm": "html", ".md": "markdown"}.get(path.suffix)


def write_run(
    desk: "Desk",
    run: Run,
    path: Path,
    progress: "ProgressCall | None" = None,
    *,
    force: bool = False,
) -> None:
    from reviewdesk.desk.export import report

    check_target(desk.path, path, force=force)
    kind = run_kind(path)
    if kind == "report":
        pieces: Iterable[str] = report.report(desk, run, path, progress=progress)
    elif kind == "html":
        pieces = report.html(desk, run, progress=progress)
    else:
        pieces = [report.summary(desk, run)]
    write(desk, path, pieces, force=force)


def check_target(own: Path, path: Path, *, force: bool) -> None:
    """Raise UsageError for a folder, a file of the desk ``own``, or what may not be replaced."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
        raise UsageError(f"{path}: is a folder", "Name another file.")
    if is_own_file(own, path):
        raise UsageError(f"{path}: is the desk itself", "Name another file.")
    if not force and is_taken(path):
        raise _taken(path)


def is_taken(path: Path) -> bool:
    return os.path.lexists(path) and not is_stream(path)


def _taken(path: Path) -> UsageError:
    return UsageError(f"{path}: already exists", "Name a new file, or replace it with --force.")


def export(
    desk: "Desk", run: Run, kind: str, source: str | None = None
) -> "tuple[str, ExportedRows]":
    """Return a run's labels as the text of a file, with its rows; ``kind`` may be a tool's name."""
    # Imported here, as below, because it loads numpy and estimators.
    from reviewdesk.desk.labels import rows
    from reviewdesk.reports.labels.writer import TOOLS, as_csv, as_jsonl, as_yaml, feedback

    if kind in {"full", "csv"}:
        found = rows.full_rows(desk, run, source)
        return as_csv(found.rows) if kind == "csv" else as_jsonl(found.rows), found
    if kind in TOOLS:
        found = rows.full_rows(desk, run, source)
        bodies = tuple(filter(None, (feedback(kind, row) for row in found.rows)))
        if left := len(found.rows) - len(bodies):
            told = f"{left} of {len(found.rows)} labels are left out: their verdicts have no id of "
            warning = f"{told}{kind}, or the label is one that it does not take"
            found = replace(found, warnings=(*found.warnings, warning))
        found = replace(found, rows=bodies)
        return as_jsonl(bodies), found
    found = rows.score_rows(desk, run, source)
    if kind == "yaml":
        about = {"run": run.name, "design": found.design.value, "confidence_source": found.source}
        return as_yaml(found.rows, about | {"n": len(found.rows)}), found
    return as_jsonl(found.rows), found


def write_suite(
    desk: "Desk", run: Run, folder: Path, source: str | None = None, *, force: bool = False
) -> "SuiteExport":
    """Write ``labels.jsonl``, ``frame.jsonl`` and a ``suite.yml`` with gates for a run's judge."""
    from reviewdesk.desk.labels import rows

    found = rows.suite_rows(desk, run, source)
    make_folder(folder)
    texts = suite_texts(run, found)
    for file in texts:
        check_target(desk.path, folder / file, force=force)
    for file, text in texts.items():
        write(desk, folder / file, [text], force=force)
    return found


def suite_texts(run: Run, found: "SuiteExport") -> dict[str, str]:
    from reviewdesk.reports.labels.writer import (
        SUITE_FRAME,
        SUITE_LABELS,
        as_frame,
        as_jsonl,
        as_suite,
    )

    about = {
        "run": run.name,
        "design": found.design.value,
        "confidence_source": found.source,
        "n": found.n,
    }
    name = f"the judge of {run.name}"
    given = (name, found.cells, found.observed, found.decided, about, found.question)
    # The suite comes last: a new one beside older labels might pass.
    texts = {SUITE_LABELS: as_jsonl(found.rows)}
    if found.frame:
        texts[SUITE_FRAME] = as_frame(found.frame)
    texts["suite.yml"] = as_suite(*given, frame=bool(found.frame))
    return texts


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {reason(error)}", "Name another folder.") from error


@contextmanager
def whole_desk(path: Path, own: Path, *, force: bool = False) -> Iterator[Path]:
    """Return an empty file for a new desk; it gets its name only if the block succeeds."""
    check_target(own, path, force=force)
    with file_explained(path), whole_path(path, replace=force) as part:
        yield part


@contextmanager
def file_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}", "Name another file.") from error


def write(
    desk: "Desk | None", path: Path, pieces: Iterable[str | bytes], *, force: bool = False
) -> None:
    """Write a file, with or without a desk; it gets its name once everything is written."""
    if desk is not None:
        check_target(desk.path, path, force=force)
    with file_explained(path), whole_file(path, replace=force) as out:
        out.writelines(one if isinstance(one, bytes) else one.encode() for one in pieces)
