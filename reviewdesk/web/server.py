"""The server of consoles in browsers: its pages, its checks, and a process for each page."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from reviewdesk.errors import UsageError, reason
from reviewdesk.system.signals import ENDING
from reviewdesk.web.access import Site, headers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_ASSETS = Path(__file__).parent / "assets"
_LONGEST_MESSAGE = 1 << 20
_HEARTBEAT = 15.0
"""Seconds between checks that a page is still connected."""
REFUSED = "Open the whole link that reviewdesk serve printed: its token lets you in.\n"
ELSEWHERE = "This server does not answer at that address. Name the address with --public-url.\n"
UNNAMED = "Sign on first: requests must come through the login proxy, with one reviewer's name.\n"
STRANGER = "Only the page of this server may open a console.\n"
FULL = "As many consoles are open as this server allows. Close one, or ask for --max-visitors.\n"
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
    """Return the environment of a console for a page of a size and, if known, a reviewer."""
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
        self, command: Sequence[str], page: web.WebSocketResponse, downloads: DownloadManager,
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
        assert self._console is not None  # noqa: S101 - start comes first
        assert self._console.stdin is not None  # noqa: S101 - it is a pipe
        return self._console.stdin

    async def start(self, width: int, height: int) -> None:
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
    page: web.WebSocketResponse, send: Callable[..., Awaitable[None]]
) -> Callable[..., Awaitable[None]]:
    """Return a ``send`` that does nothing after the page has closed."""

    async def sent(what: bytes | str) -> None:
        if not page.closed:
            with suppress(ConnectionError):
                await send(what)

    return sent


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True


class ConsoleServer:
    """Serves a site, and keeps the consoles that it has started."""

    def __init__(
        self, site: Site, command: Sequence[str], most: int, say: Callable[[str], None]
    ) -> None:
        """Take a console's command and the most visitors; ``say`` gets what consoles print last."""
        self.site = site
        self.command = command
        self.most = most
        self.say = say
        self.visitors: set[Visitor] = set()
        self.library = Server("")  # for its page files and downloads
        self.page = (_ASSETS / "page.html").read_text(encoding="utf-8")

    def application(self) -> web.Application:
        logging.getLogger("aiohttp.server").addFilter(_without_traceback)
        app = web.Application(middlewares=[self._checked])
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/ws", self._console),
                web.get("/download/{key}", self.library.handle_download),
                web.static("/static", self.library.statics_path),
                web.static("/assets", _ASSETS),
            ]
        )
        app.on_response_prepare.append(self._add_headers)
        app.on_shutdown.append(self._end_all)
        return app

    # the checks

    @web.middleware
    async def _checked(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse unknown addresses, people without access and, for a console, other origins."""
        site = self.site
        if site.origin_of(request.headers.get("Host")) is None:
            raise web.HTTPForbidden(text=ELSEWHERE)
        if site.sign_on is not None:
            given = request.headers.getall(site.sign_on.header, [])
            request["reviewer"] = name = site.sign_on.reviewer(request.remote, given)
            if name is None:
                raise web.HTTPForbidden(text=UNNAMED)
        elif not site.lets_in(request.query.getall("token", []), request.cookies):
            raise web.HTTPForbidden(text=REFUSED)
        origin = request.headers.get("Origin")
        if (origin is not None or request.path == "/ws") and not site.may_connect(origin):
            raise web.HTTPForbidden(text=STRANGER)
        return await handler(request)

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(headers(self.site.origin_of(request.headers.get("Host"))))
        response.headers["Server"] = "reviewdesk"

    # the answers

    async def _index(self, request: web.Request) -> web.StreamResponse:
        """Return the page; a token in the address is moved to a cookie."""
        if "token" in request.query and self.site.sign_on is None:
            answer = web.Response(status=303, headers={"Location": "/"})
            origin = self.site.origin_of(request.headers.get("Host")) or ""
            answer.set_cookie(
                self.site.cookie,
                self.site.token,
                httponly=True,
                samesite="Lax",  # a link in a mail must come in; consoles check their origin
                secure=origin.startswith("https:"),
            )
            return answer
        return web.Response(text=self.page, content_type="text/html")

    async def _console(self, request: web.Request) -> web.StreamResponse:
        if len(self.visitors) >= self.most:
            raise web.HTTPServiceUnavailable(text=FULL)
        query = request.query
        size = size_of(query.get("width"), query.get("height")) or (80, 24)
        page = web.WebSocketResponse(heartbeat=_HEARTBEAT, max_msg_size=_LONGEST_MESSAGE)
        visitor = Visitor(
            self.command, page, self.library.download_manager, request.get("reviewer")
        )
        self.visitors.add(visitor)
        try:
            await page.prepare(request)
            await visitor.start(*size)
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    await visitor.hear(message.data)
        finally:
            await self.end(visitor)
        return page

    async def end(self, visitor: Visitor) -> None:
        """End a console, report its last errors once, and then stop counting it."""
        await visitor.stop()
        if visitor in self.visitors:
            self.visitors.remove(visitor)
            for line in visitor.errors.decode("utf-8", "replace").splitlines():
                self.say(line)

    async def _end_all(self, _app: web.Application) -> None:
        await asyncio.gather(*map(self.end, list(self.visitors)))


def serve(
    site: Callable[[int], Site],
    address: tuple[str, int],
    command: Sequence[str],
    most: int,
    say: Callable[[str], None],
    ready: Callable[[Site], None],
) -> None:
    """Serve at a host and port until a signal arrives, then end every console.

    ``site`` makes the site for the port in use, and ``ready`` is called with it. Raise UsageError
    if the server cannot listen at the address.
    """
    with _listen(*address) as listener:
        made = site(listener.getsockname()[1])
        asyncio.run(_run(ConsoleServer(made, command, most, say), listener, lambda: ready(made)))


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(found[:2], family=family)
    except OSError as error:
        problem = f"{host}:{port}: cannot listen there: {reason(error)}"
        raise UsageError(problem, "Name others: --host, --port.") from error


async def _run(server: ConsoleServer, listener: socket.socket, ready: Callable[[], None]) -> None:
    runner = web.AppRunner(server.application(), access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        ended = asyncio.Event()
        for number in (signal.SIGINT, *ENDING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
                    asyncio.get_running_loop().add_signal_handler(number, ended.set)
        ready()
        await ended.wait()
    finally:
        await runner.cleanup()
