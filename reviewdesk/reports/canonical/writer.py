"""Write a canonical report from verdicts in any order, without holding them in memory."""

import json
import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from reviewdesk.domain.safetext import cap_marks, show_line
from reviewdesk.errors import ReportError, reason
from reviewdesk.file_output import whole_file
from reviewdesk.reports.bytes.strict_json import MAX_ITEM

_INVISIBLE = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters and invisible characters; in JSON they occur only inside texts."""


def line_of(value: Mapping[str, Any]) -> str:
    """Return an object as JSON on one line, as canonical reports are written."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return harmless(text)


def harmless(line: str) -> str:
    """Return the same JSON, safe for a terminal.

    Control and invisible characters are escaped, also combining marks after the 8th on a character.
    """
    if not line.isascii():
        # A juror's JSON may escape lone surrogates, which UTF-8 cannot encode.
        line = line.encode("utf-8", "replace").decode("utf-8")
    return cap_marks(_INVISIBLE.sub(lambda match: _escaped(match[0]), line), _escaped)


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def report_pieces(
    header: Mapping[str, Any], lines: Iterable[str], *, as_lines: bool
) -> Iterator[str]:
    """Yield the report as one JSON document or as JSON Lines; each of ``lines`` is a verdict."""
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
"""The number of characters kept of each raw reply if a verdict is too long to be read again."""

_LINES = frozenset({".jsonl", ".ndjson"})


def is_lines(path: Path) -> bool:
    return path.suffix.lower() in _LINES


class ReportWriter:
    """Collects verdicts in any order, then writes the whole report in one atomic step.

    Until then they are in an unnamed temporary file, so that an aborted run leaves no files.
    """

    def __init__(self, path: Path, count: int, *, replace: bool) -> None:
        """Prepare for ``count`` verdicts; ``replace`` allows the report to take a used name.

        Raise ReportError if the folder of ``path`` cannot be written to.
        """
        self._path = path
        self._replace = replace
        self._starts = array("q", [-1]) * count
        try:
            self._spool: IO[bytes] = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 - close()
        except OSError as error:
            raise self._unwritable(error) from error

    def put(self, place: int, body: Mapping[str, Any]) -> None:
        line = fitting(body).encode()
        try:
            self._starts[place] = self._spool.tell()
            self._spool.write(line + b"\n")
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, header: Mapping[str, Any]) -> None:
        """Write the report: JSON Lines if its name ends in .jsonl or .ndjson, else one document."""
        lines = (self._line(start) for start in self._starts if start >= 0)
        pieces = report_pieces(header, lines, as_lines=is_lines(self._path))
        try:
            with whole_file(self._path, replace=self._replace) as out:
                out.writelines(piece.encode() for piece in pieces)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        self._spool.close()

    def _line(self, start: int) -> str:
        self._spool.seek(start)
        return self._spool.readline().removesuffix(b"\n").decode()

    def _unwritable(self, error: OSError) -> ReportError:
        hint = "The replies are kept. Fix that, then continue with --resume."
        return ReportError(show_line(str(self._path), 200), "", reason(error), hint)


def fitting(body: Mapping[str, Any]) -> str:
    """Return the verdict on one line, with shorter raw replies if it is too long to read again."""
    line = line_of(body)
    return line if len(line.encode()) <= MAX_ITEM else line_of(_shorten(body))


def _shorten(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict with shortened raw replies; the journal keeps them whole."""
    jurors = [
        {**juror, "raw": juror["raw"][:RAW]} if isinstance(juror.get("raw"), str) else juror
        for juror in body["jurors"]
    ]
    reruns = {"reruns": [_shorten(rerun) for rerun in body["reruns"]]} if "reruns" in body else {}
    return {**body, "jurors": jurors, **reruns}
