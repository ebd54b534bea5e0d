"""Two thirds of those who committed: of labels, of votes, and as a strategy like the others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk import Panel
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jury.ballot import ballot
from reviewdesk.domain.jury.quorum import own_share, supermajority, vote_decision
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.composition import strategy_breakdown
from reviewdesk.domain.panel.hash import panel_hash
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec, panel_of
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.errors import UsageError
from tests.domain.bodies import body, juror, maybe, read

LABELS = st.lists(maybe(st.sampled_from("ABC")), max_size=9)


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
def test_who_wins(
    labels: list[str | None], share: float | str, winner: str | None, reason: str | None
) -> None:
    found = supermajority(labels, share)
    assert (found.label, found.reason) == (winner, reason)


@given(LABELS)
def test_a_winner_has_the_share_and_the_order_does_not_matter(labels: list[str | None]) -> None:
    found = supermajority(labels)
    committed = [label for label in labels if label is not None]
    assert found.committed == len(committed)
    if found.label is not None:
        assert Fraction(committed.count(found.label), len(committed)) >= Fraction(2, 3)
        assert len(committed) >= 3
    assert supermajority(labels[::-1]).label == found.label


@pytest.mark.parametrize("share", [0.5, "1/2", "3/2", 0.0, "x", "2/0", float("nan"), float("inf")])
def test_a_share_that_two_labels_could_have_is_refused(share: float | str) -> None:
    with pytest.raises(UsageError, match="over 1/2"):
        supermajority(["A", "A", "A"], share)


@pytest.mark.parametrize(
    ("passes", "answered", "share", "decision"),
    [
        # 2/3 of 3 is 2, and 2/3 of 5 is 3.33.
        (2, 3, None, "pass"),
        (1, 3, None, "fail"),
        (3, 5, None, "inconclusive"),
        (4, 5, None, "pass"),
        (2, 3, 0.67, "inconclusive"),
        (3, 4, "3/4", "pass"),
        (1, 4, "3/4", "fail"),
        (2, 4, "3/4", "inconclusive"),
        # Three must commit.
        (2, 2, None, "inconclusive"),
    ],
)
def test_votes(passes: int, answered: int, share: float | str | None, decision: str) -> None:
    assert vote_decision(passes, answered, share) == decision


def super_panel(*scores: float | None, **more: Any) -> Any:
    """Jurors that vote by .5; one of no score abstains."""
    seats = [
        juror(f"j{n}", score, **({"status": "abstained"} if score is None else {}))
        for n, score in enumerate(scores)
    ]
    return body(*seats, **{"threshold": 0.5, "strategy": "supermajority", **more})


def test_it_counts_those_who_committed_and_not_the_seats() -> None:
    # Two of three votes pass; of five seats that would be 40%.
    asked = super_panel(0.9, 0.8, 0.1)
    unasked = [juror(f"x{seat}", status="not_asked") for seat in range(2)]
    found = assess(read(asked | {"jurors": asked["jurors"] + unasked}))
    assert (found.decision, found.rule.used) == (Decision.PASS, Strategy.SUPERMAJORITY)
    # The quorum is another key, and no share.
    assert assess(read(super_panel(0.9, 0.8, 0.1, quorum=1.0))).decision is Decision.PASS
    few = assess(read(super_panel(0.9, 0.8, None)))
    assert few.decision is Decision.INCONCLUSIVE
    assert assess(read(super_panel(None, None, None))).decision is None


def test_the_share_of_our_own_report_is_read_and_any_other_word_is_none() -> None:
    def decision(word: object) -> Decision | None:
        own = {"meta": {"reviewdesk": {"supermajority": word}}}
        return assess(read(super_panel(0.9, 0.8, 0.1, **own))).decision

    assert decision("3/4") is Decision.INCONCLUSIVE
    for word in ("1/2", "x", "9" * 40, "2/0", 7, None, "٣/٤"):
        assert decision(word) is Decision.PASS


def labels(*words: str | None, **more: Any) -> Any:
    return super_panel(**more) | {
        "jurors": [{"id": f"j{n}", "label": word} for n, word in enumerate(words)]
    }


@pytest.mark.parametrize(
    ("words", "label", "decision"),
    [
        (("KEEP", "KEEP", "REJECT"), "KEEP", "pass"),
        (("REJECT", "REJECT", "REJECT", "UNCLEAR"), "REJECT", "fail"),
        (("KEEP", "KEEP", "REJECT", "SPLIT"), "UNCLEAR", "inconclusive"),
        (("KEEP", "KEEP"), "UNCLEAR", "inconclusive"),
        # Enough agree, on a word that is neither.
        (("SPLIT", "SPLIT", "SPLIT"), "SPLIT", None),
    ],
)
def test_labels_as_a_strategy(words: tuple[str, ...], label: str, decision: str | None) -> None:
    found = assess(read(labels(*words)))
    assert found.label_vote is not None
    assert (found.label_vote.label, found.decision) == (label, decision)


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
def test_a_live_verdict_reads_back_as_the_rule_that_decided(
    share: float | str, kept: str | None
) -> None:
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
    panel = panel_of(verdict, {}, {"openai": "api.openai.com"}, ())
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
    found = assess(read(super_panel(0.9, 0.8, 0.1, decision="fail")))
    assert found.mismatches == ("decision: reported fail, but supermajority gives pass",)
    # One that its labels leave open is not accused.
    assert not assess(read(labels("KEEP", "REJECT", "SPLIT", decision="inconclusive"))).mismatches
