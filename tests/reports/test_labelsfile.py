from __future__ import annotations

import json
from typing import Any

import pytest

from reviewdesk.errors import LabelsFileError
from reviewdesk.reports.labelsfile import ScoreRow, read_labels, read_scores
from reviewdesk.reports.source import Source


def _source(*rows: Any) -> Source:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return Source.from_bytes("labels.jsonl", "\n".join(lines).encode())


PAIR = {"confidence": 0.9, "correct": True}
FULL = {
    **PAIR,
    "id": "v",
    "run": "r",
    "item_hash": "h",
    "decision": "pass",
    "truth": "pass",
    "stratum": "rest/pass",
    "pi": 0.1,
    "weight": 10.0,
    "selection": "audit",
    "blind": True,
    "reviewer": "ann",
    "time": "2025-01-01T00:00:00Z",
    "note": None,
    "tags": ["x"],
    "tentative": False,
    "confidence_source": "support",
    "head": "12:abc",
}


def test_two_key_rows() -> None:
    found = read_scores(_source(PAIR, {"confidence": 1, "correct": False}))
    assert found.rows == (ScoreRow(1, 0.9, True, None), ScoreRow(2, 1.0, False, None))
    assert found.source is None


def test_full_rows_and_an_unsure_one() -> None:
    unsure = {**FULL, "correct": None, "confidence": None, "truth": "unsure"}
    found = read_scores(_source(FULL, unsure, FULL))
    assert found.rows == (ScoreRow(1, 0.9, True, 10.0), ScoreRow(3, 0.9, True, 10.0))
    assert found.source == "support"


def test_a_source_that_only_some_rows_name_is_not_the_files() -> None:
    assert read_scores(_source(FULL, PAIR)).source is None


def test_an_empty_file_is_an_empty_set() -> None:
    assert read_scores(_source()).rows == ()
    assert read_scores(_source("[]")).rows == ()


def test_a_json_array_counts_lines() -> None:
    found = read_scores(_source("[", json.dumps(PAIR) + ",", json.dumps(PAIR), "]"))
    assert [row.line for row in found.rows] == [2, 3]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            {"confidence": True, "correct": True},
            "confidence must be a number from 0 to 1, found true",
        ),
        (
            {"confidence": 1.1, "correct": True},
            "confidence must be a number from 0 to 1, found 1.1",
        ),
        ({"confidence": "0.5", "correct": True}, 'from 0 to 1, found "0.5"'),
        ({"confidence": 0.5, "correct": 1}, "correct must be true or false, found 1"),
        ({"confidence": 0.5, "correct": None}, "correct must be true or false, found null"),
        ({"confidence": 0.5}, 'has no "correct"'),
        ({"correct": True}, 'has no "confidence"'),
        ({**PAIR, "colour": 1}, 'has the key "colour"'),
        ({**FULL, "weight": -1}, "weight must be a number, 0 or more, found -1"),
        ({**FULL, "confidence_source": "score"}, 'confidence_source is "score"'),
        ('{"confidence": NaN, "correct": true}', "holds NaN"),
        ('{"confidence": 1e999, "correct": true}', "too large"),
        ('{"confidence": 0.5, "correct": true', "is not JSON"),
        ('{"correct": true, "correct": true}', "twice"),
        ("[1]", "must be an object, found [1]"),
    ],
)
def test_a_wrong_score_row_is_named_with_its_line(row: Any, text: str) -> None:
    with pytest.raises(LabelsFileError) as caught:
        read_scores(_source(FULL, row))
    assert str(caught.value).startswith("labels.jsonl: line 2")
    assert text in str(caught.value)


def test_labels_need_little_and_keep_the_rest() -> None:
    short, full = read_labels(_source({"id": "a", "truth": "fail"}, FULL))
    assert (short.line, short.id, short.truth, short.tentative) == (1, "a", "fail", False)
    assert (short.run, short.item_hash, short.note, short.tags, short.blind) == (
        None,
        None,
        None,
        (),
        None,
    )
    assert (full.reviewer, full.time, full.tags, full.blind) == (
        "ann",
        "2025-01-01T00:00:00Z",
        ("x",),
        True,
    )
    assert full.kept == {
        "pi": 0.1,
        "weight": 10.0,
        "selection": "audit",
        "stratum": "rest/pass",
    }
    (hashed,) = read_labels(_source({"item_hash": "h", "truth": "unsure", "tentative": True}))
    assert (hashed.item_hash, hashed.tentative) == ("h", True)


def test_two_key_rows_belong_to_calibrate() -> None:
    with pytest.raises(LabelsFileError, match=r"reviewdesk calibrate labels\.jsonl"):
        read_labels(_source(PAIR))


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"id": "a"}, 'has no "truth"'),
        ({"truth": "pass"}, "names no verdict"),
        ({"id": "a", "truth": "good"}, 'truth must be "pass", "fail" or "unsure", found "good"'),
        ({"id": 1, "truth": "pass"}, "id must be a text, found 1"),
        ({"id": "a", "truth": "pass", "tags": "x"}, "tags must be a list of texts"),
        ({"id": "a", "truth": "pass", "blind": "no"}, "blind must be true or false"),
        ({"id": "a", "truth": "pass", "time": "today"}, "time must be a time"),
    ],
)
def test_a_wrong_label_row_is_named_with_its_line(row: Any, text: str) -> None:
    with pytest.raises(LabelsFileError) as caught:
        read_labels(_source({"id": "z", "truth": "pass"}, row))
    assert str(caught.value).startswith("labels.jsonl: line 2")
    assert text in str(caught.value)


def test_yaml_and_damage_are_labels_errors() -> None:
    with pytest.raises(LabelsFileError, match="YAML"):
        read_scores(_source("- confidence: 0.5"))
    with pytest.raises(LabelsFileError, match="gzip"):
        read_scores(Source.from_bytes("a", b"\x1f\x8b\x08"))
    with pytest.raises(LabelsFileError, match=r"line 1: is not UTF-8 text \(byte 0\)"):
        read_scores(Source.from_bytes("a", b"\xff"))
