"""An adjudication is the truth of an item; labels stay, and undo takes it back."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.rows import full_rows
from reviewdesk.desk.labels.transfer import import_labels, list_labels
from reviewdesk.desk.team.agreement import adjudication, disagreements, team_page
from reviewdesk.desk.team.claims import double_share
from reviewdesk.domain.labels.team import TeamPage, is_double
from reviewdesk.domain.records import Run, Truth
from reviewdesk.errors import UsageError
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.reports.labels.writer import as_jsonl
from reviewdesk.store.figures import labelled
from reviewdesk.store.verdicts import by_key
from tests.helpers import figures_of, load, numbered, open_desk, report, verdict

PASS, FAIL = Truth.PASS, Truth.FAIL


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Ann and ben labelled v1 and v2; they differ on v1."""
    with closing(open_desk(tmp_path / "d.db")) as ann:
        run = load(ann, numbered(6))
        ann.label(ann.find(run, "v1"), PASS)
        ann.label(ann.find(run, "v2"), PASS)
        with closing(open_desk(tmp_path / "d.db", "ben")) as ben:
            ben.label(ben.find(run, "v1"), FAIL, note="no")
            ben.label(ben.find(run, "v2"), PASS)
        yield ann


def truth(desk: Desk, name: str = "v1") -> Truth | None:
    run = desk.run()
    (row,) = desk.rows([desk.find(run, name)])
    found = {one.id: one.truth for one in labelled(desk.conn, run.key)}
    assert found.get(name) is row.label
    return row.label


def settle(desk: Desk, word: Truth, name: str = "v1", note: str | None = None) -> None:
    adjudication(desk, desk.find(desk.run(), name), word, note)(desk)


def of(desk: Desk, key: int) -> bytes:
    return bytes(by_key(desk.conn, key)["item"])


def test_it_is_the_truth_and_the_labels_stay(desk: Desk) -> None:
    assert truth(desk) is Truth.DISPUTED
    assert desk.progress(desk.run()).disputed == 1
    settle(desk, FAIL, note="the rubric says so")
    assert truth(desk) is FAIL
    assert desk.progress(desk.run()).disputed == 0
    (found,) = disagreements(desk, desk.run())
    assert [(one.reviewer, one.label) for one in found.opinions] == [("ann", PASS), ("ben", FAIL)]
    settled = found.adjudication
    assert settled is not None
    assert (settled.reviewer, settled.label, settled.note) == ("ann", FAIL, "the rubric says so")
    assert figures_of(desk, desk.run()).labelled.n == 2
    assert desk.verify().problems == ()


def test_the_newest_counts_whoever_gave_it_and_undo_brings_back_the_one_before(desk: Desk) -> None:
    settle(desk, FAIL)
    with closing(Desk.open(desk.path, reviewer="cy")) as cy:
        settle(cy, PASS)
        assert truth(cy) is PASS
        cy.undo()
        assert truth(cy) is FAIL
    # What ann undoes is her own.
    desk.undo()
    assert truth(desk) is Truth.DISPUTED
    assert desk.verify().problems == ()


def test_without_labels_it_is_no_truth(desk: Desk) -> None:
    settle(desk, FAIL)
    with closing(Desk.open(desk.path, reviewer="ben")) as ben:
        ben.undo()
        ben.undo()
        # Ben's labels are gone; ann's and the adjudication stand.
        assert truth(ben) is FAIL
    for _ in range(3):
        desk.undo()
    assert truth(desk) is truth(desk, "v2") is None
    assert desk.verify().problems == ()


@pytest.mark.parametrize(
    ("name", "why"), [("v2", "its labels are all the same"), ("v3", "it has no label")]
)
def test_where_nobody_differs_there_is_nothing_to_settle(desk: Desk, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        settle(desk, FAIL, name)


def test_a_full_export_carries_it_to_another_desk(desk: Desk, tmp_path: Path) -> None:
    settle(desk, FAIL, note="so")
    rows = full_rows(desk, desk.run(), None).rows
    # The row of the adjudication carries the figures: the panel passed what deserved to fail.
    keys = "reviewer", "truth", "adjudicated", "correct"
    assert [tuple(one[key] for key in keys) for one in rows if one["id"] == "v1"] == [
        ("ann", "fail", True, False), ("ann", "pass", False, None), ("ben", "fail", False, None),
    ]  # fmt: skip
    data = as_jsonl(rows).encode()
    with closing(open_desk(tmp_path / "other.db", "dora")) as other:
        there: Run = load(other, numbered(6))
        read = read_labels(Source.from_bytes("l.jsonl", data))
        for new in (5, 0):
            assert import_labels(other, there, read).new == new
        assert truth(other) is FAIL
        assert {one["note"] for one in list_labels(other, there)} == {"so", "no", None}


def paged(path: Path, data: bytes, given: Mapping[str, Mapping[str, str]]) -> TeamPage:
    with closing(open_desk(path, "lead")) as desk:
        run = load(desk, data)
        for who, labels in given.items():
            with closing(Desk.open(path, reviewer=who)) as other:
                for name, word in labels.items():
                    other.label(other.find(run, name), Truth(word))
        return team_page(desk, run)


def test_people_err_by_what_they_said_before_they_saw_the_others(desk: Desk) -> None:
    run = desk.run()
    assert page_error(desk) == 0.5
    with closing(open_desk(desk.path, "ben")) as ben:
        key = ben.find(run, "v1")
        for word in (PASS, FAIL, PASS):
            ben.label(key, word)  # Ann's label is in view by now.
        assert truth(ben) is PASS
        assert page_error(ben) == 0.5
    with closing(open_desk(desk.path, "cat")) as cat:
        for name in ("v1", "v2"):
            cat.label(cat.find(run, name), PASS, revealed_at="2026-01-01T00:00:00Z")
        # She had revealed what they said.
        assert page_error(cat) == 0.5


def test_second_opinions_on_drawn_items_are_weighted_by_group(tmp_path: Path) -> None:
    made = [verdict(f"p{i}", output=f"good {i}") for i in range(30)]
    made += [verdict(f"f{i}", 0.1, 0.2, 0.1, output=f"bad {i}") for i in range(10)]
    with closing(open_desk(tmp_path / "d.db")) as ann:
        run = load(ann, report(*made))
        double_share(ann, 0.4)
        twice = {row.id: is_double(of(ann, row.key), 0.4) for row in ann.rows(ann.queue(run))}
        with closing(open_desk(tmp_path / "d.db", "ben")) as ben:
            for name, is_twice in twice.items():
                ann.label(ann.find(run, name), PASS)
                if is_twice:
                    ben.label(ben.find(run, name), FAIL if name.startswith("f") else PASS)
        error = team_page(ann, run).error
    assert error is not None
    # They differ on all that the panel fails, a quarter of the run, however many were drawn there.
    assert error.n == sum(twice.values()) < 30
    assert (error.disagreement.estimate, error.drawn, error.chosen) == (0.25, True, False)


def test_a_second_reviewer_who_picks_among_the_chosen_items_moves_nothing(tmp_path: Path) -> None:
    made = [verdict(f"p{i}", output=f"good {i}") for i in range(30)]
    with closing(open_desk(tmp_path / "d.db")) as ann:
        run = load(ann, report(*made))
        double_share(ann, 0.4)
        rows = ann.rows(ann.queue(run))
        twice = [row.id for row in rows if is_double(of(ann, row.key), 0.4)]
        for row in rows:
            ann.label(row.key, PASS)
        with closing(open_desk(tmp_path / "d.db", "ben")) as ben:
            # He agrees on the first two, and differs on all but the third, which he leaves out.
            for place, name in enumerate(twice):
                if place != 2:
                    ben.label(ben.find(run, name), PASS if place < 2 else FAIL)
            error = team_page(ann, run).error
            assert error is not None
            assert (error.n, error.disagreement.estimate) == (2, 0.0)
            ben.label(ben.find(run, twice[2]), PASS)
            error = team_page(ann, run).error
            assert error is not None
            assert error.n == len(twice) > 5
            assert error.disagreement.estimate == pytest.approx(1 - 3 / len(twice))


def page_error(desk: Desk) -> float | None:
    error = team_page(desk, desk.run()).error
    assert error is not None
    return error.disagreement.estimate


def test_one_alone(tmp_path: Path) -> None:
    page = paged(tmp_path / "d.db", numbered(4), {"ann": {"v0": "pass"}})
    assert [(one.reviewer, one.labels) for one in page.members] == [("ann", 1)]
    assert page.agreement.n == 0


def test_items_that_two_labelled_count_and_each_content_once(tmp_path: Path) -> None:
    again = {**verdict("a"), "id": "a2"}
    data = report(verdict("a"), again, verdict("b"), verdict("c"), verdict("d", 0.1, 0.2, 0.3))
    given = {"ann": {"a": "pass", "b": "pass", "c": "fail"}, "ben": {"a": "pass", "b": "fail"}}
    page = paged(tmp_path / "d.db", data, given)
    (pair,) = page.agreement.pairs
    assert (pair.one, pair.two, pair.n, pair.same) == ("ann", "ben", 2, 1)
    assert [(one.reviewer, one.labels) for one in page.members] == [("ann", 3), ("ben", 2)]
    assert (page.disputed, page.adjudicated, page.drawn) == (1, 0, False)


def test_the_alternative_test_takes_each_content_once(tmp_path: Path) -> None:
    made = [verdict(f"v{i}", output=f"answer {i}") for i in range(30)]
    copies = [{**one, "id": f"{one['id']}-{i}"} for i in range(3) for one in made[:10]]
    given = {name: {f"v{i}": "pass" for i in range(30)} for name in ("ann", "ben", "cy")}
    page = paged(tmp_path / "d.db", report(*made, *copies), given)
    assert [one.items for one in page.alternative.reviewers] == [30, 30, 30]


def test_through_the_draw_each_stratum_weighs_as_many_verdicts_as_it_holds(tmp_path: Path) -> None:
    # v0..v11 of numbered: 4 fail (v0, v3, v6, v9), 3 are flagged (v0, v4, v8). Strata: flagged/pass
    # 2, flagged/fail 1, rest/pass 6, rest/fail 3. Everything is labelled by both, so each stratum's
    # draw is whole; they differ on one of the 6, so 11 of 12 agree.
    words = {f"v{i}": "pass" if i % 2 else "fail" for i in range(12)}
    other = {**words, "v1": "fail"}
    page = paged(tmp_path / "d.db", numbered(12), {"ann": words, "ben": other})
    assert page.drawn
    assert page.agreement.raw.estimate == pytest.approx(11 / 12)
    # Ben labels only one of the six of rest/pass, alike: 2 + 1 + 3 alike, and the 6 by that one.
    few = {name: other[name] for name in ("v0", "v4", "v8", "v3", "v6", "v9", "v5")}
    page = paged(tmp_path / "e.db", numbered(12), {"ann": words, "ben": few})
    assert page.drawn
    assert page.agreement.raw.estimate == pytest.approx(1.0)
    few["v5"] = "fail"
    page = paged(tmp_path / "f.db", numbered(12), {"ann": words, "ben": few})
    assert page.agreement.raw.estimate == pytest.approx(6 / 12)


def test_disagreements_are_those_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    paged(path, numbered(4), {"ann": {"v1": "pass", "v2": "pass"}, "ben": {"v1": "fail"}})
    with closing(Desk.open(path)) as desk:
        (one,) = disagreements(desk, desk.run())
        assert (one.id, one.decision, one.adjudication) == ("v1", "pass", None)
        load(desk, report(verdict("z"), report_id="other"), "other.json")
        assert disagreements(desk, desk.run("other")) == []
