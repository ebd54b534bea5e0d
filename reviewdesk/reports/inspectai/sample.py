"""One sample of a log: read by its parts, because a transcript can be longer than memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.strict_json import Fail
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.inspectai.events import EVENT, Transcript
from reviewdesk.reports.inspectai.picking import ANY, KEEP, OTHERS, pick
from reviewdesk.reports.wording import spell_path

_PANEL = {"panel": KEEP}
_VALUE = {"value": KEEP, "explanation": KEEP, "reason": KEEP, "metadata": _PANEL}
_SOURCE = {"author": KEEP, "timestamp": KEEP, "reason": KEEP}
_SAMPLE = {
    **dict.fromkeys(("id", "epoch", "input", "choices", "target"), KEEP),
    "output": {"completion": KEEP, "choices": [{"message": {"content": KEEP}}]},
    "scores": {ANY: {**_VALUE, OTHERS: KEEP, "history": [{**_VALUE, "provenance": _SOURCE}]}},
    "error": {"message": KEEP},
    "invalidation": _SOURCE,
}
"""What of a sample is taken over. Metadata, stores and model settings never are."""

_MOST_TEXT = 64 << 20
"""How much of a sample's attachments is held, in characters."""


@dataclass(slots=True)
class Sample:
    """A sample as it stands in the log."""

    keys: dict[str, Any] = field(default_factory=dict)
    attachments: dict[str, str] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)
    held: int = 0

    def attach(self, name: str, value: Any) -> None:
        """Keep a text that stands aside, as long as there is room for it."""
        if isinstance(value, str) and self.held + len(value) <= _MOST_TEXT:
            self.held += len(value)
            self.attachments[name] = value


def read_sample(window: Window, where: str, fail: Fail) -> Sample | None:
    """The sample that the window stands before; nothing where there is no object."""
    if window.peek() != "{":
        window.skip(where)
        return None
    sample = Sample()
    seen: set[str] = set()
    for key in window.members():
        path = spell_path((key,), where)
        if key in seen:
            raise fail(where, f'has the key "{show_line(key, 60)}" twice', "Keep one of them.")
        seen.add(key)
        if key == "events" and window.peek() == "[":
            read_events(window, path, sample)
        elif key == "attachments" and window.peek() == "{":
            for name in window.members():
                sample.attach(name, window.skim(path))
        elif key in _SAMPLE:
            sample.keys[key] = pick(window, _SAMPLE[key], path)
        else:
            window.skip(path)
    return sample


def read_events(window: Window, path: str, sample: Sample) -> None:
    """Take in a list of events, one by one."""
    for index in window.elements():
        sample.transcript.take(pick(window, EVENT, f"{path}[{index}]"))
