import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source, formats, read
from tests.helpers import SHARED, mostly_slow
from tests.reports.foreignkit import opened, refusal

HEADER = {"schema": "reviewdesk.report/1", "title": "T", "generator": {"model": "m"}}


def _verdict(name: str, **more: Any) -> Any:
    return {"id": name, "case": {"test": name}, "jurors": [{"id": "j", "score": 0.5}], **more}


def _document(*verdicts: dict[str, Any], **header: Any) -> bytes:
    return json.dumps({**HEADER, "verdicts": verdicts, **header}).encode()


def _lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _refusal(data: bytes, **options: Any) -> str:
    text = refusal(data, **options)
    assert text.startswith("run.json: ")
    return text.removeprefix("run.json: ")


def test_a_document_and_its_lines_give_the_same() -> None:
    verdicts = [_verdict("a"), _verdict("b")]
    document, bodies = opened(_document(*verdicts))
    lines, others = opened(_lines(HEADER, *verdicts))
    assert document.format == "canonical"
    assert lines.format == "canonical-jsonl"
    assert {document.format, lines.format} < set(formats())
    assert bodies == others == verdicts
    assert document.header == lines.header == HEADER
    assert document.notes == lines.notes == []


def test_nulls_go_but_a_withheld_vote_stays() -> None:
    verdict = _verdict(
        "a", title=None, input=None, agreement={"value": None, "metric": "r_wg"},
        checks=[{"name": "c", "pass": None, "reason": None}],
        meta={"kept": None},
        human=None,
        jurors=[{"id": "j", "score": 1, "pass": None, "reason": None}, {"id": "k", "score": 1.0}],
    )  # fmt: skip
    del verdict["title"]
    _, (body,) = opened(_document(verdict, title=None, producer={"name": "p", "version": None}))
    assert body["jurors"] == [{"id": "j", "score": 1, "pass": None}, {"id": "k", "score": 1.0}]
    assert json.dumps(body["jurors"][0]["score"]) == "1"
    assert body["agreement"] == {"value": None, "metric": "r_wg"}
    assert body["checks"] == [{"name": "c", "pass": None}]
    assert body["meta"] == {"kept": None}
    assert "human" not in body
    assert "input" not in body


def test_reading_what_was_read_is_the_identity() -> None:
    report, bodies = opened(
        _document(_verdict("a", input=None, reruns=[_verdict("b", score=None)]))
    )
    again, others = opened(json.dumps({**report.header, "verdicts": bodies}).encode())
    assert (again.header, others) == (report.header, bodies)


def test_the_error_form() -> None:
    good = [_verdict(f"v{number}") for number in range(411)]
    bad = _verdict("bad", jurors=[{"id": "a"}, {"id": "b"}, {"id": "c", "score": "8/10"}])
    assert _refusal(_document(*good[:3], bad, *good[3:])) == (
        '$.verdicts[3].jurors[2].score: must be a number from 0 to 1, found "8/10". '
        "Fix the file, or open with --skip-bad (leaves out 1 of 412)."
    )
    assert _refusal(_lines(HEADER, *good[:3], bad)).startswith("line 5: $.jurors[2].score: must be")


def test_bad_verdicts_are_left_out_on_request_and_a_bad_header_never() -> None:
    data = _document(_verdict("a"), _verdict("b", score=2), _verdict("a"), _verdict("c"))
    report, bodies = opened(data, skip_bad=True)
    assert [body["id"] for body in bodies] == ["a", "c"]
    assert report.skipped == 2
    assert report.notes == [
        (
            "left out 2 of 4 verdicts: $.verdicts[1].score: must be a number from 0 to 1, found 2; "
            '$.verdicts[2].id: must be unique in the report, found "a" again'
        )
    ]
    assert "leaves out 2 of 4" in _refusal(data)
    assert _refusal(_document(defaults={"threshold": 2}), skip_bad=True) == (
        "$.defaults.threshold: must be a number from 0 to 1, found 2. Fix the file."
    )
    assert _refusal(_lines({**HEADER, "x": 1}, _verdict("a"))).startswith(
        "line 1: $.x: is not a key"
    )


def test_lone_surrogates_are_replaced_and_counted() -> None:
    data = _document(_verdict("a", input="x\ud800y 👍", meta={"\udc00": "\udfff"}))
    report, (body,) = opened(data)
    assert body["input"] == "x\ufffdy 👍"
    assert report.notes == ["replaced 3 lone surrogates by U+FFFD"]


def test_line_separators_inside_a_text_do_not_end_a_line() -> None:
    text = "a\u2028b\u2029c\x85d"
    raw = json.dumps(_verdict("a", input=text), ensure_ascii=False).encode()
    _, (body,) = opened(_lines(HEADER) + raw + b"\r\n\n \n")
    assert body["input"] == text


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("", "ends in the middle of a value"),
        ('{"id": "w", "case": {"test": "t"}, "jurors": [], "score": NaN}]}', "NaN"),
        ('{"id": "w", "id": "w"}]}', "twice"),
        ("]}", "is not JSON"),
    ],
)
def test_a_fault_behind_the_first_verdict_is_named_as_what_it_is(fault: str, told: str) -> None:
    start = _document(_verdict("a")).decode().removesuffix("]}")
    refused = _refusal(f"{start},{fault}".encode())
    assert told in refused
    assert "$.schema" not in refused


def test_an_unknown_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"canonical, canonical-jsonl, .*table, mcptest"):
        opened(_document(), format="xml")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"[]", "is an empty list: it has no verdicts"),
        (b" {}\n", "is an empty object: it has no verdicts"),
        (b"hello", 'is not a report: it starts with "hello"'),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a PNG image"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"SQLite format 3\0...", "is a SQLite database"),
        (b"\xff\xfe{\0", "is UTF-16"),
        (b"{\0", "is UTF-16"),
        (b"\0" * 9, "contains a NUL byte (byte 0)"),
        (b'{"a":\0}', "contains a NUL byte (byte 5)"),
        (b'{"a": "\xff"}', "is not UTF-8 text (byte 7)"),
        (b"<!DOCTYPE html><html>", "is an HTML page"),
        (b'<?xml version="1.0"?><testsuites/>', "is a JUnit XML report"),
        (b"<a\x1b[2J>", "is XML with the root element <a>"),
        (b"item,judge,score\n", "is a table without rows"),
        (
            b"status,score\nok,1\n",
            "has no column that names the judge (its columns: status, score). If each column",
        ),
        (b"evalId: x\n", "is a promptfoo result without rows"),
        (b'{"confidence": 0.5, "correct": true}\n' * 2, "is a calibration labels file"),
        (b'{"verdicts": [{"jurors": []}]}', "$.schema: is missing"),
        (b'{"id": "a", "case": {}, "jurors": []}\n' * 2, "has verdicts with jurors, but no"),
        (b'{"a": 1, "b\\u001b": 2}', "is JSON, but not a report that this version knows: no jury"),
        (b'{"schema": "reviewdesk.report/2"}', "$.schema: is reviewdesk.report/2, newer"),
        (b'{"schema": "reviewdesk.report/x"}', '$.schema: must be "reviewdesk.report/1"'),
        (b'{"schema": "reviewdesk.report/1", "verdicts": {}}', "$.verdicts: must be a list"),
        (_document(_verdict("a"))[:60], "ends in the middle of a value"),
        (_document() + b"x", "continues after the end"),
        (_document(_verdict("a", meta={"x": float("nan")})), "$.verdicts[0]: has NaN"),
        (b'{"schema": "reviewdesk.report/1", "meta": {"a": 1, "a": 2}}', '$.meta: has the key "a"'),
        (b'{"schema": "x", "schema": "x"}', '$: has the key "schema" twice'),
        (b'{"schema": "reviewdesk.report/1", "a": 1e999}', "$.a: contains the number 1e999, which"),
        (b'{"a": 123456789012345678901234567890}', "$.a: contains the whole number 1234"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "$.a: contains the whole number 9999"),
        (b'{"a": ' + b"[" * 66 + b"]" * 66 + b"}", "$.a[0]: is nested more than 64"),
        (b'{"a": ' + b'{"a":' * 50_000, "is nested more than 64"),
        (b"[" * 200_000, "is nested more than 64"),
        (b'{"a": 1,}', "line 1, column 9: is not JSON: a key in double quotes"),
        (b'{"a": 1\n"b": 2}', 'line 2, column 1: is not JSON: must be ","'),
        (b"{'a': 1}", "line 1, column 2: is not JSON: a key in double quotes"),
        (b'{"a": tru}', "line 1, column 7: is not JSON: a value is missing here"),
        (b'{"a": "\x01"}', "line 1, column 8: is not JSON: a text contains an unescaped"),
        (_lines(HEADER) + b'{"id": \n', "line 2, column"),
        (_lines(HEADER, [1]), "line 2: $: must be an object, found [1]"),
        (b"\0\x01\0\x02", "contains a NUL byte (byte 0)"),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "is packed with gzip twice"),
    ],
)
def test_one_line_for_each_wrong_file(data: bytes, text: str) -> None:
    assert text in _refusal(data)


def test_blank_lines_are_skipped_and_counted() -> None:
    data = b"\n" + _lines(HEADER) + b"\n \t\r\n" + _lines(_verdict("a")) + b"\n"
    report, bodies = opened(data)
    assert bodies == [_verdict("a")]
    assert report.notes == ["skipped 4 blank lines"]
    # errors still count them as lines
    assert _refusal(data + b"[1]\n").startswith("line 7: $: must be an object")
    data = b" \n" * (1 << 10) + _document(_verdict("a"))
    assert len(opened(data)[1]) == 1
    assert "starts with 64 KiB of blanks" in _refusal(b" " * (1 << 16) + data)
    assert _refusal(b" \n" * 5) == "is empty. Write the report again."


@pytest.mark.parametrize(
    "data", [json.dumps(HEADER).encode(), json.dumps(HEADER, indent=1).encode(), _document()]
)
def test_a_report_without_verdicts_loads_and_says_so(data: bytes) -> None:
    for name in (None, "canonical", "canonical-jsonl"):
        report, bodies = opened(data, format=name)
        assert (report.header, bodies, report.notes) == (HEADER, [], ["has no verdicts"])


@pytest.mark.slow
def test_an_item_over_eight_megabytes_is_refused() -> None:
    long = _verdict("a", input="x" * (8 << 20))
    assert "is over 8 MiB" in _refusal(_document(long))
    assert "line 2: is over 8 MiB" in _refusal(_lines(HEADER, long))
    assert len(opened(_document(_verdict("a", input="x" * (7 << 20))))[1]) == 1


def test_a_gzip_report_opens_and_verdicts_can_be_read_twice() -> None:
    report, bodies = opened(gzip.compress(b"\xef\xbb\xbf" + _document(_verdict("a"))))
    assert [body["id"] for body in bodies] == ["a"]
    assert report.format == "canonical"
    report = read(Source.from_bytes("r", _document(_verdict("a"), _verdict("b", score=2))), SKIP)
    assert list(report.verdicts()) == list(report.verdicts())
    assert len(report.notes) == 1


SKIP = ReadOptions(skip_bad=True)
PLAIN = ReadOptions()


def _damaged(data: bytes, count: int) -> Iterator[bytes]:
    chance = random.Random(7)  # noqa: S311 - a fixed sequence, not a secret
    for cut in range(len(data)):
        yield data[:cut]
    for _ in range(count):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        yield bytes(broken)


def _outcome(source: Source, options: ReadOptions = PLAIN) -> str | int:
    """The refusal, or the number of verdicts; anything else escapes."""
    try:
        return len(list(read(source, options).verdicts()))
    except ReportError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("skip_bad", [False, True])
def test_damage_never_escapes_as_anything_else(*, skip_bad: bool) -> None:
    verdicts = [
        _verdict("a", input="é\u2028 \\ud800", trim={"method": "none"}, quorum="2/3"),
        _verdict("b", human={"label": "pass", "at": "2025-01-01T00:00:00Z"}, checks=[]),
    ]
    options = ReadOptions(skip_bad=skip_bad)
    for data in (_document(*verdicts), _lines(HEADER, *verdicts)):
        for broken in _damaged(data, 1500):
            outcome = _outcome(Source.from_bytes("r.json", broken), options)
            if isinstance(outcome, str):
                assert outcome.isprintable()


OPENED = {"ansi-in-reason.json": 1, "jury5-llmbar.yaml": 8, "long.csv": 12, "text-score.csv": 1}
"""Of the broken files; the rest is refused, and what is not broken opens."""
REFUSED = {"jury5-llmbar.csv", "jury5-llmbar.junit.xml", "wide.csv"}
"""Real files in formats that have no ballots, or that need an option."""


@pytest.mark.parametrize(
    "path",
    mostly_slow(sorted((SHARED / "formats").glob("*/*"))),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_real_and_broken_files_open_or_are_refused_in_one_line(path: Path) -> None:
    outcome = _outcome(Source.from_path(path))
    whole = path.parent.name != "broken" and path.name not in REFUSED
    if path.name in OPENED or whole:
        assert isinstance(outcome, int), outcome
        assert outcome == OPENED.get(path.name, outcome)
    else:
        assert isinstance(outcome, str)
        assert outcome.isprintable()
