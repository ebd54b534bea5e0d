"""Which dialect a file is in, by its bytes; what cannot be opened is refused with a way out."""

from __future__ import annotations

import codecs
from typing import Literal, TypeAlias

from reviewdesk.errors import InputFileError
from reviewdesk.reports import refusals
from reviewdesk.reports.models import FORMAT_NAME
from reviewdesk.reports.outline import Outline, outline_array, outline_object
from reviewdesk.reports.source import Source
from reviewdesk.reports.strictjson import Fail, Tally, failing
from reviewdesk.reports.window import Window, not_utf8
from reviewdesk.reports.wording import must_be

FormatName: TypeAlias = Literal["canonical", "canonical-jsonl", "mcptest"]

_HEAD = 1 << 16
_SCHEMA_FAMILY = "reviewdesk.report/"

_MAGIC = (
    (
        b"PK",
        "is a zip archive, which is not opened by this version",
        "An Inspect .eval becomes JSON with: inspect log convert --to json.",
    ),
    (
        b"SQLite format 3\x00",
        "is a SQLite database, not a report",
        "A desk is opened with --desk FILE; export a report from any other database.",
    ),
    (b"\x1f\x8b", "is packed with gzip twice", "Unpack it once."),
    (b"\x89PNG", "is a PNG image, not a report", ""),
    (b"%PDF", "is a PDF document, not a report", ""),
    (b"\xff\xfe", "is UTF-16 text", "Save it as UTF-8."),
    (b"\xfe\xff", "is UTF-16 text", "Save it as UTF-8."),
)


def recognise(source: Source, forced: str | None) -> tuple[FormatName, Outline]:
    """The dialect of a file and its outline; syntax errors of a JSON document surface here."""
    fail = failing(source)
    with source.open() as stream:
        head = stream.read(_HEAD)
    text = _text(head, fail, whole=len(head) < _HEAD)
    start = text.lstrip(" \t\r\n")[:1]
    if start not in ("{", "["):
        raise refusals.not_json(text, fail)
    outline = Outline("object" if start == "{" else "array")
    _fill(outline, source, fail, forced)
    if forced:
        return _forced(forced, outline, fail)
    return _decide(outline, fail), outline


def _text(head: bytes, fail: Fail, *, whole: bool) -> str:
    if not head.strip():
        problem = "is empty" if whole else "starts with over 64 KiB of blanks"
        raise fail("", problem, "Write the report again.")
    for magic, problem, hint in _MAGIC:
        if head.startswith(magic):
            raise fail("", problem, hint)
    if (zero := head.find(b"\0")) >= 0:
        if len(head) > 1 and (head[0] == 0) != (head[1] == 0):
            raise fail("", "is UTF-16 text", "Save it as UTF-8.")
        raise fail("", f"holds a NUL byte (byte {zero}) and is no text", "")
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise not_utf8(fail, "", error.start) from error


def _fill(outline: Outline, source: Source, fail: Fail, forced: str | None) -> None:
    with source.open() as stream:
        window = Window(stream, fail, Tally())
        window.peek()
        try:
            if outline.kind == "object":
                outline_object(window, outline, fail)
            else:
                outline_array(window, outline)
        except InputFileError:
            # Another tool's file may hold what only canonical files must not; its name helps more.
            canonical = str(outline.keys.get("schema")).startswith(_SCHEMA_FAMILY)
            if forced or canonical or not outline.keys:
                raise
            if other := refusals.other_tool(outline, fail):
                raise other from None
            raise


def _forced(forced: str, outline: Outline, fail: Fail) -> tuple[FormatName, Outline]:
    if forced == "mcptest":
        return "mcptest", outline
    _check_version(outline, fail)
    return ("canonical-jsonl" if forced == "canonical-jsonl" else "canonical"), outline


def _decide(outline: Outline, fail: Fail) -> FormatName:
    keys = outline.keys
    if outline.kind == "array" and not outline.length:
        raise fail("", "is an empty list", "Write the report again.")
    if outline.kind == "object" and not keys and not outline.goes_on:
        raise fail("", "is an empty object", "Write the report again.")
    if outline.kind == "object" and "schema" in keys:
        schema = keys["schema"]
        if isinstance(schema, str) and schema.startswith(_SCHEMA_FAMILY):
            _check_version(outline, fail)
            # Without verdicts it is the first line of JSON Lines, perhaps the only one.
            return "canonical" if "verdicts" in keys else "canonical-jsonl"
    if other := refusals.other_tool(outline, fail) or refusals.without_schema(outline, fail):
        raise other
    return "mcptest"


def _check_version(outline: Outline, fail: Fail) -> None:
    schema = outline.keys.get("schema")
    if schema == FORMAT_NAME:
        return
    version = schema.removeprefix(_SCHEMA_FAMILY) if isinstance(schema, str) else ""
    if version.isascii() and version.isdigit() and int(version[:9]) > 1:
        problem = f"is {_SCHEMA_FAMILY}{version[:9]}, newer than this version of reviewdesk"
        raise fail("$.schema", problem, "Update reviewdesk.")
    if "schema" not in outline.keys:
        raise fail("$.schema", "is missing", refusals.SCHEMA_HINT)
    raise fail("$.schema", must_be(f'"{FORMAT_NAME}"', schema), "")
