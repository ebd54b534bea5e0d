"""How far people agree, how often they err, and whether a panel may stand in for one."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.team import (
    FEW,
    SAME,
    Labels,
    RatedStratum,
    RaterAgreement,
    alternative_test,
    error_rate,
    rater_agreement,
    reviewer_error,
    sensitivity,
)
from reviewdesk.domain.stats.figures import Estimate, Part
from reviewdesk.domain.stats.kappa import cohen_kappa
from reviewdesk.domain.stats.rates import drawn_rate, wilson
from tests.helpers import mostly_slow

NAMES = ("ann", "ben", "cy")
LABELS = st.sampled_from(["pass", "fail", "unsure", None])


def measured(items: Sequence[Labels], size: int | None = None) -> RaterAgreement:
    raters = NAMES[: len(items[0])]
    return rater_agreement([RatedStratum(Counter(items), size)], raters)


def alpha_by_pairs(items: Sequence[Labels]) -> float | None:
    """Nominal alpha from its definition: every ordered pair of labels is counted, in fractions."""
    units = [[label for label in labels if label] for labels in items]
    units = [unit for unit in units if len(unit) > 1]
    pairs = [(unit, *two) for unit in units for two in permutations(unit, 2)]
    unlike = sum((Fraction(one != two, len(unit) - 1) for unit, one, two in pairs), Fraction(0))
    every = [label for unit in units for label in unit]
    chance = sum(one != two for one, two in permutations(every, 2))
    return float(1 - (len(every) - 1) * unlike / chance) if chance else None


@given(st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=9))
def test_alpha_and_kappa_are_those_of_their_definitions(items: list[Labels]) -> None:
    found = measured(items)
    expected = alpha_by_pairs(items)
    assert found.alpha.estimate == (
        None if expected is None else pytest.approx(expected, abs=1e-12)
    )
    assert found.n == sum(sum(label is not None for label in one) > 1 for one in items)
    by_names = {(pair.one, pair.two): pair for pair in found.pairs}
    for i, j in combinations(range(3), 2):
        both = [(one[i], one[j]) for one in items if one[i] and one[j]]
        pair = by_names.get((NAMES[i], NAMES[j]))
        assert (pair is None) is (not both)
        if pair is not None:
            kappa = cohen_kappa([one for one, _ in both], [two for _, two in both])
            assert pair.kappa.estimate == (
                None if kappa is None else pytest.approx(kappa, abs=1e-12)
            )
            assert (pair.n, pair.same) == (len(both), sum(one == two for one, two in both))


def test_the_example_of_the_field() -> None:
    # Two raters, ten items: 4 pass/pass, 3 fail/fail, 1 pass/fail, 2 fail/pass. p_o = .7,
    # p_e = .5·.6 + .5·.4 = .5, kappa = .4. Alpha: n = 20 labels, 11 pass and 9 fail; unlike
    # coincidences 6 of 20, by chance 2·11·9/(20·19): 1 - .3/.52105 = .42424.
    items = [("pass",) * 2] * 4 + [("fail",) * 2] * 3 + [("pass", "fail")] + [("fail", "pass")] * 2
    found = measured(items)
    (pair,) = found.pairs
    assert pair.kappa.estimate == pytest.approx(0.4)
    assert found.alpha.estimate == pytest.approx(1 - 0.3 / (2 * 11 * 9 / 380))
    assert (found.raw.estimate, found.raw.low, found.raw.high) == (0.7, *wilson(7, 10))


def test_the_draw_weighs_each_stratum_by_its_size() -> None:
    # 8 of 10 alike stand for 100 verdicts, 2 of 10 for 300: (100·.8 + 300·.2)/400 = .35.
    def stratum(alike: int, size: int | None) -> RatedStratum:
        half = alike // 2
        items: Counter[Labels] = Counter()
        items |= {("pass", "pass"): half, ("fail", "fail"): half, ("pass", "fail"): 10 - alike}
        return RatedStratum(items, size)

    found = rater_agreement([stratum(8, 100), stratum(2, 300)], NAMES[:2])
    assert found.raw.estimate == pytest.approx(0.35)
    # Joint shares: pass/pass and fail/fail .175 each, pass/fail .65; p_e = .825·.175·2.
    chance = 2 * 0.825 * 0.175
    assert found.pairs[0].kappa.estimate == pytest.approx((0.35 - chance) / (1 - chance))
    unweighted = rater_agreement([stratum(8, None), stratum(2, None)], NAMES[:2])
    assert unweighted.raw.estimate == pytest.approx(0.5)
    # A stratum without items: the others do not stand for the run.
    missing = rater_agreement([stratum(8, 100), RatedStratum({}, 300)], NAMES[:2])
    assert (missing.raw.estimate, missing.raw.low) == (0.8, wilson(8, 10)[0])


def test_what_is_undefined_says_why_and_only_the_share_of_two_has_an_interval() -> None:
    nothing = measured([("pass", None), (None, "fail")])
    assert (nothing.n, nothing.pairs, nothing.raw.reason) == (0, (), FEW)
    assert nothing.alpha.reason == FEW
    same = measured([("pass", "pass")] * 20)
    assert same.raw.estimate == 1
    assert same.alpha.estimate is same.pairs[0].kappa.estimate is None
    assert same.alpha.reason == SAME
    alike = measured([("pass", "pass")] * 10 + [("fail", "fail")] * 10)
    assert alike.raw.low == pytest.approx(wilson(20, 20)[0])
    assert alike.alpha.estimate == 1
    of_three = measured([("pass", "pass", "fail")] * 20).raw
    assert not any(one.bounded for one in (alike.alpha, alike.pairs[0].kappa, of_three))


def labelled(seed: int, people: float, panel: float) -> tuple[list[list[str | None]], list[str]]:
    """60 items, labelled by three people and a panel that are right so often."""
    rng = random.Random(seed)  # noqa: S311

    def say(truth: str, right: float) -> str:
        return truth if rng.random() < right else {"pass": "fail", "fail": "pass"}[truth]

    truths = [rng.choice(("pass", "fail")) for _ in range(60)]
    given: list[list[str | None]] = [[say(t, people) for _ in NAMES] for t in truths]
    return given, [say(t, panel) for t in truths]


@pytest.mark.parametrize(
    ("people", "panel", "least", "most"), [(0.85, 0.95, 18, 20), (0.9, 0.5, 0, 0)]
)
def test_a_panel_as_good_may_stand_in(people: float, panel: float, least: int, most: int) -> None:
    found = [alternative_test(*labelled(seed, people, panel), NAMES) for seed in range(20)]
    assert least <= sum(one.passed for one in found) <= most


def test_shares_and_p_by_hand() -> None:
    # Ann differs from both others on 10 of 40 items, and the panel on none: it wins those.
    given: list[list[str | None]] = [
        ["fail" if at < 10 else "pass", "pass", "pass"] for at in range(40)
    ]
    found = alternative_test(given, ["pass"] * 40, NAMES)
    ann, ben, _ = found.reviewers
    assert (ann.items, ann.panel, ann.person) == (40, 1.0, 0.75)
    # d is -1 ten times and 0 thirty times: mean -.25, sd .4385; t = -.4/(.4385/√40) = -5.77;
    # the tail of t with 39 degrees of freedom beyond it, by Simpson: 5.42e-7.
    assert ann.p == pytest.approx(5.42e-07, rel=0.01)
    # Ben is alike with Cy wherever the panel is.
    assert (ben.panel, ben.person, ben.p) == (1.0, 1.0, 0.0)
    assert (found.winning, found.passed) == (1.0, True)


def test_few_reviewers_or_items_give_no_test() -> None:
    given: list[list[str | None]] = [["pass", "pass", None]] * 50
    found = alternative_test(given, ["pass"] * 50, NAMES)
    assert (found.winning, found.passed) == (None, False)
    assert "3 reviewers with 30 items" in found.reason


@given(st.floats(0, 0.5))
def test_two_people_who_err_so_often_differ_so_often(e: float) -> None:
    # One errs and the other does not, either way: d = 2e(1 - e).
    assert error_rate(2 * e * (1 - e)) == pytest.approx(e, abs=1e-7)


def test_the_error_rate_with_its_interval_and_without_second_opinions() -> None:
    # 18 of 100 differ: e = (1 - √.64)/2 = .1.
    found = reviewer_error(100, Estimate(0.82, 0.73, 0.885))
    assert found.rate.estimate == pytest.approx(0.1)
    assert found.rate.low == pytest.approx((1 - (1 - 2 * 0.115) ** 0.5) / 2)
    assert found.rate.high == pytest.approx((1 - (1 - 2 * 0.27) ** 0.5) / 2)
    assert found.ceiling == pytest.approx(0.9)
    # Half the width takes about four times the items.
    assert 250 <= found.more <= 350
    found = reviewer_error(0, Estimate(None, 0, 1))
    assert (found.rate.estimate, found.ceiling, found.more) == (None, None, 0)
    assert "two labels" in found.rate.reason
    assert sensitivity(Estimate(0.9, 0.8, 0.95), found) is None


def test_the_band_holds_every_reading_of_the_errors() -> None:
    error = reviewer_error(100, Estimate(0.82, 0.82, 0.82))
    band = sensitivity(Estimate(0.8, 0.8, 0.8), error)
    assert band is not None
    # (.8 - .1)/(1 - .2) = .875; a - d = .62; a + e = .9.
    assert band.estimate == pytest.approx(0.875)
    assert band.low == pytest.approx(0.62)
    assert band.high == pytest.approx(0.9)


@pytest.mark.parametrize("kind", ["apart", "with the panel", "against it"])
@pytest.mark.parametrize("accuracy", mostly_slow([0.8, 0.9]))
def test_the_band_holds_the_truth_however_people_err(kind: str, accuracy: float) -> None:
    """A tenth of 100 labels is wrong; a quarter of them have a second opinion."""
    rng = np.random.default_rng(5)
    held = plain = 0
    for _ in range(200):
        right = rng.random(400) < accuracy
        chance = {
            "apart": np.full(400, 0.1),
            "with the panel": np.where(right, 0.0, 0.1 / (1 - accuracy)).clip(0, 0.5),
            "against it": np.where(right, 0.1 / accuracy, 0.0),
        }[kind]
        picked = rng.permutation(400)[:100]
        wrong = rng.random((2, 100)) < chance[picked]
        first, second = right[picked] ^ wrong
        agree = int((first == second)[:25].sum())
        found = drawn_rate([Part(400, 100, int(first.sum()))])
        band = sensitivity(found, reviewer_error(25, drawn_rate([Part(400, 25, agree)])))
        assert band is not None
        held += band.low <= right.mean() <= band.high
        plain += found.low <= right.mean() <= found.high
    assert held >= 0.92 * 200
    assert plain < held
