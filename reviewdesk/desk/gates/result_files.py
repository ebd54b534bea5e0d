"""Write the result of a suite as the JUnit XML and the Markdown that build servers show."""

from pathlib import Path
from xml.etree import ElementTree as ET

from reviewdesk.desk.files import file_explained, write
from reviewdesk.domain.gates.expect import GateStatus, SuiteResult
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.errors import UsageError
from reviewdesk.file_output import is_stream
from reviewdesk.views.gates import finding_lines, gates, headline

_TAGS = {GateStatus.PASS: "system-out", GateStatus.FAIL: "failure", GateStatus.SKIP: "skipped"}
_IN_XML = 100
"""The most findings of one status in the XML; the JSON has all of them."""


def write_junit(result: SuiteResult, path: Path) -> None:
    """Write JUnit XML; an existing file is replaced only if it is XML itself.

    Raise UsageError if the file cannot be written, or holds something else.
    """
    _write(path, junit(result).decode(), b"<", "XML")


def write_markdown(result: SuiteResult, path: Path, *, representative: bool) -> None:
    """Write the result as Markdown; an existing file is replaced only if it begins as one."""
    from reviewdesk.pages.markdown import document_markdown

    lines = document_markdown(gates(result, representative=representative), level=1)
    _write(path, "\n".join(lines), b"#", "Markdown")


def _write(path: Path, text: str, first: bytes, kind: str) -> None:
    """Write a file that is new, empty or begins with ``first``, the first byte of its kind."""
    with file_explained(path):
        if path.is_file() and not is_stream(path) and path.read_bytes()[:1] not in {b"", first}:
            raise UsageError(f"{path}: is there already and is no {kind}", "Name another file.")
    write(None, path, [text], force=True)


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
        if entry.error:
            ET.SubElement(case, "error", message=show_line(entry.error, 4000))
            continue
        inner = ET.SubElement(case, _TAGS[entry.status])
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
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"
