from typing import Any

import numpy as np
import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import AgreementPair, Breach, Flag
from reviewdesk.domain.jury.scores import (
    band,
    closeness,
    levels_null,
    one_panel,
    only,
    r_wg,
    unit_alpha,
)
from reviewdesk.domain.values import AgreementSource, Band
from tests.domain.bodies import bodies, panel, read


@pytest.mark.parametrize("scores", [(), (0.3,)])
def test_under_two_scores_nothing_is_defined(scores: tuple[float, ...]) -> None:
    found = r_wg(scores)
    assert (found.raw, found.clamped, found.band) == (None, None, None)
    assert (found.n, found.reason) == (len(scores), "single_juror")
    assert only(one_panel(scores).variance) is None
    assert closeness(scores) is None


@pytest.mark.parametrize(
    ("value", "named"),
    [
        # The edges are 0.8 and 0.667, each forgiven 1e-9.
        (1.0, Band.HIGH), (0.8, Band.HIGH), (0.8 - 9e-10, Band.HIGH), (0.8 - 2e-9, Band.MEDIUM),
        (0.667, Band.MEDIUM), (0.667 - 9e-10, Band.MEDIUM), (0.667 - 2e-9, Band.LOW),
        (0.6669, Band.LOW), (0.0, Band.LOW), (-5.0, Band.LOW), (None, None),
    ],
)  # fmt: skip
def test_bands(value: float | None, named: Band | None) -> None:
    assert band(value) is named


def test_unit_alpha_at_its_edges() -> None:
    assert unit_alpha([]) is None
    assert unit_alpha(["KEEP"]) is None
    assert unit_alpha(["KEEP", "KEEP"]) == 1.0
    assert unit_alpha(["KEEP", "KEEP", "SPLIT"]) == 0.0


@pytest.mark.parametrize("levels", [2, 3, 5, 7])
def test_the_discrete_null_is_the_variance_of_its_levels(levels: int) -> None:
    steps = [step / (levels - 1) for step in range(levels)]
    assert levels_null(levels) == pytest.approx(np.var(steps))


REPORTED, OURS = AgreementSource.REPORTED, AgreementSource.OURS
SPLIT = (0.9, 0.9, 0.1)
"""Mean .6333, squares .0711 + .0711 + .2844 = .4267; / 2 * 12 = 2.56: r_WG is -1.56, low."""


def pair(*scores: float | None, **stated: Any) -> AgreementPair:
    return assess(read(panel(*scores, **stated), threshold=0.5)).pair


def stated(value: float | None, metric: str) -> dict[str, Any]:
    return {"agreement": {"value": value, "metric": metric}}


def test_without_a_word_of_the_report_both_are_ours() -> None:
    found = pair(*SPLIT)
    assert (found.band, found.source, found.metric) == (Band.LOW, OURS, "r_wg")
    assert found.value == pytest.approx(-1.56)
    assert pair(0.9) == AgreementPair(None, None, OURS, "r_wg")


@pytest.mark.parametrize("metric", ["pairwise", "consensus_share", "variance"])
def test_a_measure_for_which_the_lines_mean_nothing_has_no_band(metric: str) -> None:
    found = assess(read(panel(*SPLIT, **stated(1.0, metric)), threshold=0.5))
    assert found.pair == AgreementPair(1.0, None, REPORTED, metric)
    # Ours stands apart: the flag and the spread.
    assert found.agreement.spread.band is Band.LOW
    assert Flag.DERIVED_LOW in found.flags
    assert "band" not in found.derived


@given(bodies())
def test_no_band_contradicts_its_value_unless_the_report_states_the_two(value: Any) -> None:
    verdict = read(value)
    found = assess(verdict)
    made = found.pair
    if verdict.agreement is None and verdict.band is None:
        assert made.source is OURS
        assert (made.value, made.band) == (found.agreement.spread.raw, band(made.value))
        return
    assert made.source is REPORTED
    stated = verdict.agreement
    assert (made.value, made.metric) == ((stated.value, stated.metric) if stated else (None, None))
    named = made.metric in {"krippendorff_alpha", "r_wg"}
    if verdict.band is not None:
        assert made.band is verdict.band
        if named and made.value is not None and made.band is not band(made.value):
            assert Breach.BAND in found.marks
            assert Flag.MISMATCH in found.flags
    else:
        assert made.band is (band(made.value) if named or made.metric == "unknown" else None)
