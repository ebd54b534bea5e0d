import json
from typing import Any

import pytest

from tests.helpers import report as canonical
from tests.helpers import verdict
from tests.reports.foreignkit import only, opened, refusal
from tests.reports.promptfoo_rows import result, row, rubric

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
    "input": "when?", "output": "r", "reference": "the hours", "rubric": "Says when.",
    "decision": "pass", "agreement": {"value": 2 / 3, "metric": "consensus_share"},
    "checks": [{"name": "contains: 9am", "pass": True, "reason": "no"}],
    "jurors": [
        {"id": "judge", "model": "judge", "pass": True, "reason": "because", "at": AT, **USAGE},
        {"id": "judge#2", "model": "judge", "pass": False, **USAGE},
        {"id": "other", "model": "other", "pass": True, "reason": "because", "at": AT, **USAGE},
    ],
    "provenance": {"pointer": "$.criteria[0].scenarios[0].attempts[0]"},
}  # fmt: skip


def test_a_whole_attempt_and_several_that_are_verdicts_of_their_own() -> None:
    votes = (vote(), vote(passed=False, reason="", judged_at="soon"), vote(model="other"))
    tried = attempt(*votes, agreement=2 / 3, checks=[CHECK | {"passed": True}], elapsed_ms=3)
    stated = {"threshold": 0.3755, "gate_passed": True, "status": "upheld", "tags": ["a"]}
    opened_report, (body,) = opened(report(scenario(tried, **stated)))
    assert opened_report.format == "juried"
    # a pass rate over attempts is no juror's threshold
    assert body == WHOLE_BODY
    assert opened_report.notes[0] == "columns not read: elapsed_ms"
    tries = [attempt(vote(), attempt=number) for number in (1, 2)]
    _, bodies = opened(report(scenario(*tries), scenario(*tries), scenario(id="t")))
    assert [body["id"] for body in bodies] == ["s/1", "s/2", "s/1#2", "s/2#2"]


def test_a_target_without_votes_has_one_ballot_or_none() -> None:
    tried = attempt(outcome="transport_error", error="400", response=None, agreement=None)
    body = only(report(scenario(tried)))
    assert (body["decision"], body["jurors"]) == ("error", [])
    assert not {"agreement", "output"} & body.keys()
    body = only(report(scenario(attempt(verdict=vote(passed=False), outcome="fail"))))
    assert [one["pass"] for one in body["jurors"]] == [False]
    body = only(entry(verdict=None, reason="", model=None, checks=[CHECK]))
    assert (body["jurors"], "decision" in body) == ([], False)
    assert body["checks"] == [{"name": "contains: 9am", "pass": False, "reason": "no"}]


def test_a_judge_that_failed_is_a_failed_ballot_and_a_check_is_none() -> None:
    tried = attempt(outcome="judge_error", judge_error="request timed out", agreement=None)
    body = only(report(scenario(tried)))
    assert body["decision"] == "error"
    assert body["jurors"] == [
        {
            "id": "judge", "model": "judge", "temperature": 0.5, "status": "timeout",
            "error": {"message": "request timed out"},
        }
    ]  # fmt: skip
    by_checks = vote(passed=False, model="checks")
    tried = attempt(outcome="fail", verdict=by_checks, checks=[CHECK, CHECK | {"passed": "?"}])
    body = only(report(scenario(tried)))
    assert (body["decision"], body["jurors"], "agreement" in body) == ("fail", [], False)
    assert [check["pass"] for check in body["checks"]] == [False, None]


def test_earlier_turns_stand_before_the_message() -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    body = only(report(scenario(attempt(vote(), transcript=turns[:1]), history=turns)))
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
        "input": "when?", "output": "r", "reference": "the hours", "rubric": "hours",
        "decision": "pass", "escalate_for_review": False, "escalation_reasons": ["sampled"],
        "jurors": [{"id": "judge", "model": "judge", "pass": True, "reason": "fine"}],
        "provenance": {"pointer": "line 1"},
        "meta": {"origin": {"run": AT}},
    }  # fmt: skip
    assert bodies[1]["id"] == "21a4#2"
    assert bodies[1]["escalate_for_review"] is True
    assert bodies[1]["escalation_reasons"] == ["split", "sampled"]


NO_TEXTS = "the responses are not in this file, only who wrote them; completions.jsonl has them"


def pair(judge: str, choice: Any, **more: Any) -> dict[str, Any]:
    asked = {"user_prompt": "Say hello.", "judge_model": judge, "first_completion_by": "x/one"}
    spent = {"temperature": None, "completion_tokens": 18, "prompt_tokens": 382}
    return {**asked, "second_completion_by": "y/two", "pairwise_choice": choice, **spent, **more}


def single(judge: str, **more: Any) -> dict[str, Any]:
    return {"user_prompt": "p", "judge_model": judge, "model_being_judged": "x/one", **more}


def test_judges_of_one_pair_are_one_panel() -> None:
    rows = [
        pair("a", "A>B", total_tokens=400, explanation="kinder", seed=3),
        pair("b", "B>>A", temperature=0.2),
        pair("a", "A=B"),
    ]
    report, (body,) = opened(rows, lines=True)
    assert report.format == "lm-council"
    tokens = {"tokens_in": 382, "tokens_out": 18}
    assert body == {
        "id": "Say hello.: x/one: y/two", "case": {"test": "Say hello.: x/one: y/two"},
        "input": "Say hello.", "output": "x/one", "alternative": "y/two",
        "rubric": "The first response is better than the second.", "generator": {"model": "x/one"},
        "jurors": [
            {"id": "a", "model": "a", "label": "A>B", "pass": True, "reason": "kinder", **tokens},
            {"id": "a#2", "model": "a", "label": "A=B", "pass": None, **tokens},
            {"id": "b", "model": "b", "label": "B>>A", "pass": False, "temperature": 0.2, **tokens},
        ],
        "provenance": {"pointer": "line 1"},
    }  # fmt: skip
    assert report.notes[:2] == [NO_TEXTS, "columns not read: total_tokens, seed"]


def test_the_other_order_is_another_verdict_and_rows_of_a_question_stand_anywhere() -> None:
    turned = {"first_completion_by": "y/two", "second_completion_by": "x/one"}
    _, bodies = opened([pair("a", "A>B"), pair("a", "A>B", **turned)])
    assert [(body["output"], body["alternative"]) for body in bodies] == [
        ("x/one", "y/two"),
        ("y/two", "x/one"),
    ]
    rows = [pair(f"j{n}", "A>B", user_prompt=f"p{q}") for n, q in enumerate((0, 1, 2, 2, 0, 1))]
    _, bodies = opened(rows, lines=True)
    assert [body["input"] for body in bodies] == ["p0", "p1", "p2"]
    panels = [[one["id"] for one in body["jurors"]] for body in bodies]
    assert panels == [["j0", "j4"], ["j1", "j5"], ["j2", "j3"]]


@pytest.mark.parametrize(
    ("choice", "label", "vote"),
    [
        ("[[A>>B]]", "[[A>>B]]", True),
        ("B>A", "B>A", False),
        ("A~B", "A~B", None),
        (None, None, None),
    ],
)
def test_choices(choice: Any, label: str | None, vote: bool | None) -> None:
    found = only(pair("a", choice))["jurors"][0]
    assert (found.get("label"), found.get("pass")) == (label, vote)


def test_each_criterion_of_a_rubric_is_a_verdict() -> None:
    rows = [
        single("a", Coherence=5, Relevance=2, Overall=3.5, temperature=0.0),
        single("b", Coherence=3, Relevance=None, Overall=3.0, temperature=0.0),
    ]
    report, bodies = opened(rows, lines=True, scale=(1.0, 5.0))
    assert [body["rubric"] for body in bodies] == ["Coherence", "Relevance"]
    assert [body["id"] for body in bodies] == ["p: x/one / Coherence", "p: x/one / Relevance"]
    # On 1..5 a 5 is 1, a 3 is the middle and a 2 is one step of four.
    assert [one.get("score") for one in bodies[0]["jurors"]] == [1.0, 0.5]
    assert [one.get("score") for one in bodies[1]["jurors"]] == [0.25, None]
    assert "columns not read: Overall" in report.notes
    report, bodies = opened(rows, lines=True)
    assert [one["raw_score"] for one in bodies[0]["jurors"]] == [5, 3]
    assert any("--scale LOW..HIGH (3x, from 2 to 5)" in note for note in report.notes)


def test_an_empty_prompt_and_a_long_one_have_names() -> None:
    assert only(pair("a", "A>B", user_prompt=" "))["case"]["test"] == "x/one: y/two"
    long = only(pair("a", "A>B", user_prompt="x\n" * 5000))
    assert len(long["id"]) < 500
    assert long["input"] == "x\n" * 5000


def test_a_named_key_is_removed_from_the_texts() -> None:
    body = only([pair("a", "A>B", api_key="hunter2hunter2", explanation="as hunter2hunter2 says")])
    assert body["jurors"][0]["reason"] == "as [REDACTED] says"


@pytest.mark.parametrize(
    ("document", "what", "hint"),
    [
        ({"name": "p", "jurors": [{"model": "m"}]}, "is a panel file", "judge CASES --panel"),
        (b"a\tb\n1\t2\n", "no column that names the judge", "open run.json --judge-columns a,b"),
        ('{"a": 1}'.encode("utf-32"), "is UTF-32 text", "iconv -f UTF-32 -t UTF-8 run.json | "),
        ('{"a": 1}'.encode("utf-32-le"), "is UTF-32 text", "iconv -f UTF-32LE -t UTF-8 run.json"),
        ('{"a": 1}'.encode("utf-32-be"), "is UTF-32 text", "iconv -f UTF-32BE -t UTF-8 run.json"),
        ('{"a": 1}'.encode("utf-16-le"), "is UTF-16 text", "iconv -f UTF-16LE -t UTF-8 run.json"),
    ],
)
def test_what_is_not_read_names_the_way_out(document: Any, what: str, hint: str) -> None:
    text = refusal(document, lines=isinstance(document, list))
    assert what in text
    assert hint in text


@pytest.mark.parametrize("forced", ["canonical", "canonical-jsonl"])
def test_either_name_of_our_own_format_reads_both_of_its_shapes(forced: str) -> None:
    document = canonical(verdict("a"), verdict("b"))
    whole = json.loads(document)
    verdicts = whole.pop("verdicts")
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in (whole, *verdicts))
    for data in (document, lines):
        assert [body["id"] for body in opened(data, format=forced)[1]] == ["a", "b"]


def test_a_format_may_be_named_as_the_import_is() -> None:
    assert "juried-queue" not in refusal({"a": 1}, format="juried-queue")


def test_one_row_of_promptfoo_on_several_lines() -> None:
    (made,) = result(row(rubric(0.5, True)))["results"]["results"]
    _, (body,) = opened(json.dumps(made, indent=2).encode())
    assert body["jurors"][0]["score"] == 0.5


def test_a_file_of_which_nothing_is_left_is_no_empty_run() -> None:
    text = refusal(canonical({**verdict("a"), "score": 5}), skip_bad=True)
    assert "has no verdict that can be read; the first is $.verdicts[0].score" in text


PAIR = {"user_prompt": "p", "pairwise_choice": "A>B", "first_completion_by": "openai/gpt-4o"}


@pytest.mark.parametrize(
    ("judge", "second", "shared", "generator"),
    [
        ("openai/gpt-5", "anthropic/claude-4", None, True),
        ("anthropic/claude-3", "anthropic/claude-4", True, False),
        ("google/gemini-2", "anthropic/claude-4", None, True),
        # The second writer's family is not known, so that neither is whether the judge is of it.
        ("google/gemini-2", "house/own", None, False),
    ],
)
def test_a_judge_may_be_of_the_family_of_either_writer(
    judge: str, second: str, shared: bool | None, generator: bool
) -> None:
    rating = {**PAIR, "judge_model": judge, "second_completion_by": second}
    body = only(json.dumps(rating).encode())
    assert body.get("same_family") is shared
    assert ("generator" in body) is generator


METRIC = {"name": "Tone (a)", "score": 0.5, "success": True, "evaluationModel": "gpt-5"}


@pytest.mark.parametrize(
    "document",
    [
        result(row(rubric(0.5, True))),
        {"testCases": [{"name": "n", "metricsData": [METRIC]}]},
        {
            "eval": {"task": "t", "eval_id": "e"},
            "status": "success",
            "samples": [{"id": "a", "epoch": 1, "scores": {"own": {"value": 1}}}],
        },
    ],
)
def test_a_model_for_nobody_is_told_of(document: Any) -> None:
    report, _ = opened(document, models={"nobody": "m"})
    assert "--models: no juror is called nobody" in report.notes


def test_a_model_of_the_files_own_stands() -> None:
    document = {"testCases": [{"name": "n", "metricsData": [METRIC]}]}
    report, (body,) = opened(document, models={"a": "other"})
    assert body["jurors"][0]["model"] == "gpt-5"
    assert "--models: the file's own model is used for a" in report.notes


def test_scores_of_different_names_are_told_to_be_one_panel() -> None:
    scores = {"ann": 1, "ben": 0}
    report, (body,) = opened([{"id": "r", "input": "q", "output": "a", "scores": scores}])
    assert report.format == "braintrust"
    assert [one["id"] for one in body["jurors"]] == ["ann", "ben"]
    told = "read as one panel: ann, ben; name those that ask different questions with"
    assert any(note.startswith(told) for note in report.notes)


def test_a_line_that_is_no_json_says_what_skip_bad_leaves_out() -> None:
    whole = json.loads(canonical())
    del whole["verdicts"]
    data = json.dumps(whole).encode() + b"\n" + json.dumps(verdict("a")).encode() + b"\n{bad\n"
    text = refusal(data, skip_bad=True)
    assert "line 3, column 2" in text
    assert "Fix the line or remove it; --skip-bad leaves out verdicts, not lines." in text
