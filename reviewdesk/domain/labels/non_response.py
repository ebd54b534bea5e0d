"""Counts items of the draw that nobody answered against and for the panel, for the ends of gates.

An item in a labelled prefix that is closed, disputed or labelled "can't tell" gives no row. Left
out, it would make whoever closes what is hard look right more often. So the lower end of an
interval counts every one of them as wrong, and the upper end counts them as right. Source: Manski
1990, worst-case bounds for non-response.
"""

from __future__ import annotations

from collections.abc import Callable

from reviewdesk.domain.labels.weighed_rows import LabelledRows
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision


def as_wrong_and_right(made: LabelledRows) -> tuple[LabelledRows, ...]:
    """Return the rows with each unanswered item wrong, and with each right; () if there is none."""
    return _both(made, lambda passed, right: passed is right)


def as_fail_and_pass(made: LabelledRows) -> tuple[LabelledRows, ...]:
    """Return the rows with each unanswered item a fail, and with each a pass; () without one."""
    return _both(made, lambda _, passes: passes)


def _both(made: LabelledRows, is_pass: Callable[[bool, bool], bool]) -> tuple[LabelledRows, ...]:
    """Answer every unanswered item of the draw, first with False and then with True.

    Where the labels do not represent the run, every unanswered item counts, as every label does.
    ``is_pass`` takes what the panel decided and the answer, and returns if the item should pass.
    """
    everywhere = not made.weighing.design.stands
    passed = {
        verdict.key: verdict.decision is Decision.PASS
        for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True)
        if (inside or everywhere) and verdict.unanswered
    }
    if not passed:
        return ()
    return tuple(
        made.with_truths(
            {key: Truth.PASS if is_pass(one, answer) else Truth.FAIL for key, one in passed.items()}
        )
        for answer in (False, True)
    )
