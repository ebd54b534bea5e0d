"""Jurors through the draw: counts per stratum, rates and comparisons."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurors.facts import Apart, confusion, design, paired
from reviewdesk.domain.jurors.votes import (
    Labels,
    compare,
    first_seats,
    juror_counts,
    juror_rates,
    lone_dissents,
    question_items,
    voted,
    votes_of,
)
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.dense import Small
from reviewdesk.domain.stats.figures import LabelSpread, Target
from reviewdesk.domain.stats.rates import midp
from reviewdesk.domain.stats.rates import stratified_rates as rates
from reviewdesk.domain.verdict import Decision
from tests.domain.bodies import body, columns, juror, panel, read
from tests.helpers import placed

PASS, FAIL, NONE = 1, 0, -1


def small(*votes: int) -> Small:
    return np.asarray(votes, np.int8)


def labels(strata: list[int], truths: list[int | None]) -> Labels:
    """Labels in file order, which is the order of every stratum's draw; ``None`` is no label."""
    seen: dict[int, int] = {}
    rows = []
    for row, (h, truth) in enumerate(zip(strata, truths, strict=True)):
        rank = seen.get(h, 0)
        seen[h] = rank + 1
        if truth is not None:
            said = {PASS: Truth.PASS, FAIL: Truth.FAIL, NONE: Truth.UNSURE}[truth]
            rows.append(placed(h, rank, said, key=row))
    return Labels.of(range(len(strata)), strata, rows)


def test_only_the_prefix_counts_and_unsure_completes_it() -> None:
    found = labels([3] * 6, [PASS, NONE, FAIL, None, PASS, None])
    assert found.truth.tolist() == [1, -1, 0, -1, 1, -1]
    assert found.counted.tolist() == [True, False, True, False, False, False]


def test_a_stratum_is_the_verdicts_on_which_the_juror_voted() -> None:
    # Flagged: three, of which it voted on two, both labelled. Rest: five, voted on four, and the
    # first two of the draw are labelled, of which it voted on one.
    strata = [0, 0, 0, 3, 3, 3, 3, 3]
    said = labels(strata, [PASS, FAIL, FAIL, PASS, PASS, None, None, None])
    votes = small(PASS, PASS, NONE, PASS, NONE, FAIL, PASS, PASS)
    found = [one for one in voted(votes, said)[0] if one.size]
    assert [(one.stratum, one.passes, one.fails) for one in found] == [(0, 2, 0), (3, 3, 1)]
    assert [one.counted for one in found] == [Cells(tp=1, fp=1), Cells(tp=1)]
    assert design(found) is Design.WEIGHTED
    # 2 flagged at 1/2 and 4 of the rest at 1: (1 + 4) / 6, not 2 of 3 labels.
    assert rates(found).accuracy.estimate == pytest.approx(5 / 6)
    assert confusion(found, drawn=True) == Cells(tp=1 + 4, fp=1)
    assert confusion(found) == Cells(tp=2, fp=1)


def test_what_is_labelled_to_its_end_is_a_census_in_any_order() -> None:
    # The verdict that breaks the prefix is one on which the juror did not vote.
    said = labels([3, 3, 3], [None, PASS, FAIL])
    found, _ = voted(small(NONE, PASS, PASS), said)
    assert design(found) is Design.CENSUS
    assert (rates(found).accuracy.low, rates(found).accuracy.high) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("truths", "word"),
    [
        ([None] * 4, Design.NONE),
        ([None, PASS, None, PASS], Design.AD_HOC),
        ([PASS, None, None, None], Design.ESCALATED_ONLY),
        ([None, None, PASS, None], Design.PARTIAL),
        ([PASS, None, PASS, None], Design.WEIGHTED),
        ([PASS] * 4, Design.CENSUS),
    ],
)
def test_the_design_is_the_juror_s_own(truths: list[int | None], word: Design) -> None:
    assert design(voted(small(PASS, PASS, PASS, FAIL), labels([0, 0, 3, 3], truths))[0]) is word


def test_an_unlabelled_stratum_leaves_bounds() -> None:
    said = labels([0, 0, 3, 3], [PASS, FAIL, None, None])
    found = rates(voted(small(PASS, PASS, PASS, FAIL), said)[0])
    assert found.accuracy.estimate is None
    # 1 right of the two flagged; the other two may be wrong or right.
    assert (found.accuracy.low, found.accuracy.high) == (0.25, 0.75)
    # One pass was right. Its pass of the rest may be right too, its fail a miss.
    assert (found.sensitivity.low, found.sensitivity.high) == (0.5, 1.0)


# Against each other


def test_a_difference_is_known_where_two_raters_agree() -> None:
    strata, truths = [3] * 10, [PASS] * 3 + [None] * 7
    same = compare("panel", small(*[PASS] * 10), small(*[PASS] * 10), labels(strata, truths))
    assert (same.estimate, same.low, same.high) == (0, 0, 0)
    assert (same.items, same.apart) == (10, 0)


def test_a_difference_by_hand_is_widened_by_cells_without_labels() -> None:
    # They differ on 20 of 100: the first is right on 3 of the 4 of these that are labelled.
    found = paired("panel", 100, [Apart(3, 20, 4, 3, 0.2)])
    assert found.estimate == pytest.approx(0.2 * (2 * 0.75 - 1))
    # n_eff 4·19/16 = 4.75, and a fifth of one verdict of 20 on either side.
    low, high = midp(0.75 * 4.75, 4.75)
    low, high = low - 0.01, high + 0.01
    assert (found.low, found.high) == pytest.approx((0.2 * (2 * low - 1), 0.2 * (2 * high - 1)))
    known = paired("panel", 100, [Apart(0, 10, 10, 9, 1.0)])
    assert (known.low, known.estimate, known.high) == pytest.approx((0.08, 0.08, 0.08))
    open_ = paired("panel", 100, [Apart(0, 10, 10, 9, 1.0), Apart(3, 5, 0, 0, 0.1)])
    assert (open_.low, open_.high) == pytest.approx((0.03, 0.13))
    # Nobody knows who is right in the second cell, so there is no estimate either.
    assert open_.estimate is None
    nobody = paired("panel", 100, [Apart(3, 5, 0, 0, 0.0)])
    assert (nobody.low, nobody.estimate, nobody.high) == pytest.approx((-0.05, None, 0.05))


def test_cells_are_merged_only_where_sampled_at_one_rate() -> None:
    # At one rate a cell of 5 passes without a label borrows from the 15 fails beside it.
    alike = paired("x", 100, [Apart(3, 5, 0, 0, 0.1), Apart(4, 15, 2, 2, 0.105)])
    assert alike.estimate == pytest.approx(0.2)
    assert paired("x", 100, [Apart(3, 5, 0, 0, 0.1), Apart(4, 15, 2, 2, 0.3)]).estimate is None
    assert paired("x", 100, [Apart(0, 5, 0, 0, 0.1), Apart(3, 15, 2, 2, 0.1)]).estimate is None
    # Rates that differ by a tenth of the larger count as one, those by three tenths do not.
    tenth = paired("x", 100, [Apart(3, 5, 0, 0, 0.091), Apart(4, 15, 2, 2, 0.1)])
    assert tenth.estimate == pytest.approx(0.2)
    third = paired("x", 100, [Apart(3, 5, 0, 0, 0.075), Apart(4, 15, 2, 2, 0.1)])
    assert third.estimate is None


def many(*seats: list[float]) -> Columns:
    """Verdicts by scores of three jurors at a threshold of a half, decided by the mean."""
    words = ["pass" if sum(scores) >= len(scores) / 2 else "fail" for scores in seats]
    bodies_ = [panel(*scores, decision=word) for scores, word in zip(seats, words, strict=True)]
    verdicts = [read(one, threshold=0.5) for one in bodies_]
    return columns((i, verdict) for i, verdict in enumerate(verdicts))


def test_the_panel_beats_every_juror_or_the_best_beats_the_others() -> None:
    # j0 is right throughout; j1 and j2 are wrong on every other verdict together, and carry the
    # panel there.
    found = many(*[[0.9, 0.9, 0.9], [0.9, 0.1, 0.1]] * 20)
    made, contest = juror_rates(found, labels([3] * 40, [PASS] * 40), lone_dissents(found, {}))
    assert contest.best == "j0"
    assert contest.best_stands
    assert not contest.beats_every
    assert contest.panel is not None
    assert (contest.panel.estimate, contest.panel.high) == (-0.5, -0.5)
    assert made["j0"].difference is not None
    assert (made["j0"].difference.to, made["j0"].difference.estimate) == ("panel", 0.5)
    # Each juror is wrong on another third, and the panel never.
    thirds = [[0.1, 0.9, 0.9], [0.9, 0.1, 0.9], [0.9, 0.9, 0.1]]
    found = many(*thirds * 10)
    _, contest = juror_rates(found, labels([3] * 30, [PASS] * 30), lone_dissents(found, {}))
    assert contest.beats_every
    assert not contest.best_stands
    # Where the right answer is a fail, and j2 never passes, the panel is no better than j2.
    found = many(*[[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.1]] * 10)
    _, contest = juror_rates(found, labels([3] * 30, [FAIL] * 30), lone_dissents(found, {}))
    assert (contest.best, contest.beats_every) == ("j2", False)
    # A juror that never passes is one of the others.
    found = many(*[[0.9, 0.1]] * 20)
    _, contest = juror_rates(found, labels([3] * 20, [PASS] * 20), lone_dissents(found, {}))
    assert (contest.best, contest.best_stands) == ("j0", True)
    assert first_seats(found) == {"j0": (0, 0), "j1": (0, 1)}


# Counts of a whole run agree with those of one verdict at a time

BODIES = st.lists(
    st.tuples(
        st.lists(st.none() | st.integers(0, 10).map(lambda x: x / 10), min_size=1, max_size=5),
        st.sampled_from([Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(BODIES)
def test_the_counts_are_those_of_one_verdict_at_a_time(found: Any) -> None:
    made = [
        (panel(*scores, decision=word.value, strategy="trimmed_mean", trim_fraction=0.2), truth)
        for scores, word, truth in found
    ]
    read_ = [read(said, threshold=0.5) for said, _ in made]
    run = columns((i, one) for i, one in enumerate(read_))
    said = labels([0] * len(made), [PASS if truth else FAIL for _, truth in made])
    expected = juror_counts(run, np.array([truth for _, truth in made]), {})
    lone = lone_dissents(run, {})
    votes = votes_of(run)
    for one in expected:
        cells = confusion(voted(votes[one.name], said)[0])
        assert (cells.tp, cells.fn, cells.tn, cells.fp) == (one.tp, one.fn, one.tn, one.fp)
        mine, _ = voted(np.where(lone[one.name], votes[one.name], np.int8(NONE)), said)
        assert (confusion(mine).n, confusion(mine).right) == (one.lone_dissents, one.lone_right)


def test_what_is_asked_of_a_juror_and_of_two_who_differ() -> None:
    # j0 passes all but the third; j1 fails the second and is not on the fourth.
    found = many([0.9, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9], [0.9, 0.1])
    # The fifth verdict is on the content of the second, which stands for it.
    places = [(3, 1), (3, 0), (0, 0), (3, 2), (3, 0)]
    one = question_items(found, places, ["j1"])
    assert (one.passes, one.items) == ({0: {0: True}, 3: {0: False, 1: True}}, 3)
    two = question_items(found, places, ["j0", "j1"])
    assert (two.passes, two.items) == ({0: {0: False}, 3: {0: True}}, 3)
    # Half of the votes are alike with the first rater's on what they differ.
    assert two.guesses == {0: 0.5, 3: 0.5}
    # Of the first both votes are alike, of the second one of two: (.95 + .5)/2.
    assert one.guesses[3] == pytest.approx(0.725)
    assert question_items(found, places, ["j0", "nobody"]).passes == {}


def test_a_trim_that_a_report_states_goes_before_ours() -> None:
    said = body(*(juror(f"j{i}", s) for i, s in enumerate((0.1, 0.2, 0.3, 0.8, 0.9))))
    said |= {"decision": "pass", "strategy": "trimmed_mean", "trim_fraction": 0.2}
    run = columns([(0, read(said, threshold=0.5))])
    # Three dissent and none alone: ours leaves out the first, the report says the second.
    assert [name for name, mask in lone_dissents(run, {}).items() if mask.any()] == ["j0"]
    stated = lone_dissents(run, {0: {1, 4}})
    assert [name for name, mask in stated.items() if mask.any()] == ["j1"]


def test_the_kappa_of_a_weight_goes_through_the_draw() -> None:
    # 20 flagged, half right; of 60 others 20 labelled, all right. One juror scores alone.
    found = many(*[[0.9], [0.1]] * 40)
    truths: list[int | None] = [PASS, PASS, FAIL, FAIL] * 5 + [PASS, FAIL] * 10 + [None] * 40
    made, _ = juror_rates(found, labels([0] * 20 + [3] * 60, truths), lone_dissents(found, {}))
    # Weighted: flagged 5 5 5 5 and the rest 30 tp, 30 tn: p_o 70/80, p_e 1/2.
    assert made["j0"].weighing == pytest.approx((0.75, 40))


def test_a_content_of_two_cases_is_one_label_of_a_juror() -> None:
    rows = [
        placed(3, at // 2, Truth.PASS, key=at, item=b"%d" % (at // 2), test=f"t{at}")
        for at in range(4)
    ]
    found, groups = voted(small(*[PASS] * 8), Labels.of(range(8), [3] * 8, rows))
    # Eight verdicts on four contents, the first two of which are labelled.
    assert groups is not None
    assert found[3].spread == LabelSpread(4, 2, 2, 8)


def test_a_census_settles_a_run_and_not_new_items() -> None:
    said = labels([3] * 12, [PASS] * 12)
    one = small(*[PASS] * 11, FAIL)
    two = small(*[FAIL] * 3, *[PASS] * 9)
    run = compare("two", one, two, said)
    # Right on 11 and on 9 of 12; they differ on four, of which the first is right on three.
    assert run.low == run.high == pytest.approx(2 / 12)
    such = compare("two", one, two, said, target=Target.ITEMS)
    # Mid-p by Clopper and Pearson's tails for 3 in 4 is .238 to .987, of 4/12·(2p - 1).
    assert such.low == pytest.approx(4 / 12 * (2 * midp(3, 4)[0] - 1), abs=1e-3)
    assert such.low < 0 < run.low
