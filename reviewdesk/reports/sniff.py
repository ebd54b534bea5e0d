"""Find the dialect of a file from its bytes, or raise an error that says what to do instead."""

import codecs
import re
from typing import Literal

from reviewdesk.errors import InputFileError
from reviewdesk.reports import refusals
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline, Window, outline_array, outline_object
from reviewdesk.reports.canonical import reader
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.report import Dialect, FirstLook
from reviewdesk.reports.wording import must_be

_HEAD = 1 << 16
_SCHEMA_FAMILY = "reviewdesk.report/"

_TABLES = (b"PK", b"PAR1", b"ARROW1", b"\xd0\xcf\x11\xe0")
_NO_JSON = re.compile(r"\s*\[+[A-Za-z][\w .\":-]*\]+ *[\r\n]|\s*\[(?:\d{4}-\d\d-|[A-Z]{4,7}\])")
"""The start of a section in TOML or INI, or of a line of a log."""


def recognise(
    source: Source, forced: Dialect | None, *, streamed: bool = False
) -> tuple[Dialect, FirstLook]:
    """Return the dialect and the first look of a file; JSON syntax errors are raised here.

    If ``streamed``, a canonical document is read only up to its verdicts, and other files need no
    survey. Raise ReportError if no reader opens the file, or its syntax is wrong.
    """
    fail = failing(source)
    head = _head(source, fail)
    if look := binary_table(head, source, fail):
        if found := _fitting(look, forced):
            return found
        as_it_is = "Open it as it is: reviewdesk open {file}"
        raise refusals.refused(source, "is a table, which that format is not", as_it_is)
    if head.startswith(b"PK") and (found := _fitting(FirstLook("zip"), forced)):
        return found
    if problem := refusals.of_bytes(source, head):
        raise problem
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < _HEAD)
    except UnicodeDecodeError as error:
        raise refusals.not_utf8(source, head, error.start) from error
    start = text.lstrip(" \t\r\n")[:1]
    if start not in ("{", "[") or _NO_JSON.match(text):
        look = FirstLook("text", text, Outline("object", streamed=streamed))
        if found := _fitting(look, forced):
            return found
        from reviewdesk.reports.tables.table import unclear

        raise refusals.of_text(source, look, unclear)
    look = _first_look(source, text, forced, streamed=streamed)
    if forced in reader.DIALECTS:
        _check_version(look.outline, fail)
        whole = "verdicts" in look.outline.keys and not look.outline.goes_on
        forced = reader.DOCUMENT if whole else reader.LINES
    return forced or _decide(look, source), look


def _head(source: Source, fail: Fail) -> bytes:
    """Return the first bytes of a file; raise InputFileError if they are all blank."""
    with source.open() as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        problem = "is empty" if len(head) < _HEAD else "starts with 64 KiB of blanks"
        raise fail("", problem, "Write the report again.")
    return head


def binary_table(head: bytes, source: Source, fail: Fail) -> FirstLook | None:
    """Return the first look at a Parquet or Feather file or a workbook; None for other files."""
    if not head.startswith(_TABLES):
        return None
    from reviewdesk.reports.tables import binary

    with source.open_raw() as stream:
        if not (kind := binary.kind_of(head, stream, fail)):
            return None
        stream.seek(0)
        return FirstLook(kind, columns=binary.columns(kind, stream, fail))


def _fitting(look: FirstLook, forced: Dialect | None) -> tuple[Dialect, FirstLook] | None:
    """Return the foreign dialect that fits a file other than JSON; a forced one must fit too."""
    if forced is not None:
        opens = forced.fits(look) or (forced.reads_tables and look.kind != "zip")
        return (forced, look) if opens else None
    found = _foreign(look)
    return (found, look) if found else None


def _foreign(look: FirstLook) -> Dialect | None:
    # Imported here, as below, because a canonical report is read without the other readers.
    from reviewdesk.reports.dialects import fitting

    return fitting(look)


def _first_look(source: Source, text: str, forced: Dialect | None, *, streamed: bool) -> FirstLook:
    kind: Literal["object", "array"] = "object" if text.lstrip().startswith("{") else "array"
    look = FirstLook("json", text, Outline(kind, streamed=streamed))
    try:
        _outline(look, source, ImportTally(), forced)
    except InputFileError:
        # Another tool's file may have values such as NaN, which only canonical files forbid. Its
        # own reader, or an error that names the tool, helps more.
        keys = look.outline.keys
        if str(keys.get("schema")).startswith(_SCHEMA_FAMILY) or forced in reader.DIALECTS:
            raise
        known = forced or not keys or _foreign(look)
        if not known and (other := refusals.of_document(source, look.outline)):
            raise other from None
        look = FirstLook("json", text, Outline(kind, streamed=streamed))
        _outline(look, source, ImportTally(lenient=True), forced)
    return look


def _outline(look: FirstLook, source: Source, tally: ImportTally, forced: Dialect | None) -> None:
    fail = failing(source)

    def steps_in() -> bool:
        dialect = forced or _foreign(look)
        return dialect is not None and dialect.steps_in

    def ends_at(key: str) -> bool:
        return key == "verdicts" and look.outline.keys.get("schema") == FORMAT_NAME

    with source.open() as stream:
        window = Window(stream, fail, tally)
        window.peek()
        if look.outline.kind == "object":
            outline_object(window, look.outline, fail, steps_in, ends_at)
        else:
            outline_array(window, look.outline)


def _decide(look: FirstLook, source: Source) -> Dialect:
    outline = look.outline
    fail = failing(source)
    keys = outline.keys
    if not (keys or outline.length or outline.goes_on):
        what = "list" if outline.kind == "array" else "object"
        raise fail("", f"is an empty {what}: it has no verdicts", "Write the report again.")
    if outline.kind == "object" and "schema" in keys:
        schema = keys["schema"]
        if isinstance(schema, str) and schema.startswith(_SCHEMA_FAMILY):
            _check_version(outline, fail)
            # Without verdicts it is the first line of JSON Lines, perhaps the only one.
            return reader.DOCUMENT if "verdicts" in keys else reader.LINES
    if found := _foreign(look):
        return found
    if other := refusals.of_document(source, outline):
        raise other
    if outline.kind == "object" and isinstance(outline.first("verdicts").get("jurors"), list):
        problem = "is missing, though the file has verdicts with jurors"
        raise fail("$.schema", problem, refusals.SCHEMA_HINT)
    from reviewdesk.reports.dialects import LAST

    return LAST


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
