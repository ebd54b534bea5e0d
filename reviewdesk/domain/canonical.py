"""The shape of a canonical body: a verdict of ``reviewdesk.report/1`` as it is stored.

The types of ``report_model`` check what comes from files. A stored body leaves optional keys
out instead of giving them null, except where null has a meaning of its own: a ballot's ``pass``
withholds the vote, and ``value`` of the agreement and ``pass`` of a check are undefined.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from reviewdesk.domain.report_model import VerdictModel, json_of

Free: TypeAlias = Mapping[str, Any]
"""An object whose keys the format leaves open."""
CanonicalVerdict: TypeAlias = dict[str, Any]
"""What a panel decided about one item; ``VerdictModel`` has its keys."""
CanonicalBallot: TypeAlias = dict[str, Any]
"""The ballot of one juror; ``JurorModel`` has its keys."""
CanonicalCheck: TypeAlias = dict[str, Any]
"""A deterministic assertion beside the jury: its ``name``, ``pass`` and ``reason``."""


def stored_body(text: str | bytes) -> CanonicalVerdict:
    """Return a verdict that the desk keeps as JSON, which was checked before it was stored."""
    body: CanonicalVerdict = json.loads(text)
    return body


def without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def number(value: object) -> float | None:
    """Return the value as a float, or ``None`` if it is a boolean, not a number, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def own_facts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``meta.reviewdesk``: what our reports state beyond the format's fields; or {}."""
    own = (body.get("meta") or {}).get("reviewdesk")
    return own if isinstance(own, Mapping) else {}


def canonical_json(value: object) -> bytes:
    """Return compact UTF-8 JSON with sorted keys, the form that all hashes are taken over."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def canonical_texts(*texts: str | None) -> bytes:
    """Return ``canonical_json`` of a list of texts, many times faster."""
    return json_of(texts)


def content_digest(verdict: VerdictModel, *more: str) -> bytes:
    """Return the sha256 of what was judged: its texts, and the dimension if the case sets one."""
    content = [
        verdict.input, verdict.output, verdict.alternative, verdict.reference, verdict.rubric,
    ]  # fmt: skip
    # One response may be judged on several dimensions.
    dimension = verdict.case.dimension
    content += [*([] if dimension is None else [dimension]), *more]
    return hashlib.sha256(json_of(content)).digest()


def item_digest(verdict: VerdictModel, content: bytes, run_hash: str) -> bytes:
    """Return the hash that a label is stored under, given the digest of the content.

    It is that of the content, so that a label serves every panel. If the verdict has no output to
    identify the content, run hash and verdict id are added, and the label applies to no other run.
    """
    return content if verdict.output else content_digest(verdict, run_hash, verdict.id)


def drawn_name(content: bytes, verdict_id: str | None) -> str:
    """Return the name under which a content is drawn: its item hash, the same for every panel.

    Without an output the item hash depends on the run. The name then depends on the verdict's id
    instead, so that two panels over the same cases draw alike.
    """
    if verdict_id is None:
        return content.hex()
    return hashlib.sha256(canonical_texts(content.hex(), verdict_id)).hexdigest()
