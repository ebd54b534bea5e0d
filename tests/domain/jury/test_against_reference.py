"""The columns give what plain formulas give of each verdict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jury.panels import Panels
from reviewdesk.domain.jury.verdicts import Verdicts, verdicts_of
from reviewdesk.domain.run.packing import DECISIONS, NOTHING
from reviewdesk.domain.verdict import Strategy, Verdict
from tests.domain import reference
from tests.domain.bodies import bodies, maybe, read

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
            assert found.words.decision[at] == _code(words.decision)
            assert (
                found.sheet.labels.words.spelled[found.words.label[at]].casefold()
                == words.word.casefold()
            )
        else:
            assert tuple(found.pivotal[:, at].nonzero()[0]) == reference.pivotal(verdict)


def _code(decision: Any) -> int:
    return NOTHING if decision is None else DECISIONS.index(decision)


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
