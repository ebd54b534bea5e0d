"""``ask``: a question to a run, its answer, and what is refused."""

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.figures.question import answer, asked_keys
from reviewdesk.domain.records import Truth
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent, append
from reviewdesk.store.questions import KIND
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


def test_a_label_that_was_undone_before_the_question_does_not_change_the_draw(
    run: Cli, desk_path: Path
) -> None:
    run("label", "v1", "pass")
    run("undo")
    run("label", "v2", "pass")
    run("ask", "accuracy >= 0.8")
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        drawn = asked_keys(desk, one)
        again = desk.find(one, "v1")
        known = desk.find(one, "v2")
        assert known not in drawn
        desk.label(again, Truth.PASS)
        assert asked_keys(desk, one) == drawn
        desk.label(known, Truth.FAIL)
        assert asked_keys(desk, one) == drawn
        found = answer(desk, one)
        assert found is not None
        # v1 counts once it is drawn, v2 from before, with the label that it has now.
        assert found.known == 1


@pytest.mark.parametrize(
    "detail",
    [
        {"question": 5},
        {"question": {"figure": "kappa", "op": ">=", "limit": 0.5}},
        {"question": {"figure": "accuracy", "op": ">=", "limit": 7}},
        {"question": {"figure": "accuracy", "op": ">=", "limit": 0.5, "guesses": {"0": 9}}},
        {"question": {"figure": "accuracy", "width": 0.5, "planned": 10**9}},
    ],
)
def test_a_question_that_another_desk_made_up_is_none(
    run: Cli, desk_path: Path, detail: dict[str, object]
) -> None:
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        entry = NewEvent(KIND, desk.at(), run=one.hash, detail=detail)
        with writing(desk.conn, desk.path):
            append(desk.conn, "ben", [entry])
    found = run("ask")
    assert (found.code, "nothing was asked yet" in found.err) == (2, True)
    assert run("calibrate").code == 0


def test_two_desks_that_both_close_a_question_close_it_once(run: Cli, desk_path: Path) -> None:
    run("ask", "accuracy >= 0.8")
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        for name in ("ann", "ben"):
            entry = NewEvent(KIND, desk.at(), run=one.hash, detail={"closed": True})
            with writing(desk.conn, desk.path):
                append(desk.conn, name, [entry])
    assert run("ask", "--json").json["closed"] is True
