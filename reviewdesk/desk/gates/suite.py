"""Run a suite: check every entry against its report, its run or its labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.files import named
from reviewdesk.desk.gates.calibration_entry import entry_result
from reviewdesk.desk.gates.new_report import OpenDesk, loaded_report, older_panels
from reviewdesk.domain.gates.expect import (
    EntryKind,
    EntryResult,
    FindingTally,
    GateStatus,
    SuiteResult,
    hold,
)
from reviewdesk.domain.gates.targets import JuryReadings
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Verdict, stored_body, verdict_reader
from reviewdesk.errors import ReviewDeskError, SuiteError, UsageError
from reviewdesk.store import runs, verdicts

if TYPE_CHECKING:
    from reviewdesk.desk.gates.new_report import NewReport
    from reviewdesk.desk.gates.older_panels import Against
    from reviewdesk.desk.loading import LoadOptions
    from reviewdesk.reports.bytes.source import Source
    from reviewdesk.reports.suites.suite import JuryGate, Suite


_MOST_NAMED = 5
_MOST_REMEMBERED = 500
"""The most verdict names that are kept, for a suggestion if a case matches no verdict."""


def suite_weights(path: str) -> Mapping[str, float]:
    """Return the weights of dimensions of the suite's first entry that has some.

    Raises:
        UsageError: no entry has weights.
        SuiteError: the file is not a valid suite.
    """
    from reviewdesk.reports.suites.suite import CalibrationGate, read_suite

    for entry in read_suite(path).entries:
        if isinstance(entry, CalibrationGate) and entry.composite is not None:
            return entry.composite
    raise UsageError(
        f"{show_line(path, 120)}: no entry under calibration has composite",
        "Write composite: {accuracy: 0.6, safety: 0.4} in one.",
    )


def hold_juries(
    entries: Collection[JuryEntry], folder: Path, open_desk: OpenDesk, new: NewReport | None = None
) -> None:
    """Check every entry, and read a report or run that several entries name only once.

    A ``new`` report is checked in place of those that they name.
    """
    if new is not None:
        _check_verdicts([*entries], lambda: _of_run(lambda: new.desk, new.run.name))
        return
    together: dict[tuple[str | None, str | None], list[JuryEntry]] = {}
    for entry in entries:
        together.setdefault((entry.gate.report, entry.gate.run), []).append(entry)
    for (report, run), same in together.items():
        if report is not None:
            _check_verdicts(same, partial(_of_report, folder, report))
        else:
            _check_verdicts(same, partial(_of_run, open_desk, run))


def _of_report(folder: Path, report: str) -> Iterator[Verdict]:
    """Yield the verdicts of a report file, without the desk."""
    from reviewdesk.reports import Source, read

    found = read(Source.from_path(folder / named(report)))
    return map(verdict_reader(found.header, {}), found.verdicts())


def _of_run(open_desk: OpenDesk, name: str | None) -> Iterator[Verdict]:
    """Yield the verdicts of a loaded run."""
    desk = open_desk()
    run = desk.run(name)
    read = verdict_reader(run.header, runs.options(desk.conn, run.key))
    for body in verdicts.bodies(desk.conn, run):
        yield read(stored_body(body.text))


def _check_verdicts(entries: list[JuryEntry], verdicts: Callable[[], Iterator[Verdict]]) -> None:
    try:
        for verdict in verdicts():
            jury = JuryReadings(verdict)
            for entry in entries:
                entry.take(verdict, jury)
    except ReviewDeskError as error:
        for entry in entries:
            entry.spoil(error)
        return
    for entry in entries:
        entry.settle()


@dataclass
class JuryEntry:
    """The state of one entry while its verdicts are read one by one."""

    suite: str
    gate: JuryGate
    tally: FindingTally
    report: str | None = None
    """The name of the new report that is checked in place of what the entry names."""
    error: str = ""
    named: list[str] = field(default_factory=list)
    """The ids of the first few verdicts that match the case."""
    matches: int = 0
    seen: dict[str, None] = field(default_factory=dict)
    """The first distinct ids and tests; many verdicts may share a test."""
    verdicts: int = 0

    def take(self, verdict: Verdict, jury: JuryReadings) -> None:
        """Check one verdict against the entry's expectations, if the entry's case matches it."""
        self.verdicts += 1
        if self.gate.case is not None:
            if len(self.seen) < _MOST_REMEMBERED:
                self.seen |= dict.fromkeys((verdict.id, verdict.test))
            if self.gate.case not in (verdict.id, verdict.test):
                return
            self.matches += 1
            if len(self.named) < _MOST_NAMED:
                self.named.append(verdict.id)
            if self.matches > 1:
                return
        self.tally.add(
            hold(one, jury.read(one.target), verdict.id, verdict.test) for one in self.gate.expect
        )

    @property
    def source(self) -> str:
        return self.report or self.gate.source

    def spoil(self, error: ReviewDeskError) -> None:
        what = "report" if self.gate.report is not None else "run"
        problem = f"{what}: {error.message}"
        self.error = str(SuiteError(self.suite, self.gate.source_line, problem, error.hint))

    def settle(self) -> None:
        """Set the entry's error unless its case matched exactly one of all verdicts."""
        if self.gate.case is None or self.matches == 1:
            return
        case = show_line(self.gate.case, 120)
        source = show_line(self.source, 120)
        if self.matches:
            problem = f'case: "{case}" names {self.matches} verdicts of {source}'
            problem += f": {_names_text(self.named, self.matches)}"
            hint = "Give the id of one that is no other's test."
        else:
            problem = f'case: no verdict of {source} has the id or test "{case}"'
            # The names that are most like the case, else the first ones.
            names = {name[:120]: name for name in self.seen}
            close = get_close_matches(self.gate.case[:120], names, 3)
            some = [names[name] for name in close] or list(self.seen)[:_MOST_NAMED]
            problem += f"; it has {_names_text(some, self.verdicts)}"
            hint = "Give an id or a test as the report has it."
        self.error = str(SuiteError(self.suite, self.gate.line_of("case"), problem, hint))

    def result(self) -> EntryResult:
        """Return the result of the entry."""
        held = FindingTally() if self.error else self.tally
        replaced = (
            () if self.report is None else (f"in place of {show_line(self.gate.source, 120)}",)
        )
        nothing = () if sum(held.counts.values()) or self.error else ("there are no verdicts",)
        return EntryResult(
            name=self.gate.name,
            kind=EntryKind.JURY,
            source=self.source,
            case=self.gate.case,
            status=GateStatus.FAIL if self.error else held.status,
            counts=held.counts,
            units=held.units,
            origins=held.origins,
            findings=tuple(held.findings),
            notes=(*replaced, *nothing),
            error=self.error,
        )


def _names_text(names: list[str], count: int) -> str:
    if not count:
        return "none"
    some = ", ".join(f'"{show_line(name, 80)}"' for name in names[:_MOST_NAMED])
    more = count - min(len(names), _MOST_NAMED)
    return f"{some} and {more} more" if more > 0 else some


def _compare(
    suite: Suite, new: NewReport | None, against: Against, options: LoadOptions | None
) -> None:
    from reviewdesk.reports.suites.suite import JuryGate

    if new is None:
        raise UsageError("--against needs the report of the new panel", "Add --report FILE.")
    if all(isinstance(gate, JuryGate) for gate in suite.entries):
        raise UsageError(
            f"{suite.file}: no calibration entry, by whose labels two panels are compared",
            "Write one: reviewdesk labels export --format suite -o FOLDER.",
        )
    new.older = tuple(older_panels(against, options))


def run_suite(
    path: str,
    open_desk: OpenDesk,
    *,
    keep: int | None = None,
    report: Source | None = None,
    options: LoadOptions | None = None,
    against: Against | None = None,
) -> SuiteResult:
    """Check everything that a suite names against its expectations.

    Paths are relative to the suite, and ``open_desk`` is called only if an entry names a run. Each
    entry keeps its first ``keep`` findings of each status. An entry whose report, run or labels
    cannot be used gets an ``error``, and the other entries still run.

    A ``report`` is read by ``options`` and checked in place of what the suite was written about:
    ``jury:`` entries check its verdicts, and the labels of ``calibration:`` entries are joined to
    it. Its panel is also compared with those of ``against``, by the labels of each entry.

    Raises:
        SuiteError: the suite itself is wrong, and nothing was run.
        UsageError: older panels are named without a report or without labels to compare by.
        ReportError: the report cannot be read.
    """
    from reviewdesk.reports.suites.suite import JuryGate, read_suite

    suite = read_suite(path)
    folder = Path(path).parent
    with nullcontext() if report is None else loaded_report(report, options) as new:
        name = None if new is None else new.name
        if against is not None:
            _compare(suite, new, against, options)
        juries = {
            at: JuryEntry(suite.file, gate, FindingTally(keep), name)
            for at, gate in enumerate(suite.entries)
            if isinstance(gate, JuryGate)
        }
        hold_juries(juries.values(), folder, open_desk, new)
        return SuiteResult(
            suite.file,
            tuple(
                juries[at].result()
                if isinstance(gate, JuryGate)
                else entry_result(suite.file, gate, folder, open_desk, new)
                for at, gate in enumerate(suite.entries)
            ),
        )
