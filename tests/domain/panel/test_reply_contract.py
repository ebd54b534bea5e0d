"""The one form of a reply: its keys in order, and what keeps to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from reviewdesk.domain.jury.label_words import LabelRules
from reviewdesk.domain.panel.prompt import breach, parts, schema, shape

VALUES = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | st.text(max_size=3)
REPLY: dict[str, Any] = {
    "reason": "Even.", "pass": None, "score": 0.5, "confidence": 1, "nonce": "ab",
}  # fmt: skip


DECLARED = LabelRules(labels=("KEEP", "REJECT", "SPLIT"), passing=("KEEP",), failing=("REJECT",))


@pytest.mark.parametrize(
    ("labels", "answers"),
    [
        (None, ["pass", "score"]),
        (LabelRules(), ["label", "score"]),
        # The score of a label would have no meaning, so it is not asked for.
        (DECLARED, ["label"]),
    ],
)
def test_prompt_and_schema_name_the_same_keys_in_the_same_order(
    labels: LabelRules | None, answers: list[str]
) -> None:
    keys = ["reason", *answers, "confidence", "nonce"]
    assert [part.key for part in parts(labels)] == keys
    made = schema(labels)
    assert list(made["properties"]) == made["required"] == keys
    told = shape("ab12", labels)
    places = [told.index(f'"{key}":') for key in keys]
    assert places == sorted(places)
    assert told.endswith('"nonce": "ab12"}')


@given(st.dictionaries(st.sampled_from([*REPLY, "label", "verdict"]), VALUES))
def test_the_reader_and_the_schema_agree_on_every_whole_reply(said: dict[str, Any]) -> None:
    """Held against jsonschema; the reader alone takes a reply that lacks a key."""
    for labels in (None, LabelRules()):
        made = schema(labels)
        made["required"] = []
        assert (breach(said, labels) is None) is Draft202012Validator(made).is_valid(said)


def test_declared_labels_are_an_enum_of_the_schema_and_of_the_prompt() -> None:
    label = schema(DECLARED)["properties"]["label"]
    assert label == {"type": ["string", "null"], "enum": ["KEEP", "REJECT", "SPLIT", None]}
    assert '"KEEP" or "REJECT" or "SPLIT", or null' in shape("ab12", DECLARED)
    # A brace or a quote of a label stays one, and never becomes the nonce.
    odd = LabelRules(labels=('a "b"', "{nonce} x"))
    assert shape("ab12", odd).count("ab12") == 1


def test_a_whole_reply_is_valid_and_each_key_is_required_of_an_endpoint() -> None:
    checker = Draft202012Validator(schema())
    assert checker.is_valid(REPLY)
    assert breach(REPLY) is None
    assert "ab" not in json.dumps(schema())
    for key in REPLY:
        assert not checker.is_valid({name: REPLY[name] for name in REPLY if name != key})
