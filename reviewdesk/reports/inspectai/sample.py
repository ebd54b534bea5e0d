"""Read the samples of a log, in JSON or in an ``.eval`` archive.

A sample is read in parts, because its transcript may not fit into memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.bytes.zip_archive import ZipArchive
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


_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLE_BODY = "/sample.json"
_SAMPLE_NAME = re.compile(r"samples/.+_epoch_\d+(?:/sample)?\.json\Z", re.DOTALL)
_PARTS = re.compile(r"(samples/.+_epoch_\d+/)(events|attachments)/(\d{1,18})\.json\Z", re.DOTALL)
"""Parts of a long sample. The number in a name is the index of the part's first element."""

_MOST_SHOWN = 5
_RUN = {"status": KEEP, "eval": {ANY: KEEP}, "results": {"scores": KEEP}}


class LogArchive:
    """An ``.eval`` archive. Inspect writes it member by member, so it may end early."""

    def __init__(self, stream: BinaryIO, fail: Fail, max_size: int) -> None:
        """Read the archive's directory.

        Raises:
            InputFileError: the archive is damaged, or holds no Inspect log.
        """
        self._zip = ZipArchive(stream, fail, max_size)
        self._fail = fail
        names = self._zip.names
        self.samples = [name for name in names if _SAMPLE_NAME.match(name)]
        self._parts: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for found in filter(None, map(_PARTS.match, names)):
            folder, kind, first = found.groups()
            self._parts.setdefault((folder, kind), []).append((int(first), found.string))
        if _HEADER not in names and _START not in names:
            listed = ", ".join(show_line(name, 40) for name in names[:_MOST_SHOWN]) or "nothing"
            raise fail(
                "",
                f"is a zip archive without an Inspect log: there is no {_HEADER} in it ({listed})",
                "Unpack it, and open the report inside it.",
            )
        self._start = _HEADER if _HEADER in names else _START

    @property
    def notes(self) -> list[str]:
        """Notes for the person who imports the archive, one a line."""
        if not (count := self._zip.replaced):
            return []
        return [f"left out {count} members that a later one of the same name replaces"]

    def header(self) -> dict[str, Any]:
        """Return the run's header. An interrupted log has only the header written at its start."""
        with self._zip.open(self._start) as member:
            window = Window(member, self._fail, ImportTally(lenient=True))
            found = pick(window, _RUN, self._start)
        if not isinstance(found, dict) or not isinstance(found.get("eval"), dict):
            raise self._fail(self._start, "says nothing of a run", "Write the log again.")
        return found

    def sample(self, name: str, tally: ImportTally) -> Sample | None:
        """Read the sample in a member, with the parts that separate members hold.

        Return None if the member holds no JSON object.
        """
        with self._zip.open(name) as member:
            sample = read_sample(Window(member, self._fail, tally), "$", self._fail)
        if sample is not None and name.endswith(_SAMPLE_BODY):
            folder = name.removesuffix(_SAMPLE_BODY) + "/"
            for _, part in sorted(self._parts.get((folder, "events"), ())):
                with self._zip.open(part) as member:
                    read_events(Window(member, self._fail, tally), "$", sample)
            for first, part in sorted(self._parts.get((folder, "attachments"), ())):
                with self._zip.open(part) as member:
                    window = Window(member, self._fail, tally)
                    for index in window.elements():
                        sample.attach(str(first + index), window.skim("$"))
        return sample
