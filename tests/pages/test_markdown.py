"""The Markdown summary: its figures are the run's, and no text of a report is markup in it."""

import re
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reviewdesk.desk.core import Desk
from reviewdesk.desk.export.report import summary
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.pages.markdown import code
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


@given(TEXTS)
def test_a_text_is_one_code_span_in_one_cell(text: str) -> None:
    lines = ["| a | b |", "| --- | --- |", f"| {code(text, 120, cell=True)} | next |"]
    kinds = [token.type for token in READER.parse("\n".join(lines))]
    assert kinds.count("td_open") == 2
    found = [token for token in inline("\n".join(lines)) if token.content]
    assert found[-1].content == "next"
    shown = show_line(text, 120)
    if shown.strip():
        assert [token.type for token in found] == ["text", "text", "code_inline", "text"]
        assert found[2].content.split() == shown.replace("\\|", "\\ |").split() or "\\" in shown


def told(desk: Desk, *said: str) -> str:
    """The Markdown of a report that says the texts wherever a report may."""
    first, second, *more = said
    body = verdict(first, flagged=True, input=second)
    body["jurors"][0] |= {"id": more[0], "model": more[1], "reason": more[2]}
    header = {"generator": {"model": more[0], "vendor": more[1]}, "producer": {"name": more[2]}}
    data = report(body, verdict(second, flagged=True), title=more[3], report_id=first, **header)
    return summary(desk, load(desk, data, seed="same"))


CALM = ("a", "b", "c", "d", "e", "f")


@pytest.mark.slow
@given(
    st.lists(
        TEXTS.filter(lambda text: 0 < len(text) < 150 and show_line(text).strip() != ""),
        min_size=6, max_size=6, unique=True,
    )
)  # fmt: skip
def test_no_text_of_a_report_is_markup(said: list[str]) -> None:
    made = []
    for number, texts in enumerate((said, CALM)):
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(open_desk(Path(folder) / str(number))) as desk,
        ):
            made.append(told(desk, *texts))
    ours, calm = ([*READER.parse(one)] for one in made)
    # Whatever a report says, the blocks are the same, and so are the words outside of code spans.
    assert [token.type for token in ours] == [token.type for token in calm]
    blocks = [token.content for token in ours if token.type == "html_block"]
    assert blocks == [token.content for token in calm if token.type == "html_block"]
    plain = [
        [child.content for token in tokens for child in token.children or () if outside(child)]
        for tokens in (ours, calm)
    ]
    assert plain[0] == plain[1]


def outside(token: Token) -> bool:
    return token.type != "code_inline"


def test_a_summary_is_a_few_lines_and_two_tables(desk: Desk) -> None:
    run = load(desk, numbered(24))
    # Every third verdict from v0 on fails: 16 pass, 8 fail.
    made = summary(desk, run)
    assert "24 verdicts: 16 pass, 8 fail. Judged by 3 jurors: `j1`, `j2`, `j3`." in made
    assert "May this judge decide alone? Not yet: there are no pass or fail labels" in made
    first = desk.item(desk.queue(run)[0]).verdict.test
    assert [row[0] for row in rows(made)][:2] == ["item", f"`{first}`"]
    for key in desk.queue(run):
        item = desk.item(key)
        right = Truth.PASS if item.row.decision == "pass" else Truth.FAIL
        desk.label(key, Truth.FAIL if item.verdict.id in {"v1", "v2"} else right)
    desk.note(desk.find(run, "v1"), "late | by a day")
    made = summary(desk, run)
    # Two of 24 are labelled against the judge: 22 of 24 are right, and 14 of 24 should pass.
    assert "| **accuracy** decides as the label says | 0.917 | exact | " in made
    assert "| **should pass** by the labels | 0.583 | exact |  |" in made
    assert "wrong on 2 of 24 decided verdicts with a pass or fail label: it passed 2 that" in made
    why = "3 of 3 jurors vote pass, `j1`: `r1`"
    assert sorted(rows(made)[1:]) == [
        ["`test of v1`", "pass", "**fail**", f"{why} · reviewer: `late \\| by a day`"],
        ["`test of v2`", "pass", "**fail**", why],
    ]
    assert len([line for line in made.splitlines() if line and line[0] != "|"]) <= 10


def rows(made: str) -> list[list[str]]:
    """The cells of the last table in a summary, without its rule."""
    *_, lines = (part.splitlines() for part in made.split("\n\n") if part.startswith("|"))
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [cells for cells in split if set(cells[0]) != {"-"}]


def test_a_summary_is_cut_and_counts_what_is_left(desk: Desk) -> None:
    run = load(desk, numbered(40))
    for key in desk.queue(run):
        desk.label(key, Truth.FAIL)
    # The judge passed 26 of the 40, and the table has 15.
    made = summary(desk, run)
    assert len(rows(made)) == 1 + 15
    assert "11 more are wrong: reviewdesk queue --filter wrong lists all." in made


def test_a_sample_has_a_summary(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / "hostile.json")).run
    kinds = {token.type for token in inline(summary(desk, run))}
    assert kinds <= {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
