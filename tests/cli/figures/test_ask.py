"""``ask``: a question to a run, its answer, and what is refused."""

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.figures.question import answer, asked_keys
from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli
from tests.helpers import numbered, open_desk


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Cli:
    """The command line with a run of forty verdicts."""
    path = tmp_path / "report.json"
    path.write_bytes(numbered(40))
    cli("ingest", path)
    return cli


def test_a_question_is_asked_answered_and_closed(run: Cli, desk_path: Path) -> None:
    empty = run("ask")
    assert empty.code == 2
    assert "nothing was asked yet" in empty.err
    asked = run("ask", "accuracy >= 0.8", "--json").json
    assert (asked["question"], asked["reply"]) == ("accuracy >= 0.8", "not yet")
    assert (asked["low"], asked["high"], asked["safe_to_stop"]) == (0.0, 1.0, False)
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        while keys := [key for key in asked_keys(desk, one) if key not in desk.decided(one)]:
            for key in keys:
                (row,) = desk.rows([key])
                desk.label(key, Truth(row.decision or ""))
        found = answer(desk, one)
        assert found is not None
        assert found.look.labels == 40
    done = run("ask", "--json").json
    assert (done["reply"], done["safe_to_stop"], done["low"], done["high"]) == ("yes", True, 1, 1)
    assert "You may stop; this interval stays valid." in run("ask").out
    assert run("ask", "--close", "--json").json["closed"] is True
    again = run("ask", "--close")
    assert (again.code, "no question is open" in again.err) == (2, True)


def test_undo_takes_back_a_label_and_never_a_question(run: Cli) -> None:
    run("ask", "accuracy >= 0.8")
    run("label", "v1", "pass")
    assert run("undo").code == 0
    assert "nothing to undo" in run("undo").err
    assert run("ask", "--json").json["question"] == "accuracy >= 0.8"


def test_labels_from_before_count_as_known(run: Cli) -> None:
    run("label", "v1", "pass")
    found = run("ask", "pass rate <= 40%", "--json").json
    assert (found["known"], found["labels"], found["low"]) == (1, 0, pytest.approx(1 / 40))
    assert "1 label, which count as known" in run("ask").out


def test_what_cannot_be_asked(run: Cli) -> None:
    for arguments, says in (
        (("kappa >= 1",), "no figure 'kappa'"),
        (("accuracy",), "neither a limit nor a width"),
        (("accuracy >= 0.9", "--close"), "a question is given too"),
    ):
        found = run("ask", *arguments)
        assert (found.code, says in found.err) == (2, True), found.err
