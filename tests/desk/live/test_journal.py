"""The journal of a report: in its desk file, of an earlier version, damaged, or without room."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live.judge import judge_cases
from reviewdesk.desk.review.items import is_held, unfinished
from reviewdesk.domain.panel.asking import Listener
from reviewdesk.errors import CeilingError, DeskError, JournalError
from reviewdesk.live.records import Response
from reviewdesk.store import reruns
from tests.helpers import POSIX, open_desk
from tests.judgekit import PRICE, YES, Consent, Jurors, Room, fine, of_whom, silent, world


def test_a_run_that_the_first_version_began_is_not_paid_for_again(room: Room) -> None:
    room.put().report.with_name("report.jsonl.replies.jsonl").write_text("{}\n")
    for order in (room.order(), room.order(resume=True)):
        with pytest.raises(JournalError, match=r"replies\.jsonl: reviewdesk 0\.1 began this run"):
            judge_cases(order, YES, world(silent()))


def test_one_process_at_a_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(body: Any) -> Response:
        with pytest.raises(DeskError, match="is at work on this run"):
            judge_cases(room.order(resume=True), YES, world(silent()))
        asked.append(of_whom(body))
        return fine(body)

    judge_cases(room.put(["c0"]).order(), YES, world(Jurors(answer)))
    assert len(asked) == 5
    # A process that was killed is not there any more; one that lives, and did not end its run, is.
    with closing(open_desk(room.replies)) as desk:
        ends = reruns.of_word(desk.conn, room.commitments()[0]["batch"])
        assert [one.kind for one in ends] == ["rerun_planned", "rerun_ended"]
        monkeypatch.setattr(reruns, "is_other_alive", lambda _pid, _started: True)
        assert is_held(ends[0].detail)
        assert not is_held(ends[0].detail, is_ended=True)


def test_a_named_desk_keeps_the_journals_of_several_reports(room: Room) -> None:
    path = room.put(["c0"]).folder / "desk.db"
    orders = [
        replace(room.order(desk=path), report=str(room.folder / name))
        for name in ("a.jsonl", "b.jsonl")
    ]
    for order in orders:
        assert judge_cases(order, YES, world(Jurors())).calls == 5
    assert not room.replies.exists()
    assert judge_cases(replace(orders[0], resume=True), YES, world(silent())).reused == 5
    with closing(open_desk(path)) as desk:
        assert unfinished(desk) == []
        assert desk.verify().ok


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """A limit on what a file may hold: writing goes as far as it does, then fails."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@POSIX
def test_where_there_is_no_room_line_names_replies_and_what_was_stored_stays(room: Room) -> None:
    room.put(["c1", "c2"], output="a" * 4000, juror=PRICE)
    no = Consent(agrees=False)
    with pytest.raises(Exception, match="nothing was sent"):
        judge_cases(room.order(), Listener(no), world(silent()))
    ceiling = (no.plans[0].worst_usd or 0) / 10 + 0.5
    # A reply of 110 tokens costs 11 cents: after five of them the next worst case is too much.
    with pytest.raises(CeilingError, match="--resume"):
        judge_cases(room.order(max_cost=ceiling, concurrency=1), YES, world(Jurors()))
    assert len(room.stored()) == 5
    # The log of the desk takes what fits below the limit, some pages of 16 kB.
    with room_for(120_000), pytest.raises(DeskError) as error:
        judge_cases(room.order(resume=True, concurrency=1), YES, world(Jurors()))
    assert str(room.replies) in str(error.value)
    found = judge_cases(room.order(resume=True), YES, world(Jurors()))
    assert (found.passed, found.reused + found.calls) == (2, 10)
    assert found.reused >= 5
