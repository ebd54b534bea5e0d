"""Files that are no report, opened on the command line: what each is, and a command that works."""

import bz2
import gzip
import json
import lzma
import pickle
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("folder")
HTML = b"<!DOCTYPE html>\n<html></html>"
NOTEBOOK = json.dumps({"cells": [{"source": []}], "nbformat": 4}).encode()
LOG = b"2026-01-02 10:00:00 INFO judge: started\n"
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
    "a.log": (LOG, "is a log"),
    "b.log": (b"[INFO] started\n", "is a log"),
    "a.py": (b"import json\n\ndef main():\n    pass\n", "is a program's source"),
    "a.sh": (b"#!/bin/sh\n", "is a script"),
    "a.patch": (b"diff --git a/x b/x\n", "is a patch"),
    "a.ipynb": (NOTEBOOK, "is a Jupyter notebook"),
    "a.sarif": (b'{"$schema": "s", "runs": [{}]}', "is a SARIF log, which has no ballots"),
    "a.txt": (b"Dear all,\nhere it is.\n", 'starts with "Dear all,"'),
    "empty": (b"", "is empty"),
    "blank": (b" \n", "is empty"),
    "list.json": (b"[]", "is an empty list"),
    "words.json": (b'["a", "b"]', "no jury in the list"),
}


def _told(cli: Cli, name: str, data: bytes) -> str:
    Path(name).write_bytes(data)
    done = cli("open", name)
    assert done.code != 0
    (line,) = done.lines
    assert line.startswith(f"{name}: ")
    return line


@pytest.mark.parametrize("name", WITH_A_COMMAND)
def test_a_file_is_named_with_the_command_that_takes_it(name: str, cli: Cli) -> None:
    data, what, command = WITH_A_COMMAND[name]
    line = _told(cli, name, data)
    assert what in line
    assert command in line
    if found := re.search(r"reviewdesk (map .*|calibrate .*|labels import .*)", line):
        done = cli(*shlex.split(found[1]))
        # A label waits for a run; the file was read.
        assert done.code == 0 or "labels" in found[1], done.err


@pytest.mark.parametrize("name", WITHOUT)
def test_a_file_that_no_command_takes_is_named(name: str, cli: Cli) -> None:
    data, what = WITHOUT[name]
    assert what in _told(cli, name, data)


def test_a_map_of_unknown_json_says_what_to_edit_and_then_opens_it(cli: Cli) -> None:
    rows = [
        {"k": f"item {n}", "who": {"x": "ann"}, "mark": {"y": {"z": [n, "told"]}}} for n in (0, 1)
    ]
    Path("odd.json").write_text(json.dumps(rows))
    told = cli("open", "odd.json").lines[0]
    command = told.partition("reviewdesk ")[2]
    assert cli(*shlex.split(command)).code == 0
    made = Path("odd.json.map.toml")
    text = made.read_text()
    assert "# k, who, mark, who.x, mark.y" in text
    assert 'judge = ""' in text
    text = text.replace('judge = ""', 'judge = "who.x"')
    made.write_text(text.replace('score = ""', 'score = "mark.y.z.0"'))
    assert cli("open", "odd.json", "--map", str(made)).code == 0
