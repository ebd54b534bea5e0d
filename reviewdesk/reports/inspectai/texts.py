"""The texts of a sample: messages in words, and what was moved out of them put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ATTACHED = "attachment://"


class Texts:
    """Reads texts of one sample, whose long ones stand aside as attachments."""

    def __init__(self, attachments: Mapping[str, str]) -> None:
        """Take the attachments by the name they are referred to."""
        self._attachments = attachments

    def plain(self, value: Any) -> str | None:
        """A text, or nothing where there is none."""
        if not isinstance(value, str):
            return None
        if value.startswith(_ATTACHED):
            return self._attachments.get(value[len(_ATTACHED) :], value)
        return value

    def content(self, value: Any) -> str | None:
        """The content of a message: a text, or parts of which those that are no text are named."""
        if not isinstance(value, list):
            return self.plain(value)
        parts = (self._part(part) for part in value)
        return "\n".join(part for part in parts if part) or None

    def messages(self, value: Any) -> str | None:
        """An input: a text, the one user message, or a conversation with its roles."""
        if not isinstance(value, list):
            return self.plain(value)
        said = [
            (str(message.get("role")), self.content(message.get("content")) or "")
            for message in value
            if isinstance(message, dict)
        ]
        if len(said) == 1 and said[0][0] == "user":
            return said[0][1]
        return "\n\n".join(f"{role}: {text}" for role, text in said) or None

    def output(self, value: Any) -> str | None:
        """What a model answered: its completion, else the content of its first choice."""
        if not isinstance(value, dict):
            return None
        if completion := self.plain(value.get("completion")):
            return completion
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        return self.content(message.get("content")) if isinstance(message, dict) else None

    def reference(self, value: Any) -> str | list[str] | None:
        """A target: one text, or several of which each will do."""
        if not isinstance(value, list):
            return self.plain(value) or None
        texts = [text for text in map(self.plain, value) if text is not None]
        return texts[0] if len(texts) == 1 else texts or None

    def _part(self, part: Any) -> str | None:
        if isinstance(part, str):
            return self.plain(part)
        if not isinstance(part, dict):
            return None
        if part.get("type") == "text":
            return self.plain(part.get("text"))
        # A model's own thoughts are no part of what it said.
        return None if part.get("type") == "reasoning" else f"[{part.get('type')}]"
