from __future__ import annotations

from typing import Any

import pytest

from reviewdesk.domain.gates.expect import (
    GateStatus,
    LimitCheck,
    Op,
    check,
    default_checks,
    ece_note,
)
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows, measure

PASS, FAIL, SKIP = GateStatus.PASS, GateStatus.FAIL, GateStatus.SKIP


@pytest.mark.parametrize(
    ("value", "op", "limit", "status", "margin"),
    [
        (0.04, Op.AT_MOST, 0.10, PASS, 0.06),
        (0.10, Op.AT_MOST, 0.10, PASS, 0.0),
        # 1e-9 of slack, and not more.
        (0.10 + 9e-10, Op.AT_MOST, 0.10, PASS, -9e-10),
        (0.10 + 2e-9, Op.AT_MOST, 0.10, FAIL, -2e-9),
        (0.31, Op.AT_MOST, 0.25, FAIL, -0.06),
        (0.9, Op.AT_LEAST, 0.8, PASS, 0.1),
        (0.8 - 2e-9, Op.AT_LEAST, 0.8, FAIL, -2e-9),
    ],
)
def test_a_figure_and_its_limit(
    value: float, op: Op, limit: float, status: GateStatus, margin: float
) -> None:
    found = check("x", value, op, limit)
    assert found.status is status
    assert found.margin == pytest.approx(margin, abs=1e-15)


@pytest.mark.parametrize(("value", "limit"), [(None, 0.1), (0.1, None)])
def test_what_is_undefined_is_skipped(value: float | None, limit: float | None) -> None:
    found = check("x", value, Op.AT_MOST, limit, note="few")
    assert (found.status, found.margin, found.note) == (SKIP, None, "undefined")


def metrics(count: int = 1, observed: float | None = 0.5, **figures: Any) -> Metrics:
    """Rows of one judge, some ``figures`` replaced: tp .9, fp .8, tn .7, fn .6, ``count`` times."""
    rows = Rows.of(
        [0.9, 0.8, 0.7, 0.6] * count,
        [True, False, True, False] * count,
        passed=[True, True, False, False] * count,
    )
    found = measure(rows, observed)
    return Metrics(**{name: getattr(found, name) for name in Metrics.__struct_fields__} | figures)


def by_target(found: Metrics) -> dict[str, LimitCheck]:
    return {made.target: made for made in default_checks(found)}


def test_the_document_s_defaults() -> None:
    found = by_target(metrics(ece=0.0875, brier=0.0691, corrected_rate=0.4286, observed=0.5,
                              corrected_status="ok"))  # fmt: skip
    assert {name: (made.op, made.limit) for name, made in found.items()} == {
        "ece": ("<=", 0.10),
        "brier": ("<=", 0.25),
        "corrected_rate": ("<=", 0.5),
    }
    # The eight rows of the document, and its 0.9/0.8 judge at an observed 0.5.
    assert [made.status for made in found.values()] == [PASS, PASS, PASS]
    assert found["ece"].margin == pytest.approx(0.0125)
    assert found["corrected_rate"].margin == pytest.approx(0.0714)


def test_bad_figures_fail() -> None:
    # Each of .9 .8 .7 .6 alone in its bin: (.1 + .8 + .3 + .6) / 4; (.01 + .64 + .09 + .36) / 4.
    found = by_target(metrics())
    assert found["ece"].value == pytest.approx(0.45)
    assert found["brier"].value == pytest.approx(0.275)
    assert (found["ece"].status, found["brier"].status) == (FAIL, FAIL)
    assert found["ece"].margin == pytest.approx(-0.35)


def test_a_judge_without_signal_is_not_held_to_its_rate() -> None:
    # Sensitivity 1/2 and specificity 1/2: J = 0.
    found = by_target(metrics())["corrected_rate"]
    assert (found.status, found.note) == (SKIP, "the judge carries no signal")
    assert (found.value, found.limit) == (0.5, 0.5)


def test_the_rate_is_a_gate_only_with_counts_and_an_observed_rate() -> None:
    assert "corrected_rate" not in by_target(metrics(observed=None))
    file = measure(Rows.of([0.9], [True]), 0.5)
    assert [made.target for made in default_checks(file)] == ["ece", "brier"]


def test_without_labels_nothing_passes() -> None:
    found = default_checks(measure(Rows.of([], [], passed=[]), 0.5))
    assert [(made.target, made.status, made.note) for made in found] == [
        ("ece", SKIP, "no labels"),
        ("brier", SKIP, "no labels"),
        ("corrected_rate", SKIP, "no labels"),
    ]


def test_few_labels_are_said_to_be_few() -> None:
    assert "up to 50 labels" in ece_note(50, None)
    assert ece_note(51, None) == ""
    # Four rows at a time: 48 are few, 52 are not.
    assert "up to 50 labels" in by_target(metrics(12))["ece"].note
    assert by_target(metrics(13))["ece"].note == ""
