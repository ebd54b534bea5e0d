"""Whether the pace of labelling rose or fell."""

from __future__ import annotations

import pytest

from reviewdesk.domain.labels.work import WorkPace
from reviewdesk.domain.records import Pace
from reviewdesk.views.pace import _trend


@pytest.mark.parametrize(
    ("now", "trend"), [(120, "20% faster"), (80, "20% slower"), (104, "is as")]
)
def test_the_trend_says_which_way(now: float, trend: str) -> None:
    last, before = Pace(now, 30.0, 100), Pace(100.0, 36.0, 100)
    assert trend in (_trend(WorkPace(last, before, last)) or "")
