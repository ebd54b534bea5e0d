"""What is said of the jurors of a run."""

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines
from reviewdesk.cli.plain import document_text
from reviewdesk.domain.jurors.facts import (
    Contest,
    Difference,
    Drift,
    JurorCounts,
    JurorFacts,
    JurorRates,
    JurorsPage,
    Offset,
    Seats,
    Windows,
    design,
    quoted_kappa,
)
from reviewdesk.domain.run.volatility import VolatileCase
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.figures import Target
from reviewdesk.domain.stats.rates import Voted
from reviewdesk.domain.stats.rates import stratified_rates as rates
from reviewdesk.views.document import plain
from reviewdesk.views.jurors import _difference, jurors
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check


def drawn(*found: Voted) -> JurorRates:
    """Through the draw, with a tenth of the verdicts on which it differs from the panel."""
    alone = [Voted(0, 30, 0, Cells(12, 0, 0, 18), Cells(12, 0, 0, 18))]
    less = Difference(-0.1234, -0.2, -0.0456, "", "panel", 2345, 234, 200)
    return JurorRates(
        design(found), rates(found), rates(found, Target.ITEMS), quoted_kappa(found),
        rates(alone).accuracy, design(alone), less,
    )  # fmt: skip


_LABELLED = Cells(1234, 56, 789, 10)
FLAGGED = Voted(0, 1244, 845, _LABELLED, _LABELLED)
"""A stratum that is labelled to its end."""


def facts(name: str, seat: int = 0, q: float | None = 0.001) -> JurorFacts:
    drift = Drift(
        Windows.EARLIER, 3, 12345, 2345, -0.123, -0.15, -0.1, 4.5, 99.1, 0.0004, q, 7, 9.87
    )
    return JurorFacts(
        JurorCounts(
            1234, 56, 789, 10, name=name, seat=seat, abstained=3, failed=4, trimmed=555,
            dissents=66, dissents_right=44, lone_dissents=30, lone_right=12,
        ),
        Seats(seat, 2345, 67, 8, 2300, 1150), drawn(FLAGGED), Offset(-0.0456, 2345, drift), 0.25,
    )  # fmt: skip


def filled(*names: str) -> JurorsPage:
    return JurorsPage(
        jurors=tuple(facts(name, seat) for seat, name in enumerate(names)),
        labels=2089,
        mean_kappa=0.61,
        contest=Contest(names[-1], Difference(0.02, -0.01, 0.05, "", names[-1], 2345, 99, 90)),
        volatile=(
            VolatileCase(7, names[0], ((names[-1], 0.2), ("two", 0.9)), 0.49, 0.7, turned=True),
        ),
        repeated=1,
        ids={7: names[0]},
    )


def text(page: JurorsPage) -> str:
    return document_text(jurors(page))


def rows_of(shown: str, name: str) -> list[list[str]]:
    """The figures behind a name, one list for each table."""
    found = (row.split()[1:] for row in shown.splitlines() if row.startswith(name))
    return [figures for figures in found if len(figures) >= 5]


def test_every_figure_of_a_juror_is_said() -> None:
    shown = text(filled("a-juror", "other"))
    # 2023 of 2089 right, 1234 of 1290 and 789 of 799: all there are, so nothing is left to guess.
    known = ["0.97", "exact", "0.96", "exact", "0.99", "exact"]
    assert rows_of(shown, "a-juror")[0] == ["2089", *known]
    assert rows_of(shown, "a-juror")[1] == ["234", "200", "-0.12", "[-0.20,", "-0.05]"]
    # kappa: p_o .96841, p_e (1290·1244 + 799·845)/2089² = .52244. 12 of 30 lone dissents are right.
    assert rows_of(shown, "a-juror")[2] == ["10", "56", "0.93", "12", "of", "30", "(0.40)"]
    change = ["-0.123", "[-0.150,", "-0.100]"]
    offsets = ["-0.046", "2345", *change, "3", "runs", "12345", "0.001"]
    assert rows_of(shown, "a-juror")[3] == offsets
    assert rows_of(shown, "a-juror")[4] == ["2345", "50.0%", "67", "8", "0.00", "0.00-0.01"]
    for said in ("drifted: a-juror, other", "drift alarm (CUSUM): other at a-juror"):
        assert said in shown
    assert "these labels do not show whether the panel or its best juror, other" in shown
    assert "panel less other: +0.02 [-0.01, +0.05]" in shown
    census = Difference(-0.1234, -0.1234, -0.1234, "", "panel", 2345, 234, 234)
    [*_, ends] = _difference(census)
    assert plain(ends) == "exact"
    assert "a-juror: other 0.20, two 0.90" in shown


def test_the_figures_of_a_juror_are_whole_at_80_columns() -> None:
    wide = filled("a-juror-with-a-very-long-name-indeed", "other")
    shown = "\n".join(line.plain for line in document_lines(jurors(wide), 80))
    rows = [row for row in shown.splitlines() if row.startswith("a-juror-with")]
    assert not any(row.endswith("…") for row in rows)


def test_such_items_are_less_sure_than_this_run() -> None:
    shown = document_text(jurors(filled("a", "b"), target=Target.ITEMS))
    assert "AGAINST THE LABELS  2,089 labelled verdicts, every decided verdict is labelled" in shown
    # Of a census nothing is left to guess of the run: Wilson of 2023, 1234 and 789 as samples.
    wilson = ["0.97", "0.96-0.98", "0.96", "0.94-0.97", "0.99", "0.98-0.99"]
    assert rows_of(shown, "a ")[0] == ["2089", *wilson]


def test_one_label_is_not_several() -> None:
    assert "AGAINST THE LABELS  1 labelled verdict, every decided" in text(
        replace(filled("a", "b"), labels=1)
    )


def test_sections_stand_side_by_side_where_there_is_room() -> None:
    first = document_lines(jurors(filled("a", "b")), 160)[0].plain
    assert "AGAINST THE LABELS" in first
    assert "OFFSET AND DRIFT" in first


def test_what_is_undefined_is_a_dash() -> None:
    few = replace(
        filled("a"),
        jurors=(
            JurorFacts(
                JurorCounts(1, name="a", seat=0),
                Seats(0, 1, 0, 0),
                replace(
                    drawn(Voted(3, 9, 0, Cells(), Cells(tp=1))), difference=None
                ),
            ),
        ),
        volatile=(),
        repeated=0,
    )  # fmt: skip
    shown = text(few)
    # Its only label is outside the draw: of itself alone, and the run may be anything.
    assert rows_of(shown, "a ")[0] == ["1", "1.00", "0.00-1.00", "1.00", "0.00-1.00", "-", "-"]
    assert "every juror: a group has no label that counts" in shown
    assert ["a", "0", "0", "-", "-"] in [line.split() for line in shown.splitlines()]
    assert rows_of(shown, "a ")[1] == ["-"] * 6
    assert "- no case of this run" in shown


def test_no_juror_is_said() -> None:
    assert text(replace(filled("a"), jurors=())) == "No juror sat in this run."


@pytest.mark.slow
def test_whatever_a_report_holds_no_line_is_too_wide() -> None:
    hostile = filled(HOSTILE.replace("\ud800", ""), "日本" * 30, "short", "w" * 200)
    for width in WIDTHS:
        check(document_lines(jurors(hostile), width), width)
