"""The hash that commits a panel: its jurors in seat order and the rule they decide by."""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from reviewdesk.domain.jury.rules import own_share
from reviewdesk.domain.values import LABEL_FACTS
from reviewdesk.domain.verdict import Verdict, canonical_json, own_facts

JUROR_KEYS = ("id", "model", "vendor", "temperature", "prompt_sha256", "weight")
JUROR_META = ("reasoning", "extra", "samples", "order")
"""Further settings of a juror, which its ballots keep under ``meta``, and which count if set.

Panels had ``reasoning`` and ``rounds`` in 2026; the hashes of their verdicts still verify.
"""
ANSWERING_KEYS = ("failed_jurors", "min_answered")
"""The keys for missing answers; each counts only if it is set."""
ASKING_KEYS = ("stop_when_decided", "swap", "rounds")
"""The keys for how jurors are asked; each counts only if it is set and not the default."""
RULE_KEYS = ("strategy", "trim_fraction", "rounding", "threshold", "quorum", "rubric_sha256")


class HashStatus(StrEnum):
    """Whether a stated panel hash equals the hash of the report's jurors and rule."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"


def panel_hash(jurors: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]) -> str:
    """Return the sha256 of the canonical JSON of ``[jurors, rule]``.

    Only ``JUROR_KEYS``, ``RULE_KEYS`` and the other keys that are set count. A missing key counts
    as ``null``, and a whole number as an integer, so that 1 and 1.0 are the same threshold. The
    share of a supermajority is added in lowest terms, but only if it is not the default, so that a
    stated default gives the same hash as an absent one.
    """
    seats = []
    for juror in jurors:
        own = juror.get("meta") or {}
        asked = {key: own[key] for key in JUROR_META if own.get(key) is not None}
        seats.append({key: _plain(juror.get(key)) for key in JUROR_KEYS} | asked)
    rule_part: dict[str, Any] = {key: _plain(rule.get(key)) for key in RULE_KEYS}
    if (share := own_share(rule.get("supermajority"))) is not None:
        rule_part["supermajority"] = share
    keys = (*ANSWERING_KEYS, *ASKING_KEYS, *LABEL_FACTS)
    rule_part |= {key: value for key in keys if (value := rule.get(key))}
    return hashlib.sha256(canonical_json([seats, rule_part])).hexdigest()


def verdict_panel_hash(verdict: Verdict, *, without: Sequence[str] = ()) -> str:
    """Recompute the panel hash from a verdict's report, without values that a person filled in.

    The keys ``without`` are left out as if they were not set.
    """
    policy = verdict.policy
    fraction = verdict.trim.fraction
    rule = {
        **{
            name: None if name in verdict.set_by_you else getattr(policy, name)
            for name in ("strategy", "threshold", "quorum")
        },
        "trim_fraction": policy.trim_fraction if fraction is None else fraction,
        "rounding": verdict.trim.rounding,
        "rubric_sha256": text_hash(verdict.text("rubric")),
        "supermajority": policy.supermajority,
        "failed_jurors": policy.failed_jurors,
        "min_answered": policy.min_answered,
        **{key: own_facts(verdict.body).get(key) for key in (*ASKING_KEYS, *LABEL_FACTS)},
    }
    bodies = verdict.body["jurors"]
    weighed = zip(verdict.ballots, bodies, strict=True)
    jurors = [{**body, "weight": ballot.weight} for ballot, body in weighed]
    return panel_hash(jurors, {key: value for key, value in rule.items() if key not in without})


def panel_hash_status(verdict: Verdict) -> HashStatus | None:
    """Compare the stated panel hash with the recomputed one; return ``None`` if none is stated.

    A hash that differs is only unverified: another program may compute its hash in another way.
    Our hashes did not always cover ``failed_jurors``, and those without it stay valid.
    """
    stated = (verdict.body.get("provenance") or {}).get("panel_hash")
    if not stated:
        return None
    given = str(stated).strip().lower().removeprefix("sha256:")
    hashes = (verdict_panel_hash(verdict, without=keys) for keys in ((), ("failed_jurors",)))
    return HashStatus.VERIFIED if given in hashes else HashStatus.UNVERIFIED


def text_hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
