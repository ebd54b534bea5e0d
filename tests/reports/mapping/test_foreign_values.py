"""Amounts and counts as other tools write them."""

from typing import Any

import pytest

from reviewdesk.reports.mapping import values
from tests.reports.foreignkit import opened


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (1, 1), (382, 382), (-1, None), (1.0, None), (0.5, None), (True, None),
        ("3", None), (None, None), ([], None),
    ],
)  # fmt: skip
def test_a_count_is_a_whole_number_from_zero(value: Any, number: int | None) -> None:
    found = values.count(value)
    assert (type(found), found) == (type(number), number)


def test_no_tokens_at_all_are_a_count_too() -> None:
    row = {
        "user_prompt": "Say hello.", "judge_model": "a", "first_completion_by": "x/one",
        "second_completion_by": "y/two", "pairwise_choice": "A>B",
        "prompt_tokens": 382, "completion_tokens": 0,
    }  # fmt: skip
    _, (body,) = opened([row], lines=True)
    (seat,) = body["jurors"]
    assert (seat["tokens_in"], seat["tokens_out"]) == (382, 0)
