"""Replies that are kept from run to run: what they answer, what they cost, and what is not kept."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live.judge import Order, judge_cases
from reviewdesk.domain.panel.asking import Listener
from reviewdesk.errors import UsageError
from reviewdesk.live.records import Response
from tests.helpers import POSIX
from tests.judgekit import CUT, YES, Consent, Jurors, Room, fine, of_whom, world

PRICE = ", price: {input: 1, output: 1}"


def cached(room: Room, name: str, **more: Any) -> Order:
    return replace(
        room.order(**more), report=str(room.folder / name), cache=str(room.folder / "cache")
    )


def files(room: Room) -> list[Path]:
    return sorted((room.folder / "cache").iterdir())


def test_another_report_asks_for_nothing_that_is_in_the_cache(room: Room) -> None:
    room.put(["c1", "c2"], juror=PRICE)
    judge_cases(cached(room, "first.jsonl"), YES, world(Jurors()))
    again, consent = Jurors(), Consent()
    found = judge_cases(cached(room, "second.jsonl"), Listener(consent), world(again))
    assert (sum(again.asked.values()), found.calls, found.reused) == (0, 0, 10)
    assert found.spent_usd == 0
    assert consent.plans == []
    room.put(["c1", "c2", "c3"], juror=PRICE)
    judge_cases(cached(room, "third.jsonl"), Listener(consent), world(again))
    assert {case for case, _ in again.asked} == {"c3"}
    assert [(one.calls, one.cached) for one in consent.plans] == [(5, 10)]
    first, second = (
        [one for body in room.verdicts(name) for one in body["jurors"]]
        for name in ("first.jsonl", "second.jsonl")
    )
    assert [one["score"] for one in first] == [one["score"] for one in second]
    assert all(one["meta"]["cached"] for one in second)
    assert not any("cost_usd" in one or "latency_ms" in one for one in second)


def test_without_a_folder_nothing_is_kept(room: Room) -> None:
    room.put(["c1"])
    judge_cases(room.order(), YES, world(Jurors()))
    assert not any("cache" in path.name for path in room.folder.iterdir())


def test_what_is_no_answer_is_asked_again(room: Room) -> None:
    def answer(body: Any) -> Response:
        return Response(200, {}, CUT) if of_whom(body)[1] == "m4" else fine(body)

    room.put(["c1"])
    judge_cases(cached(room, "first.jsonl"), YES, world(Jurors(answer)))
    again = Jurors()
    judge_cases(cached(room, "second.jsonl"), YES, world(again))
    assert [juror for _, juror in again.asked] == ["m4"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"torn": ""}', '{"call": 1}', '{"journal": "x", "run_id": "", "at": ""}'],
)
def test_a_damaged_file_is_no_reply(room: Room, text: str) -> None:
    room.put(["c1"])
    judge_cases(cached(room, "first.jsonl"), YES, world(Jurors()))
    for path in files(room):
        path.write_text(text, encoding="utf-8")
    again = Jurors()
    judge_cases(cached(room, "second.jsonl"), YES, world(again))
    assert sum(again.asked.values()) == 5


def test_a_reply_to_another_nonce_is_no_answer(room: Room) -> None:
    room.put(["c1"])
    judge_cases(cached(room, "first.jsonl"), YES, world(Jurors()))
    for path in files(room):
        text = path.read_text(encoding="utf-8")
        nonce = text.partition('"nonce":"')[2].partition('"')[0]
        path.write_text(text.replace(f'"nonce":"{nonce}"', '"nonce":"other"'), encoding="utf-8")
    again = Jurors()
    judge_cases(cached(room, "second.jsonl"), YES, world(again))
    assert sum(again.asked.values()) == 5


@POSIX
def test_the_folder_and_its_files_are_private(room: Room) -> None:
    room.put(["c1"])
    judge_cases(cached(room, "first.jsonl"), YES, world(Jurors()))
    assert (room.folder / "cache").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files(room)} == {0o600}
    assert len(files(room)) == 5


def test_a_folder_that_cannot_be_used_is_named(room: Room) -> None:
    room.put(["c1"])
    (room.folder / "cache").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--cache: .*cache"):
        judge_cases(cached(room, "first.jsonl"), YES, world(Jurors()))
    assert not (room.folder / "first.jsonl").exists()
