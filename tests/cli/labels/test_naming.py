"""How runs and verdicts are named, and what a command says of a name that does not fit."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Done, once
from tests.cli.gatekit import Write
from tests.helpers import report, verdict


@pytest.fixture
def two(cli: Cli, write: Write, tmp_path: Path) -> Cli:
    """Runs ``one`` and ``two`` that share the id ``both``; ``two`` was loaded last."""
    first = report(verdict("both"), verdict("first"), verdict("a:b"), report_id="one")
    second = report(verdict("both", 0.1), verdict("second"), report_id="two")
    once(tmp_path, "two", lambda: cli("ingest", write("1.json", first), write("2.json", second)))
    return cli


def shown(done: Done) -> tuple[str, str]:
    return done.json["run"], done.json["id"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("first", ("one", "first")), ("second", ("two", "second")), ("a:b", ("one", "a:b")),
        ("one:both", ("one", "both")), ("two:both", ("two", "both")),
        ("one:a:b", ("one", "a:b")), ("both --run two", ("two", "both")),
    ],
)  # fmt: skip
def test_an_id_needs_a_run_only_where_two_have_it(
    two: Cli, words: str, found: tuple[str, str]
) -> None:
    assert shown(two("show", *words.split(), "--json")) == found


@pytest.mark.parametrize(
    "command", [("show", "both"), ("label", "both", "pass"), ("defer", "both")]
)
def test_an_ambiguous_id_lists_the_candidates(two: Cli, command: tuple[str, ...]) -> None:
    done = two(*command)
    assert (done.code, done.out) == (2, "")
    (line,) = done.lines
    assert "one:both" in line
    assert "two:both" in line
    assert two("desk", "verify", "--json").json["events"] == 2


def test_an_id_that_reads_like_a_run_and_an_id(two: Cli, write: Write) -> None:
    third = report(verdict("b"), report_id="a")
    assert two("ingest", write("3.json", third)).code == 0
    done = two("label", "a:b", "fail")
    assert done.code == 2
    assert "one:a:b" in done.err
    assert shown(two("show", "b", "--run", "a", "--json")) == ("a", "b")
    assert shown(two("show", "one:a:b", "--json")) == ("one", "a:b")


@pytest.mark.parametrize("name", ["nobody", "one:nobody", "three:both", "one:", ":both", ""])
def test_a_name_of_nothing(two: Cli, name: str) -> None:
    done = two("show", name)
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)


def test_the_run_opened_or_loaded_last_is_named_on_stderr(two: Cli) -> None:
    done = two("queue", "--json")
    assert {row["run"] for row in done.json} == {"two"}
    assert done.lines == ["run: two"]
    assert two("open", "--run", "one").code == 0
    assert two("queue", "--json").lines == ["run: one"]


def test_a_run_by_a_prefix_of_its_hash(two: Cli) -> None:
    hashes = {run["run"]: run["hash"] for run in two("runs", "--json").json}
    done = two("queue", "--json", "--run", hashes["one"][:12])
    assert {row["run"] for row in done.json} == {"one"}
    assert done.lines == []


@pytest.mark.parametrize("command", ["queue", "calibrate"])
def test_a_run_that_is_not_there(two: Cli, command: str) -> None:
    done = two(command, "--run", "three")
    assert (done.code, done.lines) == (2, ["no run 'three'. Loaded runs: one, two."])


def test_a_removed_run_is_not_named(two: Cli) -> None:
    assert two("runs", "remove", "two").code == 0
    assert two("queue", "--run", "two").code == 2
    assert shown(two("show", "both", "--json")) == ("one", "both")
