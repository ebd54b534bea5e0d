"""The Markdown summary: its figures are the run's, and no text of a report is markup in it."""

import re
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reviewdesk.desk import Desk
from reviewdesk.desk.export.report import html, summary
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.pages.markdown import code, table
from reviewdesk.reports import Source
from reviewdesk.views.json import figures
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
    lines = [*table(("a", "b"), [(code(text, 120, cell=True), "next")], (False, False))]
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
@settings(settings.get_profile("default"))
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


def test_a_summary_has_the_figures_of_the_run(desk: Desk) -> None:
    run = load(desk, numbered(8))
    # v0, v3 and v6 fail, v0 and v4 are flagged and escalated; each has three jurors.
    made = summary(desk, run).partition("<details>")[0]
    assert "- **decisions**: 8 verdicts: 5 pass, 3 fail" in made
    assert "- **flags**: 2 flagged for review: 2 escalated" in made
    assert "- **labels**: 0 verdicts with a label; 0 of the 2 flagged" in made
    assert "- **ballots**: 24, 0 of them failed" in made
    assert "May this judge gate? Not yet: there are no pass or fail labels" in made
    assert "| `v4` | pass | 0.80 |" in made
    for key in desk.queue(run):
        item = desk.item(key)
        desk.label(key, Truth.PASS if item.row.decision == "pass" else Truth.FAIL)
    made = summary(desk, run).partition("<details>")[0]
    # Every verdict has a label that agrees: five of eight pass, before and after the correction.
    assert "| pass rate | 0.625 |" in made
    assert "| should pass | 0.625 | exact |" in made
    assert "8 labels, every verdict is labelled" in made
    assert "PASS  brier " in made


def test_all_figures_can_be_unfolded(desk: Desk) -> None:
    run = load(desk, numbered(8))
    for key in desk.queue(run):
        desk.label(key, Truth.PASS)
    made = summary(desk, run)
    parts = ["Run", "Calibration", "Jurors", "What if"]
    assert re.findall("<summary>(.*)</summary>", made) == parts
    blocks = [token.content.strip() for token in READER.parse(made) if token.type == "html_block"]
    # GitHub reads Markdown inside such a block only if blank lines part it from the tags.
    opened = [f"<details><summary>{part}</summary>" for part in parts]
    assert blocks == [tag for one in opened for tag in (one, "</details>")]


@pytest.mark.slow
def test_the_jurors_of_both_exports_are_those_of_the_command(desk: Desk) -> None:
    run = load(desk, numbered(80))
    for row in desk.rows(desk.queue(run)):
        if row.audit or row.stratum.startswith("flagged"):
            flip = row.stratum == "flagged/pass"
            desk.label(row.key, Truth.FAIL if flip else Truth(str(row.decision)))
    found = figures.jurors(jurors_page(desk, run))["jurors"][0]
    # 13 of the 80 are flagged passes, and they alone are wrong; each label once says 37 of 50.
    assert found["accuracy"] == pytest.approx(67 / 80)
    ends = f"{found['accuracy_low']:.2f}-{found['accuracy_high']:.2f}"
    assert f"| `j1` | 50 | 0.84 | {ends} |" in summary(desk, run)
    cells = re.sub("<[^>]*>", " ", "".join(html(desk, run)))
    assert f"j1 50 0.84 {ends} " in " ".join(cells.split())


def test_the_escalated_are_cut_and_counted(desk: Desk) -> None:
    run = load(desk, numbered(12))
    assert "more are escalated" not in summary(desk, run)
    made = summary(desk, run, most=1)
    assert "| `v0` |" in made
    assert "2 more are escalated and not listed." in made


def test_a_sample_has_a_summary(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / "hostile.json")).run
    kinds = {token.type for token in inline(summary(desk, run))}
    assert kinds <= {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
