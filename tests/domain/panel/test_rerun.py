from typing import Any

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.panel.juror import Juror, seat_body
from reviewdesk.domain.panel.rerun import (
    Rerun,
    RerunRequest,
    RerunScope,
    changes,
    correct,
    flip_rates,
    flipped,
)
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec, seating
from reviewdesk.domain.verdict import Decision, Verdict, verdict_from_body
from reviewdesk.errors import UsageError

PANEL = PanelSpec(
    "three",
    tuple(Juror(name, f"model-{name}", "ollama") for name in "abc"),
    PanelRule(threshold=0.5),
)


def made(*ballots: Any, **more: Any) -> Verdict:
    body: Any = {
        "id": "v", "case": {"test": "t"}, "jurors": list(ballots), "threshold": 0.6, **more,
    }  # fmt: skip
    return verdict_from_body(body)


def ballot(name: str, score: float | None) -> Any:
    if score is None:
        return {"id": name, "status": "timeout", "error": {"message": "too slow"}}
    return {"id": name, "score": score, "pass": score >= 0.6}


def again(*ballots: Any) -> Rerun:
    verdict = made(*ballots)
    return Rerun(
        at=None, reviewer=None, scope=RerunScope.PANEL, panel="p", stopped=False,
        committed=None, verdict=verdict, assessment=assess(verdict), correct=None, plan=1,
    )  # fmt: skip


def test_a_whole_panel_decides_by_its_own_rule_and_ballots_that_stay_by_the_verdicts() -> None:
    found = seating(made(ballot("x", 0.9)), PANEL, RerunRequest())
    assert [juror.name for juror in found.asked.values()] == ["a", "b", "c"]
    assert found.kept == {}
    assert found.panel.rule.threshold == 0.5
    verdict = made(ballot("a", 0.9), ballot("b", None), ballot("c", 0.1), strategy="median")
    found = seating(verdict, PANEL, RerunRequest(RerunScope.MISSING))
    assert {seat: juror.name for seat, juror in found.asked.items()} == {1: "b"}
    assert {seat: body["id"] for seat, body in found.kept.items()} == {0: "a", 2: "c"}
    assert found.panel.rule.threshold == 0.6
    assert found.panel.rule.strategy == "median"


def test_the_hash_that_is_committed_takes_the_ballots_that_stay() -> None:
    verdict = made(ballot("a", 0.9), ballot("b", None))
    alone = seating(verdict, PANEL, RerunRequest(RerunScope.MISSING)).committed("r", ())
    # The same jurors, one with another model: another panel.
    other = made({**ballot("a", 0.9), "model": "m2"}, ballot("b", None))
    assert seating(other, PANEL, RerunRequest(RerunScope.MISSING)).committed("r", ()) != alone
    assert seating(verdict, PANEL, RerunRequest()).committed("r", ()) == PANEL.hash("r")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (RerunRequest(RerunScope.MISSING), "v: no juror is missing"),
        (RerunRequest(RerunScope.JUROR, "z"), "v: there is no juror 'z'. It has a, x."),
        (RerunRequest(RerunScope.JUROR, "x"), "the panel three has no juror 'x'. It has a, b, c."),
    ],
)
def test_who_cannot_be_asked_is_an_error(wish: RerunRequest, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        seating(made(ballot("a", 0.9), ballot("x", 0.1)), PANEL, wish)
    assert str(raised.value).startswith(said)


def test_changes_are_matched_by_name() -> None:
    before = made(ballot("a", 0.9), ballot("b", 0.2), ballot("c", None))
    after = again(ballot("b", 0.7), ballot("a", 0.9), ballot("d", 0.1))
    found = {change.juror: change for change in changes(before, after)}
    assert list(found) == ["a", "b", "c", "d"]
    assert (found["a"].flipped, found["a"].asked, found["a"].moved) == (False, False, 0.0)
    # 0.7 - 0.2
    assert found["b"].moved == pytest.approx(0.5)
    assert found["b"].flipped
    assert (found["c"].moved, found["c"].flipped, found["c"].after) == (None, False, None)
    assert found["d"].before is None


def test_flip_rates_count_only_votes_given_twice() -> None:
    before = made(ballot("a", 0.9), ballot("b", 0.2), ballot("c", None))
    one = again(ballot("a", 0.1), ballot("b", 0.3), ballot("c", 0.9))
    two = again(ballot("a", 0.8), ballot("b", 0.9), ballot("c", 0.9))
    found = {rate.juror: rate for rate in flip_rates([(before, [one, two])])}
    # a: fail, pass against pass: 1 of 2. b: fail, pass against fail: 1 of 2. c never voted before.
    assert {name: (r.flipped, r.asked, r.rate) for name, r in found.items()} == {
        "a": (1, 2, 0.5),
        "b": (1, 2, 0.5),
    }


def test_only_pass_and_fail_of_who_was_asked_again_flip() -> None:
    before = made(ballot("a", 0.9), ballot("b", None))
    assert flip_rates([(before, [again(ballot("a", 0.9), ballot("b", 0.4))])]) == ()
    assert flipped(Decision.PASS, Decision.FAIL)
    assert not flipped(Decision.PASS, Decision.PASS)
    assert not flipped(Decision.PASS, Decision.INCONCLUSIVE)
    assert not flipped(None, Decision.FAIL)


@pytest.mark.parametrize(
    ("decision", "truth", "expected"),
    [
        (Decision.PASS, "pass", True),
        (Decision.PASS, "fail", False),
        (Decision.FAIL, "fail", True),
        (Decision.INCONCLUSIVE, "pass", None),
        (Decision.PASS, "unsure", None),
        (Decision.PASS, None, None),
        (None, "pass", None),
    ],
)
def test_correct_is_derived_anew(decision: Any, truth: str | None, expected: bool | None) -> None:
    assert correct(decision, truth) is expected


def test_seats_say_nothing_that_is_unknown() -> None:
    assert set(seat_body(PANEL.jurors[0])) == {"id", "model", "vendor", "prompt_sha256"}
