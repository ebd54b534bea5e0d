"""A desk from before there was a search: its reports' tags are filled in, its texts wait."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from reviewdesk.desk.review.search import find, index, indexed
from reviewdesk.store import schema
from tests.helpers import contents, load, open_desk, report, unmeasure, verdict

TABLES = ("search", "indexed_runs", "case_tags", "filters", "seen")


def test_an_older_desk_gets_its_tags_and_an_empty_index(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    cases: tuple[list[str], ...] = (["refund", "a\x00b", "refund"], [], ["Über"])
    bodies = [verdict(f"v{n}", case={"test": "t", "tags": tags}) for n, tags in enumerate(cases)]
    with closing(open_desk(path)) as desk:
        load(desk, report(*bodies, verdict("v3")))
        load(desk, report(verdict("w", case={"test": "t", "tags": ["refund"]}), report_id="two"))
        filled = contents(desk)["case_tags"]
        assert len(filled) == 4
        unmeasure(desk.conn)
        for name in TABLES:
            desk.conn.execute(f"DROP TABLE {name}")
        desk.conn.execute("DROP INDEX label_events_deferred")
        place = next(n for n, made in enumerate(schema.MIGRATIONS) if made is schema.add_search)
        desk.conn.execute(f"PRAGMA user_version={place}")
        desk.conn.execute("DELETE FROM migrations WHERE name = 'add_search'")
    with closing(open_desk(path)) as desk:
        assert contents(desk)["case_tags"] == filled
        run = desk.run("run")
        assert indexed(desk, run) == 0
        assert list(find(desk, run, "question", blind=False)) == []
        assert index(desk, run)
        assert len(find(desk, run, "question", blind=False)) == 4
        assert indexed(desk, desk.run("two")) == 0
        assert [len(desk.queue(run, text)) for text in ("tag:refund", "tag:none")] == [1, 2]
        assert desk.verify().ok
