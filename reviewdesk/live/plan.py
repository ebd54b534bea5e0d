"""Work out what calls would send, to whom, and at what cost at most, for consent and dry runs.

Nothing here opens a connection, and no key is part of a plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reviewdesk.domain.panel.consent import ConsentPlan, Host
from reviewdesk.live.keys import key_of
from reviewdesk.live.records import Call
from reviewdesk.live.wires.proxies import address_text, proxy_for
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import Endpoint, endpoint

NONCE = "<nonce>"
"""Replaces each call's nonce before payloads are hashed, so that equal plans have equal hashes."""


def plan(
    calls: Iterable[Call],
    environment: Mapping[str, str],
    proxies: Callable[[str], str | None] = proxy_for,
) -> ConsentPlan:
    """Sum up what the calls would send, counting one attempt each.

    Raises:
        TransportError: a juror's address cannot be used.
    """
    places: dict[str, list[Endpoint]] = {}
    models: dict[str, None] = {}
    missing: dict[str, None] = {}
    digest, worst, count = hashlib.sha256(), 0.0, 0
    priced = True
    for call in calls:
        place = endpoint(call.juror)
        count += 1
        places.setdefault(place.host, []).append(place)
        models[call.juror.model] = None
        if place.key_env is not None and key_of(place, environment).problem is not None:
            missing[place.key_env] = None
        body = encoded(payload(call, place))
        digest.update(_without_nonce(call, place, body))
        price = call.juror.price
        priced = priced and price is not None
        worst += price.cost(len(body), call.juror.max_tokens) if price else 0.0
    return ConsentPlan(
        hosts=tuple(_host(name, found, proxies) for name, found in places.items()),
        models=tuple(models),
        calls=count,
        worst_usd=worst if priced else None,
        missing_keys=tuple(missing),
        payload_sha256=digest.hexdigest(),
    )


def payloads(calls: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Yield what each call would send, with its case, its juror and its address."""
    for call in calls:
        place = endpoint(call.juror)
        about = {"case": call.case, "juror": call.juror.name, "url": place.url}
        yield about | {"payload": payload(call, place)}


def hashed(call: Call) -> bytes:
    """Return the bytes that a payload's hash is made of: address and body, without the nonce."""
    place = endpoint(call.juror)
    return _without_nonce(call, place, encoded(payload(call, place)))


def _without_nonce(call: Call, place: Endpoint, body: bytes) -> bytes:
    nonce = json.dumps(call.prompt.nonce, ensure_ascii=False)[1:-1]
    return place.url.encode() + b" " + body.replace(nonce.encode(), NONCE.encode()) + b"\n"


def _host(name: str, found: list[Endpoint], proxies: Callable[[str], str | None]) -> Host:
    proxy = proxies(found[0].url)
    return Host(
        name=name,
        calls=len(found),
        key_env=tuple(dict.fromkeys(place.key_env for place in found if place.key_env)),
        proxy=None if proxy is None else address_text(proxy),
        is_encrypted=all(place.url.startswith("https:") for place in found),
    )
