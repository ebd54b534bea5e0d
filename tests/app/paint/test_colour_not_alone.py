"""Colour is never the only signal: whatever an ink tells, the words and signs tell as well."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.content import Content

from reviewdesk.app.controllers.state import Session
from reviewdesk.app.paint.document import section_lines, strip_plot
from reviewdesk.app.paint.frame import header_line, title_line
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.desk.core import Desk
from reviewdesk.domain.assessment.result import Breach, Flag, FlagNote, Mismatch, Seat, State
from reviewdesk.domain.records import Event, Item, QueueRow, Truth
from reviewdesk.domain.verdict import Band, Decision, Status
from reviewdesk.reports.bytes.source import Source
from reviewdesk.views.jury import jurors, numbers
from tests.app.appkit import jury_lines, verdict
from tests.app.paint.test_styled import ROW
from tests.app.panekit import item_lines
from tests.app.reviewkit import session_on
from tests.helpers import ROOT

COLUMNS = (47, 61, 79)
"""The widths of queue and jury on a wide screen, and of a pane alone on a small one."""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """One verdict of five jurors: the lowest is trimmed and dissents, the highest is trimmed."""
    checks = [{"name": "length", "pass": True}]
    scores, rule = (0.9, 0.8, 0.85, 0.95, 0.1), "trimmed_mean"
    body = verdict(1, scores, decision="pass", strategy=rule, checks=checks)
    return session_on(tmp_path, body)


@pytest.fixture
def item(session: Session) -> Item:
    assert session.item is not None
    return session.item


def plain(lines: list[Content]) -> str:
    return "\n".join(content.plain for content in lines)


def rules_lines(item: Item, width: int) -> list[Content]:
    return section_lines(numbers(item.assessment, item.verdict.policy), width)


CLOSE = replace(ROW, band=Band.HIGH)
"""A low band would say by itself that agreement is low."""
ROWS: list[tuple[str, QueueRow, QueueRow]] = [
    *(
        (f"decision {made}", ROW, replace(ROW, decision=made))
        for made in (None, Decision.PASS, Decision.INCONCLUSIVE, Decision.ERROR)
    ),
    *((f"band {band}", ROW, replace(ROW, band=band)) for band in (None, Band.MEDIUM, Band.HIGH)),
    *((f"label {truth}", ROW, replace(ROW, label=truth)) for truth in Truth),
    *((flag.label, CLOSE, replace(CLOSE, flags=flag)) for flag in Flag),
    ("deferred", ROW, replace(ROW, deferred=True)),
    ("note", ROW, replace(ROW, noted=True)),
    ("note of others", ROW, replace(ROW, noted_by_others=True)),
]


@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize(("one", "other"), [pair[1:] for pair in ROWS], ids=[p[0] for p in ROWS])
def test_a_line_of_the_queue_says_it(one: QueueRow, other: QueueRow, width: int) -> None:
    lines = [queue_line(row, width, current=False, blind=False).plain for row in (one, other)]
    assert lines[0] != lines[1]


@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize("blind", [False, True])
def test_the_current_line_is_marked(width: int, blind: bool) -> None:
    lines = {queue_line(ROW, width, current=on, blind=blind).plain for on in (True, False)}
    assert len(lines) == 2


SEATS: dict[str, Callable[[Seat], Seat]] = {
    "dissent": lambda seat: replace(seat, dissent=not seat.dissent),
    "failed": lambda seat: replace(seat, state=State.FAILED),
    "trimmed low": lambda seat: replace(seat, state=State.TRIMMED_LOW),
    "trimmed high": lambda seat: replace(seat, state=State.TRIMMED_HIGH),
    "tied": lambda seat: replace(seat, tied=True),
    "vote": lambda seat: replace(
        seat, ballot=dataclasses.replace(seat.ballot, vote=not seat.ballot.vote)
    ),
    "no vote": lambda seat: replace(seat, ballot=dataclasses.replace(seat.ballot, vote=None)),
    "contradiction": lambda seat: replace(seat, contradicts=True),
    "abstained": lambda seat: replace(
        seat, ballot=dataclasses.replace(seat.ballot, status=Status.ABSTAINED), state=State.FAILED
    ),
}


@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize("change", SEATS)
def test_a_juror_of_the_table_says_it(item: Item, change: str, width: int) -> None:
    seats = item.assessment.seats
    assert seats[0].state is State.COUNTED
    changed = altered(item, seats=(SEATS[change](seats[0]), *seats[1:]))
    assert plain(section_lines(jurors(item), width)) != plain(section_lines(jurors(changed), width))


@pytest.mark.parametrize("width", COLUMNS)
def test_a_trimmed_dissent_stands_out_in_table_and_plot(item: Item, width: int) -> None:
    seats = item.assessment.seats
    [lost] = [seat for seat in seats if seat.trimmed and seat.dissent]
    tame = tuple(replace(seat, dissent=False) if seat is lost else seat for seat in seats)
    lines = [plain(section_lines(jurors(one), width)) for one in (item, altered(item, seats=tame))]
    assert lines[0] != lines[1]
    plots = [strip_plot(group, 0.7, width).plain for group in (seats, tame)]
    assert plots[0].replace("◆", "○") == plots[1]
    assert plots[0] != plots[1]


def test_a_counted_juror_stands_out_in_the_plot(item: Item) -> None:
    seat = item.assessment.seats[0]
    trimmed = replace(seat, state=State.TRIMMED_HIGH)
    assert strip_plot([seat], None, 40).plain != strip_plot([trimmed], None, 40).plain


def altered(item: Item, **more: object) -> Item:
    return replace(item, assessment=replace(item.assessment, **more))


def with_band(item: Item, band: Band) -> Item:
    close = item.assessment.agreement
    return altered(item, agreement=replace(close, spread=replace(close.spread, band=band)))


PANELS: dict[str, Callable[[Item], Item]] = {
    **{
        f"decision {made}": lambda item, made=made: altered(item, decision=made)  # type: ignore[misc]
        for made in (None, Decision.FAIL, Decision.INCONCLUSIVE, Decision.ERROR)
    },
    "band": lambda item: with_band(item, Band.HIGH),
    "mismatch": lambda item: altered(item, breaches=(Mismatch(Breach.PASS_SCORE, "score"),)),
    "loud flag": lambda item: altered(item, notes=(FlagNote(Flag.ESCALATED, "x"),)),
}


@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize("change", PANELS)
def test_the_jury_pane_says_it(item: Item, change: str, width: int) -> None:
    item = with_band(item, Band.LOW)
    assert plain(jury_lines(item, width)) != plain(jury_lines(PANELS[change](item), width))


def test_a_flag_that_asks_for_a_person_has_a_sign_of_its_own(item: Item) -> None:
    """Its ink differs from that of a quiet flag, and so must more than its name."""
    texts = [
        plain(jury_lines(altered(item, notes=(FlagNote(flag, "x"),)), 79)).splitlines()
        for flag in (Flag.ESCALATED, Flag.SPLIT)
    ]
    assert "◆ escalated        x" in texts[0]
    assert "  votes split      x" in texts[1]


@pytest.mark.parametrize("width", COLUMNS)
def test_a_rule_that_decides_otherwise_is_marked(item: Item, width: int) -> None:
    assert item.assessment.decision is Decision.PASS
    text = plain(rules_lines(item, width))
    # Unanimity fails on the one dissent, and the lowest score is below the threshold.
    marked = [line for line in text.splitlines()[1:] if "≠" in line]
    assert marked
    assert all("fail" in line or "no decision" in line for line in marked)
    assert plain(rules_lines(altered(item, decision=Decision.FAIL), width)) != text


def test_a_check_says_how_it_ended_and_an_undone_label_that_it_is(item: Item) -> None:
    texts = set()
    for ended in (True, False, None):
        body: Any = {**item.verdict.body, "checks": [{"name": "length", "pass": ended}]}
        changed = replace(item, verdict=replace(item.verdict, body=body))
        texts.add(plain(item_lines(changed, 79, hidden=False)))
    assert len(texts) == 3
    event = Event(
        1, 1, "label", "ann", "ann", "2025-01-01T00:00:00Z", "run", "item/1", None, Truth.PASS, {},
        1, None,
    )  # fmt: skip
    texts = {
        plain(item_lines(replace(item, history=(kept,)), 79, hidden=False))
        for kept in (event, replace(event, undone=True))
    }
    assert len(texts) == 2


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_frame_says_it(session: Session, width: int) -> None:
    blind = replace(session, view=replace(session.view, blind=True))
    heads = {header_line(shown, "", "", None, "", width).plain for shown in (session, blind)}
    assert len(heads) == 2
    saved, not_saved = (header_line(session, one, "", None, "", width) for one in ("saved ✓", ""))
    assert saved != not_saved
    titles = {title_line("QUEUE", "", width, focused=on).plain for on in (True, False)}
    assert len(titles) == 2


def panes(run_file: str, folder: Path, width: int) -> Iterator[Content]:
    """Every line that the three panes draw for every verdict of a sample, half of it labelled."""
    desk = Desk.open(folder / "desk.db", reviewer="ann")
    run = desk.load(Source.from_path(ROOT / "sample_runs" / run_file)).run
    truths = [*Truth][:3]
    for i, key in enumerate(desk.queue(run)):
        if i % 2:
            desk.label(key, truths[i % 3], blind=False)
    for row in desk.rows(desk.queue(run)):
        for current in (True, False):
            yield queue_line(row, width, current=current, blind=False)
        item = desk.item(row.key)
        yield from jury_lines(item, width)
        yield from item_lines(item, width, hidden=False)
    desk.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [61, 79])
@pytest.mark.parametrize("name", ["support-bot.jsonl", "release-notes.json"])
def test_lines_of_the_same_words_have_the_same_inks(tmp_path: Path, name: str, width: int) -> None:
    """Over the sample runs: where two lines read the same, no colour tells them apart."""
    known: dict[str, str] = {}
    met = 0
    for content in panes(name, tmp_path, width):
        inks = repr(sorted(tuple(span) for span in content.spans))
        if content.plain in known and content.spans:
            met += 1
        assert known.setdefault(content.plain, inks) == inks, content.plain
    assert met > 100
