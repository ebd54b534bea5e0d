"""A missing answer could have been anything: every answer is tried, and the panel must know."""

from typing import Any

import pytest

from reviewdesk import Case, Juror, Panel, ballot
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Flag
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.verdict import Decision, Policy
from reviewdesk.errors import UsageError
from tests.domain.bodies import body, juror, read

PASS, FAIL, OPEN, ERROR = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE, Decision.ERROR


def votes(text: str) -> list[dict[str, Any]]:
    """Ballots by a word such as ``ppf``: x failed, a abstained, u unknown, n not asked."""
    kinds: dict[str, dict[str, Any]] = {
        "p": {"score": 0.9}, "f": {"score": 0.1}, "x": {"status": "timeout"},
        "a": {"status": "abstained"}, "u": {"status": "unknown"}, "n": {"status": "not_asked"},
        "w": {"score": 0.9, "pass": None}, "-": {"pass": False}, "+": {"pass": True},
    }  # fmt: skip
    return [juror(f"j{seat}", **kinds[one]) for seat, one in enumerate(text)]


def decided(said: str, strategy: str, **more: Any) -> Assessment:
    own = {key: more.pop(key) for key in ("failed_jurors", "min_answered") if key in more}
    rule = {"threshold": 0.7, "quorum": 1.0, "meta": {"reviewdesk": own}, **more}
    return assess(read(body(*votes(said), strategy=strategy, **rule)), escalation_stated=False)


ONE = "1 of 5 jurors gave no vote, and its vote could change this"
TWO = "2 of 5 jurors gave no vote, and their votes could change this"


@pytest.mark.parametrize(
    ("strategy", "said", "decision", "why"),
    [
        ("unanimous", "ppppx", OPEN, ONE),
        ("unanimous", "ppppw", OPEN, ONE),
        ("unanimous", "ppppn", PASS, "1 of 5 jurors was not asked, and its vote could change this"),
        ("unanimous", "pppxx", OPEN, TWO),
        ("unanimous", "pppfx", OPEN, None),  # the dissent is there, whatever the fifth says
        ("unanimous", "pxxxx", OPEN, "4 of 5 jurors gave no vote, and their votes could change"),
        ("unanimous", "fxxxx", OPEN, "4 of 5 jurors gave no vote, and their votes could change"),
        ("lowest", "ppppx", OPEN, ONE),
        ("lowest", "pppfx", FAIL, None),  # no score can raise the lowest
        ("lowest", "ppppw", PASS, None),  # its score is there, and the vote is not read
        ("lowest", "pppp-", OPEN, None),  # a stated fail has no score, and is no pass
        ("lowest", "pppp-f", FAIL, None),
        ("lowest", "pppp+", PASS, None),
        ("supermajority", "ppppx", PASS, None),  # 4 of 5 or 5 of 5
        ("supermajority", "pppxx", OPEN, TWO),  # 3 of 5 at worst
        ("quorum", "ppppx", FAIL, ONE),  # a quorum of 1.0 keeps its five seats
        ("majority", "pppxx", PASS, None),
        ("majority", "ppffx", OPEN, ONE),
        ("highest", "ffffx", FAIL, ONE),
        ("median", "ppfxx", PASS, TWO),
        ("mean", "ppppx", PASS, None),  # 3.6 / 5 = .72 at least
        ("mean", "pppxx", PASS, TWO),  # 2.7 / 5 = .54 at least
    ],
)
@pytest.mark.parametrize("failed_jurors", [None, "median"])
def test_what_a_missing_answer_does_to_each_rule(
    strategy: str, said: str, decision: Decision, why: str | None, failed_jurors: str | None
) -> None:
    found = decided(said, strategy, failed_jurors=failed_jurors)
    assert found.decision is decision
    assert (found.absent or "").startswith(why or "\0") == (why is not None)
    assert (Flag.ESCALATED in found.flags) or why is None
    if decision is OPEN and strategy == "unanimous":
        assert found.score is None
        notes = {note.flag: note.reason for note in found.notes}
        assert why is None or notes[Flag.NO_VERDICT] == found.escalation[-1] == found.absent


@pytest.mark.parametrize(
    ("strategy", "labels", "decision", "is_open"),
    [
        ("unanimous", ["KEEP", "KEEP", None], OPEN, True),
        ("supermajority", ["KEEP", "KEEP", "KEEP", None], PASS, False),
        ("supermajority", ["KEEP", "KEEP", "KEEP", None, None], OPEN, True),
        ("majority", ["KEEP", "KEEP", None], PASS, False),
        ("majority", ["KEEP", "REJECT", "REJECT", None], FAIL, True),
        # A juror that says SPLIT answers, although it votes for neither side.
        ("majority", ["KEEP", "KEEP", "SPLIT"], PASS, False),
        ("unanimous", ["KEEP", "SPLIT", None], OPEN, False),
    ],
)
def test_declared_labels(strategy: str, labels: Any, decision: Decision, is_open: bool) -> None:
    declared: Any = {"labels": ["KEEP", "REJECT", "SPLIT"], "passing": ["KEEP"]}
    jurors = [Juror(f"j{seat}", "m", "ollama") for seat in range(len(labels))]
    panel = Panel(strategy, jurors=jurors, failing=["REJECT"], **declared)
    seats: Any = [
        {"id": f"j{seat}", **({"label": one} if one else {"status": "timeout"})}
        for seat, one in enumerate(labels)
    ]
    made = verdict_body(Case(id="c", output="x", rubric="r"), panel, seats)
    assert made["decision"] == decision
    assert made["escalate_for_review"] or not is_open
    found = assess(read(made))
    assert (found.absent is not None, found.mismatches) == (is_open, ())
    bare: Any = {key: one for key, one in made.items() if key not in {"decision", "score", "label"}}
    again = assess(read(bare))
    assert again.decision is decision
    # Nobody can turn what the missing answers leave open.
    assert (again.score, again.pivotal) == (None, ()) or not (is_open and decision is OPEN)


def test_a_rule_of_ones_own_could_make_anything_of_a_missing_answer() -> None:
    panel = Panel(aggregate=lambda _: ("KEEP", False))
    seats = [ballot("a", label="KEEP"), ballot("b", label="KEEP")]
    assert panel.decide(seats).absent is None
    lost = panel.decide([*seats, ballot("c", error="down")])
    assert lost.escalation == ("1 of 3 jurors gave no vote, and its vote could change this",)


def test_a_rerun_of_some_jurors_decides_nothing_for_those_that_nobody_asked() -> None:
    # The first juror was under the threshold, so four were not asked; now it is over it.
    seats: Any = votes("pnnnn")
    panel = Panel("lowest", jurors=[Juror(one["id"], "m", "ollama") for one in seats])
    made = verdict_body(Case(id="c", output="x", rubric="r"), panel, seats)
    assert (made["decision"], made["escalate_for_review"]) == ("inconclusive", True)
    assert made["escalation_reasons"] == [
        "4 of 5 jurors were not asked, and their votes could change this"
    ]
    seats = votes("fnnnn")
    made = verdict_body(Case(id="c", output="x", rubric="r"), panel, seats)
    assert (made["decision"], "escalate_for_review" in made) == ("fail", False)


@pytest.mark.parametrize(
    ("least", "said", "decision"),
    [
        (4, "ppppx", PASS), (4, "pppxx", ERROR), (4, "pppax", ERROR), (0.8, "ppppx", PASS),
        (0.81, "ppppx", ERROR), ("4/5", "ppppx", PASS), (1.0, "ppppx", ERROR), (1, "pxxxx", PASS),
        (6, "ppppp", ERROR),
        (3, "ppwxx", PASS),  # who withholds its vote answered
        (3, "ppnnn", ERROR),
    ],
)  # fmt: skip
def test_fewer_answers_than_wanted_are_an_error(least: Any, said: str, decision: Decision) -> None:
    found = decided(said, "mean", min_answered=least, threshold=0.5)
    assert found.decision is decision
    if decision is ERROR:
        count = sum(one in "pfw" for one in said)
        needed = {0.8: 4, 0.81: 5, "4/5": 4, 1.0: 5}.get(least, least)
        why = f"{count} of 5 jurors answered, and the panel needs {needed}"
        assert (found.escalation[0], found.score) == (why, None)
        # The value that it would have without the minimum.
        assert (found.values.majority == 1) is (said != "ppnnn")
        assert {Flag.ESCALATED, Flag.NO_VERDICT} <= {note.flag for note in found.notes}
        assert {note.reason for note in found.notes} >= {why}


def test_a_minimum_that_is_none() -> None:
    for bad in (0, -1, 0.0, 1.5, "3", "0/2", "3/2", "1/0", True, [1], float("nan"), "9" * 5000):
        with pytest.raises(UsageError, match="min_answered is"):
            Panel(min_answered=bad)  # type: ignore[arg-type]
        # In a report it is left out, as a bad share is.
        assert decided("pxxxx", "mean", min_answered=bad).decision is PASS
    assert Policy(min_answered="2/3").over(Policy(min_answered=2)).min_answered == "2/3"
    assert Panel(min_answered=0.6).min_answered == "3/5"
    with pytest.raises(UsageError, match=r"min_answered is 2, and the panel has 1 juror\."):
        Panel(min_answered=2, jurors=[Juror("a", "m", "ollama")])
