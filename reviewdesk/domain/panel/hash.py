"""The hash that commits a panel: its jurors in seat order and the rule they decide by."""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec.structs import asdict

from reviewdesk.domain.jury.rules import own_share
from reviewdesk.domain.values import LABEL_FACTS
from reviewdesk.domain.verdict import Verdict, json_sha256, own_facts

JUROR_KEYS = ("id", "model", "vendor", "temperature", "prompt_sha256", "weight")
JUROR_META = ("reasoning", "extra", "samples", "order")
"""Further settings of a juror, which its ballots keep under ``meta``, and which count if set.

Panels had ``reasoning`` and ``rounds`` in 2026; the hashes of their verdicts still verify.
"""

ASKING_KEYS = ("stop_when_decided", "swap", "rounds")
"""The keys for how jurors are asked; each counts only if it is set and not the default."""
RULE_KEYS = ("strategy", "trim_fraction", "rounding", "threshold", "quorum", "rubric_sha256")


class HashStatus(StrEnum):
    """Whether a stated panel hash equals the hash of the report's jurors and rule."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"


def panel_hash(jurors: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]) -> str:
    """Return the sha256 of the canonical JSON of ``[jurors, rule]``, of the keys that count.

    A missing key is ``null``, and a whole number an integer, so that 1 and 1.0 are the same. The
    share of a supermajority is in lowest terms, and left out if it is the default.
    """
    seats = []
    for juror in jurors:
        own = juror.get("meta") or {}
        asked = {key: own[key] for key in JUROR_META if own.get(key) is not None}
        seats.append({key: _plain(juror.get(key)) for key in JUROR_KEYS} | asked)
    own_rule = {**rule, "supermajority": own_share(rule.get("supermajority"))}
    rule_part = {key: _plain(rule.get(key)) for key in RULE_KEYS}
    keys = ("supermajority", "failed_jurors", "min_answered", *ASKING_KEYS, *LABEL_FACTS)
    rule_part |= {key: value for key in keys if (value := own_rule.get(key))}
    return json_sha256([seats, rule_part])


def verdict_panel_hash(verdict: Verdict, *, without: Sequence[str] = ()) -> str:
    """Recompute a verdict's panel hash, ``without`` some keys and what a person filled in."""
    fraction = verdict.trim.fraction
    rule = {
        **asdict(verdict.policy),
        **({} if fraction is None else {"trim_fraction": fraction}),
        "rounding": verdict.trim.rounding,
        "rubric_sha256": text_hash(verdict.text("rubric")),
        **{key: own_facts(verdict.body).get(key) for key in (*ASKING_KEYS, *LABEL_FACTS)},
    }
    left_out = (*verdict.set_by_you, *without)
    jurors = [
        {**body, "weight": ballot.weight}
        for ballot, body in zip(verdict.ballots, verdict.body["jurors"], strict=True)
    ]
    return panel_hash(jurors, {key: value for key, value in rule.items() if key not in left_out})


def panel_hash_status(verdict: Verdict) -> HashStatus | None:
    """Compare the stated panel hash with the recomputed one; ``None`` if none is stated."""
    stated = (verdict.body.get("provenance") or {}).get("panel_hash")
    if not stated:
        return None
    given = str(stated).strip().lower().removeprefix("sha256:")
    # Our hashes did not always cover ``failed_jurors``, and those without it stay valid.
    hashes = (verdict_panel_hash(verdict, without=keys) for keys in ((), ("failed_jurors",)))
    return HashStatus.VERIFIED if given in hashes else HashStatus.UNVERIFIED


def text_hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
