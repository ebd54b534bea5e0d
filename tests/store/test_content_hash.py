"""A run's content hash covers all that was loaded and derived, and ``verify`` compares it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.access import info
from reviewdesk.domain.run import window
from tests.helpers import load, numbered, open_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(open_desk(tmp_path / "desk.db")) as found:
        load(found, numbered(40))
        yield found


@pytest.mark.parametrize(
    ("edit", "column"),
    [
        ("UPDATE bodies SET body = replace(body, 'answer', 'ANSWER') WHERE verdict = 3", "body"),
        ("UPDATE verdicts SET decision = 'pass' WHERE key = 1", "decision"),
        ("UPDATE verdicts SET item = zeroblob(32) WHERE key = 2", "item"),
        ("UPDATE verdicts SET stratum = 5 WHERE key = 2", "stratum"),
        ("UPDATE verdicts SET rank = 99, draw = 99 WHERE key = 2", "draw, rank"),
        ("UPDATE verdicts SET score = NULL WHERE key = 2", "score"),
        ("UPDATE packed SET votes = zeroblob(length(votes))", "packed votes"),
        ("UPDATE measures SET alpha = 1", "its header, counts, strata or figures"),
        ("UPDATE strata SET size = size + 1", "its header, counts, strata or figures"),
        ("UPDATE runs SET header = '{}'", "its header, counts, strata or figures"),
        ("UPDATE runs SET passed = passed + 1", "its header, counts, strata or figures"),
    ],
)
def test_verify_names_a_run_that_is_not_what_was_loaded(desk: Desk, edit: str, column: str) -> None:
    load(desk, numbered(3, report_id="other"))
    assert desk.verify().ok
    desk.conn.execute("PRAGMA foreign_keys=OFF")
    desk.conn.execute(edit)
    problems = desk.verify().problems
    assert f"run run: is not what was loaded; {column} differs" in problems


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        # Of 40 verdicts: the first, one of the middle, the last, and all of them.
        *(
            (f"DELETE FROM {table} WHERE {column} = {key}", "is not what was loaded; ")
            for table, column in (("verdicts", "key"), ("bodies", "verdict"))
            for key in (1, 20, 40)
        ),
        ("DELETE FROM verdicts", "is not what was loaded; "),
        ("DELETE FROM strata WHERE stratum = 0", "is not what was loaded; its header, counts"),
        ("DELETE FROM packed", "is not what was loaded; packed decision"),
        ("DELETE FROM measures", "holds a value of a wrong kind"),
        ("DELETE FROM runs WHERE key = 1", "is in the log and not in the desk"),
    ],
)
def test_verify_names_a_run_of_which_rows_were_deleted(desk: Desk, edit: str, problem: str) -> None:
    load(desk, numbered(3, report_id="other"))
    desk.conn.execute("PRAGMA foreign_keys=OFF")
    assert desk.conn.execute(edit).rowcount > 0
    problems = desk.verify().problems
    assert [line for line in problems if line.startswith(f"run run: {problem}")]


def test_the_content_hash_does_not_depend_on_windows_or_the_desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for size in (3, 7, 500):
        monkeypatch.setattr(window, "SIZE", size)
        with closing(open_desk(tmp_path / f"{size}.db")) as desk:
            load(desk, numbered(size, report_id="before"))
            run = load(desk, numbered(20, report_id="big"))
            query = "SELECT content FROM runs WHERE key = ?"
            found.add(desk.conn.execute(query, (run.key,)).fetchone()[0])
    assert len(found) == 1


def test_desk_info_as_text_and_json(desk: Desk) -> None:
    assert json.loads(json.dumps(info(desk)))["loading"] == []
