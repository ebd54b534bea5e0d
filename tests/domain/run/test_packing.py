"""A run's ballots as bytes say what its verdicts say, however they were put into windows."""

import struct
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.run.columns import unpacked
from reviewdesk.domain.run.packing import DECISIONS, ROUNDINGS, STRATEGIES, PackedRun, seat_names
from reviewdesk.domain.values import Decision, Rounding
from reviewdesk.domain.verdict import Generator, Policy, Strategy, Verdict, verdict_from_body
from tests.domain.bodies import MODELS, STATUSES, UNIT, body, columns, juror, packed

RULE = Policy(threshold=0.5, quorum="2/3", strategy=Strategy.MEAN)


def assessed(made: Any, policy: Policy = RULE) -> tuple[Verdict, Assessment]:
    verdict = verdict_from_body(made, policy, Generator())
    return verdict, assess(verdict)


@st.composite
def seats(draw: st.DrawFn) -> Any:
    made: Any = {"id": draw(st.sampled_from("abc")), "model": draw(st.sampled_from(MODELS))}
    if draw(st.booleans()):
        made["score"] = draw(UNIT)
    if draw(st.booleans()):
        made["pass"] = draw(st.sampled_from([True, False, None]))
    if draw(st.booleans()):
        made["status"] = draw(st.sampled_from(STATUSES))
    if draw(st.booleans()):
        made["weight"] = draw(st.floats(0.1, 5))
    return made


BODIES = st.builds(
    body,
    st.just({"id": "z", "score": 0.5}),
    threshold=st.sampled_from([0.3, 0.5]),
    quorum=st.sampled_from([0.5, "2/3", None]),
    strategy=st.sampled_from([*Strategy, None]),
)
RAGGED = st.lists(st.lists(seats(), max_size=6).map(lambda jurors: body(*jurors)) | BODIES)


def said(verdict: Verdict, made: Assessment) -> list[Any]:
    """What the columns must say of one verdict, read from its records."""
    place = {None: -1, False: 0, True: 1}
    return [
        len(verdict.ballots),
        [ballot.score for ballot in verdict.ballots],
        [place[ballot.vote] for ballot in verdict.ballots],
        [ballot.usable and ballot.withheld for ballot in verdict.ballots],
        [ballot.status.failed for ballot in verdict.ballots],
        [ballot.weight for ballot in verdict.ballots],
        [ballot.id for ballot in verdict.ballots],
        verdict.policy.threshold, verdict.policy.quorum, made.rule.strategy, made.trim.fraction,
        made.trim.rounding,
        made.decision if made.decision is not Decision.ERROR else None,
        made.score,
    ]  # fmt: skip


def read(found: PackedRun, count: int) -> list[list[Any]]:
    """The same from the columns."""
    laid = unpacked(found, range(count))

    def known(value: Any) -> float | None:
        return None if isnan(value) else float(value)

    return [
        [
            int(laid.seated[i]),
            [known(score) for score in laid.scores[: laid.seated[i], i]],
            laid.votes[: laid.seated[i], i].tolist(),
            (laid.withheld & ~laid.missing & ~laid.not_asked)[: laid.seated[i], i].tolist(),
            laid.failed[: laid.seated[i], i].tolist(),
            [known(weight) for weight in laid.weights[: laid.seated[i], i]],
            [laid.names[j].partition("#")[0] for j in laid.juror[: laid.seated[i], i]],
            known(laid.threshold[i]),
            None if laid.quorum[i] < 0 else laid.quorums[laid.quorum[i]],
            None if laid.strategy[i] < 0 else STRATEGIES[laid.strategy[i]],
            float(laid.fraction[i]),
            ROUNDINGS[laid.rounding[i]],
            None if laid.decision[i] < 0 else DECISIONS[laid.decision[i]],
            known(laid.score[i]),
        ]
        for i in range(count)
    ]


@given(RAGGED)
def test_the_columns_say_what_the_verdicts_say(bodies: list[Any]) -> None:
    rows = [assessed(made) for made in bodies]
    assert read(packed(one for one, _ in rows), len(rows)) == [said(*row) for row in rows]


@given(RAGGED, st.integers(1, 4))
def test_windows_behind_each_other_are_the_whole(bodies: list[Any], size: int) -> None:
    rows = [assessed(made)[0] for made in bodies]
    assert packed(rows, size) == packed(rows)


def test_the_bytes_are_the_same_on_every_machine() -> None:
    found = packed([assessed(body(juror("a", 0.25), juror("b", None, status="timeout")))[0]])
    # Little end first: 0.25, then NaN for the juror that gave none.
    assert found.columns["scores"][:8] == struct.pack("<d", 0.25)
    assert struct.unpack("<2d", found.columns["scores"])[1] != 0.25
    assert found.columns["seated"] == struct.pack("<i", 2)
    assert found.columns["juror"] == struct.pack("<2i", 0, 1)
    # A fail, and no vote, are 0 and 255 as bytes.
    assert found.columns["votes"] == b"\x00\xff"
    assert found.columns["failed"] == b"\x00\x01"


def test_every_code_has_a_place_that_stays() -> None:
    assert set(STRATEGIES) == set(Strategy)
    assert set(ROUNDINGS) == set(Rounding)
    assert set(DECISIONS) == set(Decision)
    # Desks hold these numbers.
    assert [STRATEGIES.index(s) for s in (Strategy.QUORUM, Strategy.MEAN, Strategy.EXTERNAL)] == [
        0, 4, 12,
    ]  # fmt: skip
    assert STRATEGIES.index(Strategy.SUPERMAJORITY) == 13
    assert ROUNDINGS.index(Rounding.UP) == 2
    assert [DECISIONS.index(d) for d in (Decision.FAIL, Decision.PASS)] == [0, 1]


def test_keys_of_other_verdicts_are_refused() -> None:
    rows = [assessed(body(juror("a", 0.5)))]
    assert columns((7, verdict) for verdict, _ in rows).key.tolist() == [7]
    with pytest.raises(ValueError, match="2 keys"):
        unpacked(packed(one for one, _ in rows), range(2))


def test_the_second_seat_of_one_id_has_a_name_of_its_own() -> None:
    assert seat_names(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]
    found = columns([(7, assessed(body(juror("a", 0.5), juror("a", 0.4)))[0])])
    assert (found.names, found.juror.T.tolist()) == (("a", "a#2"), [[0, 1]])
