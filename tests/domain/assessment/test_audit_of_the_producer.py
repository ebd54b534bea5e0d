"""Where a report is held to its own rule, and where its own rule is not sure enough for that."""

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Breach
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from tests.domain.bodies import bodies, body, juror, panel, read

ALPHA = {"value": 0.0, "metric": "krippendorff_alpha"}


def kinds(value: dict[str, Any], **defaults: Any) -> list[Breach]:
    return [breach.kind for breach in assess(read(value, **defaults)).breaches]


def labelled(*labels: str | None, **more: Any) -> Any:
    """Jurors with labels; KEEP and MERGE pass, any other label fails."""
    seats = (
        juror(f"j{i}", label=label, **{"pass": label in {"KEEP", "MERGE"}})
        for i, label in enumerate(labels)
    )
    return body(*seats, **more)


# Band and escalation


@pytest.mark.parametrize("scores", [(0.9, 0.9, 0.9), (0.9, 0.9, 0.1), (0.9,)])
@pytest.mark.parametrize(
    ("alpha", "named"), [(0.85, "high"), (0.7, "medium"), (0.5, "low"), (-0.2, "low")]
)
def test_alpha_is_held_to_its_value(alpha: float, named: str, scores: tuple[float, ...]) -> None:
    # A stated alpha is one of many units: a split of this one says nothing of it.
    stated = {"value": alpha, "metric": "krippendorff_alpha"}
    own = panel(*scores, band=named, escalate_for_review=named == "low", agreement=stated)
    assert kinds(own, threshold=0.5) == []
    for other in {"high", "medium", "low"} - {named}:
        assert kinds(own | {"band": other}, threshold=0.5) == [Breach.BAND]
    turned = own | {"escalate_for_review": named != "low"}
    assert kinds(turned, threshold=0.5) == [Breach.ESCALATION]


def test_r_wg_is_held_to_its_ballots_under_the_null_that_gives_the_stated_figure() -> None:
    # .9 .9 .1: squares .0711 + .0711 + .2844 = .4267, / 2 * 12 = 2.56: the ballots give -1.56.
    stated = {"value": 0.9, "metric": "r_wg"}
    value = panel(0.9, 0.9, 0.1, agreement=stated, band="high", escalate_for_review=False)
    found = assess(read(value, threshold=0.5))
    assert found.mismatches == (
        "band: reported high for r_wg 0.9, but the ballots give low",
        "escalation: not reported, but r_wg of the ballots is low",
    )
    assert kinds(value | {"band": "low"}, threshold=0.5) == [Breach.BAND, Breach.ESCALATION]
    # .5 .75 .75 .75: mean .6875, squares .03515625 + 3 * .00390625 = .046875, / 3 = 1/64.
    # Uniform: 1 - 12/64 = .8125, high. The record's 1/16: 1 - 16/64 = .75, medium.
    stated = {"value": 0.75, "metric": "r_wg"}
    assert kinds(panel(0.5, 0.75, 0.75, 0.75, band="medium", agreement=stated)) == []
    # Under .9, which no null gives, only the uniform one is left.
    other = {"value": 0.9, "metric": "r_wg"}
    assert kinds(panel(0.5, 0.75, 0.75, 0.75, band="medium", agreement=other)) == [Breach.BAND]


@pytest.mark.parametrize("metric", ["pairwise", "consensus_share", "variance", "unknown"])
@pytest.mark.parametrize("named", ["high", "medium", "low"])
def test_a_metric_without_published_bands_proves_nothing(metric: str, named: str) -> None:
    for scores in ((0.9, 0.1, 0.1), (0.9, 0.9, 0.9)):
        for escalate in (True, False):
            value = panel(*scores, band=named, escalate_for_review=escalate)
            value["agreement"] = {"value": 1.0, "metric": metric}
            assert kinds(value, threshold=0.5) == []


@pytest.mark.parametrize("metric", ["krippendorff_alpha", "r_wg"])
def test_an_agreement_that_was_not_computed_has_no_band_to_hold(metric: str) -> None:
    # The producers write band null and no escalation beside it; some write "low" and true.
    absent = {"value": None, "metric": metric}
    for named, escalate in (("low", True), (None, False)):
        value = panel(0.9, 0.9, 0.1, agreement=absent, band=named, escalate_for_review=escalate)
        assert kinds(value, threshold=0.5) == []
    single = panel(0.9, agreement=ALPHA, band="low", escalate_for_review=True)
    assert kinds(single, threshold=0.5) == []


@pytest.mark.parametrize(
    "more",
    [
        {"escalation_reasons": ["sampled for audit"]},
        {"regime": "dispute"},
        {"decision": "inconclusive"},
        {"decision": "error"},
    ],
)
def test_another_reason_to_escalate_is_a_reason(more: dict[str, Any]) -> None:
    united = panel(0.9, 0.9, agreement=ALPHA | {"value": 1.0}, escalate_for_review=True)
    assert kinds(united, threshold=0.5) == [Breach.ESCALATION]
    assert kinds(united | more, threshold=0.5) == []


# Quorum and decision


@pytest.mark.slow
@pytest.mark.parametrize("quorum", [0.5, 0.67, "2/3", 1.0])
@given(value=bodies())
def test_a_quorum_mismatch_is_given_by_neither_reading(quorum: float | str, value: Any) -> None:
    value |= {"quorum": quorum, "strategy": "quorum", "threshold": 0.5}
    verdict = read(value)
    found = assess(verdict)
    readings = {found.decisions.quorum, found.decisions.quorum_answered}
    marked = Breach.QUORUM in kinds(value)
    if verdict.decision == "inconclusive":
        assert marked <= (None not in readings)
    else:
        known = verdict.decision is not None
        assert marked == (known and not readings & {verdict.decision, None})


@pytest.mark.parametrize(
    ("scores", "quorum", "open_"),
    [
        ((0.9, 0.9, 0.9), 0.5, False),
        ((0.9, 0.9, 0.1), 0.5, False),  # two of three pass
        ((0.9, 0.1, 0.1), 0.67, False),  # the fails themselves reach it: 2/3 is .67
        ((0.9, 0.1), 0.5, True),  # even
        ((0.9, 0.1, None), 0.5, True),  # even among those who answered
        ((0.9, 0.9, 0.1), 0.75, True),  # neither 2/3 nor 1/3 reaches it
        ((0.9, 0.9, 0.1, None, None), 0.6, True),  # of the seats neither 2/5 nor 1/5
        ((None, None), 0.5, True),  # no votes
    ],
)
def test_what_a_quorum_may_leave_open(scores: Any, quorum: float, open_: bool) -> None:
    value = panel(*scores, decision="inconclusive", threshold=0.5, quorum=quorum)
    for named in ({}, {"strategy": "quorum"}):
        assert kinds(value | named) == ([] if open_ else [Breach.QUORUM])
    # Where a person decides, or set the quorum, nothing is held against the report.
    assert kinds(value | {"strategy": "quorum", "regime": "dispute"}) == []
    del value["quorum"]
    filled = verdict_from_body(value, Policy(), Generator(), Policy(quorum=quorum))
    assert assess(filled).breaches == ()


def test_an_error_with_answers_is_no_decision_of_a_rule() -> None:
    answered = panel(0.9, 0.9, 0.9, decision="error", threshold=0.5, quorum=0.5)
    assert kinds(answered | {"strategy": "quorum"}) == [Breach.QUORUM]
    assert kinds(answered | {"strategy": "mean"}) == [Breach.DECISION]
    failed = panel(None, None, decision="error", threshold=0.5, quorum=0.5)
    for strategy in ("quorum", "mean", "majority", "external"):
        assert kinds(failed | {"strategy": strategy}) == []


@pytest.mark.parametrize("decision", ["pass", "fail"])
def test_a_rule_that_decides_nothing_gives_neither_side(decision: str) -> None:
    # Two of three are not unanimous; one of two is no majority, of the seats or of who answered.
    split = panel(0.9, 0.9, 0.1, decision=decision, threshold=0.5, strategy="unanimous")
    assert kinds(split) == [Breach.DECISION]
    tie = panel(0.9, 0.1, decision=decision, threshold=0.5, strategy="majority")
    assert kinds(tie) == [Breach.DECISION]
    # Two of five seats are no majority; two of the three that answered are one, and pass.
    few = panel(0.9, 0.9, 0.1, None, None, decision=decision, threshold=0.5, strategy="majority")
    assert kinds(few) == ([] if decision == "pass" else [Breach.DECISION])
    # A threshold that nobody knows leaves the votes unknown.
    for value in (split, tie):
        assert kinds({**value, "threshold": None}) == []


def test_words_that_differ_may_leave_a_rule_open() -> None:
    # KEEP and MERGE both pass, and are not the same word: a unanimous panel may say UNCLEAR.
    assert kinds(labelled("KEEP", "MERGE", decision="inconclusive", strategy="unanimous")) == []
    same = labelled("KEEP", "KEEP", decision="inconclusive", strategy="unanimous")
    assert kinds(same) == [Breach.DECISION]
    # A stated UNCLEAR is the label's fault, not the decision's.
    assert kinds(same | {"label": "UNCLEAR"}) == [Breach.LABEL]


def test_a_regime_may_have_chosen_another_rule() -> None:
    # Two of three votes pass at .7; the mean .6 fails.
    value = panel(0.8, 0.8, 0.2, decision="fail")
    assert kinds(value, threshold=0.7, quorum=0.5) == [Breach.QUORUM]
    assert kinds(value | {"regime": "irreversible"}, threshold=0.7, quorum=0.5) == []
    # Of .8 .8 0 at .7 the mean, .533, fails and the median, .8, passes.
    value = panel(0.8, 0.8, 0.0, decision="pass")
    assert kinds(value, threshold=0.7, strategy="mean") == [Breach.DECISION]
    assert kinds(value | {"regime": "irreversible"}, threshold=0.7, strategy="mean") == []


def test_a_vote_under_a_threshold_of_ours_is_not_held_against_the_report() -> None:
    value = panel(0.5, 0.5, 0.5, decision="fail", quorum=0.5)
    filled = verdict_from_body(value, Policy(), read(value).generator, Policy(threshold=0.4))
    assert assess(filled).breaches == ()
    assert kinds(value, threshold=0.4) == [Breach.QUORUM]


def test_an_unsaid_rounding_is_read_in_the_reports_favour() -> None:
    # A fifth of seven is 1.4: down drops one at each end, up two. Dropping one leaves
    # (0 + 0 + .6 + .9 + .9) / 5 = .48; two leave (0 + .6 + .9) / 3 = .5, which passes at .5.
    scores = (0.0, 0.0, 0.0, 0.6, 0.9, 0.9, 0.9)
    rule = {"threshold": 0.5, "strategy": "trimmed_mean", "trim_fraction": 0.2}
    value = panel(*scores, decision="pass")
    assert kinds(value, **rule) == []
    down = value | {"trim": {"method": "quantile", "rounding": "down"}}
    assert kinds(down, **rule) == [Breach.DECISION]


def test_a_plurality_of_labels_need_not_be_a_majority_of_votes() -> None:
    # KEEP leads with two of five and passes; three votes of five fail.
    value = labelled("KEEP", "KEEP", "REJECT", "SPLIT", "UNCLEAR", decision="pass", label="KEEP")
    assert kinds(value, strategy="majority") == []
    assert kinds(value | {"decision": "fail"}, strategy="majority") == []
    without = panel(0.9, 0.9, 0.1, 0.1, 0.1, decision="pass")
    assert kinds(without, threshold=0.5, strategy="majority") == [Breach.DECISION]


# Kinship


@pytest.mark.parametrize(
    ("generator", "model", "reported", "broken"),
    [
        ("claude-3", "claude-4", False, True),
        ("claude-3", "gpt-4o", True, True),
        # The jury document knows four families; a producer that follows it says "no" here.
        ("qwen-plus", "qwen-max", False, False),
        ("gemma-2", "gemini-2.5-pro", False, False),
        ("claude-3", "house-model", True, False),
    ],
)
def test_kinship_of_sure_models(generator: str, model: str, reported: bool, broken: bool) -> None:
    value = body(juror("a", 0.5, model=model), same_family=reported)
    assert kinds(value | {"generator": {"model": generator}}) == [Breach.SAME_FAMILY] * broken


def test_a_stated_kinship_may_lie_with_a_juror_of_unknown_family() -> None:
    seats = (juror("a", 0.5, model="gpt-4o"), juror("b", 0.5, model="house-model"))
    assert kinds(body(*seats, same_family=True, generator={"model": "claude-3"})) == []


# Trim


@pytest.mark.parametrize(
    ("trim", "told"),
    [
        # Outliers by another method, and a method that is not named at all.
        ({"method": "none", "per_side": 10**20}, None),
        ({"method": "median", "dropped_low": ["j4"]}, None),
        # Two at each end are the ends, whatever the fraction was.
        ({"method": "quantile", "dropped_low": ["j0", "j1"], "dropped_high": ["j4", "j3"]}, None),
        (
            {"method": "quantile", "dropped_low": ["j0", "j1"], "dropped_high": ["j4"]},
            "trim: reported 0.1, 0.2 / 0.9, but 2 at each end drops 0.1, 0.2 / 0.8, 0.9",
        ),
        # 3/10 of five is 1.5: one of the roundings gives two.
        ({"method": "quantile", "fraction": 0.3, "per_side": 2}, None),
        (
            {"method": "quantile", "fraction": 0.3, "rounding": "down", "per_side": 2},
            "trim: reported 2 per side, but 0.3 down drops 1",
        ),
        (
            {"method": "quantile", "per_side": 2, "dropped_low": ["j0"], "dropped_high": ["j4"]},
            "trim: reported 2 per side, but names 1",
        ),
        ({"method": "quantile", "per_side": 2}, None),
    ],
)
def test_a_trim_is_held_to_its_own_words(trim: dict[str, Any], told: str | None) -> None:
    found = assess(read(panel(0.1, 0.2, 0.5, 0.8, 0.9, trim=trim))).mismatches
    assert found == (() if told is None else (told,))


def test_what_marks_and_dropped_jurors_prove_of_a_trim() -> None:
    seats = (juror("a", 0.5, trimmed="low"), juror("b", 0.1), juror("c", 0.9))
    assert kinds(body(*seats)) == []
    # With a fraction in the report's defaults, there is a rule to hold it to.
    assert kinds(body(*seats), trim_fraction=0.2) == [Breach.TRIM]
    stated = {"method": "quantile", "fraction": 0.2, "dropped_low": ["j3"], "dropped_high": ["j2"]}
    assert kinds(panel(0.1, 0.5, 0.9, None, trim=stated)) == [Breach.TRIM]
