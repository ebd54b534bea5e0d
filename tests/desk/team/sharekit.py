"""Three desks that hold the same run, and what is compared between them."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.question import ask
from reviewdesk.desk.labels.transfer import list_labels
from reviewdesk.desk.review.edits import Edit
from reviewdesk.desk.team.agreement import team_page
from reviewdesk.desk.team.sync import SharedFolder, Synced, merge, sync
from reviewdesk.domain.labels.question import parse_question
from reviewdesk.domain.records import Truth
from reviewdesk.store.figures import questions
from tests.helpers import Clock, figures_of, load, mark, numbered, open_desk, tag

NAMES = ("a", "b", "c")
COUNT = 6


def make(folder: Path, *names: str) -> dict[str, Path]:
    """Make desks, each with the run; the clock of the last one is wrong by forty years."""
    paths = {name: folder / f"{name}.db" for name in names or NAMES}
    for path in paths.values():
        with closing(open_on(path, "ann")) as desk:
            load(desk, numbered(COUNT))
    return paths


def copied(made: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    return {name: Path(shutil.copy(path, folder / path.name)) for name, path in made.items()}


def open_on(path: Path, reviewer: str) -> Desk:
    """Open a desk with the clock of its machine."""
    clock = Clock(datetime(1985, 1, 1, tzinfo=UTC)) if path.stem == "c" else Clock()
    return open_desk(path, reviewer, clock)


def act(path: Path, reviewer: str, what: str, name: str, word: Truth) -> None:
    with closing(open_on(path, reviewer)) as desk:
        key = desk.find(desk.run(), name)
        if what == "label":
            desk.label(key, word)
        elif what == "note":
            desk.note(key, f"{reviewer} says {word}")
        elif what == "tag":
            tag(desk, key, [word.value])
        elif what == "mark":
            mark(desk, key, word is Truth.PASS)
        elif what == "defer":
            desk.defer(key)
        elif what == "ask":
            ask(desk, desk.run(), parse_question(f"accuracy >= 0.{len(word)}"))
        elif what == "settle":
            # Also where labels do not differ yet, as those of other desks may.
            Edit("adjudicate", key, label=word)(desk)
        elif what == "undo":
            desk.undo()
        elif what == "redo":
            desk.redo()


def take(path: Path, other: Path) -> int:
    """Merge one desk into another, and return how many events were new."""
    with closing(open_on(path, "ann")) as desk:
        return merge(desk, other).taken


def state(path: Path) -> dict[str, Any]:
    """What a desk says of its labels, with events named as they are on every desk."""
    with closing(open_on(path, "ann")) as desk:
        run = desk.run()
        assert desk.verify().problems == ()
        rows = desk.conn.execute(
            """SELECT c.item, c.slot, c.author, c.label, c.tentative, c.seen, e.desk, e.reviewer,
                      e.seq FROM current_events c JOIN label_events e ON e.key = c.key
               ORDER BY c.item, c.slot, c.author"""
        )
        return {
            "head": desk.head(),
            "current": [tuple(row) for row in rows],
            "labels": sorted(map(json.dumps, list_labels(desk, run))),
            "truths": [tuple(row) for row in desk.conn.execute("SELECT * FROM truths ORDER BY 1")],
            "tags": [tuple(row) for row in desk.conn.execute("SELECT * FROM item_tags ORDER BY 1")],
            "figures": repr(figures_of(desk, run)),
            "agreement": team_page(desk, run).agreement,
            "asked": [one.detail for one, *_ in questions(desk.conn, run.hash)],
        }


def current_labels(path: Path) -> dict[tuple[bytes, str], tuple[str, int]]:
    """Work out each author's current labels from the rows of the log, in plain Python."""
    with closing(sqlite3.connect(path)) as conn:
        conn.row_factory = sqlite3.Row
        rows = [dict(row) for row in conn.execute("SELECT * FROM label_events")]
    turned: dict[tuple[str, str, int], tuple[int, str]] = {}
    for row in rows:
        if row["target"] is not None:
            place = row["desk"], row["reviewer"], row["target"]
            turned[place] = max(turned.get(place, (0, "")), (row["seq"], row["kind"]))
    best: dict[tuple[bytes, str], tuple[tuple[int, str, str, int], str, int]] = {}
    for row in rows:
        undone = turned.get((row["desk"], row["reviewer"], row["action"]), (0, "redo"))[1] == "undo"
        if row["kind"] != "label" or undone:
            continue
        rank = (json.loads(row["detail"])["counter"], row["desk"], row["reviewer"], row["seq"])
        one = (rank, row["label"], row["tentative"])
        best[row["item"], row["author"]] = max(best.get((row["item"], row["author"]), one), one)
    return {place: (label, tentative) for place, (_, label, tentative) in best.items()}


def all_hold_alike(desks: Mapping[str, Path]) -> None:
    """Hold desks to one state, their labels to plain Python, and each event to be there once."""
    found = [state(path) for path in desks.values()]
    assert found[0] == found[1] == found[2]
    held = {(row[0], row[2]): row[3:5] for row in found[0]["current"] if row[1] == "label"}
    assert held == current_labels(desks["a"])
    with closing(sqlite3.connect(desks["a"])) as conn:
        doubled = "SELECT hash FROM label_events GROUP BY hash HAVING count(*) > 1"
        assert conn.execute(doubled).fetchall() == []


def exchange(path: Path, place: SharedFolder, *, runs: bool = True) -> Synced:
    with closing(open_on(path, "ann")) as desk:
        return sync(desk, place, lambda _share, _count: True, with_runs=runs)


def until_quiet(desks: Mapping[str, Path], place: SharedFolder) -> None:
    """Sync desks one after the other until nothing is new to any of them."""
    for _ in range(5):
        found = [exchange(path, place) for path in desks.values()]
        assert not any(one.refused for one in found)
        if not any(one.taken or one.sent or one.runs for one in found):
            return
    raise AssertionError("the desks never come to rest")
