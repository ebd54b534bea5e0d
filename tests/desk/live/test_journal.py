"""The journal of a report: in its desk file, of an earlier version, damaged, or without room."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live import journal
from reviewdesk.desk.live.judge import judge_cases
from reviewdesk.desk.review.items import is_held, unfinished
from reviewdesk.domain.panel.asking import Listener
from reviewdesk.errors import CeilingError, DeskError, JournalError
from reviewdesk.live.records import Response
from reviewdesk.store import connect, reruns
from reviewdesk.store.connect import BUSY_SECONDS
from tests.helpers import POSIX, locked, open_desk
from tests.judgekit import PRICE, YES, Consent, Jurors, Room, fine, of_whom, silent, world


def old_lines(room: Room) -> list[bytes]:
    """The journal of a finished run as versions before 0.9 wrote it, one line a reply."""
    (began,) = room.commitments()
    held = {name: began[name] for name in ("run_id", "at", "panel_hash", "rule", "cases_sha256")}
    rows: list[dict[str, Any]] = [
        {"journal": "reviewdesk.replies/1", **held, "version": "0.8", "panel": {"name": "five"}}
    ]
    for row in room.stored():
        headers = json.loads(row.pop("headers"))
        del row["key"], row["plan"]
        rows.append({"case": "c", **row, "headers": headers})
    return [json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows]


def kept_old(room: Room, *more: bytes, without: int = 0) -> Path:
    """Judge, and leave the journal of it in the old form, ``without`` its last replies."""
    judge_cases(room.put(juror=PRICE).order(), YES, world(Jurors()))
    lines = old_lines(room)
    for file in (room.report, room.replies):
        file.unlink()
    path = room.folder / "report.jsonl.replies.jsonl"
    path.write_bytes(b"".join([*lines[: len(lines) - without], *more]))
    return path


def test_a_run_of_an_earlier_version_goes_on_and_pays_for_nothing_twice(room: Room) -> None:
    kept_old(room, b'{"call": "cut sh', without=4)
    jurors, notes = Jurors(), list[str]()
    listener = Listener(lambda _: True, noted=notes.append)
    found = judge_cases(room.order(resume=True), listener, world(jurors))
    assert (found.reused, found.calls, jurors.asked.total()) == (11, 4, 4)
    # Fifteen calls of 110 tokens at a tenth of a cent.
    assert found.spent_usd == pytest.approx(15 * 0.11)
    assert "the last line was cut short" in notes[0]
    judge_cases(room.order(resume=True), YES, world(silent()))


@pytest.mark.parametrize(
    "line",
    [
        b"[]\n", b"{}\n", b'{"call": "ab"}\n', b"\xff\n", b"[" * 100_000 + b"\n",
        b'{"batch": "b"}\n', b'{"journal": "reviewdesk.replies/1"}\n',
    ],
)  # fmt: skip
def test_a_damaged_journal_of_an_older_version_is_named_by_line(room: Room, line: bytes) -> None:
    path = kept_old(room, line)
    with pytest.raises(JournalError, match=r"replies\.jsonl: line 17: "):
        judge_cases(room.order(resume=True), YES, world(silent()))
    path.write_bytes(line)
    with pytest.raises(JournalError, match="line 1: "):
        judge_cases(room.order(resume=True), YES, world(silent()))


def test_a_batch_of_an_earlier_version_is_still_waited_for(room: Room) -> None:
    key = "ab" * 32
    lines = [
        {"batch": "b", "juror": "j0", "at": "2025-01-31T12:00:00Z", "nonces": {key: "n"}},
        {"batch": "b", "id": "v1"},
        {"batch": "gone", "juror": "j0", "at": "2025-01-31T12:00:00Z", "nonces": {key: "n"}},
        {"batch": "gone", "over": True},
    ]
    kept_old(room, *(json.dumps(line).encode() + b"\n" for line in lines))
    with journal.report_journal(room.report, None, world(silent()).clock.now) as found:
        assert [(one.name, one.id, one.nonces) for one in found.batches.values()] == [
            ("b", "v1", {key: "n"})
        ]


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


async def test_open_calls_do_not_wait_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_AGAIN", 0)
    # What waits for the lock would sleep on the thread of the calls.
    monkeypatch.setattr(connect, "sleep", pytest.fail)
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        made = journal.DeskJournal(desk, "word", 1)
        made.put(lambda _: None)
        with locked(path):
            settled = asyncio.create_task(made.settled())
            for _ in range(5):
                await asyncio.sleep(0)
            assert not settled.done()
        await settled
        assert desk.conn.patience == BUSY_SECONDS
