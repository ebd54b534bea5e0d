import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk import Panel
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.panel.hash import (
    JUROR_KEYS,
    RULE_KEYS,
    HashStatus,
    panel_hash,
    panel_hash_status,
    verdict_panel_hash,
)
from reviewdesk.domain.panel.juror import Price
from reviewdesk.domain.panel.prompt import prompt_sha256
from reviewdesk.domain.panel.spec import PanelRule, panel_of
from reviewdesk.domain.values import Decision, Regime, Strategy
from reviewdesk.domain.verdict import Ballot, Generator, Policy, Verdict, ballot, verdict_from_body
from reviewdesk.errors import NoJurorsError, UsageError
from tests.domain.bodies import GRID, body, juror, panel, read

PASS, FAIL, OPEN = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE
WEIGHTS = {"sonnet": 0.5, "haiku": 0.2, "gpt": 0.3}
THREE = (ballot("sonnet", score=0.9), ballot("haiku", score=0.6), ballot("gpt", score=0.4))


@pytest.mark.parametrize(
    ("strategy", "score", "decision"),
    [
        # .9 .6 .4 at .7: one vote for, two against, of three. By default .45 + .12 + .12.
        (None, 0.69, FAIL), ("mean", 1.9 / 3, FAIL), ("median", 0.6, FAIL),
        ("trimmed_mean", 0.6, FAIL), ("highest", 0.9, PASS), ("lowest", 0.4, FAIL),
        ("majority", 0.0, FAIL), ("unanimous", None, OPEN), ("quorum", 1.9 / 3, FAIL),
    ],
)  # fmt: skip
def test_one_word_swaps_the_strategy(strategy: str | None, score: Any, decision: Decision) -> None:
    found = Panel(strategy, weights=WEIGHTS).decide(THREE)
    assert found.score == (None if score is None else pytest.approx(score))
    assert (found.rule.used, found.decision) == (strategy or "weighted_average", decision)


def test_the_first_route_that_fits_picks_the_strategy_of_a_case() -> None:
    one = Panel("highest", routes={"red-team": "unanimous", "cheap": "median"})
    assert one.decide(THREE).decision is PASS
    assert one.decide(THREE, tags=["cheap"]).rule.used is Strategy.MEDIAN
    both = one.decide(THREE, tags=["cheap", "red-team"])
    assert (both.rule.used, both.decision) == (Strategy.UNANIMOUS, OPEN)
    assert one.decide(THREE, tags=iter(["red-team"])).rule.used is Strategy.UNANIMOUS


def test_a_regime_chooses_where_no_strategy_is_given() -> None:
    assert Panel(regime="routine").decide(THREE).rule.used is Strategy.TRIMMED_MEAN
    assert Panel(regime="irreversible").decide(THREE).rule.used is Strategy.MEDIAN
    assert Panel("lowest", regime="routine").decide(THREE).rule.used is Strategy.LOWEST
    dispute = Panel(regime=Regime.DISPUTE).decide(THREE)
    assert (dispute.decision, Flag.DISPUTE in dispute.flags) == (None, True)
    # A panel is a value: another regime is a copy away.
    assert dataclasses.replace(PanelRule(regime="routine"), regime="irreversible") == PanelRule(
        regime="irreversible"
    )


def test_a_failed_juror_and_one_that_abstained() -> None:
    down = (*THREE[:2], ballot("gpt", error="rate limit"))
    fallen = Panel(weights=WEIGHTS).decide(down)
    # The median of .9 and .6.
    assert (fallen.rule.used, fallen.score) == (Strategy.MEDIAN, 0.75)
    assert (fallen.rule.strategy, fallen.rule.reason) == (Strategy.WEIGHTED_AVERAGE, "failed: gpt")
    assert fallen.degraded == ("2 of 3 jurors answered",)
    quiet = Panel(weights=WEIGHTS).decide((*THREE[:2], ballot("gpt")))
    # (.45 + .12) / .7.
    assert quiet.score == pytest.approx(0.57 / 0.7)
    assert Panel("highest").decide(down).score == 0.9
    assert Panel("highest", failed_jurors="median").decide(down).score == 0.9
    # The mean of .9 and .6 is .75 too; the trimmed mean gives way in the same case.
    assert Panel("mean").decide(down).rule.used is Strategy.MEAN
    assert Panel("mean", failed_jurors="median").decide(down).rule.used is Strategy.MEDIAN


def test_nobody_answered() -> None:
    down = [ballot("a", error="503"), ballot("b", status="timeout"), ballot("c")]
    with pytest.raises(NoJurorsError) as caught:
        Panel().decide(down, case="case 7")
    assert caught.value.message == (
        "case 7: no juror answered: a (error), b (timeout), c (abstained)"
    )
    with pytest.raises(NoJurorsError, match="the panel is empty"):
        Panel().decide([])


def test_a_missing_weight_is_one_and_named() -> None:
    found = Panel(weights={"sonnet": 2.0, "haiku": 1.0}).decide(THREE)
    # 2*.9 + 1*.6 + 1*.4 = 2.8, of a weight of 4.
    assert found.score == pytest.approx(0.7)
    assert found.assumed_weights == ("gpt",)


def test_a_quorum_and_a_trim_by_configuration() -> None:
    two = [ballot("a", score=0.9), ballot("b", passed=True), ballot("c", score=0.1)]
    assert Panel("quorum", quorum=0.67).decide(two).decision is PASS
    assert Panel("quorum", quorum="3/3").decide(two).decision is FAIL
    scores = (0.0, 0.1, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 1.0)
    nine = [ballot(f"j{seat}", score=score) for seat, score in enumerate(scores)]
    # 20% of 9 is 1.8: one at each end, .1 to .9 is 4.5/7; by the nearest two, .5 to .9: 3.5/5.
    assert Panel("trimmed_mean").decide(nine).score == pytest.approx(4.5 / 7)
    assert Panel("trimmed_mean", rounding="nearest").decide(nine).score == pytest.approx(0.7)
    assert Panel("trimmed_mean", trim=0.0).decide(nine).score == pytest.approx(5.5 / 9)


def test_a_callers_own_rule_decides_among_declared_labels() -> None:
    sides: dict[str, Any] = {"labels": ["KEEP", "DROP"], "passing": ["KEEP"], "failing": ["DROP"]}
    own = Panel(aggregate=lambda _: ("DROP", True), **sides)
    # A count of the labels would pass it.
    found = own.decide([ballot("sonnet", label="KEEP"), ballot("gpt", label="KEEP")])
    assert (found.decision, found.label_vote and found.label_vote.label) == (FAIL, "DROP")


def test_labels_and_a_rule_of_ones_own() -> None:
    words = [ballot("a", label="REJECT"), ballot("b", label="KEEP")]
    tied = Panel("majority", priority=("KEEP",)).decide(words)
    assert tied.label_vote is not None
    assert (tied.label_vote.label, tied.decision) == ("KEEP", PASS)

    def strict(ballots: Sequence[Ballot]) -> tuple[str, bool]:
        return ("REJECT" if any(one.label == "REJECT" for one in ballots) else "KEEP", False)

    own = Panel(aggregate=strict, routes={"red-team": "unanimous"})
    found = own.decide(words)
    assert found.label_vote is not None
    assert (found.label_vote.rule, found.decision) == ("strict", FAIL)
    assert found.rule.used is Strategy.EXTERNAL
    routed = own.decide(words, tags=["red-team"]).label_vote
    assert routed is not None
    assert (routed.rule, routed.label) == ("unanimous", "UNCLEAR")
    # .1 against nothing where confidences count, for b gives none; 1 against 2 by weight alone.
    sure = [ballot("a", label="KEEP", confidence=0.1), ballot("b", label="NO", weight=2.0)]
    for use, label in ((True, "KEEP"), (False, "NO")):
        weighed = Panel("weighted_vote", use_confidence=use).decide(sure).label_vote
        assert weighed is not None
        assert weighed.label == label


def test_kinship_with_the_generator() -> None:
    seats = [ballot("a", score=0.9, model="claude-opus-4-7"), ballot("b", score=0.8, model="gpt-5")]
    assert Panel().decide(seats, generator="claude-haiku-4").same_family is True
    assert Panel().decide(seats, generator=Generator(vendor="google")).same_family is False
    assert Panel().decide(seats).same_family is None


def test_ballots_of_a_report_can_be_decided_anew() -> None:
    stated = panel(0.9, 0.8, 0.1, threshold=0.5, decision="pass")
    stated["jurors"][1]["pass"] = None
    verdict = read(stated)
    # A vote that was withheld stays so: one of three seats passes at .85.
    again = Panel("majority", threshold=0.85).decide(verdict.ballots)
    assert (again.votes.passes, again.votes.answered, again.decision) == (1, 2, OPEN)


@given(st.lists(GRID, min_size=1, max_size=6), GRID, st.sampled_from(Strategy))
def test_panel_computes_what_desk_does(scores: Any, threshold: float, strategy: Strategy) -> None:
    seats = [ballot(f"j{seat}", score=score) for seat, score in enumerate(scores)]
    ours = Panel(strategy, threshold=threshold, quorum="2/3", trim=0.3).decide(seats)
    reported = panel(*scores, threshold=threshold, quorum="2/3", trim_fraction=0.3)
    desk = assess(read({**reported, "strategy": strategy.value}), escalation_stated=False)
    for name in ("votes", "values", "decisions", "trim", "rule", "decision", "score", "band",
                 "flags", "escalation", "pivotal", "degraded"):  # fmt: skip
        assert getattr(ours, name) == getattr(desk, name), name


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"strategy": "mode"}, "no strategy 'mode'. Known: quorum, majority, unanimous"),
        ({"routes": {"x": "mode"}}, "no strategy 'mode'. Known: quorum"),
        ({"threshold": 1.01}, "threshold is 1.01. Give a number from 0 to 1"),
        ({"threshold": float("nan")}, "threshold is nan. Give a number from 0 to 1"),
        ({"quorum": 0}, "quorum is 0. Give a number above 0 and up to 1"),
        ({"quorum": 1.5}, "quorum is 1.5. Give"),
        ({"quorum": "0/3"}, "quorum is '0/3'. Give"),
        ({"quorum": "4/3"}, "quorum is '4/3'. Give"),
        ({"quorum": "half"}, "quorum is 'half'. Give"),
        ({"quorum": None}, "quorum is None. Give"),
        ({"trim": 0.5}, "trim is 0.5. Give a number from 0 and under 0.5"),
        ({"trim": -0.1}, "trim is -0.1. Give"),
        ({"weights": {"a": 0.0}}, "weights: a is 0.0. Give a finite number above 0"),
        ({"weights": {"a": float("inf")}}, "weights: a is inf. Give"),
        ({"rounding": "even"}, "rounding is 'even'. Known: down, nearest, up"),
        ({"regime": "war"}, "regime is 'war'. Known: routine, irreversible, dispute"),
        ({"failed_jurors": "mean"}, "failed_jurors is 'mean'. Give median, or None"),
        ({"aggregate": "majority"}, "aggregate is 'majority'. Give (ballots) -> (label, bool)"),
        ({"aggregate": max, "strategy": "mean"}, "a panel with both a strategy and an aggregate"),
    ],
)
def test_a_panel_is_checked_when_it_is_built(field: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Panel(**field)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "field",
    [
        {"threshold": 0}, {"threshold": 1}, {"quorum": 1}, {"quorum": "1/3"}, {"quorum": "3/3"},
        {"quorum": 0.001}, {"trim": 0}, {"trim": 0.499}, {"weights": {"a": 5e-324}},
        {"strategy": Strategy.MEDIAN}, {"failed_jurors": Strategy.MEDIAN}, {"rounding": "up"},
    ],
)  # fmt: skip
def test_the_edges_of_what_a_panel_may_be(field: dict[str, Any]) -> None:
    assert Panel(**field).decide(THREE).decision in {PASS, FAIL}


EMPTY: Any = {"id": "v", "case": {"test": "t"}, "jurors": []}


def made(**juror: Any) -> Verdict:
    body: Any = {
        "id": "v", "case": {"test": "t"}, "threshold": 0.4, "strategy": "median",
        "jurors": [{"id": "a", "score": 0.5, "model": "gpt-5-mini", **juror}],
    }  # fmt: skip
    return verdict_from_body(body)


def told(**juror: Any) -> Any:
    """The header of a report whose panel was asked by this program."""
    return {"meta": {"panel": {"jurors": [{"id": "a", **juror}]}}}


def test_jurors_and_rule_are_taken_over() -> None:
    found = panel_of(made(vendor="OpenAI", weight=2.0, temperature=0.5), {})
    (juror,) = found.jurors
    assert (juror.name, juror.model, juror.vendor) == ("a", "gpt-5-mini", "openai")
    assert (juror.weight, juror.temperature) == (2.0, 0.5)
    assert (found.rule.threshold, found.rule.strategy) == (0.4, "median")
    # A family that is a vendor is enough.
    assert panel_of(made(), {}).jurors[0].vendor == "openai"


def test_prompts_come_from_the_report_and_never_where_a_key_goes() -> None:
    header = told(system_prompt="Be strict.", prompt="{output}", max_tokens=99)
    verdict = made(prompt_sha256=prompt_sha256("Be strict.", "{output}"))
    (juror,) = panel_of(verdict, header).jurors
    assert (juror.system_prompt, juror.prompt, juror.max_tokens) == ("Be strict.", "{output}", 99)
    header = told(base_url="https://evil.example/v1", api_key_env="OPENAI_API_KEY")
    (juror,) = panel_of(made(), header).jurors
    assert (juror.base_url, juror.api_key_env) == (None, None)
    (juror,) = panel_of(made(model="gemini-2.5-pro", vendor="Google"), {}).jurors
    assert juror.vendor == "gemini"


@pytest.mark.parametrize(
    ("verdict", "header", "said"),
    [
        (made(model=None), {}, "the report does not say which model 'a' is"),
        (made(model="qwen3:8b"), {}, "the report does not say where 'a' (qwen3:8b) is asked"),
        (made(vendor="custom"), {}, "the report does not say where 'a' (gpt-5-mini) is asked"),
        (made(prompt_sha256="0" * 64), {}, "'a' was asked with a prompt that the report lacks"),
        (made(), told(host="proxy.example"), "'a' was asked at an address other than openai's own"),
        (made(meta={"extra": {"store": True}}), {}, "'a' was asked with request keys of its panel"),
        (verdict_from_body(EMPTY), {}, "v: has no jurors"),
    ],
)
def test_what_cannot_be_asked_again_names_way_out(verdict: Verdict, header: Any, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        panel_of(verdict, header)
    assert str(raised.value) == f"{said}. Name a panel file with --panel."


def test_only_who_is_asked_has_to_be_known() -> None:
    body = made().body
    both: Any = {**body, "jurors": [*body["jurors"], {"id": "b", "score": 0.1, "model": "own"}]}
    verdict = verdict_from_body(both)
    assert [juror.name for juror in panel_of(verdict, {}, {"a"}).jurors] == ["a"]
    for wanted in (None, {"b"}):
        with pytest.raises(UsageError, match="where 'b'"):
            panel_of(verdict, {}, wanted)


@pytest.mark.parametrize("junk", [None, 1, [], "x", {"jurors": 1}, {"jurors": [1, {"id": 2}]}])
def test_what_a_report_keeps_of_its_panel_may_be_anything(junk: Any) -> None:
    assert panel_of(made(), {"meta": {"panel": junk}}).jurors[0].system_prompt is None


PRICE = Price(input=2.0, output=10.0)
COUNT = st.integers(0, 10**9)


@given(st.text(max_size=200), COUNT, COUNT)
def test_no_call_costs_more_than_its_worst_case(text: str, bound: int, out: int) -> None:
    sent = text.encode()
    most = PRICE.cost(len(sent), bound)
    assert PRICE.cost(min(len(text), len(sent)), min(out, bound)) <= most


RULE: dict[str, Any] = {"threshold": 0.7, "quorum": "2/3", "strategy": "quorum"}


def value(**more: Any) -> Any:
    seats = (
        juror("a", 0.9, model="m1", vendor="v", temperature=0.5, prompt_sha256="p", weight=2.0),
        juror("b", 0.8, model="m2"),
    )
    return body(*seats, rubric="rü", **more)


def test_the_hash_is_over_jurors_and_rule_written_out_by_hand() -> None:
    # Keys sorted, no spaces; what is absent is null; the rubric is its own sha256 of UTF-8.
    rubric = hashlib.sha256("rü".encode()).hexdigest()
    text = (
        '[[{"id":"a","model":"m1","prompt_sha256":"p","temperature":0.5,"vendor":"v","weight":2},'
        '{"id":"b","model":"m2","prompt_sha256":null,"temperature":null,"vendor":null,'
        '"weight":null}],'
        '{"quorum":"2/3","rounding":"down","rubric_sha256":"' + rubric + '",'
        '"strategy":"quorum","threshold":0.7,"trim_fraction":0.2}]'
    )
    trim = {"method": "quantile", "fraction": 0.2, "rounding": "down"}
    found = verdict_panel_hash(read(value(trim=trim), **RULE))
    assert found == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_is_of_the_panel_alone() -> None:
    other = value(decision="fail", score=0.1, id="x", input="in", output="out")
    other["jurors"][0] |= {"score": 0.2, "reason": "changed its mind", "trimmed": "low"}
    assert verdict_panel_hash(read(other, **RULE)) == verdict_panel_hash(read(value(), **RULE))
    filled = verdict_from_body(value(), Policy(), Generator(), Policy(threshold=0.7, quorum=0.5))
    assert verdict_panel_hash(filled) == verdict_panel_hash(read(value()))


@pytest.mark.parametrize("key", JUROR_KEYS)
def test_every_key_of_a_juror_is_a_part_of_it(key: str) -> None:
    jurors = [dict.fromkeys(JUROR_KEYS, "x")]
    changed = [jurors[0] | {key: "y"}]
    assert panel_hash(jurors, {}) != panel_hash(changed, {})


@pytest.mark.parametrize("key", RULE_KEYS)
def test_every_key_of_the_rule_is_a_part_of_it(key: str) -> None:
    assert panel_hash([], {key: "y"}) != panel_hash([], {})
    assert panel_hash([], {"comment": "y"}) == panel_hash([], {})


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_the_seats_counts(order: list[str]) -> None:
    hashes = [panel_hash([{"id": name} for name in names], {}) for names in (order, "abc")]
    assert (hashes[0] == hashes[1]) == (order == ["a", "b", "c"])


@given(st.integers(-9, 9))
def test_a_whole_number_has_one_form(number: int) -> None:
    whole = panel_hash([{"temperature": number}], {"threshold": number})
    assert whole == panel_hash([{"temperature": float(number)}], {"threshold": float(number)})


@pytest.mark.parametrize(
    ("key", "word"), [("failed_jurors", "median"), ("min_answered", 3), ("min_answered", "3/5")]
)
def test_what_becomes_of_missing_answers_is_part_of_it_where_it_is_set(key: str, word: Any) -> None:
    own = {"meta": {"reviewdesk": {key: word}}}
    ours = verdict_panel_hash(read(value(**own), **RULE))
    plain = verdict_panel_hash(read(value(), **RULE))
    assert ours != plain
    assert panel_hash([], {key: word}) != panel_hash([], {key: None}) == panel_hash([], {})
    # A count of 1 is not a share of 1.
    assert panel_hash([], {"min_answered": 1}) != panel_hash([], {"min_answered": "1/1"})
    found = {
        stated: panel_hash_status(read(value(provenance={"panel_hash": stated}, **own), **RULE))
        for stated in (ours, plain)
    }
    # Hashes that were made before failed_jurors was a part of them stay valid.
    older = HashStatus.VERIFIED if key == "failed_jurors" else HashStatus.UNVERIFIED
    assert found == {ours: HashStatus.VERIFIED, plain: older}


def test_a_stated_hash_is_verified_or_merely_unverified() -> None:
    assert panel_hash_status(read(value(), **RULE)) is None
    ours = verdict_panel_hash(read(value(), **RULE))
    for stated, status in (
        (ours, HashStatus.VERIFIED),
        (f"sha256:{ours.upper()}", HashStatus.VERIFIED),
        ("0" * 64, HashStatus.UNVERIFIED),
    ):
        verdict = read(value(provenance={"panel_hash": stated}), **RULE)
        assert panel_hash_status(verdict) is status
