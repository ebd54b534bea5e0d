"""Tables from the shell: opened, refused, mapped by a command or by what open asks and keeps."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reviewdesk.cli import cli as program
from reviewdesk.errors import UnclearTableError
from tests.cli.conftest import Cli
from tests.helpers import SAMPLES

LONG, WIDE = SAMPLES / "ratings-long.csv", SAMPLES / "ratings-wide.csv"
JUDGES = "alba,bruno,cleo,dana"


def test_a_long_table_is_ingested_opened_and_shown(cli: Cli) -> None:
    (made,) = cli("ingest", LONG, "--json").json
    # Nine items before three judges, one of whom left one of them empty: it abstained.
    found = [made[key] for key in ("format", "verdicts", "ballots", "failed_ballots", "skipped")]
    assert found == ["table", 9, 27, 0, 0]
    assert len(cli("open", LONG).out.splitlines()) == 1 + 9
    shown = cli("show", "refund-strike").out
    assert "1 of 2 votes pass, of 3 jurors   1 abstained" in shown
    assert "Two sevenths of 21 are 6." in shown


def test_nothing_decides_until_somebody_says_by_what(cli: Cli) -> None:
    (made,) = cli("ingest", LONG, "--json").json
    assert "9 without a decision" in made["notes"][-1]
    (made,) = cli("ingest", LONG, "--threshold", "0.7", "--quorum", "0.5", "--json").json
    note, empty = sorted(made["notes"], reverse=True)
    assert empty == "a score that is empty or NaN is not measured, and casts no vote (1x)"
    assert note.startswith("the same file is loaded as ratings-long with other options")


def test_a_wide_table_needs_its_judges_and_its_scale(cli: Cli) -> None:
    refused = cli("ingest", WIDE)
    assert (refused.code, refused.out) == (2, "")
    options = "--strategy majority --scale 1..5 --threshold 0.5"
    assert refused.lines[0].endswith(f"--judge-columns {JUDGES} {options}")
    (raw,) = cli("ingest", WIDE, "--judge-columns", JUDGES, "--json").json
    # One of 36 cells is empty.
    assert "--scale LOW..HIGH (35x, from 1 to 5)" in raw["notes"][0]
    made = cli("ingest", WIDE, "--judge-columns", JUDGES, "--scale", "1..5", "--json").json
    assert [made[0][key] for key in ("verdicts", "ballots", "failed_ballots")] == [9, 36, 0]
    shown = cli("show", "alphabetical", "--run", made[0]["run"], "--json").json
    # Points 4, 1, 5 and 2 on a scale from 1 to 5.
    assert [juror["score"] for juror in shown["jurors"]] == [0.75, 0.0, 1.0, 0.25]


def test_a_table_is_opened_by_the_map_that_is_proposed(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,answer,gpt_score,gpt_reason,claude_score\na,A,0.9,good,0.2\nb,B,1,,0\n")
    refused = cli("ingest", path)
    assert refused.code == 2
    options = "--judge-columns gpt_score,claude_score --strategy majority --threshold 0.5"
    assert refused.lines[0].endswith(f"open {path} {options}")
    assert 'columns = ["gpt", "claude"]' in refused.err
    made = tmp_path / "rows.toml"
    shown = cli("map", path, "-o", made)
    assert shown.lines[0] == "a:  gpt 0.9   claude 0.2"
    assert shown.lines[-1] == f"open it: reviewdesk open {path} --map {made}"
    assert cli("map", path).out == made.read_text() + "\n"
    (loaded,) = cli("ingest", path, "--map", made, "--json").json
    assert (loaded["verdicts"], loaded["ballots"]) == (2, 4)
    assert cli("map", path, "-o", made).code == 2


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("reviewdesk.cli.terminal.can_ask", lambda: True)
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text(
        "Frage,Antwort,alba,bruno\nq1,a1,0.9,0.2\nq2,a2,0.8,0.9\n", encoding="utf-8"
    )
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
    assert '"decision": "pass"' in asked("show", "q2", "--json").output
    # The map beside the table reads it without a question, as the same run; another map does not.
    assert '"new": false' in asked("ingest", "sheet.csv", "--json").output
    Path("sheet.csv.map.toml").write_text('item = "Frage"\njudge = "=ann"\nscore = "alba"\n')
    assert '"ballots": 2' in asked("ingest", "sheet.csv", "--json").output


def test_scores_beyond_one_are_read_by_the_scale_that_is_answered(asked: Any) -> None:
    Path("sheet.csv").write_text("id,answer,alba,bruno\nq1,a1,5,4\nq2,a2,2,3\n")
    done = asked("open", "sheet.csv", answers="3,4\nmean\n7 of 1..5\n3,8 of 1..5\ny\n")
    assert done.exit_code == 0, done.output
    assert "7 of 1..5 is not understood: write it such as 4 of 1..5" in done.output
    assert "q1:  alba 1.0   bruno 0.75" in done.output
    # The mean .875 of q1 is over the threshold, which a map states on the scale of its scores.
    assert 'threshold = "=3.8"' in Path("sheet.csv.map.toml").read_text()
    assert '"decision": "pass"' in asked("show", "q1", "--json").output
    assert '"decision": "fail"' in asked("show", "q2", "--json").output


def test_columns_may_be_named_and_a_wrong_one_is_asked_for_again(asked: Any) -> None:
    done = asked("open", "sheet.csv", answers="9\nFrage\nalba,bruno\ncriteria\n\ny\n")
    assert done.exit_code == 0, done.output
    assert "there is no column 9" in done.output
    assert "criteria" in done.output
    assert len(asked("queue").output.splitlines()) == 6  # two heads, and two questions of two


def test_whoever_says_no_is_told_what_the_file_is_and_of_labels_nothing_is_asked(
    asked: Any,
) -> None:
    done = asked("open", "sheet.csv", answers="1\n3\n\nn\n")
    assert isinstance(done.exception, UnclearTableError)
    assert "has no column that names the judge" in done.output
    assert not Path("sheet.csv.map.toml").exists()
    Path("labels.csv").write_text("id,truth\na,pass\nb,fail\n")
    done = asked("open", "labels.csv")
    assert not isinstance(done.exception, UnclearTableError)
    assert "Which column" not in done.output


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
    assert "\nq1:  ann 0.9   ben 0.8\n" in done.output
    assert Path("turned.csv.map.toml").is_file()
