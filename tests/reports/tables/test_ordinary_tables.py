"""Tables as people have them: each opens as it is, or by the map that its refusal proposes."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReportError, UnclearTableError
from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.tablekit import lines, refusal

ANN = {"ann": 0.9, "ben": 0.8}
MARKDOWN = "| id | ann judge | ben judge |\n|----|:----|:---:|\n| a | 1 | 0 |\n"
TITLED = "Round 3,,\n,,\nid,Judge A,Judge B\na,1,0\n"
DEEP = {
    "out": {"evals": [{"id": "a", "by": {"ann": {"verdict": "PASS"}, "ben": {"verdict": "no"}}}]}
}
TABLES: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "a title above the header": (TITLED, {"a": {"Judge A": 1, "Judge B": 0}}),
    "Markdown": (MARKDOWN, {"a": {"ann judge": 1, "ben judge": 0}}),
    "scores before the names": ("id,score_ann,score_ben,reason_ann\na,0.9,0.8,why\n", {"a": ANN}),
    "paths of json_normalize": (
        "id,scores.ann.value,scores.ann.reason,scores.ben.value\na,0.9,y,0.8\n",
        {"a": ANN},
    ),
    "a number of the row": ("Row #,ann Score,ben Score\n1,0.9,0.8\n", {"1": ANN}),
    "dashes for nothing": ("id,ann,ben\na,0.9,-\nb,0.8,1\n", {"a": {"ann": 0.9, "ben": None}}),
    "a list of scores": (lines({"id": "a", "scores": [0.9, 0.8]}), {"a": {"0": 0.9, "1": 0.8}}),
    "questions in an object": (
        lines({"id": "a", "metrics": {"tone": 0.9, "relevance": 0.8}}),
        {"a / tone": {"tone": 0.9}, "a / relevance": {"relevance": 0.8}},
    ),
    "questions with judges in them": (
        lines({"id": "a", "scores": {"tone": ANN, "facts": ANN}}),
        {"a / tone": ANN, "a / facts": ANN},
    ),
    "one answer in an object": (
        lines({"id": "a", "evaluation": {"score": 0.9, "judge": "ann"}}),
        {"a": {"ann": 0.9}},
    ),
    "a list of another name": (
        json.dumps({"made": 5, "samples": [{"id": "a", "ann": 0.9, "ben": 0.8}]}),
        {"a": ANN},
    ),
    "a list inside an object": (json.dumps(DEEP), {"a": {"ann": True, "ben": False}}),
    "a key for each item": (json.dumps({"a": ANN, "b": ANN}), {"a": ANN, "b": ANN}),
    "a key for each judge": (
        json.dumps({"gpt-5": {"a": 0.9, "b": 0.8}, "claude": {"a": 0.7, "b": 0.6}}),
        {"table / a": {"gpt-5": 0.9, "claude": 0.7}, "table / b": {"gpt-5": 0.8, "claude": 0.6}},
    ),
    "a column for each item": (
        "judge,a,b\nann,0.9,0.8\n",
        {"table / a": {"ann": 0.9}, "table / b": {"ann": 0.8}},
    ),
    "another name for the score": ("uid,evaluator,eval_score\na,ann,0.9\na,ben,0.8\n", {"a": ANN}),
    "words that wait for a meaning": (
        "id,ann,ben\na,Strong,Weak\nb,Strong,Strong\nc,Strong,Weak\n",
        {"a": {"ann": True, "ben": False}},
    ),
    "letters that wait for a meaning": (
        "id,judge,grade\na,ann,A\na,ben,C\nb,ann,A\n",
        {"a": {"ann": True, "ben": False}},
    ),
    "a score and a vote of each judge": (
        "id,ann_score,ann_verdict,ben_score,ben_verdict\na,0.9,pass,0.8,fail\n",
        {"a": ANN},
    ),
    "one judge without a name": ("id,answer,passed,reason\na,x,no,why\n", {"a": {"passed": False}}),
    "names with a stroke": (
        "prompt,response,fluency/score,safety/score,safety/explanation\np,r,0.9,0.8,no\n",
        {"1 / fluency": {"fluency": 0.9}, "1 / safety": {"safety": 0.8}},
    ),
    "names in capitals inside objects": (
        lines(
            *[
                {
                    "inputRecord": {"caseId": one},
                    "r": {"scores": [{"metricName": "B.X", "result": 1}]},
                }
                for one in "ab"
            ]
        ),
        {"a": {"B.X": 1}},
    ),
    "an object for each judge": (
        json.dumps(
            [
                {
                    "id": "a",
                    **{
                        one: {"verdict": said, "reason": "because"}
                        for one, said in (("j1", "pass"), ("j2", "no"))
                    },
                }
            ]
        ),
        {"a": {"j1": True, "j2": False}},
    ),
    "a few words among votes, and errors among scores": (
        "id,ann,ben,cat\na,correct,0.5,4 out of 5\nb,incorrect,Error: 429,4/5\nc,Partly,0.7,3/5\n",
        {"a": {"ann": True, "ben": 0.5, "cat": 4}, "b": {"ann": False, "ben": None, "cat": 4}},
    ),
    "facts inside an object": (
        json.dumps({"results": [{"sample": {"id": "a", "input": "q"}, "evals": ANN}]}),
        {"a": ANN},
    ),
    "German words": (
        "Nr;Frage;Antwort;GPT;Claude\n7;f;a;ja;nicht bestanden\n8;f;a;nein;bestanden\n",
        {"7": {"GPT": True, "Claude": False}, "8": {"GPT": False, "Claude": True}},
    ),
    "names in Japanese after the number of the row": (
        '番号,質問,回答,GPT,Claude\n0,"a, b",答,合格,不合格\n1,x,答,合格,合格\n2,x,答,合格,合格\n',
        {"0": {"GPT": True, "Claude": False}},
    ),
    "lists of lists": ('[["a", 0.9, 0.8], ["b", 1, 0]]', {"a": {"2": 0.9, "3": 0.8}}),
}


def _said(juror: Any) -> Any:
    keys = ("raw_score", "score", "pass")
    return next((juror[key] for key in keys if juror.get(key) is not None), None)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_opens_or_its_proposed_map_reads_it(name: str, tmp_path: Path) -> None:
    text, answers = TABLES[name]
    source = Source.from_bytes("t.csv", text.encode())
    try:
        report = read(source)
    except UnclearTableError as error:
        path = tmp_path / "t.toml"
        path.write_text(error.details)
        report = read(source, ReadOptions(map=str(path)))
    found = {
        body["id"]: {one["id"]: _said(one) for one in body["jurors"]} for body in report.verdicts()
    }
    assert {key: found.get(key) for key in answers} == answers


def test_the_reason_beside_a_judge_is_read_whatever_comes_first() -> None:
    source = Source.from_bytes("t.csv", TABLES["scores before the names"][0].encode())
    with pytest.raises(UnclearTableError) as caught:
        read(source)
    assert 'reason = "reason_*"' in caught.value.details


def test_a_header_of_words_that_wait_gives_the_whole_command() -> None:
    told = refusal(TABLES["words that wait for a meaning"][0])
    assert told.endswith("open t.csv --judge-columns ann,ben --pass-label Strong --fail-label Weak")


def test_a_word_between_pass_and_fail_is_not_proposed_as_either() -> None:
    told = refusal("id,ann\na,Agree\nb,Neutral\nc,Disagree\nd,Agree\n")
    assert told.endswith("--judge-columns ann --pass-label Agree --fail-label Disagree")


def test_comparisons_of_two_responses_are_read_by_their_winner() -> None:
    row = {"id": "q", "response_a": "x", "response_b": "y", "judge": "ann", "winner": "A"}
    (body,) = read(
        Source.from_bytes("t", lines(row).encode()), ReadOptions(pass_labels=("A",))
    ).verdicts()
    assert (body["output"], body["alternative"]) == ("x", "y")
    assert body["jurors"][0]["pass"] is True


def test_a_list_of_ratings_under_an_unknown_name_opens_as_a_table() -> None:
    rating = {"id": "a", "judge": "ann", "score": 0.9}
    data = json.dumps({"made": "today", "evaluations": [rating]})
    assert refusal(data).endswith("Open it as one: reviewdesk open t.csv --format table")
    source = Source.from_bytes("t.csv", data.encode())
    (body,) = read(source, ReadOptions(format="table")).verdicts()
    assert (body["id"], _said(body["jurors"][0])) == ("a", 0.9)


def test_a_file_that_is_no_table_is_not_read_as_one() -> None:
    for text in ('{"a": 1, "b": 2}', '{"name": "n", "dependencies": {"x": "1"}}'):
        with pytest.raises(ReportError, match="is JSON, but no report"):
            read(Source.from_bytes("t", text.encode()))
