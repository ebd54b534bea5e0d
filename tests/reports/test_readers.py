"""Readers of other packages, which an entry point names."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source, dialects, formats, read

READER = """
import json

what = "a report of nemo"


def fits(start):
    return start.startswith("NEMO")


def read(stream):
    next(stream)
    for line in stream:
        name, score = line.decode().split()
        if name == "bad":
            raise ValueError("line of bad")
        yield {
            "id": name,
            "case": {"test": name},
            "jurors": [{"id": "ann", "score": float(score), "reason": "r"}],
        }
"""
TEXT = b"NEMO 1\na 0.5\nb 1\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Leave a distribution with a reader as pip does."""
    (tmp_path / "nemo_reader.py").write_text(dedent(READER))
    info = tmp_path / "nemo_reader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nemo-reader\nVersion: 1.0\n")
    points = "[reviewdesk.readers]\nnemo = nemo_reader\ngone = nemo_gone\ntable = nemo_reader\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    dialects._installed.cache_clear()
    yield tmp_path
    dialects._installed.cache_clear()
    sys.modules.pop("nemo_reader", None)


def _read(data: bytes, **options: object) -> list[str]:
    report = read(Source.from_bytes("t", data), ReadOptions(**options))  # type: ignore[arg-type]
    return [report.format, *(body["id"] for body in report.verdicts())]


@pytest.mark.usefixtures("installed")
def test_a_reader_of_another_package_is_recognised_and_named() -> None:
    assert _read(TEXT) == ["nemo", "a", "b"]
    assert _read(TEXT, format="nemo") == ["nemo", "a", "b"]
    assert "nemo" in dialects.names()
    # The readers of the program keep their names.
    assert dialects.names().count("table") == 1


@pytest.mark.usefixtures("installed")
def test_a_reader_that_fails_says_whose_it_is() -> None:
    with pytest.raises(ReportError, match="is not a file for the reader nemo: line of bad"):
        _read(TEXT + b"bad 1\n")
    with pytest.raises(UsageError, match=r"the reader gone \(nemo_gone\) cannot be loaded"):
        _read(TEXT, format="gone")


@pytest.mark.usefixtures("installed")
def test_what_a_reader_yields_is_checked_as_every_report() -> None:
    with pytest.raises(ReportError, match=r"verdict 1: \$\.jurors\[0\]\.score"):
        _read(b"NEMO 1\na 7\n")


def test_without_packages_there_are_the_readers_of_the_program() -> None:
    dialects._installed.cache_clear()
    assert "nemo" not in formats()
    with pytest.raises(ReportError, match='it starts with "NEMO 1"'):
        _read(TEXT)
