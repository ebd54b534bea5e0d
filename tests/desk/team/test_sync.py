"""Desks that sync through a shared place hold the same; what is wrong there is refused by name."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.desk.core import verify
from reviewdesk.desk.team.sync import SharedFolder, Synced, sync
from reviewdesk.domain.labels.chain import ChainName, file_name
from reviewdesk.domain.records import Truth
from reviewdesk.errors import Cancelled, UsageError
from reviewdesk.store.events import NewEvent, append
from tests.desk.team.sharekit import (
    NAMES,
    act,
    all_hold_alike,
    copied,
    exchange,
    open_on,
    state,
    take,
    until_quiet,
)
from tests.desk.team.test_merge import ACTS, WEEK, perform, three_labels
from tests.helpers import POSIX, without_counters

PASS, FAIL = Truth.PASS, Truth.FAIL


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What each file holds, and which one it is: a file that is written again is another."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_ino) for path in found
    }


def id_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as conn:
        query = "SELECT value FROM meta WHERE key = 'desk_id'"
        return str(conn.execute(query).fetchone()[0])


def chain_path(place: SharedFolder, desk: Path, reviewer: str = "ann") -> Path:
    return Path(place.address, "chains", file_name(ChainName(id_of(desk), reviewer)))


@pytest.mark.slow
@pytest.mark.parametrize("order", [*permutations(NAMES)][::3])
def test_three_desks_hold_the_same_in_any_order_and_twice(
    desks: dict[str, Path], place: SharedFolder, order: tuple[str, ...]
) -> None:
    perform(desks, WEEK)
    until_quiet({name: desks[name] for name in order}, place)
    before = files(Path(place.address))
    for path in desks.values():
        found = exchange(path, place)
        assert (found.taken, found.sent, found.runs, found.refused) == (0, 0, (), ())
    assert files(Path(place.address)) == before
    found_states = [state(path) for path in desks.values()]
    assert found_states[0] == found_states[1] == found_states[2]
    # The first event of each desk is that of its run.
    assert found_states[0]["head"].startswith(f"{3 + len(WEEK)}:")


def test_a_desk_writes_its_own_chains_alone(desks: dict[str, Path], place: SharedFolder) -> None:
    perform(desks, WEEK)
    exchange(desks["a"], place)
    first = files(Path(place.address))
    take(desks["b"], desks["c"])
    exchange(desks["b"], place)
    act(desks["b"], "ben", "label", "v5", PASS)
    exchange(desks["b"], place)
    after = files(Path(place.address))
    assert {name: after[name] for name in first} == first
    owners = {name.split("/")[1] for name in after if name.startswith("chains")}
    assert owners == {id_of(desks["a"]), id_of(desks["b"])}


def test_what_programs_suggest_travels_too(desks: dict[str, Path], place: SharedFolder) -> None:
    with closing(open_on(desks["a"], "ann")) as desk:
        desk.conn.execute("BEGIN IMMEDIATE")
        entry = NewEvent("suggest", desk.at(), label=FAIL, author="helper", detail={"note": "n"})
        append(desk.conn, "@agent", [entry])
        desk.conn.execute("COMMIT")
    exchange(desks["a"], place)
    found = exchange(desks["b"], place)
    assert "@agent" in {one.reviewer for one in found.chains if one.taken}
    assert verify(desks["b"]).ok


def test_a_desk_that_was_put_back_gets_its_own_later_events_again(
    desks: dict[str, Path], place: SharedFolder, tmp_path: Path
) -> None:
    act(desks["a"], "ann", "label", "v0", PASS)
    older = Path(shutil.copy(desks["a"], tmp_path / "older.db"))
    act(desks["a"], "ann", "label", "v1", PASS)
    exchange(desks["a"], place)
    found = exchange(older, place)
    assert (found.taken, found.sent) == (1, 0)
    (note,) = found.notes
    assert note.startswith("ann: this desk's own chain had grown there by 1, as after restoring")
    assert state(older) == state(desks["a"])


@pytest.mark.parametrize("turn", [1, -1], ids=["the longer last", "the longer first"])
def test_two_copies_of_a_desk_that_both_went_on_are_refused_and_none_is_overwritten(
    desks: dict[str, Path], place: SharedFolder, tmp_path: Path, turn: int
) -> None:
    act(desks["a"], "ann", "label", "v0", PASS)
    copy = Path(shutil.copy(desks["a"], tmp_path / "copy.db"))
    act(desks["a"], "ann", "label", "v1", PASS)
    act(copy, "ann", "label", "v1", FAIL)
    act(copy, "ann", "label", "v2", FAIL)
    first, last = (desks["a"], copy)[::turn]
    exchange(first, place)
    before = files(Path(place.address))
    (refused,) = exchange(last, place).refused
    assert refused.file == f"chains/{file_name(ChainName(id_of(copy), 'ann'))}"
    assert "event 2: is another event than the one here" in refused.problem
    assert "is a copy or an older backup" in refused.hint
    assert files(Path(place.address)) == before


@pytest.mark.slow
def test_events_before_counters_travel_covered(desks: dict[str, Path], place: SharedFolder) -> None:
    perform(desks, WEEK)
    for name in ("a", "b"):
        without_counters(desks[name])
    act(desks["a"], "ann", "label", "v5", PASS)
    until_quiet(desks, place)
    found = [state(path) for path in desks.values()]
    assert found[0] == found[1] == found[2]


def test_a_stopped_sync_leaves_whole_chains(desks: dict[str, Path], place: SharedFolder) -> None:
    perform(desks, WEEK)
    exchange(desks["a"], place)
    with closing(open_on(desks["b"], "ben")) as desk, pytest.raises(Cancelled):
        sync(desk, place, lambda share, _count: share == 0)
    assert verify(desks["b"]).ok
    until_quiet(desks, place)
    assert state(desks["a"]) == state(desks["b"])


# What is refused


def no_json(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:2], b"{\n", *lines[3:]])


def upwards(data: bytes) -> bytes:
    head, _, rest = data.partition(b"\n")
    return json.dumps({**json.loads(head), "desk": "../../x"}).encode() + b"\n" + rest


def linked(path: Path) -> None:
    elsewhere = path.with_name("kept")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def written(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def replaced(old: bytes, new: bytes) -> Callable[[Path], object]:
    return written(lambda data: data.replace(old, new, 1))


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (
        written(lambda data: data[:-7]),
        "event 3: the file is cut off in the middle of a line",
    ),
    "edited": (
        replaced(b'"label":"pass"', b'"label":"fail"'),
        "event 1: was changed after it was written",
    ),
    "linked": (linked, "is a link, or no regular file"),
    "no json": (written(no_json), "event 2: is not JSON"),
    "newer": (
        replaced(b"reviewdesk.chain/1", b"reviewdesk.chain/2"),
        "the file was written by a newer reviewdesk",
    ),
    "renamed": (
        replaced(b'"reviewer":"ann"', b'"reviewer":"bob"'),
        "contains another chain than its name says",
    ),
    "upwards": (written(upwards), "contains another chain than its name says"),
    "swollen": (
        lambda path: os.truncate(path, (1 << 30) + 1),
        "is larger than its kind of file may be",
    ),
    "half a pair": (
        written(lambda data: data.splitlines()[0].replace(b'"ann"', b'"\\ud800"') + b"\n"),
        "is not JSON",
    ),
    "empty": (written(lambda _: b""), "the file is cut off"),
}
FEW = ("edited", "cut", "linked")
"""Those that are tried each time; the others take as long."""


@POSIX
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in WRONG]
)
def test_a_wrong_file_is_refused_by_name_and_the_others_are_taken(
    desks: dict[str, Path], place: SharedFolder, name: str
) -> None:
    spoil, problem = WRONG[name]
    three_labels(desks["a"])
    act(desks["b"], "ben", "label", "v0", FAIL)
    exchange(desks["a"], place)
    exchange(desks["b"], place)
    path = chain_path(place, desks["a"])
    spoil(path)
    found = exchange(desks["c"], place)
    (refused,) = found.refused
    assert refused.file == str(path.relative_to(place.address))
    assert problem in refused.problem
    assert refused.hint.startswith("Update" if name == "newer" else "Nothing of it was taken")
    assert {one.reviewer for one in found.chains if one.taken} == {"@desk", "ben"}
    assert verify(desks["c"]).ok
    # Its own desk says so too, and writes it anew once it is deleted.
    assert [one.file for one in exchange(desks["a"], place).refused] == [refused.file]
    path.unlink()
    assert exchange(desks["a"], place).sent == 3
    assert exchange(desks["c"], place).taken == 3


def test_other_files_are_left_alone_and_named(desks: dict[str, Path], place: SharedFolder) -> None:
    exchange(desks["a"], place)
    other = chain_path(place, desks["a"], "ann (copy)").with_name("by-ann (copy).jsonl")
    other.write_text("x")
    other.with_name(".hidden").write_text("x")
    found = exchange(desks["b"], place)
    assert found.notes == (f"{other.relative_to(place.address)}: not a file of a desk, left alone",)


def test_a_place_must_be_a_folder_that_can_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        SharedFolder(str(tmp_path / "not" / "there"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a folder"):
        SharedFolder(str(tmp_path / "file"))
    with pytest.raises(UsageError, match="is empty"):
        SharedFolder(" ")
    with pytest.raises(UsageError, match="is an address"):
        SharedFolder("s3://team/labels")


@pytest.mark.slow
@given(steps=st.lists(st.one_of(ACTS, st.sampled_from(NAMES)), max_size=25))
def test_whatever_was_done_and_synced_all_end_alike(
    steps: list[tuple[str, ...] | str],
    made: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("desks")
    desks, place = copied(made, folder), SharedFolder(folder / "place")
    synced: list[Synced] = []
    for step in steps:
        if isinstance(step, str):
            synced.append(exchange(desks[step], place))
        else:
            name, reviewer, what, verdict, word = step
            act(desks[name], reviewer, what, verdict, Truth(word))
    assert [one.refused for one in synced if one.refused] == []
    until_quiet(desks, place)
    all_hold_alike(desks)
