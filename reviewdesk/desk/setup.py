"""What a newcomer begins with: the sample runs, and files for a project from one of its reports."""

import json
import math
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.gates.expect import FEWEST, GateStatus
from reviewdesk.errors import NotFoundError, ReviewDeskError, UnclearTableError, UsageError
from reviewdesk.version import REPOSITORY, __version__

if TYPE_CHECKING:
    from reviewdesk.desk.labels.rows import SuiteExport
    from reviewdesk.domain.panel.spec import PanelSpec
    from reviewdesk.domain.records import Run

PANEL = "panel.yml"
SUITE = "judge/suite.yml"
WORKFLOW = ".github/workflows/reviewdesk.yml"

_SUFFIXES = {".json", ".jsonl", ".eval", ".csv", ".tsv", ".xlsx", ".parquet"}
_MOST_FILES = 40
"""The most files of a folder that are inspected, the newest first."""
_MOST_BYTES = 64 << 20
"""The size up to which a file is inspected, so that nobody has to wait."""
_STEP = 0.05

_JURY = """\
# Written by reviewdesk init. Fewer than {fewest} labels count, so this checks how far jurors agree.
# Once you have labelled more, this checks the judge by the labels:
#     reviewdesk labels export --format suite -o judge --force
jury:
  - name: "the jurors agree"
    report: {report}
    expect:
      - {{ target: jury.agreement, matcher: {{ schema: {{ minimum: {floor} }} }} }}
"""
_STEPS = """\
# Written by reviewdesk init: checks the gates on every push and pull request.
# Where the answers change, let a step before the gate write the report anew:
#     reviewdesk judge cases.jsonl --panel {panel} -o {report} --yes
name: reviewdesk
on: [push, pull_request]
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          persist-credentials: false
      - uses: {repository}/.github/actions/gate@v{version}
        with:
          suite: {suite}
          report: {report}
"""


def sample_folder() -> Path:
    """Return the folder of the sample runs: in the installed package, in a clone beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "sample_runs"
    return inside if inside.is_dir() else package.parent / "sample_runs"


def load_samples(desk: Desk) -> "Run":
    """Load the sample runs, one with labels by ``sample``; return the run to review first."""
    first, _, labelled = (
        desk.load(files.source(str(sample_folder() / f"{name}.jsonl"))).run
        for name in ("support-bot", "support-bot-second-panel", "library-desk")
    )
    truths = files.labels(str(sample_folder() / "library-desk-truth.jsonl"))
    import_labels(desk, labelled, [replace(row, reviewer="sample") for row in truths])
    return first


class FolderSetup(Struct, frozen=True):
    """What can be written for a report; without a ``panel``, ``missing`` says why."""

    report: str
    run: "Run"
    panel: "tuple[PanelSpec, tuple[str, ...]] | None"
    missing: str
    labels: "SuiteExport | None"
    floor: float
    """An agreement of the jurors that the report meets today, if it meets any."""


def reports(folder: Path, *, unclear: bool = False) -> Iterator[str]:
    """Yield the names of the newest reports in a folder, or of tables that need a map first."""
    from reviewdesk.reports import read

    try:
        held = [path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
        held.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return
    for path in held[:_MOST_FILES]:
        try:
            read(files.source(str(path), _MOST_BYTES))
            found = not unclear
        except ReviewDeskError as error:
            found = unclear and isinstance(error, UnclearTableError)
        if found:
            yield path.name


def check_free(folder: Path) -> None:
    panels = (PANEL, "panel.yaml", "panel.toml")
    for name in (*panels, SUITE, "judge/labels.jsonl", "judge/frame.jsonl", WORKFLOW):
        if files.is_taken(folder / name):
            raise UsageError(
                f"{folder / name}: already exists, so nothing is written",
                "Move it away, or make the others by hand: panel new, labels export.",
            )


def survey(report: str, own: Desk | None) -> FolderSetup:
    """Read a report, and find what can be written for it; ``own`` labels go before the file's."""
    from reviewdesk.desk.gates.new_report import loaded_report
    from reviewdesk.desk.live.panel_new import from_report
    from reviewdesk.desk.loading import LoadOptions

    if "${{" in report:
        raise UsageError(f"{report}: a workflow would read ${{{{ as code", "Rename the file.")
    missing = ""
    panel = None
    with loaded_report(files.source(report), LoadOptions(import_labels=True)) as found:
        labels = _labels(own, found.run) or _labels(found.desk, found.run)
        keys = found.desk.queue(found.run, order="agreement")
        lowest = [one.agreement for one in found.desk.rows(keys[:1]) if one.agreement is not None]
    try:
        panel = from_report(report)
    except UsageError as error:
        missing = error.message
    # A floor of 0 could never fail, so that jurors who disagree altogether fail the gate today. A
    # floor of 1 would fail at the first difference.
    steps = math.floor((lowest[0] if lowest else 0.0) / _STEP + 1e-9)
    floor = round(min(max(1, steps), round(1 / _STEP) - 1) * _STEP, 2)
    return FolderSetup(report, found.run, panel, missing, labels, floor)


def _labels(desk: Desk | None, run: "Run") -> "SuiteExport | None":
    from reviewdesk.desk.labels.rows import suite_rows

    if desk is None:
        return None
    try:
        found = suite_rows(desk, desk.run(run.hash), None)
    except (NotFoundError, UsageError):
        return None
    return found if found.n >= FEWEST else None


def write_setup(found: FolderSetup, folder: Path, floor: float, *, workflow: bool) -> list[str]:
    """Write the files, and return their names; an existing file is never replaced."""
    from reviewdesk.desk.live.panel_new import write_panel

    check_free(folder)
    texts = {}
    if found.labels is None:
        beside = Path(os.path.relpath(found.report, folder / "judge")).as_posix()
        texts[SUITE] = _JURY.format(report=_quoted(beside), floor=floor, fewest=FEWEST)
    else:
        made = files.suite_texts(found.run, found.labels)
        texts = {f"judge/{name}": text for name, text in made.items()}
    if workflow:
        texts[WORKFLOW] = _STEPS.format(
            panel=PANEL, repository=REPOSITORY, version=__version__, suite=SUITE,
            report=_quoted(Path(os.path.relpath(found.report, folder)).as_posix()),
        )  # fmt: skip
    if found.panel is not None:
        write_panel(*found.panel, folder / PANEL)
    for name, text in texts.items():
        path = folder / name
        files.make_folder(path.parent)
        files.write(None, path, [text])
    if found.labels is not None:
        _hold(folder / SUITE)
    return [*([PANEL] if found.panel is not None else []), *texts]


def _hold(path: Path) -> None:
    """Give a suite limits that hold today; a comment names each usual one that does not."""
    from reviewdesk.desk.gates.suite import run_suite

    suite = path.read_text(encoding="utf-8")
    # Its labels are in a file, so no desk is opened.
    (entry,) = run_suite(str(path), partial(Desk.open, path)).entries
    for one in entry.findings:
        value = one.reading.value
        if one.status is GateStatus.FAIL and isinstance(value, float):
            target = one.expected.target
            (line,) = (row for row in suite.splitlines() if f"target: {target}," in row)
            steps = math.floor(value * 100) if "minimum" in line else math.ceil(value * 100)
            new = f"      # {target} is {value:.3g} today, and should be {one.limit:g}"
            if 0 < steps < 100:
                new += "\n" + line.replace(f": {one.limit} ", f": {steps / 100} ")
            suite = suite.replace(line, new)
    files.write(None, path, [suite], force=True)


def _quoted(text: str) -> str:
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    return f'"{inner.encode("ascii", "backslashreplace").decode()}"'
