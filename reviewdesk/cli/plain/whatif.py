"""What other rules would have decided, as plain tables."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.cli.plain.text import number
from reviewdesk.desk.figures.whatif import attacked
from reviewdesk.domain.records import Design, Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.whatif.attack import Attack
from reviewdesk.domain.whatif.policies import (
    PolicyResult,
    Result,
    Variant,
    WhatIfTable,
    departures,
)

_HEAD = (
    "flipped", "changed", "inconclusive", "pass rate", "labelled", "accuracy", "Brier", "ECE",
    "policy",
)  # fmt: skip
_COLUMNS = (
    "flipped: pass to fail or the reverse, against the decision as it stands",
    "changed: every decision that differs; inconclusive: decided neither way",
    "pass rate: passes / (passes + fails)",
)
_ATTACK = "the largest change of the value that so many bought jurors force; !: the decision turns"
_FALSE_CHOICE = "the best of many policies on the same labels looks better than it is"


def table(found: WhatIfTable) -> str:
    """Return a table with the run as it stands, then a line per policy, the names last."""
    return aligned(_HEAD, [_row(row) for row in (found.standing, *found.rows)])


def _row(row: Result) -> list[str]:
    own = "  (the run's own)" if row.own and row.variant != Variant() else ""
    return [
        str(row.flipped),
        str(row.changed),
        str(row.inconclusive),
        number(row.pass_rate),
        str(row.n_labelled),
        number(row.accuracy),
        number(row.brier),
        number(row.ece),
        show_line(row.variant.name, 200) + own,
    ]


def legend(found: WhatIfTable) -> list[str]:
    """Return how the columns are counted, and the design of the labels behind them."""
    lines = [*filter(None, [departures(found)]), *_COLUMNS]
    lacking = max((row.undecided for row in found.rows), default=0)
    if lacking:
        lines.append(
            f"inconclusive holds at most {lacking} without the threshold, quorum, score or "
            "vote that a policy needs (--threshold and --quorum supply the first two)"
        )
    if found.design is Design.NONE:
        return [*lines, "no labels: accuracy, Brier and ECE are unknown"]
    shares = any(row.confidence == "vote_share" for row in (found.standing, *found.rows))
    mapped = "the policy's score" + (", or its share of votes where scores lack" if shares else "")
    lines.append(f"labels: {found.design.value}; confidence: {mapped}")
    return [*lines, _FALSE_CHOICE]


def item(one: Item, found: Sequence[PolicyResult]) -> str:
    """Return a table with one verdict as it stands, then a line per policy."""
    rows = [_result_cells(row, one) for row in found]
    return aligned(("value", "decision", "", "policy"), rows)


def attack(one: Item, found: Sequence[PolicyResult]) -> str:
    """Return a table of what bought jurors could force, a line per rule; "" if nothing."""
    rules = {row.variant.name: attacked(one, row) for row in found}
    most = max((len(made) for made in rules.values()), default=0)
    if not most:
        return ""
    head = [*(f"{n} bought" for n in range(1, most + 1)), "attack"]
    rows = [
        [*([_change_cell(attack) for attack in made] + [""] * most)[:most], name]
        for name, made in rules.items()
        if made
    ]
    return "\n".join(["", aligned(head, rows), _ATTACK])


def _change_cell(found: Attack) -> str:
    return number(found.change) + (" !" if found.decisions else "")


def _result_cells(row: PolicyResult, one: Item) -> list[str]:
    differs = "differs" if row.decision != one.assessment.ruled else ""
    return [number(row.value), row.decision or "-", differs, show_line(row.variant.name, 200)]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose last column is left-aligned, so that the columns before it align."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)][:-1]
    return "\n".join(
        "  ".join([*map(str.rjust, cells[:-1], widths), cells[-1]]) for cells in [head, *rows]
    )
