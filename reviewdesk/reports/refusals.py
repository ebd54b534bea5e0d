"""Errors for files that no reader opens; they say what the file is and which command takes it."""

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeAlias

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.bytes.window import Outline
from reviewdesk.reports.report import FirstLook

SCHEMA_HINT = 'Add the line "schema": "reviewdesk.report/1" to the outermost object.'
_MOST_KEYS = 12
_MAP = "If it holds ratings, say where in a map: reviewdesk map {file} -o {file}.map.toml"
_IMPORT = "Read it with: reviewdesk labels import {file}"
_CALIBRATE = "Read it with: reviewdesk calibrate {file}"
_UNPACK = "Unpack it: {0} < {{file}} | reviewdesk open -"
_RECODE = "Read it as UTF-8: iconv -f {0} -t UTF-8 {{file}} | reviewdesk open -"
_WRITE = "Write its table as JSON Lines, CSV or Parquet, in the program that wrote it."
_SOURCE = "Open the result file of the tool that wrote it."

Kinds: TypeAlias = Sequence[tuple[Any, str, str]]
AsTable: TypeAlias = Callable[[Source, FirstLook], InputFileError | None]
"""Returns the error for what a table lacks, or None if the file is not a table."""

_MAGIC: Kinds = (
    (b"SQLite format 3\0", "is a SQLite database, not a report",
     "If it is a desk: reviewdesk runs --desk {file}; export a report from any other database."),
    (b"\x1f\x8b", "is packed with gzip twice", _UNPACK.format("gunzip")),
    (b"BZh", "is packed with bzip2", _UNPACK.format("bzip2 -dc")),
    (b"\xfd7zXZ", "is packed with xz", _UNPACK.format("xz -dc")),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd", _UNPACK.format("zstd -dc")),
    (b"7z\xbc\xaf", "is a 7z archive", "Unpack it: 7z x {file}"),
    (b"Rar!", "is a RAR archive", "Unpack it: unrar x {file}"),
    (b"PK", "is a zip archive, of which only an Inspect .eval log is opened",
     "Unpack it, and open what is in it: unzip {file} -d {file}.d"),
    (b"\x89PNG", "is a PNG image, not a report", _SOURCE),
    (b"\xff\xd8\xff", "is a JPEG image, not a report", _SOURCE),
    (b"%PDF", "is a PDF document, not a report", _SOURCE),
    (b"\x80", "is a Python pickle, which may run code", _WRITE),
    (b"\x93NUMPY", "is a NumPy array, without names of columns", _WRITE),
    (b"\x89HDF", "is an HDF5 file", _WRITE),
    (b"Obj\1", "is an Avro file", _WRITE),
    (b"ORC", "is an ORC file", _WRITE),
    (b"\xff\xfe\0\0", "is UTF-32 text", _RECODE.format("UTF-32")),
    (b"\0\0\xfe\xff", "is UTF-32 text", _RECODE.format("UTF-32")),
    (b"\xff\xfe", "is UTF-16 text", _RECODE.format("UTF-16")),
    (b"\xfe\xff", "is UTF-16 text", _RECODE.format("UTF-16")),
)  # fmt: skip
"""Files that no reader opens, by their first bytes: what they are, and what to do."""

_TEXT_CODES = (
    ("UTF-32LE", rb"[\t\n\r -~]\0\0\0"),
    ("UTF-32BE", rb"\0\0\0[\t\n\r -~]"),
    ("UTF-16LE", rb"[\t\n\r -~]\0(?:[^\0]|\Z)"),
    ("UTF-16BE", rb"\0[\t\n\r -~](?:\0|\Z)"),
)
"""The starts of texts without a byte order mark, given that reports begin with ASCII."""

_PROMPTFOO = "Export it again as JSON: promptfoo export eval EVAL_ID -o results.json."
_PROMPTFOO_PAGE = re.compile(r'<promptfoo>|<testsuites [^>]*name="promptfoo"|>Promptfoo<')
_YAML = (
    "python -c 'import json, sys, yaml;"
    " print(json.dumps(yaml.safe_load(sys.stdin), default=str))' < {file} | reviewdesk open -"
)
_KEY = r"(?:[\"']?[A-Za-z_][\w .-]*[\"']?)"
_TEXTS: Kinds = (
    (r"\A<promptfoo>", "is a promptfoo result in XML, whose lists and numbers cannot be told apart",
     _SOURCE),
    (r"(?i)\A<(?:!doctype )?html", "is an HTML page, not a report", _SOURCE),
    (r"(?i)\A<svg|\A<[^\0]{0,500}<svg", "is an SVG image, not a report", _SOURCE),
    (r"\A<[^\0]{0,500}?<?testsuites?\b", "is a JUnit XML report, which has no ballots", _SOURCE),
    (r"\A(?:<[?!][^>]*>\s*)*<([\w:.-]+)", "is XML with the root element <{0}>, not a report",
     _SOURCE),
    (r"\A#!", "is a script, not a report", _SOURCE),
    (r"\A(?:diff --git|--- \S+\n\+\+\+ )", "is a patch, not a report", _SOURCE),
    (r"\A(?:\S+ )?\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\A\[?(?:DEBUG|INFO|WARN|WARNING|ERROR)\b",
     "is a log, not a report", "Open the results that the program wrote, not its log."),
    (r"\A(?:#.*\n|\s*\n)*(?:import|from|def|class|async def|const|let|function) .+",
     "is a program's source, not a report", _SOURCE),
    (rf"\A(?:#.*\n|;.*\n|\s*\n)*(?:\[\[?{_KEY}\]\]?\s*\n|{_KEY}[ ]*=)",
     "is a file of settings (TOML or INI), not a report",
     "If they are those of reviewdesk: REVIEWDESK_CONFIG={file} reviewdesk config"),
    (rf"\A(?:#.*\n|---\n|%.*\n|\s*\n)*(?:- |{_KEY}:(?:\s|$))", "is YAML, not a report",
     "If it holds ratings: " + _YAML),
)  # fmt: skip
"""Texts that no reader opens, by a pattern of their start."""


def _are_cases(outline: Outline) -> bool:
    if not {"id", "output"} <= outline.keys.keys():
        return False
    # Imported here because models take long to build.
    from reviewdesk.reports.panels.cases_file import KEYS

    return outline.keys.keys() <= KEYS


def _are_asked(outline: Outline) -> bool:
    """Return True if a document has jurors with models to ask and without answers."""
    known = {"model", "provider", "prompt", "name", "id", "weight", "temperature", "base_url"}
    seats = outline.keys.get("jurors")
    if outline.kind != "object" or not isinstance(seats, list):
        return False
    return bool(seats) and all(
        isinstance(one, str) or (isinstance(one, dict) and "model" in one and one.keys() <= known)
        for one in seats
    )


def _has(*keys: str) -> Callable[[Outline], bool]:
    return lambda outline: all(key in outline.keys for key in keys)


_DOCUMENTS: Kinds = (
    (_has("confidence", "correct"), "is a calibration labels file, not a report", _CALIBRATE),
    (lambda outline: "truth" in outline.keys and {"id", "item_hash"} & outline.keys.keys(),
     "is a labels file, not a report", _IMPORT),
    (_are_cases, "is a file of cases that nobody has judged yet",
     "Ask a panel: reviewdesk judge {file} --panel PANEL -o REPORT"),
    (_has("runs", "$schema"), "is a SARIF log, which has no ballots", _SOURCE),
    (_has("cells", "nbformat"), "is a Jupyter notebook, not a report", _WRITE),
    (_are_asked, "is a panel file, not a report",
     "Ask it: reviewdesk judge CASES --panel {file} -o REPORT"),
    (_has("case", "jurors"), "has verdicts with jurors, but no report around them",
     'As JSON Lines, add this first line: {{"schema": "reviewdesk.report/1"}}.'),
)  # fmt: skip
"""JSON files of other tools and of other commands, by a test of their outline."""

_OWN: Kinds = (
    ({"jurors"}, "is a panel file", "Ask it: reviewdesk judge CASES --panel {file} -o REPORT"),
    ({"jury", "calibration"}, "is a suite of gates", "Run it: reviewdesk gate {file}"),
    ({"columns", "each", "ballots", "judge"}, "is a map of tables",
     "Open a table by it: reviewdesk open TABLE --map {file}"),
    ({"truth"}, "is a labels file", _IMPORT),
)  # fmt: skip
"""Our own files in YAML and TOML, by one of their outermost keys."""

_COMMENTS = re.compile(r"^(?:#.*|---)?\n", re.MULTILINE)
_TOP_KEY = re.compile(r"^(?:- |\[\[?)?([A-Za-z_]+)(?:\]|\s*[:=])", re.MULTILINE)


def refused(source: Source, what: str, hint: str, where: str = "") -> InputFileError:
    """Return the error that says what a file is; ``{file}`` in the hint stands for its name."""
    return failing(source)(where, what, hint.format(file=source.in_command))


def of_bytes(source: Source, head: bytes) -> InputFileError | None:
    """Return the error for a file by its first bytes, or None if they may be UTF-8 text."""
    for magic, what, hint in _MAGIC:
        if head.startswith(magic):
            return refused(source, what, hint)
    if head[257:262] == b"ustar":
        return refused(source, "is a tar archive", "Unpack it, and open a file: tar -xf {file}")
    if (zero := head.find(b"\0")) < 0:
        return None
    for code, start in _TEXT_CODES:
        if re.match(start, head):
            return refused(source, f"is {code[:6]} text", _RECODE.format(code))
    line = f"line {head.count(10, 0, zero) + 1}"
    return refused(source, f"contains a NUL byte (byte {zero}) and is not text", _WRITE, line)


_CODE_PAGES = (
    ("CP932", "[ぁ-ヿ]", 0.2),
    ("CP949", "(?<=[가-힣])[가-힣]|[가-힣](?=[가-힣])", 0.9),
    ("GB18030", "(?<=[一-鿿])[一-鿿]|[一-鿿](?=[一-鿿])", 0.9),
    ("WINDOWS-1251", "(?<=[а-яА-ЯёЁ])[а-яёіїє]", 0.5),
    ("WINDOWS-1250", "[ąłśź]", 0.3),
    ("WINDOWS-1254", "[ğışİŞĞçöüÇÖÜâî“”’–]", 0.99),
)
"""Code pages of texts, with their letters and the least share of the signs beyond ASCII."""


def _code_page(head: bytes) -> str:
    """Return the code page that the letters of a text show; that of western Europe by default."""
    for name, letters, least in _CODE_PAGES:
        text = codecs.decode(head, name, "replace")
        other = re.sub(r"[\x00-\x7f\u3000-\u303f\uff01-\uff60]", "", text)
        if "\ufffd" not in text[:-1] and len(re.findall(letters, text)) > least * len(other):
            return name
    return "WINDOWS-1252"


def not_utf8(source: Source, head: bytes, byte: int) -> InputFileError:
    """Return the error for a file whose start is not UTF-8."""
    line = f"line {head.count(10, 0, byte) + 1}"
    controls = len(re.findall(rb"[\0-\x08\x0e-\x1f]", head[:1000]))
    hint = _WRITE if controls > 10 else _RECODE.format(_code_page(head))
    return refused(source, f"is not UTF-8 text (byte {byte})", hint, line)


def of_document(source: Source, outline: Outline) -> InputFileError | None:
    """Return the error for JSON of another tool or another command, or None if it is neither."""
    found = (one for one in _DOCUMENTS if one[0](outline))
    return next((refused(source, what, hint) for _, what, hint in found), None)


def of_json(source: Source, look: FirstLook, unclear: AsTable) -> InputFileError:
    """Return the error for JSON without a jury: what it lacks as a table, or its keys."""
    if found := unclear(source, look):
        return found
    outline = look.outline
    names = [f'"{show_line(key, 40)}"' for key in outline.keys]
    more = f" and {len(names) - _MOST_KEYS} more" if len(names) > _MOST_KEYS else ""
    listed = f" (its keys: {', '.join(names[:_MOST_KEYS])}{more})" if names else ""
    where = "list" if outline.kind == "array" else "object"
    what = f"is JSON, but not a report that this version knows: no jury in the {where}{listed}"
    return refused(source, what, _MAP if names else _WRITE)


def of_text(source: Source, look: FirstLook, unclear: AsTable) -> InputFileError:
    """Return the error for a text that is not JSON: what it lacks as a table, or its kind."""
    text = look.text.lstrip(" \t\r\n")
    line = text.split("\n", 1)[0].rstrip("\r")
    stated = _COMMENTS.sub("", text)
    if _TOP_KEY.match(stated):
        keys = set(_TOP_KEY.findall(stated))
        for marks, what, hint in _OWN:
            if not marks.isdisjoint(keys):
                return refused(source, f"{what}, not a report", hint)
    columns = {column.strip().strip('"').lower() for column in line.split(",")}
    if "grader reason" in columns:
        what = "is a promptfoo table, in which the jurors' votes and reasons are missing"
        return refused(source, what, _PROMPTFOO)
    if {"confidence", "correct"} <= columns:
        return refused(source, "is a calibration labels file, not a report", _CALIBRATE)
    if "\r" in text.rstrip() and "\n" not in text:
        what = "ends its lines with a carriage return alone, as old Macs did"
        hint = "End lines with LF: tr '\\r' '\\n' < {file} | reviewdesk open -"
        return refused(source, what, hint)
    if _has_columns(text) and (found := unclear(source, look)):
        return found
    for pattern, what, hint in _TEXTS:
        if match := re.match(pattern, text):
            use = _PROMPTFOO if _PROMPTFOO_PAGE.search(text) else hint
            return refused(source, what.format(*match.groups()), use)
    what = f'is not a report: it starts with "{show_line(line, 40)}"'
    return refused(source, what, "A report is JSON, JSON Lines or a table.")


def _has_columns(text: str) -> bool:
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    records = (csv.reader(lines, delimiter=mark) for mark in ",;\t|^~")
    widths = ([*map(len, islice(one, 5))] for one in records)
    return any(one[1:] and one[0] > 1 and len(set(one)) == 1 for one in widths)
