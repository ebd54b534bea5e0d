"""Labels out of a desk and into another one: every figure comes back."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Cli, Done, give, once, rows
from tests.cli.gatekit import FOUR, Write
from tests.helpers import numbered, open_desk, report, unmeasure, verdict


def label_all(count: int) -> None:
    """Label a whole run, the judge being wrong on every fifth."""
    give(
        (f"v{place}", "pass" if (place % 3 != 0) == bool(place % 5) else "fail")
        for place in range(count)
    )


@pytest.mark.slow
def test_an_exact_export_warns_where_rows_weigh_differently(cli: Cli, write: Write) -> None:
    # 80 verdicts: 20 flagged and 60 of the rest, of which 30 are the audit.
    cli("ingest", write("report.json", numbered(80)))
    audited = [row for row in cli("queue", "--json").json if row["audit"]]
    flagged = [row for row in cli("queue", "--json").json if row["stratum"].startswith("flagged")]
    assert (len(audited), len(flagged)) == (30, 20)
    give((row["id"], row["decision"]) for row in (*audited, *flagged))
    assert cli("calibrate", "--json").json["design"] == "weighted"
    assert len(rows(cli("labels", "export"))) == 50
    for kind in ("mcptest", "yaml"):
        assert "--format full" in cli("labels", "export", "--format", kind).err
    full = rows(cli("labels", "export", "--format", "full"))
    # The weights of a stratum add up to its size, so all together to the run.
    assert sum(row["weight"] for row in full) == pytest.approx(80)


FULL = """confidence correct confidence_source id run item_hash decision truth stratum pi
    weight selection blind reviewer time note tags"""


def make_rich(cli: Cli, write: Write) -> None:
    twin = {**verdict("twin"), **{key: verdict("v1")[key] for key in ("input", "output")}}
    cli("ingest", write("report.json", report(*json.loads(numbered(12))["verdicts"], twin)))
    for name, truth, *more in (
        ("v0", "fail"),
        ("v1", "pass", "--note", "clear =1+1"),
        ("v2", "fail"),
        ("v3", "unsure", "--note", "who knows\nthis"),
        ("v4", "pass"),
        ("v5", "fail"),
        ("v6", "pass", "--tag", "tone", "--tag", "a"),
    ):
        assert cli("label", name, truth, *more).code == 0
    for name, truth in (("v4", "fail"), ("v5", "fail"), ("v7", "pass")):
        assert cli("label", name, truth, "--reviewer", "ben").code == 0


@pytest.fixture
def rich(cli: Cli, write: Write, tmp_path: Path) -> Cli:
    """Labels of every kind: unsure, disputed, with notes, and by two reviewers."""
    once(tmp_path, "rich", lambda: make_rich(cli, write))
    return cli


def test_a_full_export_says_everything_and_a_table_the_same(rich: Cli, tmp_path: Path) -> None:
    full = rows(rich("labels", "export", "--format", "full"))
    # Seven by ann, the label of v1 once more for its twin, and three by ben.
    assert len(full) == 11
    assert all(row.keys() >= set(FULL.split()) for row in full)
    by_place = {(row["id"], row["reviewer"]): row for row in full}
    assert by_place["v3", "ann"]["note"] == "who knows\nthis"
    assert by_place["twin", "ann"]["truth"] == by_place["v1", "ann"]["truth"] == "pass"
    assert by_place["twin", "ann"]["item_hash"] == by_place["v1", "ann"]["item_hash"]
    # Neither an unsure nor a disputed label makes a row that counts.
    for place in (("v3", "ann"), ("v4", "ann"), ("v4", "ben")):
        assert (by_place[place]["correct"], by_place[place]["weight"]) == (None, 0.0)
    out = tmp_path / "labels.csv"
    done = rich("labels", "export", "--format", "csv", "-o", out)
    assert (done.code, done.out) == (0, "")
    table = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    full = rows(rich("labels", "export", "--format", "full"))
    assert [(row["id"], row["truth"], row["reviewer"]) for row in table] == [
        (row["id"], row["truth"], row["reviewer"]) for row in full
    ]


def test_a_full_export_fills_an_empty_desk(rich: Cli, write: Write, tmp_path: Path) -> None:
    path = write("full.jsonl", rich("labels", "export", "--format", "full").out.encode())
    other = ("--desk", tmp_path / "other.db", "--reviewer", "cara")
    assert rich("ingest", tmp_path / "report.json", *other).code == 0
    done = rich("labels", "import", path, "--json", *other).json
    assert (done["rows"], done["labelled"], done["unknown"], done["conflicts"]) == (11, 11, 0, 0)
    assert done["design"] == rich("calibrate", "--json").json["design"]
    assert rich("calibrate", "--json", *other).json == rich("calibrate", "--json").json
    assert rich("queue", "--json", *other).json == rich("queue", "--json").json

    def comparable(found: Done) -> list[dict[str, Any]]:
        return [{key: row[key] for key in row if key != "head"} for row in rows(found)]

    again = comparable(rich("labels", "export", "--format", "full", *other))
    assert again == comparable(rich("labels", "export", "--format", "full"))
    listed = rich("labels", "list", "--json", *other).json
    assert listed == rich("labels", "list", "--json").json


def test_an_import_again_changes_nothing_nor_do_rows_that_are_for_calibrate(
    rich: Cli, write: Write
) -> None:
    path = write("full.jsonl", rich("labels", "export", "--format", "full").out.encode())
    head = rich("desk", "verify", "--json").json
    done = rich("labels", "import", path, "--json").json
    assert (done["labelled"], done["new"]) == (11, 0)
    assert rich("desk", "verify", "--json").json == head
    path = write("two.jsonl", rich("labels", "export").out.encode())
    head = rich("desk", "verify", "--json").json
    done = rich("labels", "import", path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.lines
    assert line.startswith(f"{path}: line 1: ")
    assert line.endswith(f"reviewdesk calibrate {path}")
    assert rich("desk", "verify", "--json").json == head


def test_an_import_is_one_undo(rich: Cli, write: Write, tmp_path: Path) -> None:
    path = write("full.jsonl", rich("labels", "export", "--format", "full").out.encode())
    other = ("--desk", tmp_path / "other.db")
    rich("ingest", tmp_path / "report.json", *other)
    empty = rich("calibrate", "--json", *other).json
    rich("labels", "import", path, *other)
    full = rich("calibrate", "--json", *other).json
    assert full["n"] > 0
    assert rich("undo", "--json", *other).json["was"] == "import of 10 labels"
    assert rich("calibrate", "--json", *other).json == empty
    assert rich("undo", "--json", *other).json is None
    rich("redo", *other)
    assert rich("calibrate", "--json", *other).json == full


def test_a_note_given_after_its_label_is_exported(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(3)))
    cli("label", "v1", "pass", "--note", "first")
    cli("label", "v1", "fail", "--note", "second")
    cli("label", "v1", "pass")
    (row,) = rows(cli("labels", "export", "--format", "full"))
    assert row["note"] == "second" == cli("show", "v1", "--json").json["note"]
    cli("label", "v1", "pass", "--note", "")
    (row,) = rows(cli("labels", "export", "--format", "full"))
    assert row["note"] is None is cli("show", "v1", "--json").json["note"]


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ({"id": "v8"}, True),
        ({"run": "run", "id": "v8"}, True),
        ({"id": "nobody"}, False),
        ({"run": "elsewhere", "id": "v8"}, False),
        ({"item_hash": "00" * 32}, False),
        ({"item_hash": "no hash"}, False),
        ({"id": "v8", "item_hash": "00" * 32}, False),
        ({"id": "V8"}, False),
        ({"id": "\x00"}, False),
    ],
    ids=str,
)
def test_which_rows_fit(rich: Cli, write: Write, row: dict[str, str], fits: bool) -> None:
    path = write("labels.jsonl", json.dumps({**row, "truth": "pass"}).encode())
    done = rich("labels", "import", path, "--json")
    told = json.loads(done.out)
    assert (told["labelled"], told["unknown"]) == (int(fits), int(not fits))
    assert done.code == (0 if fits else 1)
    assert any("no verdict of run matches line 1" in line for line in done.lines) is not fits


def test_a_content_hash_alone_names_the_content(rich: Cli, write: Write) -> None:
    item = rich("show", "v9", "--json").json["item_hash"]
    path = write("labels.jsonl", json.dumps({"item_hash": item, "truth": "pass"}).encode())
    assert rich("labels", "import", path, "--json").json["labelled"] == 1
    assert rich("show", "v9", "--json").json["label"] == "pass"


def test_weights_of_a_file_are_never_used(rich: Cli, write: Write, tmp_path: Path) -> None:
    full = rows(rich("labels", "export", "--format", "full"))
    for row in full:
        row |= {"weight": 1000.0, "pi": 0.001, "selection": "draw", "stratum": "rest/pass"}
    path = write("full.jsonl", "".join(json.dumps(row) + "\n" for row in full).encode())
    other = ("--desk", tmp_path / "other.db")
    rich("ingest", tmp_path / "report.json", *other)
    rich("labels", "import", path, *other)
    assert rich("calibrate", "--json", *other).json == rich("calibrate", "--json").json


def test_an_export_never_lands_on_the_desk(rich: Cli, desk_path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(desk_path)
    before = rich("desk", "verify", "--json").json
    for output in (desk_path, link, tmp_path):
        done = rich("labels", "export", "-o", output)
        assert (done.code, done.out) == (2, "")
    assert rich("desk", "verify", "--json").json == before


def test_a_label_of_an_unseen_response_stays_such(cli: Cli, write: Write, tmp_path: Path) -> None:
    cli("ingest", write("report.json", numbered(12)))
    label_all(12)
    full = rows(cli("labels", "export", "--format", "full"))
    for row, seen in zip(full, [None, True, *[None] * 9, False], strict=True):
        row["seen"] = seen
    path = write("full.jsonl", "\n".join(map(json.dumps, full)).encode())
    there = ("--desk", str(tmp_path / "there.db"))
    cli(*there, "ingest", write("report.json", numbered(12)))
    assert cli(*there, "labels", "import", path).code == 0
    again = rows(cli(*there, "labels", "export", "--format", "full"))
    # Of no other desk's session can it be known here that it had the response on screen.
    assert {row["id"]: row["seen"] for row in again} == {
        row["id"]: False if row["seen"] is False else None for row in full
    }
    assert cli(*there, "calibrate", "--json").json["design"] == "weighted"
    done = cli(*there, "labels", "export")
    assert len(rows(done)) == 11
    assert "1 labels are left out: nobody had the response on screen" in done.err
    cli(*there, "label", full[-1]["id"], full[-1]["truth"])
    assert cli(*there, "calibrate", "--json").json["design"] == "census"


def test_a_dry_run_names_every_conflict_and_records_nothing(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(12)))
    cli("label", "v0", "pass")
    (before,) = cli("labels", "list", "--json").json
    sheet = f"id,truth,reviewer\nv0,fail,{before['reviewer']}\nv1,pass,bo\nv1,fail,bo\n"
    path = write("sheet.csv", (sheet + "gone,pass,bo\n" * 7).encode())
    done = cli("labels", "import", path, "--dry-run")
    assert done.code == 0
    assert "nothing recorded; it would be: 10 rows, 1 labelled, 1 of them new" in done.out
    assert "matches line 5, 6, 7, 8, 9, 10, 11\n" in done.err
    assert (
        f"line 2: v0 by {before['reviewer']} is pass on the desk and fail in the file" in done.err
    )
    assert "line 4: v1 by bo is pass on the desk and fail in the file" in done.err
    assert cli("labels", "list", "--json").json == [before]
    told = cli("labels", "import", path, "--dry-run", "--json").json
    assert told["unknown_lines"] == [*range(5, 12)]
    assert [one["line"] for one in told["differing"]] == [2, 4]
    assert cli("labels", "import", path, "--json").json["conflicts"] == 2
    found = cli("labels", "list", "--json").json
    assert (len(found), before in found) == (2, True)


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", b""), ("a.csv", b"id,truth\n")])
def test_an_import_of_no_rows_is_refused(cli: Cli, write: Write, name: str, text: bytes) -> None:
    cli("ingest", write("report.json", numbered(3)))
    done = cli("labels", "import", write(name, text))
    assert (done.code, done.out) == (2, "")
    assert "there are no labels in this file. Give rows" in done.err


def test_an_item_without_response_is_labelled_by_force_or_its_text(cli: Cli, write: Write) -> None:
    scores = write("scores.csv", b"item,judge,score\na,x,1\n")
    assert "no responses: add --texts FILE" in cli("ingest", scores).out
    done = cli("label", "a", "pass")
    assert (done.code, "a: there is no response to judge" in done.err) == (2, True)
    assert cli("label", "a", "pass", "--force").code == 0
    texts = write("texts.csv", b"id,answer\na,Yes.\n")
    assert "1 verdict got texts" in cli("ingest", scores, "--texts", texts).out
    assert cli("label", "scores#2:a", "fail").code == 0


def test_a_format_and_a_tool_exclude_each_other(rich: Cli) -> None:
    done = rich("labels", "export", "--for", "langfuse", "--format", "csv")
    assert (done.code, "--for and --format exclude each other" in done.err) == (2, True)
    done = rich("labels", "export", "--for", "langfuse")
    assert (done.code, done.out, "have no id of langfuse" in done.err) == (0, "", True)


SOURCES = ("support", "score", "reported", "vote_share")


@pytest.fixture
def census(cli: Cli, write: Write) -> Cli:
    """Four verdicts, one in each cell: the panel passes a and b, fails c and d."""
    cli("ingest", write("report.json", report(*FOUR)))
    give((("a", "pass"), ("b", "fail"), ("c", "fail"), ("d", "pass")))
    return cli


@pytest.mark.parametrize("source", SOURCES[:2] + SOURCES[3:])
def test_yaml_holds_the_rows_of_the_lines(census: Cli, source: str) -> None:
    option = ("--confidence", source)
    done = census("labels", "export", "--format", "yaml", *option)
    assert yaml.safe_load(done.out) == rows(census("labels", "export", *option))
    assert f'# confidence_source: "{source}"' in done.out.splitlines()
    full = rows(census("labels", "export", "--format", "full", *option))
    assert {row["confidence_source"] for row in full} == {source}
    pairs = {(row["confidence"], row["correct"]) for row in full}
    assert pairs == {(row["confidence"], row["correct"]) for row in yaml.safe_load(done.out)}


def test_each_source_has_its_own_confidence(census: Cli) -> None:
    # a: 0.9, 0.8, 0.7 have mean 0.8, and all three vote pass. c: 0.2, 0.3, 0.1 have mean 0.2, and
    # all three vote fail. No juror reports a confidence of its own.
    exports = {one: rows(census("labels", "export", "--confidence", one)) for one in SOURCES}
    found = {one: sorted({row["confidence"] for row in made}) for one, made in exports.items()}
    assert found == {
        "support": pytest.approx([0.8]), "score": pytest.approx([0.2, 0.8]), "reported": [],
        "vote_share": [1.0],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["mcptest", "yaml", "full", "csv"])
def test_rows_without_a_confidence_are_counted(census: Cli, kind: str) -> None:
    done = census("labels", "export", "--format", kind, "--confidence", "reported")
    assert done.code == 0
    assert "4 labelled verdicts have no confidence of the kind reported" in done.err


@pytest.mark.parametrize("kind", ["mcptest", "yaml"])
def test_both_forms_give_the_figures_of_the_desk(census: Cli, write: Write, kind: str) -> None:
    path = write("labels", census("labels", "export", "--format", kind).out.encode())
    file, desk = census("calibrate", path, "--json").json, census("calibrate", "--json").json
    for name in ("n", "ece", "brier", "gap", "accuracy"):
        assert file[name] == desk[name]


def test_no_labels_are_an_empty_list(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(3)))
    done = cli("labels", "export", "--format", "yaml")
    assert yaml.safe_load(done.out) == []


def test_a_name_cannot_leave_its_comment(cli: Cli, write: Write) -> None:
    name = "x\n- evil: 1\x85\u2028\x1b[31m"
    cli("ingest", write("report.json", report(verdict("a"), report_id=name)))
    cli("label", "a", "pass")
    done = cli("labels", "export", "--format", "yaml")
    assert done.out.isascii()
    assert done.out.replace("\n", "").isprintable()
    assert yaml.safe_load(done.out) == [{"confidence": 0.8, "correct": True}]


def test_an_export_without_rows_says_why(cli: Cli, write: Write) -> None:
    # Neither threshold nor quorum is known, so that the panel decides nothing.
    bare = [{"id": "j", "score": 0.4}]
    named = [{"id": n, "case": {"test": n}, "output": n, "jurors": bare} for n in ("a", "b", "c")]
    head = {"schema": "reviewdesk.report/1", "report_id": "bare", "verdicts": named}
    cli("ingest", write("bare.json", json.dumps(head).encode()))
    cli("label", "a", "fail")
    cli("label", "b", "pass")
    done = cli("labels", "export")
    assert (done.code, done.out) == (0, "")
    assert "2 labels are left out: the run states no decision of pass or fail there" in done.err
    assert "--format full" in done.err
    assert "--threshold" in done.err


def test_an_export_says_that_unsure_labels_make_no_row(census: Cli) -> None:
    census("label", "a", "unsure")
    done = census("labels", "export")
    assert len(rows(done)) == 3
    assert "1 label is left out as unsure; --format full writes them" in done.err


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


def test_they_are_counted_left_alone_and_leave_with_the_report(
    cli: Cli, file: Path, tmp_path: Path
) -> None:
    assert cli("ingest", file, "--json").json[0]["human_labels"] == 3
    assert "3 human labels in the file; --import-labels takes them" in cli("ingest", file).out
    assert cli("runs", "--json").json[0]["human_labels"] == 3
    told = "run: 3 human labels in the file; --import-labels takes them"
    assert cli("open", file).lines == [told]
    assert told not in cli("open", file, "--import-labels").lines
    cli("undo")
    assert cli("labels", "list", "--json").json == []
    assert cli("show", "a", "--json").json["human"] == CARA
    cli("ingest", file)
    cli("export", "report", "-o", tmp_path / "out.json")
    assert cli("ingest", tmp_path / "out.json", "--json").json[0]["human_labels"] == 3


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


def test_the_labels_of_several_people_on_one_item_are_all_taken(cli: Cli, write: Write) -> None:
    file = write("t.csv", b"id,human_ann,human_bob,llm_judge\na,pass,fail,pass\nb,fail,fail,fail\n")
    made = cli("ingest", file, "--import-labels", "--json").json[0]
    several = "an item has labels of several people; --import-labels takes all of them (2x)"
    assert {several, "4 labels taken from the file"} <= {*made["notes"]}
    shown = cli("show", "a").out
    assert "in file: pass by human_ann" in shown
    assert "in file: fail by human_bob" in shown
    labels = cli("labels", "list", "--json").json
    told = {(row["id"], row["reviewer"]): row["label"] for row in labels}
    assert told == {
        ("a", "human_ann"): "pass", ("a", "human_bob"): "fail",
        ("b", "human_ann"): "fail", ("b", "human_bob"): "fail",
    }  # fmt: skip


def test_own_facts_that_are_no_labels_are_not_taken(cli: Cli, write: Write) -> None:
    for held in (5, ["x"], [{"label": "maybe"}]):
        body = verdict("a", human=CARA, meta={"reviewdesk": {"humans": held}})
        cli("ingest", write("r.json", report(body)), "--import-labels")
    (row,) = cli("labels", "list", "--json").json
    assert (row["reviewer"], row["label"]) == ("cara", "fail")


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


def test_an_older_desk_counts_them_when_it_is_opened(cli: Cli, file: Path, desk_path: Path) -> None:
    cli("ingest", file)
    with closing(open_desk(desk_path)) as desk:
        unmeasure(desk.conn)
    assert cli("runs", "--json").json[0]["human_labels"] == 3
