"""Send HTTP requests over httpx, which no other module imports; every failure is a TransportError.

An httpx pool scans all its connections and requests whenever a request starts or ends, which costs
most of a core at about fifty open ones. So each open request has its own pool, with one connection
that is kept for the next request.
"""

from __future__ import annotations

import logging
import socket
import ssl
import sys
import zlib
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from reviewdesk.errors import TransportError
from reviewdesk.live.records import Request, Response
from reviewdesk.live.wires.proxies import proxy_for
from reviewdesk.live.wires.vendors import host_of

if TYPE_CHECKING:
    import httpx

MAX_BODY: Final = 2_000_000
"""The most bytes of a response body; a larger one is an error."""

IDLE: Final = 30.0
"""Seconds that an unused connection stays open."""

_BODILESS: Final = frozenset({101, 204, 205, 304})
"""Statuses without a body: if one follows anyway, the next response on the connection starts with
it."""

KEPT_HEADERS: Final = ("content-type", "retry-after", "date", "request-id", "x-request-id")


class HttpTransport:
    """Sends requests over kept connections; ignores redirects, cookies and netrc files."""

    def __init__(self, proxies: Callable[[str], str | None] = proxy_for) -> None:
        """Load slow modules before any deadline runs; ``proxies`` returns the proxy of a URL."""
        # httpx's log would repeat response headers, in which a server may echo a key.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        _mark_absent("sniffio")
        self._proxies = proxies
        self._idle: dict[str, list[httpx.AsyncHTTPTransport]] = {}
        self._made: set[httpx.AsyncHTTPTransport] = set()
        self._tls = _tls()

    async def send(self, request: Request) -> Response:
        """Send one request and read the whole response.

        Raises:
            TransportError: the request failed, for whatever reason.
        """
        idle = self._idle.setdefault(host_of(request.url), [])
        try:
            pool = idle.pop() if idle else self._http(request.url)
            self._made.add(pool)
            clean = False
            try:
                answer = await _exchange(pool, request)
                clean = answer.status not in _BODILESS and not _has_extra_bytes(pool)
                return answer
            finally:
                if clean:
                    idle.append(pool)
                else:
                    self._made.discard(pool)
                    await pool.aclose()
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
            await self._made.pop().aclose()

    def _http(self, url: str) -> httpx.AsyncHTTPTransport:
        """Return the transport below httpx's client.

        The client would add redirects, cookies and settings of the environment. The transport has
        no timeouts, because a ballot has one deadline, which the caller keeps.
        """
        import httpx

        return httpx.AsyncHTTPTransport(
            verify=self._tls,
            proxy=self._proxies(url),
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=IDLE),
        )


def _mark_absent(name: str) -> None:
    """Stop httpcore from searching for an optional package, as it would for every request.

    Where the package is not installed, the searches cost more than the requests themselves.
    """
    if name not in sys.modules and find_spec(name) is None:
        sys.modules[name] = None  # type: ignore[assignment]


def _tls() -> ssl.SSLContext:
    """Return a TLS context that trusts the file of SSL_CERT_FILE, or else the usual authorities."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except (OSError, ValueError):
        hint = "SSL_CERT_FILE or SSL_CERT_DIR must name certificates that can be read"
        raise TransportError("tls", hint) from None


@lru_cache(maxsize=64)
def _address(url: str) -> httpx.URL:
    import httpx

    return httpx.URL(url)


async def _exchange(pool: httpx.AsyncHTTPTransport, request: Request) -> Response:
    import httpx

    url = _address(request.url)
    sent = httpx.Request("POST", url, headers=request.headers, content=request.body)
    answer = await pool.handle_async_request(sent)
    try:
        headers = answer.headers
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            message = "the answer is compressed in a way that was not asked for"
            raise TransportError("encoding", message)
        body = await _read(answer)
        body = _unzip(body) if coding.endswith("gzip") else body
        kept = {name: headers[name] for name in KEPT_HEADERS if name in headers}
        return Response(answer.status_code, kept, body)
    finally:
        await answer.aclose()


def _has_extra_bytes(pool: httpx.AsyncHTTPTransport) -> bool:
    """Return True if bytes follow the response: the next call would read them as its own.

    Only the connection knows, and httpcore has no other way to find out. A connection that does not
    tell is not used again.
    """
    for connection in pool._pool.connections:  # noqa: SLF001 - as said above
        below: Any = connection
        while below is not None and not hasattr(below, "_h11_state"):
            below = getattr(below, "_connection", None)
        if below is None or below._h11_state.trailing_data[0]:  # noqa: SLF001
            return True
    return False


async def _read(answer: httpx.Response) -> bytes:
    """Return the raw body; raise TransportError if it is larger than the limit."""
    stated = answer.headers.get("content-length", "")
    if len(stated) > len(str(MAX_BODY)):
        raise _too_large()
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > MAX_BODY:
            raise _too_large()
    return bytes(body)


def _unzip(body: bytes) -> bytes:
    """Decode gzip, which some proxies send unasked, within the size limit."""
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unzip.decompress(body, MAX_BODY + 1)
    except zlib.error:
        raise TransportError("encoding", "the answer is not the gzip that it says") from None
    if len(text) > MAX_BODY:
        raise _too_large()
    if not unzip.eof:
        raise TransportError("reset", "the compressed answer breaks off")
    return text


def _too_large() -> TransportError:
    return TransportError("too_large", f"the answer is larger than {MAX_BODY // 1_000_000} MB")


def _told(error: Exception) -> TransportError:
    """Return the error in our words, because httpx's may repeat addresses and headers."""
    import httpx

    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return TransportError("tls", "the connection cannot be made secure")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return TransportError("dns", "the host's name is not known")
    if isinstance(error, httpx.ProxyError):
        return TransportError("proxy", "the proxy does not let the request through")
    if isinstance(error, httpx.TimeoutException):
        return TransportError("timeout", "the network gave up waiting")
    if isinstance(error, httpx.ConnectError):
        return TransportError("connection", "the host does not accept the connection")
    if isinstance(error, httpx.NetworkError) or _broken_off(error):
        return TransportError("reset", "the connection broke before the answer was whole")
    if isinstance(error, httpx.RemoteProtocolError):
        return TransportError("protocol", "the host does not answer in HTTP")
    return TransportError("request", f"the request cannot be sent ({type(error).__name__})")


def _broken_off(error: Exception) -> bool:
    message = str(error)
    return message.startswith(("Server disconnected", "peer closed connection"))


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
