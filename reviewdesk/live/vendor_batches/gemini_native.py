"""Write a call in the form of Gemini's own interface, which its batches take."""

from __future__ import annotations

from typing import Any, Final

from reviewdesk.domain.panel.reasoning import Effort
from reviewdesk.domain.panel.reply_contract import schema
from reviewdesk.live.records import Call

_BUDGETS: Final = {Effort.NONE: 0, Effort.LOW: 1024, Effort.MEDIUM: 8192, Effort.HIGH: 24576}
"""The tokens of thinking that the vendor puts for an effort where a model takes budgets alone."""


def generate_body(call: Call) -> dict[str, Any]:
    """Return the body of ``generateContent`` that asks what chat completions would ask."""
    juror = call.juror
    settings: dict[str, Any] = {
        "maxOutputTokens": juror.max_tokens,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema(call.labels),
    }
    if juror.acting_temperature is not None:
        settings["temperature"] = juror.acting_temperature
    if thinking := _thinking(call):
        settings["thinkingConfig"] = thinking
    return {
        "systemInstruction": {"parts": [{"text": call.prompt.system}]},
        "contents": [{"role": "user", "parts": [{"text": call.prompt.user}]}],
        "generationConfig": settings,
    }


def _thinking(call: Call) -> dict[str, Any]:
    told, model = call.juror.reasoning, call.juror.model
    if told is None:
        return {}
    if isinstance(told, Effort) and not model.startswith("gemini-2"):
        return {"thinkingLevel": "minimal" if told is Effort.NONE else told.value}
    return {"thinkingBudget": _BUDGETS[told] if isinstance(told, Effort) else told}
