"""Read one sample of a log in parts, because its transcript may not fit into memory."""

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
"""The fields of a sample that are kept. Metadata, stores and model settings never are."""

_MOST_TEXT = 64 << 20
"""The most characters of a sample's attachments that are held."""


@dataclass(slots=True)
class Sample:
    """A sample of the log: its kept fields, attachments and model calls."""

    keys: dict[str, Any] = field(default_factory=dict)
    attachments: dict[str, str] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)
    held: int = 0

    def attach(self, name: str, value: Any) -> None:
        """Keep a text from the attachments, unless the sample already holds too much."""
        if isinstance(value, str) and self.held + len(value) <= _MOST_TEXT:
            self.held += len(value)
            self.attachments[name] = value


def read_sample(window: Window, where: str, fail: Fail) -> Sample | None:
    """Read the sample at the window. Return None if the value there is not an object."""
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
    """Read the list of events at the window into the sample's transcript."""
    for index in window.elements():
        sample.transcript.take(pick(window, EVENT, f"{path}[{index}]"))
