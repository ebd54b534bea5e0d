"""Several files at once, packed ones, and standard input: each is loaded as if alone."""

import gzip
import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from reviewdesk.errors import SettingsError
from reviewdesk.settings import Settings, Share, values_of
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.cli.terminalkit import on_terminal
from tests.helpers import SHARED, numbered

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
def test_a_terminal_that_cannot_move_its_cursor_gets_the_queue(
    cli: Cli, write: Write, desk_path: Path
) -> None:
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
