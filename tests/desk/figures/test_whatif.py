"""A run under other rules: what is counted, by which weights, and what is unknown."""

from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.whatif import what_if, what_if_item
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.domain.whatif import MOST_LEFT_OUT, Result, Variant, WhatIfTable
from reviewdesk.errors import UsageError
from tests.helpers import label_row, opened, verdict


def label(desk: Desk, run: Run, **truths: str) -> None:
    import_labels(desk, run, [label_row(name, "ann", Truth(word)) for name, word in truths.items()])


def row(table: WhatIfTable, name: str) -> Result:
    return next(one for one in table.rows if one.variant.name == name)


# Against 0.6 by the mean: 0.8 passes, 0.6 (0.9 0.9 0.0) passes, 0.2 fails, 0.5 (1 0.5 0) fails.
FOUR = (
    verdict("clear", 0.9, 0.8, 0.7),
    verdict("torn", 0.9, 0.9, 0.0),
    verdict("bad", 0.3, 0.2, 0.1),
    verdict("even", 1.0, 0.5, 0.0),
)


def test_flips_and_figures_by_hand(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, *FOUR)
    label(desk, run, clear="pass", torn="fail", bad="fail", even="pass")
    table = what_if(desk, run)
    assert (table.standing.verdicts, table.design, table.jurors) == (4, Design.CENSUS, 3)
    assert (table.standing.pass_rate, table.standing.accuracy) == (0.5, 0.5)
    lowest = row(table, "lowest")
    # Lowest 0.7 0.0 0.1 0.0: torn flips. Right on clear, torn and bad.
    assert (lowest.flipped, lowest.inconclusive) == (1, 0)
    assert (lowest.pass_rate, lowest.accuracy, lowest.n_labelled) == (0.25, 0.75, 4)
    # Confidence 0.7 right, 1.0 right, 0.9 right, 1.0 wrong: (0.09 + 0 + 0.01 + 1) / 4.
    assert lowest.brier == pytest.approx(0.275)
    # Bins 7: 0.3 under, 9: three with mean 29/30 and 2/3 right; (0.3 + 3 * 0.3) / 4.
    assert lowest.ece == pytest.approx(0.3)
    # clear and bad agree; the other two are split.
    unanimous = row(table, "unanimous")
    assert (unanimous.flipped, unanimous.inconclusive) == (0, 2)
    assert (unanimous.undecided, unanimous.decided, unanimous.n_labelled) == (0, 2, 2)
    # Without j3: 0.85, 0.9, 0.25 and 0.75 pass, pass, fail, pass.
    assert row(table, "without j3").flipped == 1
    # At 0.7 the mean of torn fails.
    assert row(table, "threshold 0.7").flipped == 1
    assert [one.variant.name for one in table.rows if one.own] == ["mean", "threshold 0.6"]


def test_a_run_by_majority_is_as_sure_of_itself_as_the_policy(tmp_path: Path) -> None:
    keys = ("decision", "score", "strategy", "quorum")
    plain = [{key: said for key, said in one.items() if key not in keys} for one in FOUR]
    desk, run = opened(tmp_path, *({**one, "strategy": "majority"} for one in plain))
    label(desk, run, clear="pass", torn="fail", bad="fail", even="fail")
    table = what_if(desk, run)
    figures = ("n_labelled", "accuracy", "brier", "ece", "confidence")
    # Pass, pass, fail, fail: torn alone is wrong, by all of 1, on either page.
    expected = [4, 0.75, pytest.approx(0.25), pytest.approx(0.25), "support"]
    for found in (table.standing, row(table, "majority")):
        assert [getattr(found, name) for name in figures] == expected


def test_votes_alone_are_as_sure_as_their_share(tmp_path: Path) -> None:
    votes = {
        "jurors": [{"id": f"j{i}", "pass": i != 2} for i in range(3)],
        "decision": "pass",
        "score": None,
    }
    desk, run = opened(tmp_path, verdict("votes", **votes), FOUR[0])
    label(desk, run, votes="pass", clear="pass")
    table = what_if(desk, run)
    quorum = row(table, "quorum")
    # Two of three and three of three, both right: ((1/3)² + 0) / 2.
    assert (quorum.confidence, quorum.n_labelled) == ("vote_share", 2)
    assert quorum.brier == pytest.approx(1 / 18)
    mean = row(table, "mean")
    assert (mean.undecided, mean.inconclusive, mean.flipped) == (1, 1, 0)
    assert (mean.confidence, mean.n_labelled) == ("support", 1)


def test_without_labels_only_the_decisions_are_known(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, *FOUR)
    table = what_if(desk, run)
    assert table.design is Design.NONE
    for one in (table.standing, *table.rows):
        assert (one.n_labelled, one.accuracy, one.brier, one.ece) == (0, None, None, None)


def test_a_label_weighs_what_it_stands_for_in_the_draw(tmp_path: Path) -> None:
    desk, run = opened(
        tmp_path, *(verdict(f"p{i}", 0.9, 0.8, 0.7) for i in range(3)), verdict("f0", 0.3, 0.2, 0.1)
    )
    # One pass of three is labelled, the only fail as well: the draw carries both strata.
    first = desk.rows(desk.queue(run, "decision:pass", "draw"))[0].id
    label(desk, run, f0="pass", **{first: "pass"})
    table = what_if(desk, run)
    assert table.design is Design.WEIGHTED
    # Weights 3 and 1: right on the pass, wrong on the fail.
    for one in (table.standing, row(table, "mean")):
        assert (one.accuracy, one.n_labelled) == (0.75, 2)
    # All that is labelled passes under another pass line: right on both.
    assert what_if(desk, run, [Variant(threshold=0.1)]).rows[0].accuracy == 1.0


def test_what_a_policy_lacks_is_counted_and_can_be_given(tmp_path: Path) -> None:
    bare = {"defaults": {"strategy": "external"}}
    desk, run = opened(tmp_path, *FOUR, **bare)
    mean, quorum = what_if(desk, run, [Variant(Strategy.MEAN), Variant(Strategy.QUORUM)]).rows
    for one in (mean, quorum):
        assert (one.undecided, one.inconclusive, one.pass_rate, one.flipped) == (4, 4, None, 0)
    given = [Variant(Strategy.MEAN, threshold=0.6), Variant(Strategy.QUORUM, quorum=0.5)]
    # By the stated votes two of three pass clear and torn, one of three even.
    assert [one.flipped for one in what_if(desk, run, given).rows] == [0, 0]


def test_an_own_decision_that_its_rule_does_not_give_counts_as_a_flip(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("odd", 0.9, 0.8, 0.7, decision="fail"))
    assert row(what_if(desk, run), "mean").flipped == 1


def test_nobody_unknown_is_left_out(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, *FOUR)
    with pytest.raises(UsageError, match=r"no juror 'j9' in run\. Jurors: j1, j2, j3"):
        what_if(desk, run, [Variant(dropped="j9")])
    item = desk.item(desk.find(run, "clear"))
    with pytest.raises(UsageError, match="no juror 'j9' in clear"):
        what_if_item(item, [Variant(dropped="j9")])


def test_of_many_jurors_the_busiest_are_left_out(tmp_path: Path) -> None:
    many = [verdict("many", *[0.5] * (MOST_LEFT_OUT + 5)), verdict("few", 0.9, 0.9)]
    desk, run = opened(tmp_path, *many)
    table = what_if(desk, run)
    dropped = [one.variant.dropped for one in table.rows if one.variant.dropped]
    assert (table.jurors, len(dropped), dropped[:2]) == (
        MOST_LEFT_OUT + 5,
        MOST_LEFT_OUT,
        ["j1", "j2"],
    )


def test_one_verdict_as_it_stands_and_otherwise(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, *FOUR)
    item = desk.item(desk.find(run, "torn"))
    standing, *others = what_if_item(item, [Variant(Strategy.LOWEST), Variant(dropped="j3")])
    assert (standing.value, standing.decision) == (0.6, Decision.PASS)
    assert [(one.value, one.decision) for one in others] == [
        (0.0, Decision.FAIL), (0.9, Decision.PASS),
    ]  # fmt: skip
    assert len(what_if_item(item)) == 1 + 10 + 15 + 7 + 5 + 3 + 3


def test_an_empty_run(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    table = what_if(desk, run)
    assert (table.standing.verdicts, table.jurors, len(table.rows)) == (0, 0, 10 + 15 + 7 + 5)
    assert {one.pass_rate for one in table.rows} == {None}
