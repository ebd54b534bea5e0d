"""What the first line keeps where it is narrow: name, mode, done, time left and the saved mark."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.state import Session
from reviewdesk.app.paint.frame import Header, header_line
from reviewdesk.domain.records import Pace, Progress, View
from tests.app.appkit import verdict
from tests.app.reviewkit import session_on

PROGRESS = Progress(30, 6, 15, 3, 15, 1, 0, 0, 0, left=24)
PACE = Pace(72.0, 6)
SAVED = "saved ✓ pass delete-account-now"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = session_on(tmp_path, *(verdict(i) for i in range(1, 31)))
    return replace(made, run=replace(made.run, name="support-bot"), progress=PROGRESS)


def text(header: Header, width: int) -> str:
    drawn = header_line(header, width)
    assert drawn.cell_length <= width
    return drawn.plain


def test_the_header_speaks_in_words(session: Session) -> None:
    wide = text(Header(session, SAVED, pace=PACE), 160)
    start = " support-bot · open · 6 of 30 done · about 20 min for the 24 left · "
    assert wide.startswith(f"{start}flagged 3/15 · random check 1/15 ")
    assert wide.endswith(f" {SAVED} ")
    # A filter and an order stand there only if they are not the usual ones.
    assert "filter" not in wide
    assert "order" not in wide
    other = replace(session, view=View(filter="label:none", order="-score"))
    words = text(Header(other, SAVED, pace=PACE), 160)
    assert "filter label:none · 30 shown" in words
    assert "order -score" in words


def test_the_name_of_a_page_is_whole_at_80_columns(session: Session) -> None:
    page = "Calibration 2/4 reliability"
    drawn = text(Header(session, "saved ✓", pace=PACE, page=page), 80)
    assert drawn.startswith(f" {page} · open · 6 of 30 done · ")


@pytest.mark.parametrize("page", ["", "Calibration 1/4 figures", "Runs"])
@pytest.mark.parametrize("view", [View(), View(filter="label:none|pass", blind=True)], ids=str)
def test_done_time_left_and_the_saved_mark_outlive_all_else(
    session: Session, page: str, view: View
) -> None:
    header = Header(replace(session, view=view), SAVED, "indexing 30%", PACE, page)
    for width in range(40, 221):
        drawn = text(header, width)
        assert "6 of 30 done" in drawn or "6/30" in drawn, width
        assert "20 min" in drawn, width
        assert "saved ✓" in drawn, width
        assert ("blind" if view.blind else "open") in drawn, width
    assert "6 of 30 done" in text(replace(header, session=session, jobs=""), 80)


def test_what_was_saved_before_is_saved_still(session: Session) -> None:
    assert text(Header(session), 80).endswith("saved ✓ ")
    nothing = replace(session, progress=replace(PROGRESS, labelled=0))
    assert "saved" not in text(Header(nothing), 80)


def test_the_name_of_what_was_saved_keeps_its_end(session: Session) -> None:
    header = Header(replace(session, view=View(blind=True)), "saved ✓ fail llmbar/Natural/068")
    for width in range(64, 90):
        drawn = text(replace(header, pace=PACE), width)
        assert drawn.endswith(("68 ", "saved ✓ ")), width
    assert text(header, 160).endswith("saved ✓ fail llmbar/Natural/068 ")


def test_time_left_is_shortened_before_the_name_of_what_was_saved_is_cut(session: Session) -> None:
    # 53 + 34 cells do not fit in 80: the time is "20 min" alone there.
    drawn = text(Header(session, SAVED, pace=PACE), 80)
    assert drawn.startswith(" support-bot · open · 6 of 30 done · 20 min ")
    assert drawn.endswith(f" {SAVED} ")


def test_a_blind_header_tells_no_strata(session: Session) -> None:
    blind = replace(session, view=View(blind=True))
    other = replace(blind, progress=replace(PROGRESS, flagged=1, flagged_done=0, audit_done=4))
    for width in range(40, 221):
        assert text(Header(blind, SAVED), width) == text(Header(other, SAVED), width)
