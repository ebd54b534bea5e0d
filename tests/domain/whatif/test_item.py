"""One panel under other rules decides what the columns of many panels say of it."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jury.rules import trim_count
from reviewdesk.domain.jury.scores import sigma, tukey, winsorised
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.domain.whatif import Variant, attacks, outcomes, outliers, whole
from tests.domain.bodies import GRID, panel, read
from tests.domain.whatif.test_bulk import alone, mixed, together, variants


@given(mixed(), variants())
def test_an_outcome_is_of_the_rewritten_report(value: dict[str, Any], variant: Variant) -> None:
    [found] = outcomes(read(value), [variant])
    assert (found.value, found.decision) == alone(value, variant)


@pytest.mark.slow
@given(mixed())
def test_the_whole_table_of_an_item_is_its_row_of_the_run(value: dict[str, Any]) -> None:
    table = whole(["j0", "j3", "twin"])
    one = [(found.value, found.decision) for found in outcomes(read(value), table)]
    assert one == [together([value], variant)[0] for variant in table]


def test_the_worked_panel() -> None:
    # 0.30 0.78 0.81 0.84 0.89 against 0.75: the mean is 0.724, without an end 0.81.
    value = panel(0.30, 0.78, 0.81, 0.84, 0.89, threshold=0.75, quorum=0.9, strategy="mean")
    asked = [
        Variant(),
        Variant(Strategy.TRIMMED_MEAN),
        Variant(Strategy.QUORUM),
        Variant(Strategy.QUORUM, quorum=0.8),
        Variant(threshold=0.7),
        Variant(dropped="j0"),
        Variant(dropped="j4"),
    ]
    made = outcomes(read(value), asked)
    # Four of five pass: under nine tenths, at four fifths. Without j0 the mean is 0.83; without j4
    # it is 2.73 / 4.
    assert [one.decision for one in made] == [
        Decision.FAIL, Decision.PASS, Decision.FAIL, Decision.PASS, Decision.PASS, Decision.PASS,
        Decision.FAIL,
    ]  # fmt: skip
    assert [round(one.value or 0, 6) for one in made] == [
        0.724, 0.81, 0.724, 0.724, 0.724, 0.83, 0.6825,
    ]  # fmt: skip


WORKED = [0.1, 0.78, 0.81, 0.84, 0.89]
PANELS = st.lists(GRID, min_size=1, max_size=5)


def test_tukey_drops_what_lies_beyond_the_fences() -> None:
    # Quartiles .78 and .84: the fences are .69 and .93, and .1 goes. 3.32 / 4.
    assert tukey(WORKED) == pytest.approx(0.83)


def test_winsorising_pulls_the_ends_in() -> None:
    # .78 .78 .81 .84 .84.
    assert winsorised(WORKED) == pytest.approx(0.81)


@given(st.lists(GRID, min_size=1, max_size=5))
def test_two_deviations_drop_nobody_of_five(scores: list[float]) -> None:
    # No score of n is further than (n - 1) / sqrt(n) deviations from the mean: 1.79 for five
    # (Shiffler 1988). The outlier hides behind the spread that it makes.
    assert sigma(scores) == pytest.approx(sum(scores) / len(scores))


def test_two_deviations_drop_one_of_ten() -> None:
    # Nine at .8 and one at 0: mean .72, deviation .253; 0 is 2.85 of them away.
    assert sigma([0.8] * 9 + [0.0]) == pytest.approx(0.8)
    # One deviation drops the ends of .1, .5 and .9: the mean is .5, the deviation .4.
    assert sigma([0.1, 0.5, 0.9], k=0.5) == pytest.approx(0.5)


def test_they_decide_by_the_threshold_and_an_attack_by_hand() -> None:
    made = outcomes(read(panel(*WORKED, threshold=0.7, quorum=0.5)), outliers())
    # The mean of all five is .684.
    assert [(one.variant.name, one.decision) for one in made] == [
        ("sigma", Decision.FAIL), ("tukey", Decision.PASS), ("winsorised", Decision.PASS),
    ]  # fmt: skip
    verdict = read(panel(0.5, 0.7, 0.9, threshold=0.6))
    one, two, three = attacks(verdict, Variant(Strategy.MEAN))
    # .9 to 0 leaves 1.2 / 3; .5 to 1 makes 2.6 / 3. From .7 the first is the further.
    assert [one.low, one.high] == pytest.approx([0.4, 2.6 / 3])
    assert one.change == pytest.approx(0.3)
    assert one.decisions == (Decision.FAIL,)
    assert [two.low, three.low, three.high] == pytest.approx([0.5 / 3, 0.0, 1.0])
    # One of three cannot carry the median beyond the others, and here turns it: .5 is under .6.
    first, *_ = attacks(verdict, Variant(Strategy.MEDIAN))
    assert (first.low, first.high, first.decisions) == (0.5, 0.9, (Decision.FAIL,))


@given(PANELS, st.sampled_from([one for one in Strategy if one is not Strategy.UNANIMOUS]))
def test_more_bought_jurors_reach_at_least_as_far(scores: list[float], rule: Strategy) -> None:
    found = attacks(read(panel(*scores, threshold=0.5, quorum=0.5)), Variant(rule))
    assert [one.bought for one in found] == list(range(1, len(scores) + 1))
    reached = [one.change for one in found if one.change is not None]
    assert all(a <= b + 1e-9 for a, b in pairwise(reached))


@given(st.lists(GRID, min_size=3, max_size=7))
def test_a_trim_bears_as_many_as_it_cuts_at_an_end(scores: list[float]) -> None:
    borne = trim_count(len(scores))
    for one in attacks(read(panel(*scores)), Variant(Strategy.TRIMMED_MEAN))[:borne]:
        # What is kept lies between honest scores, whoever is bought.
        assert one.low is not None
        assert one.high is not None
        assert min(scores) <= one.low + 1e-9
        assert one.high <= max(scores) + 1e-9


def test_nobody_who_failed_can_be_bought() -> None:
    assert len(attacks(read(panel(0.9, None, None)), Variant(Strategy.MEAN))) == 1
    assert attacks(read(panel(None)), Variant(Strategy.MEAN)) == ()
