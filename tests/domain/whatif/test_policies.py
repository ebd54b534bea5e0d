"""Policies by name and group, and the combinations that options ask for."""

from __future__ import annotations

import pytest

from reviewdesk.domain.verdict import Rounding, Strategy
from reviewdesk.domain.whatif.policies import Group, Variant, combined, whole


@pytest.mark.parametrize(
    ("variant", "name", "group"),
    [
        (Variant(), "as it stands", Group.STANDING),
        (Variant(Strategy.MEDIAN), "median", Group.RULES),
        (
            Variant(Strategy.TRIMMED_MEAN, 0.3, Rounding.NEAREST),
            "trimmed_mean 30% nearest",
            Group.TRIMS,
        ),
        (Variant(Strategy.TRIMMED_MEAN, 0.125), "trimmed_mean 12.5%", Group.TRIMS),
        (Variant(Strategy.QUORUM, quorum="2/3"), "quorum 2/3", Group.QUORUMS),
        (Variant(Strategy.QUORUM, quorum=1.0), "quorum 1", Group.QUORUMS),
        (Variant(threshold=0.0), "threshold 0", Group.THRESHOLDS),
        (Variant(dropped="judge"), "without judge", Group.JURORS),
        (
            Variant(Strategy.MEAN, threshold=0.65, dropped="a"),
            "mean, threshold 0.65, without a",
            Group.JURORS,
        ),
    ],
)
def test_a_policy_has_a_name_and_a_group(variant: Variant, name: str, group: Group) -> None:
    assert (variant.name, variant.group) == (name, group)


def test_the_whole_table_begins_with_every_strategy() -> None:
    table = whole(["a", "b"])
    assert [variant.group for variant in table[:9]] == [Group.RULES] * 9
    # Five fractions by three roundings, seven quorums, five thresholds, two jurors.
    assert len(table) == len(set(table)) == 10 + 15 + 7 + 5 + 2
    assert [variant.name for variant in table[-2:]] == ["without a", "without b"]


def test_combinations_are_the_product_of_what_is_given() -> None:
    found = combined([Strategy.MEAN, Strategy.MEDIAN], [], [], [], [0.5, 0.6], ["a"])
    assert [variant.name for variant in found] == [
        "mean, threshold 0.5, without a",
        "mean, threshold 0.6, without a",
        "median, threshold 0.5, without a",
        "median, threshold 0.6, without a",
    ]


def test_a_trim_and_a_quorum_belong_to_their_rules() -> None:
    both = combined([], [0.1, 0.2], [Rounding.UP], [0.5], [], [])
    assert [variant.name for variant in both] == [
        "trimmed_mean 10% up", "trimmed_mean 20% up", "quorum 0.5",
    ]  # fmt: skip
    # A median has neither, and asking for it twice is asking once.
    named = combined([Strategy.MEDIAN, Strategy.TRIMMED_MEAN], [0.1], [], [0.5, 0.6], [], [])
    assert [variant.name for variant in named] == ["median", "trimmed_mean 10%"]
    assert combined([], [], [], [], [0.7], []) == (Variant(threshold=0.7),)
