"""The juries of one sample, and the decision that the log states for each.

A scorer that is a panel is a jury of its own; the other scorers that ask a model are one jury, and
those that ask none are checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.verdict import Decision, Status
from reviewdesk.reports.inspectai.ballots import Ballot, BallotContext
from reviewdesk.reports.inspectai.config import record, text
from reviewdesk.reports.mapping import values

Scores = dict[str, dict[str, Any]]

_FAILED = frozenset([Status.ERROR, Status.TIMEOUT, Status.PARSE_FAIL])
_NO_RULE = "several scorers are one jury, for which the log states no decision"
_NO_LINE = "a score decides nothing by itself, and the log has no pass line"
_NO_JURY = "a sample that no model graded has checks and no ballots"


@dataclass(frozen=True, slots=True)
class Jury:
    """The scorers of one jury, and what it comes to as keys of a verdict."""

    scorers: tuple[str, ...]
    outcome: dict[str, Any]
    panel: str = ""
    """The scorer that is the panel, or nothing for the jury of the others."""


def juries_of(broken: Any, given: Scores, bench: BallotContext) -> list[Jury]:
    """The juries behind the scores of a sample, at least one; ``broken`` is the sample's error."""
    lost = bench.transcript.failed_scorer if broken is not None else None
    if broken is not None and lost is None:
        if given:
            bench.remarks.count("the scores of a sample that failed itself are left out")
        return [Jury(tuple(bench.run.scorers), _unjudged(broken))]
    cast = {name: bench.ballots(name, score) for name, score in given.items()}
    panels = [name for name in given if bench.is_panel(name, given[name])]
    code = [name for name in given if name not in panels and _is_code(cast[name])]
    others = tuple(name for name in given if name not in panels and name not in code)
    found = [Jury((name,), _judged((name,), given, cast, bench), panel=name) for name in panels]
    if lost is not None:
        message = text(record(broken).get("message")) or "the scorer failed"
        ballot = bench.failed(lost, message)
        if bench.seats(lost) > 1:
            found.append(Jury((lost,), _error([ballot]), panel=lost))
        else:
            jurors = [*_flat(others, cast), ballot]
            found.append(Jury((*others, lost, *code), _error(jurors)))
            others = ()
    if others or not found:
        found.append(Jury((*others, *code), _together(others, code, given, cast, bench)))
    checks = [_check(ballot) for name in code for ballot in cast[name]]
    return [
        Jury(one.scorers, {**one.outcome, "checks": checks or None}, one.panel) for one in found
    ]


def _together(
    others: tuple[str, ...],
    code: list[str],
    given: Scores,
    cast: dict[str, list[Ballot]],
    bench: BallotContext,
) -> dict[str, Any]:
    """The jury of the scorers that are no panels, which may be none."""
    if others:
        return _judged(others, given, cast, bench)
    if not code:
        bench.remarks.count("a sample without a score has no ballots")
        return {"jurors": []}
    bench.remarks.count(_NO_JURY)
    return {**_judged(tuple(code), given, cast, bench), "jurors": []}


def _judged(
    names: tuple[str, ...], given: Scores, cast: dict[str, list[Ballot]], bench: BallotContext
) -> dict[str, Any]:
    """The ballots of a jury, and what the log makes of them.

    A scorer that stands alone speaks for its jury; several state no decision. A consensus of NaN
    is inconclusive, unless no juror answered at all, and asks for review either way.
    """
    jurors, values_of = _flat(names, cast), {name: given[name].get("value") for name in names}
    found: dict[str, Any] = {"jurors": jurors}
    alone = names[0] if len(names) == 1 else None
    unscored = [
        name
        for name, value in values_of.items()
        if value is None and "value" in given[name] and (alone or len(cast[name]) > 1)
    ]
    if unscored:
        found["escalate_for_review"] = True
        found["escalation_reasons"] = [f"no consensus: {', '.join(unscored)} gave no value"]
    failed = bool(jurors) and all(ballot.get("status") in _FAILED for ballot in jurors)
    if alone is None:
        bench.remarks.count(_NO_RULE)
        return {**found, "decision": Decision.ERROR.value} if failed else found
    value = values_of[alone]
    if value is None:
        return {**found, "decision": _without_value(jurors, failed=failed)}
    if isinstance(value, dict | list):
        bench.remarks.count(_NO_RULE)
        return found
    single = len(jurors) == 1 and jurors[0]["id"] == alone
    found |= bench.grader.consensus(jurors[0] if single else bench.grader.ballot(value, alone))
    if "decision" not in found and "label" not in jurors[0]:
        bench.remarks.count(_NO_LINE)
    return found


def _without_value(jurors: list[Ballot], *, failed: bool) -> str | None:
    if failed:
        return Decision.ERROR.value
    unknown = all(ballot.get("status") == Status.UNKNOWN for ballot in jurors)
    return None if unknown else Decision.INCONCLUSIVE.value


def _flat(names: tuple[str, ...], cast: dict[str, list[Ballot]]) -> list[Ballot]:
    return [ballot for name in names for ballot in cast[name]]


def _error(jurors: list[Ballot]) -> dict[str, Any]:
    return {"decision": Decision.ERROR.value, "jurors": jurors}


def _unjudged(broken: Any) -> dict[str, Any]:
    message = text(record(broken).get("message"))
    return {**_error([]), "meta": {"error": message} if message else None}


def _is_code(ballots: list[Ballot]) -> bool:
    return bool(ballots) and all(ballot.get("kind") == "code" for ballot in ballots)


def _check(ballot: Ballot) -> dict[str, Any]:
    """What a scorer without a model found; a number decides only where it is 0 or 1."""
    passed, number = ballot.get("pass"), values.first(ballot, ("score", "raw_score"))
    if passed is None and number in (0, 1):
        passed = number == 1
    told = [f"score {number:g}"] if passed is None and number is not None else []
    told += filter(None, (ballot.get("reason"), record(ballot.get("error")).get("message")))
    return values.said(
        {"name": ballot["id"], "pass": passed, "reason": "\n".join(told) or None}, "pass"
    )
