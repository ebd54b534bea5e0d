"""Files that promptfoo wrote, held against a walk of their JSON apart from the reader."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
from tests.helpers import SHARED
from tests.reports.promptfoo_rows import assert_set, broken, graded, opened, result, row, rubric

FILES = SHARED / "formats" / "promptfoo"
JURY = FILES / "jury5-llmbar.json"
MIXED = FILES / "default-grader-repeat-leaked-key.json"
JUDGED = ("llm-rubric", "model-graded-closedqa", "g-eval")


def _there(path: Path) -> Path:
    if not path.exists():
        pytest.skip("the real files are not beside this checkout")
    return path


def _bodies(path: Path) -> list[Any]:
    return list(read(Source.from_path(_there(path))).verdicts())


def _tally(bodies: list[Any]) -> Any:
    jurors = [juror for body in bodies for juror in body["jurors"]]
    return {
        "verdicts": len(bodies),
        "ballots": len(jurors),
        "scores": Counter(juror["score"] for juror in jurors if "score" in juror),
        "passes": Counter(juror.get("pass") for juror in jurors if "error" not in juror),
        "failures": sum("error" in juror for juror in jurors),
        "reasons": Counter(juror.get("reason") or juror["error"]["message"] for juror in jurors),
        "checks": [len(body.get("checks", [])) for body in bodies],
        "humans": sum("human" in body for body in bodies),
    }


def _recount(path: Path) -> Any:
    """By hand: neither file has assert-sets, scripts or ratings."""
    found: dict[str, Any] = {"verdicts": 0, "ballots": 0, "failures": 0, "checks": [], "humans": 0}
    scores: Counter[float] = Counter()
    passes: Counter[bool] = Counter()
    reasons: Counter[str] = Counter()
    for each in json.loads(_there(path).read_text())["results"]["results"]:
        parts = each["gradingResult"]["componentResults"]
        judged = [part for part in parts if part["assertion"]["type"] in JUDGED]
        juries = {json.dumps([part["assertion"][k] for k in ("type", "value")]) for part in judged}
        found["verdicts"] += len(juries)
        found["checks"] += [len(parts) - len(judged)] * len(juries)
        for part in judged:
            found["ballots"] += 1
            reasons[part["reason"]] += 1
            if (part.get("metadata") or {}).get("graderError"):
                found["failures"] += 1
            else:
                scores[part["score"]] += 1
                passes[part["pass"]] += 1
    return {**found, "scores": scores, "passes": passes, "reasons": reasons}


# The README of the files: 8 cases x 5 graders, and two tests that run twice with three rubrics
# each, one of which has two graders.
@pytest.mark.parametrize(("path", "verdicts", "ballots"), [(JURY, 8, 40), (MIXED, 12, 16)])
def test_nothing_is_lost_or_counted_twice(path: Path, verdicts: int, ballots: int) -> None:
    told = _tally(_bodies(path))
    assert told == _recount(path)
    assert (told["verdicts"], told["ballots"]) == (verdicts, ballots)


@pytest.mark.parametrize(("ending", "form"), [("jsonl", "jsonl"), ("yaml", "yaml v3")])
def test_the_other_forms_say_the_same(ending: str, form: str) -> None:
    def without_place(bodies: list[Any]) -> list[Any]:
        return [{key: body[key] for key in body if key != "provenance"} for body in bodies]

    path = JURY.with_suffix(f".{ending}")
    others = _bodies(path)
    assert read(Source.from_path(path)).header["producer"]["format"] == form
    assert without_place(others) == without_place(_bodies(JURY))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<promptfoo>\n  <evalId>e</evalId>", "is a promptfoo result in XML"),
        ('<?xml version="1.0"?>\n<testsuites errors="0" name="promptfoo">', "is a JUnit XML"),
        ("<!doctype html>\n<html><span>Promptfoo</span></html>", "is an HTML page"),
        ("Description,q,[p] x,Status,Score,Named Scores,Grader Reason,Comment\n", "is a promptfoo"),
    ],
)
def test_promptfoos_other_outputs_are_known(text: str, what: str) -> None:
    with pytest.raises(
        ReportError, match=r"promptfoo export eval EVAL_ID -o results\.json"
    ) as info:
        read(Source.from_bytes("r", text.encode()))
    assert what in str(info.value)
    assert "\n" not in str(info.value)


def _rows() -> list[Any]:
    return [
        row(rubric(1, True), broken(), testIdx=0),
        row(
            assert_set(rubric(0.1, False), passed=False, score=0.1),
            graded("contains", "a", 1, True),
            testIdx=1,
            testCase={"description": "other"},
        ),
    ]


def test_every_shape_around_the_rows() -> None:
    rows = _rows()
    lines = "".join(json.dumps(each) + "\n" for each in rows).encode()
    summary = {"version": 3, "results": rows, "stats": {}, "prompts": []}
    told = []
    for document in (result(*rows), lines, rows, summary, {**result(*rows), "evalId": None}):
        report, bodies = opened(document)
        told.append([{**body, "provenance": None} for body in bodies])
        assert report.header["producer"]["name"] == "promptfoo"
    assert all(bodies == told[0] for bodies in told)
    places = [body["provenance"]["pointer"] for body in opened(lines)[1]]
    assert places == ["line 1", "line 2"]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"evalId": "e", "results": {"results": []}}, "is a promptfoo result without rows"),
        ({"evalId": "e", "results": 3}, "is a promptfoo result without rows"),
        (result([1]), r"\$\.results\.results\[0\]: must be an object, found \[1\]"),
        (result(row(gradingResult=7)), r"results\[0\]\.gradingResult: must be an object"),
        (
            result(row(gradingResult={"componentResults": {}})),
            r"results\[0\]\.gradingResult\.componentResults: must be a list",
        ),
        (result(row(3)), r"componentResults\[0\]: must be an object, found 3"),
    ],
)
def test_other_shapes_are_named_with_their_place(document: Any, text: str) -> None:
    with pytest.raises(ReportError, match=text):
        opened(document)


def test_bad_rows_can_be_left_out_and_only_lists_may_follow_a_list() -> None:
    report, bodies = opened(result(row(rubric(1, True)), 5, row(3)), skip_bad=True)
    assert (len(bodies), report.skipped) == (1, 2)
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in (row(rubric(1, True)), row(3)))
    with pytest.raises(ReportError, match=r"line 2: \$\.gradingResult\.componentResults\[0\]"):
        opened(lines)
    document = json.dumps([row(rubric(1, True))]).encode()
    assert len(opened(document)[1]) == 1
    with pytest.raises(ReportError, match="continues after the end"):
        opened(document + b" {}")
