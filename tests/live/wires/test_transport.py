"""The one seam to the network, over real sockets."""

import asyncio
import logging
import shutil
import socket
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from reviewdesk.errors import TransportError
from reviewdesk.live.keys import Key
from reviewdesk.live.records import MAX_BODY, Request
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.live.wires.requests import request
from reviewdesk.live.wires.transport import HttpTransport, _told
from tests.live.builders import KEY, call, juror
from tests.live.faults import FAULTS
from tests.live.server import Fault, Server, answer, verdict


def asks(url: str) -> Request:
    one = juror(url)
    return request(call(one), endpoint(one), Key(KEY), frozenset())


def sending(raw: bytes) -> Fault:
    async def fault(_: object, out: asyncio.StreamWriter) -> None:
        out.write(raw)

    return fault


async def test_a_connection_is_kept_for_the_next_request(transport: HttpTransport) -> None:
    async with Server() as server:
        for _ in range(5):
            assert (await transport.send(asks(server.url))).status == 200
        assert (len(server.calls), server.connections) == (5, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-Open\r\n\r\n",
        b'HTTP/1.1 204 No Content\r\n\r\n{"a": 1}',
        b'HTTP/1.1 304 Not Modified\r\ncontent-length: 8\r\n\r\n{"a": 1}',
    ],
    ids=["no http", "204", "304"],
)
async def test_after_an_answer_that_is_not_in_order_the_connection_is_not_used_again(
    transport: HttpTransport, raw: bytes
) -> None:
    async with Server(fault=sending(raw)) as server:
        with suppress(TransportError):
            assert (await transport.send(asks(server.url))).body == b""
        server.fault = None
        found = await transport.send(asks(server.url))
        assert (found.status, server.connections) == (200, 2)


async def test_a_host_may_be_asked_with_tls_and_without_and_no_password_is_told() -> None:
    async with Server(fault=sending(answer(407, "who are you"))) as proxy:
        address = proxy.url.removesuffix("/v1").replace("//", "//me:secret@")
        transport = HttpTransport(lambda _: address)
        assert (await transport.send(asks("http://far.test/v1"))).status == 407
        # Only a connection of its own lets the proxy refuse the tunnel.
        with pytest.raises(TransportError) as error:
            await transport.send(asks("https://far.test/v1"))
        assert (error.value.kind, proxy.connections) == ("proxy", 2)
        assert "secret" not in str(error.value)
    await transport.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for this machine in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("makes a certificate with openssl, which is not installed")
    made = tmp_path_factory.mktemp("tls") / "own.pem"
    done = subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", "-", "-out", "-"],
        check=True, capture_output=True,
    )  # fmt: skip
    made.write_bytes(done.stdout)
    return made


async def _tunnel(seen: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    """Answer a CONNECT, then carry bytes both ways."""
    head = await seen.readuntil(b"\r\n\r\n")
    host, _, port = head.split()[1].decode().partition(":")
    source, sink = await asyncio.open_connection(host, int(port))
    out.write(b"HTTP/1.1 200 Connected\r\n\r\n")

    async def carry(start: asyncio.StreamReader, end: asyncio.StreamWriter) -> None:
        while data := await start.read(1 << 16):
            end.write(data)
        end.close()

    await asyncio.gather(carry(seen, sink), carry(source, out))


@pytest.mark.parametrize("tunnelled", [False, True])
async def test_a_secure_connection_is_kept_through_a_proxy_or_without(
    tunnelled: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with (
        await asyncio.start_server(_tunnel, "127.0.0.1", 0) as proxy,
        Server(tls=context) as server,
    ):
        way = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}" if tunnelled else None
        transport = HttpTransport(lambda _: way)
        for _ in range(3):
            assert b"choices" in (await transport.send(asks(server.url))).body
        assert (len(server.calls), server.connections) == (3, 1)
        await transport.close()


async def test_requests_at_once_each_keep_a_connection(transport: HttpTransport) -> None:
    async with Server(latency=0.05) as server:
        for _ in range(3):
            await asyncio.gather(*(transport.send(asks(server.url)) for _ in range(20)))
        assert (len(server.calls), server.connections) == (60, 20)


async def test_a_body_up_to_the_bound_is_read_whole(transport: HttpTransport) -> None:
    for size, fits in ((MAX_BODY, True), (MAX_BODY + 1, False)):
        async with Server(fault=sending(answer(200, b" " * size))) as server:
            if fits:
                assert len((await transport.send(asks(server.url))).body) == size
            else:
                with pytest.raises(TransportError) as error:
                    await transport.send(asks(server.url))
                assert error.value.kind == "too_large"


async def test_headers_nobody_reads_are_dropped_and_others_whole(transport: HttpTransport) -> None:
    more = {"x-request-id": "r" * 900, "set-cookie": "a=b", "x-other": "o", "retry-after": "3"}
    async with Server(fault=sending(answer(200, "{}", more))) as server:
        found = await transport.send(asks(server.url))
        assert found.headers == {
            "content-type": "application/json", "retry-after": "3", "x-request-id": "r" * 900,
        }  # fmt: skip
        await transport.send(asks(server.url))
        assert "cookie" not in server.calls[1].headers


async def test_headers_without_end_are_no_http(transport: HttpTransport) -> None:
    async with Server(fault=sending(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000)) as server:
        with pytest.raises(TransportError) as error:
            await transport.send(asks(server.url))
        assert error.value.kind == "protocol"


async def test_a_netrc_file_plays_no_part(
    transport: HttpTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    async with Server() as server:
        await transport.send(asks(server.url))
        assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_proxy_is_asked_in_the_place_of_the_host() -> None:
    async with Server() as proxy:
        address = proxy.url.removesuffix("/v1").replace("//", "//me:secret@")
        transport = HttpTransport(lambda _: address)
        found = await transport.send(asks("http://far.test/v1"))
        await transport.close()
        assert found.status == 200
        assert proxy.calls[0].path == "http://far.test/v1/chat/completions"
        assert "proxy-authorization" in proxy.calls[0].headers


async def test_a_host_that_does_not_speak_tls(transport: HttpTransport) -> None:
    async def plain(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        out.write(answer(400, "plain HTTP"))
        await out.drain()
        out.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransportError) as error:
            await transport.send(asks(f"https://127.0.0.1:{port}/v1"))
    assert error.value.kind == "tls"


@pytest.mark.parametrize("name", ["reset mid-body", "not HTTP", "gzip bomb", "huge body"])
async def test_error_carries_nothing_that_knows_key(transport: HttpTransport, name: str) -> None:
    async with Server(fault=FAULTS[name].fault) as server:
        with pytest.raises(TransportError) as error:
            await transport.send(asks(server.url))
    assert error.value.__context__ is None
    assert error.value.__cause__ is None


async def test_httpx_logs_none(transport: HttpTransport, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Server(reply=verdict) as server:
        await transport.send(asks(server.url))
    assert not [line for line in caplog.records if line.name.startswith(("httpx", "httpcore"))]


def failed(cause: Exception) -> httpx.ConnectError:
    error = httpx.ConnectError(f"cannot use {KEY}")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (failed(socket.gaierror("no such name")), "dns"),
        (failed(ssl.SSLError("bad certificate")), "tls"),
        (failed(OSError("refused")), "connection"),
        (httpx.ReadError("x"), "reset"),
        (httpx.WriteError("x"), "reset"),
        (httpx.ConnectTimeout("x"), "timeout"),
        (httpx.ProxyError("x"), "proxy"),
        (httpx.UnsupportedProtocol("x"), "request"),
        (httpx.InvalidURL("x"), "request"),
        (httpx.LocalProtocolError("x"), "request"),
        (RuntimeError("x"), "request"),
    ],
)
def test_whatever_httpx_raises_has_a_word(error: Exception, kind: str) -> None:
    told = _told(error, "far.test:81")
    assert told.kind == kind
    assert KEY not in str(told)
    assert ("far.test:81" in str(told)) is (kind in {"connection", "dns", "protocol"})


def test_bad_certificates_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "certificates.pem"
    wrong.write_text("none", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(wrong))
    with pytest.raises(TransportError, match="SSL_CERT_FILE"):
        HttpTransport()
