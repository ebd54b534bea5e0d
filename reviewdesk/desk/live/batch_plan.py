"""What a panel over many cases will ask, and what it may cost, before anything is sent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.spec import Juror, PanelSpec
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import PanelError, TransportError, UsageError
from reviewdesk.live.batch import PendingCase
from reviewdesk.live.budget import worst
from reviewdesk.live.journal.journal import Journal
from reviewdesk.live.keys import key_of, redactor
from reviewdesk.live.plan import hashed, payloads
from reviewdesk.live.records import calls_for
from reviewdesk.live.replies.ballots import answer_of, ballot_of
from reviewdesk.live.wires import proxies
from reviewdesk.live.wires.vendors import Endpoint, endpoint
from reviewdesk.reports.panels.cases_file import read_cases

if TYPE_CHECKING:
    from reviewdesk.reports.bytes.source import Source


@dataclass(frozen=True, slots=True)
class JurorEndpoint:
    """Where one juror is asked; ``problem`` is what its key lacks."""

    juror: Juror
    place: Endpoint
    proxy: str | None
    problem: str | None


@dataclass(slots=True)
class CasesSurvey:
    """A cases file read through once: all of it can be judged, and this is what it takes."""

    cases: int = 0
    calls: int = 0
    stored: int = 0
    """Calls whose answer is on disk."""
    again: Counter[str] = field(default_factory=Counter)
    """Of ``calls``, those that were made before without an answer, by the kind of the fault."""
    worst_usd: float | None = 0.0
    """``None`` where a juror has no price."""
    payload_sha256: str = ""
    """Of all that no stored reply answers, nonces aside."""
    again_usd: float | None = 0.0
    """What the calls of ``again`` cost at most."""
    checked: dict[int, tuple[CheckResult, ...]] = field(default_factory=dict)
    """What the checks found, for the cases that did not pass them all, by place in the file."""


def seats(panel: PanelSpec, environment: Mapping[str, str]) -> tuple[JurorEndpoint, ...]:
    """Every juror with its host, proxy and key.

    Raises:
        UsageError: a juror's address cannot be used.
    """
    found = []
    for juror in panel.jurors:
        try:
            place = endpoint(juror)
        except TransportError as error:
            raise UsageError(f"juror {juror.name}: {error.message}", "Mend the panel.") from error
        proxy = proxies.proxy_for(place.url)
        shown = None if proxy is None else proxies.shown(proxy)
        found.append(JurorEndpoint(juror, place, shown, key_of(place, environment).problem))
    return tuple(found)


def survey(
    source: Source, panel: PanelSpec, journal: Journal | None, environment: Mapping[str, str]
) -> CasesSurvey:
    """Read every case, run its checks, and count the calls that no stored reply answers.

    Raises:
        PanelError: a case cannot be judged; nothing has been sent.
    """
    found = CasesSurvey()
    priced = all(juror.price is not None for juror in panel.jurors)
    most, more, told = 0.0, 0.0, hashlib.sha256()
    hidden = redactor(panel.jurors, environment)
    for place, case in enumerate(read_cases(source)):
        found.cases += 1
        if not (case.rubric or panel.rubric):
            raise _without_rubric(source, case)
        results = _checked(case)
        if not all(result.passed for result in results):
            found.checked[place] = results
        if any(result.failed for result in results):
            continue
        for call in calls_for(case, panel) if journal is not None or priced else ():
            before = None if journal is None else journal.reply(call.key)
            if answer_of(call, before, hidden) is not None:
                found.stored += 1
                continue
            told.update(hashed(call))
            most += (cost := worst(call) or 0.0)
            if before is not None:
                found.again[ballot_of(call, before, hidden)["error"]["type"]] += 1
                more += cost
        found.calls += len(panel.jurors)
    if not found.cases:
        raise PanelError(source.shown_name, "", "holds no cases", "Write one a line.")
    found.calls -= found.stored
    found.worst_usd, found.again_usd = (most, more) if priced else (None, None)
    found.payload_sha256 = told.hexdigest()
    return found


def _without_rubric(source: Source, case: Case) -> PanelError:
    where = f'case "{show_line(case.id, 60)}"'
    hint = "Give it a rubric, or the panel one for all."
    return PanelError(source.shown_name, where, "has no rubric, nor has the panel", hint)


def posed(source: Source, found: CasesSurvey) -> Iterator[PendingCase]:
    """The cases once more, with what their checks found."""
    for place, case in enumerate(read_cases(source)):
        passed = tuple(CheckResult(check.name or check.kind, passed=True) for check in case.checks)
        yield PendingCase(place, case, found.checked.get(place, passed))


def sent(source: Source, panel: PanelSpec) -> Iterator[dict[str, Any]]:
    """What would be sent for each juror and case; a case that fails a check asks nobody."""
    for case in read_cases(source):
        if not any(result.failed for result in _checked(case)):
            yield from payloads(calls_for(case, panel))


def _checked(case: Case) -> tuple[CheckResult, ...]:
    """What the checks of a case find; most cases have none, and the libraries are heavy."""
    if not case.checks:
        return ()
    from reviewdesk.reports.panels.case_checks import run_checks

    return run_checks(case)
