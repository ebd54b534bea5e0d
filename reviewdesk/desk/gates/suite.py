"""Run a suite: check every entry against its report, its run or its labels."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.gates.calibration_entry import entry_result
from reviewdesk.desk.gates.jury_entry import JuryEntry, OpenDesk, hold_juries
from reviewdesk.desk.gates.new_report import loaded_report
from reviewdesk.domain.gates.expect import FindingTally, SuiteResult

if TYPE_CHECKING:
    from reviewdesk.desk.loading import LoadOptions
    from reviewdesk.reports.bytes.source import Source


def run_suite(
    path: str,
    open_desk: OpenDesk,
    *,
    keep: int | None = None,
    report: Source | None = None,
    options: LoadOptions | None = None,
) -> SuiteResult:
    """Check everything that a suite names against what it expects.

    Paths are relative to the suite, and ``open_desk`` is called only if an entry names a run. Each
    entry keeps its first ``keep`` findings of each status. An entry whose report, run or labels
    cannot be used gets an ``error``, and the other entries still run.

    A ``report`` is read by ``options`` and checked in place of what the suite was written about:
    ``jury:`` entries check its verdicts, and the labels of ``calibration:`` entries are joined to
    it.

    Raises:
        SuiteError: the suite itself is wrong, and nothing was run.
        ReportError: the report cannot be read.
    """
    from reviewdesk.reports.suites.suite import JuryGate, read_suite

    suite = read_suite(path)
    folder = Path(path).parent
    with nullcontext() if report is None else loaded_report(report, options) as new:
        name = None if new is None else new.name
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
