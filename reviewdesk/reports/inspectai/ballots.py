"""Turn the scores of one sample into canonical ballots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reviewdesk.reports.inspectai.config import LogHeader, PanelSeat, Scorer
from reviewdesk.reports.inspectai.events import ModelCall, Transcript
from reviewdesk.reports.inspectai.grades import GradeReader
from reviewdesk.reports.inspectai.picking import OTHERS
from reviewdesk.reports.inspectai.texts import Texts
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import slow_or_error
from reviewdesk.reports.mapping.foreign import Models, Remarks, count, text
from reviewdesk.reports.mapping.unread import understood
from reviewdesk.reports.mapping.values import listed, record

_ABSTENTIONS = frozenset(["refusal", "no_response", "invalid_response_format"])
"""Reasons for a missing value that blame the answer under test, not the scorer."""
_UNREADABLE = "grader_failed"
_UNSCORED = "the scorer gave no value"

Ballot = dict[str, Any]


class BallotContext(Struct, frozen=True):
    """What is needed to read the ballots of one sample."""

    run: LogHeader
    grader: GradeReader
    remarks: Remarks
    models: Models
    transcript: Transcript
    texts: Texts

    def seats(self, name: str) -> int:
        """Return how many models the scorer is configured to ask; 0 if the log does not say."""
        return len(self.run.scorers.get(name, Scorer(name)).seats)

    def is_panel(self, name: str, score: dict[str, Any]) -> bool:
        """Return True if the scorer has recorded votes or is configured with several models."""
        return bool(_votes(score)) or self.seats(name) > 1

    def ballots(self, name: str, score: dict[str, Any]) -> list[Ballot]:
        """Return the ballots behind one score.

        A panel gives one ballot per vote, a value with several parts one per part, and any other
        score a single ballot.
        """
        scorer = self.run.scorers.get(name, Scorer(name))
        calls = self.transcript.calls(name)
        value = score.get("value")
        if _votes(score):
            panel = record(record(score["metadata"])["panel"])
            return list(self._panel(name, scorer, panel, calls))
        if value and isinstance(value, dict | list):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            return [
                self._single(f"{name}.{key}", scorer, {**score, "value": part}, calls, name)
                for key, part in parts
            ]
        return [self._single(name, scorer, score, calls, name)]

    def failed(self, name: str, message: str) -> Ballot:
        """Return the ballot of a scorer whose error ended the sample."""
        calls = self.transcript.failed_calls()
        call = next((call for call in calls if call.failed), calls[-1] if calls else None)
        shown = call.model if call and self.seats(name) > 1 else name
        ballot = self._juror_fields(shown or "scorer", PanelSeat(name, None), call)
        return {**ballot, "status": slow_or_error(message), "error": {"message": message}}

    def _single(
        self, name: str, scorer: Scorer, score: dict[str, Any], calls: list[ModelCall], key: str
    ) -> Ballot:
        seat = _seat(scorer, calls)
        call = calls[-1] if calls and seat.model else None
        if len(scorer.seats) > 1:
            self.remarks.count("a panel's votes are not in the log: its consensus is one ballot")
        ballot = self._juror_fields(name, seat, call)
        self._mark_code(ballot, scorer, key, calls)
        explanation = self.texts.plain(score.get("explanation"))
        if "value" not in score and (unread := score.get(OTHERS)):
            return understood({**ballot, "reason": explanation}, unread)
        answer = self.grader.ballot(score.get("value"), name)
        if not answer and name != key:
            answer = {"pass": None, "status": "abstained"}
        if answer:
            return {**ballot, **answer, "reason": explanation or None}
        return {**ballot, **_failure(score.get("reason"), explanation, call)}

    def _mark_code(self, ballot: Ballot, scorer: Scorer, key: str, calls: list[ModelCall]) -> None:
        """Mark the ballot as code if the log shows that its scorer called no model."""
        nobody = "model" not in ballot and not calls
        if nobody and (scorer.is_code or self.transcript.knows(key)):
            ballot["kind"] = "code"

    def _panel(
        self, key: str, scorer: Scorer, panel: dict[str, Any], calls: list[ModelCall]
    ) -> Iterator[Ballot]:
        votes = panel["votes"]
        seats = scorer.seats
        if len(seats) != len(votes):
            seats = tuple(PanelSeat(call.model, call.model) for call in calls)
        if len(seats) != len(votes):
            seats = tuple(PanelSeat(f"{scorer.name} {at}", None) for at in range(1, len(votes) + 1))
        failures = {
            failure["index"]: failure
            for failure in map(record, listed(panel.get("failures")))
            if isinstance(failure.get("index"), int)
        }
        for at, (seat, vote, call) in enumerate(
            zip(seats, votes, _call_of_each_seat(seats, calls), strict=True)
        ):
            ballot = self._juror_fields(seat.name, seat, call)
            self._mark_code(ballot, scorer, key, calls)
            failure = failures.get(at, {})
            answer = self.grader.ballot(vote, key) if at not in failures else {}
            if answer:
                yield {**ballot, **answer, "reason": call.text(self.texts) if call else None}
            else:
                explanation = self.texts.plain(failure.get("explanation"))
                yield {**ballot, **_failure(failure.get("reason"), explanation, call)}

    def _juror_fields(self, name: str, seat: PanelSeat, call: ModelCall | None) -> Ballot:
        model = self.models.of(name, seat.model or (call.model if call else None))
        usage = record(call.output.get("usage")) if call else {}
        seconds = values.number(call.seconds) if call else None
        return values.without_nulls(
            {
                "id": name,
                "model": model or None,
                "role": call.role if call else None,
                "latency_ms": seconds * 1000 if seconds is not None and seconds >= 0 else None,
                "tokens_in": count(usage.get("input_tokens")),
                "tokens_out": count(usage.get("output_tokens")),
            }
        )


def _votes(score: dict[str, Any]) -> list[Any]:
    return listed(record(record(score.get("metadata")).get("panel")).get("votes"))


def _seat(scorer: Scorer, calls: list[ModelCall]) -> PanelSeat:
    """Return the seat of a scorer with one ballot; it has a model only if there is exactly one."""
    call_models = {call.model for call in calls} - {""}
    models = call_models or {seat.model for seat in scorer.seats if seat.model}
    return PanelSeat(scorer.name, models.pop() if len(models) == 1 else None)


def _call_of_each_seat(
    seats: tuple[PanelSeat, ...], calls: list[ModelCall]
) -> list[ModelCall | None]:
    """Return the call of each seat, or None where it is not known.

    Seats that share a model take its calls in turn, if there is one for each. A seat with a model
    of its own takes the last call, of those that did not fail if there are any.
    """
    found: list[ModelCall | None] = []
    for at, seat in enumerate(seats):
        own = [call for call in calls if seat.model and call.model == seat.model]
        own = [call for call in own if not call.failed] or own
        turn = sum(other.model == seat.model for other in seats[:at])
        shared = sum(other.model == seat.model for other in seats)
        if shared == 1:
            found.append(own[-1] if own else None)
        else:
            found.append(own[turn] if len(own) == shared else None)
    return found


def _failure(reason: Any, explanation: str | None, call: ModelCall | None) -> Ballot:
    """Return the status and error of a juror without an answer.

    It abstained, timed out, failed, or gave a reply that could not be parsed.
    """
    reason = text(reason)
    if reason in _ABSTENTIONS:
        return {"pass": None, "status": "abstained", "reason": explanation}
    failed = call.failed if call else None
    message = failed or explanation or _UNSCORED
    unreadable = reason == _UNREADABLE or (call is not None and reason is None)
    status = slow_or_error(failed) if failed else "parse_fail" if unreadable else "error"
    error = values.without_nulls({"type": reason, "message": message})
    return {"status": status, "error": error}
