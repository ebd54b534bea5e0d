"""Read a conversation as texts: the turns before the last answer, and that answer.

Messages are those of OpenAI, Anthropic, ShareGPT, or spans of OpenTelemetry and its variants.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from reviewdesk.reports.mapping.values import filled, first, listed, record, text

_ROLES = {
    "human": "user", "gpt": "assistant", "ai": "assistant", "model": "assistant",
    "bot": "assistant", "chatbot": "assistant", "agent": "assistant", "support": "assistant",
    "customer": "user", "client": "user", "caller": "user", "developer": "system",
    "function": "tool",
}  # fmt: skip
_BRACKETS = frozenset({"[", "{"})
_SPEAKERS = {"user", "assistant", "system"}
_CALLS = {"tool_use", "tool_call", "function_call", "server_tool_use"}
_RESULTS = {"tool_result", "tool_call_response", "function_call_output", "tool_response"}
_HIDDEN = {"thinking", "redacted_thinking", "reasoning"}
"""Types of message parts that do not belong to an answer."""
_SPAN_INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "input.value")
_SPAN_OUTPUTS = (
    "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "output.value",
)  # fmt: skip


class SpokenTurn(Struct, frozen=True):
    """One turn: ``user``, ``assistant``, ``system``, ``tool`` or another role, and its text."""

    role: str
    text: str
    call: bool = False
    """Whether the turn only calls a tool."""


class Conversation(Struct, frozen=True):
    """The turns before the last answer, and the last answer; ``None`` for a missing one."""

    input: str | None
    output: str | None


def conversation(value: Any) -> Conversation | None:
    """Return a conversation, or ``None`` if the value is not one.

    ``value`` is a list of messages or spans, a text that holds one as JSON, or an object with
    ``messages``. Turns after the last answer, such as a tool's result, stay with the answer.
    """
    turns = _turns_of(value)
    if not turns:
        return None
    answers = [at for at, one in enumerate(turns) if one.role == "assistant" and not one.call]
    if not answers:
        return Conversation(_joined(turns), None)
    last = answers[-1]
    output = [turns[last].text, *(_spoken(one) for one in turns[last + 1 :])]
    return Conversation(_joined(turns[:last]), "\n\n".join(output))


def question(value: Any) -> str | None:
    """Return an input as text: all turns of a conversation, or else as ``text`` writes it."""
    turns = _turns_of(value)
    return _joined(turns) if turns else _only_text(value)


def answer(value: Any) -> str | None:
    """Return an output as text: a conversation's last answer, or else as ``text`` writes it."""
    found = conversation(value)
    return _only_text(value) if found is None else found.output


def _only_text(value: Any) -> str | None:
    """Return the single text of an object such as ``{"answer": ...}``, else the value as text."""
    only = [*value.values()] if isinstance(value, dict) and len(value) == 1 else [value]
    return only[0] if isinstance(only[0], str) else text(value)


def _turns_of(value: Any) -> list[SpokenTurn]:
    """Return every turn of a conversation; none if the value is not one."""
    if type(value) is str and value[:1].isalnum():
        return []
    value = _decoded(value)
    if isinstance(value, dict):
        value = first(value, ("messages", "conversation", "turns", "spans"))
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return []
    if any(map(_attributes, value)):
        # The last span with an answer holds all earlier turns.
        for span in map(_attributes, reversed(value)):
            if said := list(_told(span, _SPAN_OUTPUTS, "assistant")):
                turns = [*_told(span, _SPAN_INPUTS, "user"), *said]
                break
        else:
            return []
    else:
        turns = list(_turns(value))
    return [] if _SPEAKERS.isdisjoint(one.role for one in turns) else turns


def _joined(turns: list[SpokenTurn]) -> str | None:
    """Return turns with their roles; a single turn of the user has no role."""
    if len(turns) == 1 and turns[0].role == "user":
        return turns[0].text
    return "\n\n".join(map(_spoken, turns)) or None


def _spoken(turn: SpokenTurn) -> str:
    return f"{turn.role}: {turn.text}"


def _turns(messages: Iterable[Any]) -> Iterator[SpokenTurn]:
    for message in messages:
        one = record(message)
        if "message" in one and "role" not in one:
            one = record(one["message"])
        kind = one.get("type")
        if kind in _CALLS or kind in _RESULTS:
            yield from _parts("assistant", [one])
            continue
        stated = filled(first(one, ("role", "from", "speaker", "author"))) or ""
        role = _ROLES.get(stated.lower(), stated.lower()) or "turn"
        content = first(one, ("content", "parts", "value", "text"))
        if role == "tool" and isinstance(content, str):
            name = filled(one.get("name"))
            content = f"{name}: {content}" if name else content
        yield from _parts(role, content if isinstance(content, list) else [content])
        called = one.get("function_call")
        for call in [*listed(one.get("tool_calls")), *([called] if called else [])]:
            yield from _parts(role, [{**record(call), "type": "tool_call"}])


def _parts(role: str, parts: list[Any]) -> Iterator[SpokenTurn]:
    """Yield the text of one message's parts, and each call and result of a tool separately."""
    said: list[str] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else "text"
        if kind not in _CALLS and kind not in _RESULTS:
            found = part
            if isinstance(part, dict):
                found = first(part, ("text", "content", "refusal"))
                found = f"[{kind}]" if found is None else found
            said.append("" if kind in _HIDDEN else text(found) or "")
            continue
        if any(said):
            yield SpokenTurn(role, "\n".join(filter(None, said)))
            said = []
        if kind in _CALLS:
            yield SpokenTurn(role, _call_text(part), call=True)
        elif found := text(first(part, ("content", "output", "response", "result"))):
            yield SpokenTurn("tool", found)
    if any(said):
        yield SpokenTurn(role, "\n".join(filter(None, said)))


def _call_text(call: Mapping[str, Any]) -> str:
    call = record(call.get("tool_call")) or call
    function = record(call.get("function")) or call
    name = filled(function.get("name")) or "a tool"
    given = _decoded(first(function, ("arguments", "input", "args", "parameters")))
    shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return f"calls {name}({'' if given is None else shown})"


def _decoded(value: Any) -> Any:
    """Return the JSON in a text that begins as a list or an object, else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in _BRACKETS:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    found = first(span, ("attributes", "span_attributes"))
    return record(_decoded(found))


def _told(told: Mapping[str, Any], names: tuple[str, ...], role: str) -> Iterator[SpokenTurn]:
    for name in names:
        value = _decoded(told.get(name)) if name in told else _gathered(told, f"{name}.")
        if isinstance(value, dict):
            value = value.get("messages") or [value]
        if isinstance(value, list):
            yield from _turns(value)
            return
        if said := filled(value):
            yield SpokenTurn(role, said)
            return


def _gathered(told: Mapping[str, Any], prefix: str) -> list[Any] | None:
    """Return the list that attributes such as ``PREFIX0.role`` spell out, or ``None``."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in told.items():
        place, _, rest = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and place.isdecimal() and rest:
            held: dict[str, Any] = found.setdefault(int(place), {})
            *outer, last = rest.removeprefix("message.").split(".")
            for step in outer:
                inner = held.setdefault(step, {})
                if not isinstance(inner, dict):
                    break
                held = inner
            else:
                held[last] = value
    return [_listed(found[place]) for place in sorted(found)] or None


def _listed(value: Any) -> Any:
    """Return numbered objects as lists, at every depth."""
    if not isinstance(value, dict):
        return value
    if value and all(str(key).isdecimal() for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(inner) for key, inner in value.items()}
