"""Painters: at every width, for every text, no line is too wide and nothing raises."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.controllers.state import Session
from reviewdesk.app.keys.actions import ACTIONS, Keymap
from reviewdesk.app.paint import frame, styled
from reviewdesk.app.paint.document import document_lines, strip_plot
from reviewdesk.app.widgets.queue_list import flag_names, label_mark, queue_line
from reviewdesk.desk.figures.strip import Strip
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import Blocker, Item, Pace, QueueRow, Truth, View
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.views.comparison import comparison
from reviewdesk.views.document import Tone
from tests.app.appkit import juror, jury_lines, open_run, report, verdict
from tests.app.builders import item_of
from tests.app.panekit import item_lines
from tests.app.reviewkit import session_of

HOSTILE = (
    "\x1b[31mred\x1b[0m [bold]markup[/] [@click=app.quit]x[/] \u202eevil\u202c 日本語日本語 "
    "👩‍👩‍👧‍👦 e\u0301\u0300\u0302 \x00\x07\x9b31m \ud800 \r\n\ttab " + "w" * 300 + " ﷽ \u2028end"
)


def hostile_item(tmp_path: Path) -> tuple[Item, Session]:
    clean = HOSTILE.replace("\ud800", "")
    texts: dict[str, Any] = dict.fromkeys(("input", "output", "alternative", "rubric"), clean)
    jurors = [
        juror("j " + clean[:150], 0.9, weight=2.0, reason=clean),
        juror("日本" * 20, 0.8, model=clean[:150]),
        juror("c", 0.1, **{"pass": True}),
        juror("d", 0.2),
        juror("e", 0.3),
        {"id": "f", "score": None, "error": {"message": clean}},
    ]
    body = verdict(
        1, id="id " + clean[:200], case={"test": clean, "tags": [clean[:50], "b"]}, jurors=jurors,
        bias_warning=clean,
        checks=[{"name": clean, "pass": True, "reason": clean}, {"name": "x", "pass": None}],
        human={"label": "pass", "by": clean, "note": clean},
        reference=[clean, "second"],
        provenance={"panel_hash": clean},
        agreement={"value": 0.5, "metric": "r_wg"},
        trim={"method": "quantile", "dropped_low": ["d"], "dropped_high": ["c"]},
        **texts,
    )  # fmt: skip
    desk, run = open_run(tmp_path / "desk.db", report([body]))
    review_session = session_of(desk, run, View(filter=""))
    item = review_session.session.item
    assert item is not None
    desk.note(item.row.key, clean)
    review_session.refresh()
    session = review_session.session
    desk.close()
    assert session.item is not None
    return session.item, session


def check(lines: list[Content], width: int) -> None:
    for content in lines:
        text = content.plain
        assert cell_len(text) <= width, (width, text)
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in text), repr(text)
        assert "\u202e" not in text
        assert "\u2028" not in text


WIDTHS = [*range(1, 90), 100, 120, 139, 140, 160, 200]


@pytest.mark.slow
def test_every_painter_fits_every_width(tmp_path: Path) -> None:
    item, session = hostile_item(tmp_path)
    rude = replace(session.view, filter=HOSTILE, order=HOSTILE[:20])
    rude_session = replace(session, view=rude, run=replace(session.run, name=HOSTILE))
    keymap, everything = Keymap.of(ACTIONS), {name: one.hint for name, one in ACTIONS.items()}
    blind = replace(rude_session, view=replace(rude, blind=True))
    pace = Pace(120.0, 4)
    for width in WIDTHS:
        check(item_lines(item, width, hidden=False), width)
        check(jury_lines(item, width), width)
        twin = replace(item, run=rude_session.run)
        check(document_lines(comparison(item, twin), width), width)
        check(frame.done_lines(rude_session, Strip(pace=pace), keymap, width), width)
        check(frame.nothing_lines(rude_session, keymap, width), width)
        check(frame.tiny_lines(width), width)
        for page in ("", "Runs"):
            header = rude_session, HOSTILE, "indexing 3%", Pace(120.0, 5), page
            check([frame.header_line(*header, width)], width)
        shown = frame.status_lines(styled.inline(HOSTILE), "", width)
        check(shown, width)
        assert len(shown) <= 3
        check([frame.footer_line(everything, keymap.first, width)], width)
        for mode in (session, blind):
            check(
                frame.strip_lines(mode, Strip(blockers=(Blocker(1, HOSTILE, 42),)), "B", width),
                width,
            )
            check([queue_line(item.row, width, current=True, blind=mode is blind)], width)


@pytest.mark.parametrize("width", WIDTHS)
def test_wrapping_keeps_every_word(width: int) -> None:
    text = "one two three four five six seven eight nine ten " * 5
    joined = "".join(row.plain for row in styled.paragraph(text, width)).replace(" ", "")
    assert joined == text.replace(" ", "")


def test_what_has_no_room_ends_with_a_whole_word_and_a_mark() -> None:
    assert [row.plain for row in styled.paragraph("日本", 1)] == ["…", "…"]
    # Cut at 24 cells it would end in "turns wi…".
    assert styled.heading("WHAT IF", 24, "this pass turns with a quorum").plain.split() == [
        "WHAT", "IF", "this", "pass", "…",
    ]  # fmt: skip
    # Of a long word its beginning stays.
    assert styled.heading("WHAT IF", 30, "x" * 30).plain == f"WHAT IF  {'x' * 20}…"
    error = "filter, column 1: no fact 'lable'. Write label:none."
    shown = [content.plain for content in frame.status_lines(error, Tone.FAIL, 30)]
    assert shown == [" filter, column 1: no fact", " 'lable'. Write label:none."]
    shown = [content.plain for content in frame.status_lines(error, Tone.WARN, 30)]
    assert shown == [" filter, column 1: no fact 'l…"]
    shown = [content.plain for content in frame.status_lines(error * 9, Tone.NOTE, 30)]
    assert len(shown) == 3
    assert shown[-1].endswith("…")


ROW = QueueRow(
    1, "item/1", "test", Decision.FAIL, 0.41, 0.41, Band.LOW, Flag(0), "flagged/fail", False,
    None, False, False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("label", "deferred", "mark"),
    [
        (None, False, "·"), (Truth.PASS, False, "p"), (Truth.FAIL, False, "f"),
        (Truth.UNSURE, False, "?"), (Truth.DISPUTED, False, "!"), (None, True, "z"),
        (Truth.PASS, True, "p"),
    ],
)  # fmt: skip
def test_label_marks(label: Truth | None, deferred: bool, mark: str) -> None:
    assert label_mark(replace(ROW, label=label, deferred=deferred))[0] == mark


def test_a_line_of_a_blind_session_tells_its_mark_id_test_and_label_only() -> None:
    marked = replace(ROW, marked=True)
    for blind in (True, False):
        texts = [queue_line(row, 60, current=False, blind=blind).plain for row in (ROW, marked)]
        assert texts[1] == f" *{texts[0][2:]}"
    twin = replace(
        ROW, decision=Decision.PASS, score=0.9, agreement=1.0, band=Band.HIGH,
        flags=Flag.ESCALATED, stratum="rest/pass", audit=True,
    )  # fmt: skip
    lines = [queue_line(row, 60, current=False, blind=True) for row in (ROW, twin)]
    assert lines[0].plain == lines[1].plain
    assert lines[0].spans == lines[1].spans
    assert "item/1" in lines[0].plain


def test_flags_stand_in_words_or_in_short_and_those_without_room_are_counted() -> None:
    flags = Flag.SAME_FAMILY | Flag.ESCALATED | Flag.TRIMMED_DISSENT | Flag.SPLIT
    words = "escalated, dissent trimmed, votes split, same model family"
    assert flag_names(flags, len(words), spelled=True) == words
    assert flag_names(flags, 40, spelled=True) == "escalated, dissent trimmed +2"
    assert flag_names(flags, 20, spelled=False) == "esc trim! split kin"
    assert flag_names(flags, 18, spelled=False) == "esc trim! split +1"
    assert flag_names(flags, 12, spelled=False) == "esc trim! +2"
    assert flag_names(Flag(0), 10, spelled=True) == ""


def test_the_plot_marks_jurors_and_the_threshold(tmp_path: Path) -> None:
    item = item_of(tmp_path, scores=(0.0, 0.5, 0.5, 1.0), strategy="trimmed_mean")
    plot = strip_plot(item.assessment.seats, 0.7, 11).plain
    # Eleven columns are the tenths: one trimmed juror at each end, two counted at a half, which
    # fail: the one at the right end dissents.
    assert plot == "○────2─│──◆"


def test_jury_pane_says_the_word_or_the_raw_score_of_a_juror_without_a_vote(tmp_path: Path) -> None:
    jurors = [
        {"id": "wordy", "label": "SPLIT INTO TWO", "pass": None},
        {"id": "rated", "raw_score": 4},
    ]
    lines = [content.plain for content in jury_lines(item_of(tmp_path, jurors=jurors), 70)]
    (wordy,) = [text for text in lines if "wordy" in text and "counted" in text and "SPLIT" in text]
    assert "SPLIT INT…" in wordy
    assert any("rated" in text and "raw 4" in text and "waits" in text for text in lines)
