"""Write the result of a suite as the JUnit XML and the Markdown that build servers show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from xml.etree import ElementTree as ET

from reviewdesk.domain.gates.expect import EntryResult, GateStatus, SuiteResult
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.errors import UsageError
from reviewdesk.file_output import is_stream, whole_file
from reviewdesk.views.gates import finding_lines, gates, headline

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_IN_XML = 100
"""The most findings of one status in the XML; the JSON has all of them."""


def write_junit(result: SuiteResult, path: Path) -> None:
    """Write JUnit XML; an existing file is replaced only if it is XML itself.

    Raises:
        UsageError: the file cannot be written, or holds something else.
    """
    with _replaced(path, b"<", "XML") as out:
        out.write(junit(result))


def write_markdown(result: SuiteResult, path: Path, *, representative: bool) -> None:
    """Write the result as Markdown; an existing file is replaced only if it begins as one.

    Raises:
        UsageError: the file cannot be written, or holds something else.
    """
    from reviewdesk.pages.markdown import document_markdown

    lines = document_markdown(gates(result, representative=representative), level=1)
    with _replaced(path, b"#", "Markdown") as out:
        out.write("\n".join(lines).encode())


@contextmanager
def _replaced(path: Path, first: bytes, kind: str) -> Iterator[BinaryIO]:
    """Open a file that is new, empty or begins with ``first``, the first byte of its kind."""
    try:
        if path.is_file() and not is_stream(path) and path.read_bytes()[:1] not in {b"", first}:
            raise UsageError(f"{path}: is there already and is no {kind}", "Name another file.")
        with whole_file(path, replace=True) as out:
            yield out
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"{path}: {reason}", "Name another file.") from error


def junit(result: SuiteResult) -> bytes:
    """Return JUnit XML with one test case per entry, which holds its failures, skips and errors."""
    counts = {
        "tests": len(result.entries),
        "failures": result.count(GateStatus.FAIL),
        "errors": len(result.errors),
        "skipped": result.count(GateStatus.SKIP),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", numbers)
    suite = ET.SubElement(root, "testsuite", {"name": show_line(result.suite), **numbers})
    for entry in result.entries:
        case = ET.SubElement(
            suite, "testcase", classname=entry.kind.value, name=show_line(entry.name)
        )
        _add_status(case, entry)
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _add_status(case: Element, entry: EntryResult) -> None:
    if entry.error:
        ET.SubElement(case, "error", message=show_line(entry.error, 4000))
        return
    tag = {GateStatus.PASS: "system-out", GateStatus.FAIL: "failure", GateStatus.SKIP: "skipped"}
    inner = ET.SubElement(case, tag[entry.status])
    lines = [
        *finding_lines(entry, _IN_XML, _IN_XML),
        *(f"not shown: {one}" for one in entry.short),
        *(f"not representative: {one}" for one in entry.doubts),
    ]
    if entry.status is GateStatus.PASS:
        lines.insert(0, headline(entry))
    else:
        inner.set("message", headline(entry))
    inner.text = show("\n".join(lines), 1_000_000)
