"""Files that are no reports: one line, exit 2, and a desk that does not know of them."""

import bz2
import gzip
import json
import lzma
import pickle
import re
import shlex
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
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
    "empty": b"", "half": GOOD[: len(GOOD) // 2], "last byte missing": GOOD[:-1],
    "escape": b"\x1b[2J\x1b]0;title\x07", "score as text": with_score("8/10"),
    "nan": with_score(float("nan")), "infinity": with_score(float("inf")), "null": b"null",
    "number": b"1", "same id twice": report(verdict("a"), verdict("a")),
    "other schema": report(schema="reviewdesk.report/2"),
    "unknown key with escapes": report(verdict("a", **{"\x1b[31m\n": 1})),
    "deep": b"[" * 100_000, "not utf-8": GOOD.replace(b"question", b"\xff\xfe", 1),
    "damaged gzip": bytes(packed), "nul": b"\0" * 100,
}  # fmt: skip
"""One of each way to fail; the tests of the reader have the others."""


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


def test_a_bad_file_leaves_the_runs_that_are_there_and_good_ones_beside_it_are_loaded(
    cli: Cli, write: Write
) -> None:
    assert cli("ingest", write("good.json", GOOD)).code == 0
    cli("label", "v1", "pass")
    refused(cli, "ingest", write("bad.json", BAD["half"]))
    assert [run["labelled"] for run in cli("runs", "--json").json] == [1]
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
    assert refused(cli, "calibrate", path).startswith(f"{path}: line 2")


HTML = b"<!DOCTYPE html>\n<html></html>"
NOTEBOOK = json.dumps({"cells": [{"source": []}], "nbformat": 4}).encode()
CHAT = b'{"messages": [{"role": "user", "content": "hi"}]}\n' * 2
CSV = b"item,judge,score\na,j,1\n"

WITH_A_COMMAND = {
    "panel.yaml": (b"name: p\njurors:\n- model: m\n", "is a panel file", "judge CASES --panel"),
    "panel.toml": (b"[[jurors]]\nmodel = 'm'\n", "is a panel file", "judge CASES --panel"),
    "suite.yml": (b"jury:\n- report: r\n", "is a suite of gates", "reviewdesk gate suite.yml"),
    "labels.csv": (b"id,truth\na,pass\n", "is a labels file", "labels import labels.csv"),
    "cal.csv": (b"confidence,correct\n0.9,true\n", "calibration labels", "calibrate cal.csv"),
    "cases.jsonl": (b'{"id": "a", "output": "x"}\n' * 2, "is a file of cases", "judge cases.jsonl"),
    "config.toml": (b'theme = "desk"\n', "is a file of settings", "reviewdesk config"),
    "x.ini": (b"[part]\nkey=1\n", "is a file of settings", "REVIEWDESK_CONFIG=x.ini"),
    "map.toml": (b"item = 'a'\neach = 'b'\n", "is a map of tables", "--map map.toml"),
    "a.db": (b"SQLite format 3\0...", "is a SQLite database", "reviewdesk runs --desk a.db"),
    "a.gz": (gzip.compress(gzip.compress(CSV)), "gzip twice", "gunzip < a.gz | reviewdesk open -"),
    "a.bz2": (bz2.compress(CSV), "packed with bzip2", "bzip2 -dc < a.bz2 | reviewdesk open -"),
    "a.xz": (lzma.compress(CSV), "packed with xz", "xz -dc < a.xz | reviewdesk open -"),
    "a.tar": (bytes(257) + b"ustar" + bytes(250), "is a tar archive", "tar -xf a.tar"),
    "a.xls": (b"\xd0\xcf\x11\xe0" + bytes(99), "before 2007", "--convert-to xlsx a.xls"),
    "utf16.csv": (CSV.decode().encode("utf-16"), "is UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
    "sjis.csv": ("id,がいい\n".encode("cp932"), "is not UTF-8", "iconv -f CP932 -t UTF-8"),
    "latin.csv": ("id,é\n".encode("latin-1"), "is not UTF-8", "iconv -f WINDOWS-1252 -t UTF-8"),
    "mac.csv": (CSV.replace(b"\n", b"\r"), "carriage return alone", "tr '\\r' '\\n' < mac.csv |"),
    "a.yaml": (b"results:\n  - id: a\n", "is YAML", "< a.yaml | reviewdesk open -"),
    "chat.jsonl": (CHAT, "no jury", "reviewdesk map chat.jsonl -o chat.jsonl.map.toml"),
    "package.json": (b'{"name": "x", "version": "1"}', "no jury", "reviewdesk map package.json"),
    "texts.csv": (b"id,question\na,What is it?\nb,Who is it?\n", "no column", "map texts.csv"),
}
WITHOUT = {
    "a.png": (b"\x89PNG\r\n\x1a\n\0", "is a PNG image"),
    "a.jpg": (b"\xff\xd8\xff\xe0\0", "is a JPEG image"),
    "a.pdf": (b"%PDF-1.7", "is a PDF document"),
    "a.pkl": (pickle.dumps({"a": 1}), "is a Python pickle, which may run code"),
    "a.html": (HTML, "is an HTML page"),
    "a.svg": (b'<?xml version="1.0"?>\n<svg/>', "is an SVG image"),
    "a.xml": (b"<testsuites/>", "is a JUnit XML report, which has no ballots"),
    "a.log": (b"2026-01-02 10:00:00 INFO judge: started\n", "is a log"),
    "b.log": (b"[INFO] started\n", "is a log"),
    "a.py": (b"import json\n\ndef main():\n    pass\n", "is a program's source"),
    "a.sh": (b"#!/bin/sh\n", "is a script"),
    "a.patch": (b"diff --git a/x b/x\n", "is a patch"),
    "a.ipynb": (NOTEBOOK, "is a Jupyter notebook"),
    "a.sarif": (b'{"$schema": "s", "runs": [{}]}', "is a SARIF log, which has no ballots"),
    "a.txt": (b"Dear all,\nhere it is.\n", 'starts with "Dear all,"'),
    "empty": (b"", "is empty"), "blank": (b" \n", "is empty"),
    "list.json": (b"[]", "is an empty list"), "words.json": (b'["a", "b"]', "no jury in the list"),
}  # fmt: skip


def _told(cli: Cli, name: str, data: bytes) -> str:
    Path(name).write_bytes(data)
    done = cli("open", name)
    assert done.code != 0
    (line,) = done.lines
    assert line.startswith(f"{name}: ")
    return line


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", mostly_slow(WITH_A_COMMAND))
def test_a_file_is_named_with_the_command_that_takes_it(name: str, cli: Cli) -> None:
    data, what, command = WITH_A_COMMAND[name]
    line = _told(cli, name, data)
    assert what in line
    assert command in line
    if found := re.search(r"reviewdesk (map .*|calibrate .*|labels import .*)", line):
        done = cli(*shlex.split(found[1]))
        # A label waits for a run; the file was read.
        assert done.code == 0 or "labels" in found[1], done.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", WITHOUT)
def test_a_file_that_no_command_takes_is_named(name: str, cli: Cli) -> None:
    data, what = WITHOUT[name]
    assert what in _told(cli, name, data)


@pytest.mark.usefixtures("folder")
def test_a_map_of_unknown_json_says_what_to_edit_and_then_opens_it(cli: Cli) -> None:
    rows = [
        {"k": f"item {n}", "who": {"x": "ann"}, "mark": {"y": {"z": [n, "told"]}}} for n in (0, 1)
    ]
    Path("odd.json").write_text(json.dumps(rows))
    command = cli("open", "odd.json").lines[0].partition("reviewdesk ")[2]
    assert cli(*shlex.split(command)).code == 0
    made = Path("odd.json.map.toml")
    text = made.read_text()
    assert "# k, who, mark, who.x, mark.y" in text
    assert 'judge = ""' in text
    text = text.replace('judge = ""', 'judge = "who.x"')
    made.write_text(text.replace('score = ""', 'score = "mark.y.z.0"'))
    assert cli("open", "odd.json", "--map", str(made)).code == 0
