"""Juries in the shapes and small files that people have open, or by the map that is proposed."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reviewdesk.domain.verdict import people
from reviewdesk.errors import UnclearTableError
from reviewdesk.reports import ReadOptions, Source, read
from tests.helpers import mostly_slow, verdict_problem

NAMES = {
    "item": ["id", "item_id", "question_id", "case", "example_id", "qid", "uid"],
    "input": ["question", "prompt", "query", "user_prompt"],
    "output": ["answer", "response", "completion", "prediction", "generated_answer"],
    "judge": ["judge", "model", "judge_model", "evaluator", "grader", "rater", "critic"],
    "score": ["score", "rating", "grade", "verdict", "vote", "pass", "passed", "decision"],
    "reason": ["reason", "rationale", "explanation", "comment", "critique"],
    "list": ["judges", "votes", "judgments", "evaluations", "ratings", "verdicts", "results"],
}
QUESTIONS = ["accuracy", "tone"]
VOTES = {"pass": True, "passed": True, "verdict": "pass", "vote": "pass", "decision": "pass"}
FAILS = {True: False, "pass": "fail"}
SHAPES = ["list", "objects", "dict", "dict of objects", "suffix", "prefix", "long", "questions"]


def rows_of(shape: str, key: dict[str, str], item: str, answers: dict[str, Any]) -> list[Any]:
    base = {key["item"]: item, key["input"]: f"What is {item}?", key["output"]: f"The {item}."}
    score, why, judge, many = (key[one] for one in ("score", "reason", "judge", "list"))
    whole = [{judge: one, score: answers[one], why: f"{one} on {item}."} for one in answers]
    made: dict[str, list[Any]] = {
        "list": [{**base, many: whole}],
        "objects": [{**base, many: [one | {judge: {"name": one[judge], "t": 0}} for one in whole]}],
        "dict": [{**base, many: answers}],
        "dict of objects": [{**base, many: {one: {score: answers[one]} for one in answers}}],
        "suffix": [base | {f"{one}_{score}": answers[one] for one in answers}],
        "prefix": [base | {f"{score}_{one}": answers[one] for one in answers}],
        "long": [{**base, **one} for one in whole],
        "questions": [
            {**base, judge: one, "criterion": asked, score: answers[one]}
            for one in answers
            for asked in QUESTIONS
        ],
    }
    return made[shape]


def written(wrap: str, rows: Sequence[dict[str, Any]], item: str) -> Source:
    if wrap == "csv":
        text = io.StringIO()
        table = csv.DictWriter(text, rows[0])
        table.writeheader()
        table.writerows(rows)
        return Source.from_bytes("f.csv", text.getvalue().encode())
    if wrap == "lines":
        return Source.from_bytes("f.jsonl", "\n".join(map(json.dumps, rows)).encode())
    held: Any = {"results": rows} if wrap == "results" else rows
    if wrap == "by id":
        held = {row[item]: {key: row[key] for key in row if key != item} for row in rows}
    return Source.from_bytes("f.json", json.dumps(held).encode())


CASES = [
    (shape, wrap, seed)
    for shape in SHAPES
    for wrap in ["list", "lines", "results", "by id", "csv"]
    for seed in range(4)
    if wrap != ("by id" if shape in {"long", "questions"} else "csv")
    or shape in {"suffix", "prefix"}
]


@pytest.mark.parametrize(("shape", "wrap", "seed"), mostly_slow(CASES, every=8))
def test_a_jury_opens_in_any_shape(shape: str, wrap: str, seed: int, tmp_path: Path) -> None:
    chance = Random(f"{shape} {wrap} {seed}")  # noqa: S311
    key = {role: chance.choice(names) for role, names in NAMES.items()}
    vote = VOTES.get(key["score"])
    expected: dict[str, dict[str, Any]] = {}
    rows = []
    for item in ("q0", "q1", "q2", "q3"):
        answers = {
            one: round(chance.random(), 2) if vote is None else chance.choice([vote, FAILS[vote]])
            for one in ["gpt-4o", "claude-3.5", "llama-70b"]
        }
        expected[item] = {
            one: said in {True, "pass"} if vote else said for one, said in answers.items()
        }
        rows += rows_of(shape, key, item, answers)
    source = written(wrap, rows, key["item"])
    try:
        bodies = [*read(source, ReadOptions()).verdicts()]
    except UnclearTableError as error:
        (tmp_path / "map.toml").write_text(error.details)
        bodies = [*read(source, ReadOptions(map=str(tmp_path / "map.toml"))).verdicts()]
    asked = QUESTIONS if shape == "questions" else [""]
    assert len(bodies) == len(expected) * len(asked)
    for body in bodies:
        said = {one["id"]: one.get("score", one.get("pass")) for one in body["jurors"]}
        assert said == expected[body["case"]["test"]]
        assert body["output"] == f"The {body['case']['test']}."
    assert {body["case"].get("dimension", "") for body in bodies} == {*asked}


FACTS = ("decision", "input", "output", "alternative", "rubric", "generator")
KINDS = [*map(json.loads, (Path(__file__).parent / "files/kinds.jsonl").read_text().splitlines())]
"""A line of ``kinds.jsonl`` has the text of a file, and by item and judge the answers in it:
the score as the file has it, else the vote; ``unknown`` for one that cannot be read, null for none.
``person`` is the first label of a person, ``person NAME`` that of one with a name, ``NAME why`` the
reason of a judge, and the words of FACTS what the verdict says. A kind with ``options`` opens by
them alone, and no map is proposed for it."""


def _said(juror: Any) -> Any:
    if juror.get("status") == "unknown":
        return "unknown"
    keys = ("raw_score", "score", "pass", "label")
    return next((juror[key] for key in keys if juror.get(key) is not None), None)


@pytest.mark.parametrize("kind", mostly_slow(KINDS, every=6), ids=[one["kind"] for one in KINDS])
def test_a_kind_of_file_opens_as_it_is_or_by_its_proposed_map(kind: Any, tmp_path: Path) -> None:
    source = Source.from_bytes(kind["kind"], kind["text"].encode())
    options: dict[str, Any] = {key: tuple(value) for key, value in kind.get("options", {}).items()}
    try:
        bodies = [*read(source, ReadOptions(**options)).verdicts()]
    except UnclearTableError as error:
        assert "options" not in kind
        made = tmp_path / "map.toml"
        made.write_text(error.details)
        bodies = [*read(source, ReadOptions(map=str(made))).verdicts()]
    assert [verdict_problem(body) for body in bodies] == [None] * len(bodies)
    found = {
        body["id"]: {one["id"]: _said(one) for one in body["jurors"]}
        | {f"{one['id']} why": one.get("reason") for one in body["jurors"]}
        | {"person": body.get("human", {}).get("label")}
        | {f"person {one.by}": one.label for one in people(body)}
        | {fact: body.get(fact) for fact in FACTS}
        for body in bodies
    }
    said = {
        item: answers and {judge: found.get(item, {}).get(judge, "absent") for judge in answers}
        for item, answers in kind["answers"].items()
    }
    assert said == kind["answers"]
    assert len(found) == kind.get("verdicts", len(found))
