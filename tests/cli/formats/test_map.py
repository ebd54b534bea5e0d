"""The command that proposes a map, and opening a file by it."""

from pathlib import Path

from tests.cli.conftest import Cli

ROWS = "id,answer,gpt_score,gpt_reason,claude_score\na,A,0.9,good,0.2\nb,B,1,,0\n"


def test_a_table_is_opened_by_the_map_that_is_proposed(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
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
