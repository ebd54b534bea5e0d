"""The process of the app that serves one page."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from aiohttp.web import WebSocketResponse
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from reviewdesk.web.messages import Focused, Pinged, Resized, Typed, read_message

_PATIENCE = 8.0
"""Seconds for a console to save pending edits after its page has closed."""
_GRACE = 2.0
_MOST_ERRORS = 20_000
"""The most bytes of a console's stderr that are kept."""
_PASSED_ON = {"exit", "deliver_file_start"}
"""The messages of a console that reach its page; none can make a browser open an address."""
DRIVER = "reviewdesk.app.terminal.browser:BrowserDriver"


def environment(
    size: Resized, inherited: Mapping[str, str] = os.environ, reviewer: str | None = None
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
        "COLUMNS": str(size.width),
        "ROWS": str(size.height),
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
            env=environment(Resized(width, height), reviewer=self._reviewer),
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
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await stdout.readuntil(b"__GANGLION__\n")
            while True:
                head = await stdout.readexactly(5)
                await self._pass_on(head[:1], await stdout.readexactly(int.from_bytes(head[1:])))
        await errors
        await self._close()

    async def _pass_on(self, kind: bytes, payload: bytes) -> None:
        if kind == b"D":
            await self.on_data(payload)
        elif kind == b"P":
            await self.on_packed(payload)
        elif kind == b"M":
            await self.on_meta(payload)

    async def on_meta(self, data: bytes) -> None:
        """Handle a message of the console, if it is an accepted one."""
        if json.loads(data).get("type") in _PASSED_ON:
            await super().on_meta(data)

    async def _keep_errors(self, stderr: asyncio.StreamReader) -> None:
        while said := await stderr.read(4096):
            self.errors = (self.errors + said)[-_MOST_ERRORS:]

    async def hear(self, text: str) -> None:
        """Pass on valid messages of the page; drop all others."""
        match read_message(text):
            case Typed(typed):
                await self.send_bytes(typed.encode("utf-8", "replace"))
            case Resized(width, height):
                await self.set_terminal_size(width, height)
            case Focused(has_it):
                await (self.focus() if has_it else self.blur())
            case Pinged(word):
                await self._page.send_json(["pong", word])

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
