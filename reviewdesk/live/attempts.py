"""Make the attempts of one call, each a request whose exchange is stored before it is used."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.errors import TransportError
from reviewdesk.live.keys import Key
from reviewdesk.live.limits import CallTurn, ModelLimit
from reviewdesk.live.records import Call, Exchange, Response
from reviewdesk.live.replies.ballots import ballot_of, failed
from reviewdesk.live.replies.faults import LEFT_OUT, Fault, reply_or_fault
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.retry import Retry, Trying
from reviewdesk.live.session import CallSession, JurorState
from reviewdesk.live.wires.requests import (
    STRUCTURE,
    TEMPERATURE,
    encoded,
    optional,
    payload,
    request,
)

_SAID: Final = frozenset({STRUCTURE, TEMPERATURE})
"""The parts whose absence an exchange says; a token limit under its other name is no absence."""

MAX_REFUSAL: Final = 64 * 1024
"""The most characters kept of a body that is not a successful reply."""

MAX_HEADER: Final = 200
"""The most characters kept of a header's value."""


@dataclass(slots=True, eq=False)
class Attempts:
    """One call, the attempts that were made of it, and what is left of its deadline."""

    call: Call
    state: JurorState
    asking: CallSession
    trying: Trying
    count: int = 0
    last: Exchange | None = None
    _tokens: int = -1

    @property
    def tokens(self) -> int:
        """Estimate a request's tokens, a third of its bytes and the most that may be answered.

        The estimate is 0 for a juror without a rate of tokens.
        """
        juror = self.call.juror
        if juror.tpm is None:
            return 0
        if self._tokens < 0:
            size = len(encoded(payload(self.call, self.state.place)))
            self._tokens = size // 3 + juror.max_tokens
        return self._tokens

    async def once(self, limit: ModelLimit, key: Key, turn: CallTurn) -> CanonicalBallot | Retry:
        """Send one request; return the ballot, or after how long the call may be tried again."""
        asking, state, call = self.asking, self.state, self.call
        dropped = asking.dropped(state.place, call.juror.model)
        sent = optional(call, state.place) - dropped
        if self.last is None:
            await asking.paced()
        exchange = self.last = await self._exchange(key, dropped)
        found = reply_or_fault(exchange, state.place.wire)
        if pause := limit.note(turn, exchange, found):
            asking.paused(state, pause)
        step = self.trying.next_attempt(exchange, found, sent, asking.clock)
        if step is not None and step.refused is not None:
            asking.drop(state.place, call.juror.model, step.refused)
        else:
            self._note(exchange, found if isinstance(found, Fault) else None)
        self.count += 1
        return step or ballot_of(call, exchange, self._redactor)

    def failed(self, fault: Fault) -> CanonicalBallot:
        """Return the ballot of a call that is not tried again, with what its last attempt gave."""
        hidden = self._redactor
        fault = Fault(fault.status, fault.kind, hidden.text(fault.message))
        if self.last is None:
            return failed(self.call, fault, self.asking.at())
        ballot = ballot_of(self.call, self.last, hidden)
        return {**ballot, "error": {"type": fault.kind, "message": fault.message}}

    @property
    def _redactor(self) -> Redactor:
        return self.asking.hiding(None)

    def _note(self, exchange: Exchange, fault: Fault | None) -> None:
        """Tell the breaker how an attempt ended, and stop the juror if nobody answers for it."""
        now = self.asking.clock.monotonic()
        sent = now - exchange.ms / 1000
        if stop := self.state.breaker.note(exchange.status, fault, sent, now):
            self.asking.stop(self.state, stop)

    async def _exchange(self, key: Key, dropped: frozenset[str]) -> Exchange:
        """Send a request, and store what came of it."""
        clock, place = self.asking.clock, self.state.place
        seconds = min(self.call.juror.timeout, self.trying.left)
        started, least = clock.monotonic(), 0.0
        response, problem = None, None
        try:
            async with asyncio.timeout(seconds):
                sent = request(self.call, place, key, dropped)
                response = await self.asking.transport.send(sent)
        except TransportError as failure:
            problem = f"{failure.kind}: {failure.message}"
        except TimeoutError:
            problem, least = f"timeout: no answer within {round(seconds, 1):g} s", seconds
        self.trying.spent += max(clock.monotonic() - started, least)
        if response is not None:
            unsent = optional(self.call, place) & dropped & _SAID
            problem = f"{LEFT_OUT}{' '.join(sorted(unsent))}" if unsent else None
        return self._stored(started, response, problem)

    def _stored(self, started: float, response: Response | None, problem: str | None) -> Exchange:
        """Build the exchange, keys redacted, and store it before it is used."""
        hidden = self._redactor
        exchange = Exchange(
            call=self.call.key,
            attempt=self.count,
            nonce=self.call.prompt.nonce,
            at=self.asking.at(),
            ms=1000 * (self.asking.clock.monotonic() - started),
            status=response.status if response else None,
            body=_body(response, hidden) if response else "",
            headers=hidden.headers(response.headers, MAX_HEADER) if response else {},
            problem=hidden.text(problem) if problem else None,
        )
        self.asking.keep(self.call, exchange)
        return exchange


def _body(response: Response, hidden: Redactor) -> str:
    """Return a successful reply in full, and only the beginning of any other body.

    Keys are hidden before the text is cut, so that none is cut in two.
    """
    text = response.body.decode("utf-8", "replace")
    if 200 <= response.status < 300:
        return hidden.text(text)
    return hidden.short(text, MAX_REFUSAL)
