"""The hash that commits a panel: its jurors in seat order and the rule they decide by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from reviewdesk.domain.content import canonical_json
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.verdict import Ballot, Body, Policy, Verdict

JUROR_KEYS = ("id", "model", "vendor", "temperature", "prompt_sha256", "weight")
RULE_KEYS = ("strategy", "trim_fraction", "rounding", "threshold", "quorum", "rubric_sha256")


class HashStatus(StrEnum):
    """Whether a stated panel hash is the one that jurors and rule of the report give."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"


def panel_hash(jurors: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]) -> str:
    """sha256 over the canonical JSON of ``[jurors, rule]``, of which only the named keys count.

    A key that is absent counts as ``null``, and a whole number as an integer, so that 1 and 1.0
    are one threshold. The share of a supermajority counts in lowest terms, and only where it is
    not the default, so that hashes of rules without one stay what they were.
    """
    seats = [{key: _plain(juror.get(key)) for key in JUROR_KEYS} for juror in jurors]
    held: dict[str, Any] = {key: _plain(rule.get(key)) for key in RULE_KEYS}
    if (share := own_share(rule.get("supermajority"))) is not None:
        held["supermajority"] = share
    return hashlib.sha256(canonical_json([seats, held])).hexdigest()


def verdict_panel_hash(verdict: Verdict) -> str:
    """The panel hash recomputed from a verdict's report; what a person filled in stays out."""
    policy, own = verdict.policy, verdict.set_by_you
    fraction = verdict.trim.fraction
    rule = {
        "strategy": _stated("strategy", policy, own),
        "trim_fraction": policy.trim_fraction if fraction is None else fraction,
        "rounding": verdict.trim.rounding,
        "threshold": _stated("threshold", policy, own),
        "quorum": _stated("quorum", policy, own),
        "rubric_sha256": text_hash(verdict.text("rubric")),
        "supermajority": policy.supermajority,
    }
    bodies = verdict.body.get("jurors") or ()
    return panel_hash([_juror(*pair) for pair in zip(verdict.ballots, bodies, strict=True)], rule)


def panel_hash_status(verdict: Verdict) -> HashStatus | None:
    """``None`` without a stated hash; a hash that is not ours may be made otherwise."""
    stated = (verdict.body.get("provenance") or {}).get("panel_hash")
    if not stated:
        return None
    same = str(stated).strip().lower().removeprefix("sha256:") == verdict_panel_hash(verdict)
    return HashStatus.VERIFIED if same else HashStatus.UNVERIFIED


def _juror(ballot: Ballot, body: Body) -> dict[str, Any]:
    return {**{key: body.get(key) for key in JUROR_KEYS}, "weight": ballot.weight}


def _stated(name: str, policy: Policy, filled: Sequence[str]) -> Any:
    return None if name in filled else getattr(policy, name)


def text_hash(text: str | None) -> str | None:
    """sha256 of a text such as a rubric, where there is one."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
