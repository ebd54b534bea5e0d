from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from reviewdesk import Panel
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Decisions, Flag, Values
from reviewdesk.domain.jury.label_rules import supermajority
from reviewdesk.domain.jury.panels import Panels
from reviewdesk.domain.jury.rules import STRATEGIES, Reads, own_share
from reviewdesk.domain.jury.verdicts import Verdicts, verdicts_of
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.composition import strategy_breakdown
from reviewdesk.domain.panel.hash import panel_hash
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec, panel_of
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.run.packing import DECISIONS, NOTHING
from reviewdesk.domain.values import LABEL_RULES
from reviewdesk.domain.verdict import Decision, Strategy, Verdict, ballot
from reviewdesk.errors import UsageError
from tests.domain import reference
from tests.domain.bodies import assessed, bodies, body, juror, maybe, panel, read

PASS, FAIL, OPEN = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE


def test_the_registry_holds_every_strategy_and_whatever_goes_over_them() -> None:
    assert list(STRATEGIES) == list(Strategy)
    for strategy, method in STRATEGIES.items():
        assert method.strategy is strategy
    assert STRATEGIES[Strategy.TRIMMED_MEAN].title == "trimmed mean"
    assert {field.name for field in fields(Values)} <= set(STRATEGIES)
    readings = {field.name for field in fields(Decisions)} - set(STRATEGIES)
    assert readings == {"quorum_strict", "quorum_answered"}
    assert set(LABEL_RULES) <= set(STRATEGIES)
    assert {s for s, method in STRATEGIES.items() if method.reads is Reads.LABELS} <= set(
        LABEL_RULES
    )


def test_a_split_under_unanimity_has_no_value_and_goes_to_a_person() -> None:
    split = assessed(panel(0.71, 0.72, 0.69), threshold=0.7, strategy="unanimous")
    assert (split.score, split.values.unanimous, split.decision) == (None, None, OPEN)
    assert "the rule asks for unanimity, and the jurors differ" in split.escalation
    # Under another rule the same split is no breach of unanimity.
    other = assessed(panel(0.71, 0.72, 0.69), threshold=0.7, strategy="mean")
    assert "the rule asks for unanimity, and the jurors differ" not in other.escalation


def _waiting(strategy: str, **more: Any) -> Any:
    """One stated pass, two failing scores and one high: without a threshold three votes wait."""
    seats = (juror("a", **{"pass": True}), juror("b", 0.1), juror("c", 0.2), juror("d", 0.9))
    return body(*seats, strategy=strategy, quorum=0.5, **more)


@pytest.mark.parametrize(
    ("strategy", "at_half"),
    # At .5 the votes are +, -, -, +: two of four meet the half, tie, and split.
    [("quorum", PASS), ("majority", OPEN), ("unanimous", OPEN), ("single", None)],
)
def test_votes_that_wait_for_a_threshold_are_not_left_out(strategy: str, at_half: Any) -> None:
    found = assessed(_waiting(strategy))
    assert (found.votes.passes, found.votes.answered, found.votes.unknown) == (1, 1, 3)
    assert (found.decision, found.pivotal, found.escalation) == (None, (), ("low agreement",))
    made = found.decisions
    assert {made.quorum, made.quorum_strict, made.quorum_answered} == {None}
    assert {made.majority, made.unanimous} == {None}
    assert (found.values.majority, found.values.unanimous) == (None, None)
    [note] = [note.reason for note in found.notes if note.flag is Flag.NO_VERDICT]
    assert "--threshold" in note
    assert assessed(_waiting(strategy, threshold=0.5)).decision is at_half


@pytest.mark.parametrize(
    ("labels", "share", "winner", "reason"),
    [
        # Exactly two thirds are enough, and 66 of 100 are not.
        (["A", "A", "B"], "2/3", "A", None),
        (["A"] * 66 + ["B"] * 34, "2/3", None, "66 of 100 is under 2/3"),
        (["A"] * 67 + ["B"] * 33, "2/3", "A", None),
        # As a float 0.67 is more than two thirds.
        (["A", "A", "B"], 0.67, None, "2 of 3 is under 0.67"),
        (["a", "A ", "B"], "2/3", "a", None),
        # Three must commit: an empty seat, UNCLEAR and a failed call do not.
        (["A", "A"], "2/3", None, "2 committed, 3 are needed"),
        (["A", "A", None, "", "UNCLEAR", "ERROR", "PARSE_FAIL"], "2/3", None,
         "2 committed, 3 are needed"),
        (["A", "A", "A", None, None, None], "2/3", "A", None),
        ([], "2/3", None, "0 committed, 3 are needed"),
        (["A", "A", "A", "B"], "1/1", None, "3 of 4 is under 1/1"),
        (["A", "B", "C"], "2/3", None, "1 of 3 is under 2/3"),
    ],
)  # fmt: skip
def test_who_wins(labels: Any, share: float | str, winner: str | None, reason: str | None) -> None:
    found = supermajority(labels, share)
    assert (found.label, found.reason) == (winner, reason)


@pytest.mark.parametrize("share", [0.5, "1/2", "3/2", 0.0, "x", "2/0", float("nan"), float("inf")])
def test_a_share_that_two_labels_could_have_is_refused(share: float | str) -> None:
    with pytest.raises(UsageError, match="over 1/2"):
        supermajority(["A", "A", "A"], share)


def super_panel(*scores: float | None, **more: Any) -> Any:
    """Jurors that vote by .5; one of no score abstains."""
    seats = [
        juror(f"j{n}", score, **({"status": "abstained"} if score is None else {}))
        for n, score in enumerate(scores)
    ]
    return body(*seats, **{"threshold": 0.5, "strategy": "supermajority", **more})


def test_the_share_of_our_own_report_is_read_and_any_other_word_is_none() -> None:
    def decision(word: object) -> Decision | None:
        own = {"meta": {"reviewdesk": {"supermajority": word}}}
        return assessed(super_panel(0.9, 0.8, 0.1, **own)).decision

    assert decision("3/4") is Decision.INCONCLUSIVE
    for word in ("1/2", "x", "9" * 40, "2/0", 7, None, "٣/٤"):
        assert decision(word) is Decision.PASS


def labels(*words: str | None, **more: Any) -> Any:
    return super_panel(**more) | {
        "jurors": [{"id": f"j{n}", "label": word} for n, word in enumerate(words)]
    }


def test_a_library_panel_decides_by_it() -> None:
    cast = [ballot(name, score) for name, score in zip("abc", (0.9, 0.8, 0.1), strict=True)]
    assert Panel("supermajority").decide(cast).decision is Decision.PASS
    assert Panel("supermajority", supermajority="3/4").decide(cast).decision is (
        Decision.INCONCLUSIVE
    )
    with pytest.raises(UsageError, match=r"supermajority is 0\.5"):
        PanelRule("supermajority", supermajority=0.5)


@pytest.mark.parametrize(
    ("share", "kept"), [("2/3", None), ("4/6", None), ("6/8", "3/4"), (0.75, "3/4"), (1.0, "1")]
)
def test_a_live_verdict_reads_back_as_the_rule_that_decided(share: Any, kept: str | None) -> None:
    jurors = tuple(Juror(f"j{n}", "m", "openai") for n in range(3))
    spec = PanelSpec("p", jurors, PanelRule("supermajority", supermajority=share))
    cast = [juror(f"j{n}", score, model="m") for n, score in enumerate((0.9, 0.8, 0.1))]
    made = verdict_body(Case("c", "text"), spec, cast)
    assert (made.get("meta") or {}) == ({"reviewdesk": {"supermajority": kept}} if kept else {})
    verdict = read(made)
    assert verdict.policy.supermajority == kept
    again = read({key: value for key, value in made.items() if key not in {"decision", "score"}})
    assert assess(again).decision == assess(verdict).decision
    # Whoever asks again, asks under the same share.
    panel = panel_of(verdict, {}, ())
    assert own_share(panel.rule.supermajority) == kept


def test_the_hash_holds_a_share_that_is_not_the_default() -> None:
    rule = {"strategy": "supermajority", "threshold": 0.7}
    plain = panel_hash([], rule)
    assert panel_hash([], rule | {"supermajority": "2/3"}) == plain
    assert panel_hash([], rule | {"supermajority": "4/6"}) == plain
    other = panel_hash([], rule | {"supermajority": "3/4"})
    assert other != plain
    assert other == panel_hash([], rule | {"supermajority": 0.75})


def test_what_it_bears() -> None:
    def borne(seats: int, share: float | str = "2/3") -> str:
        rule = PanelRule("supermajority", supermajority=share)
        return str(strategy_breakdown(Strategy.SUPERMAJORITY, rule, seats))

    # Nine agree: three may turn and 6/9 is still two thirds. Of five one may: 4/5, and 3/5 is less.
    assert borne(9) == "tolerates 3 of 9, breaks at 4"
    assert borne(5) == "tolerates 1 of 5, breaks at 2"
    # One of three that abstains leaves two, which are too few.
    assert borne(3) == "tolerates 0 of 3, breaks at 1"
    assert borne(4, "1/1") == "tolerates 0 of 4, breaks at 1"
    assert borne(2) == "None"


def test_a_report_is_held_to_it() -> None:
    found = assessed(super_panel(0.9, 0.8, 0.1, decision="fail"))
    assert found.mismatches == ("decision: reported fail, but supermajority gives pass",)
    # One that its labels leave open is not accused.
    assert not assessed(labels("KEEP", "REJECT", "SPLIT", decision="inconclusive")).mismatches


LABELS = ["KEEP", "keep ", "REJECT", "SPLIT", "UNCLEAR", "ERROR", "", None]
DECLARED: Any = {"labels": ["KEEP", "REJECT", "SPLIT"], "passing": ["KEEP"], "failing": ["REJECT"]}


@st.composite
def every_kind(draw: st.DrawFn) -> Any:
    """A verdict as a report of this program may state it, with or without labels."""
    made = draw(bodies())
    own: dict[str, Any] = {
        "failed_jurors": draw(maybe(st.just("median"))),
        "supermajority": draw(maybe(st.sampled_from(["3/4", "1", "no"]))),
        "min_answered": draw(maybe(st.sampled_from([1, 3, "1/2", "1/1"]))),
        **draw(st.sampled_from([{}, {}, DECLARED, DECLARED | {"priority": ["SPLIT"]}])),
    }
    if draw(st.booleans()):
        for juror in made["jurors"]:
            juror["label"] = draw(st.sampled_from(LABELS))
        made["label"] = draw(st.sampled_from(["KEEP", "SPLIT", "DISAGREE", None]))
    for juror in made["jurors"][draw(st.integers(0, 9)) :]:
        if draw(st.integers(0, 9)) == 0:
            juror["status"] = "not_asked"
    return made | {"meta": {"reviewdesk": own}}


VERDICTS = st.lists(every_kind().map(read), min_size=1, max_size=5)


def decisions(codes: Any) -> list[Any]:
    return [None if code == NOTHING else DECISIONS[code] for code in codes.tolist()]


def near(ours: Any, theirs: list[float | None]) -> None:
    known = [None if one != one else one for one in ours.tolist()]  # noqa: PLR0124 - NaN
    assert known == [None if one is None else pytest.approx(one, abs=1e-12) for one in theirs]


@pytest.mark.slow
@given(VERDICTS)
def test_every_rule(verdicts: list[Verdict]) -> None:
    panels = verdicts_of(verdicts).panels
    for strategy in Strategy:
        expected = [reference.decide(strategy, one) for one in verdicts]
        assert decisions(panels.by(strategy)) == expected, strategy
        if strategy in reference.SCORED:
            scores = [[ballot.score for ballot in one.ballots] for one in verdicts]
            pairs = zip(verdicts, scores, strict=True)
            near(panels.valued_by(strategy), [reference.value(strategy, *one) for one in pairs])


@given(VERDICTS)
def test_the_verdict(verdicts: list[Verdict]) -> None:
    found = verdicts_of(verdicts)
    assert decisions(found.decision) == [reference.decision(one) for one in verdicts]
    near(found.agreement, [reference.agreement(one) for one in verdicts])
    assert found.open[0].tolist() == [reference.is_open(one) for one in verdicts]
    for at, verdict in enumerate(verdicts):
        words = reference.recount(verdict, reference.rules(verdict)[1])
        assert bool(found.counts[at]) is (words is not None)
        if words is not None:
            assert decisions(found.words.decision[[at]]) == [words.decision]
            assert (
                found.sheet.labels.words.spelled[found.words.label[at]].casefold()
                == words.word.casefold()
            )
        else:
            assert tuple(found.pivotal[:, at].nonzero()[0]) == reference.pivotal(verdict)


@pytest.mark.slow
@given(VERDICTS)
def test_one_verdict_is_a_column_of_length_one(verdicts: list[Verdict]) -> None:
    together = verdicts_of(verdicts)
    for at, verdict in enumerate(verdicts):
        alone = verdicts_of([verdict])
        assert alone.flags.tolist() == [together.flags[at]]
        assert alone.escalated.tolist() == [together.escalated[at]]
        near(alone.score, [None if one != one else one for one in together.score[[at]].tolist()])  # noqa: PLR0124


@pytest.mark.slow
@given(VERDICTS)
def test_values_that_are_not_exact_decide_the_same(verdicts: list[Verdict]) -> None:
    exact: Verdicts = verdicts_of(verdicts)
    loose = Panels(exact.sheet.columns)
    for strategy in Strategy:
        assert loose.by(strategy).tolist() == exact.panels.by(strategy).tolist()
