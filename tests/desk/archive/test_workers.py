"""Archives that workers of this machine read: one is killed, and parts are at an address."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.archive import put_together, workers_at
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.run.archived import Archived
from reviewdesk.scale.crew import Crew
from tests.desk.archive.archivekit import Here, drawn, verdicts, write_parts
from tests.helpers import POSIX, open_desk

pytestmark = pytest.mark.slow
pytest.importorskip("distributed")


def archive(
    desk: Path, pattern: str, crew: Crew, told: Callable[[float, int], object] = lambda *_: None
) -> Archived:
    with closing(open_desk(desk)) as opened:
        return put_together(opened, [pattern], LoadOptions(seed="s"), crew, told=told)


@pytest.fixture
def parts(tmp_path: Path) -> str:
    write_parts(tmp_path / "parts", verdicts(240, stated=True), 12)
    return str(tmp_path / "parts" / "*.jsonl")


def same(folder: Path, made: Archived, parts: str) -> bool:
    """Whether an archive, in ``archive.db``, is the one that this process makes of the parts."""
    here = archive(folder / "here.db", parts, Here())
    assert (made.parts, made.bad) == (12, ())
    return made.stats == here.stats and drawn(folder / "archive.db") == drawn(folder / "here.db")


@POSIX
@pytest.mark.parametrize("share", [0.2, 0.7], ids=["first reading", "second reading"])
def test_part_whose_worker_is_killed_counts_once(tmp_path: Path, parts: str, share: float) -> None:
    with workers_at(None, 2) as crew:
        killed: list[int] = []

        def kill(done: float, _count: int) -> None:
            if done >= share and not killed:
                killed.extend(crew.client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        made = archive(tmp_path / "archive.db", parts, crew, kill)
        assert len(killed) == 2
    assert same(tmp_path, made, parts)


def test_parts_at_an_address_are_those_of_a_folder(tmp_path: Path, parts: str) -> None:
    address = (tmp_path / "parts").as_uri()
    with workers_at(None, 1) as crew:
        made = archive(tmp_path / "archive.db", f"{address}/*.jsonl", crew)
    assert same(tmp_path, made, parts)
