"""Writes a canonical report whose verdicts come in any order, without holding them in memory."""

from __future__ import annotations

import json
import os
import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReportError
from reviewdesk.reports.bytes.strict_json import MAX_ITEM

_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""What acts on a terminal or hides from a reader; in JSON it stands in texts alone."""


def line_of(value: Mapping[str, Any]) -> str:
    """An object on one line, as canonical reports are written."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return harmless(text)


def harmless(line: str) -> str:
    """The same JSON with what cannot be seen spelled out, so that it may go to a terminal."""
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], _no_halves(line))


def _no_halves(line: str) -> str:
    """Half a surrogate pair, which a juror's JSON may spell out, has no bytes of its own."""
    return line if line.isascii() else line.encode("utf-8", "replace").decode("utf-8")


def report_pieces(
    header: Mapping[str, Any], lines: Iterable[str], *, as_lines: bool
) -> Iterator[str]:
    """The report as one JSON document, or as JSON Lines; ``lines`` are verdicts, one line each."""
    first = line_of(header)
    if as_lines:
        yield f"{first}\n"
        for line in lines:
            yield f"{line}\n"
        return
    yield f'{first[:-1]},"verdicts":['
    for at, line in enumerate(lines):
        yield (",\n" if at else "\n") + line
    yield "\n]}\n"


FORMAT_NAME = "reviewdesk.report/1"

RAW = 20_000
"""Characters that are left of a juror's words where a verdict is too long to be read again."""

_LINES = frozenset({".jsonl", ".ndjson"})


def is_lines(path: Path) -> bool:
    """Whether a report of that name is written as JSON Lines."""
    return path.suffix.lower() in _LINES


class ReportWriter:
    """Takes verdicts with their places and puts the report in its place at once, whole.

    Until then they lie in a file without a name, so that a stop leaves nothing behind.
    """

    def __init__(self, path: Path, count: int) -> None:
        """Make room for so many verdicts.

        Raises:
            ReportError: nothing can be written there.
        """
        self._path = path
        self._starts = array("q", [-1]) * count
        try:
            self._spool: IO[bytes] = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 - close()
        except OSError as error:
            raise self._unwritable(error) from error

    def put(self, place: int, body: Mapping[str, Any]) -> None:
        """Take the verdict of one place."""
        line = fitting(body).encode()
        try:
            self._starts[place] = self._spool.tell()
            self._spool.write(line + b"\n")
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, header: Mapping[str, Any]) -> None:
        """Put the report there: JSON Lines where its name ends so, else one JSON document."""
        part = self._path.with_name(f".{self._path.name}.part")
        try:
            with part.open("wb") as out:
                pieces = report_pieces(header, self._lines(), as_lines=is_lines(self._path))
                out.writelines(piece.encode() for piece in pieces)
                out.flush()
                os.fsync(out.fileno())
            part.replace(self._path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Let go of what was taken."""
        self._spool.close()

    def _lines(self) -> Iterator[str]:
        for start in self._starts:
            if start >= 0:
                self._spool.seek(start)
                yield self._spool.readline().removesuffix(b"\n").decode()

    def _unwritable(self, error: OSError) -> ReportError:
        reason = (error.strerror or str(error)).lower()
        hint = "The replies stay. Mend that, then go on with --resume."
        return ReportError(show_line(str(self._path), 200), "", reason, hint)


def fitting(body: Mapping[str, Any]) -> str:
    """The verdict on one line, cut where it would be too long to be read again."""
    line = line_of(body)
    return line if len(line.encode()) <= MAX_ITEM else line_of(_shortened(body))


def _shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict with the start of what its jurors said; all of it is among the replies."""
    jurors = [
        {**juror, "raw": juror["raw"][:RAW]} if isinstance(juror.get("raw"), str) else juror
        for juror in body["jurors"]
    ]
    again = {"reruns": [_shortened(rerun) for rerun in body["reruns"]]} if "reruns" in body else {}
    return {**body, "jurors": jurors, **again}
