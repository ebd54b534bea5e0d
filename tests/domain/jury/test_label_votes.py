from collections.abc import Sequence
from typing import Any

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jury.label_rules import TIES, label_vote
from reviewdesk.domain.values import LabelRules, label_decision
from reviewdesk.domain.verdict import Ballot, Decision, Status, ballot
from reviewdesk.errors import UsageError
from tests.domain.bodies import assessed, body, juror, read

PASSES = ("PASS", "KEEP", "YES", "TRUE", "CORRECT", "ACCEPT", "keep", "Pass")
FAILS = ("FAIL", "REJECT", "NO", "FALSE", "INCORRECT", "reject")


def cast(*labels: str | None) -> list[Ballot]:
    """One ballot a label; ``None`` is a juror that failed."""
    return [
        ballot(f"j{seat}", error="down") if label is None else ballot(f"j{seat}", label=label)
        for seat, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "majority", "unanimous", "first"),
    [
        (("KEEP", "KEEP", "REJECT"), "KEEP", "UNCLEAR", "DISAGREE"),
        (("MERGE", "MERGE"), "MERGE", "MERGE", "MERGE"),
        # A plurality is enough: two of five.
        (("KEEP", "SPLIT", "MERGE", "SPLIT", "REJECT"), "SPLIT", "UNCLEAR", "DISAGREE"),
        # A failed juror says nothing, whether by its error or by its label.
        (("REJECT", None, "ERROR", "PARSE_FAIL", "error"), "REJECT", "REJECT", "REJECT"),
        ((None, "PARSE_FAIL"), "UNCLEAR", "UNCLEAR", "UNCLEAR"),
        ((), "UNCLEAR", "UNCLEAR", "UNCLEAR"),
        # Case and blanks around it make no other label; the first seen is how it is written.
        (("Keep", " KEEP", "keep"), "Keep", "Keep", "Keep"),
    ],
)
def test_each_rule(labels: Any, majority: str, unanimous: str, first: str) -> None:
    ballots = cast(*labels)
    found = [label_vote(ballots, how) for how in ("majority", "unanimous", "first_disagreement")]
    assert [one.label for one in found] == [majority, unanimous, first]
    # Where nobody answered there is nothing to differ in, and that is said.
    answered = any(one.usable for one in found)
    assert {one.disagreement for one in found} == {first == "DISAGREE" if answered else None}
    assert {one.reason for one in found} == {None if answered else "no juror gave a label"}


def test_the_figures_beside_a_consensus() -> None:
    ballots = [
        ballot("a", label="KEEP", confidence=0.9),
        ballot("b", label="KEEP", confidence=0.6),
        ballot("c", label="REJECT"),
        ballot("d", error="503"),
    ]
    found = label_vote(ballots)
    # Two of the three usable ballots, two of the four seats; (.9 + .6) / 2.
    assert (found.rule, found.label, found.usable, found.seated) == ("majority", "KEEP", 3, 4)
    assert found.agreement_pct == pytest.approx(2 / 3)
    assert found.seated_share == 0.5
    assert found.avg_confidence == pytest.approx(0.75)
    assert (found.tie, found.tied, found.decision) == (None, (), Decision.PASS)


def test_of_no_ballots_nothing_is_known() -> None:
    found = label_vote([])
    assert found.agreement_pct is found.seated_share is found.avg_confidence is None
    assert found.disagreement is label_vote([], "unanimous").disagreement is None
    assert label_vote(cast(None)).agreement_pct is None
    # One seat, nobody of it with the consensus.
    assert label_vote(cast(None)).seated_share == 0.0


def test_a_failed_label_is_no_label_beside_a_score() -> None:
    ballots = [ballot("a", label="KEEP"), ballot("b", score=0.5, label="parse_fail ")]
    assert label_vote(ballots, "first_disagreement").label == "KEEP"
    assert label_vote(ballots).usable == 1


def test_who_breaks_a_tie() -> None:
    ballots = cast("SPLIT", "REJECT", "KEEP", "REJECT", "KEEP")
    seen = label_vote(ballots)
    assert (seen.label, seen.tie, seen.tied) == ("REJECT", TIES[1], ("REJECT", "KEEP"))
    chosen = label_vote(ballots, "majority", LabelRules(priority=("MERGE", "keep")))
    assert (chosen.label, chosen.tie) == ("KEEP", TIES[2])
    # A priority for a label that is not among the first breaks nothing.
    other = label_vote(ballots, "majority", LabelRules(priority=("SPLIT",)))
    assert (other.label, other.tie) == ("REJECT", TIES[1])


ONE, HUGE = 1.0, 1.7e308


@pytest.mark.parametrize(
    ("said", "rules", "label", "tie", "notes"),
    [
        # KEEP 1*.4 + 1*.4 = .8 against REJECT 1*.9; by weight alone 2 against 1.
        ((("KEEP", None, 0.4), ("REJECT", ONE, 0.9), ("KEEP", ONE, 0.4)), {}, "REJECT", None, ()),
        ((("KEEP", None, 0.4), ("REJECT", ONE, 0.9), ("KEEP", ONE, 0.4)),
         {"use_confidence": False}, "KEEP", None, ()),
        # A weight of 3 makes it 3*.4 + .4 = 1.6 against .9.
        ((("KEEP", 3.0, 0.4), ("REJECT", ONE, 0.9), ("KEEP", ONE, 0.4)), {}, "KEEP", None, ()),
        # A confidence that is missing weighs nothing beside others.
        ((("KEEP", ONE, None), ("KEEP", ONE, None), ("REJECT", ONE, 0.1)), {}, "REJECT", None,
         ("no confidence, so no weight: j0, j1",)),
        # Where nobody gives one, the weights alone: KEEP 2 against REJECT 1, though seen later.
        ((("REJECT", ONE, None), ("KEEP", ONE, None), ("KEEP", ONE, None)), {}, "KEEP", None,
         ("no confidence given: weights alone",)),
        # .1 + .2 is not .3 in floats, and is a tie all the same.
        ((("KEEP", ONE, 0.3), ("REJECT", ONE, 0.1), ("REJECT", ONE, 0.2)), {}, "KEEP", TIES[1], ()),
        # Of finite weights without a finite sum the two outweigh the one.
        ((("KEEP", HUGE, ONE), ("REJECT", HUGE, ONE), ("REJECT", HUGE, ONE)), {}, "REJECT", None,
         ()),
        # Nobody is sure of anything: every label is level at 0.
        ((("KEEP", ONE, 0.0), ("REJECT", ONE, 0.0)), {}, "KEEP", TIES[1], ()),
    ],
)  # fmt: skip
def test_a_weighted_vote_is_weight_times_confidence(
    said: Any, rules: Any, label: str, tie: str | None, notes: tuple[str, ...]
) -> None:
    ballots = [
        ballot(f"j{seat}", label=word, weight=weight, confidence=confidence)
        for seat, (word, weight, confidence) in enumerate(said)
    ]
    for name in ("weighted_vote", "weighted"):
        found = label_vote(ballots, name, LabelRules(**rules))
        assert (found.rule, found.label, found.tie) == ("weighted_vote", label, tie)
        assert found.notes == notes


def test_a_rule_of_ones_own_sees_the_usable_ballots() -> None:
    def last(ballots: Sequence[Ballot]) -> tuple[str, bool]:
        return str(ballots[-1].label), len(ballots) == 2

    found = label_vote(cast("KEEP", "SPLIT", "ERROR", None), last)
    assert (found.rule, found.label, found.disagreement) == ("last", "SPLIT", True)
    assert found.agreement_pct == 0.5


@pytest.mark.parametrize("answer", ["KEEP", ("KEEP",), (None, True), ("KEEP", 1)])
def test_what_a_rule_of_ones_own_must_give(answer: Any) -> None:
    with pytest.raises(UsageError, match=r"the label rule <lambda> gave .*\(label, bool\)"):
        label_vote(cast("KEEP"), lambda _ballots: answer)


def test_an_unknown_label_vote_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no label vote 'median'.*majority, unanimous"):
        label_vote(cast("KEEP"), "median")


@pytest.mark.parametrize(
    ("label", "decision"),
    [
        *((word, Decision.PASS) for word in PASSES),
        *((word, Decision.FAIL) for word in FAILS),
        *((word, None) for word in ("SPLIT", "MERGE", "UNCLEAR", "DISAGREE", "passed", "", None)),
    ],
)
def test_the_label_map(label: str | None, decision: Decision | None) -> None:
    assert label_decision(label) is decision


def _labelled(*labels: str, **more: Any) -> Any:
    return body(*(juror(f"j{seat}", label=label) for seat, label in enumerate(labels)), **more)


def test_what_is_stated_or_scored_stands_before_the_labels() -> None:
    stated = assessed(_labelled("KEEP", "KEEP", "REJECT", strategy="majority", decision="fail"))
    assert stated.decision is Decision.FAIL
    scored = body(
        *(juror(f"j{seat}", 0.1, label="KEEP") for seat in range(3)),
        strategy="majority",
        threshold=0.5,
    )
    found = assessed(scored)
    assert (found.decision, found.label_vote) == (Decision.FAIL, None)
    # Beside a reported consensus that the labels could have given, they are counted and told.
    told = assessed({**scored, "label": "keep"})
    assert told.label_vote is not None
    assert (told.decision, told.label_vote.label) == (Decision.FAIL, "KEEP")
    assert assessed({**scored, "label": "good"}).label_vote is None


def test_a_label_is_an_answer_and_some_labels_are_failures() -> None:
    value = body(
        juror("a", label="SPLIT"), juror("b", label=" "), juror("c", label="ERROR"),
        juror("d", label="parse_fail"), juror("e", label="KEEP", status="abstained"),
        juror("f", 0.5, label="ERROR"),
    )  # fmt: skip
    assert [one.status for one in read(value).ballots] == [
        Status.OK, Status.ABSTAINED, Status.ERROR, Status.PARSE_FAIL, Status.ABSTAINED, Status.OK,
    ]  # fmt: skip


def test_why_a_label_decides_nothing() -> None:
    found = assessed(_labelled("SPLIT", "SPLIT", "KEEP", strategy="majority"))
    reasons = {note.flag.label: note.reason for note in found.notes}
    assert reasons["no_verdict"] == "the labels come to SPLIT, which is neither pass nor fail"


def mismatch(value: Any) -> str | None:
    found = assess(read(value)).mismatches
    return next((text for text in found if text.startswith("label")), None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (_labelled("KEEP", "KEEP", "REJECT", strategy="majority", label="REJECT"),
         "label: reported REJECT, but majority gives KEEP"),
        (_labelled("KEEP", "KEEP", "REJECT", strategy="majority", label="keep"), None),
        (_labelled("KEEP", "KEEP", strategy="unanimous", label="MERGE"),
         "label: reported MERGE, but unanimous gives KEEP"),
        (_labelled("KEEP", "REJECT", strategy="unanimous", label="KEEP"),
         "label: reported KEEP, but unanimous gives UNCLEAR"),
        # Whatever breaks a tie, and whatever word a producer falls back to, is its own.
        (_labelled("KEEP", "REJECT", strategy="majority", label="REJECT"), None),
        (_labelled("KEEP", "REJECT", strategy="unanimous", label="NONE"), None),
        (_labelled("KEEP", "REJECT", strategy="first_disagreement", label="SPLIT-VOTE"), None),
        (_labelled("KEEP", "REJECT", strategy="first_disagreement", label="REJECT"),
         "label: reported REJECT, but first_disagreement gives DISAGREE"),
        (_labelled("KEEP", "KEEP", "REJECT", strategy="quorum", label="REJECT"), None),
        (_labelled("KEEP", "KEEP", "REJECT", strategy="majority"), None),
        # Who votes without a label may have said any.
        (body(juror("a", label="KEEP", **{"pass": True}), juror("b", **{"pass": False}),
              juror("c", **{"pass": False}), strategy="majority", label="REJECT"), None),
    ],
)  # fmt: skip
def test_a_reported_label_is_held_to_its_own_rule(value: Any, text: str | None) -> None:
    assert mismatch(value) == text


def test_a_weighted_vote_may_have_left_the_confidences_out() -> None:
    value = body(
        juror("a", label="KEEP", confidence=0.2, weight=1),
        juror("b", label="KEEP", confidence=0.2, weight=1),
        juror("c", label="REJECT", confidence=0.9, weight=1),
        strategy="weighted_vote",
    )
    # .4 against .9, or 2 against 1.
    assert mismatch({**value, "label": "REJECT"}) is None
    assert mismatch({**value, "label": "KEEP"}) is None
    assert mismatch({**value, "label": "SPLIT"}) is not None
