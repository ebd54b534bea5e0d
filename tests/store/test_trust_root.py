"""Everything that a figure depends on is hashed into the head, and what is not ours is refused."""

import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from reviewdesk.desk.core import Desk, verify
from reviewdesk.desk.labels.transfer import import_human
from reviewdesk.domain.records import Truth, event_hash
from reviewdesk.domain.run.digest import RULES
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import DeskError, Ended, UsageError
from reviewdesk.store import connect, events, reruns, runs, verification
from reviewdesk.store.connect import writing
from reviewdesk.store.load import rederive
from reviewdesk.system import signals
from tests.helpers import (
    POSIX,
    content_hash,
    drawn_by_verdict,
    drop_label_state,
    load,
    mostly_slow,
    numbered,
    open_desk,
    report,
    set_back,
    uncover,
    unguarded,
)
from tests.helpers import verdict as body

TAGGED = report(
    *(body(f"v{n}", n / 9, case={"test": "t", "tags": ["a", f"b{n % 2}"]}) for n in range(9))
)
END = "'2025-01-31'"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
ATTACKS = {
    "decision": ("UPDATE verdicts SET decision = 'pass'", "loaded; decision differs"),
    "items": (
        "UPDATE verdicts SET item = (SELECT item FROM verdicts n WHERE n.key = 10 - verdicts.key)",
        "loaded; item differs",
    ),
    "response": ("UPDATE bodies SET body = replace(body, 'answer', 'x')", "loaded; body differs"),
    "reason": ("UPDATE bodies SET body = replace(body, 'r1', 'r2')", "loaded; body differs"),
    "stratum": ("UPDATE verdicts SET stratum = 1 WHERE key = 2", "loaded; stratum differs"),
    "draw": ("UPDATE verdicts SET draw = 9 - draw", "loaded; draw differs"),
    "two": ("UPDATE verdicts SET rank = 99, draw = 99 WHERE key = 2", "loaded; draw, rank differs"),
    "score": ("UPDATE verdicts SET score = NULL WHERE key = 2", "loaded; score differs"),
    "packed": ("UPDATE packed SET votes = zeroblob(length(votes))", "packed votes differs"),
    "place in an order": ("UPDATE orders SET first = 1 << 62", "its order draw is not that of"),
    "packed place": ("UPDATE packed SET first = 3", "its packed ballots are out of place"),
    "measures": ("UPDATE measures SET mass = 9", "counts, strata or figures differs"),
    "strata": ("UPDATE strata SET size = size + 1", "counts, strata or figures differs"),
    "header": ("UPDATE runs SET header = '{}'", "counts, strata or figures differs"),
    "counts": ("UPDATE runs SET passed = passed + 1", "counts, strata or figures differs"),
    "place": ("UPDATE verdicts SET pos = 8 - pos", "verdicts out of place"),
    "another verdict": (
        f"""INSERT INTO verdicts SELECT 99, run, 98, 'x', test, item, decision, score, stated_score,
            confidence, agreement, band, margin, passes, answered, seated, flags, stratum, rank,
            draw, mix, audit, range, mass, marks, agreement_source, ours_band
            FROM verdicts WHERE key = 1 AND {END} = {END}""",
        "has verdicts that were not loaded",
    ),
    "tag": ("UPDATE case_tags SET tag = 'c' WHERE tag = 'b1'", "its tags are not those"),
    "wrong kind": ("UPDATE verdicts SET flags = 'x' WHERE key = 1", "a value of a wrong kind"),
    "name": ("UPDATE runs SET name = 'other'", "its name is not what the log says"),
    "skipped": ("UPDATE runs SET skipped = 3", "its skipped is not what the log says"),
    "audit": ("UPDATE verdicts SET audit = 1 - audit WHERE pos = 2", "loaded; audit differs"),
    "body gone": ("DELETE FROM bodies WHERE verdict = 2", "run run: is not what was loaded"),
    "verdict gone": ("DELETE FROM verdicts WHERE pos = 4", "run run: is not what was loaded"),
    "seed": ("UPDATE runs SET seed = 'x'", "counts, strata or figures differs"),
    "migration gone": ("DELETE FROM migrations WHERE rowid = 15", "24 steps to it are recorded"),
    "migration": ("INSERT INTO migrations VALUES ('x', '2025-01-01')", "26 steps to it are rec"),
    "hidden": (f"UPDATE runs SET removed_at = {END}", "is hidden, and the log says"),
    "run gone": ("UPDATE runs SET hash = 'x'", "run run: is in no event of the log"),
    "re-run": (
        f"INSERT INTO reruns VALUES (1, 1, {END}, 0, '{{}}')",
        "re-run 1 of verdict v0: is in no event of the log",
    ),
    "desk id": ("UPDATE meta SET value = 'x'", "the desk's id is in no event of the log"),
    "table": ("CREATE TABLE mine (a)", "the table mine is not reviewdesk's"),
    "statistics": ("ANALYZE", "the table sqlite_stat1 is not reviewdesk's"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    found = tmp_path_factory.mktemp("made") / "desk.db"
    with closing(open_desk(found)) as desk:
        desk.label(desk.find(load(desk, TAGGED), "v1"), Truth.PASS)
    return found.read_bytes()


@pytest.fixture
def path(made: bytes, tmp_path: Path) -> Path:
    (tmp_path / "desk.db").write_bytes(made)
    return tmp_path / "desk.db"


def on(_share: float, _count: int) -> bool:
    return True


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for statement in statements:
            conn.execute(statement)


@pytest.mark.parametrize("name", mostly_slow(ATTACKS, every=2))
def test_an_edit_that_leaves_the_hashes_is_named(path: Path, name: str) -> None:
    assert verify(path).ok
    statement, problem = ATTACKS[name]
    edit(path, statement)
    found = verify(path)
    assert not found.ok
    assert any(problem in text for text in found.problems), found.problems


def rewrite(path: Path) -> None:
    """Change a decision, and compute every hash again that depends on it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.row_factory = sqlite3.Row
        conn.execute("UPDATE verdicts SET decision = 'pass'")
        content = content_hash(conn, 1)
        conn.execute("UPDATE runs SET content = ?", (content,))
        row = dict(conn.execute("SELECT * FROM label_events WHERE key = 1").fetchone())
        hashes = {"content": content, "columns": runs.digest(conn, 1).columns()}
        row["detail"] = canonical_json({**json.loads(row["detail"]), **hashes}).decode()
        change = "UPDATE label_events SET detail = ?, hash = ? WHERE key = 1"
        with unguarded(conn):
            conn.execute(change, (row["detail"], event_hash(row)))


def test_hashes_that_were_computed_again_are_found_by_the_head_or_by_deciding(path: Path) -> None:
    head = verify(path).head
    assert verify(path, head, on).ok
    rewrite(path)
    assert verify(path).ok
    assert verify(path, head).problems == ("the first 2 events are not those of the expected head",)
    seen: list[int] = []
    found = verify(path, None, lambda _, count: seen.append(count))
    assert found.problems[0] == "run run: verdict v0: decision is pass, and its body gives fail"
    assert seen == [9]


def test_what_older_rules_derived_is_no_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite(path)
    monkeypatch.setattr("reviewdesk.domain.run.digest.RULES", RULES + 1)
    found = verify(path, None, on)
    assert found.ok
    older = f"derived by older rules ({RULES} of {RULES + 1}): verdict v0: decision is pass"
    assert older in found.older[0]
    with closing(open_desk(path)) as desk:
        head = desk.head()
        rederive.derive_again(desk.conn)
        assert [event.detail["rules"] for event in events.of_desk(desk.conn, "run", "rules")] == [
            RULES, RULES + 1,
        ]  # fmt: skip
        assert desk.verify(head, on) == desk.verify()
        assert desk.verify().ok


def test_a_run_cannot_be_replaced_by_calling_it_derived_again(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        desk.conn.execute("UPDATE bodies SET body = replace(body, 'answer', 'x')")
        content = content_hash(desk.conn, 1)
        desk.conn.execute("UPDATE runs SET content = ?", (content,))
        made = {"content": content, "columns": runs.digest(desk.conn, 1).columns(), "rules": 9}
        runs.cover(desk.conn, 1, "now", "rules", {**made, "tags": runs.tag_hash(desk.conn, 1)})
        assert "run run: event 3 has another column body" in desk.verify().problems


def test_a_rerun_is_held_to_its_replies(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        reply: dict[str, object] = dict.fromkeys(("seat", "attempt", "ms", "status"), 1)
        reply |= dict.fromkeys(("juror", "call", "nonce", "at", "body", "problem"), "x")
        reruns.keep_reply(desk.conn, 2, {**reply, "headers": {}})
        reruns.enter(desk.conn, 2, 1, "now", "{}", stopped=False)
        assert desk.verify().ok
        for table, name in (("replies", "replies"), ("reruns", "result")):
            desk.conn.execute(f"UPDATE {table} SET body = '[]'")
            assert f"re-run 2 of verdict v0: its {name} was changed" in desk.verify().problems
        desk.conn.execute("DELETE FROM reruns")
        assert "re-run 2 of verdict v0: is in the log and not in the desk" in desk.verify().problems


def test_removing_and_restoring_a_run_is_in_the_log(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        run = desk.run()
        for step in (desk.remove, desk.remove, desk.opened, desk.opened):
            step(run)
            assert desk.verify().ok
        kinds = [event.kind for event in events.of_desk(desk.conn, "removed", "restored")]
        assert kinds == ["removed", "restored"]
        assert not desk.changed()
        assert desk.undo() is not None
        assert desk.undo() is None


def test_an_older_desk_is_covered_and_its_heads_stay_valid(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(open_desk(path)) as desk:
        load(desk, TAGGED)
        run = load(desk, numbered(3, report_id="two"))
        desk.label(desk.find(run, "v1"), Truth.PASS)
        desk.remove(run)
        drawn_by_verdict(desk.conn)
        desk.conn.execute("UPDATE runs SET content = NULL WHERE key = 1")
        drop_label_state(desk.conn)
        uncover(desk.conn)
        head = verification.head(desk.conn)
        set_back(desk.conn, "keep_label_state")
    assert head.startswith("1:")
    with closing(open_desk(path)) as desk:
        assert desk.verify(head).problems == ()
        found = list(events.of_desk(desk.conn, "run", "removed"))
        assert [event.kind for event in found] == ["run", "run", "removed"]
        assert all(event.detail["covered_since"] == event.at for event in found[:2])
        # Beside these three are the label and the counters.
        assert desk.head().startswith("5:")


PLANTED = {
    "trigger": """CREATE TRIGGER evil AFTER INSERT ON label_events BEGIN
        INSERT INTO drafts WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT i, i, i FROM n; END""",
    "view": "CREATE VIEW evil AS SELECT 1",
    "index": "CREATE INDEX evil ON runs (length(zeroblob(1000000)))",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_refused_in_one_sentence_before_it_runs(path: Path, kind: str) -> None:
    edit(path, PLANTED[kind])
    with pytest.raises(DeskError, match=f"the {kind} evil is not reviewdesk's, so"):
        open_desk(path)
    assert verify(path).problems == (f"the {kind} evil is not reviewdesk's",)


def test_a_statement_without_end_is_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSIEST", 0.05)
    with closing(open_desk(path)) as desk:
        with pytest.raises(DeskError, match="ran for over"):
            desk.conn.execute(f"{ENDLESS} count(*) FROM n")
        with pytest.raises(DeskError, match="ran for over"):
            for _ in desk.conn.execute(f"{ENDLESS} i FROM n WHERE i % 1000 = 0"):
                pass
        assert desk.verify().ok


def count_without_end(conn: connect.ExplainedConnection, number: int) -> None:
    """Run a statement without end in a transaction, and let a signal come meanwhile."""
    with writing(conn):
        Timer(0.05, os.kill, (os.getpid(), number)).start()
        conn.execute(f"{ENDLESS} count(*) FROM n")


@POSIX
@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Ended)]
)
def test_what_a_signal_raises_while_a_statement_runs_is_not_lost(
    path: Path, number: int, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(number: int, _frame: object) -> None:
        raise Ended(number)

    before = [(one, signal.getsignal(one)) for one in (signal.SIGINT, *signals.ENDING)]
    monkeypatch.setattr(signals, "_heard", [])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signals.on_end(end)
    try:
        with closing(open_desk(path)) as desk:
            with pytest.raises(KeyboardInterrupt) as found:
                count_without_end(desk.conn, number)
            assert type(found.value) is raised
            assert not desk.conn.in_transaction
            assert desk.verify().ok
    finally:
        for one, handler in before:
            signal.signal(one, handler)


def test_a_log_without_end_stops_at_its_head(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSIEST", 0.05)
    columns = "i AS key, i AS seq, '' AS hash, '' AS desk, '' AS reviewer"
    edit(path, "DROP TABLE label_events", f"CREATE VIEW label_events AS {ENDLESS} {columns} FROM n")
    with (
        pytest.raises(DeskError, match="ran for over"),
        connect.connect_read_only(path) as conn,
        connect.explained(path),
    ):
        verification.head(conn)


@pytest.mark.parametrize("table", ["label_events", "bodies", "runs"])
def test_a_table_that_is_gone_is_a_problem_by_name(path: Path, table: str) -> None:
    edit(path, "PRAGMA foreign_keys=OFF", f"DROP TABLE {table}")
    found = verify(path)
    assert not found.ok
    assert f"the table {table} is gone" in found.problems


def test_a_literal_of_a_view_that_has_another_space_is_seen(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        query = "SELECT sql FROM sqlite_master WHERE name = 'item_tags'"
        made = conn.execute(query).fetchone()[0]
        conn.execute("DROP VIEW item_tags")
        conn.execute(made.replace("' ', '-'", "'\n', '-'"))
    assert verify(path).problems == ("the view item_tags was changed",)


def redefine(path: Path, table: str, before: str, after: str) -> None:
    """Change the stored SQL of a table, as an editor of the file can."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
        conn.execute("PRAGMA writable_schema=ON")
        query = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? RETURNING sql"
        assert after in conn.execute(query, (before, after, table)).fetchone()[0]
        version = conn.execute("PRAGMA schema_version").fetchone()[0]
        conn.execute(f"PRAGMA schema_version={version + 1}")


BOMB = "g AS (hex(zeroblob(2000000)))"
REDEFINED = {
    "a stored column of the index": ("search_docsize", "sz BLOB", f"sz BLOB, {BOMB} STORED"),
    "a virtual column of the index": ("search_data", "block BLOB", f"block BLOB, {BOMB}"),
    "a check of the index": ("search_config", "v)", "v CHECK (length(hex(zeroblob(9)))))"),
    "a default of the index": ("search_idx", "pgno,", "pgno DEFAULT 7,"),
    "a column of the index": ("search_docsize", "sz BLOB", "sz BLOB, more"),
    "a kind of the index": ("search_docsize", "sz BLOB", "sz TEXT"),
    "a column of SQLite's own": ("sqlite_sequence", "seq)", f"seq, {BOMB})"),
    "a check of SQLite's own": ("sqlite_sequence", "seq)", "seq CHECK (seq > 0))"),
    "a default of ours": ("drafts", "text TEXT NOT NULL", "text TEXT NOT NULL DEFAULT ''"),
    "a check of ours": ("views", "state TEXT", "state TEXT CHECK (state)"),
    "a hidden column of ours": ("filters", "text TEXT NOT NULL", f"text TEXT NOT NULL, {BOMB}"),
}


@pytest.mark.parametrize("name", REDEFINED)
def test_a_table_that_was_redefined_is_named_and_not_opened(path: Path, name: str) -> None:
    table, before, after = REDEFINED[name]
    redefine(path, table, before, after)
    assert verify(path).problems == (f"the table {table} was changed",)
    with pytest.raises(DeskError, match=f"the table {table} was changed, so the desk was not open"):
        open_desk(path)


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        (("DROP VIEW labels", "CREATE TABLE labels (item)"), "labels is not reviewdesk's"),
        (
            ("CREATE TABLE mine (run REFERENCES runs (key) ON DELETE CASCADE)",),
            "mine is not reviewdesk's",
        ),
        (("ALTER TABLE runs ADD COLUMN x AS (length(zeroblob(1000000)))",), "runs was changed"),
        (
            (
                "DROP TABLE kept_settings",
                f"CREATE VIEW kept_settings AS {ENDLESS} i AS reviewer, i AS name FROM n",
            ),
            "the view kept_settings is not reviewdesk's",
        ),
    ],
)
def test_a_table_that_our_statements_would_touch_is_not_opened(
    path: Path, planted: tuple[str, ...], problem: str
) -> None:
    edit(path, *planted)
    with pytest.raises(DeskError, match=f"{problem}, so the desk was not opened"):
        open_desk(path)


def test_a_redefined_table_of_an_older_desk_is_not_opened(path: Path) -> None:
    edit(path, "DELETE FROM migrations WHERE rowid > 19", "PRAGMA user_version=19")
    redefine(path, "filters", "text TEXT NOT NULL", f"text TEXT NOT NULL, {BOMB}")
    with pytest.raises(DeskError, match="the table filters was changed, so the desk was not"):
        open_desk(path)


@pytest.mark.parametrize("number", [-1, 0, 5, 16])
def test_a_schema_number_that_was_set_back_is_one_sentence(path: Path, number: int) -> None:
    edit(path, f"PRAGMA user_version={number}")
    with pytest.raises(DeskError, match=f"its schema number was changed to {number}"):
        verify(path)
    assert not list(path.parent.glob("*.backup"))


def test_a_huge_text_is_one_sentence(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        desk.conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
        edit(path, "UPDATE bodies SET body = hex(zeroblob(20000)) WHERE verdict = 1")
        with pytest.raises(DeskError, match="too long to read"):
            desk.item(1)


def test_a_name_with_other_spaces_is_the_same_person(tmp_path: Path) -> None:
    with closing(open_desk(tmp_path / "d.db", " Zoe\u0308  B ")) as desk:
        run = load(desk, report(body("v1", human={"label": "pass", "by": "Zo\xeb B "})))
        import_human(desk, run)
        key = desk.queue(run)[0]
        assert (desk.reviewer, desk.rows([key])[0].label) == ("Zo\xeb B", Truth.PASS)
        desk.label(key, Truth.FAIL)
        assert desk.rows([key])[0].label is Truth.FAIL


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (" @desk", "@desk: no reviewer's name begins with @"),
        ("x" * 1001, "name has 1,001 char"),
        (" ", "a reviewer's name is blank"),
    ],
)
def test_no_name_is_the_desks_own_or_too_long_to_be_exchanged(
    tmp_path: Path, name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
        run = load(desk, report(body("v1", human={"label": "pass", "by": name})))
        with pytest.raises(UsageError, match=f"v1: .*{told}"):
            import_human(desk, run)
    with pytest.raises(UsageError, match=told):
        open_desk(tmp_path / "d.db", name)
    monkeypatch.setenv("REVIEWDESK_REVIEWER", name)
    with pytest.raises(UsageError, match=told):
        Desk.open(tmp_path / "d.db")
