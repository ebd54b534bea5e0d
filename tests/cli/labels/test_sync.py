"""What a person is told of a sync; a sync that is killed is taken up by the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reviewdesk.desk.core import verify
from reviewdesk.desk.team.sync import SharedFolder
from tests.cli.conftest import Cli
from tests.desk.team.sharekit import exchange, make, state, until_quiet
from tests.desk.team.test_merge import WEEK, perform
from tests.helpers import POSIX, ROOT, numbered


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(numbered(3))
    return path


def test_a_person_reads_what_was_exchanged(cli: Cli, report: Path, tmp_path: Path) -> None:
    place, other = str(tmp_path / "place"), ("--desk", str(tmp_path / "b.db"))
    cli("ingest", report)
    cli("label", "v1", "fail")
    done = cli("desk", "sync", place)
    assert done.code == 0
    assert "ann on desk" in done.out
    assert ": 1 of 1 events are new there" in done.out
    assert "run run: sent\n0 events taken, 2 sent, head 2:" in done.out
    assert cli("desk", "sync", place).out.startswith("nothing new here or there, head 2:")
    found = cli(*other, "desk", "sync", place, "--json").json
    assert (found["taken"], found["sent"], found["refused"]) == (2, 2, [])
    assert [(one["name"], one["taken"]) for one in found["runs"]] == [("run", True)]
    chains = cli(*other, "desk", "info", "--json").json["chains"]
    assert [one["reviewer"] for one in chains if one["events"] == 1] == ["@desk", "ann"]
    assert "chain      ann on desk" in cli(*other, "desk", "info").out


def test_a_refused_file_is_named_and_ends_with_1(cli: Cli, report: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    cli("ingest", report)
    cli("label", "v1", "fail")
    cli("desk", "sync", str(place))
    (path,) = place.rglob("by-ann.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"fail"', b'"pass"'))
    done = cli("--desk", str(tmp_path / "b.db"), "desk", "sync", str(place))
    assert done.code == 1
    name = f"{path.relative_to(place)}: chain of ann on desk {path.parent.name}: event 1: "
    (told,) = [line for line in done.lines if "event 1" in line]
    assert told.startswith(f"{name}was changed after it was written. Nothing of it was taken")
    done = cli("--desk", str(tmp_path / "c.db"), "desk", "sync", str(place), "--json")
    assert (done.code, '"refused": [{"file": "chains/' in done.out) == (1, True)


_KILLED = """
import os, signal, sys
from pathlib import Path
from reviewdesk.desk.core import Desk
from reviewdesk.desk.team.sync import SharedFolder, sync

left = int(sys.argv[3])

class Killed(SharedFolder):
    def step(self):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def copied(self, *words):
        self.step()
        return super().copied(*words)

    def put(self, *words):
        self.step()
        super().put(*words)
        self.step()

sync(Desk.open(Path(sys.argv[1])), Killed(Path(sys.argv[2])), lambda *_: True)
"""


@POSIX
@pytest.mark.slow
def test_syncs_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    desks = make(tmp_path)
    perform(desks, WEEK)
    place = SharedFolder(str(tmp_path / "place"))
    exchange(desks["c"], place)
    killed = 0
    for left in range(0, 12, 2):
        for name in ("a", "b"):
            words = [str(desks[name]), place.address, str(left)]
            done = subprocess.run(
                [sys.executable, "-c", _KILLED, *words],
                cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
            )  # fmt: skip
            killed += done.returncode == -signal.SIGKILL
            assert verify(desks[name]).ok
    assert killed > 6
    until_quiet(desks, place)
    found = [state(path) for path in desks.values()]
    assert found[0] == found[1] == found[2]
    # The first event of each desk is that of its run.
    assert found[0]["head"].startswith(f"{3 + len(WEEK)}:")
    left_over = [path for path in Path(place.address).rglob("*") if path.name.startswith(".")]
    assert left_over == []
