"""The command line: what is read from it and what completes it."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.app.keys.commands import (
    COMMANDS,
    TypedCommand,
    among,
    complete_command,
    files,
    last_of_list,
    panel_files,
    parse_command,
)
from reviewdesk.domain.query.completion import Option
from reviewdesk.errors import UsageError


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("42", TypedCommand("go", "42")),
        (":42", TypedCommand("go", "42")),
        ("go item/001", TypedCommand("go", "item/001")),
        ("  filter  esc label:none ", TypedCommand("filter", "esc label:none")),
        ("filter", TypedCommand("filter", "")),
    ],
)
def test_a_line_is_taken_apart(text: str, typed: TypedCommand) -> None:
    assert parse_command(text) == typed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no command was typed"),
        ("fliter esc", "filter"),
        ("go", "go needs ROW|ID"),
        ("runs now", "takes nothing after it"),
        ("label.pass", "no command 'label.pass'"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("|", r"\|")):
        parse_command(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_command(text).name in COMMANDS


def test_names_complete_with_the_beginning_first() -> None:
    found = complete_command("ru", 2, {})
    names = [option.text for option in found.options]
    assert names[0] == "runs"
    assert "run" in names
    assert (found.start, found.end) == (0, 2)


def test_an_argument_is_completed_by_its_own_completer() -> None:
    completers = {"theme": among(lambda: [Option("desk"), Option("desk-light")])}
    found = complete_command("theme l", 7, completers)
    # "l" is only inside of desk-light; it stands for the "l" at column 6.
    assert [option.text for option in found.options] == ["desk-light"]
    assert (found.start, found.end) == (6, 7)
    assert complete_command("runs x", 6, completers).options == ()


def test_the_last_of_several_words_is_completed() -> None:
    complete = last_of_list(lambda: ["tone", "too-long", "wrong-policy"])
    found = complete("wrong-policy, to", 16)
    assert [option.text for option in found.options] == ["tone", "too-long"]
    assert (found.start, found.end) == (14, 16)
    assert "wrong-policy" not in {o.text for o in complete("wrong-policy, ", 14).options}


def test_files_complete(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / ".hidden").write_text("")
    typed = f"{tmp_path}/ru"
    assert {o.text for o in files(typed, len(typed)).options} == {
        f"{tmp_path}/run.json",
        f"{tmp_path}/runs/",
    }
    assert not any("hidden" in o.text for o in files(f"{tmp_path}/", len(f"{tmp_path}/")).options)
    assert files("/no/such/folder/x", 17).options == ()
    (tmp_path / "panel.yaml").write_text("jurors: []")
    (tmp_path / "suite.yaml").write_text("jury: []")
    typed = f"{tmp_path}/"
    found = [o.text for o in panel_files(typed, len(typed)).options]
    assert found == [f"{tmp_path}/panel.yaml", f"{tmp_path}/runs/"]


@pytest.mark.parametrize("typed", ["~no-such-user/x", "a" * 5000 + "/x", "\0/x"])
def test_a_path_that_cannot_be_completes_to_nothing(typed: str) -> None:
    assert files(typed, len(typed)).options == ()
