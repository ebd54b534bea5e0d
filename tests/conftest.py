import contextlib
import gc
import importlib
import json
import os
import socket
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings

from reviewdesk.desk import core
from reviewdesk.desk.core import Desk
from reviewdesk.store import connect
from reviewdesk.store.schema import migrate
from tests.helpers import open_desk
from tests.judgekit import Room


def memory_for_files() -> Path | None:
    """Return the folder of a file system in memory, if there is one with room to run programs in.

    Desks in it wait for no disk; what a label's transaction asks of SQLite stays the same.
    """
    found = Path("/dev/shm")  # noqa: S108  (pytest makes a folder in it that is its user's alone)
    if not os.access(found, os.W_OK):
        return None
    known = os.statvfs(found)
    room = known.f_bavail * known.f_frsize > 2**30
    return found if room and not known.f_flag & os.ST_NOEXEC else None


if "TMPDIR" not in os.environ and (memory := memory_for_files()):
    os.environ["TMPDIR"] = str(memory)
    tempfile.tempdir = None  # asked for anew

# Programs are started hundreds of times, and each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Read when Textual is imported: a test draws when it looks, and not sixty times a second.
os.environ["TEXTUAL_FPS"] = "1"

# The same examples on every run and every machine, and none that fails for being slow.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=10)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="a file of test vectors to run instead of the project's own",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep the garbage collector off what is collected, for modules and tests live to the end.

    After that it looks for garbage less often: drawn screens fill the heap.
    """
    gc.disable()
    gc.set_threshold(20_000, 10, 100)
    if session.config.args == ["tests"] and os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        # In a new clone each module is compiled once: other workers begin at the other end.
        for path in sorted(Path("tests").rglob("test_*.py"), reverse=True):
            with contextlib.suppress(ImportError, pytest.skip.Exception):
                importlib.import_module(".".join(path.with_suffix("").parts))
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# No test reads the settings of whoever runs it.
os.environ["REVIEWDESK_CONFIG"] = os.devnull
os.environ.pop("REVIEWDESK_THEME", None)


_connect = socket.socket.connect


def guarded(self: socket.socket, address: Any) -> None:
    """No test reaches further than this machine."""
    if self.family != socket.AF_UNIX and address[0] not in {"127.0.0.1", "::1", "localhost"}:
        raise AssertionError(f"a test tried to reach {address}")
    _connect(self, address)


socket.socket.connect = guarded  # type: ignore[assignment]


class NewDesks:
    """Makes each new desk a copy of the first, which the migrations made, with its own id.

    That spares thousands of tests 160 statements each.
    """

    first: sqlite3.Connection | None = None
    opened: ClassVar[list[sqlite3.Connection]] = []

    @classmethod
    def migrate(
        cls, conn: connect.ExplainedConnection, path: Path, at: str, **options: Any
    ) -> None:
        cls.opened.append(conn)
        if options or conn.execute("SELECT 1 FROM sqlite_master").fetchone():
            migrate(conn, path, at, **options)
        elif cls.first is None:
            migrate(conn, path, at)
            # Several tests open desks in several threads.
            cls.first = sqlite3.connect(":memory:", check_same_thread=False)
            conn.backup(cls.first)
        else:
            cls.first.backup(conn)
            with conn:
                query = "UPDATE meta SET value = ? WHERE key = ?"
                conn.execute(query, (uuid.uuid4().hex, "desk_id"))
                conn.execute("UPDATE migrations SET at = ?", (at,))
                conn.execute(query, (json.dumps(connect.table_hashes(conn)[0]), connect.HASHES))


core.migrate = NewDesks.migrate  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def desks_are_closed() -> Iterator[None]:
    """Close what a test leaves open; what the fixtures of a module opened stays."""
    NewDesks.opened.clear()
    yield
    for conn in NewDesks.opened:
        with contextlib.suppress(sqlite3.ProgrammingError):  # of another thread
            conn.close()
    NewDesks.opened.clear()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A new desk of ann's, in ``desk.db``."""
    return open_desk(tmp_path / "desk.db")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """An empty folder for cases, a panel and their report."""
    return Room(tmp_path)
