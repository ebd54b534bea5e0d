"""Tags from the shell: given with a label, counted, listed, and taken from desk to desk."""

import csv
import io
import json
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from tests.cli.conftest import Cli, rows
from tests.cli.gatekit import Write
from tests.helpers import mark, numbered, tag


@pytest.fixture
def loaded(cli: Cli, write: Write) -> Cli:
    assert cli("ingest", write("report.json", numbered(6))).code == 0
    return cli


def test_a_label_adds_its_tags(loaded: Cli) -> None:
    loaded("label", "v1", "pass", "--tag", "Wrong Policy", "--tag", "tone")
    loaded("label", "v1", "fail", "--tag", "new")
    loaded("label", "v1", "fail", "--tag", "theirs", "--reviewer", "ben")
    found = loaded("show", "v1", "--json").json
    assert found["tags"] == ["wrong-policy", "tone", "new"]
    assert (found["other_tags"], found["marked"]) == (["theirs"], False)
    assert loaded("desk", "verify", "--json").json["events"] == 4
    loaded("undo")
    assert loaded("show", "v1", "--json").json["tags"] == ["wrong-policy", "tone"]


def test_what_is_no_tag_is_one_line_and_no_label(loaded: Cli) -> None:
    done = loaded("label", "v1", "pass", "--tag", "a,b")
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert "comma" in done.err
    assert loaded("desk", "verify", "--json").json["events"] == 1


def test_a_mark_is_shown(loaded: Cli, desk_path: Path) -> None:
    desk = Desk.open(desk_path, reviewer="ann")
    mark(desk, desk.find(desk.run(), "v1"), on=True)
    desk.close()
    assert loaded("show", "v1", "--json").json["marked"] is True
    assert loaded("show", "v2", "--json").json["marked"] is False
    assert loaded("undo").out.split() == ["undo", "mark", "v1"]


def test_tags_are_counted(loaded: Cli) -> None:
    for name, *tags in (("v1", "b", "a"), ("v2", "b"), ("v3", "c")):
        loaded("label", name, "pass", *(word for tag in tags for word in ("--tag", tag)))
    loaded("label", "v1", "fail", "--tag", "b", "--reviewer", "ben")
    # b is on v1 (twice) and v2, a and c on one item each.
    assert loaded("calibrate", "--run", "run", "--json").json["tags"] == [
        {"tag": "b", "count": 2},
        {"tag": "a", "count": 1},
        {"tag": "c", "count": 1},
    ]


def test_list_and_exports_carry_the_newest_tags_of_each_author(
    loaded: Cli, desk_path: Path
) -> None:
    loaded("label", "v1", "pass", "--tag", "old")
    loaded("label", "v1", "pass", "--tag", "theirs", "--reviewer", "ben")
    loaded("label", "v2", "fail")
    desk = Desk.open(desk_path, reviewer="ann")
    tag(desk, desk.find(desk.run(), "v1"), ["tone", "a=b"])
    desk.close()
    expected = {("v1", "ann"): ["tone", "a=b"], ("v1", "ben"): ["theirs"], ("v2", "ann"): []}
    listed = loaded("labels", "list", "--json").json
    assert {(row["id"], row["reviewer"]): row["tags"] for row in listed} == expected
    full = rows(loaded("labels", "export", "--format", "full"))
    assert {(row["id"], row["reviewer"]): row["tags"] for row in full} == expected
    lines = loaded("labels", "list").out.splitlines()
    assert [line.endswith("[tone, a=b]") for line in lines if "v1  ann" in line] == [True]
    assert [line.endswith("]") for line in lines if "v2  ann" in line] == [False]


def test_tags_travel_to_another_desk(loaded: Cli, write: Write, tmp_path: Path) -> None:
    loaded("label", "v1", "pass", "--tag", "tone", "--tag", "a")
    path = write("full.jsonl", loaded("labels", "export", "--format", "full").out.encode())
    other = ("--desk", tmp_path / "other.db", "--reviewer", "cara")
    loaded("ingest", tmp_path / "report.json", *other)
    loaded("labels", "import", path, *other)
    assert loaded("show", "v1", "--json", *other).json["other_tags"] == ["tone", "a"]
    counted = [loaded("calibrate", "--json", *desk).json["tags"] for desk in (other, ())]
    assert counted[0] == counted[1]


def test_a_files_tags_get_their_one_spelling(loaded: Cli, write: Write) -> None:
    row = {"id": "v1", "truth": "pass", "tags": ["Wrong Policy", "a,b", "\x1b[2J", "tone"]}
    done = loaded("labels", "import", write("labels.jsonl", json.dumps(row).encode()))
    assert [line for line in done.lines if line.startswith("2 tags left out")]
    found = loaded("show", "v1", "--json").json
    assert (found["label"], found["tags"]) == ("pass", ["wrong-policy", "tone"])
    done = loaded("labels", "import", write("fine.jsonl", b'{"id": "v2", "truth": "pass"}'))
    assert "tags" not in done.err


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum(a1)", "\uff1d1", "'=1"])
def test_a_table_never_starts_a_formula_and_reads_back_the_same(loaded: Cli, name: str) -> None:
    loaded("label", "v1", "pass", f"--note={name}", f"--tag={name}", "--tag", "=2")
    out = loaded("labels", "export", "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["tags"], row["note"]) == (f"'{name} =2", f"'{name}")
    (label,) = read_labels(Source.from_bytes("labels.csv", out.encode()))
    assert (label.tags, label.note) == ((name, "=2"), name)
