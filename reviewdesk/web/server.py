"""The server of consoles in browsers: its pages, its checks, and the end of consoles."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from aiohttp import WSMsgType, web
from msgspec import Struct
from textual_serve.server import Server

from reviewdesk.errors import UsageError
from reviewdesk.system.signals import ENDING
from reviewdesk.web.site import Site, headers
from reviewdesk.web.visitor import Visitor, size_of

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


class Offer(Struct, frozen=True):
    """The service of a server: the command of a console, and the most visitors at a time."""

    command: Sequence[str]
    most: int


class ConsoleServer:
    """Serves a site, and keeps the consoles that it has started."""

    def __init__(self, site: Site, offer: Offer, say: Callable[[str], None]) -> None:
        """Serve ``offer`` on ``site``; ``say`` receives the errors that consoles print."""
        self.site = site
        self.offer = offer
        self.say = say
        self.visitors: set[Visitor] = set()
        self.library = Server("")  # for its page files and downloads
        self.page = (_ASSETS / "page.html").read_text(encoding="utf-8")

    def application(self) -> web.Application:
        """Return the application; it runs its checks before every response."""
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
        """Run a console for a page until one of them ends."""
        if len(self.visitors) >= self.offer.most:
            raise web.HTTPServiceUnavailable(text=FULL)
        query = request.query
        size = size_of(query.get("width"), query.get("height")) or (80, 24)
        page = web.WebSocketResponse(heartbeat=_HEARTBEAT, max_msg_size=_LONGEST_MESSAGE)
        visitor = Visitor(
            self.offer.command, page, self.library.download_manager, request.get("reviewer")
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
    offer: Offer,
    say: Callable[[str], None],
    ready: Callable[[Site], None],
) -> None:
    """Serve at a host and port until a signal arrives, then end every console.

    ``site`` makes the site for the port in use, and ``ready`` is called with it.

    Raises:
        UsageError: the server cannot listen at the address.
    """
    with _listen(*address) as listener:
        made = site(listener.getsockname()[1])
        asyncio.run(_run(ConsoleServer(made, offer, say), listener, lambda: ready(made)))


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(found[:2], family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"{host}:{port}: cannot be listened at: {reason}", "Name others: --host, --port."
        ) from error


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
