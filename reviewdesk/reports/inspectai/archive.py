"""Read the members of an ``.eval`` archive: the header, and samples whole or in parts."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.bytes.zip_archive import ZipArchive
from reviewdesk.reports.inspectai.picking import ANY, KEEP, pick
from reviewdesk.reports.inspectai.sample import Sample, read_events, read_sample

_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLE_BODY = "/sample.json"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?:/sample)?\.json\Z", re.DOTALL)
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
        self.samples = [name for name in names if _SAMPLE.match(name)]
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
