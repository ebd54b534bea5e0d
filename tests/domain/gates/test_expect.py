"""Pass, fail and skip: of one check, of an entry, of a suite."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.gates.expect import (
    EntryKind,
    EntryResult,
    Expectation,
    Finding,
    GateStatus,
    LimitCheck,
    Matcher,
    MatchResult,
    Origin,
    TargetValue,
    Value,
    default_checks,
    ece_note,
    hold,
    overall,
)
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows, measure

P, F, S = GateStatus.PASS, GateStatus.FAIL, GateStatus.SKIP


def only(fitting: Value) -> Matcher:
    """Return a matcher that one value fits."""
    return Matcher(
        {"is": fitting},
        f"be {fitting}",
        lambda value: MatchResult(value == fitting, margin=0.5, why="it is another"),
    )


def finding(status: GateStatus) -> Finding:
    return Finding(Expectation("t", only(1)), TargetValue(1, Origin.STATED), status)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], S), ([P], P), ([F], F), ([S], S), ([P, P], P), ([P, S], P), ([S, S], S), ([P, F], F),
        ([S, F], F), ([S, P, F], F),
    ],
)  # fmt: skip
def test_the_table_of_three(statuses: list[GateStatus], expected: GateStatus) -> None:
    assert overall(statuses) is expected
    assert overall(reversed(statuses)) is expected


def test_a_reading_is_held_to_its_matcher_and_a_skip_never() -> None:
    expected = Expectation("t", only(1), "mine")
    fits = hold(expected, TargetValue(1, note="so"), "v", "test")
    assert (fits.status, fits.note, fits.margin) == (P, "so", 0.5)
    assert (fits.verdict, fits.test) == ("v", "test")
    assert hold(expected, TargetValue(2, note="so")).note == "it is another; so"
    assert hold(expected, TargetValue(2)).status is F
    # The value would fit; the skip comes first, and its reason is the note.
    found = hold(Expectation("t", only(1)), TargetValue(1, skip="no second juror"))
    assert (found.status, found.note, found.margin) == (S, "no second juror", None)


UNITS = st.lists(st.lists(st.sampled_from([P, F, S]), max_size=4), max_size=12)


@given(UNITS, st.none() | st.integers(0, 3))
def test_a_tally_counts_all_and_keeps_some(units: list[list[GateStatus]], keep: int | None) -> None:
    tally = EntryResult("e", EntryKind.JURY, "r", None, keep)
    for unit in units:
        tally.add(map(finding, unit))
    flat = [status for unit in units for status in unit]
    assert tally.counts == {status: flat.count(status) for status in GateStatus}
    assert sum(tally.units.values()) == len(units)
    assert tally.status is overall(flat)
    assert sum(tally.origins.values()) == len(flat)
    for status in GateStatus:
        kept = sum(one.status is status for one in tally.findings)
        assert kept == min(flat.count(status), len(flat) if keep is None else keep)


PASS, FAIL, SKIP = GateStatus.PASS, GateStatus.FAIL, GateStatus.SKIP


@pytest.mark.parametrize(
    ("value", "status", "margin"),
    [
        (0.04, PASS, 0.06),
        (0.10, PASS, 0.0),
        # 1e-9 of slack, and not more.
        (0.10 + 9e-10, PASS, -9e-10),
        (0.10 + 2e-9, FAIL, -2e-9),
        (0.16, FAIL, -0.06),
    ],
)
def test_a_figure_and_its_limit(value: float, status: GateStatus, margin: float) -> None:
    found = by_target(metrics(ece=value))["ece"]
    assert found.status is status
    assert found.margin == pytest.approx(margin, abs=1e-15)


def test_what_is_undefined_or_of_a_judge_without_signal_is_skipped() -> None:
    found = by_target(metrics(brier=None))["brier"]
    assert (found.status, found.margin, found.note) == (SKIP, None, "undefined")
    # Sensitivity 1/2 and specificity 1/2: J = 0.
    found = by_target(metrics())["corrected_rate"]
    assert (found.status, found.note) == (SKIP, "the judge carries no signal")
    assert (found.value, found.limit) == (0.5, 0.5)


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
    assert {name: made.limit for name, made in found.items()} == {
        "ece": 0.10,
        "brier": 0.25,
        "corrected_rate": 0.5,
    }
    # The eight rows of the document, and its 0.9/0.8 judge at an observed 0.5.
    assert [made.status for made in found.values()] == [PASS, PASS, PASS]
    assert found["ece"].margin == pytest.approx(0.0125)
    assert found["corrected_rate"].margin == pytest.approx(0.0714)


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
