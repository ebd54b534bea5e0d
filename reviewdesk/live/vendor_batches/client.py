"""Speak to a vendor's batch interface: send, look up, list and fetch, with bounded retries."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live.keys import read_key
from reviewdesk.live.records import MAX_BODY, Exchange, Request, Response
from reviewdesk.live.retry import LONGEST_WAIT, backoff
from reviewdesk.live.session import CallSession
from reviewdesk.live.vendor_batches.interfaces import (
    BatchAnswer,
    FileBatches,
    Named,
    Upload,
    VendorJob,
)
from reviewdesk.live.waits import asked_wait
from reviewdesk.live.wires.envelope import MAX_TOLD, stated_error
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.version import __version__

SECONDS: Final = 600
"""The most seconds of one request: a batch of requests or of answers is large."""

TRIES: Final = 4
"""The most attempts of a request that costs nothing."""

MAX_ANSWERS: Final = 256_000_000
"""The most bytes of the answers of one batch."""

MAX_PAGES: Final = 50
"""The most pages of a vendor's list that are searched for a batch."""

UNSURE: Final = "unsure"
"""The kind of a failure after which the vendor may have taken a batch."""

_NEVER_SENT: Final = frozenset({"connection", "dns", "tls", "proxy", "endpoint", "request"})


class BatchClient:
    """One juror's access to the batch interface of its vendor."""

    def __init__(self, juror: Juror, interface: FileBatches, asking: CallSession) -> None:
        """Store the parts; the key is read with each request."""
        self._juror, self._interface, self._asking = juror, interface, asking

    async def begin(self, name: str, calls: Sequence[Named]) -> VendorJob:
        """Submit a batch, and return it as the vendor states it.

        Raises:
            TransportError: the vendor did not take it; of kind ``unsure``, it may have.
        """
        file = ""
        if upload := self._interface.upload(name, calls):
            file = str((await self._json(upload)).get("id") or "")
            if not file:
                raise TransportError("batch", "the vendor names no file for what was uploaded")
        job = self._interface.job(
            await self._json(self._interface.create(name, calls, file), is_paid=True)
        )
        if not job.id:
            raise TransportError(UNSURE, "the vendor names no batch")
        return job

    async def look_up(self, ident: str) -> VendorJob | None:
        """Return a batch, or ``None`` if the vendor does not know it."""
        try:
            return self._interface.job(await self._json(self._interface.place.format(quote(ident))))
        except TransportError as problem:
            if problem.kind != "http_404":
                raise
            return None

    async def jobs(self) -> AsyncIterator[VendorJob]:
        """Yield the batches of the account, the newest first."""
        query: str | None = self._interface.first_page
        for number in range(MAX_PAGES):
            if query is None:
                return
            found = await self._json(f"{self._interface.jobs_path}?{query}")
            jobs, query = self._interface.page(found, number)
            for job in jobs:
                yield job

    async def answers(self, job: VendorJob) -> dict[str, BatchAnswer]:
        """Return the answers of a batch that has ended, by the ids of its calls."""
        found: dict[str, BatchAnswer] = {}
        for path in job.results:
            text = await self._text(path, limit=MAX_ANSWERS)
            try:
                found |= {one.call_id: one for one in self._interface.answers(text)}
            except (ValueError, RecursionError, AttributeError):
                raise TransportError("batch", "the answers of the batch are no JSON") from None
        return found

    async def _json(self, sent: Upload | str, *, is_paid: bool = False) -> dict[str, Any]:
        try:
            found = json.loads(await self._text(sent, is_paid=is_paid, limit=MAX_ANSWERS))
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        raise TransportError(UNSURE if is_paid else "batch", "the vendor's answer is no JSON")

    async def _text(
        self, sent: Upload | str, *, is_paid: bool = False, limit: int = MAX_BODY
    ) -> str:
        """Return the body of a successful answer, trying again what cannot cost twice.

        A refusal that names a longer wait than attempts have between them is not tried again, so
        that the batches of other jurors do not wait for it.
        """
        request, clock = await self._request(sent, limit), self._asking.clock
        for attempt in range(1, TRIES + 1):
            try:
                response = await self._once(request)
            except TransportError as problem:
                kind, message, asked = problem.kind, problem.message, 0.0
            else:
                if 200 <= response.status < 300:
                    return response.body.decode("utf-8", "replace")
                asked = self._asked_wait(response)
                kind, message = f"http_{response.status}", self._told(response)
            refused = kind.startswith("http_4") and kind != "http_408"
            if is_paid and not refused and kind not in _NEVER_SENT:
                raise TransportError(UNSURE, message)
            if asked > LONGEST_WAIT:
                message += f"; it asks to wait {math.ceil(asked)} s"
            if (refused and kind != "http_429") or attempt == TRIES or asked > LONGEST_WAIT:
                break
            await clock.sleep(max(asked, backoff(attempt, clock)))
        raise TransportError(kind, message)

    async def _once(self, request: Request) -> Response:
        response = None
        try:
            async with asyncio.timeout(SECONDS):
                response = await self._asking.transport.send(request)
        except TimeoutError:
            pass
        if response is None:
            raise TransportError("timeout", f"no answer within {SECONDS} s")
        return response

    def _asked_wait(self, response: Response) -> float:
        """Return the seconds that a refusal asks to wait, 0 if it names no time."""
        body = response.body.decode("utf-8", "replace")
        headers = response.headers
        exchange = Exchange("", 0, "", self._asking.at(), 0.0, response.status, body, headers)
        return asked_wait(exchange, self._asking.clock.now()) or 0.0

    def _told(self, response: Response) -> str:
        text = stated_error(response.body.decode("utf-8", "replace")).message
        hidden = self._asking.hiding(None).text(text)[:MAX_TOLD]
        return f"HTTP {response.status}" + (f", {hidden}" if hidden else "")

    async def _request(self, sent: Upload | str, limit: int) -> Request:
        interface, juror = self._interface, self._juror
        key = await read_key(endpoint(juror), self._asking.environment)
        if key.problem is not None:
            raise TransportError("missing_key", key.problem)
        for secret in key.secrets:
            self._asking.hiding(secret)
        headers = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": f"reviewdesk/{__version__}",
            **interface.headers,
            **key.headers,
        }
        if key.value:
            bearer = interface.key_header == "authorization"
            headers[interface.key_header] = f"Bearer {key.value}" if bearer else key.value
        root = interface.root(juror)
        if isinstance(sent, str):
            return Request(root + sent, headers, b"", method="GET", limit=limit)
        headers["content-type"] = sent.content_type
        return Request(root + sent.path, headers, sent.body, limit=limit)
