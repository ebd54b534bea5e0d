"""Read the texts of a sample: messages as plain text, with their attachments put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.reports.mapping.values import listed, record

_ATTACHED = "attachment://"


class Texts:
    """Reads the texts of one sample. Inspect stores the long ones as attachments."""

    def __init__(self, attachments: Mapping[str, str]) -> None:
        """Keep the attachments, keyed by the name that the texts refer to."""
        self._attachments = attachments

    def plain(self, value: Any) -> str | None:
        """Return the text, or the attachment that it refers to; None if it is not a text."""
        if not isinstance(value, str):
            return None
        if value.startswith(_ATTACHED):
            return self._attachments.get(value[len(_ATTACHED) :], value)
        return value

    def content(self, value: Any) -> str | None:
        """Return a message's content as text. A part that is not text becomes its ``[type]``."""
        if not isinstance(value, list):
            return self.plain(value)
        parts = (self._part(part) for part in value)
        return "\n".join(part for part in parts if part) or None

    def messages(self, value: Any) -> str | None:
        """Return an input: a text, a single user message, or a conversation with its roles."""
        if not isinstance(value, list):
            return self.plain(value)
        turns = [
            (str(message.get("role")), self.content(message.get("content")) or "")
            for message in value
            if isinstance(message, dict)
        ]
        if len(turns) == 1 and turns[0][0] == "user":
            return turns[0][1]
        return "\n\n".join(f"{role}: {text}" for role, text in turns) or None

    def output(self, value: Any) -> str | None:
        """Return a model's answer: its completion, else the content of its first choice."""
        if not isinstance(value, dict):
            return None
        if completion := self.plain(value.get("completion")):
            return completion
        choices = listed(value.get("choices")) or [None]
        return self.content(record(record(choices[0]).get("message")).get("content"))

    def reference(self, value: Any) -> str | list[str] | None:
        """Return a sample's target: one text, or a list if any of several texts is correct."""
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
        # A model's reasoning is not part of its answer.
        return None if part.get("type") == "reasoning" else f"[{part.get('type')}]"
