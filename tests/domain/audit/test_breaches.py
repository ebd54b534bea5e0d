from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flag_words import Breach, kinds
from tests.domain.bodies import bodies, body, juror, panel, read


def _marks(value: dict[str, Any], **defaults: Any) -> Breach:
    return assess(read(value, **defaults)).marks


def test_stored_bits_never_move() -> None:
    # Written out: desks on disk hold these numbers.
    assert {kind.key: kind.value for kind in Breach} == {
        "quorum": 1, "decision": 2, "band": 4, "escalation": 8, "same_family": 16, "trim": 32,
        "pass_score": 64, "label": 128, "rounding": 256, "stopped_early": 512,
        "against_all": 1024, "contradiction": 2048,
    }  # fmt: skip
    assert Breach.ROUNDING.label == "quorum rounding"
    assert len({kind.label for kind in Breach}) == len(Breach)


def test_kinds_follow_the_bits() -> None:
    assert kinds(Breach.TRIM | Breach.QUORUM) == (Breach.QUORUM, Breach.TRIM)
    assert kinds(Breach(0)) == ()


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
def test_one_value_holds_every_kind(
    value: dict[str, Any], defaults: dict[str, Any], kind: Breach
) -> None:
    assert _marks(value, **defaults) is kind


@given(bodies())
def test_every_mismatch_is_marked_and_rounding_is_none(value: dict[str, Any]) -> None:
    found = assess(read(value))
    told = {breach.kind for breach in found.breaches}
    assert Breach.ROUNDING not in told
    assert set(kinds(found.marks)) - {Breach.ROUNDING} == told
    assert len(found.mismatches) == len(found.breaches)
