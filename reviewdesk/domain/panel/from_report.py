"""The panel of a verdict, rebuilt from its report so that it can be asked again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.panel.juror import DEFAULT_TIMEOUT, Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec, rule_of
from reviewdesk.domain.panel.vendors import OTHER_NAMES
from reviewdesk.domain.verdict import Ballot, Verdict
from reviewdesk.errors import UsageError

_HINT = "Name a panel file with --panel."


def panel_of(
    verdict: Verdict,
    header: Mapping[str, Any],
    vendors: Mapping[str, str],
    wanted: Collection[str] | None = None,
) -> PanelSpec:
    """Return the jurors and the rule of a verdict, as a panel that asks the vendors' endpoints.

    A report comes from outside, so it never decides where a key is sent: addresses and names of
    variables come from a panel file alone. ``vendors`` maps each vendor that has an endpoint to
    the host of that endpoint. ``wanted`` names the jurors to ask; ``None`` means all of them. Raise
    UsageError if the verdict has no jurors, the report does not state the model, vendor or prompt
    of a wanted juror, or the juror was asked at another address.
    """
    if not verdict.ballots:
        raise UsageError(f"{verdict.id}: has no jurors", _HINT)
    bodies = verdict.body["jurors"]
    settings = _juror_settings(header)
    jurors = tuple(
        _juror(cast, body, settings.get(cast.id, {}), vendors)
        for cast, body in zip(verdict.ballots, bodies, strict=True)
        if wanted is None or cast.id in wanted
    )
    return PanelSpec("the report's own panel", jurors, rule_of(verdict, PanelRule()))


def _juror_settings(header: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return each juror's settings by id, which a report of this program keeps of its panel."""
    panel = (header.get("meta") or {}).get("panel")
    listed = panel.get("jurors") if isinstance(panel, Mapping) else None
    if not isinstance(listed, list):
        return {}
    return {
        one["id"]: one
        for one in listed
        if isinstance(one, Mapping) and isinstance(one.get("id"), str)
    }


def _juror(
    cast: Ballot, body: CanonicalBallot, settings: Mapping[str, Any], vendors: Mapping[str, str]
) -> Juror:
    if not cast.model:
        raise UsageError(f"the report does not say which model {cast.id!r} is", _HINT)
    vendor, host = _vendor(cast, vendors), settings.get("host")
    if host is not None and host != vendors[vendor]:
        raise UsageError(f"{cast.id!r} was asked at another address than {vendor}'s own", _HINT)
    own = body.get("meta") or {}
    if own.get("extra") or own.get("reasoning"):
        # A report comes from outside, so it does not decide what else is sent.
        raise UsageError(f"{cast.id!r} was asked with body keys of its panel's own", _HINT)
    juror = Juror(
        name=cast.id,
        model=cast.model,
        vendor=vendor,
        weight=cast.weight,
        temperature=body.get("temperature"),
        max_tokens=_whole(settings.get("max_tokens")) or 0,
        timeout=float(_whole(settings.get("timeout")) or DEFAULT_TIMEOUT),
        system_prompt=_text(settings.get("system_prompt")),
        prompt=_text(settings.get("prompt")),
    )
    stated = body.get("prompt_sha256")
    if stated is not None and juror.contract_of(stated) is None:
        raise UsageError(f"{cast.id!r} was asked with a prompt that the report lacks", _HINT)
    return juror


def _vendor(cast: Ballot, vendors: Mapping[str, str]) -> str:
    word = (cast.vendor or "").strip().lower()
    word = OTHER_NAMES.get(word, word)
    if word in vendors:
        return word
    known = family(cast.model, cast.vendor)
    if not word and known is not None and known.name in vendors:
        return known.name
    raise UsageError(f"the report does not say where {cast.id!r} ({cast.model}) is asked", _HINT)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000
    return value if fits and isinstance(value, int) else None
