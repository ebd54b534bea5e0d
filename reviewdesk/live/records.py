"""The records of live panels that cross its boundaries."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from reviewdesk.domain.panel.case import Case, case_key
from reviewdesk.domain.panel.prompt import Prompt, fresh_nonce, render
from reviewdesk.domain.panel.spec import Juror, PanelSpec

Ballot: TypeAlias = dict[str, Any]
"""A juror of a canonical verdict body."""


@dataclass(frozen=True, slots=True)
class Call:
    """One juror to be asked about one case; ``about`` identifies the case by its content."""

    case: str
    about: str
    seat: int
    juror: Juror
    prompt: Prompt
    labels: bool = False
    """Whether the juror answers by a word and not by a vote."""

    @property
    def key(self) -> str:
        """What a stored reply is found by: the case, the seat and all that is sent, nonce aside."""
        juror = self.juror
        told = [
            self.about, self.seat, juror.name, juror.model, juror.vendor, juror.base_url,
            juror.temperature, juror.max_tokens, juror.prompt_sha256,
            *(["labels"] if self.labels else []),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request's outcome, keys redacted; kept on disk before anything is made of it.

    ``status`` is ``None`` where no answer came, and ``problem`` then says why; beside an answer it
    says what was left out of the request. ``nonce`` is what the reply must repeat.
    """

    call: str
    attempt: int
    nonce: str
    at: str
    ms: float
    status: int | None
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


Keep: TypeAlias = Callable[[Call, Exchange], None]
"""Stores an exchange; the ballot is made of it only after this has returned."""


class Clock(Protocol):
    """Time and chance, so that tests need neither."""

    def now(self) -> datetime:
        """The time in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def random(self) -> float:
        """A number from 0 up to, and without, 1."""


@dataclass(frozen=True, slots=True)
class Request:
    """What goes out. The headers hold the key, so they are never shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What came back, within the size bound; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """The one seam to the network."""

    async def send(self, request: Request) -> Response:
        """Send one request; whatever keeps an answer from coming is a ``TransportError``."""

    async def close(self) -> None:
        """Let go of all connections."""


def chance() -> str:
    """Digits that a response under test cannot know."""
    return secrets.token_hex(8)


def calls_for(case: Case, panel: PanelSpec, nonce: Callable[[], str] = chance) -> list[Call]:
    """One call for each juror, in seat order, each with a nonce of its own."""
    asked = case.under(panel.rubric)
    slots, about = asked.slots(panel.rubric), case_key(asked)
    labels = panel.wants_labels(case.tags)
    return [
        Call(
            case=case.id,
            about=about,
            seat=seat,
            juror=juror,
            prompt=render(
                juror.system_prompt,
                juror.prompt,
                slots,
                fresh_nonce(slots, nonce),
                labels=labels,
            ),
            labels=labels,
        )
        for seat, juror in enumerate(panel.jurors)
    ]
