"""On a terminal, open asks what the columns of an unknown table are, and keeps the answer."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reviewdesk.cli import cli as program
from reviewdesk.errors import UnclearTableError

SHEET = "Frage,Antwort,alba,bruno\nq1,a1,0.9,0.2\nq2,a2,0.8,0.9\n"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("reviewdesk.cli.terminal.can_ask", lambda: True)
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text(SHEET, encoding="utf-8")
    env = {"REVIEWDESK_DESK": str(tmp_path / "desk.db"), "REVIEWDESK_CONFIG": os.devnull}

    def run(*words: str, answers: str = "") -> Result:
        return CliRunner().invoke(program, [*words], env=env, input=answers)

    return run


def test_four_answers_open_the_table_and_are_kept(asked: Any) -> None:
    # The item is the first column, the judges are the third and the fourth.
    done = asked("open", "sheet.csv", answers="1\n3,4\nmajority\n0.5\ny\n")
    assert done.exit_code == 0, done.output
    assert "q1:  alba 0.9   bruno 0.2" in done.output
    assert Path("sheet.csv.map.toml").is_file()
    shown = asked("show", "q2", "--json").output
    assert '"decision": "pass"' in shown
    # The map beside the table reads it without a question, as the same run; another map does not.
    again = asked("ingest", "sheet.csv", "--json").output
    assert '"new": false' in again
    Path("sheet.csv.map.toml").write_text('item = "Frage"\njudge = "=ann"\nscore = "alba"\n')
    assert '"ballots": 2' in asked("ingest", "sheet.csv", "--json").output


def test_columns_may_be_named_and_a_wrong_one_is_asked_for_again(asked: Any) -> None:
    done = asked("open", "sheet.csv", answers="9\nFrage\nalba,bruno\ncriteria\n\ny\n")
    assert done.exit_code == 0, done.output
    assert "there is no column 9" in done.output
    assert "criteria" in done.output
    assert len(asked("queue").output.splitlines()) == 6  # two heads, and two questions of two


def test_whoever_says_no_is_told_what_the_file_is(asked: Any) -> None:
    done = asked("open", "sheet.csv", answers="1\n3\n\nn\n")
    assert isinstance(done.exception, UnclearTableError)
    assert "has no column that names the judge" in done.output
    assert not Path("sheet.csv.map.toml").exists()


def test_off_a_terminal_nothing_is_asked(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviewdesk.cli.terminal.can_ask", lambda: False)
    done = asked("open", "sheet.csv")
    assert isinstance(done.exception, UnclearTableError)
    assert "Which column" not in done.output


def test_what_only_a_map_can_say_is_shown_and_kept_without_a_question(asked: Any) -> None:
    Path("turned.csv").write_text("judge,q1,q2\nann,0.9,0.2\nben,0.8,0.1\n")
    done = asked("open", "turned.csv", answers="y\n")
    assert done.exit_code == 0, done.output
    assert "Which column" not in done.output
    assert "table / q1:  ann 0.9   ben 0.8" in done.output
    assert Path("turned.csv.map.toml").is_file()


def test_nothing_is_asked_about_a_file_that_another_command_takes(asked: Any) -> None:
    Path("labels.csv").write_text("id,truth\na,pass\nb,fail\n")
    done = asked("open", "labels.csv")
    assert not isinstance(done.exception, UnclearTableError)
    assert "Which column" not in done.output
