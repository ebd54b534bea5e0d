"""A person's own SQL: what it prints, and that nothing of it can write."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from reviewdesk.store import sql as store_sql
from reviewdesk.store.sql import query
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import POSIX, ROOT, controls, environment, numbered, open_desk, report, verdict

HOSTILE = "a\x1b]0;owned\x07\x9b31m\u202eb\r\nc\x7f"
ODD = "SELECT 7 AS n, 1.5 AS x, NULL AS gone, x'00ff' AS raw, 'é' AS word, 9e999 AS far, 2 AS n"
COUNTING = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_json_is_a_list_of_objects(loaded: Cli) -> None:
    found = loaded("desk", "query", ODD)
    # A blob is base64 of its bytes, as sqlite-utils writes it; 9.0e+999 is what SQLite's own
    # json_quote(9e999) gives.
    assert found.out == (
        '[{"n": 7, "x": 1.5, "gone": null, "raw": {"$base64": true, "encoded": "AP8="}, '
        '"word": "\\u00e9", "far": 9.0e+999, "n_2": 2}]\n'
    )
    assert found.json[0]["far"] == float("inf")
    assert loaded("desk", "query", ODD, "--json").out == found.out


@pytest.mark.parametrize("count", [0, 1, 2, 200, 401])
def test_every_row_of_every_batch_is_printed(loaded: Cli, count: int) -> None:
    sql = f"{COUNTING} LIMIT {count}"
    numbers = list(range(1, count + 1))
    assert loaded("desk", "query", sql).json == [{"n": n} for n in numbers]
    lines = loaded("desk", "query", sql, "--format", "nl").out.splitlines()
    assert [json.loads(line) for line in lines] == [{"n": n} for n in numbers]
    for kind in ("csv", "tsv"):
        words = loaded("desk", "query", sql, "--format", kind).out.split()
        assert words == ["n", *map(str, numbers)]
    table = loaded("desk", "query", sql, "--format", "table").out.split()
    assert table[0] == "n"
    assert set(table[1]) == {"-"}
    assert table[2:] == [str(n) for n in numbers]


def test_csv_and_tsv_keep_texts_but_no_formula(loaded: Cli) -> None:
    sql = "SELECT 'a,\"b' AS one, 'c\td\ne' AS two, '=1+1' AS three, -1 AS four, x'00ff' AS five"
    # In a file a tab or an escape would still act on the terminal that shows the file.
    kept = ['a,"b', "c    d\ne", "'=1+1", "-1", "AP8="]
    for kind, between in (("csv", ","), ("tsv", "\t")):
        out = loaded("desk", "query", sql, "--format", kind).out
        rows = list(csv.reader(io.StringIO(out), delimiter=between))
        assert rows == [["one", "two", "three", "four", "five"], kept]


def test_a_table_has_straight_columns(loaded: Cli) -> None:
    sql = "SELECT id, decision, score FROM verdicts WHERE id != 'none' ORDER BY pos"
    # (0.9 + 0.8 + 0.9) / 3 and (0.9 + 0.2 + 0.8) / 3 to six digits, (0.1 + 0.3) / 2.
    assert loaded("desk", "query", sql, "--format", "table").out.splitlines() == [
        "id      decision  score",
        "------  --------  --------",
        "agreed  pass      0.866667",
        "split   pass      0.633333",
        "failed  fail      0.2",
    ]


def test_parameters_are_bound_and_not_pasted(loaded: Cli) -> None:
    sql = "SELECT id FROM verdicts WHERE score > :low AND id != :name ORDER BY id"
    found = loaded("desk", "query", sql, "-p", "low", "0.5", "-p", "name", "x' OR '1")
    assert [row["id"] for row in found.json] == ["agreed", "split"]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT * FROM nope", "no such table: nope"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT :low", "binding parameter :low"),
        ("SELECT ?", "Binding"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("", "returns no rows"),
        ("/* nothing */", "returns no rows"),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
    ],
)
def test_wrong_sql_is_one_line(loaded: Cli, sql: str, what: str) -> None:
    done = loaded("desk", "query", sql)
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert done.err.startswith("SQL: ")
    assert what in done.err
    assert ".." not in done.err


def test_options_that_contradict_each_other_are_2(loaded: Cli) -> None:
    assert loaded("desk", "query", "SELECT 1", "--json", "--format", "csv").code == 2
    assert loaded("desk", "query", "SELECT 1", "--format", "xml").code == 2
    assert loaded("desk", "query", "SELECT 1", "-p", "name").code == 2


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM verdicts",
        "UPDATE runs SET name = 'x' RETURNING name",
        "INSERT INTO meta VALUES ('a', 'b') RETURNING *",
        "CREATE TABLE more (a)",
        "CREATE TEMP TABLE more (a)",
        "DROP TRIGGER label_events_fixed",
        "PRAGMA query_only=OFF",
        "PRAGMA user_version=1",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "ATTACH '{there}/other.db' AS other",
        "ATTACH '{there}/desk.db' AS other",
        "VACUUM",
        "VACUUM INTO '{there}/copy.db'",
        "REINDEX",
        "SELECT load_extension('{there}/x')",
        "INSERT INTO search (search) VALUES ('optimize')",
    ],
)
@pytest.mark.parametrize("held", [False, True], ids=["alone", "held open"])
def test_nothing_can_be_written(loaded: Cli, desk_path: Path, sql: str, held: bool) -> None:
    other = open_desk(desk_path) if held else None
    before = desk_path.read_bytes()
    beside = names(desk_path.parent)
    done = loaded("desk", "query", sql.format(there=desk_path.parent))
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert names(desk_path.parent) == beside
    if other is not None:
        other.close()
    assert desk_path.read_bytes() == before


def test_reading_leaves_nothing_beside_the_desk(loaded: Cli, desk_path: Path) -> None:
    before = desk_path.read_bytes()
    for sql in (
        "SELECT * FROM ballots", "PRAGMA table_info(runs)", "EXPLAIN QUERY PLAN SELECT * FROM runs",
        "SELECT count(*) FROM search WHERE search MATCH 'question'",
    ):  # fmt: skip
        assert loaded("desk", "query", sql).json
        assert names(desk_path.parent) == {"desk.db"}
    assert desk_path.read_bytes() == before


def test_a_desk_in_use_is_read_as_it_was_saved_last(loaded: Cli, desk_path: Path) -> None:
    desk = open_desk(desk_path)
    desk.label(desk.find(desk.run(), "agreed"), Truth.PASS)
    desk.conn.execute("BEGIN IMMEDIATE")
    desk.conn.execute("DELETE FROM drafts")
    found = loaded("desk", "query", "SELECT label, author FROM labels")
    assert found.json == [{"label": "pass", "author": "ann"}]
    desk.conn.execute("ROLLBACK")
    desk.close()


def test_a_desk_that_changes_under_the_query_is_an_error(loaded: Cli, desk_path: Path) -> None:
    def write_meanwhile() -> None:
        with query(desk_path, "SELECT id FROM verdicts", {}) as found:
            next(found.batches)
            desk = open_desk(desk_path)
            desk.label(desk.find(desk.run(), "agreed"), Truth.PASS)
            desk.close()

    with pytest.raises(DeskError, match="changed while it was read"):
        write_meanwhile()
    assert loaded("desk", "query", "SELECT count(*) AS n FROM labels").json == [{"n": 1}]


def test_an_old_desk_is_not_migrated(loaded: Cli, desk_path: Path) -> None:
    old = sqlite3.connect(desk_path)
    old.execute("PRAGMA user_version=3")
    old.close()
    assert loaded("desk", "query", "PRAGMA user_version").json == [{"user_version": 3}]


def test_what_is_no_desk_is_refused(cli: Cli, desk_path: Path, tmp_path: Path) -> None:
    done = cli("desk", "query", "SELECT 1")
    assert (done.code, done.out) == (2, "")
    assert "there is no desk" in done.err
    assert not desk_path.parent.exists()
    foreign = tmp_path / "foreign.db"
    other = sqlite3.connect(foreign)
    other.execute("CREATE TABLE t (a)")
    other.close()
    done = cli("desk", "query", "SELECT * FROM t", "--desk", foreign)
    assert done.code == 2
    assert "a SQLite file of something else" in done.err
    assert cli("desk", "query", "SELECT 1", "--desk", tmp_path).code == 2


def test_bytes_that_are_no_text_are_shown_as_replaced(loaded: Cli) -> None:
    assert loaded("desk", "query", "SELECT CAST(x'61ff' AS TEXT) AS a").json == [{"a": "a\ufffd"}]


@POSIX
@pytest.mark.parametrize("kind", ["table", "csv", "tsv", "json", "nl", None])
def test_no_text_acts_on_a_terminal(
    cli: Cli, write: Write, desk_path: Path, kind: str | None
) -> None:
    cli("ingest", write("report.json", report(verdict("one", 0.9, input=HOSTILE))))
    sql = "SELECT json_extract(body, '$.input') AS \"h\x1b[2J\" FROM bodies"
    leader, follower = os.openpty()
    options = [] if kind is None else ["--format", kind]
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "desk", "query", sql, *options],
        env=environment(desk_path), cwd=ROOT, stdout=follower, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.wait() == 0
    shown = os.read(leader, 65536).decode().replace("\r\n", "\n")
    os.close(leader)
    os.close(follower)
    assert "owned" in shown
    assert controls(shown) == set()
    if kind in {"csv", "tsv"}:
        assert controls(cli("desk", "query", sql, *options).out) == set()
    # Without a format a terminal gets a table: the name of the column, a rule, the row.
    assert len(shown.splitlines()) == {"csv": 2, "tsv": 2, "json": 1, "nl": 1}.get(kind or "", 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "csv", "json", "nl"])
def test_rows_stream_and_a_closed_pipe_ends_it(
    cli: Cli, write: Write, desk_path: Path, kind: str
) -> None:
    cli("ingest", write("report.json", numbered(1)))
    # The query has no end, so a first line proves that rows are printed as they come.
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "desk", "query", COUNTING, "--format", kind],
        env=environment(desk_path), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert "n" in process.stdout.readline()
    process.stdout.close()
    assert process.wait() == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_view_that_answers_without_end_is_refused_before_it_is_read(
    loaded: Cli, desk_path: Path
) -> None:
    with closing(sqlite3.connect(desk_path, isolation_level=None)) as conn:
        conn.execute("DROP VIEW labels")
        conn.execute(f"CREATE VIEW labels AS {COUNTING}")
    done = loaded("desk", "query", "SELECT count(*) FROM labels")
    assert (done.code, done.out) == (2, "")
    assert "the view labels was changed, so the desk was not opened" in done.err


def test_a_statement_without_end_is_stopped(loaded: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_sql, "BUSIEST", 0)
    done = loaded("desk", "query", f"SELECT count(*) FROM ({COUNTING})")
    assert (done.code, done.out) == (2, "")
    assert "a statement ran for over 60 seconds and was stopped" in done.err
