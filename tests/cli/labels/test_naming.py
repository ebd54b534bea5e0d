"""How runs, verdicts and tags are named from the shell, and what is said of a name that fails."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from tests.cli.conftest import Cli, Done, once, rows
from tests.cli.gatekit import Write
from tests.helpers import mark, numbered, report, tag, verdict


@pytest.fixture
def two(cli: Cli, write: Write, tmp_path: Path) -> Cli:
    """Runs ``one`` and ``two`` that share the id ``both``; ``two`` was loaded last."""
    first = report(verdict("both"), verdict("first"), verdict("a:b"), report_id="one")
    second = report(verdict("both", 0.1), verdict("second"), report_id="two")
    once(tmp_path, "two", lambda: cli("ingest", write("1.json", first), write("2.json", second)))
    return cli


def shown(done: Done) -> tuple[str, str]:
    return done.json["run"], done.json["id"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("first", ("one", "first")), ("second", ("two", "second")), ("a:b", ("one", "a:b")),
        ("one:both", ("one", "both")), ("two:both", ("two", "both")),
        ("one:a:b", ("one", "a:b")), ("both --run two", ("two", "both")),
    ],
)  # fmt: skip
def test_an_id_needs_a_run_only_where_two_have_it(two: Cli, words: str, found: Any) -> None:
    assert shown(two("show", *words.split(), "--json")) == found


@pytest.mark.parametrize(
    "command", [("show", "both"), ("label", "both", "pass"), ("defer", "both")]
)
def test_an_ambiguous_id_lists_the_candidates(two: Cli, command: tuple[str, ...]) -> None:
    done = two(*command)
    assert (done.code, done.out) == (2, "")
    (line,) = done.lines
    assert "one:both" in line
    assert "two:both" in line
    assert two("desk", "verify", "--json").json["events"] == 2


def test_an_id_that_reads_like_a_run_and_an_id(two: Cli, write: Write) -> None:
    assert two("ingest", write("3.json", report(verdict("b"), report_id="a"))).code == 0
    done = two("label", "a:b", "fail")
    assert done.code == 2
    assert "one:a:b" in done.err
    assert shown(two("show", "b", "--run", "a", "--json")) == ("a", "b")
    assert shown(two("show", "one:a:b", "--json")) == ("one", "a:b")


@pytest.mark.parametrize("name", ["nobody", "one:nobody", "three:both", "one:", ":both", ""])
def test_a_name_of_nothing(two: Cli, name: str) -> None:
    done = two("show", name)
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)


def test_a_run_is_the_one_opened_last_or_named_by_a_prefix_and_none_once_removed(two: Cli) -> None:
    done = two("queue", "--json")
    assert {row["run"] for row in done.json} == {"two"}
    assert done.lines == ["run: two"]
    assert two("open", "--run", "one").code == 0
    assert two("queue", "--json").lines == ["run: one"]
    hashes = {run["run"]: run["hash"] for run in two("runs", "--json").json}
    done = two("queue", "--json", "--run", hashes["one"][:12])
    assert {row["run"] for row in done.json} == {"one"}
    assert done.lines == []
    assert two("runs", "remove", "two").code == 0
    assert two("queue", "--run", "two").code == 2
    assert shown(two("show", "both", "--json")) == ("one", "both")


@pytest.mark.parametrize("command", ["queue", "calibrate"])
def test_a_run_that_is_not_there(two: Cli, command: str) -> None:
    done = two(command, "--run", "three")
    assert (done.code, done.lines) == (2, ["no run 'three'. Loaded runs: one, two."])


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


def test_list_and_exports_carry_newest_tags_of_each_author(loaded: Cli, desk_path: Path) -> None:
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
