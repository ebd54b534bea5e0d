"""Find the juries of one sample, and the decision that the log states for each.

Each scorer that is a panel forms a separate jury. The other scorers that ask a model form one jury
together. Scorers that ask no model are checks.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from reviewdesk.domain.verdict import Decision, Status
from reviewdesk.reports.inspectai.ballots import Ballot, BallotContext
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import text
from reviewdesk.reports.mapping.values import record

Scores = dict[str, dict[str, Any]]

_FAILED = frozenset([Status.ERROR, Status.TIMEOUT, Status.PARSE_FAIL])
_NO_RULE = "several scorers are one jury, for which the log states no decision"
_NO_LINE = "a score decides nothing by itself, and the log has no pass line"
_NO_JURY = "a sample that no model graded has checks and no ballots"


class Jury(Struct, frozen=True):
    """The scorers of one jury, and its result as fields of a verdict."""

    scorers: tuple[str, ...]
    outcome: dict[str, Any]
    panel: str = ""
    """The scorer that is the panel; empty for the jury of the other scorers."""


def juries_of(broken: Any, given: Scores, bench: BallotContext) -> list[Jury]:
    """Return the juries behind a sample's scores, at least one.

    ``broken`` is the sample's error, or None. ``given`` has the scores by name.
    """
    lost = bench.transcript.failed_scorer if broken is not None else None
    if broken is not None and lost is None:
        if given:
            bench.remarks.count("the scores of a sample that failed itself are left out")
        return [Jury(tuple(bench.run.scorers), _sample_error(broken))]
    ballots = {name: bench.ballots(name, score) for name, score in given.items()}
    panels = [name for name in given if bench.is_panel(name, given[name])]
    code = [name for name in given if name not in panels and _is_code(ballots[name])]
    others = tuple(name for name in given if name not in panels and name not in code)
    found = [
        Jury((name,), _jury_result((name,), given, ballots, bench), panel=name) for name in panels
    ]
    if lost is not None:
        message = text(record(broken).get("message")) or "the scorer failed"
        ballot = bench.failed(lost, message)
        if bench.seats(lost) > 1:
            found.append(Jury((lost,), _error([ballot]), panel=lost))
        else:
            jurors = [*_ballots_of(others, ballots), ballot]
            found.append(Jury((*others, lost, *code), _error(jurors)))
            others = ()
    if others or not found:
        found.append(Jury((*others, *code), _other_jury(others, code, given, ballots, bench)))
    checks = [_check(ballot) for name in code for ballot in ballots[name]]
    return [
        Jury(one.scorers, {**one.outcome, "checks": checks or None}, one.panel) for one in found
    ]


def _other_jury(
    others: tuple[str, ...],
    code: list[str],
    given: Scores,
    ballots: dict[str, list[Ballot]],
    bench: BallotContext,
) -> dict[str, Any]:
    """Return the result of the scorers that are not panels. There may be no such scorer."""
    if others:
        return _jury_result(others, given, ballots, bench)
    if not code:
        bench.remarks.count("a sample without a score has no ballots")
        return {"jurors": []}
    bench.remarks.count(_NO_JURY)
    return {**_jury_result(tuple(code), given, ballots, bench), "jurors": []}


def _jury_result(
    names: tuple[str, ...], given: Scores, ballots: dict[str, list[Ballot]], bench: BallotContext
) -> dict[str, Any]:
    """Return the ballots of a jury, with the decision and score that the log states.

    If the jury has one scorer, that scorer's value is the decision; several scorers state none.
    A missing consensus (null or NaN) is escalated for review. Its decision is inconclusive,
    ``error`` if every juror failed, or none if every ballot is unreadable.
    """
    jurors = _ballots_of(names, ballots)
    values_of = {name: given[name].get("value") for name in names}
    found: dict[str, Any] = {"jurors": jurors}
    alone = names[0] if len(names) == 1 else None
    unscored = [
        name
        for name, value in values_of.items()
        if value is None and "value" in given[name] and (alone or len(ballots[name]) > 1)
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
        return {**found, "decision": _decision_without_value(jurors, failed=failed)}
    if isinstance(value, dict | list):
        bench.remarks.count(_NO_RULE)
        return found
    single = len(jurors) == 1 and jurors[0]["id"] == alone
    found |= bench.grader.consensus(jurors[0] if single else bench.grader.ballot(value, alone))
    if "decision" not in found and "label" not in jurors[0]:
        bench.remarks.count(_NO_LINE)
    return found


def _decision_without_value(jurors: list[Ballot], *, failed: bool) -> str | None:
    if failed:
        return Decision.ERROR.value
    unknown = all(ballot.get("status") == Status.UNKNOWN for ballot in jurors)
    return None if unknown else Decision.INCONCLUSIVE.value


def _ballots_of(names: tuple[str, ...], ballots: dict[str, list[Ballot]]) -> list[Ballot]:
    return [ballot for name in names for ballot in ballots[name]]


def _error(jurors: list[Ballot]) -> dict[str, Any]:
    return {"decision": Decision.ERROR.value, "jurors": jurors}


def _sample_error(broken: Any) -> dict[str, Any]:
    message = text(record(broken).get("message"))
    return {**_error([]), "meta": {"error": message} if message else None}


def _is_code(ballots: list[Ballot]) -> bool:
    return bool(ballots) and all(ballot.get("kind") == "code" for ballot in ballots)


def _check(ballot: Ballot) -> dict[str, Any]:
    """Return the check of a scorer without a model. A number decides only if it is 0 or 1."""
    passed, number = ballot.get("pass"), values.first(ballot, ("score", "raw_score"))
    if passed is None and number in (0, 1):
        passed = number == 1
    reasons = [f"score {number:g}"] if passed is None and number is not None else []
    reasons += filter(None, (ballot.get("reason"), record(ballot.get("error")).get("message")))
    return values.without_nulls(
        {"name": ballot["id"], "pass": passed, "reason": "\n".join(reasons) or None}, "pass"
    )
