"""The Markdown summary: its figures are the run's, and no text of a report is markup in it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reviewdesk.desk import Desk
from reviewdesk.desk.export.page_data import html, summary
from reviewdesk.desk.figures.jurors import jurors_page, jurors_shape
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.pages.marktext import code, table
from reviewdesk.reports import Source
from tests.helpers import SAMPLES, load, numbered, open_desk, report, verdict

NASTY = (
    "|", "\\|", "`", "``", "[a](https://a.example)", "![i](http://a.example/i.png)", "<b>", "@ann",
    "#12", "owner/repo#3", "www.a.example", "https://a.example", "\n", "**", "_x_", "\\", "$x$",
    "<!--", "&amp;", "\u202e", "- [ ] ", "| --- |",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=5), min_size=1, max_size=8).map("".join)
READER = MarkdownIt("commonmark").enable("table")


def inline(source: str) -> list[Token]:
    """What stands in the paragraphs and cells of a Markdown text."""
    return [child for token in READER.parse(source) for child in token.children or ()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(open_desk(tmp_path / "desk.db")) as found:
        yield found


@given(TEXTS)
def test_a_text_is_one_code_span_in_one_cell(text: str) -> None:
    lines = table(("a", "b"), [(code(text), "next")])
    kinds = [token.type for token in READER.parse("\n".join(lines))]
    assert kinds.count("td_open") == 2
    found = [token for token in inline("\n".join(lines)) if token.content]
    assert found[-1].content == "next"
    shown = show_line(text, 120)
    if shown.strip():
        assert [token.type for token in found] == ["text", "text", "code_inline", "text"]
        assert found[2].content.split() == shown.replace("\\|", "\\ |").split() or "\\" in shown


@given(
    st.lists(TEXTS.filter(lambda text: 0 < len(text) < 150), min_size=3, max_size=3, unique=True)
)
def test_no_text_of_a_report_is_markup(said: list[str]) -> None:
    title, first, second = said
    body = report(
        verdict(first, flagged=True), verdict(second, flagged=True), title=title, report_id=first
    )
    with tempfile.TemporaryDirectory() as folder, closing(open_desk(Path(folder) / "d")) as desk:
        made = summary(desk, load(desk, body))
    tokens = inline(made)
    assert {token.type for token in tokens} <= {
        "text", "code_inline", "strong_open", "strong_close", "softbreak",
    }  # fmt: skip
    plain = "".join(token.content for token in tokens if token.type == "text")
    assert not set(plain) & set("@#[]<>`\\$")
    rows = [token.type for token in READER.parse(made)].count("tr_open")
    # Three gates at most with their head, and two escalated verdicts with theirs.
    assert rows <= 4 + 3


def test_a_summary_has_the_figures_of_the_run(desk: Desk) -> None:
    run = load(desk, numbered(8))
    # v0, v3 and v6 fail, v0 and v4 are flagged and escalated; each has three jurors.
    made = summary(desk, run)
    assert "- **8 verdicts**: 5 pass, 3 fail" in made
    assert "- **2 flagged for review**, 2 escalated; 0 of the flagged and 0 in all" in made
    assert "- 24 ballots, 0 failed" in made
    assert "nothing is said of the judge" in made
    assert "| `v4` | pass | 0.80 |" in made
    for key in desk.queue(run):
        item = desk.item(key)
        desk.label(key, Truth.PASS if item.row.decision == "pass" else Truth.FAIL)
    made = summary(desk, run)
    # Every verdict has a label that agrees: five of eight pass, before and after the correction.
    assert "| observed | 0.625 |" in made
    assert "| corrected | 0.625 |" in made
    assert "census, n 8 |" in made
    assert "| brier | **PASS** |" in made


def test_the_jurors_of_both_exports_are_those_of_the_command(desk: Desk) -> None:
    run = load(desk, numbered(80))
    assert "| juror |" not in summary(desk, run)
    for row in desk.rows(desk.queue(run)):
        if row.audit or row.stratum.startswith("flagged"):
            flip = row.stratum == "flagged/pass"
            desk.label(row.key, Truth.FAIL if flip else Truth(str(row.decision)))
    found = jurors_shape(jurors_page(desk, run))["jurors"][0]
    # 13 of the 80 are flagged passes, and they alone are wrong; each label once says 37 of 50.
    assert found["accuracy"] == pytest.approx(67 / 80)
    ends = f"{found['accuracy_low']:.3f} to {found['accuracy_high']:.3f}"
    assert f"| 50 | weighted | 0.838 | {ends} |" in summary(desk, run)
    cells = "".join(html(desk, run))
    assert f"<td>weighted</td><td>0.838</td><td>{ends}</td>" in cells


def test_the_escalated_are_cut_and_counted(desk: Desk) -> None:
    run = load(desk, numbered(12))
    assert "more are escalated" not in summary(desk, run)
    made = summary(desk, run, most=1)
    assert "| `v0` |" in made
    assert "2 more are escalated and not listed." in made


def test_a_sample_has_a_summary(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / "hostile.json")).run
    assert {token.type for token in inline(summary(desk, run))} <= {
        "text", "code_inline", "strong_open", "strong_close", "softbreak",
    }  # fmt: skip
