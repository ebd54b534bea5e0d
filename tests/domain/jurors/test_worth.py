"""What a panel is worth: correlated errors, what a juror adds, and smaller panels."""

import numpy as np
import pytest
from msgspec.structs import replace

from reviewdesk.domain.jurors.panels import effective, error_correlation, worth
from reviewdesk.domain.jurors.strata import Labels
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.verdict import Strategy
from tests.domain.bodies import columns, read
from tests.helpers import verdict


def votes(count: int, chances: tuple[float, ...], seed: int = 0) -> tuple[Columns, Labels]:
    """Verdicts of jurors who are right so often, each by itself, all labelled pass or fail."""
    rng = np.random.default_rng(seed)
    truth = rng.random(count) < 0.5
    right = rng.random((len(chances), count)) < np.array(chances)[:, None]
    cast = right == truth
    bodies = [
        verdict(
            f"v{i}",
            *np.where(cast[:, i], 0.9, 0.1).tolist(),
            decision="pass" if cast[:, i].sum() * 2 > len(chances) else "fail",
            strategy="majority",
        )
        for i in range(count)
    ]
    made = columns((i, read(one, threshold=0.5)) for i, one in enumerate(bodies))
    every = np.arange(count)
    labels = Labels(
        np.zeros(count, np.int64), truth.astype(np.int8), np.ones(count, np.bool_), every, every
    )
    return made, labels


def test_jurors_who_err_apart_count_as_many() -> None:
    made, labels = votes(400, (0.8, 0.8, 0.8))
    found = worth(made, labels)
    assert found.correlation.estimate == pytest.approx(0, abs=0.1)
    assert found.effective.estimate == pytest.approx(3, abs=0.5)
    assert (found.labels, found.jurors) == (400, 3)


def test_jurors_who_always_err_together_count_as_one() -> None:
    wrong = np.tile(np.arange(40) % 4 == 0, (5, 1)).astype(float)
    found = error_correlation(wrong, np.ones(40), np.zeros(40), np.arange(40))
    assert [found.estimate, found.low, found.high] == pytest.approx([1, 1, 1])
    assert effective(5, found).estimate == pytest.approx(1)
    half = effective(5, Estimate(0.25, 0.0, 0.5))
    assert (half.estimate, half.high) == (2.5, 5)
    assert half.low == pytest.approx(5 / 3)


def test_a_juror_without_errors_has_no_correlation() -> None:
    wrong = np.array([[0.0] * 30, [1.0] * 10 + [0.0] * 20])
    found = error_correlation(wrong, np.ones(30), np.zeros(30), np.arange(30))
    assert found.estimate is None
    assert "no two jurors" in found.reason


def test_the_correlation_is_weighted_by_the_draw() -> None:
    """Two halves, one with errors together and one apart; a weight of 0 leaves one out."""
    together = np.array([[1.0, 0, 1, 0], [1.0, 0, 1, 0]])
    apart = np.array([[1.0, 0, 1, 0], [0.0, 1, 1, 0]])
    wrong = np.concatenate([together, apart], axis=1)
    strata = np.repeat([0, 1], 4)
    every = np.arange(8)
    only = error_correlation(wrong, np.repeat([1.0, 1e-9], 4), strata, every).estimate
    both = error_correlation(wrong, np.ones(8), strata, every).estimate
    assert only == pytest.approx(1, abs=1e-6)
    # Of 8: each errs on 4, both on 3: (3/8 - 1/4)/(1/4) = 1/2.
    assert both == pytest.approx(0.5)


def test_smaller_panels_are_those_that_no_other_beats() -> None:
    made, labels = votes(200, (0.95, 0.7, 0.6), seed=4)
    found = worth(made, labels)
    assert found.tried >= 7 * 3
    cost = [one.cost for one in found.frontier]
    accuracy = [one.accuracy for one in found.frontier]
    assert cost == sorted(cost)
    assert accuracy == sorted(accuracy)
    # By hand: the share of labels that each majority of one or three meets.
    cast = dict(zip(made.names, made.votes, strict=True))
    single = max(float((cast[name] == labels.truth).mean()) for name in made.names)
    assert found.frontier[0].accuracy == pytest.approx(single)
    assert found.frontier[0].jurors == ("j1",)
    for one in found.frontier:
        if one.rule is Strategy.MAJORITY and len(one.jurors) % 2:
            passes = sum(cast[name] == 1 for name in one.jurors)
            hit = float(((2 * passes > len(one.jurors)) == labels.truth).mean())
            assert one.accuracy == pytest.approx(hit)


def test_prices_replace_the_number_of_jurors() -> None:
    made, labels = votes(60, (0.9, 0.7))
    priced = worth(made, labels, {"j1": 0.5, "j2": 0.01})
    assert priced.priced
    assert {one.cost for one in priced.frontier} <= {0.5, 0.01, 0.51}
    # A juror without a price leaves all without one.
    assert not worth(made, labels, {"j1": 0.5}).priced


def test_many_verdicts_on_few_contents_are_few_labels() -> None:
    rng = np.random.default_rng(2)
    wrong = (rng.random((3, 24)) < 0.4).astype(float)
    copies = np.repeat(wrong, 10, axis=1)
    one = error_correlation(wrong, np.ones(24), np.zeros(24), np.arange(24))
    ten = error_correlation(copies, np.ones(240), np.zeros(240), np.repeat(np.arange(24), 10))
    assert (ten.estimate, ten.low, ten.high) == pytest.approx(
        (one.estimate, one.low, one.high), abs=0.02
    )


@pytest.mark.parametrize("copies", [1, 5])
def test_few_labels_say_nothing(copies: int) -> None:
    made, labels = votes(10 * copies, (0.9, 0.7))
    found = worth(made, replace(labels, content=labels.content // copies))
    assert found.effective.estimate is None
    assert found.frontier == ()
