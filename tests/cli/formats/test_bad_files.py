"""Files that are no reports: one line, exit 2, and a desk that does not know of them."""

import gzip
import json
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import SHARED, mostly_slow, numbered, report, verdict

GOOD = numbered(6)


def with_score(score: object) -> bytes:
    body = json.loads(numbered(3))
    body["verdicts"][2]["jurors"][1]["score"] = score
    return json.dumps(body).encode()


packed = bytearray(gzip.compress(GOOD, mtime=0))
packed[-6] ^= 0xFF

BAD: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\n",
    "half": GOOD[: len(GOOD) // 2],
    "last byte missing": GOOD[:-1],
    "png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "list": b"[]",
    "object": b"{}",
    "null": b"null",
    "number": b"1",
    "text": b"hello\n",
    "escape": b"\x1b[2J\x1b]0;title\x07",
    "score as text": with_score("8/10"),
    "score over 1": with_score(1.5),
    "score true": with_score(True),
    "nan": with_score(float("nan")),
    "infinity": with_score(float("inf")),
    "overflow": GOOD.replace(b"0.9", b"1e999", 1),
    "same id twice": report(verdict("a"), verdict("a")),
    "same key twice": b'{"schema": "reviewdesk.report/1", "schema": "x", "verdicts": []}',
    "other schema": report(schema="reviewdesk.report/2"),
    "unknown key": report(verdict("a", surprise=1)),
    "unknown key with escapes": report(verdict("a", **{"\x1b[31m\n": 1})),
    "deep": b"[" * 100_000,
    "utf-16": '{"schema": "reviewdesk.report/1"}'.encode("utf-16"),
    "not utf-8": GOOD.replace(b"question", b"\xff\xfe", 1),
    "damaged gzip": bytes(packed),
    "nul": b"\0" * 100,
}


def refused(cli: Cli, *arguments: str | Path) -> str:
    """The one line of a refusal, after which the desk is as it was."""
    Desk.open().close()
    head = cli("desk", "verify", "--json").json
    runs = cli("runs", "--json").json
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.lines
    assert all(char.isprintable() for char in line)
    assert cli("desk", "verify", "--json").json == head
    assert cli("runs", "--json").json == runs
    return line


@pytest.mark.parametrize("name", mostly_slow(BAD))
@pytest.mark.parametrize("command", ["ingest", pytest.param("open", marks=pytest.mark.slow)])
def test_a_bad_file_is_one_line(cli: Cli, write: Write, command: str, name: str) -> None:
    path = write("report.json", BAD[name])
    assert refused(cli, command, path).startswith(f"{path}: ")


def test_the_line_names_place_and_finding(cli: Cli, write: Write) -> None:
    path = write("report.json", BAD["score as text"])
    assert refused(cli, "ingest", path) == (
        f"{path}: $.verdicts[2].jurors[1].score: must be a number from 0 to 1, found "
        '"8/10". Fix the file, or open with --skip-bad (leaves out 1 of 3).'
    )
    (made,) = cli("ingest", path, "--skip-bad", "--json").json
    assert (made["verdicts"], made["skipped"]) == (2, 1)


def test_nothing_and_a_folder(cli: Cli, tmp_path: Path) -> None:
    refused(cli, "ingest", tmp_path / "nothing.json")
    refused(cli, "open", tmp_path / "nothing.json")
    refused(cli, "ingest", tmp_path)
    refused(cli, "calibrate", tmp_path / "nothing.jsonl")


def test_a_bad_file_leaves_the_runs_that_are_there(cli: Cli, write: Write) -> None:
    assert cli("ingest", write("good.json", GOOD)).code == 0
    cli("label", "v1", "pass")
    refused(cli, "ingest", write("bad.json", BAD["half"]))
    assert [run["labelled"] for run in cli("runs", "--json").json] == [1]


def test_the_good_are_loaded_beside_the_bad(cli: Cli, write: Write) -> None:
    good = [write("a.json", GOOD), write("b.json", numbered(2, report_id="other"))]
    bad = [write("x.json", b"[]"), write("y.json", b"")]
    done = cli("ingest", good[0], bad[0], bad[1], good[1], "--json")
    assert done.code == 2
    assert [row["run"] for row in json.loads(done.out)] == ["run", "other"]
    assert [line.split(": ")[0] for line in done.lines] == [str(path) for path in bad]
    assert [run["run"] for run in cli("runs", "--json").json] == ["run", "other"]


BROKEN = SHARED / "formats" / "broken"


@pytest.mark.skipif(not BROKEN.is_dir(), reason="the shared broken files are not here")
@pytest.mark.parametrize(
    "name", sorted(path.name for path in BROKEN.glob("*")) if BROKEN.is_dir() else []
)
def test_every_shared_broken_file_is_one_line_or_loads(cli: Cli, name: str) -> None:
    if name in {"ansi-in-reason.json", "text-score.csv"}:
        # Hostile, and yet a report; and a word among numbers, which is one ballot not understood.
        assert cli("ingest", BROKEN / name).code == 0
    elif name == "no-judge-column.csv":
        # A guess at its map follows the line.
        assert cli("ingest", BROKEN / name).lines[0].endswith("--judge-columns score")
    else:
        refused(cli, "ingest", BROKEN / name)


@pytest.mark.parametrize("row", [b'{"confidence": NaN, "correct": true}', b"\x1b[31m"])
def test_a_bad_row_names_file_and_line(cli: Cli, write: Write, row: bytes) -> None:
    path = write("labels.jsonl", b'{"confidence": 0.5, "correct": true}\n' + row + b"\n")
    line = refused(cli, "calibrate", path)
    assert line.startswith(f"{path}: line 2")


def test_an_empty_labels_file_is_zero_with_a_warning(cli: Cli, write: Write) -> None:
    done = cli("calibrate", write("labels.jsonl", b""), "--json")
    assert (done.json["n"], done.json["ece"], done.json["design"]) == (0, 0.0, "file")
    assert done.json["warnings"]
