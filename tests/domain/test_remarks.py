from __future__ import annotations

from typing import Any

from reviewdesk.domain.assess import assess
from reviewdesk.domain.remarks import remarks
from tests.domain.bodies import body, juror, panel, read


def told(value: dict[str, Any], **defaults: Any) -> tuple[str, ...]:
    verdict = read(value, **defaults)
    return remarks(verdict, assess(verdict))


def test_quorum_rounding_is_named_where_it_decides() -> None:
    # 2 of 3 is 0.6667: rounded to two places it meets 0.67, as a bare fraction it does not.
    (text,) = told(panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.67)
    assert text == "quorum rounding: 2 of 3 against 0.67 is pass as written, fail to the letter"
    assert told(panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.5) == ()


def test_a_missing_weight_is_told_where_others_have_one() -> None:
    jurors = [juror("a", score=0.9, weight=2.0), juror("b", score=0.8), juror("c", score=0.1)]
    assert told(body(jurors=jurors)) == ("weight 1 assumed for b, c",)
    assert told(panel(0.9, 0.8, 0.1)) == ()


def test_small_panels_and_unanimity() -> None:
    assert told(panel(0.9, 0.2)) == ("untrimmed: one or two scores have no ends",)
    assert told(panel(0.8, 0.8, 0.8), threshold=0.7) == (
        "unanimous: equal scores",
        "unanimous: equal votes",
    )
