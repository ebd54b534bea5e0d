"""Jurors counted over columns, against the count of one verdict after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurors import bulk
from reviewdesk.domain.jurors.accuracy import LabelledPanel, count, trim_named
from reviewdesk.domain.labels.marks import TENTATIVE, UNSEEN
from reviewdesk.domain.run.columns import DECISIONS, Columns
from reviewdesk.domain.verdict import Decision, Policy
from tests.domain.bodies import bodies, body, columns, read

POLICY: dict[str, Any] = {"threshold": 0.55, "trim_fraction": 0.3}


def decided(run: Columns) -> list[Decision | None]:
    return [None if code < 0 else DECISIONS[code] for code in run.decision.tolist()]


@given(st.lists(st.tuples(bodies(), st.booleans()), max_size=5))
def test_the_counts_are_those_of_one_verdict_after_the_other(
    told: list[tuple[Any, bool]],
) -> None:
    verdicts = [read(said, **POLICY) for said, _ in told]
    run = columns(enumerate(verdicts))
    expected = count(
        LabelledPanel(said, Policy.from_body(POLICY), one, deserved)
        for (said, deserved), one in zip(told, decided(run), strict=True)
    )
    named = {row: trim_named(said) for row, (said, _) in enumerate(told)}
    found = bulk.juror_counts(
        run,
        np.array([deserved for _, deserved in told], np.bool_),
        {row: seats for row, seats in named.items() if seats is not None},
    )
    assert sorted(found, key=lambda one: one.name) == sorted(expected, key=lambda one: one.name)
    assert [one.seat for one in found] == [one.seat for one in expected]


def test_only_pass_and_fail_labels_are_counted() -> None:
    verdicts = [read(body()) for _ in range(5)]
    run = columns((i, one) for i, one in enumerate(verdicts))
    # None, pass, a tentative fail, unsure, a pass whose response was not on screen.
    found, deserved = bulk.labelled(run, bytearray([0, 1, 2 | TENTATIVE, 3, 1 | UNSEEN]))
    assert (found.key.tolist(), deserved.tolist()) == ([1, 2, 4], [True, False, True])
