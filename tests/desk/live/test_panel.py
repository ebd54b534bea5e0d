"""The library's panel: from a file or by hand, decided without a call, asked over a transport."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk import (
    Decision,
    Juror,
    NoJurorsError,
    Panel,
    PanelError,
    Price,
    UsageError,
    ballot,
    with_prompt,
)
from reviewdesk.desk.live.judge import judge_cases, preview
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.spec import PanelRule as Rule
from reviewdesk.domain.verdict import Generator, verdict_from_body
from reviewdesk.errors import CeilingError
from reviewdesk.live.records import Response
from reviewdesk.stats import PanelSpec, Strategy, aggregate
from reviewdesk.views.json.figures import batch
from reviewdesk.views.words import answers
from tests.helpers import SAMPLES
from tests.judgekit import (
    CUT,
    PRICE,
    URL,
    YES,
    Clock,
    Consent,
    Jurors,
    Room,
    of_whom,
    reply,
    saying,
    silent,
    world,
)

THREE = tuple(Juror(f"j{at}", f"m{at}", "vllm", weight=at + 1.0) for at in range(3))
CAST = [ballot("j0", 0.9), ballot("j1", 0.6), ballot("j2", 0.3)]
NOBODY: Mapping[str, str] = {}


def test_the_words_of_a_rule_are_those_they_were() -> None:
    panel = Panel("median", 0.6, "2/3", {"j0": 2.0}, routes={"red-team": "lowest"})
    assert panel.rule == Rule("median", 0.6, "2/3", {"j0": 2.0}, routes={"red-team": "lowest"})
    assert (panel.threshold, panel.strategy, panel.quorum) == (0.6, Strategy.MEDIAN, "2/3")
    # What a file describes decides as the same panel by hand.
    read = PanelSpec("panel", (), panel.rule)
    assert panel.decide(CAST) == read.decide(CAST)
    assert panel.route(["red-team"]) is Strategy.LOWEST
    assert panel.aggregate(CAST) == read.aggregate(CAST)
    assert Panel.of(read) == panel
    assert panel == Panel("median", 0.6, "2/3", {"j0": 2.0}, routes={"red-team": "lowest"})
    assert panel != Panel("mean")
    assert copy.copy(panel) == panel
    assert len({panel, copy.deepcopy(panel)}) == 1
    with pytest.raises(AttributeError):
        panel.threshold = 0.1  # type: ignore[attr-defined]
    assert repr(Panel("mean")).startswith("Panel('panel', 0 jurors, PanelRule(strategy=")
    for name in ("jury", "_own"):
        with pytest.raises(AttributeError, match=f"'Panel' object has no attribute '{name}'"):
            getattr(panel, name)


def test_a_label_rule_of_ones_own_and_the_fallback_of_a_count() -> None:
    panel = Panel(aggregate=lambda ballots: ("PASS", len(ballots) > 1))
    words = [ballot("a", label="KEEP"), ballot("b", label="REJECT")]
    assert panel.aggregate(words).decision is Decision.PASS
    words = [ballot("a", label="KEEP"), ballot("b", label="REJECT")]
    found = Panel("unanimous", fallback="ASK A PERSON").aggregate(words).label_vote
    assert found is not None
    assert found.label == "ASK A PERSON"


def test_jurors_are_checked_and_bring_their_weights() -> None:
    found = Panel("weighted_average", jurors=THREE).aggregate(CAST)
    # (.9 * 1 + .6 * 2 + .3 * 3) / 6 = .5.
    assert found.score == pytest.approx(0.5)
    changed = Panel("weighted_average", jurors=THREE, weights={"j2": 1.0})
    # (.9 + 1.2 + .3) / 4 = .6.
    assert changed.aggregate(CAST).score == pytest.approx(0.6)
    assert [juror.weight for juror in changed.jurors] == [1.0, 2.0, 1.0]
    with pytest.raises(UsageError, match="two jurors are named 'j0'"):
        Panel(jurors=(THREE[0], THREE[0]))
    with pytest.raises(UsageError, match=r"x: no vendor 'acme'\. Known: openai"):
        Panel(jurors=[Juror("x", "m", "acme")])


def test_a_panel_and_the_prompt_of_a_juror_come_from_files(tmp_path: Path) -> None:
    panel = Panel.from_file(SAMPLES / "panel-hosted.yaml")
    assert [juror.name for juror in panel.jurors][:2] == ["sonnet", "gpt"]
    assert panel.jurors[0].price == Price(2.0, 10.0, 0.2, as_of="2026-11-23")
    assert (panel.name, panel.strategy) == ("hosted five", Strategy.TRIMMED_MEAN)
    with pytest.raises(PanelError, match="there is no such file"):
        Panel.from_file(tmp_path / "none.yaml")
    juror = with_prompt(Juror("a", "m", "vllm"), SAMPLES / "prompt-strict.yaml")
    assert juror.prompt_version == "strict-1"
    assert "{output}" in str(juror.prompt)
    assert juror.prompt_sha256 != Juror("a", "m", "vllm").prompt_sha256


def test_collected_ballots_may_be_those_of_a_report() -> None:
    told: list[Any] = [
        {"id": "j0", "score": 0.9, "model": "gpt-5"},
        {"id": "j1", "score": 0.6, "pass": True},
        {"id": "j2", "error": {"message": "rate limit"}},
    ]
    # Another program may give the words of an error alone.
    spoken = [*told[:2], {"id": "j2", "error": "rate limit"}]
    assert Panel("majority").aggregate(spoken) == Panel("majority").aggregate(told)
    found = Panel("majority").aggregate(told, generator="gpt-4")
    assert (found.votes.passes, found.votes.answered, found.votes.seated) == (2, 2, 3)
    assert (found.decision, found.same_family) == (Decision.PASS, True)
    assert aggregate(told, "majority").decision is Decision.PASS
    # The median of .9 and .6 stands in for the mean of three.
    assert aggregate(told, threshold=0.8).score == pytest.approx(0.75)
    assert aggregate(told, routes={"x": "lowest"}, tags=["x"]).score == pytest.approx(0.6)
    with pytest.raises(NoJurorsError):
        aggregate(told[2:])
    for wrong in ({"score": 1}, {"id": 3}, 0.9):
        with pytest.raises(UsageError, match="a ballot is"):
            aggregate([wrong])  # type: ignore[list-item]


@dataclass
class Counting(Jurors):
    """Jurors that count how often they are let go."""

    closed: int = 0

    async def close(self) -> None:
        self.closed += 1


async def test_a_panel_is_asked() -> None:
    scores, sent = {"m0": 0.9, "m1": 0.8, "m2": 0.1}, list[str]()

    def answer(body: Any) -> Response:
        sent.append(body["messages"][1]["content"])
        return Response(200, {}, reply(body, score=scores[body["model"]]))

    panel = Panel("median", jurors=THREE, rubric="Be right.")
    item = {"id": "c", "output": "{42}", "input": "question c.", "generator": {"model": "gpt-5"}}
    line = Counting(answer)
    found = await panel.judge(item, transport=line, environment=NOBODY)
    assert (found.decision, found.score) == (Decision.PASS, 0.8)
    assert [one.score for one in found.ballots] == [0.9, 0.8, 0.1]
    assert all("{42}" in one and "Be right." in one for one in sent)
    assert found.case.generator == Generator("gpt-5")
    # The caller's transport stays the caller's.
    assert line.closed == 0
    body: Any = found.verdict
    assert (body["decision"], body["rubric"], len(body["jurors"])) == ("pass", "Be right.", 3)
    assert panel_hash_status(verdict_from_body(body)) is HashStatus.VERIFIED
    assert body["provenance"]["panel_hash"] == panel.hash("Be right.")


@pytest.mark.parametrize(
    ("panel", "item", "told"),
    [
        (Panel(), {"id": "c", "output": "x"}, "a panel without jurors"),
        (
            Panel(jurors=THREE),
            {"id": "c", "output": "x"},
            "case 'c' has no rubric, and the panel has",
        ),
        (Panel(jurors=THREE, rubric="R"), {"id": "c"}, r"\$\.output: is missing"),
        (Panel(jurors=THREE, rubric="R"), {"id": "c", "output": 1}, r"\$.output: must be a text"),
        (Panel(jurors=THREE, rubric="R"), 7, r"\$: must be an object that describes"),
    ],
)
async def test_what_cannot_be_judged(panel: Panel, item: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        await panel.judge(item, transport=silent())


async def test_a_callable_vote_decides_a_live_panel_by_labels() -> None:
    words = {"m0": "KEEP", "m1": "KEEP", "m2": "SPLIT"}
    asked = saying(lambda _, model: words[model])
    item = {"id": "c", "input": "question c.", "output": "x"}
    panel = Panel(
        jurors=THREE,
        rubric="KEEP, REJECT or SPLIT?",
        aggregate=lambda ballots: (str(ballots[-1].label), len({b.label for b in ballots}) > 1),
    )
    found = await panel.judge(item, transport=asked, environment=NOBODY)
    assert (found.verdict.get("label"), found.verdict.get("decision")) == ("SPLIT", None)
    keeping = Panel(
        jurors=THREE, rubric="KEEP?", aggregate=lambda ballots: (str(ballots[0].label), True)
    )
    found = await keeping.judge(item, transport=asked, environment=NOBODY)
    assert (found.verdict.get("label"), found.decision) == ("KEEP", Decision.PASS)


def test_a_juror_without_a_price_takes_that_of_the_table() -> None:
    stated, known, unknown = Panel(
        jurors=[
            Juror("a", "gpt-4.1", "openai", price=Price(7, 8)),
            Juror("b", "gpt-4.1", "openai"),
            Juror("c", "gpt-99", "openai"),
        ]
    ).jurors
    assert stated.price == Price(7, 8)
    assert known.price is not None
    assert (known.price.input, known.price.output) == (2.0, 8.0)
    assert unknown.price is None


def question(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "input": f"question {name}.", "output": f"answer {name}", **more}


async def test_many_cases_are_judged_side_by_side_and_come_back_in_order(tmp_path: Path) -> None:
    seats = [Juror(f"j{n}", f"m{n}", "custom", base_url=URL) for n in range(3)]
    panel, jurors = Panel("median", jurors=seats, rubric="right?"), Jurors()
    cases = [question("c0"), question("c1", checks={"contains": "no"}), question("c2")]
    told: list[LiveProgress] = []
    how: dict[str, Any] = {"transport": jurors, "clock": Clock(), "environment": {}}
    found = await panel.judge_many(cases, concurrency=4, told=told.append, **how)
    assert [one.case.id for one in found] == ["c0", "c1", "c2"]
    assert [one.decision for one in found] == [Decision.PASS, Decision.FAIL, Decision.PASS]
    # Three jurors are asked about each of the two cases that pass their checks.
    assert (jurors.asked.total(), jurors.most, told[-1].calls) == (6, 4, 6)
    report = tmp_path / "r.jsonl"
    assert len(await panel.judge_many(cases, report=report, **how)) == 3
    assert len(report.read_bytes().splitlines()) == 4
    again = {**how, "transport": silent()}
    assert len(await panel.judge_many(cases, report=report, resume=True, **again)) == 3
    wrong = ("max_cost", "concurrency", "per_host", "deadline", "max_wait")
    limits: list[dict[str, Any]] = [{"max_cost": 1}, *({name: math.nan} for name in wrong)]
    for limit in limits:
        with pytest.raises(UsageError, match=r"needs prices|cannot be"):
            await panel.judge_many(cases, **limit, **again)
    with pytest.raises(UsageError, match="two cases have the id 'c0'"):
        await panel.judge_many([cases[0], cases[0]], report=tmp_path / "twice.jsonl", **again)


def test_many_cases_are_judged_without_an_event_loop() -> None:
    seats = [Juror("j0", "m0", "custom", base_url=URL, price=Price(1000, 1000), max_tokens=10)]
    panel = Panel("median", jurors=seats, rubric="right?")
    how: dict[str, Any] = {"transport": Jurors(), "clock": Clock(), "environment": {}}
    assert panel.judge_many_sync([question("c0")], **how)[0].decision is Decision.PASS
    with pytest.raises(CeilingError, match="0 of 2 cases are complete"):
        panel.judge_many_sync([question("c0"), question("c1")], max_cost=0.1, **how)
    assert panel.judge_many_sync([]) == ()


def in_turn(*said: tuple[bool | None, float | None]) -> Jurors:
    waiting = iter(said)

    def answer(body: Any) -> Response:
        vote, score = next(waiting)
        return Response(200, {}, reply(body, vote=vote, score=score, reason=f"said {score}"))

    return Jurors(answer)


def judged(room: Room, jurors: Jurors, **how: Any) -> dict[str, Any]:
    room.put(("c0",), count=1, **how)
    judge_cases(room.order(), YES, world(jurors))
    found: dict[str, Any] = room.verdicts()[0]
    return found


def checked(body: Any) -> Any:
    """The verdict read back; its panel hash has to be the committed one."""
    verdict = verdict_from_body(body)
    assert panel_hash_status(verdict) is HashStatus.VERIFIED
    return assess(verdict)


@pytest.mark.parametrize(
    ("said", "status", "vote", "score"),
    [
        # Median 0.8, two of three pass.
        ([(True, 0.9), (False, 0.2), (True, 0.8)], "ok", True, 0.8),
        ([(False, 0.2), (False, 0.9), (True, 0.8)], "ok", False, 0.8),
        ([(True, 0.9), (False, 0.2)], "abstained", None, None),  # a tie
        ([(True, 0.9), (None, None), (True, 0.7)], "ok", True, 0.8),
        ([(None, None), (None, None), (True, 0.7)], "abstained", None, None),
    ],
)
def test_samples_come_to_one_ballot(
    room: Room, said: list[Any], status: str, vote: bool | None, score: float | None
) -> None:
    body = judged(room, in_turn(*said), juror=f", samples: {len(said)}")
    (ballot,) = body["jurors"]
    assert (ballot["status"], ballot["pass"]) == (status, vote)
    assert ballot.get("score") == (pytest.approx(score) if score else None)
    assert [one["pass"] for one in ballot["samples"]] == [vote for vote, _ in said]
    assert ballot["tokens_in"] == 100 * len(said)
    assert "id" not in ballot["samples"][0]
    assert checked(body).votes.seated == 1


def test_every_call_of_a_sample_is_counted_and_stored(room: Room) -> None:
    room.put(("c0", "c1"), count=2, juror=f", samples: 3{PRICE}")
    consent = Consent()
    jurors = Jurors(
        lambda body: Response(200, {}, CUT if of_whom(body) == ("c1", "m1") else reply(body))
    )
    found = judge_cases(room.order(), replace(YES, agreed=consent), world(jurors))
    assert consent.plans[0].calls == found.calls == jurors.asked.total() == 12
    assert found.turnouts.by_juror["j0"].flips == (0, 6)  # three pairs in each of two cases
    assert batch(found)["jurors"][0]["repeated_pairs"] == 6
    again = Jurors()
    found = judge_cases(room.order(resume=True), YES, world(again))
    assert again.asked == {("c1", "m1"): 3}
    assert found.problem is None
    assert len(list(preview(room.order(), {})[1])) == 12
    assert not list(preview(room.order(resume=True), {})[1])


def first_wins(body: Any) -> Response:
    """A juror that passes whichever response it reads first."""
    text = body["messages"][1]["content"]
    passes = text.index("answer c0") < text.index("the other")
    return Response(200, {}, reply(body, vote=passes, score=0.9 if passes else 0.1))


def test_orders_that_disagree_abstain_and_are_flagged(room: Room) -> None:
    body = judged(room, Jurors(first_wins), more="swap: true\n", alternative="the other")
    (ballot,) = body["jurors"]
    assert (ballot["status"], ballot["pass"], ballot["score"]) == ("abstained", None, None)
    assert [(one["pass"], one.get("swapped", False)) for one in ballot["samples"]] == [
        (True, False), (False, True),
    ]  # fmt: skip
    found = checked(body)
    assert Flag.POSITION_FLIP in found.flags
    assert "j0" in next(one.reason for one in found.notes if one.flag is Flag.POSITION_FLIP)


def test_orders_that_agree_are_one_vote(room: Room) -> None:
    jurors = in_turn((True, 0.8), (True, 0.6))
    body = judged(room, jurors, more="swap: true\n", alternative="the other")
    (ballot,) = body["jurors"]
    assert (ballot["pass"], ballot["score"]) == (True, pytest.approx(0.7))
    assert Flag.POSITION_FLIP not in checked(body).flags


def test_a_case_without_an_alternative_is_asked_in_one_order(room: Room) -> None:
    body = judged(room, in_turn((True, 0.8)), more="swap: true\n")
    assert "samples" not in body["jurors"][0]
    checked(body)


def test_samples_that_nobody_can_read_are_passed_over() -> None:
    odd: list[Any] = [{"status": "x"}, {"round": "two"}, {"pass": "yes"}, {"label": 3}, {}]
    body: Any = {
        "id": "v", "case": {"test": "v"}, "threshold": 0.7, "strategy": "quorum", "quorum": 0.5,
        "jurors": [{"id": "j", "score": 0.9, "samples": [*odd, {"score": "9", "swapped": True}]}],
    }  # fmt: skip
    assert assess(verdict_from_body(body)).decision == "pass"
    assert answers(body["jurors"][0], 0.7).startswith("2 answers: ")


def test_the_item_shows_every_answer_and_the_flip_rate(room: Room) -> None:
    body = judged(room, in_turn((True, 0.9), (False, 0.2), (True, 0.8)), juror=", samples: 3")
    # Two of the three pairs differ.
    assert (
        answers(body["jurors"][0], 0.7)
        == "3 answers: pass 0.900, fail 0.200, pass 0.800; flip rate 67%"
    )
