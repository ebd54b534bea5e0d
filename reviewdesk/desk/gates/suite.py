"""Run a suite: check every entry against its report, its run or its labels; write the result."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import file_explained, named, write
from reviewdesk.desk.gates.calibration_entry import entry_result
from reviewdesk.desk.gates.new_report import NewReport, OpenDesk, loaded_report, older_panels
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.gates.expect import (
    EntryKind,
    EntryResult,
    GateStatus,
    JuryReadings,
    SuiteResult,
    hold,
)
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.domain.verdict import Verdict, stored_body, verdict_reader
from reviewdesk.errors import ReviewDeskError, SuiteError, UsageError
from reviewdesk.file_output import is_stream
from reviewdesk.pages.markdown import document_markdown
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.suites.suite import CalibrationGate, JuryGate, read_suite
from reviewdesk.store import runs, verdicts
from reviewdesk.views.gates import finding_lines, gates, headline

_MOST_NAMED = 5


def suite_weights(path: str) -> Mapping[str, float]:
    """Return the weights of dimensions of the suite's first entry that has some."""
    for entry in read_suite(path).entries:
        if isinstance(entry, CalibrationGate) and entry.composite is not None:
            return entry.composite
    raise UsageError(
        f"{show_line(path, 120)}: no entry under calibration has composite",
        "Write composite: {accuracy: 0.6, safety: 0.4} in one.",
    )


def hold_juries(
    entries: "Collection[JuryEntry]",
    folder: Path,
    open_desk: OpenDesk,
    new: NewReport | None = None,
) -> None:
    """Check every entry, by the ``new`` report if given; read each report or run only once."""
    together: dict[tuple[str | None, str | None], list[JuryEntry]] = {}
    for entry in entries:
        place = (None, None) if new else (entry.gate.report, entry.gate.run)
        together.setdefault(place, []).append(entry)
    for (report, run), same in together.items():
        try:
            if report is not None:
                made = read(Source.from_path(folder / named(report)))
                found: Iterator[Verdict] = map(verdict_reader(made.header, {}), made.verdicts())
            else:
                found = _of_run(new.desk, new.run.name) if new else _of_run(open_desk(), run)
            for verdict in found:
                jury = JuryReadings(verdict)
                for entry in same:
                    entry.take(verdict, jury)
        except ReviewDeskError as error:
            for entry in same:
                what = "report" if entry.gate.report is not None else "run"
                text = f"{what}: {error.message}"
                entry.finish(str(SuiteError(entry.suite, entry.gate.source_line, text, error.hint)))
        else:
            for entry in same:
                entry.finish(entry.case_problem())


def _of_run(desk: Desk, name: str | None) -> Iterator[Verdict]:
    run = desk.run(name)
    read = verdict_reader(run.header, runs.options(desk.conn, run.key))
    for text, _ in verdicts.bodies(desk.conn, run):
        yield read(stored_body(text))


@dataclass
class JuryEntry:
    """The state of one entry while its verdicts are read one by one."""

    suite: str
    gate: JuryGate
    result: EntryResult
    replaced: bool
    """Whether a new report is checked in place of what the entry names."""
    matches: list[str] = field(default_factory=list)
    """The ids of the verdicts that match the case."""

    def take(self, verdict: Verdict, jury: JuryReadings) -> None:
        if self.gate.case is not None:
            if self.gate.case not in (verdict.id, verdict.test):
                return
            self.matches.append(verdict.id)
        if len(self.matches) < 2:
            self.result.add(
                hold(one, jury.read(one.target), verdict.id, verdict.test)
                for one in self.gate.expect
            )

    def case_problem(self) -> str:
        if self.gate.case is None or len(self.matches) == 1:
            return ""
        case = show_line(self.gate.case, 120)
        source = show_line(self.result.source, 120)
        if self.matches:
            some = ", ".join(f'"{show_line(name, 80)}"' for name in self.matches[:_MOST_NAMED])
            problem = f'case: "{case}" names {len(self.matches)} verdicts of {source}: {some}'
            hint = "Give an id that is not another verdict's test."
        else:
            problem = f'case: no verdict of {source} has the id or test "{case}"'
            hint = "Give an id or a test as the report has it."
        return str(SuiteError(self.suite, self.gate.line_of("case"), problem, hint))

    def finish(self, error: str) -> None:
        """Complete the result after the last verdict; with an error, nothing was checked."""
        made = self.result
        if error:
            self.result = EntryResult(made.name, made.kind, made.source, made.case, error=error)
        elif not sum(made.counts.values()):
            made.notes = ("there are no verdicts",)
        # Without a verdict nothing can fail, whatever the entry expects.
        if (error or made.status is GateStatus.SKIP) and (self.replaced or made.notes):
            self.result.short = ("no check could be made",)
        if self.replaced:
            replaced = f"in place of {show_line(self.gate.source, 120)}"
            self.result.notes = (replaced, *self.result.notes)


def run_suite(
    path: str,
    open_desk: OpenDesk,
    *,
    keep: int | None = None,
    report: Source | None = None,
    options: LoadOptions | None = None,
    against: Source | None = None,
    baseline: Source | None = None,
    margin: float | None = None,
) -> SuiteResult:
    """Check everything that a suite names against its expectations.

    Each entry keeps its first ``keep`` findings of each status; one that cannot be checked gets an
    ``error``. A ``report`` is checked in place of what the suite was written about, and its panel
    may lose a ``margin`` to that of ``against``, and to that of ``baseline`` or the labelled one.
    """
    suite = read_suite(path)
    folder = Path(path).parent
    older = tuple(older_panels(report, options, against, baseline, margin))
    if older and all(isinstance(gate, JuryGate) for gate in suite.entries):
        raise UsageError(
            f"{suite.file}: no calibration entry, by whose labels two panels are compared",
            "Write one: reviewdesk labels export --format suite -o FOLDER.",
        )
    with nullcontext() if report is None else loaded_report(report, options) as new:
        name = None if new is None else new.name
        if new is not None:
            new.older = older
        juries = {
            at: JuryEntry(
                suite.file,
                gate,
                EntryResult(gate.name, EntryKind.JURY, name or gate.source, gate.case, keep),
                replaced=new is not None,
            )
            for at, gate in enumerate(suite.entries)
            if isinstance(gate, JuryGate)
        }
        hold_juries(juries.values(), folder, open_desk, new)
        return SuiteResult(
            suite.file,
            tuple(
                juries[at].result
                if isinstance(gate, JuryGate)
                else entry_result(suite.file, gate, folder, open_desk, new)
                for at, gate in enumerate(suite.entries)
            ),
        )


_TAGS = {GateStatus.PASS: "system-out", GateStatus.FAIL: "failure", GateStatus.SKIP: "skipped"}
_IN_XML = 100
"""The most findings of one status in the XML; the JSON has all of them."""


def write_markdown(result: SuiteResult, path: Path, *, representative: bool) -> None:
    lines = document_markdown(gates(result, representative=representative), level=1)
    _write(path, "\n".join(lines), b"#", "Markdown")


def _write(path: Path, text: str, first: bytes, kind: str) -> None:
    """Write a file that is new, empty or begins with ``first``, the first byte of its kind."""
    with file_explained(path):
        if path.is_file() and not is_stream(path) and path.read_bytes()[:1] not in {b"", first}:
            raise UsageError(f"{path}: already exists and is not {kind}", "Name another file.")
    write(None, path, [text], force=True)


def write_junit(result: SuiteResult, path: Path) -> None:
    """Write JUnit XML with one test case per entry, which holds its failures, skips and errors."""
    counts = {
        "tests": len(result.entries),
        "failures": result.count(GateStatus.FAIL),
        "errors": len(result.errors),
        "skipped": result.count(GateStatus.SKIP),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", numbers)
    suite = ET.SubElement(root, "testsuite", {"name": show_line(result.suite), **numbers})
    for entry in result.entries:
        case = ET.SubElement(
            suite, "testcase", classname=entry.kind.value, name=show_line(entry.name)
        )
        if entry.error:
            ET.SubElement(case, "error", message=show_line(entry.error, 4000))
            continue
        inner = ET.SubElement(case, _TAGS[entry.status])
        lines = [
            *finding_lines(entry, _IN_XML, _IN_XML),
            *(f"not shown: {one}" for one in entry.short),
            *(f"not representative: {one}" for one in entry.doubts),
        ]
        if entry.status is GateStatus.PASS:
            lines.insert(0, headline(entry))
        else:
            inner.set("message", headline(entry))
        inner.text = show("\n".join(lines), 1_000_000)
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    _write(path, f"{made.decode()}\n", b"<", "XML")
