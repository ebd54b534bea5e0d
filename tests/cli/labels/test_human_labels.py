"""Labels that a file already holds: counted, shown, and taken only where somebody asks."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, rows
from tests.cli.gatekit import Write
from tests.helpers import open_desk, report, unmeasure, verdict

CARA = {"label": "fail", "by": "cara", "at": "2025-01-02T03:04:05Z", "note": "day 31"}


@pytest.fixture
def file(write: Write) -> Path:
    """Three verdicts of four came with a label."""
    return write("report.json", report(
        verdict("a", human=CARA),
        verdict("b", human={"label": "pass"}),
        verdict("c", human={"label": "unsure", "by": "dan"}),
        verdict("d"),
    ))  # fmt: skip


def test_they_are_counted_and_left_alone(cli: Cli, file: Path) -> None:
    assert cli("ingest", file, "--json").json[0]["human_labels"] == 3
    assert "3 human labels in the file; --import-labels takes them" in cli("ingest", file).out
    assert cli("runs", "--json").json[0]["human_labels"] == 3
    told = "run: 3 human labels in the file; --import-labels takes them"
    assert cli("open", file).lines == [told]
    assert told not in cli("open", file, "--import-labels").lines
    cli("undo")
    assert cli("labels", "list", "--json").json == []
    assert cli("show", "a", "--json").json["human"] == CARA


@pytest.mark.parametrize("known", [False, True])
def test_they_are_taken_on_request_with_author_and_time(cli: Cli, file: Path, known: bool) -> None:
    if known:
        cli("ingest", file)
    made = cli("ingest", file, "--import-labels", "--json").json[0]
    assert made["new"] is not known
    assert made["notes"] == ["3 labels taken from the file"]
    full = rows(cli("labels", "export", "--format", "full"))
    told = {row["id"]: (row["truth"], row["reviewer"], row["note"]) for row in full}
    # Who is not named is whoever asked for it.
    assert told == {
        "a": ("fail", "cara", "day 31"), "b": ("pass", "ann", None), "c": ("unsure", "dan", None),
    }  # fmt: skip
    assert next(row["time"] for row in full if row["id"] == "a") == CARA["at"]
    assert cli("undo", "--json").json["was"] == "import of 3 labels"
    assert cli("labels", "list", "--json").json == []


def test_an_item_that_has_a_label_is_left_alone_and_counted(cli: Cli, file: Path) -> None:
    cli("ingest", file)
    cli("label", "a", "pass")
    made = cli("ingest", file, "--import-labels", "--json").json[0]
    assert made["notes"] == ["2 labels taken from the file; 1 left alone: the item has a label"]
    again = cli("ingest", file, "--import-labels", "--json").json[0]
    assert again["notes"] == ["0 labels taken from the file; 3 left alone: the item has a label"]
    held = {
        row["id"]: (row["label"], row["reviewer"]) for row in cli("labels", "list", "--json").json
    }
    assert held["a"] == ("pass", "ann")


def test_they_leave_with_the_report(cli: Cli, file: Path, tmp_path: Path) -> None:
    cli("ingest", file)
    cli("export", "report", "-o", tmp_path / "out.json")
    assert cli("ingest", tmp_path / "out.json", "--json").json[0]["human_labels"] == 3


def test_an_older_desk_counts_them_when_it_is_opened(cli: Cli, file: Path, desk_path: Path) -> None:
    cli("ingest", file)
    with closing(open_desk(desk_path)) as desk:
        unmeasure(desk.conn)
    assert cli("runs", "--json").json[0]["human_labels"] == 3
