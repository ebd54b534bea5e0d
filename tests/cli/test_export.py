"""``export report`` returns what a file said; several, packed and piped files load as if alone."""

import gzip
import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reviewdesk.cli.program import run
from reviewdesk.errors import SettingsError
from reviewdesk.reports import Source, read
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.settings import Settings, Share, values_of
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.cli.terminalkit import on_terminal
from tests.helpers import SAMPLES, SHARED, controls, mostly_slow, numbered, report, verdict

CANONICAL = sorted(
    [
        *(SAMPLES / name for name in (
            "code-review.json", "hostile.json", "library-desk.jsonl", "release-notes.json",
            "support-bot.jsonl", "support-bot-second-panel.jsonl",
        )),
        *(SHARED / "data").glob("*.report.json"),
    ]
)  # fmt: skip
FOREIGN = sorted(
    path
    for path in (SHARED / "formats").rglob("*")
    if path.is_file() and path.parent.name not in {"broken", "formats"}
    and not path.name.endswith((".xml", "llmbar.csv"))
)  # fmt: skip


LARGE = 500_000
"""Bytes of a report whose way out and in again takes a second."""

WIDE = ("--judge-columns", "GPT-4,ChatGPT,ChatGPT-0301,LLaMA2,PaLM2,Falcon")


def contents(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """What the reader makes of a report: its header and its verdicts."""
    found = read(Source.from_path(path))
    return found.header, list(found.verdicts())


def ids(paths: list[Path]) -> list[str]:
    return [f"{path.parent.name}-{path.name}" for path in paths]


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=[pytest.mark.slow] * (file.stat().st_size > LARGE))
        for file in CANONICAL
    ],
    ids=ids(CANONICAL),
)
def test_out_and_in_again_is_identity(cli: Cli, tmp_path: Path, file: Path, ending: str) -> None:
    once, twice = tmp_path / f"once{ending}", tmp_path / f"twice{ending}"
    assert cli("ingest", file).code == 0
    assert cli("export", "report", "-o", once).code == 0
    assert contents(once) == contents(file)
    cli("ingest", once)
    assert cli("export", "report", "-o", twice).code == 0
    assert twice.read_bytes() == once.read_bytes()
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("file", mostly_slow(FOREIGN, every=4), ids=ids(FOREIGN))
def test_a_file_of_a_tool_leaves_as_canonical_report(cli: Cli, tmp_path: Path, file: Path) -> None:
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    options = WIDE if file.name == "wide.csv" else ()
    assert cli("ingest", file, *options).code == 0
    assert cli("export", "report", "-o", once).code == 0
    found = cli("ingest", once, "--json").json
    assert found[0]["format"] == "canonical"
    header, verdicts = contents(once)
    assert header["schema"] == FORMAT_NAME
    assert len(verdicts) == found[0]["verdicts"] > 0
    assert cli("export", "report", "-o", twice).code == 0
    assert twice.read_bytes() == once.read_bytes()


NASTY = "\u001b[31m \u202e rtl \u200b \x7f \x9b \ufeff \u2028 \U000e0041 \x00 ünï"


def test_the_terminal_gets_what_the_file_gets(cli: Cli, tmp_path: Path, write: Write) -> None:
    cli("ingest", write("nasty.json", report(verdict("a", output=NASTY), verdict("b"))))
    cli("export", "report", "-o", tmp_path / "out.json")
    done = cli("export", "report")
    assert done.out == (tmp_path / "out.json").read_text(encoding="utf-8")
    assert controls(done.out) == set()
    assert json.loads(done.out)["verdicts"][0]["output"] == NASTY


def test_what_a_person_filled_in_is_theirs(cli: Cli, tmp_path: Path, write: Write) -> None:
    out = tmp_path / "out.json"
    bare = {"defaults": {"quorum": 0.5}, "meta": {"reviewdesk": {"x": 1}, "y": 2}}
    file = write("bare.json", report(verdict("a", decision=None), **bare))
    cli("ingest", file, "--threshold", "0.3", "--quorum", "0.9")
    cli("export", "report", "-o", out)
    header, verdicts = contents(out)
    # The file has a quorum of its own, so that of the command line filled in nothing.
    assert header["defaults"] == {"quorum": 0.5}
    assert header["meta"] == {"reviewdesk": {"x": 1, "set_by_you": {"threshold": 0.3}}, "y": 2}
    assert verdicts == contents(file)[1]


def test_a_name_that_cannot_be_written_is_one_line_and_a_device_stays(
    loaded: Cli, tmp_path: Path
) -> None:
    done = loaded("export", "report", "-o", tmp_path / "no" / "such.json")
    assert (done.code, len(done.lines)) == (2, 2)
    assert "no such file or directory" in done.lines[1]
    assert loaded("export", "report", "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_a_page_goes_to_a_file(loaded: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    done = loaded("export", "html")
    assert (done.code, done.out) == (0, "")
    assert done.lines[-1] == "run: written to run.html"
    assert (folder / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    # It does not replace a file, and a pipe gets the page itself.
    assert loaded("export", "html").code == 2
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert loaded("export", "html").out.startswith("<!doctype html>")


@pytest.mark.usefixtures("folder")
def test_a_diagram_is_one_text_in_a_file_and_on_stdout(loaded: Cli) -> None:
    loaded("label", "agreed", "pass")
    assert loaded("export", "diagram", "-o", "d.svg").code == 0
    assert loaded("export", "diagram").out == Path("d.svg").read_text(encoding="utf-8")


def test_a_text_stream_as_stdout_takes_a_report(cli: Cli, write: Write, desk_path: Path) -> None:
    cli("ingest", write("report.json", numbered(2)))
    with redirect_stdout(io.StringIO()) as out:
        assert run(["--desk", str(desk_path), "export", "report", "-o", "-"]) == 0
    assert json.loads(out.getvalue()) == json.loads(cli("export", "report").out)


CROSS = SHARED / "formats" / "cross-judge" / "ensemble_verdicts.json"


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed report on standard input."""
    packed = io.BytesIO(gzip.compress(numbered(3, report_id="piped")))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=packed, isatty=lambda: False))


@pytest.mark.usefixtures("piped")
def test_files_packed_files_and_stdin_together(cli: Cli, write: Write) -> None:
    files = (
        write("a.json", numbered(4, report_id="plain")),
        write("b.json.gz", gzip.compress(numbered(5, report_id="packed"))),
        "-",
    )
    found = cli("ingest", *files, "--json").json
    assert [(one["run"], one["verdicts"]) for one in found] == [
        ("plain", 4), ("packed", 5), ("piped", 3),
    ]  # fmt: skip


@pytest.mark.usefixtures("piped")
@pytest.mark.parametrize("command", ["ingest", "open"])
def test_stdin_can_be_named_once(cli: Cli, command: str) -> None:
    done = cli(command, "-", "-")
    assert done.code == 2
    assert done.lines == ["-: standard input can be read only once. Name it once."]
    assert cli("runs").code == 2


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_the_options_of_reading_reach_the_ballots(cli: Cli) -> None:
    words = ("--fail-label", "SPLIT", "--models", "kimi-rigor=kimi-k2")
    (made,) = cli("ingest", CROSS, *words, "--json").json
    (left_out,) = made["notes"]
    assert left_out.startswith("columns not read: avg_confidence, ")
    name = cli("queue", "--json").json[0]["id"]
    models = {one["id"]: one["model"] for one in cli("show", name, "--json").json["jurors"]}
    assert models["kimi-rigor"] == "kimi-k2"
    assert models["claude-strict"] is None


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_terminal_without_cursor_gets_the_queue(cli: Cli, write: Write, desk_path: Path) -> None:
    cli("ingest", write("a.json", numbered(3, report_id="plain")))
    with on_terminal(desk_path, "open", kind="dumb") as app:
        code, shown = app.end()
    assert (code, shown.decode().splitlines()) == (0, cli("queue").out.splitlines())
    assert b"\x1b" not in shown


@pytest.mark.parametrize("text", ["5", "-1%", "101%", "five", "", "nan", "0.05 %%"])
def test_a_share_that_is_none(loaded: Cli, text: str) -> None:
    done = loaded("open", "--blind", "--repeat", text)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"--repeat: {text!r} is not a share from 0 to 1. Write 5% or 0.05; 0 gives none.\n"
    )


@pytest.mark.parametrize("written", ["5%", "0.05", ".05", " 5 %", 0.05])
def test_a_share_as_it_may_be_written(written: str | float) -> None:
    assert values_of({"repeat": written}) == {"repeat": Share(0.05)}
    assert Settings().repeat == Share(0)


@pytest.mark.parametrize("written", [True, 5, "5", [], "x%"])
def test_a_setting_that_is_no_share(written: object) -> None:
    with pytest.raises(SettingsError, match="repeat must be a share"):
        values_of({"repeat": written})
