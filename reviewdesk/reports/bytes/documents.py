"""The JSON documents of a file: one, or one a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.scroll import decode_utf8
from reviewdesk.reports.bytes.strict_json import (
    Fail,
    ImportTally,
    NonStandardJsonError,
    decode_whole,
    syntax_problem,
)
from reviewdesk.reports.bytes.window import read_lines

MAX_DOCUMENT = 64 << 20


def documents(
    stream: BinaryIO, outline: Outline, fail: Fail, tally: ImportTally
) -> Iterator[tuple[int, Any]]:
    """Documents with their line, which is 0 for a file that is one document.

    One document is held whole and so has a bound; lines stream.
    """
    if outline.goes_on:
        yield from read_lines(stream, fail, tally)
        return
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise fail("", "is over 64 MiB in one JSON document", "Write it as NDJSON.")
    text = decode_utf8(data, 0, fail)
    try:
        yield 0, decode_whole(text, tally)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fail(where, syntax_problem(error), "") from error
    except NonStandardJsonError as error:
        raise fail("", error.problem, error.hint) from error
