"""The vendors' batch interfaces, as a transport of the runner.

The runner hands over the calls that no stored reply answers. A call whose batch has ended comes
back as an exchange; the others are collected and submitted together.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live import records
from reviewdesk.live.keys import read_key
from reviewdesk.live.limits import CallSession
from reviewdesk.live.replies.envelope import decoded, fault_of, text_at
from reviewdesk.live.retry import LONGEST_WAIT, asked_wait, backoff
from reviewdesk.live.wires.batches import WIRES, BatchAnswer, Named, Upload, VendorJob
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.live.wires.requests import encoded, headers_for, payload

SECONDS = 600
"""The most seconds of one request, because a batch of requests or answers is large."""

TRIES = 4

MAX_ANSWERS = 256_000_000

UNSURE = "unsure"
"""The kind of a failure after which the vendor may have accepted a batch."""

_NEVER_SENT = frozenset({"connection", "dns", "tls", "proxy", "endpoint", "request"})


class BatchClient:
    """One juror's access to the batch interface of its vendor."""

    def __init__(self, juror: Juror, asking: CallSession) -> None:
        self._juror = juror
        self._wire = WIRES[juror.vendor]
        self._asking = asking

    async def begin(self, name: str, calls: Sequence[Named]) -> VendorJob:
        """Submit a batch; a TransportError of the kind ``unsure`` means that it may be there."""
        file = ""
        if upload := self._wire.upload(name, calls):
            file = text_at(await self._json(upload), "id")
            if not file:
                raise TransportError("batch", "the vendor names no file for what was uploaded")
        creation = self._wire.creation(name, calls, file)
        job = self._wire.job(await self._json(creation, is_paid=True))
        if not job.id:
            raise TransportError(UNSURE, "the vendor names no batch")
        return job

    async def look_up(self, ident: str) -> VendorJob | None:
        try:
            return self._wire.job(await self._json(self._wire.place.format(quote(ident))))
        except TransportError as problem:
            if problem.kind != "not_found":
                raise
            return None

    async def jobs(self) -> AsyncIterator[VendorJob]:
        query: str | None = self._wire.first_page
        for number in range(50):
            if query is None:
                return
            found = await self._json(f"{self._wire.jobs}?{query}")
            jobs, query = self._wire.page(found, number)
            for job in jobs:
                yield job

    async def answers(self, job: VendorJob) -> dict[str, BatchAnswer]:
        made: dict[str, BatchAnswer] = {}
        for path in job.results:
            try:
                made |= self._wire.answers(await self._text(path, limit=MAX_ANSWERS))
            except (ValueError, RecursionError):
                raise TransportError("batch", "the answers of the batch are not JSON") from None
        return made

    async def _json(self, sent: Upload | str, *, is_paid: bool = False) -> dict[str, Any]:
        found = decoded(await self._text(sent, is_paid=is_paid, limit=MAX_ANSWERS))
        if isinstance(found, dict):
            return found
        raise TransportError(UNSURE if is_paid else "batch", "the vendor's answer is not JSON")

    async def _text(
        self, sent: Upload | str, *, is_paid: bool = False, limit: int = records.MAX_BODY
    ) -> str:
        """Return the body of a successful answer; try again if that cannot cost twice."""
        place = endpoint(self._juror)
        key = await read_key(place, self._asking.environment)
        if key.problem is not None:
            raise TransportError("missing_key", key.problem)
        self._asking.hide(key.secrets)
        headers = headers_for(place, key, self._wire.key_header)
        root = place.url.removesuffix(place.wire.value)
        root = root.removesuffix("/openai") if self._wire.is_native else root
        if isinstance(sent, str):
            request = records.Request(root + sent, headers, b"", method="GET", limit=limit)
        else:
            headers["content-type"] = sent.content_type
            request = records.Request(root + sent.path, headers, sent.body, limit=limit)
        clock = self._asking.clock
        attempt = 0
        while True:
            attempt += 1
            exchange = await self._asking.exchange(request, SECONDS)
            if (fault := fault_of(exchange)) is None:
                return exchange.body
            message = self._asking.redactor.text(fault.message)
            is_refused = 300 <= (exchange.status or 0) < 500 and exchange.status != 408
            if is_paid and not is_refused and fault.kind not in _NEVER_SENT:
                raise TransportError(UNSURE, message)
            asked = asked_wait(exchange, clock.now()) or 0.0
            if asked > LONGEST_WAIT:  # the batches of other jurors do not wait for it
                message += f"; it asks to wait {math.ceil(asked)} s"
            if not fault.again or attempt == TRIES or asked > LONGEST_WAIT:
                raise TransportError(fault.kind, message)
            await clock.sleep(max(asked, backoff(attempt, clock)))


class VendorBatch(Struct, frozen=True):
    """Calls that were submitted to a vendor together; each answer repeats one of ``nonces``."""

    name: str
    juror: str
    at: str
    nonces: Mapping[str, str]
    id: str | None = None
    """The vendor's id; ``None`` if it is not known whether the vendor has the batch."""


class BatchStore(records.ReplyStore, Protocol):
    """A store of replies that also keeps which batches wait at vendors."""

    @property
    def batches(self) -> Mapping[str, VendorBatch]:
        """The batches that are not finished, by name."""

    def keep_batch(self, batch: VendorBatch, *, is_over: bool = False) -> None:
        """Write a batch as it stands to disk, or forget one whose answers are stored."""


MOST_CALLS = 1000

SETTLED = 60.0
"""Seconds after which a batch that the vendor does not list counts as never accepted."""


def call_id(key: str, nonce: str) -> str:
    """Return the id of a call in a batch: at most 64 letters and digits, and used only once."""
    return f"{key[:40]}-{nonce}"


@dataclass(slots=True)
class BatchTransport:
    """Takes calls one by one, and submits those of a juror together.

    A batch is on disk before it is submitted. If its id is unknown, because the process was killed
    or no answer came, it is searched for at the vendor before its calls are submitted again.
    """

    store: BatchStore
    asking: CallSession
    counts: LiveProgress
    _known: tuple[VendorBatch, ...] = ()
    _held: dict[str, VendorBatch] = field(default_factory=dict)
    """The batch that each call waited in when the run began, by the call's key."""
    _chunks: dict[int, dict[str, records.Call]] = field(default_factory=dict)
    """The collected calls of each seat by key, and the ``_sizes`` of their requests in bytes."""
    _sizes: Counter[int] = field(default_factory=Counter)
    _jobs: dict[str, VendorJob | None] = field(default_factory=dict)
    """The known batches as the vendor states them, by name; ``None`` if it never took one."""
    _answers: dict[str, dict[str, BatchAnswer]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = tuple(self.store.batches.values())
        self._held = {key: batch for batch in self._known for key in batch.nonces}

    async def send(
        self, call: records.Call, stored: records.Exchange | None
    ) -> records.Exchange | None:
        """Return the exchange with which a call's batch ended; ``None`` while the call waits."""
        batch = self._held.get(call.key)
        if batch is not None and batch.name not in self._jobs:
            self._jobs[batch.name] = await self._fetch(batch, call)
        job = None if batch is None else self._jobs[batch.name]
        if batch is None or job is None:
            seat = call.seat
            size = len(encoded(payload(call, endpoint(call.juror)))) + 200
            # Gemini takes 20 MB in one request.
            if seat in self._chunks and self._sizes[seat] + size > 15_000_000:
                await self._submit(seat)
            calls = self._chunks.setdefault(seat, {})
            calls[call.key] = call
            self._sizes[seat] += size
            if len(calls) == MOST_CALLS:
                await self._submit(seat)
            return None
        if not job.has_ended:
            self.counts.waiting += 1
            return None
        nonce = batch.nonces[call.key]
        if stored is not None and stored.nonce == nonce:
            return stored
        why = "the batch ended without an answer to this call" if job.results else job.problem
        answer = BatchAnswer(problem=f"batch_ended: {why}")
        answer = self._answers.get(batch.name, {}).pop(call_id(call.key, nonce), answer)
        hidden = self.asking.redactor
        exchange = records.Exchange(
            call=call.key,
            attempt=0,
            nonce=nonce,
            at=self.asking.at(),
            ms=0.0,
            status=answer.status,
            body=hidden.text(answer.body),
            headers={
                "content-type": "application/json",
                records.BATCH_HEADER: hidden.text(job.id),
            },
            problem=hidden.text(answer.problem) if answer.problem else None,
        )
        self.asking.keep(call, exchange)
        self.counts.fetched += 1
        return exchange

    async def submit(self) -> None:
        for seat in tuple(self._chunks):
            await self._submit(seat)

    async def end(self) -> None:
        """Drop the finished batches, after every call of the run was handed over."""
        await self.store.settled()
        for batch in self._known:
            if batch.name not in self._jobs:
                self.asking.noted(f"a batch of {batch.juror}: no case of this run waits for it")
            job = self._jobs.get(batch.name)
            if job is None or job.has_ended:
                self.store.keep_batch(batch, is_over=True)

    # Fetching

    async def _fetch(self, batch: VendorBatch, call: records.Call) -> VendorJob | None:
        """Return a batch as it stands, and keep its answers; ``None`` if it was never taken."""
        client = BatchClient(call.juror, self.asking)
        waits = VendorJob(batch.id or "")
        try:
            job = await (client.look_up(batch.id) if batch.id else self._find(batch, client))
            if job is not None and job.has_ended:
                self._answers[batch.name] = await client.answers(job)
        except TransportError as problem:
            self.asking.noted(f"the batch of {batch.juror} cannot be fetched: {problem.message}")
            return waits
        if job is not None:
            return job
        if batch.id:
            gone = "the vendor does not know the batch any more"
            return replace(waits, has_ended=True, problem=gone)
        passed = self.asking.clock.now() - datetime.fromisoformat(batch.at)
        return None if passed.total_seconds() >= SETTLED else waits

    async def _find(self, batch: VendorBatch, client: BatchClient) -> VendorJob | None:
        """Return the vendor's batch with our name, or a nameless one with our answers.

        Else return one that has not ended, of our size and not created before ours, if any.
        """
        candidates = []
        known = {one.id for one in self.store.batches.values()} | {
            job.id for job in self._jobs.values() if job
        }
        begun = datetime.fromisoformat(batch.at).timestamp() - SETTLED
        async for job in client.jobs():
            if job.name == batch.name:
                self._put(batch, job)
                return job
            if job.name is not None or job.id in known or job.count != len(batch.nonces):
                continue
            with suppress(ValueError):
                if datetime.fromisoformat(job.created).timestamp() >= begun:
                    candidates.append(job)
        ours = {call_id(key, nonce) for key, nonce in batch.nonces.items()}
        for job in candidates:
            if job.has_ended and ours & (await client.answers(job)).keys():
                self._put(batch, job)
                return job
        return next((job for job in candidates if not job.has_ended), None)

    # Submitting

    async def _submit(self, seat: int) -> None:
        calls = list(self._chunks.pop(seat).values())
        del self._sizes[seat]
        juror = calls[0].juror
        count = len(calls)
        nonces = {call.key: call.prompt.nonce for call in calls}
        batch = VendorBatch(f"reviewdesk-{records.chance()}", juror.name, self.asking.at(), nonces)
        self.store.keep_batch(batch)
        named = [(call_id(call.key, call.prompt.nonce), call) for call in calls]
        try:
            job = await BatchClient(juror, self.asking).begin(batch.name, named)
        except TransportError as problem:
            if problem.kind == UNSURE:
                self.counts.waiting += count
                text = "may have it, and --resume looks for it"
            else:
                self.store.keep_batch(batch, is_over=True)
                self.counts.unsent += count
                text = "did not take it"
            self.asking.noted(
                f"a batch of {count} calls of {juror.name}: the vendor {text}: {problem.message}"
            )
            return
        self._put(batch, job)
        self.counts.waiting += count

    def _put(self, batch: VendorBatch, job: VendorJob) -> None:
        self.store.keep_batch(replace(batch, id=self.asking.redactor.text(job.id)))
