"""The real files of the tools, held against a count that knows nothing of the readers."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.domain.jury.family import same_family
from reviewdesk.domain.verdict import verdict_from_body
from reviewdesk.reports import Source, read
from tests.helpers import SHARED

FORMATS = SHARED / "formats"
pytestmark = pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared files are not here")


def _bodies(path: Path, name: str) -> list[Any]:
    report = read(Source.from_path(path))
    bodies = list(report.verdicts())
    assert (report.format, report.skipped) == (name, 0)
    return bodies


def _ballots(bodies: list[Any]) -> list[Any]:
    return [juror for body in bodies for juror in body["jurors"]]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def _families(bodies: list[Any]) -> set[bool | None]:
    read = [verdict_from_body(body) for body in bodies]
    return {same_family(verdict.ballots, verdict.generator) for verdict in read}


@pytest.mark.parametrize("name", ["ensemble_verdicts.json", "ensemble_verdicts.jsonl"])
def test_cross_judge(name: str) -> None:
    path = FORMATS / "cross-judge" / name
    stated = _lines(path) if name.endswith("l") else json.loads(path.read_text())
    bodies = _bodies(path, "cross-judge")
    assert [body["id"] for body in bodies] == [one["query_id"] for one in stated]
    assert [body["label"] for body in bodies] == [one["consensus"] for one in stated]
    assert [body["output"] for body in bodies] == [one["meta"]["target"] for one in stated]
    for body, one in zip(bodies, stated, strict=True):
        assert body.get("decision") == {"KEEP": "pass", "REJECT": "fail"}.get(one["consensus"])
        assert body["agreement"]["value"] == one["agreement_pct"]
    critics = [critic for one in stated for critic in one["verdicts"]]
    ballots = _ballots(bodies)
    assert len(ballots) == len(critics) == 40
    for ballot, critic in zip(ballots, critics, strict=True):
        assert (ballot["id"], ballot["label"]) == (critic["critic_id"], critic["kind"])
        assert ballot.get("reason", "") == critic["reasoning"]
        assert ballot.get("raw") == critic["raw_response"]
        assert ("error" in ballot) is (critic["error"] is not None)
        sure = critic["confidence"]
        passes = {"KEEP": (True, sure), "REJECT": (False, 1 - sure)}
        vote, score = passes.get(critic["kind"], (None, None))
        assert ballot.get("pass") is vote
        assert ballot.get("score") == (pytest.approx(score) if score is not None else None)
    assert _families(bodies) == {None}


def test_deepeval() -> None:
    path = FORMATS / "deepeval" / "test_run.json"
    stated = json.loads(path.read_text())
    bodies = _bodies(path, "deepeval")
    cases = stated["testCases"]
    assert [body["id"] for body in bodies] == [case["name"] for case in cases]
    assert [body["input"] for body in bodies] == [case["input"] for case in cases]
    assert [body["output"] for body in bodies] == [case["actualOutput"] for case in cases]
    assert [body["decision"] == "pass" for body in bodies] == [case["success"] for case in cases]
    assert {(body["rubric"], body["threshold"]) for body in bodies} == {
        ("Follows instruction", 0.5)
    }
    # the tool's own sums, by the name of a metric
    for line in stated["metricsScores"]:
        name = line["metric"].split("(")[1].split(")")[0]
        own = [ballot for ballot in _ballots(bodies) if ballot["id"] == name]
        assert [ballot["score"] for ballot in own if "score" in ballot] == line["scores"]
        votes = Counter(ballot.get("pass") for ballot in own)
        assert votes == Counter({True: line["passes"], False: line["fails"], None: line["errors"]})
        assert sum("error" in ballot for ballot in own) == line["errors"]
    metrics = [metric for case in cases for metric in case["metricsData"]]
    reasons = [metric.get("reason") for metric in metrics]
    assert [ballot.get("reason") for ballot in _ballots(bodies)] == reasons
    models = [metric["evaluationModel"] for metric in metrics]
    assert [ballot["model"] for ballot in _ballots(bodies)] == models
    assert "Evaluation Steps" not in json.dumps(bodies)


def test_juried_report() -> None:
    path = FORMATS / "juried" / "juried-report.json"
    stated = json.loads(path.read_text())
    bodies = _bodies(path, "juried")
    attempts = [
        attempt
        for criterion in stated["criteria"]
        for scenario in criterion["scenarios"]
        for attempt in scenario["attempts"]
    ]
    assert len(bodies) == stated["summary"]["attempts_made"] == 10
    assert [body["decision"] for body in bodies] == [one["outcome"] for one in attempts]
    assert [body["output"] for body in bodies] == [one["response"] for one in attempts]
    votes = [vote for one in attempts for vote in one["votes"]]
    ballots = _ballots(bodies)
    assert len(ballots) == stated["summary"]["usage"]["calls"] == 30
    assert [one["pass"] for one in ballots] == [vote["passed"] for vote in votes]
    assert [one["reason"] for one in ballots] == [vote["reason"] for vote in votes]
    assert sum(one["tokens_in"] for one in ballots) == stated["summary"]["usage"]["input_tokens"]
    assert [len(body.get("checks", ())) for body in bodies] == [
        len(one["checks"]) for one in attempts
    ]
    assert stated["target"]["url"] not in json.dumps(bodies)
    assert not any("threshold" in body for body in bodies)


def test_juried_queue() -> None:
    path = FORMATS / "juried" / "label-queue.jsonl"
    stated = _lines(path)
    bodies = _bodies(path, "juried-queue")
    assert [body["id"] for body in bodies] == [one["id"] for one in stated]
    assert [body["decision"] for body in bodies] == [one["verdict"] for one in stated]
    assert [body["escalation_reasons"] for body in bodies] == [one["reasons"] for one in stated]
    assert [one["reason"] for one in _ballots(bodies)] == [one["reason"] for one in stated]


def test_lm_council() -> None:
    path = FORMATS / "lm-council" / "judge_ratings.jsonl"
    stated = _lines(path)
    bodies = _bodies(path, "lm-council")
    questions = Counter(
        (row["user_prompt"], row["first_completion_by"], row["second_completion_by"])
        for row in stated
    )
    found = {(body["input"], body["output"], body["alternative"]): body for body in bodies}
    assert {question: len(body["jurors"]) for question, body in found.items()} == questions
    for row in stated:
        question = row["user_prompt"], row["first_completion_by"], row["second_completion_by"]
        (ballot,) = [one for one in found[question]["jurors"] if one["model"] == row["judge_model"]]
        assert ballot["label"] == row["pairwise_choice"]
        assert ballot["pass"] is row["pairwise_choice"].startswith("A>")
        assert ballot["tokens_out"] == row["completion_tokens"]
    # the first response's model is a judge of its own pairs
    assert _families(bodies) == {True}
