"""The records and protocols that live panels share with the rest of the program."""

import asyncio
import hashlib
import json
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from typing import Protocol

from msgspec import Struct

from reviewdesk.domain.panel.case import Case, case_key
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.prompt import Prompt, fresh_nonce, render, swapped_template
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.values import LabelRules

MAX_BODY = 2_000_000

BATCH_HEADER = "reviewdesk-batch"
"""The header of a stored exchange that names the vendor's batch that returned it."""

CACHE_HEADER = "reviewdesk-cached"
"""The header of a stored exchange that an earlier run made and this run did not pay for."""


class Call(Struct, frozen=True):
    """One question to a juror about a case; ``about`` identifies the case by its content."""

    case: str
    about: str
    seat: int
    juror: Juror
    prompt: Prompt
    labels: LabelRules | None = None
    """The labels that the juror answers by; ``None`` if it votes."""
    sample: int = 0
    """Which of several equal questions this is, from 0 on."""
    swapped: bool = False
    """Whether response and alternative are in the other order."""
    plan: int | None = None
    """The event that its replies belong to, unless they belong to that of the whole run."""

    @property
    def key(self) -> str:
        """The key of a stored reply: a hash of case, seat and everything sent except the nonce."""
        juror = self.juror
        parts = [
            self.about, self.seat, juror.name, juror.model, juror.vendor, juror.base_url,
            juror.temperature, juror.max_tokens, juror.prompt_sha256,
            *(["labels"] if self.labels is not None else []),
            *([self.labels.labels] if self.labels is not None and self.labels.labels else []),
            *([[juror.options, juror.deployment, juror.api_version]] if juror.options
              or juror.deployment or juror.api_version else []),
            *([f"sample {self.sample}"] if self.sample else []),
            *(["swapped"] if self.swapped else []),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Exchange(Struct, frozen=True):
    """One request and its response or failure, with keys redacted; stored before it is used.

    Without a ``status``, ``problem`` says why; with one, what was left out of the request.
    """

    call: str
    attempt: int
    nonce: str
    at: str
    ms: float
    status: int | None
    body: str = ""
    headers: Mapping[str, str] = {}
    problem: str | None = None

    @property
    def is_batched(self) -> bool:
        """Whether it came in a vendor's batch, which costs less and gives no latency per call."""
        return BATCH_HEADER in self.headers

    @property
    def is_cached(self) -> bool:
        """Whether an earlier run made it, so that it costs nothing and has no latency."""
        return CACHE_HEADER in self.headers


Keep = Callable[[Call, Exchange], None]
"""A callback that stores an exchange; the ballot is made only after it has returned."""


class ReplyStore(Protocol):
    """Keeps the exchanges of a run, so that no answer is paid for twice."""

    def reply(self, call: Call) -> Exchange | None:
        """Return the newest stored exchange of a call."""

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Queue an exchange for writing; it is on disk once ``settled`` has returned."""

    async def settled(self) -> None:
        """Return when everything kept so far is on disk."""


class Clock:
    """Time and random numbers of the system; tests replace both."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return random.random()  # noqa: S311 - it spreads retries


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. Its headers contain the key, so they are never shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    method: str = "POST"
    limit: int = MAX_BODY
    """The most bytes of the response's body; a larger one is an error."""


class Response(Struct, frozen=True):
    """An HTTP response within the size limit; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """The only interface to the network."""

    async def send(self, request: Request) -> Response:
        """Send one request and return the response; raise TransportError without a response."""

    async def close(self) -> None:
        """Close all connections."""


def chance() -> str:
    return secrets.token_hex(8)


def calls_for(case: Case, panel: PanelSpec) -> list[Call]:
    """Return the calls to each juror in seat order: every sample, and both orders of a swap."""
    complete = case.under(panel.rubric)
    slots = complete.slots(panel.rubric)
    about = case_key(complete)
    labels = panel.counting_for(case.tags) if panel.wants_labels(case.tags) else None
    found = []
    for seat, juror in enumerate(panel.jurors):
        pair = panel.rule.swap and slots["alternative"] and swapped_template(juror.prompt)
        for swapped, sample in product((False, True) if pair else (False,), range(juror.samples)):
            prompt = render(
                juror.system_prompt,
                juror.prompt,
                slots,
                fresh_nonce(slots, chance),
                labels=labels,
                swapped=swapped,
            )
            found.append(Call(case.id, about, seat, juror, prompt, labels, sample, swapped))
    return found
