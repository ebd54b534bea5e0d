"""What the targets read of a judge's calibration."""

import math

import pytest

from reviewdesk.domain.gates.expect import TargetValue
from reviewdesk.domain.gates.such_items import such_items
from reviewdesk.domain.gates.targets import (
    ASKED,
    CALIBRATION_SPANS,
    CalibrationReadings,
    Reliability,
)
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.reliability import fit, null_ece

DOCUMENT = (0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05)
"""The confidences of the calibration document's example; the first four are right."""


def rows_of(*confidences: float) -> Rows:
    return Rows.of(list(confidences), [one >= 0.55 for one in confidences], None)


def judge(
    rows: Rows, matrix: Reliability | None = None, *, default: bool = False
) -> CalibrationReadings:
    rate = matrix.correct(0.5) if matrix else None
    line, found = measure(rows, None), fit(rows)
    return CalibrationReadings(
        line, found, rate, such_items(rows, line, found, None), by_default=default
    )


def test_the_figures_of_the_document() -> None:
    found = judge(rows_of(*DOCUMENT))
    # The specification gives ECE 0.0875 and Brier 0.0691 for these eight rows.
    assert found.read("ece").value == pytest.approx(0.0875)
    assert found.read("brier").value == pytest.approx(0.0691, abs=5e-5)
    # Mean confidence 4.04 / 8 = 0.505, accuracy 4/8.
    assert found.read("gap").value == pytest.approx(0.005)
    assert found.read("accuracy").value == 0.5
    assert found.read("n") == TargetValue(8)
    assert "often misses" in found.read("ece").note
    assert found.read("brier").note == ""


def test_more_labels_need_no_word() -> None:
    # 56 rows: only what chance would show is said, not that they are few.
    note = judge(rows_of(*DOCUMENT * 7)).read("ece").note
    assert note.startswith("a calibrated judge would show 0.")


def test_no_labels_are_no_merit() -> None:
    found = judge(rows_of())
    assert found.read("ece") == TargetValue(0.0, skip="there are no labels")
    assert found.read("brier").skip
    assert found.read("n") == TargetValue(0)


def test_the_corrected_rate_of_the_document() -> None:
    found = judge(rows_of(*DOCUMENT), Reliability(90, 10, 80, 20))
    # (0.5 + 0.8 - 1) / 0.7, and the ends that the specification gives.
    assert found.read("corrected_rate").value == pytest.approx(0.428571, abs=1e-6)
    assert (found.read("corrected_rate").note, found.read("corrected_rate").skip) == ("", "")
    assert found.read("corrected_rate_low").value == pytest.approx(0.329578, abs=1e-6)
    assert found.read("corrected_rate_high").value == pytest.approx(0.527565, abs=1e-6)
    without = judge(rows_of(*DOCUMENT)).read("corrected_rate")
    assert (without.value, bool(without.skip)) == (None, True)


def test_a_judge_without_a_signal() -> None:
    coin = Reliability(50, 50, 50, 50)
    said, default = (judge(rows_of(*DOCUMENT), coin, default=one) for one in (False, True))
    assert said.read("corrected_rate") == TargetValue(0.5, note="the judge carries no signal")
    assert default.read("corrected_rate").skip == "the judge carries no signal"
    # sensitivity 0.7, specificity 0.7: J = 0.4.
    weak = judge(rows_of(*DOCUMENT), Reliability(70, 30, 70, 30))
    assert weak.read("corrected_rate").note == "too close to guessing to correct"


def test_ranking_and_chance() -> None:
    found = judge(rows_of(*DOCUMENT))
    # Every right row has more confidence than every wrong one.
    assert found.read("auroc").value == 1.0
    rows = rows_of(*DOCUMENT)
    null = null_ece(rows)
    assert null is not None
    assert found.read("ece_p").value == null.p
    # Two rows of 0.5, both right: ECE is 0.5, and half of all calibrated judges show as much
    # (two right or two wrong); the others show 0. The expected ECE is 0.25.
    even = judge(Rows.of([0.5, 0.5], [True, True]))
    assert even.read("ece_p").value == pytest.approx(0.5, abs=0.02)
    assert even.read("ece").note.endswith("a calibrated judge would show 0.250")
    assert even.read("auroc") == TargetValue(
        None, skip="every verdict was right, or every one wrong, so there is nothing to rank"
    )
    empty = judge(rows_of())
    assert empty.read("ece_p").skip == empty.read("auroc").skip == "there are no labels"


def test_every_target_is_a_number() -> None:
    assert len(CALIBRATION_SPANS) == 32
    signed = {"gap", "gap_low", "gap_high", "kappa", "kappa_low", "kappa_high", *ASKED}
    cannot: list[object] = [None, True, "low", [], math.nan]
    for target, span in CALIBRATION_SPANS.items():
        assert [one for one in (0, 0.5, 1) if span.holds(one)] == [0, 0.5, 1]
        assert span.holds(-1) is (target in signed)
        assert span.holds(1.5) is (target == "n")
        assert not any(map(span.holds, cannot))
