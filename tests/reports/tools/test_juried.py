from typing import Any

import pytest

from tests.reports.foreignkit import only, opened, refusal

AT = "2026-11-21T20:47:12+00:00"


def vote(*, passed: Any = True, **more: Any) -> dict[str, Any]:
    said = {"passed": passed, "reason": "because", "model": "judge", "judged_at": AT}
    return {**said, "usage": {"input_tokens": 9, "output_tokens": 2, "calls": 1}, **more}


def attempt(*votes: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = {"attempt": 1, "outcome": "pass", "response": "r", "votes": list(votes), "checks": []}
    return {**made, "verdict": votes[0] if votes else None, "agreement": 1.0, **more}


def scenario(*attempts: dict[str, Any], **more: Any) -> dict[str, Any]:
    stated = {"id": "s", "name": "Terse", "criterion": "hours", "message": "when?"}
    return {**stated, "expected": "the hours", "attempts": list(attempts), **more}


def report(*scenarios: dict[str, Any], **more: Any) -> dict[str, Any]:
    criterion = {"id": "hours", "description": "Says when.", "scenarios": list(scenarios)}
    judge = {"provider": "openai", "model": "judge", "temperature": 0.5, "votes": 3}
    head = {"tool": "juried", "schema_version": 1, "version": "0.4.1", "generated_at": AT}
    return {**head, "judge": judge, "criteria": [criterion], **more}


def entry(**more: Any) -> dict[str, Any]:
    asked = {"id": "21a4", "run": AT, "scenario": "s", "name": "Terse", "criterion": "hours"}
    texts = {"message": "when?", "history": [], "transcript": [], "expected": "the hours"}
    judged = {"verdict": "pass", "reason": "fine", "model": "judge", "reasons": ["sampled"]}
    return {**asked, **texts, **judged, "response": "r", "checks": [], "attempt": 3, **more}


CHECK = {"kind": "contains", "value": "9am", "source": "checks", "passed": False, "reason": "no"}


USAGE = {"tokens_in": 9, "tokens_out": 2, "temperature": 0.5}


WHOLE_BODY: dict[str, Any] = {
    "id": "s/1",
    "case": {"test": "s", "suite": "hours", "name": "Terse", "epoch": 1, "tags": ["a"]},
    "input": "when?",
    "output": "r",
    "reference": "the hours",
    "rubric": "Says when.",
    "decision": "pass",
    "agreement": {"value": 2 / 3, "metric": "consensus_share"},
    "checks": [{"name": "contains: 9am", "pass": True, "reason": "no"}],
    "jurors": [
        {"id": "judge", "model": "judge", "pass": True, "reason": "because", "at": AT, **USAGE},
        {"id": "judge#2", "model": "judge", "pass": False, **USAGE},
        {"id": "other", "model": "other", "pass": True, "reason": "because", "at": AT, **USAGE},
    ],
    "provenance": {"pointer": "$.criteria[0].scenarios[0].attempts[0]"},
}


def test_a_whole_attempt() -> None:
    votes = (vote(), vote(passed=False, reason="", judged_at="soon"), vote(model="other"))
    tried = attempt(*votes, agreement=2 / 3, checks=[CHECK | {"passed": True}], elapsed_ms=3)
    stated = {"threshold": 0.3755, "gate_passed": True, "status": "upheld", "tags": ["a"]}
    opened_report, (body,) = opened(report(scenario(tried, **stated)))
    assert opened_report.format == "juried"
    # a pass rate over attempts is no juror's threshold
    assert body == WHOLE_BODY
    assert opened_report.notes[0] == "columns not read: elapsed_ms"


def test_attempts_are_verdicts_of_their_own() -> None:
    tries = [attempt(vote(), attempt=number) for number in (1, 2)]
    _, bodies = opened(report(scenario(*tries), scenario(*tries), scenario(id="t")))
    assert [body["id"] for body in bodies] == ["s/1", "s/2", "s/1#2", "s/2#2"]


def test_a_target_that_failed_leaves_no_ballots() -> None:
    tried = attempt(outcome="transport_error", error="400", response=None, agreement=None)
    body = only(report(scenario(tried)))
    assert (body["decision"], body["jurors"]) == ("error", [])
    assert not {"agreement", "output"} & body.keys()


def test_a_judge_that_failed_is_a_failed_ballot() -> None:
    tried = attempt(outcome="judge_error", judge_error="request timed out", agreement=None)
    body = only(report(scenario(tried)))
    assert body["decision"] == "error"
    assert body["jurors"] == [
        {
            "id": "judge",
            "model": "judge",
            "temperature": 0.5,
            "status": "timeout",
            "error": {"message": "request timed out"},
        }
    ]


def test_what_a_check_decided_no_judge_did() -> None:
    by_checks = vote(passed=False, model="checks")
    tried = attempt(outcome="fail", verdict=by_checks, checks=[CHECK, CHECK | {"passed": "?"}])
    body = only(report(scenario(tried)))
    assert (body["decision"], body["jurors"], "agreement" in body) == ("fail", [], False)
    assert [check["pass"] for check in body["checks"]] == [False, None]


def test_a_verdict_without_votes_is_one_ballot() -> None:
    body = only(report(scenario(attempt(verdict=vote(passed=False), outcome="fail"))))
    assert [one["pass"] for one in body["jurors"]] == [False]


def test_earlier_turns_stand_before_the_message() -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    tried = attempt(vote(), transcript=turns[:1])
    body = only(report(scenario(tried, history=turns)))
    assert body["input"] == "user: hi\nassistant: hello\nuser: hi\nuser: when?"


def test_a_vote_that_is_no_boolean_is_no_vote() -> None:
    votes = vote(passed=[]), vote(passed=True)
    opened_report, (body,) = opened(report(scenario(attempt(*votes, outcome="won"))))
    assert [one.get("status") for one in body["jurors"]] == ["unknown", None]
    assert ("decision" not in body, body["label"]) == (True, "won")
    assert any("a vote that is not a word, such as []" in note for note in opened_report.notes)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"schema_version": 2}, "is a juried report of another version. Update reviewdesk"),
        ({"criteria": []}, "is a table without rows that say anything of a jury"),
        ({"criteria": [1]}, "$.criteria[0]: must be an object, found 1"),
        ({"criteria": [{}]}, "$.criteria[0].scenarios: must be a list, found null"),
        ({"criteria": [{"scenarios": [1]}]}, "$.criteria[0].scenarios[0]: must be an object"),
        (
            {"criteria": [{"scenarios": [{"attempts": [[]]}]}]},
            "$.criteria[0].scenarios[0].attempts[0]: must be an object, found []",
        ),
        (
            {"criteria": [{"scenarios": [{"attempts": [{"votes": [1]}]}]}]},
            "has 1 ballot, and no answer in them was understood (seen in them: votes)",
        ),
    ],
)
def test_what_is_no_report_is_refused(more: dict[str, Any], text: str) -> None:
    assert text in refusal(report(scenario(attempt(vote())), **more))


def test_a_queue_entry() -> None:
    opened_report, bodies = opened([entry(), entry(reasons=["split", "sampled"])], lines=True)
    assert opened_report.format == "juried-queue"
    assert bodies[0] == {
        "id": "21a4",
        "case": {"test": "s", "suite": "hours", "name": "Terse", "epoch": 3},
        "input": "when?",
        "output": "r",
        "reference": "the hours",
        "rubric": "hours",
        "decision": "pass",
        "escalate_for_review": False,
        "escalation_reasons": ["sampled"],
        "jurors": [{"id": "judge", "model": "judge", "pass": True, "reason": "fine"}],
        "provenance": {"pointer": "line 1"},
        "meta": {"origin": {"run": AT}},
    }
    assert bodies[1]["id"] == "21a4#2"
    assert bodies[1]["escalate_for_review"] is True
    assert bodies[1]["escalation_reasons"] == ["split", "sampled"]


def test_a_queue_entry_without_a_verdict_has_no_ballot() -> None:
    body = only(entry(verdict=None, reason="", model=None, checks=[CHECK]))
    assert (body["jurors"], "decision" in body) == ([], False)
    assert body["checks"] == [{"name": "contains: 9am", "pass": False, "reason": "no"}]
