import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, ClientWebSocketResponse, WSMsgType, web
from aiohttp.client_exceptions import WSServerHandshakeError

from reviewdesk.web.access import SignOn, Site
from reviewdesk.web.server import DRIVER, ConsoleServer, environment

ECHO = """
import json, os, sys
def packet(kind, data):
    sys.stdout.buffer.write(kind + len(data).to_bytes(4, "big") + data)
    sys.stdout.buffer.flush()
print("__GANGLION__", flush=True)
told = [sys.argv, os.environ["COLUMNS"], os.environ["TEXTUAL_DRIVER"]]
told += [os.environ["REVIEWDESK_REVIEWER"]] if "--signed-on" in sys.argv else []
packet(b"D", json.dumps(told).encode())
while head := sys.stdin.buffer.read(5):
    data = sys.stdin.buffer.read(int.from_bytes(head[1:], "big"))
    if data == b"q":
        packet(b"M", b'{"type": "exit"}')
        break
    if data == b"o":
        packet(b"M", b'{"type": "open_url", "url": "http://evil.example", "new_tab": true}')
    packet(b"D", head[:1] + data)
open(sys.argv[1], "w").write("ended")
print("the console's last words", file=sys.stderr)
"""
"""A console that tells how it was started, sends back what it gets, and leaves a note."""


@dataclass
class Stage:
    """A server, and a browser that need not behave."""

    server: ConsoleServer
    session: ClientSession
    base: str
    note: Path
    said: list[str]

    async def get(self, path: str, **headers: str) -> ClientResponse:
        """Ask for a path, and read the whole answer."""
        async with self.session.get(
            f"{self.base}{path}", headers=headers, allow_redirects=False
        ) as answer:
            await answer.read()
        return answer

    async def connect(
        self, path: str = "/ws?width=120&height=40", **headers: str
    ) -> ClientWebSocketResponse:
        """Open a console as its own page does, but for the headers that are given."""
        given = {"Origin": self.base, "Cookie": self.cookie} | headers
        return await self.session.ws_connect(
            f"{self.base}{path}", headers={name: text for name, text in given.items() if text}
        )

    @property
    def cookie(self) -> str:
        """The cookie of whoever came in by the link."""
        return f"{self.server.site.cookie}={self.server.site.token}"


@asynccontextmanager
async def stage(folder: Path, most: int = 2) -> AsyncIterator[Stage]:
    note, said = folder / "note", list[str]()
    command = [sys.executable, "-c", ECHO, str(note)]
    server = ConsoleServer(Site("127.0.0.1", 1), command, most, said.append)
    runner = web.AppRunner(server.application())
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        server.site = Site("127.0.0.1", port)
        async with ClientSession() as session:
            yield Stage(server, session, f"http://127.0.0.1:{port}", note, said)
    finally:
        await runner.cleanup()


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as made:
        yield made


async def test_the_link_is_traded_for_a_cookie_and_a_clean_address(on: Stage) -> None:
    answer = await on.get(f"/?token={on.server.site.token}")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    page = await on.get("/", Cookie=cookie.partition(";")[0])
    assert page.status == 200
    text = await page.text()
    assert on.server.site.token not in text
    assert "https://" not in text
    assert "http://" not in text


@pytest.mark.parametrize(
    "path", ["/", "/ws", "/download/a", "/static/js/textual.js", "/assets/page.css", "/no"]
)
@pytest.mark.parametrize("token", [None, "wrong", ""])
async def test_nothing_is_answered_without_the_token(path: str, token: Any, on: Stage) -> None:
    query = "" if token is None else f"?token={token}"
    own = on.base
    refused = await on.get(f"{path}{query}", Origin=own)
    assert (refused.status, "Open the whole link" in await refused.text()) == (403, True)
    wrong = f"{on.server.site.cookie}={token}"
    assert (await on.get(path, Origin=own, Cookie=wrong)).status == 403
    if token is not None:
        assert (await on.get(f"{path}{query}", Origin=own, Cookie=on.cookie)).status == 403


@pytest.mark.parametrize("path", ["/", "/ws", "/download/a", "/static/js/textual.js"])
async def test_behind_a_sign_on_only_its_proxy_is_answered(path: str, on: Stage) -> None:
    token = on.server.site.token
    for proxy, status in (("127.0.0.1", None), ("127.0.0.2", 403)):
        sign_on = SignOn.of("X-Remote-User", [proxy])
        on.server.site = Site("127.0.0.1", on.server.site.port, token=token, sign_on=sign_on)
        own = on.base
        found = await on.get(path, Origin=own, **{"X-Remote-User": "ann"})
        assert (found.status == 403) is (status == 403)
        if status is None and path == "/":
            assert "Set-Cookie" not in found.headers
        # Neither the token nor its cookie lets in whom the proxy does not name.
        assert (await on.get(f"{path}?token={token}", Origin=own)).status == 403
        assert (await on.get(path, Origin=own, Cookie=on.cookie)).status == 403
        twice = [("X-Remote-User", "ann"), ("X-Remote-User", "eve"), ("Origin", own)]
        async with on.session.get(f"{own}{path}", headers=twice) as answer:
            assert answer.status == 403


async def test_a_console_behind_a_sign_on_is_started_for_whom_the_proxy_names(on: Stage) -> None:
    sign_on = SignOn.of("X-Remote-User", ["127.0.0.1"])
    on.server.site = Site("127.0.0.1", on.server.site.port, sign_on=sign_on)
    on.server.command = [*on.server.command, "--signed-on"]
    page = await on.connect(**{"X-Remote-User": "ann lee"})
    assert json.loads(await page.receive_bytes())[3] == "ann lee"
    await page.close()


@pytest.mark.parametrize(
    "path", ["/", "/ws", "/download/a", "/static/js/textual.js", "/assets/page.css"]
)
async def test_no_other_address_leads_here(path: str, on: Stage) -> None:
    given = {"Cookie": on.cookie, "Origin": on.base}
    for host in ("evil.example", f"evil.example:{on.server.site.port}", "127.0.0.1:1"):
        assert (await on.get(path, Host=host, **given)).status == 403
    assert (await on.get(path, **given)).status != 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
async def test_no_other_page_opens_a_console(origin: str, on: Stage) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        await on.connect(Origin=origin)
    assert refused.value.status == 403
    if origin:
        assert (await on.get("/", Cookie=on.cookie, Origin=origin)).status == 403


async def test_every_answer_forbids_what_a_page_does_not_need(on: Stage) -> None:
    for path in ("/", "/static/css/xterm.css", "/assets/page.js", "/download/none", "/none"):
        for cookie in (on.cookie, ""):
            found = (await on.get(path, Cookie=cookie)).headers
            assert "default-src 'none'" in found["Content-Security-Policy"]
            assert found["X-Content-Type-Options"] == "nosniff"
            assert found["X-Frame-Options"] == "DENY"
            assert "aiohttp" not in found["Server"]


async def test_there_is_nothing_but_the_page_and_what_it_needs(on: Stage) -> None:
    for path in ("/none", "/static/", "/assets/", "/download/none"):
        assert (await on.get(path, Cookie=on.cookie)).status in {403, 404}
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/assets/..%2fserver.py"):
        assert (await asked_as_written(on, path)).split()[1] in {b"400", b"403", b"404"}
    async with on.session.post(on.base, headers={"Cookie": on.cookie}) as answer:
        assert answer.status == 405


async def asked_as_written(on: Stage, path: str) -> bytes:
    """Return the answer's first line to a path that no client would leave as it is."""
    reader, writer = await asyncio.open_connection("127.0.0.1", on.server.site.port)
    host = on.base.partition("//")[2]
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {on.cookie}\r\n\r\n".encode())
    try:
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_console_is_started_from_a_list_and_ends_with_its_page(on: Stage) -> None:
    page = await on.connect("/ws?width=120&height=40&name=;touch+x")
    argv, columns, driver = json.loads(await page.receive_bytes())
    assert (argv, columns, driver) == (["-c", str(on.note)], "120", DRIVER)
    await page.send_str('["stdin", "p"]')
    assert await page.receive_bytes() == b"Dp"
    for nonsense in ("[", '["stdin", 3]', '["resize", {"width": 1e9, "height": 1}]'):
        await page.send_str(nonsense)
    await page.send_bytes(b"p")
    await page.send_str('["resize", {"width": 80, "height": 24}]')
    assert json.loads((await page.receive_bytes())[1:]) == {
        "type": "resize", "width": 80, "height": 24,
    }  # fmt: skip
    await page.send_str('["ping", "7"]')
    assert await page.receive_json() == ["pong", "7"]
    assert not on.note.exists()
    await page.close()
    await all_gone(on)
    assert on.note.read_text() == "ended"
    assert on.said == ["the console's last words"]


async def all_gone(on: Stage) -> None:
    """Wait until the consoles that are open have ended and been counted out."""
    async with asyncio.timeout(20):
        await asyncio.gather(*map(on.server.end, list(on.server.visitors)))
    assert not on.server.visitors


async def test_a_console_that_ends_closes_its_page(on: Stage) -> None:
    page = await on.connect()
    await page.receive_bytes()
    await page.send_str('["stdin", "q"]')
    assert (await page.receive()).type in {WSMsgType.CLOSE, WSMsgType.CLOSED}
    await all_gone(on)


async def test_no_console_makes_a_browser_open_an_address(on: Stage) -> None:
    page = await on.connect()
    await page.receive_bytes()
    await page.send_str('["stdin", "o"]')
    assert await page.receive_bytes() == b"Do"
    await page.close()


async def test_no_more_come_in_than_there_is_room_for(tmp_path: Path) -> None:
    async with stage(tmp_path, most=1) as on:
        page = await on.connect()
        await page.receive_bytes()
        with pytest.raises(WSServerHandshakeError) as refused:
            await on.connect()
        assert refused.value.status == 503
        await page.close()
        await all_gone(on)
        await (await on.connect()).close()


async def test_the_servers_end_is_that_of_its_consoles(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        page = await on.connect()
        await page.receive_bytes()
    assert on.note.read_text() == "ended"
    assert not on.server.visitors


async def test_a_malformed_request_is_one_line(on: Stage, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", on.server.site.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n")
    assert b" 400 " in await reader.readline()
    writer.close()
    (record,) = caplog.records
    assert record.getMessage() == "Error handling request from 127.0.0.1"
    assert record.exc_info is None


async def test_a_console_that_cannot_start_is_told_of(on: Stage) -> None:
    script = "import sys; sys.exit('no desk \\x1b[31mhere')"
    on.server.command = [sys.executable, "-c", script]
    page = await on.connect()
    assert (await page.receive()).type in {WSMsgType.CLOSE, WSMsgType.CLOSED}
    await all_gone(on)
    assert on.said == ["no desk \x1b[31mhere"]


def test_a_console_gets_the_size_of_its_page_and_no_debugging() -> None:
    found = environment((100, 30), {"HOME": "/home/ann", "LINES": "7", "TEXTUAL": "debug"})
    assert found["HOME"] == "/home/ann"
    assert (found["COLUMNS"], found["ROWS"]) == ("100", "30")
    assert not {"LINES", "TEXTUAL"} & found.keys()
