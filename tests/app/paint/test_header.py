"""What the first line keeps where it is narrow, what a queue's line calls it, and found words."""

from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from textual.content import Content

from reviewdesk.app.controllers.state import Session
from reviewdesk.app.paint.frame import header_line
from reviewdesk.app.paint.item import found_line, highlight
from reviewdesk.app.paint.styled import clip_middle, heading, line
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import Pace, Progress, QueueRow, View
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.views.document import Tone
from tests.app.appkit import verdict
from tests.app.reviewkit import session_on

PROGRESS = Progress(30, 6, 15, 3, 15, 1, 0, 0, 0, left=24)
PACE = Pace(72.0, 6)
SAVED = "saved ✓ pass delete-account-now"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = session_on(tmp_path, *(verdict(i) for i in range(1, 31)))
    return replace(made, run=replace(made.run, name="support-bot"), progress=PROGRESS)


class Header(NamedTuple):
    session: Session
    saved: str = ""
    jobs: str = ""
    pace: Pace | None = None
    page: str = ""


def text(header: Header, width: int) -> str:
    drawn = header_line(*header, width)
    assert drawn.cell_length <= width
    return drawn.plain


def test_the_header_speaks_in_words_and_what_was_saved_before_is_saved_still(
    session: Session,
) -> None:
    wide = text(Header(session, SAVED, pace=PACE), 160)
    start = " support-bot · open · 6 of 30 done · 20 min left · "
    assert wide.startswith(f"{start}flagged 3/15 · random check 1/15 ")
    assert wide.endswith(f" {SAVED} ")
    # A filter and an order stand there only if they are not the usual ones.
    assert "filter" not in wide
    assert "order" not in wide
    other = replace(session, view=View(filter="label:none", order="-score"))
    words = text(Header(other, SAVED, pace=PACE), 160)
    assert "filter label:none · " in words
    assert "order -score" in words
    page = "Calibration 2/4 reliability"
    drawn = text(Header(session, "saved ✓", pace=PACE, page=page), 80)
    assert drawn.startswith(f" {page} · open · 6 of 30 done · ")
    assert text(Header(session), 80).endswith("saved ✓ ")
    nothing = replace(session, progress=replace(PROGRESS, labelled=0))
    assert "saved" not in text(Header(nothing), 80)


@pytest.mark.parametrize("page", ["", "Calibration 1/4 figures", "Runs"])
@pytest.mark.parametrize("view", [View(), View(filter="label:none|pass", blind=True)], ids=str)
def test_done_time_left_and_saved_outlive_all_else(session: Session, page: str, view: View) -> None:
    header = Header(replace(session, view=view), SAVED, "indexing 30%", PACE, page)
    for width in range(40, 221):
        drawn = text(header, width)
        assert "6 of 30 done" in drawn or "6/30" in drawn, width
        assert "20 min" in drawn, width
        assert "saved ✓" in drawn, width
        assert ("blind" if view.blind else "open") in drawn, width
    assert "6 of 30 done" in text(header._replace(session=session, jobs=""), 80)


def test_what_was_saved_is_cut_before_the_time_and_after_the_name_of_the_run(
    session: Session,
) -> None:
    header = Header(replace(session, view=View(blind=True)), "saved ✓ fail llmbar/Natural/068")
    for width in range(64, 90):
        assert text(header._replace(pace=PACE), width).endswith(("68 ", "saved ✓ ")), width
    assert text(header, 160).endswith("saved ✓ fail llmbar/Natural/068 ")
    # 48 + 34 cells do not fit in 80.
    drawn = text(Header(session, SAVED, pace=PACE), 80)
    assert drawn.startswith(" support-bot · open · 6 of 30 done · 20 min left ")
    assert drawn.endswith("count-now ")
    assert "…" in drawn
    # A fifth of the width is for the name.
    run = replace(session.run, name="llmbar-rating-natural")
    header = Header(replace(session, run=run), SAVED, pace=PACE)
    assert text(header, 80).startswith(" llmbar-rating-n… · open · ")
    assert text(header, 90).endswith(f" {SAVED} ")
    assert text(header, 130).startswith(" llmbar-rating-natural · open · ")


def test_a_blind_header_tells_no_strata(session: Session) -> None:
    blind = replace(session, view=View(blind=True))
    other = replace(blind, progress=replace(PROGRESS, flagged=1, flagged_done=0, audit_done=4))
    for width in range(40, 221):
        assert text(Header(blind, SAVED), width) == text(Header(other, SAVED), width)


LONG = "suite/billing/refund-after-thirty-days"
ROW = QueueRow(
    1, LONG, "a long title", Decision.FAIL, 0.41, 0.41, Band.LOW, Flag(0), "flagged/fail", False,
    None, False, False,
)  # fmt: skip


def shown(row: QueueRow, width: int, *, blind: bool = True) -> str:
    return queue_line(row, width, current=False, blind=blind).plain.rstrip()


def test_an_id_is_whole_wherever_it_fits_else_keeps_both_ends_and_its_title_gives_way() -> None:
    # A blind line takes 6 cells before the id, which has 38.
    for width in range(44, 120):
        assert LONG in shown(ROW, width)
    cut = shown(ROW, 30)
    assert "suite/" in cut
    assert cut.endswith("thirty-days")
    assert "…" in cut
    # What the ids of the list have in common goes first: 26 cells, of 24 for the line.
    line = queue_line(ROW, 34, current=False, blind=True, common="suite/billing/").plain
    assert line.endswith("…refund-after-thirty-days")
    # 38 cells, two between, and at least 12 for the title.
    assert "a long title" in shown(ROW, 6 + 38 + 2 + 12)
    assert "a long" not in shown(ROW, 6 + 38 + 2 + 11)


def in_list(flags: Flag, width: int, band: Band | None = Band.LOW) -> str:
    """The line in a list of ids of 20 cells."""
    row = replace(ROW, id="suite/billing/refund", flags=flags, band=band)
    return queue_line(
        row, width, current=False, blind=False, common="suite/billing/", longest=20
    ).plain.rstrip()


def test_an_id_in_the_open_has_at_most_half_of_the_room_that_it_shares_with_flags() -> None:
    # 6 cells before the decision, 6 for it, and 4 for low agreement leave 39 of 55.
    two = Flag.ESCALATED | Flag.TRIMMED_DISSENT
    assert in_list(two, 55).endswith("fail  …refund             low esc trim!")
    assert in_list(two, 40).endswith("fail  …refund      low esc trim!")
    # Where there is room for words, there are no short forms: agreement takes 14 cells.
    assert in_list(two, 66).endswith("suite/billing/refund  0.41 low     escalated +1")
    assert in_list(two, 80).endswith("0.41 low     escalated, dissent trimmed")
    # However narrow, an id keeps enough to tell it from others, and no line ends in a lone sign.
    for width in range(24, 56):
        assert len(in_list(two, width).split("low")[0].split()[-1]) >= 6
        assert not in_list(Flag(0), width, None).endswith(" …")


@pytest.mark.parametrize("test", [LONG, "Refund after thirty days", "refund_after_thirty_days"])
def test_a_title_that_says_no_more_than_the_id_is_left_out(test: str) -> None:
    assert shown(replace(ROW, test=test), 120).endswith(LONG)


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
    (content,) = highlight([line((text, Tone.NOTE))], words)
    assert content.plain == text
    return [text[span.start : span.end] for span in content.spans if span.style == Tone.FOUND]


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


def test_other_inks_stay_below_and_the_first_line_with_a_word_is_found() -> None:
    (content,) = highlight([line(("refund", Tone.NOTE))], ["ref"])
    assert [(span.start, span.end, span.style) for span in content.spans] == [
        (0, 6, Tone.NOTE),
        (0, 3, Tone.FOUND),
    ]
    lines = [heading("RESPONSE", 20), Content("none"), Content("a response"), Content("response")]
    # The section's title is ours and not the report's.
    assert found_line(lines, ["response"]) == 2
    assert highlight(lines, ["response"])[0].spans == lines[0].spans
    assert found_line(lines, ["absent"]) is None
    assert found_line(lines, []) is None
