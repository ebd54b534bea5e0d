"""A panel that stops early decides as the full panel does, whatever the others would answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.jury.rules import STOPPED_EARLY, STRATEGIES
from reviewdesk.domain.jury.stopping import can_turn
from reviewdesk.domain.values import Decision, Regime, Rounding
from reviewdesk.domain.verdict import Strategy, Verdict, verdict_from_body
from tests.domain import reference

PASS, FAIL = Decision.PASS, Decision.FAIL
SILENT: list[dict[str, Any]] = [
    {"status": "abstained", "pass": None, "score": None},
    {"status": "error", "error": {"message": "down"}},
    {"status": "parse_fail"},
    {"status": "timeout"},
    {"status": "unknown"},
]
LABELS = st.sampled_from(["PASS", "FAIL", "KEEP", "SPLIT", "UNCLEAR"])


@st.composite
def answers(draw: Any, labels: bool) -> dict[str, Any]:
    if draw(st.integers(0, 4)) == 0:
        return dict(draw(st.sampled_from(SILENT)))
    if labels:
        sure = draw(st.one_of(st.none(), st.floats(0, 1)))
        return {"label": draw(LABELS), "confidence": sure}
    said: dict[str, Any] = {}
    kind = draw(st.integers(0, 2))
    if kind != 1:
        said["score"] = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 0.69, 0.7, 0.71, 0.9, 1.0]))
    if kind != 0:
        said["pass"] = draw(st.booleans())
    return said


@st.composite
def panels(draw: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A verdict's rule without a decision, and what each of its jurors answers."""
    strategy = draw(st.sampled_from([*STRATEGIES, None]))
    labels = strategy in {Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT}
    count = draw(st.integers(1, 7))
    said = [draw(answers(labels)) for _ in range(count)]
    weights = draw(st.sampled_from([None, [1, 2, 3], [0.1, 5, 1, 1]]))
    jurors = [
        {"id": f"j{seat}", **one, **({"weight": weights[seat % len(weights)]} if weights else {})}
        for seat, one in enumerate(said)
    ]
    own: dict[str, Any] = {}
    if draw(st.booleans()):
        own["failed_jurors"] = "median"
    if draw(st.booleans()):
        own["supermajority"] = draw(st.sampled_from(["3/5", "3/4", "1"]))
    if draw(st.booleans()):
        own["min_answered"] = draw(st.sampled_from([1, 2, 3, "1/2", "1/1"]))
    body = {
        "id": "v", "case": {"test": "v"}, "threshold": draw(st.sampled_from([0.0, 0.5, 0.7, 1.0])),
        "quorum": draw(st.sampled_from([0.01, 0.5, 0.6, "2/3", 0.67, 1.0])),
        "trim": {
            "method": "quantile", "fraction": draw(st.sampled_from([0.0, 0.1, 0.2, 0.4])),
            "rounding": draw(st.sampled_from([*Rounding])).value,
        },
        "meta": {"reviewdesk": own},
    }  # fmt: skip
    if strategy is None:
        body["regime"] = draw(st.sampled_from([*Regime])).value
    else:
        body["strategy"] = strategy.value
    return body, jurors


def asked(body: dict[str, Any], jurors: list[dict[str, Any]], count: int) -> Verdict:
    """The verdict after the first ``count`` jurors were asked."""
    rest = [
        {key: one[key] for key in ("id", "weight") if key in one} | {"status": "not_asked"}
        for one in jurors[count:]
    ]
    made: Any = {**body, "jurors": [*jurors[:count], *rest]}
    return verdict_from_body(made)


@pytest.mark.slow
@given(panels())
def test_where_nothing_can_turn_the_decision_the_full_panel_decides_the_same(case: Any) -> None:
    body, jurors = case
    whole = assess(asked(body, jurors, len(jurors))).decision
    for count in range(len(jurors)):
        verdict = asked(body, jurors, count)
        waits = reference.rules(verdict)[1] in reference.CAUTIOUS
        assert can_turn(verdict) is (len(reference.outcomes(verdict, missing=waits)) > 1)
        if not can_turn(verdict):
            found = assess(verdict)
            assert found.decision is whole
            assert (found.pair.value, found.pair.band) == (None, None)
            assert found.agreement.spread.reason == STOPPED_EARLY
            assert found.degraded == () or "answered" in found.degraded[0]
            # What is missing, and not what was not asked, may escalate it.
            missing = found.votes.missing or found.votes.too_few(verdict.policy)
            assert found.escalation == () or missing


def votes(text: str, seats: int = 5) -> list[dict[str, Any]]:
    """Ballots by a word such as ``ppf``; an ``x`` failed and an ``a`` abstained."""
    kinds: dict[str, dict[str, Any]] = {
        "p": {"pass": True}, "f": {"pass": False}, "x": SILENT[1], "a": SILENT[0],
    }  # fmt: skip
    named: list[dict[str, Any]] = [
        {"id": f"j{seat}", **kinds[one]} for seat, one in enumerate(text)
    ]
    return named + [{"id": f"j{seat}"} for seat in range(len(text), seats)]


@pytest.mark.parametrize(
    ("strategy", "said", "can"),
    [
        # Quorum 0.5 of five seats needs three passes: 3/5 meets it, 2/5 does not.
        ("quorum", "pp", True), ("quorum", "ppp", False), ("quorum", "ff", True),
        ("quorum", "fff", False),
        ("quorum", "xxf", False),  # two passes at most
        ("quorum", "xxx", True),  # nobody has voted: if nobody does, there is no decision
        ("quorum", "aaf", False),
        ("majority", "pxx", True),
        ("majority", "pfxx", False),  # neither side can have three of five
        ("unanimous", "pf", False),
        ("unanimous", "pppp", True),
        # Two thirds of those who vote: after four passes one fail leaves 4/5.
        ("supermajority", "ppp", True),  # 3/5 is less than two thirds
        ("supermajority", "pppp", False),
        ("single", "pp", False),
        ("external", "pppp", True),
    ],
)  # fmt: skip
def test_a_panel_asks_as_long_as_a_vote_can_turn_it(strategy: str, said: str, can: bool) -> None:
    rule = {"id": "v", "case": {"test": "v"}, "strategy": strategy, "quorum": 0.5, "threshold": 0.7}
    assert can_turn(asked(rule, votes(said), len(said))) is can


def test_the_median_that_stands_in_for_failed_jurors_keeps_a_panel_asking() -> None:
    rule: dict[str, Any] = {"id": "v", "case": {"test": "v"}, "threshold": 0.55, "strategy": "mean"}
    scores = [0.5, 0.5, 0.5, 1.0, 1.0]
    jurors = [{"id": f"j{n}", "score": score} for n, score in enumerate(scores)]
    # The mean of six is 3.5 / 6 = .58 or more. If the last juror fails, the median of five is .5.
    assert not can_turn(asked(rule, [*jurors, {"id": "j5"}], 5))
    falling = {**rule, "meta": {"reviewdesk": {"failed_jurors": "median"}}}
    assert can_turn(asked(falling, [*jurors, {"id": "j5"}], 5))


def test_a_cautious_rule_asks_on_beside_a_juror_that_failed() -> None:
    # The juror may answer a re-run, so the others are asked; beside two that differ they are not.
    rule: dict[str, Any] = {"id": "v", "case": {"test": "v"}, "strategy": "unanimous"}
    assert can_turn(asked(rule, votes("x"), 1))
    assert can_turn(asked(rule, votes("xp"), 2))
    assert not can_turn(asked(rule, votes("xpf"), 3))
    low = {**rule, "strategy": "lowest", "threshold": 0.7}
    down = {"id": "j0", **SILENT[1]}
    assert can_turn(asked(low, [down, {"id": "j1", "score": 0.9}, {"id": "j2"}], 2))
    assert not can_turn(asked(low, [down, {"id": "j1", "score": 0.1}, {"id": "j2"}], 2))


def test_a_panel_asks_until_enough_have_answered() -> None:
    rule: dict[str, Any] = {"id": "v", "case": {"test": "v"}, "strategy": "quorum", "quorum": 0.5}
    # Three passes of five meet the quorum, but four jurors must answer.
    for least, can in ((3, False), (4, True), ("4/5", True)):
        wanted = {**rule, "meta": {"reviewdesk": {"min_answered": least}}}
        assert can_turn(asked(wanted, votes("ppp"), 3)) is can
    # With two failed, no more than three of five can answer.
    wanted = {**rule, "meta": {"reviewdesk": {"min_answered": 4}}}
    assert not can_turn(asked(wanted, votes("xxp"), 3))


def test_a_panel_that_stopped_has_no_flag_that_needs_every_ballot() -> None:
    rule = {"id": "v", "case": {"test": "v"}, "strategy": "quorum", "quorum": 0.5, "threshold": 0.7}
    jurors = [{"id": f"j{n}", "pass": True, "score": score} for n, score in enumerate((0.1, 1, 0))]
    found = assess(asked(rule, [*jurors, {"id": "j3"}, {"id": "j4"}], 3))
    # Two passes beside low scores are the jurors' own contradictions.
    assert found.flags == Flag.MISMATCH
    assert not found.unanimous_votes
    assert found.decision is PASS
