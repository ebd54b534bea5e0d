"""Replies kept from run to run, so that a question that was asked before is not paid for again."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from reviewdesk.errors import UsageError
from reviewdesk.file_output import whole_file
from reviewdesk.live.records import CACHE_HEADER, Call, Exchange
from reviewdesk.live.replies.faults import fault_of
from reviewdesk.live.wires.requests import hashed
from reviewdesk.live.wires.vendors import endpoint

MOST: Final = 50_000
"""The replies that a cache holds; the oldest make room when it is opened."""
_LARGEST: Final = 4_000_000
_SUFFIX: Final = ".reply.json"


class ReplyCache:
    """A private folder with a file for each reply, named by address, body without nonce and sample.

    Keys of vendors are in no reply that is kept. A file that is damaged, or that somebody else put
    there, is no reply: what it says is checked like what an endpoint sends.
    """

    def __init__(self, folder: Path, most: int = MOST) -> None:
        """Make the folder if it is not there, and remove the oldest replies beyond ``most``.

        Raises:
            UsageError: the folder cannot be used.
        """
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.lstat().st_mtime_ns)
            for path in found[: max(0, len(found) - most)]:
                path.unlink(missing_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"--cache: {folder}: {reason}", "Name a folder of yours.") from error

    def reply(self, call: Call) -> Exchange | None:
        """Return the exchange in which the same question was answered, or ``None``."""
        try:
            with self._path(call).open("rb") as file:
                found = msgspec.json.decode(file.read(_LARGEST), type=Exchange)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return replace(found, call=call.key, headers={**found.headers, CACHE_HEADER: "yes"})

    def keep(self, call: Call, exchange: Exchange) -> None:
        """Write a reply, but no fault, in a thread; if that fails, it is only asked for again."""
        if fault_of(exchange, endpoint(call.juror).wire) is not None:
            return
        asyncio.get_running_loop().run_in_executor(None, self._write, self._path(call), exchange)

    def _write(self, path: Path, exchange: Exchange) -> None:
        with suppress(OSError), whole_file(path, replace=True, private=True) as file:
            file.write(msgspec.json.encode(exchange))

    def _path(self, call: Call) -> Path:
        name = hashlib.sha256(hashed(call) + str(call.sample).encode()).hexdigest()
        return self._folder / f"{name}{_SUFFIX}"
