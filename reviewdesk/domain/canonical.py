"""The shape of a canonical body: a verdict of ``reviewdesk.report/1`` as it is stored.

The models of ``reports/canonical`` check what comes from files. A stored body leaves optional keys
out instead of giving them null, except where null has a meaning of its own: a ballot's ``pass``
withholds the vote, and ``value`` of the agreement and ``pass`` of a check are undefined.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

Free: TypeAlias = Mapping[str, Any]
"""An object whose keys the format leaves open."""
CanonicalVerdict: TypeAlias = dict[str, Any]
"""What a panel decided about one item; ``VerdictModel`` of the reports has its keys."""
CanonicalBallot: TypeAlias = dict[str, Any]
"""The ballot of one juror; ``JurorModel`` of the reports has its keys."""
CanonicalCheck: TypeAlias = dict[str, Any]
"""A deterministic assertion beside the jury: its ``name``, ``pass`` and ``reason``."""
Written: TypeAlias = tuple[CanonicalVerdict, str | bytes | None]
"""A body, and its JSON where the file already has it as the desk keeps it."""


def stored_body(text: str) -> CanonicalVerdict:
    """Return a verdict that the desk keeps as JSON, which was checked before it was stored."""
    body: CanonicalVerdict = json.loads(text)
    return body


def without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record without its keys that are null."""
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
    return msgspec.json.encode(texts)


def content_digest(body: CanonicalVerdict) -> bytes:
    """Return the sha256 of what was judged: its texts, and the dimension if the case sets one."""
    return hashlib.sha256(_content(body)).digest()


def item_digest(body: CanonicalVerdict, content: bytes, run_hash: str) -> bytes:
    """Return the hash that a label is stored under, given the digest of the content.

    It is that of the content, so that a label serves every panel. If the verdict has no output to
    identify the content, run hash and verdict id are added, and the label applies to no other run.
    """
    if body.get("output"):
        return content
    return hashlib.sha256(_content(body, run_hash, body["id"])).digest()


def drawn_name(content: bytes, verdict_id: str | None) -> str:
    """Return the name under which a content is drawn: its item hash, the same for every panel.

    Without an output the item hash depends on the run. The name then depends on the verdict's id
    instead, so that two panels over the same cases draw alike.
    """
    if verdict_id is None:
        return content.hex()
    return hashlib.sha256(canonical_texts(content.hex(), verdict_id)).hexdigest()


def _content(body: CanonicalVerdict, *more: str) -> bytes:
    content = [body.get(key) for key in ("input", "output", "alternative", "reference", "rubric")]
    # One response may be judged on several dimensions.
    dimension = body["case"].get("dimension")
    return msgspec.json.encode([*content, *([] if dimension is None else [dimension]), *more])
