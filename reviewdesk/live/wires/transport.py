"""Send HTTP requests with httpcore, the engine of httpx; every failure is a TransportError.

A pool of httpcore scans all its connections and requests whenever a request starts or ends, which
costs most of a core at about fifty open ones. So a pool only makes a
connection, which serves one request at a time and is kept for the next one.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import ssl
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import h11
import httpcore
import httpx

from reviewdesk.errors import TransportError
from reviewdesk.live.records import Request, Response
from reviewdesk.live.wires.vendors import proxy_for

IDLE: Final = 30.0
"""Seconds that an unused connection stays open."""

_BODILESS: Final = frozenset({101, 204, 205, 304})
"""Statuses without a body: if a body follows anyway, the next response on the connection starts
with it."""

KEPT_HEADERS: Final = (
    "content-type", "retry-after", "retry-after-ms", "date", "request-id", "x-request-id",
)  # fmt: skip

_BUDGET: Final = re.compile(r"[a-z-]{0,20}ratelimit[a-z-]{0,40}")
"""Headers that state the rest of a budget, and when it is refilled."""

_MOST_BUDGETS: Final = 16


class HttpTransport:
    """Sends requests over kept connections; ignores redirects, cookies and netrc files."""

    def __init__(self, proxies: Callable[[str], str | None] = proxy_for) -> None:
        """Read the trusted certificates; ``proxies`` returns the proxy of a URL."""
        # httpcore's log would repeat response headers, in which a server may echo a key.
        logging.getLogger("httpcore").setLevel(logging.WARNING)
        self._proxies = proxies
        self._idle: dict[str, list[_Connection]] = {}
        self._made: set[_Connection] = set()
        self._tls = _tls(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    async def send(self, request: Request) -> Response:
        """Send one request and read the whole response.

        Raises:
            TransportError: the request failed, for whatever reason.
        """
        try:
            idle = self._idle.setdefault(str(_address(request.url).origin), [])
            connection = idle.pop() if idle else self._connect(request.url)
            if connection.http.has_expired():
                await self._drop(connection)
                connection = self._connect(request.url)
            reusable = False
            try:
                answer = await connection.exchange(request)
                reusable = answer.status not in _BODILESS and connection.is_clean()
                return answer
            finally:
                if reusable:
                    idle.append(connection)
                else:
                    await self._drop(connection)
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: a failed call is a ballot
            failed = _told(error)
        # Raised outside, so that no exception that holds the request's headers is its context.
        raise failed

    async def close(self) -> None:
        """Close every connection."""
        self._idle.clear()
        while self._made:
            await self._made.pop().http.aclose()

    def _connect(self, url: str) -> _Connection:
        connection = _Connection(_address(url), self._tls, self._proxies(url))
        self._made.add(connection)
        return connection

    async def _drop(self, connection: _Connection) -> None:
        self._made.discard(connection)
        await connection.http.aclose()


class _Connection:
    """A connection for one request at a time, which records the bytes of its last response.

    It has no timeouts, because a ballot has one deadline, which the caller keeps.
    """

    def __init__(self, url: httpcore.URL, tls: ssl.SSLContext, proxy: str | None) -> None:
        self._received = bytearray()
        self.http = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            proxy=_proxy(proxy) if proxy else None,
            keepalive_expiry=IDLE,
            network_backend=_RecordingBackend(self._received),
        ).create_connection(url.origin)

    async def exchange(self, request: Request) -> Response:
        sent = httpx.Headers(request.headers).raw
        url = _address(request.url)
        async with self.http.stream(
            request.method, url, headers=sent, content=request.body
        ) as answer:
            headers = httpx.Headers(answer.headers)
            coding = headers.get("content-encoding", "identity").strip().lower()
            if coding not in {"", "identity", "gzip", "x-gzip"}:
                message = "the answer is compressed in a way that was not asked for"
                raise TransportError("encoding", message)
            body = await _read(answer, headers, request.limit)
            body = _unzip(body, request.limit) if coding.endswith("gzip") else body
            budgets = [name for name in headers if _BUDGET.fullmatch(name)][:_MOST_BUDGETS]
            kept = {name: headers[name] for name in (*KEPT_HEADERS, *budgets) if name in headers}
            return Response(answer.status, kept, body)

    def is_clean(self) -> bool:
        """Return True if the next request may use this connection.

        Bytes that follow a response would be read as part of the next one. httpcore does not report
        them, so its parser reads the recorded bytes again.
        """
        if not self.http.is_idle():
            return False
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method="POST", target="/", headers=[("Host", "")]))
        reader.send(h11.EndOfMessage())
        reader.receive_data(bytes(self._received))
        self._received.clear()
        while reader.next_event() not in (h11.NEED_DATA, h11.PAUSED):
            pass
        return reader.their_state is h11.DONE and not reader.trailing_data[0]


class _RecordingBackend(httpcore.AsyncNetworkBackend):
    """Opens connections whose streams add what they read to ``received``."""

    def __init__(self, received: bytearray) -> None:
        self._received = received

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        stream = await httpcore.AnyIOBackend().connect_tcp(*args, **kwargs)
        return _RecordingStream(stream, self._received)


class _RecordingStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream, received: bytearray) -> None:
        self._stream, self._received = stream, received

    async def read(self, *args: Any, **kwargs: Any) -> bytes:
        data = await self._stream.read(*args, **kwargs)
        self._received += data
        return data

    async def write(self, *args: Any, **kwargs: Any) -> None:
        await self._stream.write(*args, **kwargs)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    async def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        stream = await self._stream.start_tls(*args, **kwargs)
        # The answer of a proxy before the secure connection is not part of the response.
        self._received.clear()
        return _RecordingStream(stream, self._received)


@lru_cache(maxsize=4)
def _tls(*_places: str | None) -> ssl.SSLContext:
    """Return what trusts the certificates of these places; reading them takes 40 ms."""
    try:
        return httpx.create_ssl_context()
    except (OSError, ValueError):
        hint = "SSL_CERT_FILE or SSL_CERT_DIR must name certificates that can be read"
        raise TransportError("tls", hint) from None


@lru_cache(maxsize=64)
def _address(url: str) -> httpcore.URL:
    """Return an address whose host and path may contain any letters."""
    return _plain(httpx.URL(url))


def _plain(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _proxy(address: str) -> httpcore.Proxy:
    found = httpx.Proxy(address)
    return httpcore.Proxy(_plain(found.url), auth=found.raw_auth)


async def _read(answer: httpcore.Response, headers: httpx.Headers, limit: int) -> bytes:
    if len(headers.get("content-length", "")) > len(str(limit)):
        raise _too_large(limit)
    body = bytearray()
    async for chunk in answer.aiter_stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _unzip(body: bytes, limit: int) -> bytes:
    """Decode gzip, which some proxies send unasked, within the size limit."""
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unzip.decompress(body, limit + 1)
    except zlib.error:
        raise TransportError("encoding", "the answer is not the gzip that it says") from None
    if len(text) > limit:
        raise _too_large(limit)
    if not unzip.eof:
        raise TransportError("reset", "the compressed answer breaks off")
    return text


def _too_large(limit: int) -> TransportError:
    return TransportError("too_large", f"the answer is larger than {limit // 1_000_000} MB")


_TOLD: Final = (
    (ssl.SSLError, "tls", "the connection cannot be made secure"),
    (socket.gaierror, "dns", "the host's name is not known"),
    (httpcore.ProxyError, "proxy", "the proxy does not let the request through"),
    (httpcore.TimeoutException, "timeout", "the network gave up waiting"),
    (httpcore.ConnectError, "connection", "the host does not accept the connection"),
    (httpcore.NetworkError, "reset", "the connection broke before the answer was whole"),
    (httpcore.RemoteProtocolError, "protocol", "the host does not answer in HTTP"),
)
"""The message for each error; the first two also count as a cause."""


def _told(error: Exception) -> TransportError:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if str(error).startswith(("Server disconnected", "peer closed connection")):
        return TransportError("reset", "the connection broke before the answer was whole")
    for place, (kind, name, text) in enumerate(_TOLD):
        if any(isinstance(one, kind) for one in (causes if place < 2 else [error])):
            return TransportError(name, text)
    return TransportError("request", f"the request cannot be sent ({type(error).__name__})")
