"""What is offered to a shell that completes a line."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from reviewdesk.cli import cli as group
from reviewdesk.cli.common import VARIABLE, answer
from reviewdesk.desk.core import Desk
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import report, verdict

Offered = Callable[..., list[str]]

RUNS = {
    "week-36": report(
        verdict("fee/late", 0.9, case={"test": "one", "tags": ["late fee", "$(touch x)"]}),
        verdict("fee/lost", 0.1), verdict("$(touch x)", 0.1), verdict("two words", 0.4),
        report_id="week-36",
    ),
    "week-37": report(verdict("fee/new", 0.9), verdict("fee/late", 0.2), report_id="week-37"),
}  # fmt: skip


@pytest.fixture
def filled(cli: Cli, write: Write) -> Cli:
    for name, data in RUNS.items():
        assert cli("ingest", write(f"{name}.json", data)).code == 0
    return cli


@pytest.fixture
def offered() -> Offered:
    """What is offered for the last of some words, before any shell has formatted it."""

    def call(*words: str) -> list[str]:
        found = ShellComplete(group, {}, "reviewdesk", VARIABLE)
        return [item.value for item in found.get_completions(list(words[:-1]), words[-1])]

    return call


def test_commands_and_options_are_offered(offered: Offered) -> None:
    assert offered("ca") == ["calibrate"]
    assert offered("filters", "re") == ["remove"]
    assert offered("queue", "--fi") == ["--filter"]
    assert offered("completion", "") == ["bash", "zsh", "fish"]
    assert offered("open", "--strategy", "me") == ["mean", "median"]
    assert offered("ingest", "--format", "promp") == ["promptfoo"]
    assert offered("labels", "ex") == ["export"]
    assert offered("label", "un") == ["undo"]
    assert offered("improve", "t") == ["try"]
    assert "corrected" in offered("explain", "cor")
    assert offered("explain", "Corrected", "") == ["rate"]
    assert offered("explain", "corrected", "rate", "") == []


@pytest.mark.usefixtures("filled")
def test_names_of_the_desk_are_offered(offered: Offered) -> None:
    assert sorted(offered("queue", "--run", "we")) == ["week-36", "week-37"]
    assert offered("runs", "remove", "week-37") == ["week-37"]
    # Of all runs, or of the one that is named; what a shell would run or part is not offered.
    assert offered("show", "") == ["fee/late", "fee/lost", "fee/new"]
    assert offered("show", "--run", "week-36", "fee/l") == ["fee/late", "fee/lost"]
    assert offered("show", "--run", "nope", "") == []
    assert offered("label", "fee/late", "p") == ["pass"]


def test_files_are_left_to_the_shell_and_what_no_shell_asks_is_refused() -> None:
    found = ShellComplete(group, {}, "reviewdesk", VARIABLE)
    for words in (["open"], ["judge"], ["judge", "--panel"], ["gate"], ["--desk"], ["calibrate"]):
        (item,) = found.get_completions(words, "sam")
        assert (item.type, item.value) == ("file", "sam")
    assert answer(group, "csh_source") == 1
    assert answer(group, "bash_dance") == 1


@pytest.mark.usefixtures("filled")
def test_the_desk_that_the_line_names_is_asked(
    offered: Offered, desk_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVIEWDESK_DESK", str(tmp_path / "none.db"))
    assert offered("show", "fee") == []
    assert offered("--desk", str(desk_path), "show", "fee/n") == ["fee/new"]
    assert offered("show", "--desk", str(desk_path), "fee/n") == ["fee/new"]


@pytest.mark.parametrize(
    "content", [None, b"", b"no desk", b"SQLite format 3\0" + bytes(200)], ids=repr
)
@pytest.mark.usefixtures("cli")
def test_no_desk_is_made_nor_read(offered: Offered, desk_path: Path, content: bytes | None) -> None:
    if content is not None:
        desk_path.parent.mkdir()
        desk_path.write_bytes(content)
    assert offered("show", "") == offered("queue", "--run", "") == []
    assert (desk_path.read_bytes() if desk_path.exists() else None) == content


@pytest.mark.usefixtures("filled")
def test_an_older_desk_is_not_migrated(offered: Offered, desk_path: Path) -> None:
    desk = Desk.open(desk_path)
    desk.conn.execute("PRAGMA user_version=1")
    desk.close()
    before = desk_path.read_bytes()
    assert offered("show", "") == []
    assert desk_path.read_bytes() == before


@pytest.mark.usefixtures("cli")
def test_broken_settings_are_no_words_on_the_prompt(
    offered: Offered, write: Write, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("REVIEWDESK_CONFIG", str(write("config.toml", b"desk = ")))
    assert offered("show", "") == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_no_help_page(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cli: Cli
) -> None:
    from reviewdesk.cli import main

    monkeypatch.setenv(VARIABLE, f"{name}_source")
    monkeypatch.setattr(sys, "argv", ["reviewdesk"])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert (left.value.code, err) == (0, "")
    assert f"{VARIABLE}={name}_complete" in out
    assert "Usage:" not in out
    # The command prints the same.
    monkeypatch.delenv(VARIABLE)
    done = cli("completion", name)
    assert (done.code, done.out, done.err) == (0, out, "")


def test_the_command_says_how_each_shell_is_set_up(cli: Cli) -> None:
    text = cli("completion", "--help").out
    for shell in ("bash", "zsh", "fish"):
        assert f"reviewdesk completion {shell}" in text
    assert all(len(row) <= 80 for row in text.splitlines())
    refused = cli("completion", "csh")
    assert (refused.code, refused.out) == (2, "")
    assert "'bash', 'zsh', 'fish'" in refused.err
