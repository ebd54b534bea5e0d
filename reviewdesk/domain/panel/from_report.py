"""The panel of a verdict, as far as its report tells how to ask it again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reviewdesk.domain.jury.family import family
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE
from reviewdesk.domain.panel.panel import PanelRule
from reviewdesk.domain.panel.spec import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_TIMEOUT,
    Juror,
    PanelSpec,
)
from reviewdesk.domain.verdict import Ballot, Body, Rounding, Verdict
from reviewdesk.errors import UsageError

_HINT = "Name a panel file with --panel."


def panel_of(
    verdict: Verdict,
    header: Mapping[str, Any],
    vendors: Mapping[str, str],
    wanted: Collection[str] | None = None,
) -> PanelSpec:
    """The jurors and the rule of a verdict, to be asked at their vendors' own endpoints.

    A report is somebody else's text, so it never says where a key is sent: addresses and names of
    variables come from a panel file alone. ``vendors`` are those with an endpoint of
    their own, and its host.

    ``wanted`` are the jurors to be asked, all of them where nothing is said; others are left out.

    Raises:
        UsageError: a wanted juror's model or vendor is not told, or it was told something else.
    """
    if not verdict.ballots:
        raise UsageError(f"{verdict.id}: has no jurors", _HINT)
    bodies = verdict.body.get("jurors") or ()
    told = _told(header)
    jurors = tuple(
        _juror(cast, body, told.get(cast.id, {}), vendors)
        for cast, body in zip(verdict.ballots, bodies, strict=True)
        if wanted is None or cast.id in wanted
    )
    return PanelSpec("the report's own panel", jurors, _rule(verdict))


def _told(header: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What a report of this program keeps of its panel, by juror."""
    panel = (header.get("meta") or {}).get("panel")
    listed = panel.get("jurors") if isinstance(panel, Mapping) else None
    if not isinstance(listed, list):
        return {}
    return {
        one["id"]: one
        for one in listed
        if isinstance(one, Mapping) and isinstance(one.get("id"), str)
    }


def _juror(cast: Ballot, body: Body, told: Mapping[str, Any], vendors: Mapping[str, str]) -> Juror:
    if not cast.model:
        raise UsageError(f"the report does not say which model {cast.id!r} is", _HINT)
    vendor, host = _vendor(cast, vendors), told.get("host")
    if host is not None and host != vendors[vendor]:
        raise UsageError(f"{cast.id!r} was asked at another address than {vendor}'s own", _HINT)
    made = Juror(
        name=cast.id,
        model=cast.model,
        vendor=vendor,
        weight=cast.weight,
        temperature=body.get("temperature"),
        max_tokens=_whole(told.get("max_tokens")) or DEFAULT_MAX_TOKENS,
        timeout=float(_whole(told.get("timeout")) or DEFAULT_TIMEOUT),
        system_prompt=_text(told.get("system_prompt")),
        prompt=_text(told.get("prompt")),
    )
    stated = body.get("prompt_sha256")
    if stated is not None and made.contract_of(stated) is None:
        raise UsageError(f"{cast.id!r} was asked with a prompt that the report lacks", _HINT)
    return made


def _vendor(cast: Ballot, vendors: Mapping[str, str]) -> str:
    word = (cast.vendor or "").strip().lower()
    if word in vendors:
        return word
    known = family(cast.model, cast.vendor)
    if not word and known is not None and known.name in vendors:
        return known.name
    raise UsageError(f"the report does not say where {cast.id!r} ({cast.model}) is asked", _HINT)


def _rule(verdict: Verdict) -> PanelRule:
    policy, trim = verdict.policy, verdict.trim
    plain = PanelRule()
    fraction = policy.trim_fraction if trim.fraction is None else trim.fraction
    return PanelRule(
        strategy=policy.strategy,
        threshold=plain.threshold if policy.threshold is None else policy.threshold,
        quorum=plain.quorum if policy.quorum is None else policy.quorum,
        weights=policy.weights,
        trim=plain.trim if fraction is None else fraction,
        rounding=trim.rounding or Rounding.DOWN,
        failed_jurors=policy.failed_jurors,
        supermajority=DEFAULT_SHARE if policy.supermajority is None else policy.supermajority,
        regime=verdict.regime,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000
    return value if fits and isinstance(value, int) else None
