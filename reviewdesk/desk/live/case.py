"""Judge one case by a whole panel: run its checks, ask every juror, and make the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.live.panel import LiveVerdict
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.verdict_body import failed_check_body, verdict_body
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.live.records import Ballot, Call, Clock, Exchange, Keep, Transport


async def judge(
    spec: PanelSpec,
    item: Case | Mapping[str, Any],
    transport: Transport | None = None,
    clock: Clock | None = None,
    keep: Keep | None = None,
    environment: Mapping[str, str] | None = None,
) -> LiveVerdict:
    """Ask a panel about one case; failed ballots appear in the verdict as failed.

    Raises:
        UsageError: the panel cannot be asked about this case.
    """
    case = _checked_case(spec, item)
    checks: list[dict[str, Any]] = []
    if case.checks:
        from reviewdesk.reports.panels.case_checks import run_checks

        results = run_checks(case)
        checks = [result.body for result in results]
        failed = next((one for one in results if one.failed), None)
        if failed is not None:
            reason = f"the check {failed.name} failed: {failed.reason}"
            return _live_verdict(case, failed_check_body(case, spec, reason, checks))
    from reviewdesk.live.clock import SystemClock

    clock = clock or SystemClock()
    committed = clock.now().isoformat(timespec="milliseconds")
    ballots = await _ballots(spec, case, transport, clock, keep, environment)
    return _live_verdict(
        case, verdict_body(case, spec, ballots, committed_at=committed, checks=checks)
    )


async def _ballots(
    spec: PanelSpec,
    case: Case,
    transport: Transport | None,
    clock: Clock,
    keep: Keep | None,
    environment: Mapping[str, str] | None,
) -> list[Ballot]:
    """Ask the jurors and return the ballots in seat order; close only a transport opened here."""
    from reviewdesk.live.jurors import ask_panel
    from reviewdesk.live.records import calls_for
    from reviewdesk.live.session import CallSession
    from reviewdesk.live.wires.transport import HttpTransport

    wire = transport or HttpTransport()
    try:
        asking = CallSession(wire, keep or _drop_reply, environment=environment, clock=clock)
        ballots = {
            call.seat: ballot async for call, ballot in ask_panel(calls_for(case, spec), asking)
        }
    finally:
        if transport is None:
            await wire.close()
    return [ballots[seat] for seat in sorted(ballots)]


def _checked_case(spec: PanelSpec, item: Case | Mapping[str, Any]) -> Case:
    """Return the case; raise UsageError if the panel cannot be asked about it."""
    from reviewdesk.reports.panels.cases_file import case_from
    from reviewdesk.reports.panels.check_fields import FieldError
    from reviewdesk.reports.wording import spell_path

    if not spec.jurors:
        raise UsageError("a panel without jurors", "Give jurors, or read a panel file")
    if spec.rule.aggregate is not None:
        hint = "Collect ballots with a strategy, then aggregate() them"
        raise UsageError("a verdict cannot name an aggregate of one's own", hint)
    try:
        case = item if isinstance(item, Case) else case_from(item)
    except FieldError as error:
        raise UsageError(f"{spell_path(error.path)}: {error.problem}", error.hint) from error
    if not (case.rubric or spec.rubric):
        raise UsageError(f"case {case.id!r} has no rubric, nor has the panel", "Give one of them")
    return case


def _live_verdict(case: Case, body: dict[str, Any]) -> LiveVerdict:
    verdict = verdict_from_body(body, Policy(), Generator())
    return LiveVerdict(case, body, assess(verdict))


def _drop_reply(call: Call, exchange: Exchange) -> None:
    """Drop a reply, because the caller gave no ``keep``."""
    del call, exchange
