"""Inspect logs that are whole, cut off, of wrong types or made to harm: one line, or a verdict."""

import gzip
import io
import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.bytes.zip_archive import ZipArchive
from tests.helpers import ROOT
from tests.reports.inspectkit import (
    DEFLATE,
    STORED,
    ZSTD,
    archive,
    bodies,
    call,
    grading,
    log,
    members,
    one,
    opened,
    panel,
    sample,
    score,
    scoring,
)

QA = "model_graded_qa"
LOG = log(
    sample("a/../../b\u202e", {QA: panel("C", "C", "I")}, events=scoring(QA, call("v/a", "why"))),
    sample("b", {QA: panel("I", "I", "I")}, input="ü" * 3000),
    scorers=[grading("v/a", "v/b")],
    spec={"dataset": {"samples": 5}},
)


def _refusal(data: bytes, **options: Any) -> str:
    with pytest.raises(ReportError) as caught:
        list(read(Source.from_bytes("log.eval", data), ReadOptions(**options)).verdicts())
    assert str(caught.value).isprintable()
    return str(caught.value)


def _outcome(data: bytes) -> str:
    """The number of verdicts or the refusal; anything else escapes."""
    try:
        return str(len(list(read(Source.from_bytes("log.eval", data)).verdicts())))
    except ReportError as error:
        return str(error)


def _without_place(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "provenance"}


@pytest.mark.parametrize("method", [STORED, DEFLATE, ZSTD])
def test_an_archive_holds_the_same_as_the_document(method: int) -> None:
    found = bodies(archive(members(LOG), method))
    assert list(map(_without_place, found)) == list(map(_without_place, bodies(LOG)))
    assert found[1]["provenance"]["pointer"] == "samples/b_epoch_1.json"


def test_an_archive_on_disk_tells_how_far_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(archive(members(LOG)))
    report = read(Source.from_path(path))
    found = list(report.verdicts())
    assert len(found) == 2
    assert 0 < report.position <= path.stat().st_size
    assert list(report.verdicts()) == found
    path.write_bytes(archive(members(LOG), STORED))
    with pytest.raises(ReportError, match="was changed"):
        list(report.verdicts())


def test_an_interrupted_log_opens_with_what_it_has() -> None:
    files = members(LOG)
    del files["header.json"]
    report = opened(archive(files))
    assert len(list(report.verdicts())) == 2
    assert report.header["title"] == "quiz"
    (note,) = report.notes
    assert note.startswith("interrupted log: ")
    assert note.endswith("; 2 of 5 samples are in it")


def test_an_archive_without_samples_or_that_cannot_be_unpacked_is_refused() -> None:
    assert "log_samples" in _refusal(archive(members(log())))
    data = archive(members(LOG))
    for end in range(4, len(data) - 1, 7):
        assert "is a zip archive that is cut off or damaged, without a directory" in _refusal(
            data[:end]
        )
    assert "header.json: is encrypted" in _refusal(archive(members(LOG), STORED, flags=1))
    data = archive(members(LOG), STORED)
    for place in (b"PK\x03\x04\x14\0\0\x08", b"PK\x01\x02\x14\0\x14\0\0\x08"):
        data = data.replace(place + b"\0\0", place + b"\x0c\0")
    assert "header.json: is packed by method 12, which is unknown" in _refusal(data)


def test_a_member_that_replaces_another_counts_alone() -> None:
    files = list(members(LOG).items())
    name = "samples/b_epoch_1.json"
    later = json.dumps(sample("b", {QA: panel("C", "C", "C")})).encode()
    _, second = opened(archive([*files, (name, later)])).verdicts()
    assert second["decision"] == "pass"


def test_a_sample_in_parts_is_put_together() -> None:
    files = members(LOG)
    shell = json.loads(files.pop("samples/b_epoch_1.json"))
    shell["scores"][QA]["value"] = "C"
    shell["input"] = "attachment://11"
    begin, said, scored = scoring(QA, call("v/a", "attachment://2"))
    folder = "samples/b_epoch_1/"
    files |= {
        f"{folder}sample.json": json.dumps(shell).encode(),
        f"{folder}events/10.json": json.dumps([scored]).encode(),
        f"{folder}events/2.json": json.dumps([said]).encode(),
        f"{folder}events/0.json": json.dumps([begin]).encode(),
        f"{folder}events/stats.json": b"{}",
        f"{folder}attachments/10.json": b'["ten", "eleven"]',
        f"{folder}attachments/0.json": b'["", "", "two"]',
    }
    body = bodies(archive(files))[-1]
    assert (body["input"], body["jurors"][0]["reason"]) == ("eleven", "two")


def test_a_damaged_sample_is_bad_by_itself() -> None:
    files = {
        **members(LOG),
        "samples/c_epoch_1.json": b'{"id": "c", ',
        "samples/d_epoch_1.json": b"3",
    }
    data = archive(files)
    assert "samples/c_epoch_1.json: $: ends in the middle of a value" in _refusal(data)
    report = opened(data, skip_bad=True)
    assert len(list(report.verdicts())) == 2
    assert report.skipped == 2
    assert "samples/d_epoch_1.json: $: must be an object" in report.notes[-1]


@pytest.mark.parametrize("method", [STORED, DEFLATE, ZSTD])
def test_bytes_that_changed_are_noticed_by_their_checksum(method: int) -> None:
    data = bytearray(archive(members(LOG), method))
    at = data.index(b"samples/b_epoch_1.json") + 200
    data[at] ^= 0x01
    assert "samples/b_epoch_1.json: $: is damaged or cut off" in _refusal(bytes(data))


@pytest.mark.slow
@pytest.mark.parametrize("method", [DEFLATE, ZSTD])
def test_damage_never_escapes_as_anything_else(method: int) -> None:
    data = archive(members(LOG), method)
    chance = random.Random(5)  # noqa: S311 - a fixed sequence, not a secret
    opened_all_the_same = 0
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(4, len(broken))] = chance.randrange(256)
        opened_all_the_same += _outcome(bytes(broken)).isdecimal()
    # most damage lies in packed bytes, whose checksums tell
    assert opened_all_the_same < 200


def test_other_archives_are_refused_with_what_is_in_them() -> None:
    refused = _refusal(archive({"a\x1b.txt": b"x"}))
    assert "is a zip archive without an Inspect log: there is no header.json in it (a" in refused
    assert "(nothing)" in _refusal(archive({}))
    assert "does not describe a run" in _refusal(archive({"header.json": b"[]"}))
    assert "is a zip archive, of which only an Inspect .eval log" in _refusal(
        archive(members(LOG)), format="canonical"
    )
    assert "is an archive packed with gzip. Unpack it once." in _refusal(
        gzip.compress(archive(members(LOG)), mtime=0)
    )


@pytest.mark.parametrize("method", [DEFLATE, ZSTD])
def test_a_bomb_is_refused_by_what_it_says_of_itself(method: int) -> None:
    bomb = {**members(LOG), "samples/z_epoch_1.json": b" " * (20 << 20)}
    assert "samples/z_epoch_1.json: $: unpacks to over 500 times its size" in _refusal(
        archive(bomb, method)
    )


@pytest.mark.parametrize("method", [DEFLATE, ZSTD])
def test_a_bomb_that_lies_is_stopped_where_it_said_it_would_end(method: int) -> None:
    bomb = {"header.json": b'{"eval": {}, "x": "' + b" " * (20 << 20)}
    assert "header.json: is damaged or cut off" in _refusal(archive(bomb, method, claim=99))


def test_all_members_together_have_a_bound_and_a_number() -> None:
    source = Source.from_bytes("log.eval", archive(members(LOG)), max_size=5000)
    with pytest.raises(ReportError, match=r"unpacks to more than 5,000 bytes\. .*--max-size"):
        read(source)
    data = archive(members(LOG))
    fail = failing(Source.from_bytes("log.eval", data))
    assert len(ZipArchive(io.BytesIO(data), fail, 1 << 20, 4).names) == 4
    with pytest.raises(ReportError, match="contains more than 3 members"):
        ZipArchive(io.BytesIO(data), fail, 1 << 20, 3)


def test_a_directory_of_any_length_is_not_read_at_once() -> None:
    # 300 entries with the longest comment there can be: 18.75 MiB of directory, over the 16 that
    # are read; all the entries are sound, and would be found to overlap
    files = archive({"header.json": b"{}"})
    at, end = files.index(b"PK\x01\x02"), files.index(b"PK\x05\x06")
    entry = bytearray(files[at:end])
    entry[32:34] = struct.pack("<H", 0xFFFF)
    for count, refused in ((300, "without a directory"), (200, "members overlap")):
        directory = (bytes(entry) + b" " * 0xFFFF) * count
        tail = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), at, 0)
        assert refused in _refusal(files[:at] + directory + b"PK\x05\x06" + tail)


def test_members_that_lie_on_one_another_are_refused() -> None:
    data = bytearray(archive([("header.json", b"{}"), ("samples/a_epoch_1.json", b"{}" * 50)]))
    # the second entry of the directory points at the first member
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    assert "is a zip archive whose members overlap" in _refusal(bytes(data))


@pytest.mark.slow
def test_without_the_package_zstd_names_the_extra(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["zstandard"] = None  # as if it were not installed
from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
for path in sys.argv[1:]:
    try:
        print(len(list(read(Source.from_path(path)).verdicts())))
    except ReportError as error:
        print(error.problem, error.hint)
"""
    paths = [tmp_path / "zstd.eval", tmp_path / "deflate.eval"]
    paths[0].write_bytes(archive(members(LOG)))
    paths[1].write_bytes(archive(members(LOG), DEFLATE))
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines() == [
        "is packed with zstd To read it: pip install 'reviewdesk[inspect]'",
        "2",
    ]


def _edited() -> Any:
    source = {"author": "ann", "timestamp": "2026-01-02T03:04:05Z", "reason": "r"}
    history = [{"value": "I", "metadata": {}}, {"value": "C", "provenance": source}]
    return score("C", history=history)


def document() -> Any:
    """A small log in which everything occurs that is read."""
    asked = call("v/a", "yes", role="grader", error=None, working_time=0.1)
    asked["output"] |= {"usage": {"input_tokens": 1, "output_tokens": 2}, "time": 0.1}
    asked["output"]["choices"] = [{"message": {"content": "yes"}}]
    events = [*scoring(QA, asked, call("v/b", "no")), *scoring("own"), {"event": "error"}]
    scores = {QA: panel("C", "C", "[x]"), "own": _edited(), "dict": {"value": {"a": 1, "b": "C"}}}
    whole = sample(
        "a", scores, events=events,
        input=[{"role": "user", "content": [{"type": "text", "text": "attachment://h"}]}],
        attachments={"h": "asked"}, choices=["one"], metadata={"m": 1},
    )  # fmt: skip
    failed = sample("b", error={"message": "m", "traceback": "t"}, invalidation={"author": "x"})
    roles = {"model_roles": {"grader": [{"model": "v/a"}]}, "config": {"epochs": 1}}
    scorers = [grading("v/a", "v/b"), {"name": "own", "options": {"model_role": "grader"}}]
    results = {"scores": [{"name": QA, "scorer": QA, "params": {}}]}
    return log(whole, failed, scorers=scorers, spec=roles, results=results)


@pytest.mark.slow
def test_a_transcript_may_be_longer_than_what_is_held() -> None:
    # a list, an object and a text, each of over 8 MiB, around what is read
    talk = [{"role": "assistant", "content": "words " * 1000}] * 1500
    noise = [{"event": "tool", "result": "x" * 10_000}] * 450
    events = [*noise, *scoring(QA, call("v/a", "attachment://r")), *noise]
    body = one(
        log(
            sample(
                "a",
                {QA: "C"},
                events=events,
                attachments={"image": "A" * (9 << 20), "r": 'why "not"\\'},
                store={"deep": {"er": talk}},
            ),
            scorers=[grading("v/a")],
        )
    )
    assert body["jurors"][0]["model"] == "v/a"


@pytest.mark.slow
def test_an_input_too_long_to_be_held_is_left_out_and_counted() -> None:
    report = opened(log(sample("a", {"x": "C"}, input='\\ü"' * (1 << 20))))
    (body,) = report.verdicts()
    assert "input" not in body
    assert report.notes == ["an input or output too long to be held is left out (1x)"]


@pytest.mark.slow
def test_a_value_too_long_and_too_deep_is_an_error() -> None:
    deep: Any = "x" * (9 << 20)
    for _ in range(20):
        deep = [deep]
    with pytest.raises(ReportError, match=r"\$\.samples\[0\]: is over 8 MiB long"):
        opened(log(sample("a", {"x": "C"}, metadata=deep)))


def test_twice_the_same_key_is_an_error() -> None:
    text = json.dumps(log(sample("a", {"x": "C"})))
    for doubled in (
        text.replace('"epoch": 1', '"epoch": 1, "epoch": 2'),
        text.replace('"version": 2', '"version": 2, "version": 2'),
    ):
        with pytest.raises(ReportError, match="twice"):
            opened(doubled.encode())
