"""Filters by what became of a ballot, and by panels that are of one mind."""

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.review.runs import overview, tallies
from reviewdesk.domain.query.completion import Vocabulary, complete
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.store.measures import unknown_ballots
from reviewdesk.views.json.review import run_line
from tests.helpers import load, open_desk, report, verdict


def juried(name: str, *statuses: str) -> dict[str, object]:
    """Two jurors that differ, and one of each status."""
    seats = [{"id": f"s{n}", "status": status} for n, status in enumerate(statuses)]
    made = verdict(name, 0.9, 0.2)
    return {**made, "jurors": [*made["jurors"], *seats]}


@pytest.fixture
def desk(desk: Desk) -> Desk:
    same, votes = verdict("same", 0.9, 0.9), verdict("votes", 0.9, 0.8)
    # An error without a status, and one that a label stands for, are failures too.
    error = juried("error")
    error["jurors"] = [*error["jurors"], {"id": "x", "error": {"message": "503"}}]  # type: ignore[misc]
    label = juried("label")
    label["jurors"] = [*label["jurors"], {"id": "x", "label": "PARSE_FAIL"}]  # type: ignore[misc]
    raw = juried("raw", "timeout")
    raw["jurors"] = [*raw["jurors"], {"id": "x", "raw_score": 7}]  # type: ignore[misc]
    rest = [
        juried("quiet", "abstained"), juried("odd", "unknown", "unknown"),
        juried("spared", "not_asked"), juried("late", "timeout", "abstained"),
    ]  # fmt: skip
    load(desk, report(same, votes, error, label, raw, *rest, verdict("alone", 0.9)))
    return desk


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("failed", "error label late raw"),
        # A number that waits for its scale is no abstention.
        ("abstained", "late quiet"),
        ("unanimous_votes", "same votes"),
        ("!failed abstained", "quiet"),
    ],
)
def test_what_a_word_keeps(desk: Desk, text: str, ids: str) -> None:
    run = desk.run(None)
    rows = desk.rows(desk.queue(run, text))
    assert sorted(row.id for row in rows) == ids.split()


@pytest.mark.parametrize("word", ["failed", "abstained", "unanimous_votes"])
def test_it_is_hidden_under_blind_and_can_be_completed(word: str) -> None:
    assert parse_filter(word).hidden
    offered = complete(word[:4], 4, Vocabulary()).options
    assert word in [option.text for option in offered]


def test_a_run_counts_them(desk: Desk) -> None:
    [line] = overview(desk)
    shape = run_line(line, tallies(desk)[line.run.key])
    assert (shape["unanimous_scores"], shape["unanimous_votes"]) == (1, 2)
    # Of the failed: 503, the label, and two timeouts; two were not understood.
    assert (shape["failed_ballots"], shape["unknown_ballots"]) == (4, 2)


def test_a_run_counts_those_of_all_its_windows(tmp_path: Path) -> None:
    # More verdicts than a window holds, of which the first and the last lie in different windows.
    names = [f"v{n}" for n in range(600)]
    unknown = {"v0": ("unknown",), "v1": ("unknown", "unknown"), "v599": ("unknown",)}
    with closing(open_desk(tmp_path / "desk.db")) as made:
        loaded = load(made, report(*(juried(name, *unknown.get(name, ())) for name in names)))
        windows = made.conn.execute("SELECT count(*) FROM packed").fetchone()[0]
        assert windows > 1
        other = load(made, report(juried("v", "unknown", "error"), report_id="other"))
        assert unknown_ballots(made.conn) == {loaded.key: 4, other.key: 1}
        assert unknown_ballots(made.conn, loaded.key) == {loaded.key: 4}
