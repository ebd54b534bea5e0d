"""The page of a team: who labelled what, and how far they agree, through the draw if it can."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.team.agreement import disagreements, team_page
from reviewdesk.domain.labels.team import TeamPage
from reviewdesk.domain.records import Truth
from tests.helpers import load, numbered, open_desk, report, verdict


def paged(path: Path, data: bytes, given: Mapping[str, Mapping[str, str]]) -> TeamPage:
    """The page after each reviewer gave labels by verdict id."""
    with closing(open_desk(path, "lead")) as desk:
        run = load(desk, data)
        for who, labels in given.items():
            with closing(Desk.open(path, reviewer=who)) as other:
                for name, word in labels.items():
                    other.label(other.find(run, name), Truth(word))
        return team_page(desk, run)


def test_nobody(tmp_path: Path) -> None:
    page = paged(tmp_path / "d.db", numbered(4), {})
    assert (page.members, page.agreement.n, page.agreement.pairs) == ((), 0, ())


def test_one_alone(tmp_path: Path) -> None:
    page = paged(tmp_path / "d.db", numbered(4), {"ann": {"v0": "pass"}})
    assert [(one.reviewer, one.labels) for one in page.members] == [("ann", 1)]
    assert page.agreement.n == 0


def test_items_that_two_labelled_count_and_each_content_once(tmp_path: Path) -> None:
    again = {**verdict("a"), "id": "a2"}
    data = report(verdict("a"), again, verdict("b"), verdict("c"), verdict("d", 0.1, 0.2, 0.3))
    given = {
        "ann": {"a": "pass", "b": "pass", "c": "fail"},
        "ben": {"a": "pass", "b": "fail"},
    }
    page = paged(tmp_path / "d.db", data, given)
    (pair,) = page.agreement.pairs
    assert (pair.one, pair.two, pair.n, pair.same) == ("ann", "ben", 2, 1)
    assert [(one.reviewer, one.labels) for one in page.members] == [("ann", 3), ("ben", 2)]
    assert (page.disputed, page.adjudicated, page.drawn) == (1, 0, False)


def test_through_the_draw_each_stratum_weighs_as_many_verdicts_as_it_holds(tmp_path: Path) -> None:
    # v0..v11 of numbered: 4 fail (v0, v3, v6, v9), 3 are flagged (v0, v4, v8). Strata: flagged/pass
    # 2, flagged/fail 1, rest/pass 6, rest/fail 3. Everything is labelled by both, so each stratum's
    # draw is whole; they differ on one of the 6, so 11 of 12 agree.
    words = {f"v{i}": "pass" if i % 2 else "fail" for i in range(12)}
    other = {**words, "v1": "fail"}
    page = paged(tmp_path / "d.db", numbered(12), {"ann": words, "ben": other})
    assert page.drawn
    assert page.agreement.raw.value == pytest.approx(11 / 12)
    # Ben labels only one of the six of rest/pass, alike: 2 + 1 + 3 alike, and the 6 by that one.
    few = {name: other[name] for name in ("v0", "v4", "v8", "v3", "v6", "v9", "v5")}
    page = paged(tmp_path / "e.db", numbered(12), {"ann": words, "ben": few})
    assert page.drawn
    assert page.agreement.raw.value == pytest.approx(1.0)
    few["v5"] = "fail"
    page = paged(tmp_path / "f.db", numbered(12), {"ann": words, "ben": few})
    assert page.agreement.raw.value == pytest.approx(6 / 12)


def test_disagreements_are_those_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    paged(path, numbered(4), {"ann": {"v1": "pass", "v2": "pass"}, "ben": {"v1": "fail"}})
    with closing(Desk.open(path)) as desk:
        (one,) = disagreements(desk, desk.run())
        assert (one.id, one.decision, one.adjudication) == ("v1", "pass", None)
        load(desk, report(verdict("z"), report_id="other"), "other.json")
        assert disagreements(desk, desk.run("other")) == []
