"""The ``jury:`` entries of a suite: every verdict of a report or a run, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.files import named
from reviewdesk.desk.review.items import read_verdict
from reviewdesk.domain.gates.expect import (
    EntryKind,
    EntryResult,
    FindingTally,
    hold,
)
from reviewdesk.domain.gates.jury_targets import JuryReadings, JuryTarget
from reviewdesk.domain.gates.limits import GateStatus
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Generator, Policy, Verdict, verdict_from_body
from reviewdesk.errors import ReviewDeskError, SuiteError
from reviewdesk.store import runs

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.reports.suites.suite import JuryGate

_LISTED = 5
_REMEMBERED = 500
"""How many names of verdicts are kept, in case none of them is the one asked for."""

OpenDesk = Callable[[], "Desk"]


def hold_juries(entries: Iterable[JuryEntry], folder: Path, open_desk: OpenDesk) -> None:
    """Let the verdicts of every report and run pass by; what several entries name, once."""
    together: dict[tuple[str | None, str | None], list[JuryEntry]] = {}
    for entry in entries:
        together.setdefault((entry.gate.report, entry.gate.run), []).append(entry)
    for (report, run), same in together.items():
        if report is not None:
            _hold(same, partial(_of_report, folder, report))
        else:
            _hold(same, partial(_of_run, open_desk, run))


def _of_report(folder: Path, report: str) -> Iterator[Verdict]:
    """The verdicts of a file, one at a time; the desk has no part in it."""
    from reviewdesk.reports import Source, read

    found = read(Source.from_path(folder / named(report)))
    defaults = Policy.from_body(found.header.get("defaults"))
    stated = found.header.get("generator") or {}
    generator = Generator(stated.get("model"), stated.get("vendor"))
    for body in found.verdicts():
        yield verdict_from_body(body, defaults, generator)


def _of_run(open_desk: OpenDesk, name: str | None) -> Iterator[Verdict]:
    """The verdicts of a loaded run, one at a time."""
    desk = open_desk()
    run = desk.run(name)
    filled = runs.options(desk.conn, run.key)
    rows = desk.conn.execute(
        """SELECT b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
           WHERE v.run = ? ORDER BY v.key""",
        (run.key,),
    )
    for row in rows:
        yield read_verdict(row["body"], run.header, filled)


def _hold(entries: list[JuryEntry], verdicts: Callable[[], Iterator[Verdict]]) -> None:
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
    """One entry while its verdicts pass by."""

    suite: str
    gate: JuryGate
    tally: FindingTally
    error: str = ""
    named: list[str] = field(default_factory=list)
    """The ids of the verdicts that the case names; the first few."""
    matches: int = 0
    seen: dict[str, None] = field(default_factory=dict)
    """The first ids and tests, each once: many verdicts may be of one test."""
    verdicts: int = 0

    def take(self, verdict: Verdict, jury: JuryReadings) -> None:
        """Hold one verdict to the entry, if it is about it."""
        self.verdicts += 1
        if self.gate.case is not None:
            self._remember(verdict)
            if self.gate.case not in (verdict.id, verdict.test):
                return
            self.matches += 1
            if len(self.named) < _LISTED:
                self.named.append(verdict.id)
            if self.matches > 1:
                return
        self.tally.add(
            hold(one, jury.read(JuryTarget(one.target)), verdict.id, verdict.test)
            for one in self.gate.expect
        )

    def _remember(self, verdict: Verdict) -> None:
        if len(self.seen) < _REMEMBERED:
            self.seen |= dict.fromkeys((verdict.id, verdict.test))

    def spoil(self, error: ReviewDeskError) -> None:
        """Nothing can be said: the report or the run cannot be used."""
        what = "report" if self.gate.report is not None else "run"
        problem = f"{what}: {error.message}"
        self.error = str(SuiteError(self.suite, self.gate.source_line, problem, error.hint))

    def settle(self) -> None:
        """At the end of the verdicts: a case must have named exactly one."""
        if self.gate.case is None or self.matches == 1:
            return
        case, source = show_line(self.gate.case, 120), show_line(self.gate.source, 120)
        if self.matches:
            problem = f'case: "{case}" names {self.matches} verdicts of {source}'
            problem += f": {_listed(self.named, self.matches)}"
            hint = "Give the id of one that is no other's test."
        else:
            problem = f'case: no verdict of {source} has the id or test "{case}"'
            problem += f"; it has {_listed(self._candidates(), self.verdicts)}"
            hint = "Give an id or a test as the report has it."
        self.error = str(SuiteError(self.suite, self.gate.case_line, problem, hint))

    def _candidates(self) -> list[str]:
        """The names nearest to the case, else the first ones."""
        names = {name[:120]: name for name in self.seen}
        close = get_close_matches((self.gate.case or "")[:120], names, 3)
        return [names[name] for name in close] or list(self.seen)[:_LISTED]

    def result(self) -> EntryResult:
        """What became of it."""
        held = FindingTally() if self.error else self.tally
        return EntryResult(
            name=self.gate.name,
            kind=EntryKind.JURY,
            source=self.gate.source,
            case=self.gate.case,
            status=GateStatus.FAIL if self.error else held.status,
            counts=held.counts,
            units=held.units,
            origins=held.origins,
            findings=tuple(held.findings),
            notes=() if sum(held.counts.values()) or self.error else ("there are no verdicts",),
            error=self.error,
        )


def _listed(names: list[str], count: int) -> str:
    if not count:
        return "none"
    some = ", ".join(f'"{show_line(name, 80)}"' for name in names[:_LISTED])
    more = count - min(len(names), _LISTED)
    return f"{some} and {more} more" if more > 0 else some
