"""Long tables: one ballot a row."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.reports.tables.cells import USUAL
from reviewdesk.reports.tables.nested import _PERSON, SUMS
from tests.reports.tablekit import lines, long, refusal, scores, table, verdicts

LEFT_OUT = (
    "a human label in other words than pass, fail and unsure is left out; say what it means with"
    " --pass-label or --fail-label"
)
ROW = {"item": "a", "judge": "j", "score": 0.5}


def test_a_whole_row() -> None:
    columns = (
        "item,judge,judge_model,vendor,score,pass,reason,confidence,weight,latency_ms,input,output,"
        "expected,rubric,test,suite,subject,tags,threshold,model,human,at"
    )
    row = ["a", "j", "m", "v", "0.8", "yes", "good", ".9", 2, 12.5, "in", "out", "ref", "is right"]
    row += ["t", "s", "v2", "x; y", "0.6", "gen", "FALSE", "2025-01-31T12:00:00Z"]
    (body,) = verdicts(long(row, columns=columns))
    assert body == {
        "id": "a",
        "case": {"test": "t", "suite": "s", "subject": "v2", "tags": ["x", "y"]},
        "input": "in",
        "output": "out",
        "reference": "ref",
        "rubric": "is right",
        "generator": {"model": "gen"},
        "threshold": 0.6,
        "jurors": [
            {
                "id": "j",
                "model": "m",
                "vendor": "v",
                "score": 0.8,
                "pass": True,
                "reason": "good",
                "confidence": 0.9,
                "weight": 2,
                "latency_ms": 12.5,
                "at": "2025-01-31T12:00:00Z",
            }
        ],
        "human": {"label": "fail"},
        "provenance": {"pointer": "line 2"},
    }


def test_nothing_is_invented() -> None:
    (body,) = verdicts(long(["a", "gpt-4", 0.5]))
    assert body == {
        "id": "a",
        "case": {"test": "a"},
        "jurors": [{"id": "gpt-4", "score": 0.5}],
        "provenance": {"pointer": "line 2"},
    }


@pytest.mark.parametrize("item", ["item_id", "Example ID", "question-id", "case", "id", "test"])
@pytest.mark.parametrize("judge", ["juror", "critic", "rater", "Annotator", "evaluator"])
def test_what_the_columns_are_called(item: str, judge: str) -> None:
    (body,) = verdicts(long(["a", "j", 0.5], columns=f"{item},{judge},rating"))
    assert (body["id"], scores(body)) == ("a", {"j": 0.5})


@pytest.mark.parametrize(
    ("row", "columns", "seat"),
    [
        # A column of judge models names judge and model.
        (["m", 0.5], "item,judge_model,score", {"id": "m", "model": "m", "score": 0.5}),
        (["m", 0.5], "item,model_judge,score", {"id": "m", "model": "m", "score": 0.5}),
        # An empty cell is no answer, and a 0 is one.
        (["j", " "], "item,judge,score", {"id": "j"}),
        (["k", 0], "item,judge,score", {"id": "k", "score": 0}),
        # A word in the place of a score may be a vote.
        (["j", "PASS"], "item,judge,score", {"id": "j", "pass": True}),
        (["k", "good"], "item,judge,score", {"id": "k", "pass": True, "label": "good"}),
        # Words for a failure are failed ballots.
        (
            ["j", 0.3, "PARSE_FAIL"],
            "item,judge,score,verdict",
            {"id": "j", "raw_score": 0.3, "label": "PARSE_FAIL", "status": "parse_fail"},
        ),
    ],
)
def test_a_row_as_a_ballot(row: list[Any], columns: str, seat: dict[str, Any]) -> None:
    (body,) = verdicts(long(["a", *row], columns=columns), pass_labels=("good",))
    assert body["jurors"] == [seat]


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_how_csv_is_written(mark: str, end: str, start: str) -> None:
    rows = ["item,judge,score,reason", 'a,j,0.5,"one""two"', "", "b,k,1,plain"]
    text = start + end.join(rows).replace(",", mark).replace("one", f"one{mark}{end}")
    first, second = verdicts(text)
    assert first["jurors"] == [{"id": "j", "score": 0.5, "reason": f'one{mark}{end}"two'}]
    assert second["provenance"] == {"pointer": f"line {5 + start.count(chr(10))}"}


def test_json_lines_a_list_and_a_single_row_say_the_same() -> None:
    rows = [{**ROW, "pass": None, "tags": ["x"]}, {**ROW, "judge": "k", "input": {"q": 1}}]
    (first,) = verdicts(lines(*rows))
    (second,) = verdicts(json.dumps(rows, indent=1))
    assert [first.pop("provenance"), second.pop("provenance")] == [
        {"pointer": "line 1"},
        {"pointer": "$[0]"},
    ]
    assert first == second
    assert first["jurors"] == [{"id": "j", "score": 0.5, "pass": None}, {"id": "k", "score": 0.5}]
    assert (first["input"], first["case"]["tags"]) == ('{\n  "q": 1\n}', ["x"])
    assert scores(verdicts(json.dumps(ROW, indent=1))[0]) == {"j": 0.5}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("PASS", {"pass": True}),
        ("False", {"pass": False}),
        ("1", {"pass": True}),
        ("Keep", {"pass": True, "label": "Keep"}),
        ("rejected", {"pass": False, "label": "rejected"}),
        ("meh", {"pass": None, "label": "meh"}),
        ("", {"pass": None}),
    ],
)
@pytest.mark.parametrize("column", ["pass", "verdict", "decision", "label"])
def test_words_that_decide(column: str, word: str, found: dict[str, Any]) -> None:
    report, (body,) = table(long(["a", "j", 0.5, word], columns=f"item,judge,score,{column}"))
    expected = {"label": word, **found} if column == "label" and word else found
    assert body["jurors"] == [{"id": "j", "score": 0.5, **expected}]
    said = "--pass-label or --fail-label (1x): meh" in "".join(report.notes)
    assert said == (word == "meh")


def test_words_a_person_gave_come_first() -> None:
    rows = long(["a", "j", "meh"], ["a", "k", "KEEP"], columns="item,judge,verdict")
    (body,) = verdicts(rows, pass_labels=("Meh",), fail_labels=("keep",))
    assert [juror["pass"] for juror in body["jurors"]] == [True, False]


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        ("timed out", {"error": {"message": "timed out"}, "status": "timeout"}),
        ("no quota", {"error": {"message": "no quota"}, "status": "error"}),
        ("True", {"error": {"message": "True"}, "status": "error"}),
        ("false", None),
        ("", None),
    ],
)
def test_an_error_takes_the_score_out(error: str, failed: dict[str, Any] | None) -> None:
    (body,) = verdicts(long(["a", "j", 0.3, error], columns="item,judge,score,error"))
    expected = {"score": 0.3} if failed is None else {"raw_score": 0.3, **failed}
    assert body["jurors"] == [{"id": "j", **expected}]


def test_scores_on_another_scale_wait_for_the_option() -> None:
    rows = long(["a", "j", 4], ["a", "k", 1], ["b", "j", 5])
    report, bodies = table(rows)
    assert [juror for body in bodies for juror in body["jurors"]] == [
        {"id": "j", "raw_score": 4},
        # A 1 beside 4 and 5 is no full mark.
        {"id": "k", "raw_score": 1},
        {"id": "j", "raw_score": 5},
    ]
    assert "--scale LOW..HIGH (3x, from 1 to 5)" in report.notes[0]
    (first, second) = verdicts(rows, scale=(1, 5))
    # (4 - 1) / 4 = 0.75, (1 - 1) / 4 = 0, (5 - 1) / 4 = 1
    assert [*scores(first).values(), *scores(second).values()] == [0.75, 0.0, 1.0]
    assert second["jurors"] == [{"id": "j", "score": 1.0, "raw_score": 5, "scale": [1, 5]}]


def test_the_threshold_is_on_the_scale_of_the_scores() -> None:
    rows = long(["a", "j", 4, 3], columns="item,judge,score,threshold")
    assert "threshold" not in verdicts(rows)[0]
    # (3 - 1) / 4 = 0.5
    assert verdicts(rows, scale=(1, 5))[0]["threshold"] == 0.5


def test_models_are_given_by_name_and_never_guessed() -> None:
    rows = long(["a", "j", 0.5, ""], ["a", "k", 0.5, "own"], columns="item,judge,score,judge_model")
    report, (body,) = table(rows, models={"j": "m", "k": "other", "gone": "x"})
    assert [juror.get("model") for juror in body["jurors"]] == ["m", "own"]
    assert report.notes == [
        "--models: no juror is called gone",
        "--models: the file's own model is used for k",
    ]


def test_several_rubrics_make_several_verdicts() -> None:
    columns = "item,judge,rubric,score"
    rows = (["a", "j", "short", 1], ["a", "j", "polite", 0], ["b", "j", "short", 1])
    bodies = verdicts(long(*rows, columns=columns))
    assert [(body["id"], body["rubric"], body["case"]["test"]) for body in bodies] == [
        ("a / short", "short", "a"),
        ("a / polite", "polite", "a"),
        ("b", "short", "b"),
    ]


def test_repeats_are_numbered_in_their_order() -> None:
    rows = (["a", "j", 0.3, 2], ["a", "k", 0.5, 1], ["a", "j", 0.1, 1], ["a", "j", 0.9, 10])
    (body,) = verdicts(long(*rows, columns="item,judge,score,trial"))
    assert scores(body) == {"j": 0.1, "j#2": 0.3, "j#3": 0.9, "k": 0.5}
    assert "rates" in refusal(long(*rows, rows[0], columns="item,judge,score,trial"))


def test_rows_that_stand_apart_keep_the_order_of_the_items() -> None:
    rows = [[item, judge, 0.5] for judge in "jk" for item in "cab"]
    report, bodies = table(long(*rows))
    assert [body["id"] for body in bodies] == list("cab")
    assert [list(scores(body)) for body in bodies] == [["j", "k"]] * 3
    assert report.notes == ["rows of one item that were apart were joined (3x)"]
    assert table(long(*sorted(rows)))[0].notes == []


def test_the_first_row_that_says_something_counts() -> None:
    rows = (["a", "j", 1, "", "yes"], ["a", "k", 1, "in", "no"], ["a", "l", 1, "other", "perhaps"])
    report, (body,) = table(long(*rows, columns="item,judge,score,input,human"))
    assert (body["input"], body["human"]) == ("in", {"label": "pass"})
    assert report.notes == [
        "human labels of one item differ; the first one is kept (1x)",
        "rows of one item differ in their input; the first one is kept (1x)",
        f"{LEFT_OUT} (1x)",
    ]


def test_a_row_of_a_label_alone_needs_no_judge() -> None:
    columns = "item,judge,score,human,human_by"
    (body,) = verdicts(long(["a", "j", 1, "", ""], ["a", "", "", "unsure", "bo"], columns=columns))
    assert (scores(body), body["human"]) == ({"j": 1}, {"label": "unsure", "by": "bo"})


def test_only_listed_columns_leave_the_file() -> None:
    columns = "item,judge,score,api_key,batch"
    report, bodies = table(long(["a", "j", 1, "sk-secret", "n"], columns=columns))
    kept_out = "did not copy 1 API key that the file shows in clear; change it"
    assert report.notes == ["columns not read: api_key, batch", kept_out]
    assert "sk-secret" not in json.dumps([bodies, report.header])


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "@SUM(A1)", "\x1b[2J", "<script>", "[red]x[/]"])
def test_what_looks_like_a_command_is_a_text(text: str) -> None:
    (body,) = verdicts(long([text, text, 0.5, text], columns="item,judge,score,reason"))
    assert (body["id"], body["jurors"]) == (text, [{"id": text, "score": 0.5, "reason": text}])


def test_long_names_are_cut_and_told_apart() -> None:
    bodies = verdicts(long(["x" * 600 + "a", "y" * 300 + "a", 1], ["x" * 600 + "b", "y", 1]))
    assert [body["id"] for body in bodies] == ["x" * 480, "x" * 480 + "#2"]
    assert bodies[0]["jurors"][0]["id"] == "y" * 190


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).filter(
    lambda name: name == name.strip() and "#" not in name and len(name) < 150
)
# A row that is named after a sum, or after an answer, may be the last one of a sheet that sums up.
names = names.filter(lambda name: not SUMS.search(name) and USUAL.vote(name) is None)


def is_plain(text: str) -> bool:
    return not _PERSON.match(text) and "\\N" not in text


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
grids = st.dictionaries(
    st.tuples(names.filter(is_plain), names.filter(is_plain)),
    st.tuples(st.none() | st.floats(0, 1), texts.filter(is_plain)),
    min_size=1,
    max_size=12,
)


@given(grids, st.randoms(use_true_random=False))
def test_any_grid_comes_back_whatever_the_order_of_its_rows(
    grid: dict[tuple[str, str], tuple[float | None, str]], chance: Any
) -> None:
    rows = [
        [item, judge, "" if score is None else repr(score), reason]
        for (item, judge), (score, reason) in grid.items()
    ]
    chance.shuffle(rows)
    bodies = verdicts(long(*rows, columns="item,judge,score,reason"))
    found = {
        (body["id"], juror["id"]): (juror.get("score"), juror.get("reason", ""))
        for body in bodies
        for juror in body["jurors"]
    }
    assert found == {
        key: (score, reason if reason.strip() else "") for key, (score, reason) in grid.items()
    }
    assert [body["id"] for body in bodies] == list(dict.fromkeys(row[0] for row in rows))
