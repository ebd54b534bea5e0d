"""Turn the scores of a sample into ballots, checks and human labels."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from reviewdesk.domain.verdict import Decision, folded
from reviewdesk.reports.inspectai.transcript import (
    OTHERS,
    LogHeader,
    ModelCall,
    PanelSeat,
    Scorer,
    Texts,
    Transcript,
)
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.values import filled, listed, record
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.wording import JsonObject

_GRADES: dict[str, tuple[float | None, bool | None]] = {
    "C": (1.0, True),
    "I": (0.0, False),
    "P": (0.5, None),
    "N": (None, None),
}
"""Inspect's grades as (score, vote): correct, incorrect, partially correct, no answer."""
_WORD_SCORES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_CODE = frozenset(["answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"])
"""Built-in scorers of Inspect that call no model."""
_HINT = "name it with --pass-label or --fail-label"


class GradeReader:
    """Reads the values of scores with the options of one import."""

    def __init__(
        self, options: ReadOptions, remarks: foreign.Remarks, scales: foreign.LateFacts
    ) -> None:
        """``scales`` knows which scorers give values outside 0..1."""
        self._scale = options.scale
        self._remarks = remarks
        self._scales = scales
        self._words = foreign.LabelWords(options)

    def ballot(self, value: Any, whose: str) -> JsonObject:
        """Return the ballot fields of a value of the scorer ``whose``; none if it is null."""
        if isinstance(value, bool):
            return {"score": float(value), "pass": value}
        if isinstance(value, str):
            return self._word(value, whose)
        number = values.number(value)
        if number is not None:
            return self._number(number, whose)
        if value is not None:
            self._remarks.count("a score that is neither a word nor a number is left out")
            return foreign.understood({}, ("value",))
        return {}

    def consensus(self, ballot: JsonObject) -> JsonObject:
        """Return a jury's decision, score and label, from the ballot of its consensus."""
        passed = ballot.get("pass")
        if isinstance(passed, bool):
            decision = Decision.PASS if passed else Decision.FAIL
            return {"score": ballot.get("score"), "decision": decision.value}
        label = ballot.get("label")
        if label is not None:
            self._remarks.count(f'the grade "{label[:40]}" is not a decision: {_HINT}')
        word = label if label not in _GRADES else None
        return {"score": ballot.get("score"), "label": word}

    def _word(self, value: str, whose: str) -> JsonObject:
        word = value.strip()
        if not word:
            return {"pass": None, "status": "abstained"}
        score, graded = _GRADES.get(word, (_WORD_SCORES.get(folded(word)), None))
        vote = self._words.vote(word)
        passed = graded if vote is None else vote
        if passed is None and word not in _GRADES:
            if (number := numeral(word)) is not None:
                return self._number(number, whose)
            self._remarks.count(f"a score in words that decide nothing gives no vote: {_HINT}")
        body: JsonObject = {"score": score, "pass": passed, "label": word}
        if word == "N" and passed is None:
            body["status"] = "abstained"
        return body

    def _number(self, number: float, whose: str) -> JsonObject:
        if self._scale is None:
            off = self._scales.holds(whose)
            if (score := values.unit(number)) is not None and not off:
                return {"score": score}
            self._remarks.count(f"a score {foreign.WHY_RAW} is kept as raw_score: --scale reads it")
            return {"raw_score": number}
        low, high = self._scale
        score = values.unit((number - low) / (high - low))
        if score is None:
            self._remarks.count("a score outside --scale is kept as raw_score")
        return {"score": score, "raw_score": number, "scale": [low, high]}


def numeral(word: str) -> float | None:
    """Return the number that a text spells, or None. Numbers of 1e300 and more do not count."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None


_UNCHANGED = "UNCHANGED"


def scores_of(keys: JsonObject) -> dict[str, JsonObject]:
    """Return a sample's scores by name. A bare value becomes a score with a ``value`` alone."""
    found = {}
    for name, score in record(keys.get("scores")).items():
        if isinstance(score, dict):
            if len(score) > ("history" in score):
                found[name] = score
        elif isinstance(score, str | int | float):
            found[name] = {"value": score}
    return found


def split_edits(score: JsonObject) -> tuple[JsonObject | None, list[JsonObject]]:
    """Return a score as its scorer gave it, and the edits that name their author, oldest first.

    The score is None if a person added it.
    """
    history = [one for one in listed(score.get("history")) if isinstance(one, dict)]
    if not history:
        return score, []
    edits = [one for one in history if isinstance(one.get("provenance"), dict)]
    added = edits and edits[0] is history[0]
    return None if added else history[0], edits


def _changes_value(edit: JsonObject) -> bool:
    return "value" in edit and edit["value"] != _UNCHANGED


def human(
    edited: Mapping[str, list[JsonObject]],
    grader: GradeReader,
    remarks: foreign.Remarks,
    texts: Texts,
) -> JsonObject:
    """Return the ``human`` and ``meta`` fields of a verdict, from the edits of its jury's scores.

    The label comes from the latest edit. All other edits are listed under ``meta.edits``, and so
    is the latest one if it gives no label.
    """
    all_edits = [(name, edit) for name, edits in edited.items() for edit in edits]
    of_scores = (list(filter(_changes_value, edits)) for edits in edited.values())
    changes = [edits[-1] for edits in of_scores if edits]
    label = None
    if changes:
        if len(changes) > 1:
            remarks.count("of several edited scores the one edited last is the human label")
        last = max(
            changes, key=lambda one: filled(record(one["provenance"]).get("timestamp")) or ""
        )
        label = _label(last["value"], grader)
        if label is None:
            remarks.count("an edited score that is neither a pass nor a fail gives no human label")
        else:
            all_edits = [(name, edit) for name, edit in all_edits if edit is not last]
    listed_edits = []
    for name, edit in all_edits:
        value = edit.get("value") if _changes_value(edit) else None
        plain = value if isinstance(value, str | int | float) else None
        source = {"score": name, "value": plain, **_edit_source(edit, texts)}
        listed_edits.append(values.without_nulls(source))
    return {
        "human": {"label": label, **_edit_source(last, texts)} if label else None,
        "meta": {"edits": listed_edits} if listed_edits else None,
    }


def _edit_source(edit: JsonObject, texts: Texts) -> JsonObject:
    source = record(edit["provenance"])
    explanation = filled(texts.plain(edit.get("explanation")))
    notes = [explanation if explanation != _UNCHANGED else None, filled(source.get("reason"))]
    return values.without_nulls(
        {
            "by": filled(source.get("author")),
            "at": values.time(source.get("timestamp")),
            "note": "\n".join(filter(None, notes)) or None,
        }
    )


def _label(value: Any, grader: GradeReader) -> str | None:
    """Return the label for a grade, or None. Of the numbers, only 1 and 0 have a clear meaning."""
    if isinstance(value, int | float):
        return {1.0: "pass", 0.0: "fail"}.get(float(value))
    ballot = grader.ballot(value, "")
    passed = ballot.get("pass")
    if isinstance(passed, bool):
        return "pass" if passed else "fail"
    # P is partial credit and N no answer: a person looked at it and did not decide.
    return "unsure" if ballot.get("label") in {"P", "N"} else None


_ABSTENTIONS = frozenset(["refusal", "no_response", "invalid_response_format"])
"""Reasons for a missing value that blame the answer under test, not the scorer."""

Ballot = JsonObject


class BallotContext(Struct, frozen=True):
    """What is needed to read the ballots of one sample."""

    run: LogHeader
    grader: GradeReader
    remarks: foreign.Remarks
    models: foreign.Models
    transcript: Transcript
    texts: Texts

    def seats(self, name: str) -> int:
        """Return how many models the scorer is configured to ask; 0 if the log does not say."""
        scorer = self.run.scorers.get(name)
        return 0 if scorer is None else len(scorer.seats)

    def ballots(self, name: str, score: JsonObject) -> list[Ballot]:
        """Return the ballots behind a score: one per vote of a panel, or per part of a value."""
        scorer = self.run.scorers.get(name) or Scorer(name)
        calls = self.transcript.calls(name)
        value = score.get("value")
        if votes_of(score):
            panel = record(record(score["metadata"])["panel"])
            return list(self._panel(name, scorer, panel, calls))
        if value and isinstance(value, dict | list):
            return [
                self._single(whose, scorer, {**score, "value": part}, calls, name)
                for whose, part in parts_of(name, value)
            ]
        return [self._single(name, scorer, score, calls, name)]

    def failed(self, name: str, message: str) -> Ballot:
        """Return the ballot of a scorer whose error stopped the sample."""
        names = self.transcript.names
        spans = [span for span, named in names.items() if named == self.transcript.failed_scorer]
        calls = self.transcript.of_spans[spans[-1]] if spans else []
        call = next((call for call in calls if call.failed), calls[-1] if calls else None)
        shown = call.model if call and self.seats(name) > 1 else name
        ballot = self._juror_fields(shown or "scorer", None, call)
        return {**ballot, **foreign.failure(message)}

    def _single(
        self, name: str, scorer: Scorer, score: JsonObject, calls: list[ModelCall], key: str
    ) -> Ballot:
        # A scorer with one ballot has a model only if there is exactly one.
        models = {call.model for call in calls if call.model}
        models = models or {one.model for one in scorer.seats if one.model}
        model = models.pop() if len(models) == 1 else None
        call = calls[-1] if calls and model else None
        if len(scorer.seats) > 1:
            self.remarks.count("a panel's votes are not in the log: its consensus is one ballot")
        ballot = self._juror_fields(name, model, call)
        self._mark_code(ballot, scorer, key, calls)
        explanation = self.texts.plain(score.get("explanation"))
        if "value" not in score and (unread := score.get(OTHERS)):
            return foreign.understood({**ballot, "reason": explanation}, unread)
        answer = self.grader.ballot(score.get("value"), name)
        if not answer and name != key:
            answer = {"pass": None, "status": "abstained"}
        if answer:
            return {**ballot, **answer, "reason": explanation or None}
        return {**ballot, **_failure(score.get("reason"), explanation, call)}

    def _mark_code(self, ballot: Ballot, scorer: Scorer, key: str, calls: list[ModelCall]) -> None:
        """Mark the ballot as code if the log shows that its scorer called no model."""
        nobody = "model" not in ballot and not calls
        is_code = not scorer.seats and scorer.name.rpartition("/")[2] in _CODE
        if nobody and (is_code or key in self.transcript.scored):
            ballot["kind"] = "code"

    def _panel(
        self, key: str, scorer: Scorer, panel: JsonObject, calls: list[ModelCall]
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
            ballot = self._juror_fields(seat.name, seat.model, call)
            self._mark_code(ballot, scorer, key, calls)
            failure = failures.get(at, {})
            answer = self.grader.ballot(vote, key) if at not in failures else {}
            if answer:
                said = self.texts.output(call.output) if call else None
                yield {**ballot, **answer, "reason": said or None}
            else:
                explanation = self.texts.plain(failure.get("explanation"))
                yield {**ballot, **_failure(failure.get("reason"), explanation, call)}

    def _juror_fields(self, name: str, model: str | None, call: ModelCall | None) -> Ballot:
        model = self.models.of(name, model or (call.model if call else None))
        if call is None:
            return {"id": name, "model": model} if model else {"id": name}
        usage = record(call.output.get("usage"))
        seconds = values.number(call.seconds)
        return values.without_nulls(
            {
                "id": name,
                "model": model or None,
                "role": call.role,
                "latency_ms": seconds * 1000 if seconds is not None and seconds >= 0 else None,
                "tokens_in": values.count(usage.get("input_tokens")),
                "tokens_out": values.count(usage.get("output_tokens")),
            }
        )


def parts_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a score's value with their names; a plain value is its only part."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        yield from ((f"{name}.{key}", part) for key, part in parts)
    else:
        yield name, value


def votes_of(score: JsonObject) -> list[Any]:
    metadata = score.get("metadata")
    return listed(record(record(metadata).get("panel")).get("votes")) if metadata else []


def _call_of_each_seat(
    seats: tuple[PanelSeat, ...], calls: list[ModelCall]
) -> list[ModelCall | None]:
    """Return the call of each seat, or None where it is not known.

    Seats that share a model take its calls in turn, if there is one for each. A seat whose model
    no other seat has takes the last call that did not fail or, if all failed, the last call.
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
    """Return the status and error of a juror that abstained, failed, or could not be parsed."""
    reason = filled(reason)
    if reason in _ABSTENTIONS:
        return {"pass": None, "status": "abstained", "reason": explanation}
    failed = call.failed if call else None
    message = failed or explanation or "the scorer gave no value"
    unreadable = reason == "grader_failed" or (call is not None and reason is None)
    status = None if failed else "parse_fail" if unreadable else "error"
    return foreign.failure(message, status, reason or "")
