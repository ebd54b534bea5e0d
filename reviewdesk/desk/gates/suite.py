"""Run a suite: check every entry against its report, its run or its labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.gates.calibration_entry import entry_result
from reviewdesk.desk.gates.jury_entry import JuryEntry, OpenDesk, hold_juries
from reviewdesk.domain.gates.expect import FindingTally, SuiteResult
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.reports.suites.suite import JuryGate


def run_suite(
    path: str, open_desk: OpenDesk, *, keep: int | None = None, report: Path | None = None
) -> SuiteResult:
    """Check everything that a suite names against what it expects.

    Paths are relative to the suite, and ``open_desk`` is called only if an entry names a run. Each
    entry keeps its first ``keep`` findings of each status. An entry whose report, run or labels
    cannot be used gets an ``error``, and the other entries still run. A ``report`` takes the place
    of what the ``jury:`` entries name.

    Raises:
        SuiteError: the suite itself is wrong, and nothing was run.
        UsageError: there is a report, and no ``jury:`` entry to hold it to.
    """
    from reviewdesk.reports.suites.suite import JuryGate, read_suite

    suite = read_suite(path)
    folder = Path(path).parent
    juries = {
        at: JuryEntry(suite.file, _held_to(gate, report), FindingTally(keep))
        for at, gate in enumerate(suite.entries)
        if isinstance(gate, JuryGate)
    }
    if report is not None and not juries:
        raise UsageError(f"{suite.file}: has no jury: entry for {report}", "Write one.")
    hold_juries(juries.values(), folder, open_desk)
    return SuiteResult(
        suite.file,
        tuple(
            juries[at].result()
            if isinstance(gate, JuryGate)
            else entry_result(suite.file, gate, folder, open_desk)
            for at, gate in enumerate(suite.entries)
        ),
    )


def _held_to(gate: JuryGate, report: Path | None) -> JuryGate:
    """Return the entry, with a report in place of what it names if there is one."""
    if report is None:
        return gate
    return gate.model_copy(update={"report": str(report.absolute()), "run": None})
