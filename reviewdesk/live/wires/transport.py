"""Send HTTP requests with httpx; every failure is a TransportError.

A pool of httpx scans all its connections and requests whenever a request starts or ends, which
costs most of a core at about fifty open ones. So each pool here has one connection, which serves
one request at a time and is kept for the next one.
"""

import logging
import os
import re
import socket
import ssl
import zlib
from collections.abc import Callable
from functools import lru_cache

import httpx

from reviewdesk.errors import TransportError
from reviewdesk.live.records import Request, Response
from reviewdesk.live.wires.endpoints import proxy_for

KEPT_HEADERS = (
    "content-type", "retry-after", "retry-after-ms", "date", "request-id", "x-request-id",
)  # fmt: skip

_ONE = httpx.Limits(max_connections=1, keepalive_expiry=30.0)

_BUDGET = re.compile(r"[a-z-]{0,20}ratelimit[a-z-]{0,40}")
"""Headers that state the rest of a budget, and when it is refilled."""


class HttpTransport:
    """Sends requests over kept connections; the caller keeps the time, redirects are ignored."""

    def __init__(self, proxies: Callable[[str], str | None] = proxy_for) -> None:
        """Read the trusted certificates; ``proxies`` returns the proxy of a URL."""
        # httpcore's log would repeat response headers, in which a server may echo a key.
        logging.getLogger("httpcore").setLevel(logging.WARNING)
        self._proxies = proxies
        self._idle: dict[tuple[str, str, int | None], list[httpx.AsyncHTTPTransport]] = {}
        self._made: list[httpx.AsyncHTTPTransport] = []
        self._tls = _tls(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    async def send(self, request: Request) -> Response:
        """Send one request and read the whole response; raise TransportError if that failed."""
        host = "the host"
        try:
            sent = httpx.Request(
                request.method, request.url, headers=request.headers, content=request.body
            )
            host = sent.url.netloc.decode()
            place = sent.url.scheme, sent.url.host, sent.url.port
            idle = self._idle.setdefault(place, [])
            if not idle:
                proxy = self._proxies(request.url)
                idle.append(httpx.AsyncHTTPTransport(verify=self._tls, proxy=proxy, limits=_ONE))
                self._made.append(idle[-1])
            connection = idle.pop()
            is_clean = False
            try:
                answer = await _answer(connection, sent, request.limit)
                # A body that must not be there would be read as the next answer.
                is_clean = answer.status not in {204, 304}
                return answer
            finally:
                if is_clean:
                    idle.append(connection)
                else:
                    self._made.remove(connection)
                    await connection.aclose()
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: a failed call is a ballot
            failed = _told(error, host)
        # Raised outside, so that no exception that holds the request's headers is its context.
        raise failed

    async def close(self) -> None:
        self._idle.clear()
        while self._made:
            await self._made.pop().aclose()


@lru_cache(maxsize=4)
def _tls(*_places: str | None) -> ssl.SSLContext:
    """Return what trusts the certificates of these places; reading them takes 40 ms."""
    try:
        return httpx.create_ssl_context()
    except (OSError, ValueError):
        hint = "SSL_CERT_FILE or SSL_CERT_DIR must name certificates that can be read"
        raise TransportError("tls", hint) from None


async def _answer(connection: httpx.AsyncHTTPTransport, sent: httpx.Request, most: int) -> Response:
    """Read a response of at most that many bytes; decode gzip, which some proxies send unasked."""
    too_large = TransportError("too_large", f"the answer is larger than {most // 1_000_000} MB")
    answer = await connection.handle_async_request(sent)
    try:
        coding = answer.headers.get("content-encoding", "identity").strip().lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            message = "the answer is compressed in a way that was not asked for"
            raise TransportError("encoding", message)
        if len(answer.headers.get("content-length", "")) > len(str(most)):
            raise too_large
        read = bytearray()
        async for chunk in answer.aiter_raw():
            read += chunk
            if len(read) > most:
                raise too_large
    finally:
        await answer.aclose()
    body = bytes(read)
    if coding.endswith("gzip"):
        unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            body = unzip.decompress(body, most + 1)
        except zlib.error:
            raise TransportError("encoding", "the answer is not the gzip that it says") from None
        if len(body) > most:
            raise too_large
        if not unzip.eof:
            raise TransportError("reset", "the compressed answer breaks off")
    budgets = [name for name in answer.headers if _BUDGET.fullmatch(name)][:16]
    names = (*KEPT_HEADERS, *budgets)
    kept = {name: answer.headers[name] for name in names if name in answer.headers}
    return Response(answer.status_code, kept, body)


_TOLD = (
    (ssl.SSLError, "tls", "the connection cannot be made secure"),
    (socket.gaierror, "dns", "the name of {host} is not known"),
    (httpx.ProxyError, "proxy", "the proxy does not let the request through"),
    (httpx.TimeoutException, "timeout", "the network gave up waiting"),
    (httpx.ConnectError, "connection", "{host} does not accept the connection"),
    (httpx.NetworkError, "reset", "the connection broke before the answer was complete"),
    (httpx.RemoteProtocolError, "protocol", "{host} does not answer in HTTP"),
)
"""The message for each error; the first two also count as a cause."""


def _told(error: Exception, host: str) -> TransportError:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if str(error).startswith(("Server disconnected", "peer closed connection")):
        return TransportError("reset", "the connection broke before the answer was complete")
    for place, (kind, name, text) in enumerate(_TOLD):
        if any(isinstance(one, kind) for one in (causes if place < 2 else [error])):
            return TransportError(name, text.format(host=host))
    return TransportError("request", f"the request cannot be sent ({type(error).__name__})")
