"""The reliability diagram as it is drawn, and the same points as a table."""

from pathlib import Path

import pytest

from reviewdesk.app.paint.document import diagram_lines as plot_lines
from reviewdesk.app.paint.document import document_lines, section_lines, short
from reviewdesk.app.paint.styled import Lines
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.figures import Fit
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.views.calibration import bins, diagram, reliability
from reviewdesk.views.document import Document, Tone
from tests.app.paint.test_styled import WIDTHS, check
from tests.views.test_calibration import FOUR, census, other_runs, page

TOP, LEFT = 1, 6
"""The heading above the plot, and the axis left of it."""


def made(*bins: tuple[float, int, int]) -> Fit:
    """Rows of one confidence each: how many of how many were right."""
    rows = [(sure, place < right) for sure, right, n in bins for place in range(n)]
    return fit(Rows.of([sure for sure, _ in rows], [right for _, right in rows]))


def diagram_lines(found: Fit, basis: str, width: int) -> Lines:
    return document_lines(Document((diagram(found, basis),), (bins(found, basis),)), width)


def page_lines(page: CalibrationPage, width: int, *, blind: bool) -> Lines:
    return document_lines(reliability(page, blind=blind), width)


def points_lines(found: Fit, basis: str, width: int) -> Lines:
    return section_lines(bins(found, basis), width)


def cells(lines: Lines) -> list[str]:
    return [line.plain for line in lines]


def at(found: Fit, row: int, column: int, width: int = 78) -> str:
    return cells(diagram_lines(found, "n", width))[TOP + row][LEFT + column]


def test_a_point_lies_where_its_numbers_say() -> None:
    # At 78 the plot has 71 columns for 0..1 and 13 rows: .85 is column 59.5, rounded up 60, and
    # .5 is 6 of 12 steps, row 6 from either end. .5 is below .85 ± 1.96 √(.85 · .15 / 40).
    found = made((0.85, 20, 40))
    assert at(found, 6, 60) == "▼"
    # Wilson of 20 of 40 is .352 to .648: steps 4.2 and 7.8, so rows 8 and 4.
    assert (at(found, 4, 60), at(found, 5, 60), at(found, 7, 60), at(found, 8, 60)) == tuple("┬││┴")
    # The band is .739 to .961, steps 8.9 and 11.5: rows 3 to 0, over the columns 56 to 62.
    for row in range(4):
        assert at(found, row, 55) != "░"
        assert at(found, row, 63) != "░"
        for column in (56, 62):
            assert at(found, row, column) in "░·"
    assert at(found, 4, 56) == " "


def test_a_wide_plot_has_its_table_beside_it_the_diagonal_and_ticks() -> None:
    # Half of 158 less the gap is 77: 71 columns. .3 of 12 steps is 3.6, up to 4: row 8; .25 of 70
    # is 17.5, up to 18.
    lines = cells(diagram_lines(made((0.25, 3, 10)), "n", 158))
    assert lines[TOP + 8][LEFT + 18] == "●"
    assert "BINS" in lines[0]
    lines = cells(diagram_lines(made((0.95, 19, 20)), "n", 78))
    for share, row in (("1.00", 0), ("0.75", 3), ("0.50", 6), ("0.25", 9), ("0.00", 12)):
        assert lines[TOP + row].startswith(f"{share} ┤")
    assert (lines[TOP + 12][LEFT], lines[TOP + 6][LEFT + 35]) == ("·", "·")
    # The mark of a tenth stands under its column, and its name under the mark.
    rule, names = lines[TOP + 13], lines[TOP + 14]
    assert (rule[LEFT], rule[LEFT + 35], rule[LEFT + 70]) == ("┴", "┴", "┘")
    assert names[LEFT + 34 : LEFT + 37] == "0.5"
    assert (names[LEFT], names[LEFT + 70]) == ("0", "1")


def test_marks_tell_without_colour() -> None:
    found = made((0.15, 9, 10), (0.55, 11, 20), (0.95, 4, 10))
    plot = "".join(cells(diagram_lines(found, "n", 78))[TOP : TOP + 13])
    assert {sign: plot.count(sign) for sign in "▲●▼"} == {"▲": 1, "●": 1, "▼": 1}
    legend = " ".join(" ".join(cells(diagram_lines(found, "n", 78))[TOP + 16 :]).split())
    for words in ("● in the band", "▼ below", "▲ above it", "│ 95% interval"):
        assert words in legend
    assert "░ 95% of calibrated bins: c ± 1.96·√(c(1-c)/n), c the mean" in legend
    assert "2 of 3 bins outside (1 overconfident, 1 underconfident)" in legend


def test_the_sizes_stand_beneath_their_bins_in_four_characters() -> None:
    row = cells(diagram_lines(made((0.15, 1, 7), (0.95, 100, 123)), "n", 78))[TOP + 15]
    assert row.split() == ["n", "7", "123"]
    # Centred over seven columns each: the second bin's fourth is 10, the last one's 66.
    assert row[LEFT + 10] == "7"
    assert row[LEFT + 65 : LEFT + 68] == "123"
    assert [short(n) for n in (7, 999, 1_000, 45_678, 999_999, 2_000_000)] == [
        "7", "999", "1k", "45k", "999k", "2M",
    ]  # fmt: skip


def test_the_page_fits_a_small_terminal() -> None:
    # Header, status and footer leave 21 of 24 lines.
    found = made(*((0.05 + place / 10, 3, 7) for place in range(10)))
    assert len(section_lines(diagram(found, "census, n 70"), 78)) <= 21


def test_the_table_says_the_same_and_outside_stands_out_in_its_ink() -> None:
    found = made((0.85, 20, 40), (0.95, 9, 10))
    lines = [" ".join(line.split()) for line in cells(points_lines(found, "n", 78))]
    # As above; .95 ± 1.96 √(.95 · .05 / 10) = .95 ± .135; Wilson of 9 of 10 is .596 to .982.
    assert "0.8-0.9 40 0.85 0.50 0.35-0.65 0.74-0.96 outside, below ▼" in lines
    assert "0.9-1.0 10 0.95 0.90 0.60-0.98 0.81-1.00 inside ●" in lines
    narrow = [" ".join(line.split()) for line in cells(points_lines(found, "n", 40))]
    assert "0.8-0.9 40 0.85 0.50 outside, below ▼" in narrow
    spans = [
        (span.style, line.plain[span.start : span.end])
        for line in points_lines(made((0.85, 20, 40)), "n", 78)
        for span in line.spans
    ]
    assert any(ink == Tone.FAIL and text.strip() == "outside, below ▼" for ink, text in spans)


def test_one_bin_or_none_and_neighbours_that_share_no_cell() -> None:
    assert "the only bin lies in" in " ".join(cells(diagram_lines(made((0.75, 3, 4)), "n", 78)))
    assert plot_lines(fit(Rows.of([], [])), 78) == []
    # .799 and .8 are a 20th of a column apart and belong to two bins.
    found = made((0.799, 8, 10), (0.8, 8, 10))
    assert "".join(cells(diagram_lines(found, "n", 78))[TOP : TOP + 13]).count("●") == 2


@pytest.mark.slow
def test_no_line_is_too_wide() -> None:
    for found in (
        made((0.0, 0, 3), (1.0, 2, 3)),
        made(*((0.05 + place / 10, place, 9) for place in range(10))),
        fit(Rows.of([0.31, 0.77], [True, False], [1e6, 1e-6])),
    ):
        for width in WIDTHS:
            check(diagram_lines(found, "weighted, n 1234567", width), width)
            check(points_lines(found, "weighted, n 1234567", width), width)


def test_the_page_names_its_design(tmp_path: Path) -> None:
    found = census(tmp_path)
    shown = cells(page_lines(found, 78, blind=False))
    assert "by how sure it is, 4 labels, every" in shown[0]
    assert any("BINS  4 labels, every decided verdict is labelled" in one for one in shown)
    assert "4 labels, out of order" in "\n".join(cells(page_lines(found, 158, blind=True)))


@pytest.mark.parametrize("width", [78, 158])
def test_blind_twins_draw_the_same(tmp_path: Path, width: int) -> None:
    pages = other_runs(tmp_path, ("fail", "pass", "unsure", "fail", "pass", "pass"))
    one, two = (page_lines(page, width, blind=True) for page in pages)
    assert [(line.plain, line.spans) for line in one] == [(line.plain, line.spans) for line in two]
    assert any("●" in line.plain for line in one)


def test_a_page_without_figures(tmp_path: Path) -> None:
    empty = page(tmp_path, {}, *FOUR)
    for blind in (False, True):
        assert "nothing to draw" in cells(page_lines(empty, 78, blind=blind))[0]
