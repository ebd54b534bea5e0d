"""Pass, fail and skip: of one check, of an entry, of a suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.gates.expect import (
    Expectation,
    Finding,
    FindingTally,
    GateStatus,
    Limits,
    MatchResult,
    Origin,
    TargetValue,
    Value,
    hold,
    overall,
)

P, F, S = GateStatus.PASS, GateStatus.FAIL, GateStatus.SKIP


@dataclass(frozen=True)
class Is:
    """Fits one value."""

    value: Value

    @property
    def written(self) -> Any:
        return {"is": self.value}

    @property
    def limits(self) -> Limits:
        return Limits()

    def words(self, *, negated: bool = False) -> str:
        return f"{'not ' * negated}be {self.value}"

    def judge(self, value: Value) -> MatchResult:
        return MatchResult(value == self.value, margin=0.5, why="it is another")


def finding(status: GateStatus) -> Finding:
    return Finding(Expectation("t", Is(1)), TargetValue(1, Origin.STATED), status)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], S),
        ([P], P),
        ([F], F),
        ([S], S),
        ([P, P], P),
        ([P, S], P),
        ([S, S], S),
        ([P, F], F),
        ([S, F], F),
        ([S, P, F], F),
    ],
)
def test_the_table_of_three(statuses: list[GateStatus], expected: GateStatus) -> None:
    assert overall(statuses) is expected
    assert overall(reversed(statuses)) is expected


def test_a_reading_is_held_to_its_matcher() -> None:
    expected = Expectation("t", Is(1), "mine")
    fits = hold(expected, TargetValue(1, note="so"), "v", "test")
    assert (fits.status, fits.note, fits.margin) == (P, "so", 0.5)
    assert (fits.verdict, fits.test) == ("v", "test")
    assert hold(expected, TargetValue(2, note="so")).note == "it is another; so"
    assert hold(expected, TargetValue(2)).status is F


def test_a_skip_is_never_judged() -> None:
    # The value would fit; the skip comes first, and its reason is the note.
    found = hold(Expectation("t", Is(1)), TargetValue(1, skip="no second juror"))
    assert (found.status, found.note, found.margin) == (S, "no second juror", None)


UNITS = st.lists(st.lists(st.sampled_from([P, F, S]), max_size=4), max_size=12)


@given(UNITS, st.none() | st.integers(0, 3))
def test_a_tally_counts_all_and_keeps_some(units: list[list[GateStatus]], keep: int | None) -> None:
    tally = FindingTally(keep)
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
