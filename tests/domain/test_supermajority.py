from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.supermajority import supermajority
from reviewdesk.errors import UsageError
from tests.domain.bodies import maybe

LABELS = st.lists(maybe(st.sampled_from("ABC")), max_size=9)


@pytest.mark.parametrize(
    ("labels", "share", "winner", "reason"),
    [
        # Exactly two thirds are enough, and 66 of 100 are not.
        (["A", "A", "B"], "2/3", "A", None),
        (["A"] * 66 + ["B"] * 34, "2/3", None, "66 of 100 is under 2/3"),
        (["A"] * 67 + ["B"] * 33, "2/3", "A", None),
        # As a float 0.67 is more than two thirds.
        (["A", "A", "B"], 0.67, None, "2 of 3 is under 0.67"),
        (["a", "A ", "B"], "2/3", "a", None),
        # Three must commit: an empty seat, UNCLEAR and a failed call do not.
        (["A", "A"], "2/3", None, "2 committed, 3 are needed"),
        (["A", "A", None, "", "UNCLEAR", "ERROR", "PARSE_FAIL"], "2/3", None,
         "2 committed, 3 are needed"),
        (["A", "A", "A", None, None, None], "2/3", "A", None),
        ([], "2/3", None, "0 committed, 3 are needed"),
        (["A", "A", "A", "B"], "1/1", None, "3 of 4 is under 1/1"),
        (["A", "B", "C"], "2/3", None, "1 of 3 is under 2/3"),
    ],
)  # fmt: skip
def test_who_wins(
    labels: list[str | None], share: float | str, winner: str | None, reason: str | None
) -> None:
    found = supermajority(labels, share)
    assert (found.label, found.reason) == (winner, reason)


@given(LABELS)
def test_a_winner_has_the_share_and_the_order_does_not_matter(labels: list[str | None]) -> None:
    found = supermajority(labels)
    committed = [label for label in labels if label is not None]
    assert found.committed == len(committed)
    if found.label is not None:
        assert Fraction(committed.count(found.label), len(committed)) >= Fraction(2, 3)
        assert len(committed) >= 3
    assert supermajority(labels[::-1]).label == found.label


@pytest.mark.parametrize("share", [0.5, "1/2", "3/2", 0.0, "x", "2/0", float("nan"), float("inf")])
def test_a_share_that_two_labels_could_have_is_refused(share: float | str) -> None:
    with pytest.raises(UsageError, match="over 1/2"):
        supermajority(["A", "A", "A"], share)
