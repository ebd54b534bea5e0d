"""What a line of the queue calls its verdict: the id, whole where it fits, and the test."""

import pytest
from msgspec.structs import replace
from textual.content import Content

from reviewdesk.app.paint.inks import Ink
from reviewdesk.app.paint.item import found_line, highlight
from reviewdesk.app.paint.styled import clip_middle, heading, line
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import QueueRow
from reviewdesk.domain.verdict import Band, Decision

LONG = "suite/billing/refund-after-thirty-days"
ROW = QueueRow(
    1, LONG, "a long title", Decision.FAIL, 0.41, 0.41, Band.LOW, Flag(0), "flagged/fail", False,
    None, False, False,
)  # fmt: skip


def shown(row: QueueRow, width: int, *, blind: bool = True) -> str:
    return queue_line(row, width, current=False, blind=blind).plain.rstrip()


def test_an_id_is_whole_wherever_it_fits_and_else_keeps_both_ends() -> None:
    # A blind line takes 6 cells before the id, which has 38.
    for width in range(44, 120):
        assert LONG in shown(ROW, width)
    cut = shown(ROW, 30)
    assert "suite/" in cut
    assert cut.endswith("thirty-days")
    assert "…" in cut


def test_the_title_gives_way_first() -> None:
    # 38 cells, two between, and at least 12 for the title.
    assert "a long title" in shown(ROW, 6 + 38 + 2 + 12)
    assert "a long" not in shown(ROW, 6 + 38 + 2 + 11)


@pytest.mark.parametrize("test", [LONG, "Refund after thirty days", "refund_after_thirty_days"])
def test_a_title_that_says_no_more_than_the_id_is_left_out(test: str) -> None:
    line = shown(replace(ROW, test=test), 120)
    assert line.endswith(LONG)


def test_a_text_is_cut_in_its_middle() -> None:
    assert clip_middle("delete-account-now", 18) == "delete-account-now"
    assert clip_middle("delete-account-now", 9) == "dele…-now"
    assert clip_middle("日本語の長い名前", 7) == "日…名前"
    assert clip_middle("abc", 1) == "…"
    assert clip_middle("abc", 0) == ""


def test_no_agreement_at_all_is_a_figure_and_an_unknown_one_a_dash() -> None:
    none, unknown = (
        shown(replace(ROW, agreement=value, band=band), 100, blind=False)
        for value, band in ((0.0, Band.LOW), (None, None))
    )
    assert " 0.00 low" in none
    assert " 0.00" not in unknown
    assert unknown.rstrip().endswith("-")


def marked(text: str, *words: str) -> list[str]:
    (content,) = highlight([line((text, Ink.NOTE))], words)
    assert content.plain == text
    return [text[span.start : span.end] for span in content.spans if span.style == Ink.FOUND]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Refund, refunded and prefund", ["REFUND"], ["Refund", "refund"]),
        ("Café, cafe\u0301s, CAFETERIA", ["cafe"], ["Café", "cafe", "CAFE"]),
        ("a cafe", ["Café"], ["cafe"]),
        ("key PARTNER_KEY monkey", ["key"], ["key", "KEY"]),
        ("今日本語", ["日本"], ["日本"]),
        ("one two-three", ["two-three"], ["two", "three"]),
        ("a.b*c", [".*"], []),
        ("reform", ["re", "reform"], ["reform"]),
        ("ﬁn", ["f"], ["ﬁ"]),
        ("anything", [], []),
        ("anything", [""], []),
    ],
)
def test_found_words(text: str, words: list[str], expected: list[str]) -> None:
    assert marked(text, *words) == expected


def test_other_inks_stay_below() -> None:
    (content,) = highlight([line(("refund", Ink.NOTE))], ["ref"])
    assert [(span.start, span.end, span.style) for span in content.spans] == [
        (0, 6, Ink.NOTE),
        (0, 3, Ink.FOUND),
    ]


def test_the_first_line_with_a_word() -> None:
    lines = [heading("RESPONSE", 20), Content("none"), Content("a response"), Content("response")]
    # The section's title is ours and not the report's.
    assert found_line(lines, ["response"]) == 2
    assert highlight(lines, ["response"])[0].spans == lines[0].spans
    assert found_line(lines, ["absent"]) is None
    assert found_line(lines, []) is None
