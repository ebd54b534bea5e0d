"""The replies of a run on disk: kept before they are used, found again, damaged and mended."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.prompt import Prompt
from reviewdesk.errors import JournalError
from reviewdesk.live.journal.journal import Commitment, Journal, VendorBatch
from reviewdesk.live.records import Call, Exchange
from tests.helpers import POSIX

AT = "2025-01-31T12:00:00Z"
HELD = Commitment("1", {"name": "p"}, "ab" * 32, {"threshold": 0.7}, "cd" * 32)


def call(case: str, seat: int = 0) -> Call:
    juror = Juror(f"j{seat}", "m", "custom", base_url="http://127.0.0.1:1/v1")
    return Call(case, f"about {case}", seat, juror, Prompt("s", "u", "n"))


def exchange(asked: Call, status: int | None = 200, body: str = "{}", attempt: int = 1) -> Exchange:
    problem = None if status else "timed out"
    return Exchange(asked.key, attempt, "n", AT, 3.5, status, body, {"x-request-id": "7"}, problem)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.replies.jsonl"


def filled(path: Path, count: int = 3) -> list[Exchange]:
    """A file with one reply for each of so many cases."""
    journal = Journal(path)
    journal.commit(HELD, AT)
    kept = [exchange(call(f"c{at}"), body=f"réponse {at}\u2028\ud800") for at in range(count)]
    for at, one in enumerate(kept):
        journal.keep(call(f"c{at}"), one, 0.5)
    journal.close()
    return kept


def test_what_was_kept_is_found_again(path: Path) -> None:
    kept = filled(path)
    journal = Journal(path)
    assert [journal.reply(one.call) for one in kept] == kept
    assert journal.reply(call("other").key) is None
    assert journal.notes == []
    # Three exchanges of half a dollar.
    assert journal.spent == pytest.approx(1.5)
    journal.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_is_on_disk_once_it_has_settled(path: Path) -> None:
    async def kept(journal: Journal) -> None:
        for at in range(20):
            journal.keep(call(f"c{at}"), exchange(call(f"c{at}")))
        await asyncio.gather(*(journal.settled() for _ in range(20)))

    journal = Journal(path)
    journal.commit(HELD, AT)
    asyncio.run(kept(journal))
    assert len(path.read_bytes().splitlines()) == 21
    journal.close()


def test_a_commitment_stands_before_anything_else_and_once(path: Path) -> None:
    first = Journal(path)
    began = first.commit(HELD, AT)
    assert json.loads(path.read_bytes())["panel_hash"] == HELD.panel_hash
    first.close()
    again = Journal(path)
    assert again.commit(HELD, "2026-01-01T00:00:00Z") == began
    other = Commitment("1", {"name": "p"}, "ef" * 32, {"threshold": 0.8}, "cd" * 32)
    later = again.commit(other, "2026-01-01T00:00:00Z")
    assert (later.run_id, later.started_at) == (began.run_id, AT)
    assert later.committed_at == "2026-01-01T00:00:00Z"
    again.close()
    assert len(path.read_bytes().splitlines()) == 2


def test_a_file_that_nothing_was_committed_in_goes(path: Path) -> None:
    Journal(path).close()
    assert not path.exists()


def test_every_exchange_is_found_again_whatever_it_is(path: Path) -> None:
    """Whether it holds an answer is for the reader of replies to say."""
    asked = {status: call(f"c{status}") for status in (200, 400, 401, 429, 503, None)}
    journal = Journal(path)
    journal.commit(HELD, AT)
    for status, one in asked.items():
        journal.keep(one, exchange(one, status))
    journal.close()
    again = Journal(path)
    found = {status: again.reply(one.key) for status, one in asked.items()}
    assert {status: one.status for status, one in found.items() if one} == {
        one: one for one in asked
    }
    again.close()


def test_the_newest_reply_counts(path: Path) -> None:
    journal = Journal(path)
    journal.commit(HELD, AT)
    journal.keep(call("c"), exchange(call("c"), 400, "no such parameter"))
    journal.keep(call("c"), exchange(call("c"), 200, "yes", attempt=2))
    journal.close()
    again = Journal(path)
    found = again.reply(call("c").key)
    assert found is not None
    assert found.body == "yes"
    again.close()


def test_a_last_line_cut_at_any_byte_is_left_out_and_kept_aside(path: Path) -> None:
    kept = filled(path)
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for end in range(start + 1, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path)
        assert [journal.reply(one.call) for one in kept] == [*kept[:2], None]
        assert len(journal.notes) == 1
        journal.keep(call("c2"), kept[2])
        journal.close()
        lines = path.read_bytes().splitlines()
        assert json.loads(lines[3]) == {"torn": whole[start:end].decode()}
        again = Journal(path)
        assert [again.reply(one.call) for one in kept] == kept
        assert again.notes == []
        again.close()


def test_a_commitment_cut_at_any_byte_is_made_anew(path: Path) -> None:
    filled(path, 0)
    whole = path.read_bytes()
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path)
        assert len(journal.notes) == 1
        journal.commit(HELD, AT)
        journal.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        b"\x00\x00\n", b"[]\n", b"{}\n", b'{"call": "ab"}\n', b'{"torn": 1}\n', b"{\n", b"\xff\n",
        b'{"journal": "reviewdesk.replies/1"}\n', b"[" * 100_000 + b"\n", b'{"batch": 1}\n',
        b'{"batch": "b"}\n', b'{"batch": "b", "juror": "j", "at": "t", "nonces": {"ab": "n"}}\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", [1, 2, 3])
def test_any_other_damage_is_an_error_that_names_the_line(path: Path, line: bytes, at: int) -> None:
    filled(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[at] = line
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(JournalError, match=f"line {at + 1}: ") as error:
        Journal(path)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before


def test_a_batch_is_open_from_before_it_is_submitted_until_it_is_over(path: Path) -> None:
    key, other = call("c0").key, call("c1").key
    batch = VendorBatch("b", "j0", AT, {key: "n"})

    def found(journal: Journal) -> VendorBatch | None:
        assert journal.batch_of(other) is None
        return journal.batch_of(key)

    journal = Journal(path)
    journal.commit(HELD, AT)
    journal.submit(batch)
    journal.close()
    with closing(Journal(path)) as journal:
        assert found(journal) == batch
        journal.submitted(batch, "v1")
    with closing(Journal(path)) as journal:
        assert found(journal) == replace(batch, id="v1")
        assert journal.batches == (replace(batch, id="v1"),)
        journal.over(batch)
    with closing(Journal(path)) as journal:
        assert (found(journal), journal.batches) == (None, ())


def test_a_file_of_somebody_else_is_left_alone(path: Path) -> None:
    for data in (b"notes", b'{"id": "c1"}\n', b'{"journal":"reviewdesk.replies/2"}\n'):
        path.write_bytes(data)
        with pytest.raises(JournalError, match="line 1: must begin with"):
            Journal(path)
        assert path.read_bytes() == data


def test_one_process_at_a_time(path: Path) -> None:
    filled(path)
    journal = Journal(path)
    # A lock belongs to an open file, so a second opening stands for a second process.
    with pytest.raises(JournalError, match="another reviewdesk is at work"):
        Journal(path)
    journal.close()
    Journal(path).close()


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
def test_where_there_is_no_room_it_is_one_line_and_what_was_stored_stays(path: Path) -> None:
    kept = filled(path)
    before = path.read_bytes()
    journal = Journal(path)
    with room_for(len(before) + 100):
        journal.keep(call("new"), exchange(call("new"), body="x" * 500))
        with pytest.raises(JournalError, match="file too large") as error:
            asyncio.run(journal.settled())
        assert "--resume" in str(error.value)
        assert path.read_bytes() == before
    # Room was made: what waited goes to disk after all.
    journal.close()
    again = Journal(path)
    assert [again.reply(one.call) for one in kept] == kept
    assert again.reply(call("new").key) is not None
    again.close()
