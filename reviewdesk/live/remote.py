"""Send requests from another process, whose environment holds the keys.

The process that plans the calls knows the names of the variables alone: a request carries a mark
where a key belongs, and the sender puts the key there and takes it out of whatever comes back.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reviewdesk.errors import TransportError
from reviewdesk.frozen import Frozen
from reviewdesk.live.keys import is_malformed, known_keys
from reviewdesk.live.records import Request, Response, Transport
from reviewdesk.live.references import MARK, KeyReferenceError
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.version import __version__

LONGEST: Final = 86_400.0
"""Seconds after which a sender gives a request up, should nobody be left who waits for it."""

_MARK: Final = re.compile(r"\$\{key-of-([^}]+)\}")
"""What stands in a header where the value of a variable belongs."""


class RemoteKeys(Mapping[str, str]):
    """An environment that has a mark for each variable that some sender ``has``."""

    def __init__(self, has: Callable[[str], bool]) -> None:
        """Ask for a variable only when it is looked up."""
        self._has = has

    def __getitem__(self, name: str) -> str:
        """Return the mark of a variable.

        Raises:
            KeyError: no sender has it.
            KeyReferenceError: it is a reference, which senders do not follow.
        """
        if name.startswith(MARK):
            raise KeyReferenceError(name, "is a reference, and workers have variables alone")
        if not self._has(name):
            raise KeyError(name)
        return f"${{key-of-{name}}}"

    def __iter__(self) -> Iterator[str]:
        """Yield nothing: what senders have is not listed."""
        return iter(())

    def __len__(self) -> int:
        """Return 0."""
        return 0


def key_names(request: Request) -> frozenset[str]:
    """Return the variables whose values belong into a request."""
    return frozenset(name for value in request.headers.values() for name in _MARK.findall(value))


class SenderFacts(Frozen):
    """What a sender says of itself: its version, and which variables hold a key."""

    version: str
    names: frozenset[str]


class SendFailure(Frozen):
    """Why a request got no response, in the words of a TransportError."""

    kind: str
    message: str


def _http() -> Transport:
    from reviewdesk.live.wires.transport import HttpTransport

    return HttpTransport()


class Sender:
    """Puts keys into requests and sends them; nothing that it returns holds a key."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        transport: Callable[[], Transport] = _http,
    ) -> None:
        """Load the client now, so that the first request is as fast as those after it.

        A rate counts a request from when it is given out. The environment is that of the process,
        unless a test gives one.
        """
        self._environment = os.environ if environment is None else environment
        self._transport = transport()
        self._hidden = Redactor(known_keys(self._environment))
        self._used: set[str] = set()
        self._open: dict[int, asyncio.Task[Response]] = {}

    def facts(self, names: Iterable[str]) -> SenderFacts:
        """Return the version, and which of the variables hold a key."""
        return SenderFacts(__version__, frozenset(name for name in names if self._key(name)))

    async def send(self, number: int, request: Request) -> Response | SendFailure:
        """Send a request with its keys, and return what came back without them."""
        try:
            whole = self._with_keys(request)
        except KeyError as error:
            return SendFailure("request", f"{error.args[0]} is not set where the call is made")
        self._open[number] = asyncio.create_task(self._transport.send(whole))
        try:
            async with asyncio.timeout(LONGEST):
                await asyncio.wait({self._open[number]})
            return self._without_keys(self._open[number].result())
        except TransportError as error:
            return SendFailure(error.kind, self._hidden.text(error.message))
        except (asyncio.CancelledError, TimeoutError):
            return SendFailure("cancelled", "nobody waits for the answer")
        finally:
            self._open.pop(number).cancel()

    async def cancel(self, number: int) -> None:
        """Give up a request, if it is still open."""
        if (task := self._open.get(number)) is not None:
            task.cancel()

    def _key(self, name: str) -> str:
        value = self._environment.get(name, "").strip()
        return "" if is_malformed(value) else value

    def _with_keys(self, request: Request) -> Request:
        names = key_names(request)
        values = {name: self._key(name) for name in names}
        if missing := sorted(name for name, value in values.items() if not value):
            raise KeyError(missing[0])
        if new := names - self._used:
            self._used |= new
            every = {self._key(name) for name in self._used}
            self._hidden = Redactor(known_keys(self._environment) | every)
        headers = {
            header: _MARK.sub(lambda found: values[found[1]], value)
            for header, value in request.headers.items()
        }
        return replace(request, headers=headers)

    def _without_keys(self, response: Response) -> Response:
        body = self._hidden.text(response.body.decode("utf-8", "replace"))
        headers = self._hidden.headers(response.headers)
        return Response(response.status, headers, body.encode())
