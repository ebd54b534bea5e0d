"""The kinds of events that stand, on new desks and on those made before there were tags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.labels.chain import STANDING
from reviewdesk.domain.records import Truth
from reviewdesk.store import audit, events, label_state, schema
from reviewdesk.store.events import NewEvent
from tests.helpers import SINCE_MEASURES, load, mark, numbered, open_desk, tag, unmeasure

SINCE_LABELS = {
    schema.let_repeats_stand, schema.keep_label_state, label_state.add_adjudications,
    events.add_counters, schema.add_public_views,
}  # fmt: skip


@dataclass(frozen=True)
class Older:
    """A desk of the first three migrations: its log and the head that was shown."""

    path: Path
    log: list[tuple[Any, ...]]
    head: str


def log(desk: Desk) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in desk.conn.execute("SELECT * FROM label_events ORDER BY key")]


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Older:
    with monkeypatch.context() as then:
        then.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:3])
        then.setattr("reviewdesk.desk.core.migrate", schema.migrate)
        # Such a desk kept no tables beside its log.
        for name in ("follow", "place_verdicts", "problems"):
            then.setattr(label_state, name, lambda *_: ())
        then.setattr(label_state, "highest", lambda _: None)
        desk = open_desk(tmp_path / "desk.db")
        # Reading asks for it.
        desk.conn.execute(label_state.PLACES)
        # Loading fills it; it came later than what is tested here.
        desk.conn.execute("CREATE TABLE case_tags (run, tag, verdict)")
        for later in SINCE_MEASURES:
            if later not in SINCE_LABELS:
                later(desk.conn)
        run = load(desk, numbered(3))
        desk.conn.execute("DROP TABLE case_tags")
        unmeasure(desk.conn)
        desk.conn.execute(label_state.PLACES)
        desk.conn.execute("PRAGMA user_version=3")
        place = desk.find(run, "v1")
        desk.label(place, Truth.PASS, note="n")
        desk.defer(desk.find(run, "v0"))
        desk.note(place, "taken back")
        desk.undo()
        # A tag as a labels file had it, before there was one spelling.
        said = NewEvent(
            "label", desk.at(), label=Truth.PASS, author="cara", detail={"tags": ["A B"]}
        )
        events.append(desk.conn, "ann", [items.about(desk, place, said)[1]])
        found = Older(desk.path, log(desk), desk.head())
        assert desk.conn.execute("PRAGMA user_version").fetchone()[0] == 3
        desk.conn.execute("INSERT INTO event_places SELECT key, key FROM label_events")
        assert audit._chain_problems(desk.conn) == []
        desk.conn.execute("DROP TABLE event_places")
        desk.close()
    return found


def test_an_older_desk_is_whole_after_the_migration(older: Older) -> None:
    desk = open_desk(older.path)
    assert desk.verify(older.head).ok
    *same, covered, counted, derived = log(desk)
    assert same == older.log
    assert covered[2:5] == ("@desk", 1, "run")
    assert counted[2:5] == ("@desk", 2, "counted")
    # The run was covered as it was, and then derived again by the present rules.
    assert derived[2:5] == ("@desk", 3, "rules")
    assert audit.objects(desk.conn) == audit.made_objects()[-1]
    assert older.path.with_name("desk.db.schema-3.backup").exists()
    desk.close()


def test_what_stood_in_an_older_desk_stands(older: Older) -> None:
    desk = open_desk(older.path)
    found = desk.item(desk.find(desk.run(), "v1"))
    assert (found.row.label, found.note) == (Truth.PASS, "n")
    assert (found.tags, found.other_tags, found.marked) == ((), ("a-b",), False)
    assert desk.rows([desk.find(desk.run(), "v0")])[0].deferred
    desk.close()


def test_an_older_desk_takes_tags_and_marks(older: Older) -> None:
    desk = open_desk(older.path)
    place = desk.find(desk.run(), "v1")
    tag(desk, place, ["new"])
    mark(desk, place, on=True)
    assert (desk.item(place).tags, desk.item(place).marked) == (("new",), True)
    undone = [desk.undo() for _ in range(3)]
    names = ["mark", "tags new", "label pass"]
    assert [event.detail["was"] for event in undone if event] == names
    found = desk.item(place)
    # The note that was taken back before the migration stays so.
    assert (found.note, found.tags, found.other_tags, found.marked) == ("n", (), (), False)
    assert desk.verify(older.head).ok
    desk.close()


def test_the_view_holds_the_kinds_that_stand(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, numbered(1))
    place = desk.find(run, "v0")
    kinds = (*STANDING, "reveal", "undo", "redo")
    entries = [items.about(desk, place, NewEvent(kind, desk.at()))[1] for kind in kinds]
    events.append(desk.conn, "ann", entries)
    standing = [row["kind"] for row in desk.conn.execute("SELECT kind FROM standing_events")]
    assert sorted(standing) == sorted(STANDING)
    desk.close()
