import hashlib
from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Breach
from reviewdesk.domain.verdict import canonical_json
from tests.domain.bodies import bodies, body, item_hash, juror, panel, read

CONTENT = {"input": "in", "output": "out", "reference": ["r1", "r2"], "rubric": "rü"}


def _mismatches(value: dict[str, Any], **defaults: Any) -> tuple[str, ...]:
    return assess(read(value, **defaults)).mismatches


def test_canonical_json_is_compact_sorted_utf8() -> None:
    assert canonical_json({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'.encode()
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(float("nan"))


def test_item_hash_is_over_the_five_content_keys_and_the_dimension() -> None:
    # Written out by hand: input, output, alternative, reference, rubric.
    text = '["in","out",null,["r1","r2"],"rü"]'
    assert item_hash(body(**CONTENT), "run") == hashlib.sha256(text.encode()).hexdigest()
    value = body(**CONTENT)
    value["case"] = {**value["case"], "dimension": "safety"}
    text = '["in","out",null,["r1","r2"],"rü","safety"]'
    assert item_hash(value, "run") == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "more",
    [{"jurors": [juror("j", 0.5)]}, {"decision": "pass"}, {"score": 0.5}, {"threshold": 0.5},
     {"quorum": 0.5}, {"strategy": "mean"}, {"id": "other"}],
)  # fmt: skip
def test_a_label_serves_every_panel(more: Any) -> None:
    assert item_hash(body(**CONTENT) | more, "another run") == item_hash(body(**CONTENT), "run")


@pytest.mark.parametrize("key", ["input", "output", "alternative", "reference", "rubric"])
def test_other_content_is_another_item(key: str) -> None:
    changed = body(**(CONTENT | {key: "something else"}))
    assert item_hash(changed, "run") != item_hash(body(**CONTENT), "run")


@pytest.mark.parametrize("output", [None, "", "absent"])
def test_without_an_output_a_label_does_not_travel(output: str | None) -> None:
    value = body(**{key: text for key, text in CONTENT.items() if key != "output"})
    if output != "absent":
        value["output"] = output
    shown = "null" if output is None or output == "absent" else '""'
    text = f'["in",{shown},null,["r1","r2"],"rü","run","v"]'
    assert item_hash(value, "run") == hashlib.sha256(text.encode()).hexdigest()


def test_a_report_that_keeps_its_own_rules_has_no_mismatch() -> None:
    value = panel(
        0.9, 0.8, 0.7, 0.2, 0.1,
        decision="pass", band="low", escalate_for_review=True, same_family=False,
        agreement={"value": 0.0, "metric": "krippendorff_alpha"},
        trim={"method": "quantile", "fraction": 0.2, "dropped_low": ["j4"], "dropped_high": ["j0"]},
    )  # fmt: skip
    assert _mismatches(value, threshold=0.5, quorum=0.6) == ()


def test_quorum_only_where_neither_reading_gives_the_decision() -> None:
    # Of four seats three voted, two of them pass: 2/4 is under .6, 2/3 over it.
    seats = panel(0.9, 0.8, 0.1, None)
    for decision in ("pass", "fail"):
        assert _mismatches(seats | {"decision": decision}, threshold=0.5, quorum=0.6) == ()
    # One of three gives fail under both.
    (text,) = _mismatches(panel(0.9, 0.1, 0.1, decision="pass"), threshold=0.5, quorum=0.6)
    assert "reported pass" in text
    assert "1 of 3 against 0.6 gives fail" in text


@pytest.mark.parametrize(
    "defaults",
    [
        {"quorum": 0.6},  # no threshold, so no votes
        {"threshold": 0.5},  # no quorum
        {"threshold": 0.5, "quorum": 0.6, "strategy": "mean"},  # not what it was decided by
    ],
)
def test_quorum_is_not_held_against_what_has_none(defaults: dict[str, Any]) -> None:
    found = _mismatches(panel(0.9, 0.1, 0.1, decision="pass"), **defaults)
    assert not any(text.startswith("quorum") for text in found)
    # One of three, of whom two fail and reach .6 themselves: nothing there is left open.
    stated = panel(0.9, 0.1, 0.1, decision="inconclusive")
    (text,) = _mismatches(stated, threshold=0.5, quorum=0.6)
    assert text == "quorum: reported inconclusive, but 1 of 3 against 0.6 gives fail"


@pytest.mark.parametrize(
    ("metric", "value", "scores", "band", "own"),
    [
        ("krippendorff_alpha", 0.5, (0.9, 0.9, 0.1), "high", "low"),
        ("krippendorff_alpha", 0.85, (0.9, 0.9, 0.1), "medium", "high"),
        # r_WG of .9 .8 .6: squares .0178 + .0011 + .0278 = .0467; / 2 * 12 = .28: .72, medium.
        ("r_wg", 0.72, (0.9, 0.8, 0.6), "high", "medium"),
    ],
)
def test_band_under_the_metric_that_the_report_names(
    metric: str, value: float, scores: tuple[float, ...], band: str, own: str
) -> None:
    stated = panel(*scores, band=band, agreement={"value": value, "metric": metric})
    assert _mismatches(stated, threshold=0.5) == (
        f"band: reported {band}, but {metric} {value} is {own}",
    )
    assert _mismatches(stated | {"band": own}, threshold=0.5) == ()


def test_escalation_under_the_metric_that_the_report_names() -> None:
    split = panel(0.9, 0.9, 0.1, agreement={"value": 0.0, "metric": "krippendorff_alpha"})
    assert _mismatches(split, threshold=0.5) == ()
    (text,) = _mismatches(split | {"escalate_for_review": False}, threshold=0.5)
    assert text == "escalation: not reported, but krippendorff_alpha 0 is low"
    # r_WG of equal scores is 1, and no vote differs: neither reason is there, whatever is stated.
    united = panel(0.9, 0.9, 0.9, agreement={"value": 1.0, "metric": "r_wg"})
    united["escalate_for_review"] = True
    (text,) = _mismatches(united, threshold=0.5)
    assert text == "escalation: reported, but r_wg 1 is high and the votes agree"
    assert _mismatches(united | {"escalation_reasons": ["sampled"]}, threshold=0.5) == ()
    # Close scores on both sides of .91 split, and without a threshold nobody knows.
    near = panel(0.9, 0.9, 0.92, agreement=united["agreement"], escalate_for_review=True)
    for threshold in (0.91, None):
        assert _mismatches(near, threshold=threshold) == ()
    assert len(_mismatches(near, threshold=0.5)) == 1


@pytest.mark.parametrize(
    ("strategy", "decision", "told"),
    [
        # 0.9, 0.1, 0.1 at 0.7: mean 0.367, median 0.1, one vote of three; only the highest passes.
        ("mean", "pass", "mean gives fail"),
        ("median", "pass", "median gives fail"),
        ("majority", "pass", "majority gives fail"),
        ("highest", "fail", "highest gives pass"),
        ("mean", "fail", None),
        ("highest", "pass", None),
        # A split decides nothing under unanimity.
        ("unanimous", "fail", "unanimous gives inconclusive"),
        ("unanimous", "inconclusive", None),
        ("mean", "inconclusive", "mean gives fail"),
        ("mean", "error", "mean gives fail"),
        ("majority", "inconclusive", "majority gives fail"),
        ("external", "pass", None),
    ],
)
def test_decision_that_its_own_rule_does_not_give(strategy: str, decision: str, told: Any) -> None:
    found = _mismatches(panel(0.9, 0.1, 0.1, decision=decision), threshold=0.7, strategy=strategy)
    expected = () if told is None else (f"decision: reported {decision}, but {told}",)
    assert found == expected


def test_either_the_average_or_the_median_that_stands_in_for_it_will_do() -> None:
    # 0.9, 0.8, 0.1 and one juror that failed, at 0.7: the average is 0.6, the median 0.8.
    jurors = [*panel(0.9, 0.8, 0.1)["jurors"], juror("late", status="timeout")]
    for decision in ("pass", "fail"):
        value = body(jurors=jurors, decision=decision)
        assert _mismatches(value, threshold=0.7, strategy="weighted_average") == ()


def test_same_family_where_the_models_say_otherwise() -> None:
    value = body(juror("a", 0.5, model="claude-4"), same_family=False, generator={"model": "gpt-4"})
    assert _mismatches(value) == ()
    value["generator"] = {"model": "claude-3"}
    assert _mismatches(value) == ("same model family: reported no, but the models say yes",)
    # What the models leave unknown is not held against the report.
    value["generator"] = {"model": "house-model"}
    assert _mismatches(value | {"same_family": True}) == ()


def test_a_trim_is_held_to_its_scores_and_its_own_fraction_in_any_order_of_names() -> None:
    # .1 .1 .5 .9 .9 drops one .1 and one .9: which of the twins went is all one.
    stated = {"method": "quantile", "fraction": 0.2, "dropped_low": ["j1"], "dropped_high": ["j3"]}
    seats = panel(0.1, 0.1, 0.5, 0.9, 0.9, trim=stated)
    assert _mismatches(seats) == ()
    stated["dropped_high"] = ["j2"]
    assert _mismatches(seats) == ("trim: reported 0.1 / 0.5, but 0.2 down drops 0.1 / 0.9",)
    assert _mismatches(seats | {"trim": stated | {"method": "median"}}) == ()
    # A fifth of ten drops two at each end: .0 and .1, .8 and .9.
    stated = {"method": "quantile", "dropped_low": ["j1", "j0"], "dropped_high": ["j9", "j8"]}
    assert _mismatches(panel(*(tenth / 10 for tenth in range(10)), trim=stated)) == ()
    nobody = {"method": "quantile", "fraction": 0.0, "dropped_low": [], "dropped_high": []}
    seats = panel(0.1, 0.2, 0.5, 0.8, 0.9, trim=nobody)
    assert _mismatches(seats) == ()
    # The verdict's own 0 also stands before the report's .2.
    assert _mismatches(seats, trim_fraction=0.2) == ()


def test_a_ballot_that_contradicts_its_score() -> None:
    value = body(juror("a", 0.2, **{"pass": True}), juror("b", 0.9))
    assert _mismatches(value, threshold=0.7) == (
        "a: stated pass with score 0.2 against threshold 0.7",
    )


def test_stored_bits_never_move() -> None:
    # Written out: desks on disk hold these numbers.
    assert {kind.key: kind.value for kind in Breach} == {
        "quorum": 1, "decision": 2, "band": 4, "escalation": 8, "same_family": 16, "trim": 32,
        "pass_score": 64, "label": 128, "rounding": 256, "stopped_early": 512,
        "against_all": 1024, "contradiction": 2048,
    }  # fmt: skip
    assert Breach.ROUNDING.label == "quorum rounding"
    assert len({kind.label for kind in Breach}) == len(Breach)


@pytest.mark.parametrize(
    ("value", "defaults", "kind"),
    [
        # Two of three against .67: the rounded share meets it, the bare one does not.
        (panel(0.9, 0.8, 0.1), {"threshold": 0.7, "quorum": 0.67}, Breach.ROUNDING),
        (panel(0.1, decision="pass"), {"threshold": 0.7, "quorum": 0.5}, Breach.QUORUM),
        (panel(0.1, decision="pass"), {"threshold": 0.7, "strategy": "mean"}, Breach.DECISION),
        (body(juror("a", 0.1, **{"pass": True})), {"threshold": 0.7}, Breach.PASS_SCORE),
        (panel(0.9, 0.8, 0.1), {"threshold": 0.7, "quorum": 0.5}, Breach(0)),
        # No rule is known, and no vote is for the decision; with one vote for it, all is well.
        (panel(0.1, 0.2, decision="pass"), {"threshold": 0.7}, Breach.AGAINST_ALL),
        (panel(0.1, 0.9, decision="pass"), {"threshold": 0.7}, Breach(0)),
        # Without a threshold a score of 0 passes nothing, and a score of 1 fails nothing.
        (body(juror("a", 0, **{"pass": True})), {}, Breach.PASS_SCORE),
        (body(juror("a", 1, **{"pass": False})), {}, Breach.PASS_SCORE),
        (body(juror("a", 0.9, **{"pass": False})), {}, Breach(0)),
        (body(juror("a", 1, **{"pass": False}, status="error")), {}, Breach(0)),
        (body(juror("a", 0.7, **{"pass": False}, meta={"threshold": 0.5})), {}, Breach.PASS_SCORE),
        (body(juror("a", 0.7), meta={"contradictions": ["so it is"]}), {}, Breach.CONTRADICTION),
    ],
)
def test_one_value_holds_every_kind(value: Any, defaults: dict[str, Any], kind: Breach) -> None:
    assert assess(read(value, **defaults)).marks is kind


@given(bodies())
def test_every_mismatch_is_marked_and_rounding_is_none(value: dict[str, Any]) -> None:
    found = assess(read(value))
    told = {breach.kind for breach in found.breaches}
    assert Breach.ROUNDING not in told
    assert set(found.marks) - {Breach.ROUNDING} == told
    assert len(found.mismatches) == len(found.breaches)
