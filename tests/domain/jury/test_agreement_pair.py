"""The agreement of a verdict and its band: one pair, from one source."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flag_words import Breach
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.enums import AgreementSource
from reviewdesk.domain.jury.band import band
from reviewdesk.domain.jury.records import AgreementPair
from reviewdesk.domain.verdict import Band
from tests.domain.bodies import bodies, panel, read

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


@pytest.mark.parametrize("metric", ["krippendorff_alpha", "r_wg", "unknown"])
@pytest.mark.parametrize(
    ("value", "lined"), [(0.8, "high"), (0.799, "medium"), (0.667, "medium"), (0.666, "low")]
)
def test_a_reported_value_is_banded_by_the_lines_and_not_by_our_measure(
    metric: str, value: float, lined: str
) -> None:
    assert pair(*SPLIT, **stated(value, metric)) == AgreementPair(
        value, Band(lined), REPORTED, metric
    )


@pytest.mark.parametrize("metric", ["pairwise", "consensus_share", "variance"])
def test_a_measure_for_which_the_lines_mean_nothing_has_no_band(metric: str) -> None:
    found = assess(read(panel(*SPLIT, **stated(1.0, metric)), threshold=0.5))
    assert found.pair == AgreementPair(1.0, None, REPORTED, metric)
    # Ours stands apart: the flag and the spread.
    assert found.agreement.spread.band is Band.LOW
    assert Flag.DERIVED_LOW in found.flags
    assert "band" not in found.derived


@pytest.mark.parametrize("word", ["high", "medium", "low"])
def test_a_reported_band_stands_beside_its_value_or_beside_none(word: str) -> None:
    for metric in ("pairwise", "krippendorff_alpha", "unknown"):
        assert pair(*SPLIT, **stated(0.9, metric), band=word).band == word
        assert pair(*SPLIT, **stated(None, metric), band=word).band == word
    assert pair(0.9, 0.9, band=word) == AgreementPair(None, Band(word), REPORTED, None)


@pytest.mark.parametrize("metric", ["krippendorff_alpha", "r_wg", "pairwise", "unknown"])
def test_a_reported_null_is_null_and_has_no_band(metric: str) -> None:
    assert pair(*SPLIT, **stated(None, metric)) == AgreementPair(None, None, REPORTED, metric)


@given(bodies())
def test_no_band_contradicts_its_value_unless_the_report_states_the_two(
    value: dict[str, Any],
) -> None:
    verdict = read(value)
    found = assess(verdict)
    made = found.pair
    if verdict.agreement is None and verdict.band is None:
        assert made.source is OURS
        assert (made.value, made.band) == (found.agreement.spread.raw, band(made.value))
        return
    assert made.source is REPORTED
    assert made.value == (verdict.agreement.value if verdict.agreement else None)
    named = made.metric in {"krippendorff_alpha", "r_wg"}
    if verdict.band is not None:
        assert made.band is verdict.band
        if named and made.value is not None and made.band is not band(made.value):
            assert Breach.BAND in found.marks
            assert Flag.MISMATCH in found.flags
    else:
        assert made.band is (band(made.value) if named or made.metric == "unknown" else None)
