"""Ordinary files of people, each with the reading that is right."""

from collections.abc import Mapping
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from tests.helpers import SHARED

CASES = SHARED / "cases" / "tables"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the files are not beside the checkout")

P, F = True, False


def answers(path: str, **options: Any) -> dict[str, dict[str, Any]]:
    """By item and juror: the score, else the vote, the raw score, or the status."""
    report = read(Source.from_path(CASES / path), ReadOptions(**options))
    return {
        body["id"]: {juror["id"]: _answer(juror) for juror in body["jurors"]}
        for body in report.verdicts()
    }


def _answer(juror: Mapping[str, Any]) -> Any:
    for key in ("status", "score", "pass", "raw_score"):
        if juror.get(key) is not None:
            return juror[key]
    return None


GPT = {"gpt": 1, "claude": 1, "gemini": 0}
GPT_0 = dict.fromkeys(GPT, 0)


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        (
            "01-sheet-judge-per-column/sheet.csv",
            {"judge_columns": ("GPT-4o", "Claude Sonnet", "Gemini Pro")},
            {
                "1": {"GPT-4o": P, "Claude Sonnet": P, "Gemini Pro": F},
                "2": {"GPT-4o": F, "Claude Sonnet": F, "Gemini Pro": F},
                "3": {"GPT-4o": P, "Claude Sonnet": F, "Gemini Pro": None},
            },
        ),
        (
            "03-json-rows-judge-columns/rows.jsonl",
            {"judge_columns": ("gpt-4o", "claude", "gemini")},
            {
                "q0": {"gpt-4o": 1, "claude": 1, "gemini": 0},
                "q1": {"gpt-4o": 0, "claude": 0, "gemini": 0},
                "q2": {"gpt-4o": 1, "claude": 0, "gemini": 1},
            },
        ),
        ("04-pandas-orient-columns/long-columns.json", {}, {"q0": GPT, "q1": GPT_0}),
        ("06-long-json-with-nested-column/msgs.jsonl", {}, {"a": {"gpt": 1, "claude": 0}}),
        ("06-long-json-with-nested-column/nestcol.json", {}, {"a": {"gpt": 1, "claude": 0}}),
        (
            "07-excel-decimal-comma/excel-de-long.csv",
            {},
            {"a": {"x": 0.5, "y": 1}, "b": {"x": 0, "y": 0.25}},
        ),
        (
            "07-excel-decimal-comma/excel-de-wide.csv",
            {"judge_columns": ("gpt-4o", "claude", "gemini")},
            {
                "1": {"gpt-4o": 0.9, "claude": 0.8, "gemini": 0.35},
                "2": {"gpt-4o": 0.1, "claude": 0.2, "gemini": 0.15},
            },
        ),
        (
            "09-nan-cells/nan.csv",
            {},
            {"a": {"x": 0.5, "y": None, "z": None}, "b": {"x": None, "y": "unknown", "z": 0.5}},
        ),
        ("10-nan-token-json/nan.json", {}, {"a": {"gpt": None, "claude": 1}}),
        (
            "13-metric-column-is-not-a-repeat/metric.csv",
            {},
            {"a / tone": {"gpt": 1, "claude": 0}, "a / facts": {"gpt": 0.2}},
        ),
        (
            "15-wide-with-reasons/wide-reasons.csv",
            {"judge_columns": ("gpt_score", "claude_score")},
            {"1": {"gpt": 0.9, "claude": 0.2}, "2": {"gpt": 1, "claude": 1}},
        ),
        ("30-binary-tables/long.parquet", {}, {"q0": GPT, "q1": GPT_0}),
        ("30-binary-tables/long.xlsx", {}, {"q0": GPT, "q1": GPT_0}),
    ],
)
def test_what_opens(path: str, options: dict[str, Any], expected: Any) -> None:
    pytest.importorskip("openpyxl" if path.endswith("xlsx") else "pyarrow")
    assert answers(path, **options) == expected


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("01-sheet-judge-per-column/sheet.csv", "'GPT-4o,Claude Sonnet,Gemini Pro'"),
        ("03-json-rows-judge-columns/rows.jsonl", "--judge-columns gpt-4o,claude,gemini"),
        ("15-wide-with-reasons/wide-reasons.csv", "--judge-columns gpt_score,claude_score"),
    ],
)
def test_what_is_refused_names_the_command(path: str, told: str) -> None:
    with pytest.raises(ReportError) as caught:
        answers(path)
    assert str(caught.value).endswith(told)
