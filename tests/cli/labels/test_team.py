"""A team from the shell: agreement, disagreements, adjudication."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import controls, report, verdict


@pytest.fixture
def team(cli: Cli, write: Write) -> Path:
    """Ann and ben labelled two verdicts, and differ on the first."""
    file = write("report.json", report(verdict("a"), verdict("b"), verdict("c")))
    cli("ingest", file)
    for who, word in (("ann", "pass"), ("ben\u202e", "fail")):
        cli("--reviewer", who, "label", "a", word, "--note", "because \x1b[2J")
        cli("--reviewer", who, "label", "b", "pass")
    return file


@pytest.mark.usefixtures("team")
def test_a_disagreement_is_counted_listed_and_settled(cli: Cli) -> None:
    found = cli("labels", "agreement", "--json").json
    assert found["items"] == 2
    assert [one["same"] for one in found["agreement"]["pairs"]] == [found["agreement"]["n"] - 1]
    assert [one["labels"] for one in found["members"]] == [2, 2]
    assert found["disputed"] == 1
    out = cli("labels", "agreement").out
    assert "1 verdict without a truth, as people differ; 0 adjudicated" in out
    assert controls(out) == set()
    done = cli("labels", "adjudicate", "b", "fail")
    assert done.code == 2
    assert "there is nothing to adjudicate: its labels are all the same" in done.err


@pytest.mark.usefixtures("team")
def test_a_disagreement_is_listed_and_settled(cli: Cli) -> None:
    (found,) = cli("labels", "agreement", "--json").json["disagreements"]
    assert [one["label"] for one in found["opinions"]] == ["pass", "fail"]
    assert cli("labels", "adjudicate", "a", "fail", "--json").json["label"] == "fail"
    out = cli("labels", "agreement").out
    assert "0 verdicts to settle, 1 settled" in out
    assert "fail by ann" in out
    assert controls(out) == set()
    assert cli("undo").out == "undo adjudicate fail  a\n"
