"""Submit a run's calls to the vendors' batch interfaces, and store the answers that are there."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live.batch import CaseForJurors
from reviewdesk.live.keys import read_key
from reviewdesk.live.limits import booked
from reviewdesk.live.records import (
    BATCH_HEADER,
    MAX_BODY,
    Call,
    Exchange,
    ReplyStore,
    Request,
    Response,
    chance,
)
from reviewdesk.live.replies.ballots import answer_of
from reviewdesk.live.retry import LONGEST_WAIT, asked_wait, backoff
from reviewdesk.live.session import CallSession
from reviewdesk.live.vendor_batches.interfaces import (
    BatchAnswer,
    FileBatches,
    Named,
    Upload,
    VendorJob,
    interface,
)
from reviewdesk.live.wires.envelope import MAX_TOLD, stated_error
from reviewdesk.live.wires.requests import encoded, payload
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
        self._juror = juror
        self._interface = interface
        self._asking = asking

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
        request = await self._request(sent, limit)
        clock = self._asking.clock
        for attempt in range(1, TRIES + 1):
            try:
                response = await self._once(request)
            except TransportError as problem:
                kind = problem.kind
                message = problem.message
                asked = 0.0
            else:
                if 200 <= response.status < 300:
                    return response.body.decode("utf-8", "replace")
                asked = self._asked_wait(response)
                kind = f"http_{response.status}"
                message = self._told(response)
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
        body = response.body.decode("utf-8", "replace")
        headers = response.headers
        exchange = Exchange("", 0, "", self._asking.at(), 0.0, response.status, body, headers)
        return asked_wait(exchange, self._asking.clock.now()) or 0.0

    def _told(self, response: Response) -> str:
        text = stated_error(response.body.decode("utf-8", "replace")).message
        hidden = self._asking.hiding(None).text(text)[:MAX_TOLD]
        return f"HTTP {response.status}" + (f", {hidden}" if hidden else "")

    async def _request(self, sent: Upload | str, limit: int) -> Request:
        interface = self._interface
        juror = self._juror
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


class VendorBatch(Struct, frozen=True):
    """Calls that were submitted to a vendor together; ``nonces`` are what each answer repeats."""

    name: str
    juror: str
    at: str
    nonces: Mapping[str, str]
    """The nonce of each call, by the call's key."""
    id: str | None = None
    """The vendor's id; ``None`` if it is not known whether the vendor has the batch."""


class BatchStore(ReplyStore, Protocol):
    """A store of replies that also keeps which batches wait at vendors."""

    @property
    def batches(self) -> Mapping[str, VendorBatch]:
        """The batches that are not over, by name."""

    def put_batch(self, batch: VendorBatch) -> None:
        """Store a batch, or what is known of it now; it is on disk on return."""

    def drop_batch(self, batch: VendorBatch) -> None:
        """Store that a batch holds nothing that is waited for."""


MOST_CALLS: Final = 1000
"""The most calls of a batch."""

MOST_BYTES: Final = 15_000_000
"""The most bytes of a batch, below the 20 MB that Gemini takes in one request."""

SETTLED: Final = 60.0
"""Seconds after which a batch that the vendor does not list was never taken."""


def call_id(key: str, nonce: str) -> str:
    """Return the id of a call in a batch: at most 64 letters and digits, and used only once."""
    return f"{key[:40]}-{nonce}"


@dataclass(slots=True)
class _Chunk:
    calls: dict[str, Call] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True)
class Submission:
    """What one pass over the cases came to, in calls."""

    submitted: int = 0
    fetched: int = 0
    waiting: int = 0
    """The calls that wait at a vendor, those just submitted among them."""
    unsent: int = 0
    """The calls that no vendor took."""


class VendorBatches:
    """Goes through the cases once: stores the answers of batches that ended, and submits the rest.

    A batch is on disk before it is submitted. One whose id is not known, because the process was
    killed or no answer came, is looked for at the vendor before its calls are submitted again.
    """

    def __init__(
        self, store: BatchStore, asking: CallSession, noted: Callable[[str], None] = lambda _: None
    ) -> None:
        """Send nothing yet; ``noted`` is told what becomes of each batch."""
        self._store = store
        self._asking = asking
        self._noted = noted
        self._chunks: dict[int, _Chunk] = {}
        self._answers: dict[str, dict[str, BatchAnswer] | str | None] = {}
        self._ids: dict[str, str] = {}
        self._held: dict[str, VendorBatch] = {}
        """The batch that each call waited in when the pass began, by the call's key."""
        self.counts = Submission()

    async def run(self, cases: Iterable[CaseForJurors]) -> Submission:
        """Make one pass over all cases.

        Raises:
            DeskError: a batch or an answer cannot be stored.
        """
        known = tuple(self._store.batches.values())
        hidden = self._asking.hiding(None)
        self._held = {key: batch for batch in known for key in batch.nonces}
        for question in cases:
            for call in question.begin().next():
                stored = self._store.reply(call.key)
                if interface(call.juror) is None or answer_of(call, stored, hidden) is not None:
                    continue
                await self._take(call, stored)
        for seat in tuple(self._chunks):
            await self._submit(seat)
        await self._store.settled()
        for batch in known:
            found = self._answers.get(batch.name)
            if found is not None:
                self._store.drop_batch(batch)
            elif batch.name not in self._answers:
                self._noted(f"a batch of {batch.juror}: no case of this run waits for it")
                self._store.drop_batch(batch)
        return self.counts

    async def _take(self, call: Call, stored: Exchange | None) -> None:
        """Store a call's answer if its batch has ended, or keep the call to be submitted."""
        batch = self._held.get(call.key)
        if batch is None:
            await self._collect(call)
            return
        if batch.name not in self._answers:
            self._answers[batch.name] = await self._fetch(batch, call)
        found = self._answers[batch.name]
        nonce = batch.nonces[call.key]
        if found is None:
            self.counts.waiting += 1
        elif found == _NEVER_TAKEN:
            await self._collect(call)
        elif stored is None or stored.nonce != nonce:
            answer = _lost(found) if isinstance(found, str) else None
            if isinstance(found, dict):
                answer = found.pop(call_id(call.key, nonce), None)
            answer = answer or _lost("the batch ended without an answer to this call")
            self._keep(call, nonce, answer, self._ids[batch.name])

    def _keep(self, call: Call, nonce: str, answer: BatchAnswer, ident: str) -> None:
        hidden = self._asking.hiding(None)
        exchange = Exchange(
            call=call.key,
            attempt=0,
            nonce=nonce,
            at=self._asking.at(),
            ms=0.0,
            status=answer.status,
            body=hidden.text(answer.body),
            headers={"content-type": "application/json", BATCH_HEADER: hidden.text(ident)},
            problem=hidden.text(answer.problem) if answer.problem else None,
        )
        usd = 0.0 if answer.status is None else booked(call, exchange)
        self._store.keep(call, exchange, usd)
        self.counts.fetched += 1

    # Fetching

    async def _fetch(self, batch: VendorBatch, call: Call) -> dict[str, BatchAnswer] | str | None:
        """Return a batch's answers, or why it has none; ``None`` while it is waited for."""
        client = self._client(call)
        try:
            job = await (client.look_up(batch.id) if batch.id else self._find(batch, client))
            if job is None and batch.id is None:
                return self._never_taken(batch)
            if job is not None and job.id:
                self._ids[batch.name] = job.id
            if job is None:
                self._ids[batch.name] = batch.id or ""
                return "the vendor does not know the batch any more"
            if not job.has_ended:
                return None
            found = await client.answers(job)
        except TransportError as problem:
            self._noted(f"the batch of {batch.juror} cannot be fetched: {problem.message}")
            return None
        return found if job.results else self._asking.hiding(None).text(job.problem)

    def _never_taken(self, batch: VendorBatch) -> str | None:
        passed = self._asking.clock.now() - datetime.fromisoformat(batch.at)
        return _NEVER_TAKEN if passed.total_seconds() >= SETTLED else None

    async def _find(self, batch: VendorBatch, client: BatchClient) -> VendorJob | None:
        """Return the vendor's batch of our name, or without names the one with our answers.

        While a nameless batch may be ours and has not ended, it stands for it.
        """
        candidates = []
        async for job in client.jobs():
            if job.name == batch.name:
                self._stored(batch, job)
                return job
            if job.name is None and job.created and self._may_be(job, batch):
                candidates.append(job)
        ours = {call_id(key, nonce) for key, nonce in batch.nonces.items()}
        for job in candidates:
            if job.has_ended and ours & (await client.answers(job)).keys():
                self._stored(batch, job)
                return job
        return next((job for job in candidates if not job.has_ended), None)

    def _may_be(self, job: VendorJob, batch: VendorBatch) -> bool:
        """Return True if a nameless batch has our size, and was created at our time or later."""
        known = {one.id for one in self._store.batches.values()} | set(self._ids.values())
        begun = datetime.fromisoformat(batch.at).timestamp() - SETTLED
        created = datetime.fromisoformat(job.created).timestamp()
        return job.id not in known and job.count == len(batch.nonces) and created >= begun

    # Submitting

    async def _collect(self, call: Call) -> None:
        chunk = self._chunks.setdefault(call.seat, _Chunk())
        size = len(encoded(payload(call, endpoint(call.juror)))) + 200
        if chunk.calls and chunk.size + size > MOST_BYTES:
            await self._submit(call.seat)
            chunk = self._chunks.setdefault(call.seat, _Chunk())
        chunk.calls[call.key] = call
        chunk.size += size
        if len(chunk.calls) == MOST_CALLS:
            await self._submit(call.seat)

    async def _submit(self, seat: int) -> None:
        """Submit the calls of a seat, whose batch is on disk before and after."""
        calls = list(self._chunks.pop(seat).calls.values())
        juror = calls[0].juror
        count = len(calls)
        nonces = {call.key: call.prompt.nonce for call in calls}
        batch = VendorBatch(f"reviewdesk-{chance()}", juror.name, self._asking.at(), nonces)
        self._store.put_batch(batch)
        named = [(call_id(call.key, call.prompt.nonce), call) for call in calls]
        try:
            job = await self._client(calls[0]).begin(batch.name, named)
        except TransportError as problem:
            if problem.kind == UNSURE:
                self.counts.waiting += count
                text = "may have it, and --resume looks for it"
            else:
                self._store.drop_batch(batch)
                self.counts.unsent += count
                text = "did not take it"
            self._noted(
                f"a batch of {count} calls of {juror.name}: the vendor {text}: {problem.message}"
            )
            return
        self._stored(batch, job)
        self.counts.submitted += count
        self.counts.waiting += count

    def _stored(self, batch: VendorBatch, job: VendorJob) -> None:
        self._store.put_batch(replace(batch, id=self._asking.hiding(None).text(job.id)))

    def _client(self, call: Call) -> BatchClient:
        found = interface(call.juror)
        if found is None:
            raise ValueError(f"{call.juror.vendor} has no batch interface")
        return BatchClient(call.juror, found, self._asking)


_NEVER_TAKEN: Final = "never taken"
"""Stands for the answers of a batch that the vendor does not have."""


def _lost(why: str) -> BatchAnswer:
    return BatchAnswer("", problem=f"batch_ended: {why}")
