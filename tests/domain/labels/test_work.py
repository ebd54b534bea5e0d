"""The pace of the last hundred labels and of the session, and the reasons to stop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reviewdesk.domain.labels.pace import TimedLabel
from reviewdesk.domain.labels.repeats import LabelPair
from reviewdesk.domain.labels.work import (
    BREAK,
    agreements,
    pace_of,
    reasons_to_stop,
    session_of,
    work_pace,
)
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Ranged

START = datetime(2025, 1, 31, 12, tzinfo=UTC)
NONE = agreements([])


def timed(*dwells: float) -> list[TimedLabel]:
    at, found = START, []
    for dwell in dwells:
        at += timedelta(seconds=dwell)
        found.append(TimedLabel(at, dwell))
    return found


def pairs(*agree: bool) -> list[LabelPair]:
    return [
        LabelPair(Truth.PASS, Truth.PASS if same else Truth.FAIL, unseen=same) for same in agree
    ]


def test_the_pace_of_labels() -> None:
    # Four labels in 60 s are 240 an hour; the middle of 5, 10, 15 and 30 is 12.5.
    found = pace_of(timed(30, 5, 10, 15))
    assert (found.per_hour, found.median_dwell, found.counted) == (240, 12.5, 4)
    assert pace_of([]).per_hour is None
    assert pace_of(timed(0, 0)).per_hour is None


def test_the_paces_of_hundreds() -> None:
    found = work_pace(timed(*[20] * 100, *[10] * 100))
    assert (found.before.per_hour, found.last.per_hour) == (180, 360)
    # 200 labels in 3000 s.
    assert (found.session.per_hour, found.session.counted) == (240, 200)


def test_a_session_starts_after_a_break() -> None:
    early = timed(10, 10)
    later = [TimedLabel(one.at + BREAK + timedelta(hours=1), one.dwell) for one in timed(7, 7, 7)]
    assert session_of([*early, *later]) == later
    assert session_of([]) == []
    assert session_of(early[:1]) == early[:1]


def test_stopping_where_the_figure_is_known() -> None:
    def reasons(low: float, high: float) -> tuple[str, ...]:
        return reasons_to_stop([], NONE, Ranged(0.8, low, high))

    assert "known to 0.050" in reasons(0.75, 0.85)[0]
    assert reasons(0.74, 0.85) == ()
    assert reasons_to_stop([], NONE, Ranged(None, 0.75, 0.85)) == ()
    assert reasons_to_stop([], NONE, None) == ()


@pytest.mark.parametrize(("dwell", "count"), [(14.9, 0), (15.1, 1)])
def test_stopping_where_the_pace_fell_by_a_third(dwell: float, count: int) -> None:
    # 10 s are 360 an hour, and two thirds of that are 240: 15 s.
    labels = timed(*[10] * 60, *[dwell] * 50)
    assert len(reasons_to_stop(labels, NONE, None)) == count
    # Fewer than fifty before them are too few to compare with.
    assert reasons_to_stop(labels[20:], NONE, None) == ()


def test_stopping_where_consistency_fell() -> None:
    # Newcombe for 4 of 10 less 10 of 10: Wilson [.168, .687] and [.722, 1] give the upper end
    # -.6 + √((.687 - .4)² + (1 - .722)²) = -.2, below 0; for 7 of 10 it is -.3 + .337 > 0.
    fell = agreements(pairs(*[True] * 10, *[True] * 4, *[False] * 6))
    (reason,) = reasons_to_stop([], fell, None)
    assert "4 of the later 10" in reason
    held = agreements(pairs(*[True] * 10, *[True] * 7, *[False] * 3))
    assert reasons_to_stop([], held, None) == ()
    few = agreements(pairs(*[True] * 9, *[False] * 9))
    assert reasons_to_stop([], few, None) == ()


def test_agreement_is_split_by_what_was_seen() -> None:
    found = agreements(pairs(True, True, False))
    assert (found.every.n, found.unseen.n, found.seen.n) == (3, 2, 1)
    assert (found.earlier.n, found.later.n) == (1, 2)
