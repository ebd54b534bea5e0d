"""What the targets read: of a judge's calibration, of a report's word, else of its ballots."""

import math
from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.gates.expect import (
    ASKED,
    CALIBRATION_SPANS,
    JuryReadings,
    Origin,
    TargetValue,
    calibration_readings,
)
from reviewdesk.domain.gates.expect import JURY_SPANS as SPANS
from reviewdesk.domain.gates.such_items import such_items
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.reliability import fit, null_ece
from tests.domain.bodies import bodies, body, juror, panel, read

DOCUMENT = (0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05)
"""The confidences of the calibration document's example; the first four are right."""


def rows_of(*confidences: float) -> Rows:
    return Rows.of(list(confidences), [one >= 0.55 for one in confidences], None)


def judge(
    rows: Rows, matrix: Cells | None = None, *, default: bool = False
) -> dict[str, TargetValue]:
    rate = matrix.correct(0.5) if matrix else None
    line, found = measure(rows, None), fit(rows)
    return calibration_readings(
        line, found, rate, such_items(rows, line, found, None), by_default=default
    )


def test_the_figures_of_the_document_and_of_more_labels() -> None:
    found = judge(rows_of(*DOCUMENT))
    # The specification gives ECE 0.0875 and Brier 0.0691 for these eight rows.
    assert found["ece"].value == pytest.approx(0.0875)
    assert found["brier"].value == pytest.approx(0.0691, abs=5e-5)
    # Mean confidence 4.04 / 8 = 0.505, accuracy 4/8.
    assert found["gap"].value == pytest.approx(0.005)
    assert found["accuracy"].value == 0.5
    assert found["n"] == TargetValue(8)
    assert "often misses" in found["ece"].note
    assert found["brier"].note == ""
    # 56 rows: only what chance would show is said, not that they are few.
    note = judge(rows_of(*DOCUMENT * 7))["ece"].note
    assert note.startswith("a calibrated judge would show 0.")


def test_no_labels_are_no_merit() -> None:
    found = judge(rows_of())
    assert (found["ece"].value, found["ece"].skip) == (0.0, "there are no labels")
    assert found["brier"].skip
    assert found["n"] == TargetValue(0)


def test_the_corrected_rate_of_the_document_and_of_a_judge_without_a_signal() -> None:
    found = judge(rows_of(*DOCUMENT), Cells(90, 10, 80, 20))
    # (0.5 + 0.8 - 1) / 0.7, and the ends that the specification gives.
    assert found["corrected_rate"].value == pytest.approx(0.428571, abs=1e-6)
    assert (found["corrected_rate"].note, found["corrected_rate"].skip) == ("", "")
    assert found["corrected_rate_low"].value == pytest.approx(0.329578, abs=1e-6)
    assert found["corrected_rate_high"].value == pytest.approx(0.527565, abs=1e-6)
    without = judge(rows_of(*DOCUMENT))["corrected_rate"]
    assert (without.value, bool(without.skip)) == (None, True)
    coin = Cells(50, 50, 50, 50)
    said, default = (judge(rows_of(*DOCUMENT), coin, default=one) for one in (False, True))
    assert said["corrected_rate"] == TargetValue(0.5, note="the judge carries no signal")
    assert default["corrected_rate"].skip == "the judge carries no signal"
    # sensitivity 0.7, specificity 0.7: J = 0.4.
    weak = judge(rows_of(*DOCUMENT), Cells(70, 30, 70, 30))
    assert weak["corrected_rate"].note == "too close to guessing to correct"


def test_ranking_and_chance() -> None:
    found = judge(rows_of(*DOCUMENT))
    # Every right row has more confidence than every wrong one.
    assert found["auroc"].value == 1.0
    null = null_ece(rows_of(*DOCUMENT))
    assert null is not None
    assert found["ece_p"].value == null.p
    # Two rows of 0.5, both right: ECE is 0.5, and half of all calibrated judges show as much
    # (two right or two wrong); the others show 0. The expected ECE is 0.25.
    even = judge(Rows.of([0.5, 0.5], [True, True]))
    assert even["ece_p"].value == pytest.approx(0.5, abs=0.02)
    assert even["ece"].note.endswith("a calibrated judge would show 0.250")
    assert even["auroc"] == TargetValue(
        None, skip="every verdict was right, or every one wrong, so there is nothing to rank"
    )
    empty = judge(rows_of())
    assert empty["ece_p"].skip == empty["auroc"].skip == "there are no labels"


def test_every_target_is_a_number() -> None:
    assert len(CALIBRATION_SPANS) == 31
    signed = {"gap", "gap_low", "gap_high", "kappa", "kappa_low", "kappa_high", *ASKED}
    cannot: list[object] = [None, True, "low", [], math.nan]
    for target, span in CALIBRATION_SPANS.items():
        assert [one for one in (0, 0.5, 1) if span.holds(one)] == [0, 0.5, 1]
        assert span.holds(-1) is (target in signed)
        assert span.holds(1.5) is (target == "n")
        assert not any(map(span.holds, cannot))


STATED, OURS = Origin.STATED, Origin.RECOMPUTED


def reading(value: dict[str, Any], target: str, generator: str | None = None) -> TargetValue:
    return JuryReadings(read(value, generator, threshold=0.7, quorum=0.5)).read(target)


def told(value: dict[str, Any], target: str, generator: str | None = None) -> tuple[Any, Any]:
    found = reading(value, target, generator)
    return found.value, found.origin


def test_what_the_report_states_stands() -> None:
    said = panel(
        0.9,
        0.1,
        agreement={"value": 0.91, "metric": "krippendorff_alpha"},
        band="high", escalate_for_review=False, same_family=True,
        bias_warning="the producer's own words",
    )  # fmt: skip
    assert reading(said, "jury.agreement") == TargetValue(0.91, STATED, "krippendorff_alpha")
    assert told(said, "jury.confidence") == ("high", STATED)
    assert told(said, "jury.escalate") == (False, STATED)
    assert told(said, "jury.same_family") == (True, STATED)
    assert told(said, "jury.bias_warning") == ("the producer's own words", STATED)


def test_what_it_leaves_unsaid_comes_from_the_ballots() -> None:
    # Mean 0.5, s² = 0.4² + 0.4² = 0.32, r_WG = 1 - 0.32 * 12 = -2.84: low, so it escalates, and
    # a gate reads it on 0..1.
    split = panel(0.9, 0.1)
    found = reading(split, "jury.agreement")
    assert (found.origin, found.metric) == (OURS, "r_wg")
    assert (found.value, found.note) == (0.0, "-2.84 before it is clamped to 0..1")
    assert told(split, "jury.confidence") == ("low", OURS)
    assert told(split, "jury.escalate") == (True, OURS)
    # All alike: s² = 0, r_WG = 1.
    alike = panel(0.9, 0.9, 0.9)
    assert reading(alike, "jury.agreement").value == 1
    assert told(alike, "jury.confidence") == ("high", OURS)
    assert told(alike, "jury.escalate") == (False, OURS)
    assert told(alike, "jury.bias_warning") == (None, OURS)


def test_votes_speak_where_there_are_no_scores() -> None:
    # One of three pairs votes alike: 2/3 - 1, which is no share of pairs.
    votes = body(*(juror(f"j{n}", **{"pass": n > 0}) for n in range(3)))
    found = reading(votes, "jury.agreement")
    assert found.metric == "r_wg"
    assert (found.value, found.note) == (0.0, "-0.333333 before it is clamped to 0..1")


@pytest.mark.parametrize(
    "alone",
    [
        panel(0.9),
        panel(0.9, None, None),
        panel(None, None),
        panel(0.9, escalate_for_review=False),
        panel(0.9, escalate_for_review=False, agreement={"value": None, "metric": "r_wg"}),
    ],
)
def test_a_jury_of_one_reads_low_and_true(alone: dict[str, Any]) -> None:
    found = reading(alone, "jury.agreement")
    assert found.value is None
    assert "fewer than two jurors" in found.skip
    band, escalate = reading(alone, "jury.confidence"), reading(alone, "jury.escalate")
    assert (band.value, band.origin) == ("low", OURS)
    assert (escalate.value, escalate.origin) == (True, OURS)
    assert band.note.endswith("reads low")
    assert escalate.note.endswith("reads true")
    assert reading(alone, "jury.bias_warning") == TargetValue(None, OURS)


@pytest.mark.parametrize(
    "stated", [{}, {"band": "high"}, {"agreement": {"value": 0.95, "metric": "r_wg"}}]
)
def test_answers_that_could_change_the_decision_escalate(stated: dict[str, Any]) -> None:
    # Two of three are alike, and the third could have said anything.
    value = panel(0.9, 0.9, None, threshold=0.7, strategy="lowest", **stated)
    found = reading(value, "jury.escalate")
    assert (found.value, found.origin) == (True, OURS)
    assert found.note == "1 of 3 jurors gave no vote, and its vote could change this"
    # A stated flag stands, and an answer that changes nothing escalates nothing.
    assert reading(value | {"escalate_for_review": False}, "jury.escalate").value is False
    sure = panel(0.1, 0.1, None, threshold=0.7, strategy="lowest", **stated)
    assert reading(sure, "jury.escalate").value is False


def test_a_lone_jurys_own_band_stands() -> None:
    alone = panel(0.9, band="medium", escalate_for_review=True)
    assert told(alone, "jury.confidence") == ("medium", STATED)
    assert told(alone, "jury.escalate") == (True, STATED)


def test_an_agreement_that_is_undefined_or_a_band_without_a_value_is_skipped() -> None:
    said = panel(0.9, 0.9, agreement={"value": None, "metric": "krippendorff_alpha"})
    found = reading(said, "jury.agreement")
    assert (found.value, found.origin, found.metric) == (None, STATED, "krippendorff_alpha")
    assert found.skip == "the report states it as undefined"
    # Two ballots are there, so that band and escalation are what they give.
    assert reading(said, "jury.confidence") == TargetValue("high", OURS)
    assert reading(said, "jury.escalate") == TargetValue(False, OURS)
    said = panel(0.9, 0.9, band="low")
    found = reading(said, "jury.agreement")
    assert (found.value, found.origin) == (None, STATED)
    assert found.skip == "the report states a band and no agreement"
    assert told(said, "jury.confidence") == ("low", STATED)
    # Escalation reads the band of a value; there is none, so it is ours.
    assert told(said, "jury.escalate") == (False, OURS)


@pytest.mark.parametrize("metric", ["r_wg", "krippendorff_alpha", "unknown"])
@pytest.mark.parametrize("scores", [(), (0.9, 0.9, 0.9), (0.9, 0.1, 0.1)])
def test_stated_agreement_gives_band_whatever_the_ballots_give(metric: str, scores: Any) -> None:
    for value, band in ((0.5, "low"), (0.7, "medium"), (0.8, "high")):
        said = panel(*scores, agreement={"value": value, "metric": metric})
        assert reading(said, "jury.agreement") == TargetValue(value, STATED, metric)
        confidence = TargetValue(band, STATED, note=f"of the stated {metric}")
        assert reading(said, "jury.confidence") == confidence
        escalate = TargetValue(band == "low", STATED, note=f"the stated {metric} is {band}")
        assert reading(said, "jury.escalate") == escalate


@pytest.mark.parametrize("metric", ["pairwise", "consensus_share", "variance"])
def test_beside_a_measure_without_bands_the_band_is_ours_and_says_so(metric: str) -> None:
    # .9 .1: r_WG -2.84, low; a share of 1 is no high agreement of r_WG.
    said = panel(0.9, 0.1, agreement={"value": 1.0, "metric": metric})
    assert reading(said, "jury.agreement") == TargetValue(1.0, STATED, metric)
    assert reading(said, "jury.confidence") == TargetValue("low", OURS)
    assert reading(said, "jury.escalate") == TargetValue(True, OURS)
    # Its own flag and band come first, and a band alone is none of a value.
    said |= {"escalate_for_review": False, "band": "high"}
    assert told(said, "jury.confidence") == ("high", STATED)
    assert told(said, "jury.escalate") == (False, STATED)
    nobody = body(agreement={"value": 0.4, "metric": metric})
    assert told(nobody, "jury.confidence") == ("low", OURS)
    assert told(nobody, "jury.escalate") == (True, OURS)


def test_families() -> None:
    kin = body(juror("a", 0.9, model="claude-opus-4-7"), juror("b", 0.1, model="gpt-4o"))
    assert told(kin, "jury.same_family", "claude-sonnet-4-5") == (True, OURS)
    assert told(kin, "jury.same_family", "mistral-large") == (False, OURS)
    unknown = reading(kin, "jury.same_family", None)
    assert (unknown.value, unknown.origin) == (False, OURS)
    assert unknown.note
    # Low agreement and kin: the folded warning names the juror.
    warning = reading(kin, "jury.bias_warning", "claude-sonnet-4-5")
    assert warning.origin is OURS
    assert isinstance(warning.value, str)
    assert "a" in warning.value.split(", and ")[1].split()


@given(bodies())
def test_every_reading_is_one_that_the_target_can_have(value: dict[str, Any]) -> None:
    jury = JuryReadings(read(value))
    for target in SPANS:
        found = jury.read(target)
        assert found.origin is not None
        stopped = found.skip.startswith("stopped early")
        assert stopped or SPANS[target].holds(found.value)
        lacks = target == "jury.agreement" and found.value is None
        assert bool(found.skip) == (lacks or (stopped and found.value is None))


@pytest.mark.parametrize(
    ("target", "can", "cannot"),
    [
        ("jury.agreement", [0, 1, 0.7, None], [True, "0.7", [], -0.1, 1.1]),
        ("jury.confidence", ["high", "medium", "low"], ["Low", "", None, 1, True]),
        ("jury.escalate", [True, False], [0, 1, "no", None]),
        ("jury.same_family", [True, False], [None, "false", 1.0]),
        ("jury.bias_warning", [None, "", "any"], [False, 0, {}]),
    ],
)
def test_what_a_target_can_be(target: str, can: list[Any], cannot: list[Any]) -> None:
    assert [value for value in can if not SPANS[target].holds(value)] == []
    assert [value for value in cannot if SPANS[target].holds(value)] == []
