"""Files on the edge of what is read: refused with a way out, or read with a note."""

import json
from typing import Any

import pytest

from tests.helpers import report as canonical
from tests.helpers import verdict
from tests.reports.foreignkit import only, opened, refusal
from tests.reports.promptfoo_rows import result, row, rubric


@pytest.mark.parametrize(
    ("document", "what", "hint"),
    [
        (b"confidence,correct\n0.9,true\n", "calibration labels file", "reviewdesk calibrate run"),
        (b"name: p\njurors:\n- model: m\n", "is a panel file", "judge CASES --panel run.json -o"),
        (b"# ours\n\n[[jurors]]\nmodel = 'm'\n", "is a panel file", "judge CASES --panel run.json"),
        ({"name": "p", "jurors": [{"model": "m"}]}, "is a panel file", "judge CASES --panel"),
        (b"jury:\n- report: r\n", "is a suite of gates", "reviewdesk gate run.json"),
        (b"item = 'a'\neach = 'b'\n", "is a map of tables", "open TABLE --map run.json"),
        (b"a\tb\n1\t2\n", "no column that names the judge", "open run.json --judge-columns a,b"),
        (b"item,judge,score\ra,j,1\r", "carriage return alone", "tr '\\r' '\\n' < run.json | "),
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
    document = canonical({**verdict("a"), "score": 5})
    text = refusal(document, skip_bad=True)
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
