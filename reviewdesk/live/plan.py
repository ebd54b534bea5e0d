"""Compute the content, hosts and highest cost of calls, for consent and dry runs.

Nothing here opens a connection, and a plan contains no key.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any

from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.turnout import ConsentPlan, Host, kind_of_loss
from reviewdesk.domain.verdict import CanonicalBallot
from reviewdesk.errors import UsageError
from reviewdesk.live.batch import CaseCalls, ReplyCache
from reviewdesk.live.keys import Redactor, key_names, key_problem, redactor
from reviewdesk.live.limits import worst
from reviewdesk.live.records import Call, Exchange, ReplyStore
from reviewdesk.live.replies.ballots import answer_of, ballot_of
from reviewdesk.live.wires.requests import hashed, payload
from reviewdesk.live.wires.vendors import Endpoint, address_text, endpoint, proxy_for


def hosts(
    calls: Mapping[Juror, int],
    environment: Mapping[str, str],
) -> ConsentPlan:
    """Return the hosts of jurors with so many calls each, and which of their keys are missing.

    Raise TransportError if a juror's address cannot be used.
    """
    there: dict[str, list[tuple[Juror, Endpoint]]] = {}
    missing: dict[str, None] = {}
    unpriced: dict[str, None] = {}
    for juror in calls:
        place = endpoint(juror)
        if juror.price is None:
            unpriced[juror.model] = None
        there.setdefault(place.host, []).append((juror, place))
        if (problem := key_problem(place, environment)) is not None:
            missing[problem.partition(" ")[0]] = None
    found = []
    for name, places in there.items():
        proxy = proxy_for(places[0][1].url)
        found.append(
            Host(
                name=name,
                calls=sum(calls[one] for one, _ in places),
                key_env=tuple(dict.fromkeys(name for _, one in places for name in key_names(one))),
                proxy=None if proxy is None else address_text(proxy),
                is_encrypted=all(one.url.startswith("https:") for _, one in places),
                jurors=tuple(f"{one.name} ({one.model})" for one, _ in places),
            )
        )
    return ConsentPlan(tuple(found), (), 0, 0.0, tuple(missing), "", unpriced=tuple(unpriced))


@dataclass(slots=True)
class Survey:
    """Counts the calls about cases that no stored reply answers, one attempt each.

    ``jurors`` are named in the plan even without a call. Calls whose key is in ``held`` wait at a
    vendor if ``in_batch``.
    """

    environment: Mapping[str, str]
    store: ReplyStore | None = None
    cache: ReplyCache | None = None
    _: KW_ONLY
    jurors: InitVar[Iterable[Juror]] = ()
    in_batch: Callable[[Call], bool] = lambda _: False
    held: Collection[str] = ()
    worst_usd: float | None = 0.0
    """The highest cost of the calls; ``None`` if a juror has no price."""
    again_usd: float | None = 0.0
    waiting_usd: float = 0.0
    """The highest cost of the calls that wait at a vendor."""
    batched_usd: float = 0.0
    """The highest cost of the calls that go to a vendor's batch interface."""
    _calls: Counter[Juror] = field(default_factory=Counter)
    _counts: Counter[str] = field(default_factory=Counter)
    _again: Counter[str] = field(default_factory=Counter)
    _digest: Any = field(default_factory=hashlib.sha256)
    _hidden: dict[Juror, Redactor] = field(default_factory=dict)

    def __post_init__(self, jurors: Iterable[Juror]) -> None:
        self._calls.update(dict.fromkeys(jurors, 0))

    def add(self, found: CaseCalls) -> None:
        """Count the calls about a case.

        Raise TransportError if a juror's address cannot be used. Raise UsageError if calls are
        open, and no juror has a key.
        """
        calls = self.open_calls(found)
        jurors = dict.fromkeys(call.juror for call in found.calls)
        if calls:
            problems = [key_problem(endpoint(juror), self.environment) for juror in jurors]
            if all(problems):
                why = "; ".join(dict.fromkeys(filter(None, problems)))
                hint = "Set it, or choose another panel."
                raise UsageError(f"no juror can be asked: {why}", hint)
        # Jurors are listed in the order of their seats, whatever is answered.
        self._calls.update(dict.fromkeys(jurors, 0))
        for call in calls:
            self._count(call)

    def open_calls(self, found: CaseCalls) -> list[Call]:
        """Return the calls about a case that no stored answer spares.

        Stored answers are used in the order in which a panel asks, as they may decide the case.
        """
        opened: list[Call] = []
        while calls := found.rest() if opened else found.next():
            left = [call for call in calls if not self._is_answered(found, call)]
            if opened:
                return opened + left
            opened = left
        return opened

    def plan(self) -> ConsentPlan:
        """Return the plan to which a person consents."""
        places = hosts(self._calls, self.environment)
        return replace(
            places,
            models=tuple(dict.fromkeys(juror.model for juror in self._calls)),
            calls=self._calls.total(),
            worst_usd=None if places.unpriced else self.worst_usd,
            payload_sha256=self._digest.hexdigest(),
            again=self._again,
            again_usd=self.again_usd,
            **self._counts,
        )

    def _is_answered(self, found: CaseCalls, call: Call) -> bool:
        ballot = self._answer(call, self.store.reply(call.key) if self.store else None)
        where = "stored"
        if ballot is None and self.cache is not None:
            ballot = self._answer(call, self.cache.reply(call))
            where = "cached"
        if ballot is None:
            return False
        self._counts[where] += 1
        found.take(call, ballot)
        return True

    def _count(self, call: Call) -> None:
        is_batched = self.in_batch(call)
        usd = worst(call, in_batch=is_batched)
        if is_batched and call.key in self.held:
            self._counts["waiting"] += 1
            self.waiting_usd += usd or 0.0
            return
        self._calls[call.juror] += 1
        self._digest.update(hashed(call))
        self._counts["batched"] += is_batched
        self.batched_usd += (usd or 0.0) * is_batched
        self.worst_usd = None if usd is None or self.worst_usd is None else self.worst_usd + usd
        if self.store is not None and (before := self.store.reply(call.key)) is not None:
            self._again[kind_of_loss(ballot_of(call, before, self._hidden[call.juror]))] += 1
            self.again_usd = None if usd is None or self.again_usd is None else self.again_usd + usd

    def _answer(self, call: Call, exchange: Exchange | None) -> CanonicalBallot | None:
        if exchange is None:
            return None
        if call.juror not in self._hidden:
            # A reference's command runs only for stored replies, as their texts may repeat the key.
            self._hidden[call.juror] = redactor([call.juror], self.environment)
        return answer_of(call, exchange, self._hidden[call.juror])


def plan(
    calls: Sequence[Call],
    environment: Mapping[str, str],
) -> ConsentPlan:
    """Summarize what the calls would send, counting one attempt each.

    Raise TransportError if a juror's address cannot be used.
    """
    found = Survey(environment)
    found.add(CaseCalls(calls))
    return found.plan()


def payloads(calls: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Yield what each call would send, with its case, its juror and its address."""
    for call in calls:
        place = endpoint(call.juror)
        about = {"case": call.case, "juror": call.juror.name, "url": place.url}
        yield about | {"payload": payload(call, place)}
