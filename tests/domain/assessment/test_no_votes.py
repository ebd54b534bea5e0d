"""Where nobody voted and somebody abstained or withheld its vote, nothing is decided."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.run.tally import RunTally
from reviewdesk.domain.run.window import WindowReader
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.domain.whatif.item import outcomes
from reviewdesk.domain.whatif.policies import whole
from tests.domain.bodies import GRID, body, juror, read
from tests.domain.whatif.test_bulk import together

WITHHELD: Any = {"pass": None}
RULES = st.fixed_dictionaries(
    {
        "threshold": GRID,
        "quorum": st.sampled_from([0.5, "2/3", 1.0]),
        "strategy": st.sampled_from([*Strategy, None]),
    }
)


@st.composite
def silent(draw: st.DrawFn) -> Any:
    """A panel that casts no vote: abstentions, whatever they carry, and withheld votes."""
    said: list[Any] = [
        WITHHELD | {"status": "abstained"},
        {"status": "abstained"},
        WITHHELD,
    ]
    seats = [
        juror(f"j{n}", draw(GRID), **draw(st.sampled_from(said)))
        for n in range(draw(st.integers(1, 6)))
    ]
    return body(*seats, **draw(RULES))


@pytest.mark.slow
@given(silent())
def test_no_rule_decides_and_none_would(value: Any) -> None:
    found = assess(read(value))
    assert found.decision is None
    assert set(asdict(found.decisions).values()) == {None}
    assert Flag.NO_VERDICT in found.flags
    table = whole(["j0"])
    alone = [one.decision for one in outcomes(read(value), table)]
    assert alone == [None] * len(table)
    assert [together([value], variant)[0][1] for variant in table] == alone


@given(st.lists(GRID, min_size=1, max_size=6), RULES)
def test_an_abstention_counts_nowhere(scores: list[float], rule: Any) -> None:
    # The same panel with and without what the abstaining jurors say beside their status.
    said = [juror(f"j{n}", s, status="abstained", **WITHHELD) for n, s in enumerate(scores)]
    bare = [juror(f"j{n}", status="abstained", **WITHHELD) for n in range(len(scores))]
    voters = [juror("x", 0.9), juror("y", 0.2)]
    with_, without = (assess(read(body(*voters, *quiet, **rule))) for quiet in (said, bare))
    assert with_.agreement == without.agreement
    assert (with_.votes, with_.values, with_.decisions) == (
        without.votes, without.values, without.decisions,
    )  # fmt: skip


def test_withheld_scores_count_in_values_and_not_in_votes() -> None:
    # A mean of .9, .3 and .3 is .5; one juror votes, of three that sit.
    value = body(
        juror("a", 0.9), *(juror(name, 0.3, **WITHHELD) for name in "bc"),
        threshold=0.5, quorum=0.5,
    )  # fmt: skip
    found = assess(read(value))
    assert (found.votes.passes, found.votes.answered, found.votes.seated) == (1, 1, 3)
    assert found.values.mean == pytest.approx(0.5)
    # A third of the seats is under the half; the mean meets the threshold.
    assert (found.decisions.quorum, found.decisions.mean) == (Decision.FAIL, Decision.PASS)


def tallied(value: Any) -> RunTally:
    """The tally of a run of one verdict."""
    reader = WindowReader({}, {}, "run")
    list(reader.windows([(value, None)]))
    return reader.tally


@pytest.mark.parametrize(
    ("seats", "reason"),
    [
        ([juror("a", 0.9, **WITHHELD)] * 3, "no votes: 3 withheld the vote"),
        ([juror("a", status="abstained")] * 2 + [juror("b", status="timeout")],
         "no votes: 2 abstained, 1 failed: timeout"),
        ([juror("a", status="unknown")], "no votes: 1 answer not understood"),
    ],
)  # fmt: skip
def test_it_is_flagged_and_says_why(seats: list[Any], reason: str) -> None:
    value = body(*seats, threshold=0.5, quorum=0.5, escalate_for_review=False)
    verdict = read(value)
    found = assess(verdict)
    [note] = [note for note in found.notes if note.flag is Flag.NO_VERDICT]
    assert note.reason == reason
    tally = tallied(value)
    # Stratum 2 is flagged/none; the report says that it asks for no review.
    assert tally.strata().tolist() == [2]
    assert (tally.voteless, tally.undecidable) == (1, 0)


def test_a_score_that_waits_for_a_threshold_may_still_vote() -> None:
    value = body(juror("a", 0.9), juror("b", status="abstained"))
    found = assess(read(value))
    assert (found.decision, found.no_votes) == (None, False)
    tally = tallied(value)
    assert (tally.voteless, tally.undecidable) == (0, 1)


def test_a_label_is_a_vote_of_its_own() -> None:
    found = assess(read(body(juror("a", label="MERGE"), strategy="majority")))
    assert (found.decision, found.no_votes) == (None, False)
