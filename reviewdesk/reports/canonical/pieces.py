"""A canonical report as pieces of text, one verdict at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
