"""Conversations in the shapes of several vendors: what came before, and the last answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.reports.mapping.conversation import Conversation, conversation

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Sun?"}, {"type": "image_url"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"name": "sky", "arguments": '{"city": "Rome"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "clear"},
    {"role": "assistant", "content": "Yes."},
]
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": "Sun?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hidden"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "sky", "input": {"city": "Rome"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": [{"text": "clear"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Sun?"}]},
    {"type": "function_call", "name": "sky", "arguments": '{"city": "Rome"}'},
    {"type": "function_call_output", "output": "clear"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
]
PARTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"type": "text", "content": "Sun?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "name": "sky", "arguments": {"city": "Rome"}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "response": "clear"}]},
]
CALLED = 'user: Sun?\n\nassistant: calls sky({"city": "Rome"})\n\ntool: clear'


def test_conversations_of_every_shape() -> None:
    before = (
        "system: Be brief.\n\nuser: Sun?\n[image_url]\n\n"
        'assistant: calls sky({"city": "Rome"})\n\ntool: clear'
    )
    assert conversation(CHAT) == Conversation(before, "Yes.")
    assert conversation(json.dumps(CHAT)) == conversation({"messages": CHAT}) == conversation(CHAT)
    before = CALLED.replace("assistant: calls", "assistant: Let me look.\n\nassistant: calls")
    assert conversation(BLOCKS) == Conversation(before, "Yes.")
    assert conversation(ITEMS) == Conversation(CALLED, "Yes.")
    assert conversation([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]) == (
        Conversation("q", "a")
    )
    assert conversation([{"role": "user", "content": "q"}]) == Conversation("q", None)
    for other in ("[1, 2", "hello", [], [1], {"a": 1}, [{"content": "a passage"}], None, 3):
        assert conversation(other) is None


def test_the_last_span_with_an_answer_holds_the_conversation() -> None:
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}]
    spans = [
        {"name": "agent", "attributes": {"gen_ai.operation.name": "invoke_agent"}},
        {
            "name": "chat",
            "attributes": {
                "gen_ai.input.messages": json.dumps(PARTS),
                "gen_ai.output.messages": json.dumps(answer),
            },
        },
        {"name": "sky", "attributes": {"gen_ai.tool.name": "sky"}},
    ]
    assert conversation(spans) == Conversation(CALLED, "Yes.")


@pytest.mark.parametrize(
    "told",
    [
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Sun?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Yes.",
        },
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Sun?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Yes.",
        },
        {"input.value": "Sun?", "output.value": "Yes."},
    ],
)
def test_attributes_that_spell_messages_out(told: dict[str, str]) -> None:
    assert conversation([{"attributes": told}]) == Conversation("Sun?", "Yes.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "tool_calls", "attributes", "parts", "text"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_nothing_that_json_can_hold_raises(value: Any) -> None:
    found = conversation(value)
    assert found is None or isinstance(found, Conversation)
