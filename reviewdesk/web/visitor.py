"""The process of the app that serves one page."""

from __future__ import annotations

import asyncio
import json
import os
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from aiohttp.web import WebSocketResponse
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

_PATIENCE = 8.0
"""Seconds for a console to save pending edits after its page has closed."""
_GRACE = 2.0
_MOST_ERRORS = 20_000
"""The most bytes of a console's stderr that are kept."""
_PASSED_ON = {"exit", "deliver_file_start"}
"""The messages of a console that reach its page; none can make a browser open an address."""
DRIVER = "reviewdesk.app.terminal.browser:BrowserDriver"


LARGEST = 1_000
"""The most columns or rows that are accepted from a page."""
_SENSELESS = re.compile(r"\x1b\[[<=>?]?[\d;:]*\d{6}[\d;:]*[ -/]*[@-~]?")
"""A sequence with a number that no terminal sends."""


def size_of(width: object, height: object) -> tuple[int, int] | None:
    """Return a size in characters given as numbers or digits, ``None`` if no screen has it."""
    given = f"{width} {height}"
    if not re.fullmatch("[0-9]{1,4} [0-9]{1,4}", given):
        return None
    columns, rows = map(int, given.split())
    return (columns, rows) if 0 < columns <= LARGEST and 0 < rows <= LARGEST else None


def environment(
    size: tuple[int, int], inherited: Mapping[str, str] = os.environ, reviewer: str | None = None
) -> dict[str, str]:
    """Return the environment of a console that draws for a page of a size.

    ``reviewer`` is the person who signed on, if known.
    """
    kept = {name: text for name, text in inherited.items() if name not in {"LINES", "TEXTUAL"}}
    kept |= {} if reviewer is None else {"REVIEWDESK_REVIEWER": reviewer}
    return kept | {
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLORTERM": "truecolor",
        "TERM": "xterm-256color",
        "COLUMNS": str(size[0]),
        "ROWS": str(size[1]),
    }


class Visitor(AppService):
    """Starts a console from a list of arguments, without a shell, and connects it to its page."""

    def __init__(
        self, command: Sequence[str], page: WebSocketResponse, downloads: DownloadManager,
        reviewer: str | None = None,
    ) -> None:  # fmt: skip
        """Prepare for a page without starting anything."""
        super().__init__(
            "",
            write_bytes=_as_long_as_there(page, page.send_bytes),
            write_str=_as_long_as_there(page, page.send_str),
            close=self._close,
            download_manager=downloads,
        )
        self._arguments = tuple(command)
        self._page = page
        self._downloads = downloads
        self._reviewer = reviewer
        self._console: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self.errors = b""

    async def _close(self) -> None:
        await self._page.close()

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """The console's input."""
        assert self._console is not None  # noqa: S101 - start comes first
        assert self._console.stdin is not None  # noqa: S101 - it is a pipe
        return self._console.stdin

    async def start(self, width: int, height: int) -> None:
        """Start the console at the size of its page."""
        self._console = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment((width, height), reviewer=self._reviewer),
            start_new_session=True,  # so that ctrl+c at the server's terminal is the server's alone
        )
        self._reading = asyncio.create_task(self.run())

    async def run(self) -> None:
        """Pass on the console's output until it ends, even if the page has closed."""
        assert self._console is not None  # noqa: S101 - start comes first
        stdout = self._console.stdout
        stderr = self._console.stderr
        assert stdout is not None  # noqa: S101 - they are pipes
        assert stderr is not None  # noqa: S101
        errors = asyncio.create_task(self._keep_errors(stderr))
        takes = {b"D": self.on_data, b"P": self.on_packed, b"M": self.on_meta}
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await stdout.readuntil(b"__GANGLION__\n")
            while True:
                head = await stdout.readexactly(5)
                payload = await stdout.readexactly(int.from_bytes(head[1:]))
                if (take := takes.get(head[:1])) is not None:
                    await take(payload)
        await errors
        await self._close()

    async def on_meta(self, data: bytes) -> None:
        """Handle a message of the console, if it is an accepted one."""
        if json.loads(data).get("type") in _PASSED_ON:
            await super().on_meta(data)

    async def _keep_errors(self, stderr: asyncio.StreamReader) -> None:
        while said := await stderr.read(4096):
            self.errors = (self.errors + said)[-_MOST_ERRORS:]

    async def hear(self, text: str) -> None:
        """Pass on the messages that our pages send: keys, sizes, focus and pings; drop others."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        match found:
            case ["stdin", str(typed)]:
                await self.send_bytes(_SENSELESS.sub("", typed).encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                if (size := size_of(width, height)) is not None:
                    await self.set_terminal_size(*size)
            case ["focus"]:
                await self.focus()
            case ["blur"]:
                await self.blur()
            case ["ping", str(word)]:
                await self._page.send_json(["pong", word[:40]])

    async def stop(self) -> None:
        """End the console, which saves before it goes, and wait until it is gone."""
        if self._console is not None and self._ending is None:
            self._ending = asyncio.create_task(self._end(self._console))
        if self._ending is not None:
            # The task that waits may be cancelled; the console ends anyway.
            await asyncio.shield(self._ending)

    async def _end(self, console: Process) -> None:
        await self._downloads.cancel_app_downloads(app_service_id=self.app_service_id)
        self.stdin.close()
        for wait, insist in ((_PATIENCE, console.terminate), (_GRACE, console.kill)):
            with suppress(TimeoutError):
                await asyncio.wait_for(console.wait(), wait)
                break
            with suppress(ProcessLookupError):
                insist()
        await console.wait()
        if self._reading is not None:
            await self._reading


def _as_long_as_there(
    page: WebSocketResponse, send: Callable[..., Awaitable[None]]
) -> Callable[..., Awaitable[None]]:
    """Return a ``send`` that does nothing after the page has closed."""

    async def sent(what: bytes | str) -> None:
        if not page.closed:
            with suppress(ConnectionError):
                await send(what)

    return sent
