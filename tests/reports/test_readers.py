"""Readers of other packages, which an entry point names, and texts of another file joined by id."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source, dialects, formats, read
from tests.helpers import report, verdict
from tests.reports.tablekit import lines

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


SCORES = "item,judge,score\na,x,1\na,y,0\nb,x,1\n"
FEEDBACK = lines(
    {"run_id": "r1", "trace_id": "t1", "key": "x", "score": 1, "session_id": "s", "value": None}
)


def opened(text: str, texts: Path | None) -> tuple[list[dict[str, Any]], list[str]]:
    options = ReadOptions(texts=None if texts is None else str(texts))
    found = read(Source.from_bytes("scores.csv", text.encode()), options)
    return [dict(body) for body in found.verdicts()], found.notes


def told(body: dict[str, Any]) -> tuple[Any, ...]:
    return body["id"], body.get("input"), body.get("output")


def test_without_responses_the_desk_says_what_to_add(tmp_path: Path) -> None:
    told = "no responses: add --texts FILE, a table with id and output"
    with closing(Desk.open(tmp_path / "desk.db", reviewer="ann")) as desk:
        for text, said in ((SCORES, True), ("item,judge,score,output\na,x,1,\nb,x,1,yes\n", False)):
            loaded = desk.load(Source.from_bytes("scores.csv", text.encode()), LoadOptions())
            assert (told in loaded.notes) is said


def test_texts_are_joined_by_id_and_a_table_without_ids_or_texts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id,question,answer\na,q,one\nc,q,three\n", encoding="utf-8")
    bodies, notes = opened(SCORES, path)
    assert [*map(told, bodies)] == [("a", "q", "one"), ("b", None, None)]
    assert any(note.startswith("1 verdict got texts from ") for note in notes)
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ReportError, match=r"texts.csv: has no columns of ids and of texts"):
        opened(SCORES, path)


def test_messages_are_texts_and_what_a_report_says_stays(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "one"}]
    path.write_text(json.dumps([{"trace_id": "t1", "messages": talk}]), encoding="utf-8")
    (body,), _ = opened(FEEDBACK, path)
    assert told(body) == ("r1", "q", "one")
    path = tmp_path / "texts.csv"
    path.write_text("id,question,answer\na,other,other\n", encoding="utf-8")
    (body,), _ = opened("item,judge,score,output\na,x,1,mine\n", path)
    assert told(body) == ("a", "other", "mine")


def test_keys_in_texts_do_not_come_along(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    key = "sk-proj-" + "a1B2" * 12
    path.write_text(f"id,answer\na,the key is {key}\n", encoding="utf-8")
    (body, _), _ = opened(SCORES, path)
    assert key not in str(body["output"])
    canonical = Source.from_bytes("report.json", report(verdict("a", output=None)))
    (body_of_ours,) = read(canonical, ReadOptions(texts=str(path))).verdicts()
    assert key not in str(body_of_ours)


def test_other_texts_make_another_run(tmp_path: Path) -> None:
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path in paths:
        path.write_text(f"id,output\na,{path.stem}\n", encoding="utf-8")
    one, two = (ReadOptions(texts=str(path)).given() for path in paths)
    assert one["texts"] != two["texts"]
