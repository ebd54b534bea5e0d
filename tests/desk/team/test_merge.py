"""Desks that are merged hold the same labels, whatever the order; what is wrong is not taken."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.desk.core import verify
from reviewdesk.desk.labels.rows import full_rows
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Truth, event_hash
from reviewdesk.errors import ChainError, DeskError, UsageError
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.reports.labels.writer import as_jsonl
from reviewdesk.store import events, verification
from reviewdesk.store.connect import connect_read_only
from tests.desk.team.sharekit import COUNT, NAMES, act, all_hold_alike, copied, open_on, state, take
from tests.helpers import load, numbered, open_desk, unguarded, without_counters

PASS, FAIL, UNSURE = Truth.PASS, Truth.FAIL, Truth.UNSURE
Act = tuple[str, str, str, str, Truth]


def perform(desks: dict[str, Path], acts: Sequence[Act]) -> None:
    for name, reviewer, what, verdict, word in acts:
        act(desks[name], reviewer, what, verdict, word)


WEEK: list[Act] = [
    ("a", "ann", "label", "v1", PASS), ("b", "ben", "label", "v1", FAIL),
    ("b", "ann", "label", "v2", PASS), ("a", "ann", "label", "v2", FAIL),
    ("c", "ann", "label", "v2", UNSURE), ("c", "ann", "note", "v2", PASS),
    ("a", "ann", "tag", "v2", FAIL), ("c", "cy", "settle", "v1", FAIL),
    ("a", "ann", "label", "v3", FAIL), ("a", "ann", "undo", "v3", FAIL),
    ("b", "ben", "defer", "v4", FAIL), ("c", "cy", "mark", "v4", PASS),
]  # fmt: skip


def test_who_saw_other_label_is_later_one_whatever_the_clocks_say(desks: dict[str, Path]) -> None:
    act(desks["a"], "ann", "label", "v1", PASS)
    take(desks["c"], desks["a"])
    # The clock of c is forty years behind.
    act(desks["c"], "ann", "label", "v1", FAIL)
    take(desks["a"], desks["c"])
    for name in ("a", "c"):
        with closing(open_on(desks[name], "ann")) as desk:
            (row,) = desk.rows([desk.find(desk.run(), "v1")])
            assert row.label is FAIL
            words = [one.label for one in desk.item(row.key).history if one.kind == "label"]
            assert words == [PASS, FAIL]


def test_events_of_equal_counters_have_one_order_on_all_desks(desks: dict[str, Path]) -> None:
    for name, first in (("a", "label"), ("b", "note")):
        act(desks[name], name, first, "v1", PASS)
        act(desks[name], name, "label", "v1", FAIL)
        act(desks[name], name, "ask", "v1", UNSURE if name == "a" else PASS)
    take(desks["a"], desks["b"])
    take(desks["b"], desks["a"])
    assert state(desks["a"]) == state(desks["b"])


def test_an_imported_label_gives_way_to_what_its_author_says(desks: dict[str, Path]) -> None:
    act(desks["a"], "ann", "label", "v1", PASS)
    with closing(open_on(desks["a"], "ann")) as desk:
        rows = full_rows(desk, desk.run(), None).rows
    # Ben did much that ann does not know of, so that his counters are far higher.
    for number in range(COUNT):
        act(desks["b"], "ben", "label", f"v{number}", FAIL)
    with closing(open_on(desks["b"], "ben")) as desk:
        read = read_labels(Source.from_bytes("l.jsonl", as_jsonl(rows).encode()))
        assert import_labels(desk, desk.run(), read).new == 1
    act(desks["a"], "ann", "label", "v1", UNSURE)
    take(desks["a"], desks["b"])
    take(desks["b"], desks["a"])
    assert state(desks["a"]) == state(desks["b"])
    labels = [json.loads(line) for line in state(desks["b"])["labels"]]
    assert [one["label"] for one in labels if (one["id"], one["reviewer"]) == ("v1", "ann")] == [
        "unsure"
    ]


def test_undo_takes_back_what_its_author_did_on_this_desk(desks: dict[str, Path]) -> None:
    act(desks["a"], "ann", "label", "v1", PASS)
    act(desks["b"], "ann", "label", "v2", PASS)
    take(desks["a"], desks["b"])
    with closing(open_on(desks["a"], "ann")) as desk:
        event = desk.undo()
        assert event is not None
        assert event.verdict == "v1"
        assert desk.undo() is None
    act(desks["b"], "ann", "undo", "v2", PASS)
    take(desks["a"], desks["b"])
    assert state(desks["a"])["current"] == []


def test_a_desk_without_events_takes_in_others(desks: dict[str, Path], tmp_path: Path) -> None:
    perform(desks, WEEK)
    empty = tmp_path / "empty.db"
    assert take(empty, desks["a"]) > 0
    assert verify(empty).ok
    with closing(open_desk(empty)) as desk:
        load(desk, numbered(COUNT))
        labels = desk.conn.execute("SELECT count(*) FROM labels").fetchone()[0]
    # It has its labels as soon as it has the run.
    assert labels == len(state(desks["a"])["labels"])
    assert state(empty)["figures"] == state(desks["a"])["figures"]


ACTS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(["ann", "ben"]),
    st.sampled_from(
        ["label", "label", "label", "note", "tag", "mark", "defer", "settle", "undo", "redo"]
    ),
    st.sampled_from(["v0", "v1", "v2"]),
    st.sampled_from([PASS, FAIL, UNSURE]),
)
MERGES = st.tuples(st.just("merge"), st.sampled_from(NAMES), st.sampled_from(NAMES))


@pytest.mark.slow
@given(steps=st.lists(st.one_of(ACTS, MERGES), max_size=25), order=st.permutations(NAMES))
def test_whatever_was_done_and_merged_all_end_alike(
    steps: list[tuple[str, ...]],
    order: list[str],
    made: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    desks = copied(made, tmp_path_factory.mktemp("desks"))
    for step in steps:
        if step[0] == "merge":
            if step[1] != step[2]:
                take(desks[step[1]], desks[step[2]])
        else:
            name, reviewer, what, verdict, word = step
            act(desks[name], reviewer, what, verdict, Truth(word))
    for first in order:
        for other in order:
            if first != other:
                take(desks[first], desks[other])
    for first in order[:2]:
        take(desks[first], desks[order[2]])
    all_hold_alike(desks)


# What is not taken


SECOND = "WHERE reviewer = 'ann' AND seq = 2"


def edit(path: Path, change: str, *, again: bool = False) -> None:
    """Change an event of ann's behind the guards; ``again`` computes its hash anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.row_factory = sqlite3.Row
        with unguarded(conn):
            conn.execute(change)
            if again:
                row = dict(conn.execute(f"SELECT * FROM label_events {SECOND}").fetchone())
                query = "UPDATE label_events SET hash = ? WHERE key = ?"
                conn.execute(query, (event_hash(row), row["key"]))


WRONG = {
    "label": (f"UPDATE label_events SET label = 'fail' {SECOND}", "was changed after it was"),
    "author": (f"UPDATE label_events SET author = 'x' {SECOND}", "was changed after it was"),
    "gone": (f"DELETE FROM label_events {SECOND}", "stands in the place of event 2"),
    "kind": (f"UPDATE label_events SET kind = 'X;' {SECOND}", "its kind is not valid"),
    "bytes": (f"UPDATE label_events SET detail = x'ff' {SECOND}", "its detail is not valid"),
    "item": (f"UPDATE label_events SET item = x'00' {SECOND}", "its item is not valid"),
    "time": (f"UPDATE label_events SET at = 'soon' {SECOND}", "its at is not valid"),
}  # fmt: skip


def three_labels(path: Path) -> None:
    for name in ("v0", "v1", "v2"):
        act(path, "ann", "label", name, PASS)


@pytest.mark.parametrize("name", WRONG)
def test_a_changed_chain_is_refused_by_name_and_left(desks: dict[str, Path], name: str) -> None:
    change, problem = WRONG[name]
    three_labels(desks["b"])
    edit(desks["b"], change)
    before = state(desks["a"])
    with pytest.raises(ChainError, match=problem) as caught:
        take(desks["a"], desks["b"])
    desk_id = sqlite3.connect(desks["b"]).execute("SELECT value FROM meta").fetchone()[0]
    seq = 3 if name == "gone" else 2
    assert str(caught.value).startswith(f"chain of ann on desk {desk_id}: event {seq}: ")
    assert state(desks["a"]) == before


COUNTERS = {
    "none": ("{}", "has no counter"),
    "the same": ('{"counter":2}', "its counter 2 does not follow 2"),
    "a leap": ('{"counter":99999999999}', "its counter 99999999999 does not follow 2"),
    "no number": ('{"counter":"9"}', "its counter has the wrong type"),
    "a bad note": ('{"counter":3,"note":7}', "its note has the wrong type"),
    "no JSON": ('{"counter":NaN}', "is not JSON"),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_an_event_with_a_false_counter_is_refused(desks: dict[str, Path], name: str) -> None:
    detail, problem = COUNTERS[name]
    three_labels(desks["b"])
    edit(desks["b"], f"UPDATE label_events SET detail = '{detail}' {SECOND}", again=True)
    with pytest.raises(ChainError, match=f"ann on desk .*: event 2: {problem}"):
        take(desks["a"], desks["b"])


def test_the_desk_itself_and_no_desks_are_refused(desks: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is the desk itself"):
        take(desks["a"], desks["a"])
    other = tmp_path / "text.db"
    other.write_text("no desk, but long enough to have a header" * 9)
    with pytest.raises(DeskError, match="not a desk file"):
        take(desks["a"], other)
    with closing(sqlite3.connect(desks["b"], isolation_level=None)) as conn:
        conn.execute("CREATE VIEW evil AS SELECT 1")
    with pytest.raises(DeskError, match="the view evil is not reviewdesk's"):
        take(desks["a"], desks["b"])
    with closing(sqlite3.connect(desks["c"], isolation_level=None)) as conn:
        conn.execute("PRAGMA user_version=5")
    with pytest.raises(DeskError):
        take(desks["a"], desks["c"])


# Events from before counters


@pytest.mark.slow
def test_older_events_count_as_their_place_in_the_log_of_their_desk(desks: dict[str, Path]) -> None:
    perform(desks, WEEK)
    without_counters(desks["a"])
    without_counters(desks["b"])
    with connect_read_only(desks["a"]) as conn:
        head = verification.head(conn)
    with pytest.raises(DeskError, match="made by an older reviewdesk"):
        take(desks["c"], desks["a"])
    assert verify(desks["b"]).ok
    assert verify(desks["a"], head).ok
    act(desks["a"], "ann", "label", "v5", PASS)
    for name, other in (("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("a", "b")):
        take(desks[name], desks[other])
    found = [state(path) for path in desks.values()]
    assert found[0] == found[1] == found[2]
    # Ann's label of v2 came first on b, third on a and first on c: counters 3, 3, 2 behind the
    # runs, so that the ids of a and b decide.
    with closing(open_on(desks["a"], "ann")) as desk:
        rows = desk.conn.execute(
            f"""SELECT e.desk, {events.COUNTER}, e.label FROM label_events e
                WHERE e.verdict = 'v2' AND e.kind = 'label'"""
        )
        best = max((counter, desk_id, label) for desk_id, counter, label in rows)
    labels = [json.loads(line) for line in found[0]["labels"]]
    assert [one["label"] for one in labels if one["id"] == "v2"] == [best[2]]
