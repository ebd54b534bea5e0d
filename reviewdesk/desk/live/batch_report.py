"""Make the report of a live run from its ballots, and sum the run up in a few figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from reviewdesk.desk.live.journal import FORMAT, CommitTimes
from reviewdesk.domain.canonical import CanonicalVerdict, without_nulls
from reviewdesk.domain.jury.quorum import own_share
from reviewdesk.domain.jury.stopping import can_turn
from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.juror import Juror, seat_body
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import Allowance, BatchSummary
from reviewdesk.domain.panel.verdict_body import failed_check_body, verdict_body
from reviewdesk.domain.verdict import Generator, Policy, Status, verdict_from_body
from reviewdesk.live.batch import BatchProgress, CaseCalls, panel_calls, seat_ballots
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.version import __version__
from reviewdesk.views.json.shape import shape


class PendingCase(Struct, frozen=True):
    """A case with its position in the file, its panel, and the results of its checks."""

    place: int
    case: Case
    panel: PanelSpec
    checks: tuple[CheckResult, ...] = ()

    @property
    def failed(self) -> bool:
        return any(check.failed for check in self.checks)

    def begin(self) -> CaseCalls:
        return CaseCalls(()) if self.failed else panel_calls(self.case, self.panel)


_COUNTS = {
    "pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "error": "errors",
}  # fmt: skip
"""The figure that counts each decision; verdicts without one are ``no_decision``."""


class Results:
    """Turns every finished case into a verdict, passes it on, and sums up the run."""

    def __init__(
        self,
        panel: PanelSpec,
        held: CommitTimes,
        put: Callable[[int, CanonicalVerdict], None],
        report: str,
    ) -> None:
        """Start with all counts at 0; ``put`` receives each verdict with the place of its case."""
        self._panel = panel
        self._held = held
        self._put = put
        self._unverified = self._unsettled = 0
        self.summary = BatchSummary(report)

    def take(self, pending: PendingCase, found: CaseCalls) -> None:
        """Make the verdict of a finished case, pass it on and count it."""
        case = pending.case
        checks = pending.checks
        held = self._held
        figures = self.summary
        if pending.failed:
            figures.failed_checks += 1
            body = failed_check_body(case, self._panel, checks)
        else:
            ballots = seat_ballots(case, self._panel, found)
            body = verdict_body(
                case, self._panel, ballots, committed_at=held.committed_at,
                checks=[one.body for one in checks], run_id=held.run_id,
            )  # fmt: skip
            verdict = verdict_from_body(body, Policy(), Generator())
            self._unverified += panel_hash_status(verdict) is not HashStatus.VERIFIED
            self._unsettled += can_turn(verdict)
            figures.stopped_early += any(one.status is Status.NOT_ASKED for one in verdict.ballots)
            figures.turnouts.add(ballots, self._panel.rule.threshold)
        figures.verdicts += 1
        name = _COUNTS.get(body.get("decision") or "", "no_decision")
        setattr(figures, name, getattr(figures, name) + 1)
        self._put(pending.place, body)

    def finish(self, counts: BatchProgress, cost: float | None, allowed: Allowance) -> BatchSummary:
        """Return the figures of the whole run; ``allowed`` is how many ballots it may lose."""
        figures = self.summary
        for name in ("cases", "calls", "spared", "reused", "seconds", "rate"):
            setattr(figures, name, getattr(counts, name))
        figures.cost_usd = cost
        figures.problem = self._problem(allowed)
        return figures

    def _problem(self, allowed: Allowance) -> str | None:
        if self._unverified:
            return (
                f"the panel hash of {self._unverified} verdicts is not the one that was committed"
            )
        if self._unsettled:
            return f"{self._unsettled} verdicts stopped early, and their decision could still turn"
        turnouts = self.summary.turnouts
        lost = turnouts.failed
        ballots = turnouts.ballots
        if not allowed.is_passed(lost, ballots):
            return None
        if lost == ballots:
            kind, count = turnouts.why.most_common(1)[0]
            why = turnouts.messages[kind]
            return f"no juror of any case answered: {why} ({count} of {ballots} ballots)"
        return (
            f"{lost:,} of {ballots:,} ballots are lost, and --max-failed allows {allowed.text}; "
            "--resume asks for them again"
        )


def header(name: str, panel: PanelSpec, held: CommitTimes, cases: str) -> dict[str, Any]:
    """Return the report without its verdicts."""
    rule = panel.rule
    strategy = panel.strategy_for(())
    defaults = shape(rule, "threshold quorum", strategy=strategy)
    defaults |= shape(rule, "trim_fraction=trim", weights=dict(rule.weights) or None)
    return {
        "schema": FORMAT_NAME,
        "report_id": name[:200],
        "title": f"{cases}, judged by {panel.name}",
        "created_at": held.started_at,
        "producer": {
            "name": "reviewdesk",
            "version": __version__,
            "format": FORMAT,
            "run_id": held.run_id,
        },
        "defaults": without_nulls(defaults),
        "meta": {"panel": committed_panel(panel)},
    }


def committed_panel(panel: PanelSpec) -> dict[str, Any]:
    """Return the panel as the journal stores it: all that affects a decision, and no secrets."""
    rule = panel.rule
    return without_nulls(
        {
            **shape(panel, "name rubric"),
            **shape(rule, "threshold quorum strategy regime"),
            **panel.answering,
            "supermajority": own_share(rule.supermajority),
            "strategy_for": dict(rule.routes) or None,
            "trim": shape(rule, "fraction=trim rounding"),
            **panel.asking(),
            "jurors": [_seat(juror) for juror in panel.jurors],
        }
    )


def _seat(juror: Juror) -> dict[str, Any]:
    call = shape(juror, "max_tokens timeout prompt_version system_prompt prompt")
    return {**seat_body(juror), "host": endpoint(juror).host, **without_nulls(call)}
