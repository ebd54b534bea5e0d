"""A run that travels is the same run on the other desk; what desks did not write of is refused."""

import gzip
import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import verify
from reviewdesk.desk.team.sync import SharedFolder, Synced
from tests.desk.team.sharekit import exchange, open_on
from tests.helpers import SAMPLES, load, numbered

Lines = list[dict[str, Any]]


@pytest.fixture
def sent(tmp_path: Path, place: SharedFolder) -> Path:
    with closing(open_on(tmp_path / "a.db", "ann")) as desk:
        # Of the 90 that are not flagged, half are audited: more than the least.
        assert load(desk, numbered(120), seed="s", audit_share=0.5, quorum=0.6).audit == 45
    exchange(tmp_path / "a.db", place)
    (found,) = Path(place.address, "runs").iterdir()
    return found


def take(folder: Path, place: SharedFolder) -> Synced:
    return exchange(folder / "b.db", place)


def test_run_is_the_same_on_the_other_desk(tmp_path: Path, place: SharedFolder, sent: Path) -> None:
    found = take(tmp_path, place)
    assert [(one.name, one.taken) for one in found.runs] == [("run", True)]
    assert verify(tmp_path / "b.db", None, lambda _share, _count: None).problems == ()
    runs = []
    for name in ("a", "b"):
        with closing(open_on(tmp_path / f"{name}.db", "ann")) as desk:
            runs.append((desk.run(), list(desk.queue(desk.run()))))
    ours, theirs = (one[0] for one in runs)
    assert (ours.hash, ours.seed, ours.audit) == (theirs.hash, "s", theirs.audit)
    assert runs[0][1] == runs[1][1]
    # Neither a second sync nor a load of the same report makes it twice.
    assert take(tmp_path, place).runs == ()
    with closing(open_on(tmp_path / "b.db", "ann")) as desk:
        load(desk, numbered(120), quorum=0.6)
        assert len(desk.runs()) == 1
    assert list(sent.parent.iterdir()) == [sent]


@pytest.mark.slow
def test_runs_of_every_sample_travel(tmp_path: Path, place: SharedFolder) -> None:
    names = ["code-review.json", "hostile.json", "library-desk.jsonl", "ratings-long.csv"]
    with closing(open_on(tmp_path / "a.db", "ann")) as desk:
        for name in names:
            load(desk, (SAMPLES / name).read_bytes(), name)
    exchange(tmp_path / "a.db", place)
    assert len(take(tmp_path, place).runs) == len(names)
    assert verify(tmp_path / "b.db", None, lambda _share, _count: None).problems == ()


def test_runs_stay_where_nobody_wants_them(tmp_path: Path, place: SharedFolder, sent: Path) -> None:
    assert exchange(tmp_path / "b.db", place, runs=False).runs == ()
    sent.unlink()
    assert exchange(tmp_path / "a.db", place, runs=False).runs == ()
    assert list(sent.parent.iterdir()) == []


@pytest.mark.usefixtures("sent")
def test_a_removed_run_does_not_come_back(tmp_path: Path, place: SharedFolder) -> None:
    take(tmp_path, place)
    with closing(open_on(tmp_path / "b.db", "ann")) as desk:
        desk.remove(desk.run())
    assert take(tmp_path, place).runs == ()
    with closing(open_on(tmp_path / "b.db", "ann")) as desk:
        assert desk.runs() == []


def test_a_run_no_chain_names_is_left_so(tmp_path: Path, place: SharedFolder, sent: Path) -> None:
    for chain in Path(place.address, "chains").rglob("*.jsonl"):
        chain.unlink()
    found = take(tmp_path, place)
    assert found.notes == (f"runs/{sent.name}: no desk's chain names this run, left alone",)
    assert (found.runs, found.refused) == ((), ())


def rewrite(path: Path, change: Callable[[Lines], None]) -> Path:
    """Change the lines of a run's file, and name it after its new bytes."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    change(lines)
    packed = gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
    path.unlink()
    run = path.name.partition(".")[0]
    made = path.with_name(f"{run}.{hashlib.sha256(packed).hexdigest()}.jsonl.gz")
    made.write_bytes(packed)
    return made


def changed(line: int, **values: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[line].update(values)


OTHER_RUN = "is not the run that a desk wrote of"
NO_RUN = "does not begin as reviewdesk.run/1 does"
MEAN = {"threshold": 0.7, "quorum": 0.5, "strategy": "mean"}
CHANGED = {
    "a reason": (lambda lines: lines[3]["jurors"][0].update(reason="other"), OTHER_RUN),
    "a verdict gone": (lambda lines: lines.pop(4), OTHER_RUN),
    "seed": (changed(0, seed="other"), OTHER_RUN),
    "share": (changed(0, audit_share=0.0), OTHER_RUN),
    "header": (changed(1, defaults=MEAN), OTHER_RUN),
    "policy": (changed(0, options={"quorum": "9/0"}), "$.options.quorum must be"),
    "option": (changed(0, options={"x": 1}), "$.options.x is not a key"),
    "hash": (changed(0, hash="ab" * 32), "is named after another run"),
    "newer": (changed(0, schema="reviewdesk.run/2"), "was written by a newer reviewdesk"),
    "other": (changed(0, schema=None), NO_RUN),
    "surrogate": (changed(0, file="\ud800"), NO_RUN),
    "no score": (lambda lines: lines[3]["jurors"][0].update(score="8/10"), "must be a number"),
    "twice": (lambda lines: lines.append(lines[-1]), "must be unique in the report"),
    "lines": (lambda lines: lines.clear(), NO_RUN),
}


FEW = ("a reason", "header", "option")
"""Those that are tried each time; the others take as long."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in CHANGED]
)
def test_another_run_is_refused(tmp_path: Path, place: SharedFolder, sent: Path, name: str) -> None:
    change, problem = CHANGED[name]
    path = rewrite(sent, change)
    (refused,) = take(tmp_path, place).refused
    assert refused.file == f"runs/{path.name}"
    assert problem in refused.problem
    assert str(tmp_path) not in refused.problem
    assert refused.hint.startswith("Update" if name == "newer" else "Delete it")
    with closing(open_on(tmp_path / "b.db", "ann")) as desk:
        assert desk.runs() == []
        assert desk.verify().problems == ()
    # Nothing of it is left, and the right one is taken once its desk has written it again.
    path.unlink()
    exchange(tmp_path / "a.db", place)
    assert [one.taken for one in take(tmp_path, place).runs] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("size", [-9, 0, 400])
def test_a_cut_file_is_refused(tmp_path: Path, place: SharedFolder, sent: Path, size: int) -> None:
    packed = sent.read_bytes()[:size]
    sent.write_bytes(packed)
    (refused,) = take(tmp_path, place).refused
    assert refused.problem == "does not match the hash in its name"
    run = sent.name.partition(".")[0]
    sent.rename(sent.with_name(f"{run}.{hashlib.sha256(packed).hexdigest()}.jsonl.gz"))
    (refused,) = take(tmp_path, place).refused
    cut = "is a damaged or cut off gzip file"
    assert refused.problem in {cut, f"line 1: {NO_RUN}"}


def test_a_file_that_never_ends_is_refused(tmp_path: Path, place: SharedFolder, sent: Path) -> None:
    lines = gzip.decompress(sent.read_bytes()).splitlines(keepends=True)
    packed = gzip.compress(lines[0]) + gzip.compress(bytes(1 << 22)) * 17
    sent.unlink()
    name = f"{sent.name.partition('.')[0]}.{hashlib.sha256(packed).hexdigest()}.jsonl.gz"
    sent.with_name(name).write_bytes(packed)
    (refused,) = take(tmp_path, place).refused
    assert refused.problem == "unpacks to far more than a report"
