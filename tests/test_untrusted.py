"""Hostile text through every headless command: nothing of it reaches a terminal as a command."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.cli import run
from tests.helpers import SAMPLES, controls, mostly_slow, program, report, verdict

HOSTILE = SAMPLES / "hostile.json"
VERDICTS = json.loads(HOSTILE.read_text(encoding="utf-8"))["verdicts"]
IDS = [verdict["id"] for verdict in VERDICTS]

Call = Callable[..., tuple[str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Call]:
    """Run a command and look at every byte it wrote."""
    monkeypatch.setenv("REVIEWDESK_DESK", str(tmp_path / "desk.db"))
    monkeypatch.setenv("REVIEWDESK_REVIEWER", "ann")
    calls = []

    def checked(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
        assert run([str(argument) for argument in arguments]) == code
        out, err = (stream.decode() for stream in capfdbinary.readouterr())
        assert controls(out) == set()
        assert controls(err) == set()
        calls.append(out + err)
        return out, err

    yield checked
    assert any(calls)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def test_the_file_is_hostile_enough() -> None:
    found = controls("".join(_texts(VERDICTS)))
    assert found >= {"\x00", "\x07", "\x1b", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff"}
    assert any("\ud800" <= char <= "\udfff" for char in found)


def test_opening(call: Call) -> None:
    assert len(call("open", HOSTILE)[0].splitlines()) == 1 + len(IDS)
    assert len(call("open", "--blind")[0].splitlines()) == 1 + len(IDS)
    call("ingest", HOSTILE)
    (made,) = json.loads(call("ingest", HOSTILE, "--json")[0])
    assert made["verdicts"] == len(IDS)


@pytest.mark.slow
def test_lists(call: Call) -> None:
    call("ingest", HOSTILE)
    for name in IDS:
        call("label", name, "pass")
    for command in (
        "queue",
        "runs",
        "calibrate",
        "calibrate --jurors",
        "desk info",
        "desk verify",
        "whatif",
    ):
        call(*command.split())
        json.loads(call(*command.split(), "--json")[0])
    assert len(call("queue")[0].splitlines()) == 1 + len(IDS)
    assert {row["id"] for row in json.loads(call("queue", "--json")[0])} == set(IDS)
    call("whatif", "--drop", "nobody", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(IDS))
def test_a_verdict(call: Call, name: str) -> None:
    call("ingest", HOSTILE)
    call("show", name)
    call("whatif", name)
    found = json.loads(call("show", name, "--json")[0])
    assert found["id"] == name
    body = next(v for v in VERDICTS if v["id"] == name)
    # The desk keeps the text as it came, but for lone surrogates, which cannot be stored.
    assert found["input"] == body["input"].encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )


NOTE = "n\x1b[31m\u202e\x9b0m\x7f\x00=1+1\r\nz"


def test_labels(call: Call, tmp_path: Path) -> None:
    call("ingest", HOSTILE)
    for name in IDS:
        call("label", name, "pass", "--note", NOTE)
        json.loads(call("label", name, "fail", "--json", "--reviewer", "b\x1b[7m\x85n")[0])
        call("defer", name)
    call("undo")
    call("redo")
    call("undo", "--json")
    call("labels", "list")
    listed = json.loads(call("labels", "list", "--json")[0])
    assert {row["note"] for row in listed} == {NOTE, None}
    assert len(call("labels", "list")[0].splitlines()) == 1 + 2 * len(IDS)
    for kind in ("mcptest", "full"):
        for line in call("labels", "export", "--format", kind)[0].splitlines():
            json.loads(line)
    assert len(call("labels", "export", "--format", "csv")[0].splitlines()) == 1 + 2 * len(IDS)
    out = tmp_path / "full.jsonl"
    call("labels", "export", "--format", "full", "-o", out)
    call("labels", "import", out)
    json.loads(call("labels", "import", out, "--json")[0])
    for kind in ("report", "html", "markdown"):
        assert call("export", kind)[0]


EVIL = "e\x1b]0;x\x07\n\u202eFORGED LINE\x9b2J"


def test_ids_names_and_files_are_hostile_too(call: Call, tmp_path: Path) -> None:
    path = tmp_path / f"{EVIL.replace('/', '')}.json"
    path.write_bytes(
        report(verdict(EVIL, flagged=True), report_id=EVIL, title=EVIL, producer={"name": EVIL})
    )
    assert len(call("ingest", path)[0].splitlines()) == 1
    call("ingest", path, "--json")
    assert len(call("open", path)[0].splitlines()) == 2
    assert len(call("queue")[0].splitlines()) == 2
    assert len(call("runs")[0].splitlines()) == 2
    texts = report(verdict("v", output="fine\nRESPONSE\nx", input="\nRUBRIC"), report_id="texts")
    forging = tmp_path / "texts.json"
    forging.write_bytes(texts)
    call("ingest", forging)
    # What begins a line is ours.
    lines = call("show", "texts:v")[0].splitlines()
    assert (lines.count("RESPONSE"), lines.count("RUBRIC")) == (1, 1)
    call("runs", "remove", "texts")
    for more in ((), ("--json",)):
        call("show", EVIL, *more)
        call("label", EVIL, "pass", *more)
        call("defer", EVIL, *more)
    assert len(call("labels", "list")[0].splitlines()) == 2
    assert len(call("undo")[0].splitlines()) == 1
    assert len(call("show", EVIL + "x", code=2)[1].splitlines()) == 1
    assert len(call("queue", "--run", EVIL + "x", code=2)[1].splitlines()) == 1
    # The run is named first.
    assert len(call("queue", "--filter", f"id~{EVIL} {EVIL}", code=2)[1].splitlines()) == 2
    bad = tmp_path / f"{EVIL.replace('/', '')}.txt"
    bad.write_bytes(EVIL.encode())
    for reads in ("ingest", "open", "calibrate"):
        assert len(call(reads, bad, code=2)[1].splitlines()) == 1
    assert len(call("labels", "import", bad, code=2)[1].splitlines()) == 1
    call("runs", "remove", EVIL)
    other = tmp_path / f"{EVIL}.db"
    assert len(call("--desk", other, "runs", code=2)[1].splitlines()) == 1
    call("--desk", other, "ingest", path)
    call("--desk", other, "desk", "info")
    call("--desk", other, "runs")
    call("--desk", bad, "runs", code=2)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\x9b.json"
    Path(os.fsdecode(name)).write_bytes(report(verdict("v")))
    for arguments, code in (
        ([b"ingest", name], 0),
        ([b"runs"], 0),
        ([b"label", b"v", b"pass", b"--note", b"\xff"], 2),
        ([b"label", b"v", b"pass", b"--reviewer", b"\xff"], 2),
        ([b"show", b"\xff"], 2),
        ([b"queue", b"--filter", b"id~\xff"], 2),
        ([b"ingest", name, b"--threshold", b"0.3", b"--seed", b"\xff"], 2),
        ([b"desk", b"verify"], 0),
    ):
        done = program(tmp_path / "desk.db", *map(os.fsdecode, arguments))
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, err
        assert "Traceback" not in err
        assert controls(out + err) == set()


PILE = "e" + 60 * "\u0301"
"""A character with marks that a terminal would draw over the lines above it."""


@pytest.mark.slow
def test_marks_are_capped_on_every_surface(call: Call, tmp_path: Path) -> None:
    body = verdict(
        f"v{PILE}", 0.9, 0.2, input=PILE, output=PILE, rubric=PILE, flagged=True,
        case={"test": PILE, "tags": [PILE]},
    )  # fmt: skip
    body["jurors"][0] |= {"id": PILE, "reason": PILE, "model": PILE}
    path = tmp_path / f"r{PILE}.json"
    path.write_bytes(report(body, verdict("v2"), report_id=f"run {PILE}"))
    call("ingest", path)
    call("label", "v2", "pass", "--note", PILE, "--reviewer", f"b{PILE}")
    call("filters", "save", "piled", f"text~{PILE}")
    reads = (
        "queue", "open", "runs", "show v2", "calibrate", "calibrate --jurors", "labels list",
        "filters", "labels export", "labels export --format full",
        "labels export --format csv", "labels export --format yaml", "desk info",
        "export report -o -", "export markdown -o -",
        "whatif --strategy mean", "queue --json", "labels agreement",
    )  # fmt: skip
    wrong = (
        f"show {PILE}", f"queue --filter {PILE}:x", f"queue --order {PILE}", f"--debug show {PILE}",
        f"ingest {PILE}.json", f"runs --{PILE}", f"queue --run {PILE}",
    )  # fmt: skip
    said = [
        call("show", f"v{PILE}"),
        *(call(*(word.replace("+", " ") for word in words.split())) for words in reads),
        *(call(*words.split(), code=2) for words in wrong),
    ]
    for text in (text for both in said for text in both):
        assert 9 * "\u0301" not in text
    # What the desk holds is what came.
    assert json.loads(call("show", f"v{PILE}", "--json")[0])["input"] == PILE
