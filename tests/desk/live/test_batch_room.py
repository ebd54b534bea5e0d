"""Judging many cases on a disk that has no room left."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewdesk.desk.live.batch import BatchListener, judge_cases
from reviewdesk.errors import Cancelled, CeilingError, JournalError
from tests.judgekit import PRICE, YES, Consent, Jurors, Room, world
from tests.live.journal.test_journal import room_for


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_where_there_is_no_room_the_line_names_the_replies_and_how_to_go_on(room: Room) -> None:
    room.put(["c1", "c2"], output="a" * 4000)
    with room_for(5500), pytest.raises(JournalError) as error:
        judge_cases(room.order(concurrency=1), YES, world(Jurors()))
    assert str(room.replies) in str(error.value)
    assert "--resume" in str(error.value)
    found = judge_cases(room.order(resume=True), YES, world(Jurors()))
    assert (found.passed, found.reused + found.calls) == (2, 10)
    assert found.reused >= 5


def test_no_room_for_a_report_that_is_not_written_changes_nothing(room: Room) -> None:
    room.put(["c1", "c2"], output="a" * 4000, juror=PRICE)
    asked = Consent(agrees=False)
    with pytest.raises(Cancelled):
        judge_cases(room.order(), BatchListener(asked), world(Jurors()))
    # A reply of 110 tokens costs 11 cents: after five of them the next worst case is too much.
    ceiling = (asked.plans[0].worst_usd or 0) / 10 + 0.5
    # A verdict of more than 5,000 bytes does not fit; the five replies do.
    with room_for(5000), pytest.raises(CeilingError, match="--resume"):
        judge_cases(room.order(max_cost=ceiling, concurrency=1), YES, world(Jurors()))
    assert len(room.stored()) == 5
