"""Hashes that identify an item by the content that was judged."""

from __future__ import annotations

import hashlib
import json

from reviewdesk.domain.canonical import CanonicalVerdict

_CONTENT = ("input", "output", "alternative", "reference", "rubric")


def canonical_json(value: object) -> bytes:
    """Return compact UTF-8 JSON with sorted keys, the form that all hashes are taken over."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def content_hash(body: CanonicalVerdict) -> str:
    """Return the sha256 of what was judged: its texts, and the dimension if the case sets one."""
    return hashlib.sha256(canonical_json(_content(body))).hexdigest()


def item_hash(body: CanonicalVerdict, run_hash: str) -> str:
    """Return the hash that a label is stored under: of the content, so that it serves every panel.

    If the verdict has no output to identify the content, run hash and verdict id are added, and the
    label applies to no other run.
    """
    content = _content(body)
    if not body.get("output"):
        content += [run_hash, body["id"]]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _content(body: CanonicalVerdict) -> list[object]:
    content = [body.get(key) for key in _CONTENT]
    # One response may be judged on several dimensions.
    dimension = body["case"].get("dimension")
    return content if dimension is None else [*content, dimension]
