"""From the ballots of a live run to its report, and to what is said of it in a few figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reviewdesk import __version__
from reviewdesk.domain.judged import judged, unasked
from reviewdesk.domain.panelhash import HashStatus, panel_hash_status
from reviewdesk.domain.panelspec import Juror, PanelSpec, seat_body
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from reviewdesk.live.batch import Answered, Counts
from reviewdesk.live.journal import FORMAT, Committed
from reviewdesk.live.vendors import endpoint
from reviewdesk.reports.reportwrite import FORMAT_NAME, ReportWriter


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of a run; ``problem`` is why it is not what a person wanted, if it is not."""

    report: str
    cases: int
    verdicts: int
    passed: int
    failed: int
    inconclusive: int
    errors: int
    failed_checks: int
    calls: int
    reused: int
    failed_ballots: int
    cost_usd: float | None
    seconds: float
    rate: float
    problem: str | None

    @property
    def body(self) -> dict[str, Any]:
        """The figures as JSON; the problem is told apart."""
        told = asdict(self)
        del told["problem"]
        return {**told, "seconds": round(self.seconds, 3), "rate": round(self.rate, 2)}


class Results:
    """Makes a verdict of every finished case, hands it to the writer, and counts."""

    def __init__(self, panel: PanelSpec, held: Committed, writer: ReportWriter) -> None:
        """Begin with nothing."""
        self._panel, self._held, self._writer = panel, held, writer
        self._decisions: Counter[str] = Counter()
        self._troubles: Counter[str] = Counter()
        self._words: dict[str, str] = {}
        self._ballots = self._unverified = 0
        self.verdicts = self.failed_checks = 0

    def take(self, answered: Answered) -> None:
        """Make the verdict of a case."""
        case, checks = answered.posed.case, [check.body for check in answered.posed.checks]
        if failed := answered.posed.failed:
            self.failed_checks += 1
            reason = f"the check {failed[0].name} failed: {failed[0].reason}"
            body = unasked(case, self._panel, reason, checks)
        else:
            held = self._held
            body = judged(
                case, self._panel, answered.ballots,
                committed_at=held.committed_at, checks=checks, run_id=held.run_id,
            )  # fmt: skip
            self._unverified += not _holds(body)
        self.verdicts += 1
        self._decisions[body.get("decision") or "inconclusive"] += 1
        self._ballots += len(answered.ballots)
        for error in (ballot["error"] for ballot in answered.ballots if "error" in ballot):
            self._troubles[error["type"]] += 1
            self._words.setdefault(error["type"], error["message"])
        self._writer.put(answered.posed.place, body)

    def summary(self, report: str, counts: Counts, cost: float | None) -> Summary:
        """The figures of the whole run."""
        decided = self._decisions
        return Summary(
            report=report,
            cases=counts.cases,
            verdicts=self.verdicts,
            passed=decided["pass"],
            failed=decided["fail"],
            inconclusive=decided["inconclusive"],
            errors=decided["error"],
            failed_checks=self.failed_checks,
            calls=counts.calls,
            reused=counts.reused,
            failed_ballots=self._troubles.total(),
            cost_usd=cost,
            seconds=counts.seconds,
            rate=counts.rate,
            problem=self._problem(),
        )

    def _problem(self) -> str | None:
        if self._unverified:
            return (
                f"the panel hash of {self._unverified} verdicts is not the one that was committed"
            )
        if not self._ballots or self._troubles.total() < self._ballots:
            return None
        kind, count = self._troubles.most_common(1)[0]
        of = f"({count} of {self._ballots} ballots)"
        return f"no juror of any case answered: {self._words[kind]} {of}"


def header(name: str, panel: PanelSpec, held: Committed, cases: str) -> dict[str, Any]:
    """The report without its verdicts."""
    rule = panel.rule
    strategy = panel.strategy_for(())
    defaults = {
        "threshold": rule.threshold,
        "quorum": rule.quorum,
        "strategy": None if strategy is None else strategy.value,
        "trim_fraction": rule.trim,
        "weights": dict(rule.weights) or None,
    }
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
        "defaults": _said(defaults),
        "meta": {"panel": committed_panel(panel)},
    }


def committed_panel(panel: PanelSpec) -> dict[str, Any]:
    """A panel as it is put down: all that decides, and nothing that opens a door."""
    rule = panel.rule
    return _said(
        {
            "name": panel.name,
            "rubric": panel.rubric,
            "threshold": rule.threshold,
            "quorum": rule.quorum,
            "strategy": None if rule.strategy is None else str(rule.strategy),
            "regime": None if rule.regime is None else str(rule.regime),
            "failed_jurors": None if rule.failed_jurors is None else str(rule.failed_jurors),
            "strategy_for": {tag: str(word) for tag, word in rule.routes.items()} or None,
            "trim": {"fraction": rule.trim, "rounding": str(rule.rounding)},
            "jurors": [_seat(juror) for juror in panel.jurors],
        }
    )


def _seat(juror: Juror) -> dict[str, Any]:
    told = {
        "host": endpoint(juror).host,
        "max_tokens": juror.max_tokens,
        "timeout": juror.timeout,
        "prompt_version": juror.prompt_version,
        "system_prompt": juror.system_prompt,
        "prompt": juror.prompt,
    }
    return seat_body(juror) | _said(told)


def _holds(body: Mapping[str, Any]) -> bool:
    """Whether jurors and rule of a verdict, as it states them, give its panel hash again."""
    found = panel_hash_status(verdict_from_body(dict(body), Policy(), Generator()))
    return found is HashStatus.VERIFIED


def _said(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}
