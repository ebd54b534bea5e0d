"""Labels that a panel declares, and figures from what jurors said, not from votes they lack."""

from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk import Panel, UsageError, ballot
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Flag
from reviewdesk.domain.jury.stopping import reachable
from reviewdesk.domain.jury.verdicts import verdicts_of
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.run.packing import DECISIONS
from reviewdesk.domain.values import Decision, Status, Strategy
from reviewdesk.domain.verdict import (
    Ballot,
    Generator,
    Policy,
    Verdict,
    as_juror,
    verdict_from_body,
)
from reviewdesk.domain.whatif import Variant, outcomes
from reviewdesk.stats import aggregate

LABELS: dict[str, Any] = {
    "labels": ["KEEP", "REJECT", "SPLIT"], "passing": ["KEEP"], "failing": ["REJECT"],
}  # fmt: skip


def words(*said: str) -> list[Ballot]:
    return [ballot(f"j{seat}", label=word) for seat, word in enumerate(said)]


def counted(*said: str, strategy: str = "majority", **rule: Any) -> Assessment:
    return Panel(strategy, **{**LABELS, **rule}).aggregate(words(*said))


@pytest.mark.parametrize("strategy", ["unanimous", "supermajority", "first_disagreement"])
def test_the_fallback_label_is_inconclusive(strategy: str) -> None:
    found = counted("KEEP", "REJECT", "SPLIT", strategy=strategy)
    assert found.decision is Decision.INCONCLUSIVE
    # Also if the fallback is a label that passes: nobody, or not everybody, gave it.
    keeping = counted("KEEP", "REJECT", "SPLIT", strategy=strategy, fallback="KEEP")
    assert keeping.decision is Decision.INCONCLUSIVE
    assert counted("KEEP", "KEEP", "KEEP", strategy=strategy).decision is Decision.PASS


def test_a_fallback_is_inconclusive_if_chosen_and_given_where_nobody_answered() -> None:
    labels = ["KEEP", "REJECT", "UNCLEAR"]
    assert counted("UNCLEAR", "UNCLEAR", "KEEP", labels=labels).decision is Decision.INCONCLUSIVE
    lost = [ballot("a", error="down"), ballot("b", error="down")]
    for strategy in ("majority", "unanimous", "weighted_vote", "first_disagreement"):
        found = aggregate(lost, strategy, fallback="UNCLEAR")
        assert found.label_vote is not None
        assert (found.label_vote.label, found.decision) == ("UNCLEAR", Decision.ERROR)


def test_a_word_outside_the_labels_is_a_failed_ballot() -> None:
    found = counted("KEEP", "MAYBE", "REJECT", "REJECT")
    lost = found.seats[1].ballot
    assert (lost.status, lost.vote) == (Status.PARSE_FAIL, None)
    assert lost.error == "the juror says MAYBE, and the labels are KEEP, REJECT, SPLIT"
    assert found.decision is Decision.FAIL
    assert found.degraded == ("3 of 4 jurors answered",)


def test_figures_follow_from_what_was_said() -> None:
    # One of three pairs agrees: 2/3 - 1. Of the votes alone, both pass: they would agree in full.
    found = counted("KEEP", "SPLIT", "KEEP")
    assert found.agreement.spread.raw == pytest.approx(-1 / 3)
    assert found.agreement.alpha == 0.0
    assert (found.unanimous_votes, found.unanimous_scores, found.split) == (False, False, True)
    assert [seat.dissent for seat in found.seats] == [False, True, False]
    assert Flag.SPLIT in found.flags
    assert Flag.DERIVED_LOW in found.flags
    assert Flag.PIVOTAL in found.flags
    assert found.escalation == ("low agreement", "one vote decides")
    # Two of three said it: that is how far the panel supports a pass.
    assert found.score == pytest.approx(2 / 3)
    # Three committed jurors are needed, so that no other label of the one who answered turns it.
    alone = [*words("KEEP"), ballot("j1", error="down")]
    assert Panel("supermajority", **LABELS).aggregate(alone).pivotal == ()


def test_two_labels_are_two_answers_also_where_both_pass_or_no_vote_is_told() -> None:
    both = counted("KEEP", "MERGE", "KEEP", labels=["KEEP", "MERGE", "REJECT"],
                   passing=["KEEP", "MERGE"])  # fmt: skip
    assert (both.votes.passes, both.votes.answered) == (3, 3)
    assert both.agreement.spread.raw == pytest.approx(-1 / 3)
    assert (both.unanimous_votes, both.split) == (False, True)
    found = labelled("KEEP", "REJECT")
    # A tie goes to the label seen first, as in cross-judge; nobody is told that it is clear.
    assert found.decision is Decision.PASS
    assert found.agreement.spread.raw == -1.0
    assert found.agreement.spread.reason is None
    assert Flag.SINGLE_JUROR not in found.flags
    assert found.flags >= Flag.ESCALATED | Flag.SPLIT | Flag.PIVOTAL
    note = next(one for one in found.notes if one.flag is Flag.SPLIT)
    assert note.reason == "1 KEEP, 1 REJECT"


def labelled(*said: str, strategy: str | None = "majority", **more: Any) -> Assessment:
    jurors = [{"id": f"c{seat}", "label": word} for seat, word in enumerate(said)]
    body: Any = {"id": "v", "case": {"test": "v"}, "jurors": jurors, "strategy": strategy, **more}
    made = {key: value for key, value in body.items() if value is not None}
    return assess(verdict_from_body(made), escalation_stated=False)


def test_labels_beside_votes_that_one_of_them_lacks() -> None:
    # What a cross-judge file becomes: SPLIT has no vote, the others have one, and a score.
    jurors: list[Any] = [
        {"id": "c0", "label": "KEEP", "pass": True, "score": 0.9},
        {"id": "c1", "label": "SPLIT", "pass": None},
        {"id": "c2", "label": "KEEP", "pass": True, "score": 0.9},
    ]
    found = labelled(strategy="majority", jurors=jurors, label="KEEP", decision="pass")
    assert found.agreement.spread.raw == pytest.approx(-1 / 3)
    assert (found.agreement.sd, found.agreement.range) == (None, None)
    assert (found.unanimous_scores, found.unanimous_votes) == (False, False)
    assert [seat.dissent for seat in found.seats] == [False, True, False]
    # The same without a rule or a consensus that labels could have given.
    assert labelled(strategy=None, jurors=jurors).agreement.spread.raw == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"priority": "KEEP"}, "priority is 'KEEP'"),
        ({"labels": "KEEP"}, "labels is 'KEEP'"),
        ({"labels": ["KEEP"]}, "labels has 1 labels"),
        ({"labels": ["KEEP", "keep."]}, "labels has 'KEEP' and 'keep.'"),
        ({"labels": ["KEEP", "ERROR"]}, "labels has 'ERROR'"),
        ({"labels": ["KEEP", "x\ny"]}, "labels has 'x\\ny'"),
        ({"labels": ["KEEP", "NO"], "passing": ["KEPT"]}, "passing has 'KEPT'"),
        (
            {"labels": ["A", "B"], "passing": ["A"], "failing": ["a"]},
            "'A' is in both passing and failing",
        ),
        ({"labels": ["A", "B"], "priority": ["C"]}, "priority has 'C'"),
        ({"passing": ["KEEP"]}, "passing is given without labels"),
        ({"fallback": ""}, "fallback is ''"),
        ({"strategy": "mean", "labels": ["A", "B"]}, "labels cannot be used with mean"),
        ({"regime": "irreversible", "labels": ["A", "B"]}, "labels cannot be used with median"),
    ],
)
def test_labels_that_no_panel_can_use_are_refused(rule: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as error:
        Panel(**rule)
    assert error.value.message.startswith(told)


def test_labels_without_meanings_take_those_of_their_words() -> None:
    panel = Panel(labels=["yes", "no", "unsure"])
    assert panel.strategy_for(()) is Strategy.MAJORITY
    assert (panel.rule.passing, panel.rule.failing) == (("yes",), ("no",))


def test_labels_are_asked_for_and_hashed_only_where_they_are_set() -> None:
    panel = Panel("majority", routes={"hard": "trimmed_mean"}, **LABELS)
    assert panel.wants_labels(())
    assert not panel.wants_labels(["hard"])
    scored = [ballot("a", 0.9), ballot("b", 0.8)]
    assert panel.aggregate(scored, tags=["hard"]).decision is Decision.PASS
    assert "labels" in panel.rule_body(None, ())
    assert "labels" not in panel.rule_body(None, ["hard"])
    plain, declared = Panel("majority"), Panel("majority", **LABELS)
    other = Panel("majority", **{**LABELS, "passing": ["KEEP", "SPLIT"]})
    assert len({panel.hash("r") for panel in (plain, declared, other)}) == 3
    # The hash of a panel without labels is that of earlier versions.
    assert "labels" not in plain.rule_body("r", ())


def verdict_of(panel: Panel, ballots: list[Ballot]) -> Verdict:
    read = verdict_from_body(panel.body(Case("case", ""), [as_juror(one) for one in ballots]))
    return replace(read, policy=replace(read.policy, counting=panel.counting_for(())))


def sides(*said: str | None, strategy: str) -> set[str | None]:
    """Return what can still be decided; ``None`` is a juror that was not asked yet."""
    ballots = [
        ballot(f"j{seat}", label=word) if word else ballot(f"j{seat}", status="not_asked")
        for seat, word in enumerate(said)
    ]
    [bits] = reachable(verdicts_of([verdict_of(Panel(strategy, **LABELS), ballots)]), missing=False)
    return {one for code, one in enumerate((*DECISIONS, None)) if bits >> code & 1}


def test_a_panel_of_labels_stops_when_no_other_label_can_win() -> None:
    keep, fail = "KEEP", Decision.FAIL
    assert sides(keep, keep, keep, None, None, strategy="majority") == {Decision.PASS}
    # Three more could outvote the two; two could tie, which the label that comes first wins.
    assert fail in sides(keep, keep, None, None, None, strategy="majority")
    assert sides(keep, keep, None, None, strategy="majority") == {Decision.PASS}
    assert fail in sides(None, keep, strategy="majority")
    assert sides(keep, "REJECT", None, strategy="unanimous") == {Decision.INCONCLUSIVE}
    assert Decision.INCONCLUSIVE in sides(keep, keep, None, strategy="unanimous")
    # 4 of 5 stay over two thirds of 6, and 3 of 4 do not stay over it: 3 of 5 is less.
    four = (keep, keep, keep, keep, "SPLIT")
    assert sides(*four, None, strategy="supermajority") == {Decision.PASS}
    assert len(sides(*four[1:], None, strategy="supermajority")) > 1


def test_other_rules_read_the_votes_and_never_replay_the_labels() -> None:
    verdict = verdict_of(Panel("majority", **LABELS), words("KEEP", "SPLIT", "KEEP"))
    own, dropped, quorum = outcomes(
        verdict, [Variant(), Variant(dropped="j0"), Variant(Strategy.QUORUM, quorum=1.0)]
    )
    assert (own.decision, dropped.decision) == (None, None)
    # Two of three seats pass.
    assert quorum.decision is Decision.FAIL
    # Where scores stand beside labels that no rule of the panel counts, the scores decide.
    jurors = [{"id": f"c{at}", "label": "KEEP", "score": 0.1} for at in range(3)]
    scored: Any = {"id": "v", "case": {"test": "v"}, "jurors": jurors, "strategy": "mean"}
    for more in ({}, {"label": "KEEP"}, {"strategy": "majority", "label": "KEEP"}):
        verdict = verdict_from_body({**scored, **more}, Policy(threshold=0.5), Generator())
        [own] = outcomes(verdict, [Variant()])
        assert own.decision is Decision.FAIL, more
