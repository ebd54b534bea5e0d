import gzip
import hashlib
import io
import json
import os
from pathlib import Path

import pytest

from reviewdesk.errors import InputFileError, ReportError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline, Window, outline_object
from tests.reports.pieces import PieceSource


def test_a_file_is_read_as_often_as_asked_and_a_change_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    source = Source.from_path(path)
    assert source.name == str(path)
    assert source.size == 5
    for _ in range(2):
        with source.open() as stream:
            assert stream.read() == b"{}"
    assert source.sha256() == hashlib.sha256(b"\xef\xbb\xbf{}").hexdigest()
    path.write_bytes(b"{}")
    source = Source.from_path(path)
    path.write_bytes(b"{ }")
    with pytest.raises(ReportError, match="was changed"):
        source.open()


def test_a_pipe_is_called_stdin_and_a_hostile_name_is_shown_harmless(tmp_path: Path) -> None:
    assert Source.from_bytes("-", b"x").name == "stdin"
    with pytest.raises(ReportError) as caught:
        Source.from_path(tmp_path / "a\x1b[2J\n.json")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_gzip_is_unpacked_once_and_hashed_as_given() -> None:
    packed = gzip.compress(b"\xef\xbb\xbf[1]", mtime=0)
    source = Source.from_bytes("a.gz", packed)
    with source.open() as stream:
        assert stream.read() == b"[1]"
    assert source.sha256() == hashlib.sha256(packed).hexdigest()


def test_too_large_a_file_and_a_gzip_bomb_stop_at_the_bound(tmp_path: Path) -> None:
    packed = gzip.compress(b" " * 5_000_000)
    with (
        Source.from_bytes("bomb.gz", packed, max_size=1_000_000).open() as stream,
        pytest.raises(ReportError, match=r"unpacks to more than 976.6 KiB.*--max-size"),
    ):
        stream.read()
    path = tmp_path / "big.json"
    path.write_bytes(b"x" * 2048)
    with pytest.raises(ReportError, match=r"is 2 KiB, larger than .* 1 KiB. .*--max-size 1M\."):
        Source.from_path(path, max_size=1024)
    with pytest.raises(ReportError, match="larger than"):
        Source.from_bytes("b", b"12", max_size=1)


@pytest.mark.parametrize("cut", [3, 12, 20])
def test_a_cut_gzip_is_an_error(cut: int) -> None:
    packed = gzip.compress(b"{} " * 100, mtime=0)[:cut]
    with pytest.raises(ReportError, match="gzip"):
        Source.from_bytes("a.gz", packed).open().read()


def test_what_is_no_readable_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="there is no such file"):
        Source.from_path(tmp_path / "missing.json")
    with pytest.raises(ReportError, match="is a directory"):
        Source.from_path(tmp_path)
    with pytest.raises(ReportError, match="cannot be read"):
        Source.from_path("a\0b")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReportError, match="not a regular file"):
        Source.from_path(tmp_path / "pipe")


def test_an_empty_file_is_left_to_its_reader(tmp_path: Path) -> None:
    # an empty labels file is an empty set, an empty report is an error
    (tmp_path / "empty").write_bytes(b"")
    assert Source.from_path(tmp_path / "empty").size == 0


FAIL = failing(PieceSource.of("a.json", b"", (1,)))


def _look(document: object, *, steps_in: bool) -> tuple[Outline, int]:
    outline, asked = Outline("object"), 0

    def answer() -> bool:
        nonlocal asked
        asked += 1
        return steps_in

    window = Window(io.BytesIO(json.dumps(document).encode()), FAIL, ImportTally())
    window.peek()
    outline_object(window, outline, FAIL, answer, lambda _: False)
    return outline, asked


@pytest.mark.slow
def test_the_readers_are_asked_of_long_values_alone() -> None:
    # Asking them looks at every key so far, which would be quadratic for many keys.
    many = {f"k{number}": [number, "text"] for number in range(1000)}
    outline, asked = _look(many, steps_in=True)
    assert (len(outline.keys), asked) == (1000, 0)
    outline, asked = _look({**dict(list(many.items())[:5]), "long": "x" * MAX_ITEM}, steps_in=True)
    assert (outline.keys["long"], asked) == (None, 1)


def test_a_long_value_is_an_error_where_no_reader_wants_a_shell() -> None:
    with pytest.raises(InputFileError, match="long"):
        _look({"long": ["x" * MAX_ITEM]}, steps_in=False)
