"""One panel under other rules decides what the columns of many panels say of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.domain.whatif.item import outcomes
from reviewdesk.domain.whatif.policies import Variant, whole
from tests.domain.bodies import juror, panel, read
from tests.domain.whatif.test_bulk import alone, mixed, together, variants


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


def test_the_worked_panel() -> None:
    # 0.30 0.78 0.81 0.84 0.89 against 0.75: the mean is 0.724, without an end 0.81.
    value = panel(0.30, 0.78, 0.81, 0.84, 0.89, threshold=0.75, quorum=0.9, strategy="mean")
    asked = [
        Variant(),
        Variant(Strategy.TRIMMED_MEAN),
        Variant(Strategy.QUORUM),
        Variant(Strategy.QUORUM, quorum=0.8),
        Variant(threshold=0.7),
        Variant(dropped="j0"),
        Variant(dropped="j4"),
    ]
    made = outcomes(read(value), asked)
    # Four of five pass: under nine tenths, at four fifths. Without j0 the mean is 0.83; without j4
    # it is 2.73 / 4.
    assert [one.decision for one in made] == [
        Decision.FAIL, Decision.PASS, Decision.FAIL, Decision.PASS, Decision.PASS, Decision.PASS,
        Decision.FAIL,
    ]  # fmt: skip
    assert [round(one.value or 0, 6) for one in made] == [
        0.724, 0.81, 0.724, 0.724, 0.724, 0.83, 0.6825,
    ]  # fmt: skip


def test_the_second_seat_of_a_name_is_left_out_by_its_own() -> None:
    value = {
        **panel(threshold=0.5, strategy="mean"),
        "jurors": [juror("a", 0.9), juror("a", 0.3), juror("b", 0.4)],
    }
    made = outcomes(read(value), [Variant(dropped="a"), Variant(dropped="a#2")])
    assert [one.value for one in made] == [0.35, 0.65]
