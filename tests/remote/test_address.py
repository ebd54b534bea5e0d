"""Desks that sync through an address: what fsspec keeps in memory, and an S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reviewdesk.desk.team.places import place_at
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError, UsageError
from reviewdesk.remote.place import PlaceProblem, SharedPlace
from tests.desk.team.sharekit import act, exchange, make, state, until_quiet
from tests.remote.s3kit import s3_server

fsspec = pytest.importorskip("fsspec")
PASS, FAIL = Truth.PASS, Truth.FAIL


@pytest.fixture
def memory() -> SharedPlace:
    return place_at(f"memory://{uuid4().hex}/labels/")


def written(place: SharedPlace) -> dict[str, bytes]:
    found = {}
    for folder in ("chains", "runs"):
        for one in place.entries(folder):
            place.copy(one.name, into := BytesIO(), 1 << 20)
            found[one.name] = into.getvalue()
            assert one.size == len(found[one.name])
    return found


def test_a_file_is_written_whole_replaced_and_read(memory: SharedPlace) -> None:
    assert written(memory) == {}
    memory.put("chains/a/one", BytesIO(b"1"))
    memory.put("runs/two", BytesIO(b"2"))
    memory.put("chains/a/one", BytesIO(b"11"))
    assert written(memory) == {"chains/a/one": b"11", "runs/two": b"2"}
    with pytest.raises(PlaceProblem, match="is larger than its kind"):
        memory.copy("chains/a/one", BytesIO(), 1)
    with pytest.raises(PlaceProblem, match="cannot be read"):
        memory.copy("chains/a/none", BytesIO(), 1)


def test_desks_sync_through_memory(memory: SharedPlace, tmp_path: Path) -> None:
    desks = make(tmp_path, "a", "b")
    act(desks["a"], "ann", "label", "v1", PASS)
    act(desks["b"], "ben", "label", "v1", FAIL)
    until_quiet(desks, memory)
    assert state(desks["a"]) == state(desks["b"])


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("memory://", "names no place"),
        ("nothing://a/b", "Protocol not known"),
        ("memory://ann:secret@a/b", "the address holds a password"),
        ("file:///a", "is a folder. Write its path alone"),
        ("ftp://127.0.0.1:9/a", "onnection refused"),
    ],
)
def test_an_address_that_names_no_place_is_refused(address: str, problem: str) -> None:
    with pytest.raises((UsageError, DeskError), match=problem) as caught:
        place_at(address)
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="--git takes a folder"):
        place_at(address, git=True)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with s3_server(monkeypatch) as client:
        yield client


@pytest.mark.slow
def test_three_desks_sync_through_s3(s3: Any, tmp_path: Path) -> None:
    s3.create_bucket(Bucket="evals")
    place = place_at("s3://evals/team/labels")
    desks = make(tmp_path)
    for name, path in desks.items():
        act(path, "ann", "label", "v1", PASS)
        act(path, f"r {name}/ü", "label", "v2", FAIL)
        exchange(path, place)
    until_quiet(desks, place)
    found = [state(path) for path in desks.values()]
    assert found[0] == found[1] == found[2]
    before = written(place)
    assert len(before) == 3 * 3 + 1
    for path in desks.values():
        again = exchange(path, place)
        assert (again.taken, again.sent, again.runs, again.refused) == (0, 0, (), ())
    assert written(place) == before


@pytest.mark.slow
def test_a_changed_chain_in_s3_is_refused_and_a_missing_bucket_named(
    s3: Any, tmp_path: Path
) -> None:
    desks = make(tmp_path, "a", "b")
    with pytest.raises(DeskError, match="s3://none/x: The specified bucket does not exist"):
        exchange(desks["a"], place_at("s3://none/x"))
    s3.create_bucket(Bucket="evals")
    place = place_at("s3://evals/x")
    act(desks["a"], "ann", "label", "v1", PASS)
    exchange(desks["a"], place)
    (name,) = (one.name for one in place.entries("chains") if one.name.endswith("by-ann.jsonl"))
    s3.put_object(Bucket="evals", Key=f"x/{name}", Body=b"cut")
    (refused,) = exchange(desks["b"], place).refused
    assert refused.file == name
    assert "the file is cut off" in refused.problem
