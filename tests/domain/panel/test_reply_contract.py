"""The one form of a reply: its keys in order, and what keeps to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from reviewdesk.domain.panel.reply_contract import breach, parts, schema, shape

VALUES = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | st.text(max_size=3)
REPLY: dict[str, Any] = {
    "reason": "Even.", "pass": None, "score": 0.5, "confidence": 1, "nonce": "ab",
}  # fmt: skip


@pytest.mark.parametrize(("labels", "answer"), [(False, "pass"), (True, "label")])
def test_prompt_and_schema_name_the_same_keys_in_the_same_order(labels: bool, answer: str) -> None:
    keys = ["reason", answer, "score", "confidence", "nonce"]
    assert [part.key for part in parts(labels=labels)] == keys
    made = schema(labels=labels)
    assert list(made["properties"]) == made["required"] == keys
    told = shape("ab12", labels=labels)
    places = [told.index(f'"{key}":') for key in keys]
    assert places == sorted(places)
    assert told.endswith('"nonce": "ab12"}')


@given(st.dictionaries(st.sampled_from([*REPLY, "label", "verdict"]), VALUES))
def test_the_reader_and_the_schema_agree_on_every_whole_reply(said: dict[str, Any]) -> None:
    """Held against jsonschema; the reader alone takes a reply that lacks a key."""
    for labels in (False, True):
        made = schema(labels=labels)
        made["required"] = []
        assert (breach(said, labels=labels) is None) is Draft202012Validator(made).is_valid(said)


def test_a_whole_reply_is_valid_and_each_key_is_required_of_an_endpoint() -> None:
    checker = Draft202012Validator(schema())
    assert checker.is_valid(REPLY)
    assert breach(REPLY) is None
    assert "ab" not in json.dumps(schema())
    for key in REPLY:
        assert not checker.is_valid({name: REPLY[name] for name in REPLY if name != key})
