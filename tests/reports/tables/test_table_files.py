"""The real tables, against a plain recount of the same bytes."""

import csv
import io
from typing import Any

from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.tablekit import TABLES, needs_files

JUDGES = ("GPT-4", "ChatGPT", "ChatGPT-0301", "LLaMA2", "PaLM2", "Falcon")
VOTES = {"True": True, "False": False, "": None}


def opened(name: str, **options: Any) -> list[Any]:
    report = read(Source.from_path(TABLES / name), ReadOptions(**options))
    bodies = list(report.verdicts())
    assert report.format == "table"
    return bodies


def ballots(bodies: list[Any]) -> list[tuple[Any, ...]]:
    """Every ballot with its item, in the order of the file."""
    return [
        (body["id"], juror["id"], juror["score"], juror["pass"], juror["reason"])
        for body in bodies
        for juror in body["jurors"]
    ]


def rows(name: str) -> list[Any]:
    text = (TABLES / name).read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


@needs_files
def test_long_csv() -> None:
    found = ballots(opened("long.csv"))
    counted = [
        (row["item"], row["judge"], float(row["score"]), VOTES[row["pass"]], row["reason"])
        for row in rows("long.csv")
    ]
    assert found == counted
    # Twelve items before six judges each.
    assert (len(found), len({item for item, *_ in found})) == (72, 12)


@needs_files
def test_long_jsonl_says_what_the_csv_says() -> None:
    assert ballots(opened("long.jsonl")) == ballots(opened("long.csv"))


@needs_files
def test_wide_csv() -> None:
    found = opened("wide.csv", judge_columns=JUDGES)
    counted = rows("wide.csv")
    assert [
        (body["id"], body["output"], [juror["score"] for juror in body["jurors"]]) for body in found
    ] == [(row["item"], row["text"], [float(row[judge]) for judge in JUDGES]) for row in counted]
    assert [body["human"] for body in found] == [
        {"label": "pass" if row["human"] == "True" else "fail"} for row in counted
    ]
    assert {tuple(juror["id"] for juror in body["jurors"]) for body in found} == {JUDGES}
