"""Work out what calls would send, to whom, and at what cost at most, for consent and dry runs.

Nothing here opens a connection, and no key is part of a plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from reviewdesk.domain.panel.consent import ConsentPlan, Host
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.live.budget import worst
from reviewdesk.live.keys import key_names, key_problem
from reviewdesk.live.records import Call
from reviewdesk.live.wires.proxies import address_text, proxy_for
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import Endpoint, endpoint

NONCE = "<nonce>"
"""Replaces each call's nonce before payloads are hashed, so that equal plans have equal hashes."""


def hosts(
    jurors: Iterable[Juror],
    environment: Mapping[str, str],
    proxies: Callable[[str], str | None] = proxy_for,
    *,
    counted: bool = False,
) -> ConsentPlan:
    """Return where jurors are asked, and which of their keys are missing, before calls are counted.

    With ``counted``, there is one juror for each call; otherwise each host names its jurors.

    Raises:
        TransportError: a juror's address cannot be used.
    """
    there: dict[str, list[tuple[Juror, Endpoint]]] = {}
    missing: dict[str, None] = {}
    unpriced: dict[str, None] = {}
    for juror in jurors:
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
                calls=len(places) if counted else None,
                key_env=tuple(dict.fromkeys(name for _, one in places for name in key_names(one))),
                proxy=None if proxy is None else address_text(proxy),
                is_encrypted=all(one.url.startswith("https:") for _, one in places),
                jurors=() if counted else tuple(f"{one.name} ({one.model})" for one, _ in places),
            )
        )
    return ConsentPlan(tuple(found), (), 0, 0.0, tuple(missing), "", unpriced=tuple(unpriced))


def plan(
    calls: Iterable[Call],
    environment: Mapping[str, str],
    proxies: Callable[[str], str | None] = proxy_for,
) -> ConsentPlan:
    """Sum up what the calls would send, counting one attempt each; each is looked at once.

    Raises:
        TransportError: a juror's address cannot be used.
    """
    jurors: list[Juror] = []
    most: float | None = 0.0
    digest = hashlib.sha256()
    for call in calls:
        jurors.append(call.juror)
        usd = worst(call)
        most = None if most is None or usd is None else most + usd
        digest.update(hashed(call))
    return replace(
        hosts(jurors, environment, proxies, counted=True),
        models=tuple(dict.fromkeys(juror.model for juror in jurors)),
        calls=len(jurors),
        worst_usd=most,
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
    place, nonce = endpoint(call.juror), json.dumps(call.prompt.nonce, ensure_ascii=False)[1:-1]
    body = encoded(payload(call, place)).replace(nonce.encode(), NONCE.encode())
    return place.url.encode() + b" " + body + b"\n"
