"""What is said of several reviewers."""

import pytest

from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.domain.labels.team import (
    Disagreement,
    Opinion,
    RatedStratum,
    TeamPage,
    rater_agreement,
)
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.views.team import chain_name, team

AT = "2025-01-31T12:00:00+00:00"
NOTED = Opinion("ann", Truth.PASS, AT, "the contract says thirty days")
OTHER = Opinion("ben-of-the-long-name", Truth.FAIL, AT, None)


def page(*strata: RatedStratum, drawn: bool = False) -> TeamPage:
    return TeamPage((), rater_agreement(strata, ("ann", "ben")), 10, drawn, 1, 1)


def test_each_name_heads_its_column_and_a_note_stands_once() -> None:
    settled = Disagreement(1, "v1", "ab", Decision.PASS, 0.9, (NOTED, OTHER), NOTED)
    found = team(page(), [settled]).sections[1]
    heads, row, *below = section_text(found).splitlines()[1:]
    assert heads.split() == ["item", "ann", "ben-of-the-long-name", "panel", "truth"]
    assert row.index("pass") == heads.index("ann")
    assert row.index("fail") == heads.index("ben-of")
    # Who settles an item may have noted the same before.
    assert [line.count("thirty days") for line in below] == [1]


def test_agreement_is_a_count_with_its_weighted_share() -> None:
    # 8 of 8 stand for 9 verdicts and 1 of 2 for 2: (9 + 1) / 11 = .909.
    alike = RatedStratum({("pass", "pass"): 8}, 9)
    apart = RatedStratum({("pass", "fail"): 1, ("fail", "fail"): 1}, 2)
    assert "9 of 10 (0.91 after weighting by group)" in document_text(
        team(page(alike, apart, drawn=True))
    )
    alone = document_text(team(page(RatedStratum({("pass", "pass"): 3, ("pass", "fail"): 1}))))
    assert "ann and ben  3 of 4  [" in alone
    assert "weighting" not in alone


@pytest.mark.parametrize(
    ("reviewer", "name"),
    [
        ("ann", "ann on desk 223bd6b3"),
        ("@desk", "desk 223bd6b3 itself"),
        ("@agent", "agents on desk 223bd6b3"),
        ("a\nwhole: 9 events", "a⏎whole: 9 events on desk 223bd6b3"),
    ],
)
def test_a_chain_is_named_in_words(reviewer: str, name: str) -> None:
    assert chain_name(reviewer, "223bd6b3" + "0" * 24) == name
