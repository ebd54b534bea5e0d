"""Compute the content, hosts and highest cost of calls, for consent and dry runs.

Nothing here opens a connection, and a plan contains no key.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.turnout import ConsentPlan, Host, kind_of_loss
from reviewdesk.live.batch import CaseCalls, ReplyCache
from reviewdesk.live.keys import key_names, key_problem, redactor
from reviewdesk.live.limits import worst
from reviewdesk.live.records import Call, ReplyStore
from reviewdesk.live.replies.ballots import answer_of, ballot_of
from reviewdesk.live.wires.requests import hashed, payload
from reviewdesk.live.wires.vendors import Endpoint, address_text, endpoint, proxy_for


def hosts(
    calls: Mapping[Juror, int],
    environment: Mapping[str, str],
    proxies: Callable[[str], str | None] = proxy_for,
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
        proxy = proxies(places[0][1].url)
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


class Survey:
    """Counts the calls about cases that no stored reply answers, one attempt each."""

    def __init__(
        self,
        environment: Mapping[str, str],
        store: ReplyStore | None = None,
        cache: ReplyCache | None = None,
        *,
        jurors: Iterable[Juror] = (),
        in_batch: Callable[[Call], bool] = lambda _: False,
        held: Collection[str] = (),
    ) -> None:
        """Count nothing yet; ``jurors`` are named in the plan even without a call.

        Calls whose key is in ``held`` wait at a vendor if ``in_batch``.
        """
        self._environment = environment
        self._store = store
        self._cache = cache
        self._in_batch = in_batch
        self._held = held
        self._jurors: Counter[Juror] = Counter(dict.fromkeys(jurors, 0))
        self._digest = hashlib.sha256()
        # A reference's command runs only for stored replies, as their texts may repeat the key.
        self._hidden = functools.cache(lambda juror: redactor([juror], environment))
        self._stored = self._cached = self._batched = self._waiting = 0
        self._again: Counter[str] = Counter()
        self.worst_usd: float | None = 0.0
        """The highest cost of the calls; ``None`` if a juror has no price."""
        self.again_usd: float | None = 0.0
        self.waiting_usd = 0.0
        """The highest cost of the calls that wait at a vendor."""
        self.batched_usd = 0.0
        """The highest cost of the calls that go to a vendor's batch interface."""

    def add(self, found: CaseCalls) -> None:
        """Count the calls about a case.

        Stored answers are used in the order in which a panel asks, as they may decide the case.
        Raise TransportError if a juror's address cannot be used.
        """
        # Jurors are listed in the order of their seats, whatever is answered.
        self._jurors.update(dict.fromkeys((call.juror for call in found.calls), 0))
        is_open = False
        while calls := found.rest() if is_open else found.next():
            answered = [self._is_answered(found, call) for call in calls]
            if is_open:
                return
            is_open = not all(answered)

    def plan(self, proxies: Callable[[str], str | None] = proxy_for) -> ConsentPlan:
        """Return the plan to which a person consents."""
        places = hosts(self._jurors, self._environment, proxies)
        return replace(
            places,
            models=tuple(dict.fromkeys(juror.model for juror in self._jurors)),
            calls=self._jurors.total(),
            worst_usd=None if places.unpriced else self.worst_usd,
            payload_sha256=self._digest.hexdigest(),
            stored=self._stored,
            cached=self._cached,
            again=self._again,
            again_usd=self.again_usd,
            batched=self._batched,
            waiting=self._waiting,
        )

    def _is_answered(self, found: CaseCalls, call: Call) -> bool:
        before = self._store.reply(call.key) if self._store else None
        ballot = answer_of(call, before, self._hidden(call.juror)) if before else None
        self._stored += ballot is not None
        if ballot is None and self._cache is not None:
            kept = self._cache.reply(call)
            ballot = answer_of(call, kept, self._hidden(call.juror)) if kept else None
            self._cached += ballot is not None
        if ballot is not None:
            found.take(call, ballot)
            return True
        is_batched = self._in_batch(call)
        usd = worst(call, in_batch=is_batched)
        if is_batched and call.key in self._held:
            self._waiting += 1
            self.waiting_usd += usd or 0.0
            return False
        self._jurors[call.juror] += 1
        self._digest.update(hashed(call))
        self._batched += is_batched
        self.batched_usd += (usd or 0.0) * is_batched
        self.worst_usd = None if usd is None or self.worst_usd is None else self.worst_usd + usd
        if before is not None:
            self._again[kind_of_loss(ballot_of(call, before, self._hidden(call.juror)))] += 1
            self.again_usd = None if usd is None or self.again_usd is None else self.again_usd + usd
        return False


def plan(
    calls: Sequence[Call],
    environment: Mapping[str, str],
    proxies: Callable[[str], str | None] = proxy_for,
) -> ConsentPlan:
    """Summarize what the calls would send, counting one attempt each.

    Raise TransportError if a juror's address cannot be used.
    """
    found = Survey(environment)
    found.add(CaseCalls(calls))
    return found.plan(proxies)


def payloads(calls: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Yield what each call would send, with its case, its juror and its address."""
    for call in calls:
        place = endpoint(call.juror)
        about = {"case": call.case, "juror": call.juror.name, "url": place.url}
        yield about | {"payload": payload(call, place)}
