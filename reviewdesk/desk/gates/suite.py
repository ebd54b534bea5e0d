"""Run a suite: check every entry against its report, its run or its labels."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.desk.gates.calibration_entry import entry_result
from reviewdesk.desk.gates.jury_entry import JuryEntry, OpenDesk, hold_juries
from reviewdesk.domain.gates.expect import FindingTally, SuiteResult


def run_suite(path: str, open_desk: OpenDesk, *, keep: int | None = None) -> SuiteResult:
    """Check everything that a suite names against what it expects.

    Paths are relative to the suite, and ``open_desk`` is called only if an entry names a run. Each
    entry keeps its first ``keep`` findings of each status. An entry whose report, run or labels
    cannot be used gets an ``error``, and the other entries still run.

    Raises:
        SuiteError: the suite itself is wrong, and nothing was run.
    """
    from reviewdesk.reports.suites.suite import JuryGate, read_suite

    suite = read_suite(path)
    folder = Path(path).parent
    juries = {
        at: JuryEntry(suite.file, gate, FindingTally(keep))
        for at, gate in enumerate(suite.entries)
        if isinstance(gate, JuryGate)
    }
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
