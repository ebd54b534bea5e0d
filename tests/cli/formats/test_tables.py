"""Tables from the shell: the samples opened and shown, and broken ones refused."""

from pathlib import Path

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


def test_the_labels_of_a_table_are_taken_on_request(cli: Cli) -> None:
    cli("ingest", LONG)
    assert cli("labels", "export", "--format", "full").out == ""
    assert "9 labels taken from the file" in cli("ingest", LONG, "--import-labels").out


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


def test_a_broken_table_is_one_line_and_nothing_is_kept(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text('item,judge,score\na,"j,1\n', encoding="utf-8")
    refused = cli("ingest", path)
    assert (refused.code, refused.out, len(refused.lines)) == (2, "", 1)
    assert cli("runs", "--json").json == []
