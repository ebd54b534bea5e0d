"""A command in a process of its own, on a terminal of its own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers import ROOT, environment

QUESTION = b"[y/N] "


async def at_a_terminal(
    arguments: Sequence[str], desk: Path, key: bytes, early: bytes = b""
) -> tuple[int, str]:
    """Answer the question by one key: exit code, and what it showed.

    ``early`` was typed before the command began.
    """
    if sys.platform == "win32":
        pytest.skip("a terminal of POSIX")
    leader, follower = os.openpty()
    os.write(leader, early)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reviewdesk", *arguments,
        env=environment(desk), cwd=ROOT,
        stdin=follower, stderr=follower, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(follower)
    shown = b""

    def read() -> bytes:
        with suppress(OSError):  # the other end of a terminal that nobody holds any more
            return os.read(leader, 4096)
        return b""

    while more := await asyncio.to_thread(read):
        shown += more
        if shown.endswith(QUESTION):
            os.write(leader, key)
    os.close(leader)
    return await process.wait(), shown.decode()


def shown_at(terminal: str, arguments: Sequence[str], desk: Path) -> str:
    """Run a command whose streams are all a terminal of this kind, and return what it showed."""
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", *arguments],
        env=environment(desk) | {"TERM": terminal}, cwd=ROOT,
        stdin=follower, stdout=follower, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    with suppress(OSError):
        while more := os.read(leader, 65536):
            shown += more
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()
