"""A chain as a file: a line of JSON for each event, after one that says whose they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from reviewdesk.domain.content import canonical_json
from reviewdesk.domain.labels.chain import (
    HASH,
    LONGEST,
    ChainEvent,
    ChainProblem,
    checked,
    json_object,
)

SCHEMA = "reviewdesk.chain/1"
NEWER = "the file was written by a newer reviewdesk"
LINE = 2 * LONGEST
"""The most bytes of a line."""
_MARK = SCHEMA.partition("/")[0] + "/"
_PLAIN = re.compile(r"[a-z0-9_-]")
_NAME = 150
FILE = re.compile(r"[0-9a-f]{32}/by-[a-z0-9_%~-]{1,250}\.jsonl")
"""What the name of a chain's file looks like, under the folder of all chains."""


class ChainName(Struct, frozen=True):
    """Whose chain a file holds."""

    desk: str
    reviewer: str


def header_line(name: ChainName) -> bytes:
    """Return the first line of a chain's file."""
    header = {"schema": SCHEMA, "desk": name.desk, "reviewer": name.reviewer}
    return canonical_json(header) + b"\n"


def event_line(event: ChainEvent) -> bytes:
    """Return an event as one line."""
    item = None if event.item is None else event.item.hex()
    return canonical_json({**event.row(), "item": item}) + b"\n"


def read_header(line: bytes) -> ChainName:
    """Read the first line of a chain's file.

    Raises:
        ChainProblem: it is another kind of file, or one of a newer version.
    """
    values = json_object(_text(line, 0), 0)
    schema = values.pop("schema", None)
    found = set(values)
    if isinstance(schema, str) and schema.startswith(_MARK) and schema != SCHEMA:
        raise ChainProblem(0, NEWER)
    texts = all(isinstance(value, str) for value in values.values())
    if schema != SCHEMA or found != {"desk", "reviewer"} or not texts:
        raise ChainProblem(0, f"the file does not begin as {SCHEMA} does")
    return ChainName(**values)


def read_events(lines: Iterable[bytes]) -> Iterator[ChainEvent]:
    """Yield the events of the lines behind the first.

    Raises:
        ChainProblem: a line is no event, or the last one is cut off.
    """
    for seq, line in enumerate(lines, start=1):
        values = json_object(_text(line, seq), seq)
        item = values.get("item")
        if item is not None:
            if not isinstance(item, str) or not HASH.fullmatch(item):
                raise ChainProblem(seq, "its item is not one")
            values["item"] = bytes.fromhex(item)
        yield checked(values, seq)


def _text(line: bytes, seq: int) -> str:
    if len(line) > LINE:
        raise ChainProblem(seq, "is too long")
    if not line.endswith(b"\n"):
        raise ChainProblem(seq, "the file is cut off in the middle of a line")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ChainProblem(seq, "is not UTF-8") from error


def file_name(name: ChainName) -> str:
    """Return the name of a chain's file: the id of its desk as a folder, and the reviewer.

    Whatever a name holds, the file is in that folder, and two names are two files also where case
    does not count.
    """
    text = _encoded(name.reviewer)
    if len(text) > _NAME:
        text = f"{text[:_NAME]}~{hashlib.sha256(name.reviewer.encode()).hexdigest()}"
    return f"{name.desk}/by-{text}.jsonl"


def _encoded(name: str) -> str:
    return "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"%{byte:02x}" for byte in char.encode())
        for char in name
    )
