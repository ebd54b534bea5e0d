"""What identifies an item: a hash of the content that was judged."""

from __future__ import annotations

import hashlib
import json

from reviewdesk.domain.verdict import Body

_CONTENT = ("input", "output", "alternative", "reference", "rubric")


def canonical_json(value: object) -> bytes:
    """Compact UTF-8 JSON with sorted keys: what hashes are taken over."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def content_hash(body: Body) -> str:
    """Return the sha256 of what was judged: its texts, and the dimension where one is set."""
    return hashlib.sha256(canonical_json(_content(body))).hexdigest()


def item_hash(body: Body, run_hash: str) -> str:
    """The identity a label is kept under: the content, so that one label serves every panel.

    Where there is no output to identify the content, run hash and verdict id are appended, and the
    label does not travel.
    """
    content = _content(body)
    if not body.get("output"):
        content += [run_hash, body["id"]]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _content(body: Body) -> list[object]:
    """List the five texts that are judged. A response may be judged on several dimensions."""
    content = [body.get(key) for key in _CONTENT]
    dimension = body["case"].get("dimension")
    return content if dimension is None else [*content, dimension]
