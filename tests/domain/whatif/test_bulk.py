"""Many panels at once, and one by itself, decide under other rules the same to the last bit."""

import copy
import math
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jury.panels import Panels
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.rules import trim_count
from reviewdesk.domain.jury.scores import sigma, tukey, winsorised
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import DECISIONS, seat_names
from reviewdesk.domain.verdict import Decision, Rounding, Strategy
from reviewdesk.domain.whatif import (
    RULES,
    Group,
    Variant,
    attacks,
    changed,
    combined,
    outcomes,
    outliers,
    under,
    whole,
)
from tests.domain.bodies import GRID, UNIT, bodies, body, columns, juror, maybe, panel, read

QUORUMS = [0.5, 0.6, "2/3", 0.67, 0.75, 0.8, 1.0, 0.001, "1/7"]
SHARES = ["2/3", "3/4", "0.6", "1", "4/6"]
EVERY = [None, *Strategy]


@st.composite
def mixed(draw: st.DrawFn) -> Any:
    """A body whose scores are of the grid or any at all, and whose jurors may share an id."""
    value = draw(bodies())
    for seat in value["jurors"]:
        if draw(st.integers(0, 5)) == 0:
            seat["id"] = draw(st.sampled_from(["j0", "j1", "twin"]))
        if "score" in seat and draw(st.booleans()):
            seat["score"] = draw(UNIT)
    # What a report of this program says beyond the format.
    own = {
        "failed_jurors": draw(maybe(st.just("median"))),
        "supermajority": draw(maybe(st.sampled_from(SHARES))),
        "min_answered": draw(maybe(st.sampled_from([1, 2, 3, "1/1", "1/2", 1.0]))),
    }
    return value | {"meta": {"reviewdesk": own}}


@st.composite
def variants(draw: st.DrawFn) -> Variant:
    strategy = draw(st.sampled_from(EVERY))
    return Variant(
        strategy=strategy,
        fraction=draw(maybe(st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.49]))),
        rounding=draw(maybe(st.sampled_from(list(Rounding)))),
        # Without a rule of its own a quorum changes nothing: each verdict keeps its rule.
        quorum=draw(maybe(st.sampled_from(QUORUMS))) if strategy else None,
        threshold=draw(maybe(GRID)),
        dropped=draw(maybe(st.sampled_from(["j0", "j1", "j0#2", "twin", "twin#2"]))),
        supermajority=draw(maybe(st.sampled_from(SHARES))),
    )


def alone(value: Any, variant: Variant) -> tuple[float | None, Decision | None]:
    """One panel under a variant: its report rewritten by hand, then read and assessed.

    Of what labels decide nothing is said: no policy here reads them.
    """
    value = copy.deepcopy(value)
    for key in ("decision", "score"):
        value.pop(key, None)
    trim = value.get("trim") or {}
    stated = {"fraction": variant.fraction, "rounding": variant.rounding}
    value["trim"] = trim | {key: given for key, given in stated.items() if given is not None}
    for key in ("strategy", "quorum", "threshold"):
        if (given := getattr(variant, key)) is not None:
            value[key] = given
    if variant.supermajority is not None:
        own = (value.get("meta") or {}).get("reviewdesk") or {}
        value["meta"] = {"reviewdesk": own | {"supermajority": variant.supermajority}}
    if variant.threshold is not None:
        for seat in value["jurors"]:
            if seat.get("score") is not None and seat.get("pass") is not None:
                del seat["pass"]
    names = seat_names([seat["id"] for seat in value["jurors"]])
    kept = zip(names, value["jurors"], strict=True)
    value["jurors"] = [seat for name, seat in kept if name != variant.dropped]
    verdict = read(value)
    made, policy = assess(verdict), verdict.policy
    used = made.rule.used
    name = used.value if used else ""
    value = getattr(made.values, name, made.values.mean)
    if used is Strategy.SINGLE:
        return value, METHODS[used].decide(made.votes, policy)
    few = Decision.ERROR if used and made.votes.too_few(policy) else None
    return value, getattr(made.decisions, name, few)


def varied(found: Columns, variant: Variant) -> Panels:
    return under(changed(Panels(found), variant), variant)


def together(values: list[Any], variant: Variant) -> list[tuple[float | None, Any]]:
    panels = varied(columns(enumerate(map(read, values))), variant)
    values_ = panels.at(np.arange(len(values))).value
    return [
        (None if math.isnan(value) else value, None if code < 0 else DECISIONS[code])
        for value, code in zip(values_.tolist(), panels.decision.tolist(), strict=True)
    ]


@pytest.mark.slow
@given(st.lists(mixed(), max_size=5), variants())
def test_a_run_is_decided_as_its_verdicts_are(values: list[Any], variant: Variant) -> None:
    expected = [alone(one, variant) for one in values]
    assert together(values, variant) == expected


def test_a_threshold_moves_the_votes() -> None:
    # At 0.6 the votes are: 0.75 passes against its own word, 0.875 withheld, a bare pass stays.
    value = body(
        juror("a", 0.75, **{"pass": False}), juror("b", 0.875, **{"pass": None}),
        juror("c", **{"pass": True}), juror("d", 0.5, **{"pass": True}), threshold=0.8, quorum=0.5,
    )  # fmt: skip
    at = Variant(threshold=0.6)
    assert varied(columns([(0, read(value))]), at).columns.votes.T.tolist() == [[1, -1, 1, 0]]
    # Two of four seated meet the half, as recorded by other jurors. (0.75 + 0.875 + 0.5) / 3.
    assert together([value], at) == [(2.125 / 3, "pass")]


def test_a_juror_left_out_is_not_seated_and_panels_may_be_empty() -> None:
    # One of two is a half; without the one that timed out it is one of one, and all.
    value = panel(0.9, None, threshold=0.7, quorum=1.0)
    assert together([value], Variant()) == [(0.9, "fail")]
    assert together([value], Variant(dropped="j1")) == [(0.9, "pass")]
    # The median stands in for the weighted average only while somebody failed.
    value = panel(0.9, 0.2, 0.4, None, threshold=0.45, strategy="weighted_average")
    assert together([value], Variant()) == [(0.4, "fail")]
    assert together([value], Variant(dropped="j3")) == [(0.5, "pass")]
    assert together([value], Variant(dropped="nobody")) == [(0.4, "fail")]
    for strategy in EVERY:
        assert together([], Variant(strategy)) == []
        assert together([body(), body()], Variant(strategy, threshold=0.5)) == [(None, None)] * 2


def test_a_panel_that_failed_whole_is_undecided() -> None:
    value = panel(None, None, threshold=0.5, quorum=0.5, strategy="quorum")
    assert columns([(0, read(value))]).decision.tolist() == [-1]
    assert together([value], Variant()) == [(None, None)]


@pytest.mark.parametrize("strategy", [Strategy.MEAN, Strategy.TRIMMED_MEAN])
@given(st.lists(UNIT, min_size=3, max_size=7), st.integers(-2, 2))
def test_a_value_is_of_the_exact_sum(strategy: Strategy, scores: list[float], steps: int) -> None:
    """Sums that are rounded after each term would decide some of these otherwise."""
    value = panel(*scores, strategy=strategy, threshold=0.5)
    exact = getattr(assess(read(value)).values, strategy)
    assert exact is not None
    threshold = exact + 1e-9
    for _ in range(abs(steps)):
        threshold = math.nextafter(threshold, math.copysign(2, steps))
    value["threshold"] = min(1.0, max(0.0, threshold))
    assert together([value], Variant()) == [alone(value, Variant())]


def test_panels_free_their_columns_at_once() -> None:
    """A table leaves out one juror after another; a cycle would hold the columns of all of them."""
    panels = Panels(columns([(0, read(panel(0.2, 0.9)))]))
    gone = weakref.ref(panels)
    for strategy in RULES:
        panels.by(strategy)
    del panels
    assert gone() is None


@pytest.mark.parametrize(
    ("variant", "name", "group"),
    [
        (Variant(), "as it stands", Group.STANDING),
        (Variant(Strategy.MEDIAN), "median", Group.RULES),
        (
            Variant(Strategy.TRIMMED_MEAN, 0.3, Rounding.NEAREST),
            "trimmed_mean 30% nearest",
            Group.TRIMS,
        ),
        (Variant(Strategy.TRIMMED_MEAN, 0.125), "trimmed_mean 12.5%", Group.TRIMS),
        (Variant(Strategy.QUORUM, quorum="2/3"), "quorum 2/3", Group.QUORUMS),
        (Variant(Strategy.QUORUM, quorum=1.0), "quorum 1", Group.QUORUMS),
        (Variant(threshold=0.0), "threshold 0", Group.THRESHOLDS),
        (Variant(dropped="judge"), "without judge", Group.JURORS),
        (
            Variant(Strategy.MEAN, threshold=0.65, dropped="a"),
            "mean, threshold 0.65, without a",
            Group.JURORS,
        ),
    ],
)
def test_a_policy_has_a_name_and_a_group(variant: Variant, name: str, group: Group) -> None:
    assert (variant.name, variant.group) == (name, group)


def test_the_whole_table_begins_with_every_strategy_and_combinations_are_a_product() -> None:
    table = whole(["a", "b"])
    assert [variant.group for variant in table[:9]] == [Group.RULES] * 9
    # Five fractions by three roundings, seven quorums, five thresholds, two jurors.
    assert len(table) == len(set(table)) == 10 + 15 + 7 + 5 + 2
    assert [variant.name for variant in table[-2:]] == ["without a", "without b"]
    found = combined([Strategy.MEAN, Strategy.MEDIAN], [], [], [], [0.5, 0.6], ["a"])
    assert [variant.name for variant in found] == [
        "mean, threshold 0.5, without a", "mean, threshold 0.6, without a",
        "median, threshold 0.5, without a", "median, threshold 0.6, without a",
    ]  # fmt: skip


def test_a_trim_and_a_quorum_belong_to_their_rules() -> None:
    both = combined([], [0.1, 0.2], [Rounding.UP], [0.5], [], [])
    assert [variant.name for variant in both] == [
        "trimmed_mean 10% up", "trimmed_mean 20% up", "quorum 0.5",
    ]  # fmt: skip
    # A median has neither, and asking for it twice is asking once.
    named = combined([Strategy.MEDIAN, Strategy.TRIMMED_MEAN], [0.1], [], [0.5, 0.6], [], [])
    assert [variant.name for variant in named] == ["median", "trimmed_mean 10%"]
    assert combined([], [], [], [], [0.7], []) == (Variant(threshold=0.7),)


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


WORKED = [0.1, 0.78, 0.81, 0.84, 0.89]
PANELS = st.lists(GRID, min_size=1, max_size=5)


def test_tukey_winsorising_and_deviations_by_hand() -> None:
    # Quartiles .78 and .84: the fences are .69 and .93, and .1 goes. 3.32 / 4.
    assert tukey(WORKED) == pytest.approx(0.83)
    # .78 .78 .81 .84 .84.
    assert winsorised(WORKED) == pytest.approx(0.81)
    # Nine at .8 and one at 0: mean .72, deviation .253; 0 is 2.85 of them away.
    assert sigma([0.8] * 9 + [0.0]) == pytest.approx(0.8)
    # One deviation drops the ends of .1, .5 and .9: the mean is .5, the deviation .4.
    assert sigma([0.1, 0.5, 0.9], k=0.5) == pytest.approx(0.5)


@given(st.lists(GRID, min_size=1, max_size=5))
def test_two_deviations_drop_nobody_of_five(scores: list[float]) -> None:
    # No score of n is further than (n - 1) / sqrt(n) deviations from the mean: 1.79 for five
    # (Shiffler 1988). The outlier hides behind the spread that it makes.
    assert sigma(scores) == pytest.approx(sum(scores) / len(scores))


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
