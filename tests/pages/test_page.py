"""The HTML page of a run: whole, readable and inert, whatever the report says."""

import html
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewdesk.desk import Desk
from reviewdesk.desk.export.report import html as html_pieces
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.safetext import show
from reviewdesk.pages.html import POLICY, section_html
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.views.document import Column, Quote, Row, Section, Table, Text
from tests.helpers import SAMPLES, controls, load, numbered, open_desk, report, verdict
from tests.pages.pagekit import Page, faults

HOSTILE = (
    "<script>alert(1)</script>", "</pre></article><img src=x onerror=alert(1)>", "\"'><b>",
    "<!-- ", "]]>", "&lt;i&gt;", "\x1b[31m", "\u202eabc", "\x00", "javascript:alert(1)",
    "<style>*{background:url(http://a.example/)}</style>", "\ufeff\u200b", "</title><base href=x>",
)  # fmt: skip


def drawn(desk: Desk, run: Run, **options: Any) -> Page:
    return Page("".join(html_pieces(desk, run, **options)))


def labelled_library(desk: Desk) -> Run:
    """The sample of which every verdict has a label."""
    run = desk.load(Source.from_path(SAMPLES / "library-desk.jsonl")).run
    import_labels(desk, run, read_labels(Source.from_path(SAMPLES / "library-desk-truth.jsonl")))
    return run


@pytest.mark.parametrize("name", [
    "support-bot.jsonl", "code-review.json", "hostile.json", "release-notes.json",
])  # fmt: skip
def test_the_page_of_a_sample_is_inert_and_whole(desk: Desk, name: str) -> None:
    run = desk.load(Source.from_path(SAMPLES / name)).run
    page = drawn(desk, run)
    assert faults(page) == []
    assert controls(page.source) == set()
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    assert tags.count("article") == run.verdicts
    for key in desk.queue(run):
        item = desk.item(key)
        assert show(item.verdict.id) in page.text
        for juror in item.assessment.seats:
            said = juror.ballot.error or juror.ballot.reason
            assert said is None or show(said) in page.text


@pytest.mark.parametrize("bad", [
    '<p onclick="x"></p>', '<p style="x"></p>', '<a href="https://a.example"></a>',
    "<script></script>", "<img src='x'/>", "<!-- x -->", '<p id="a"></p><p id="a"></p>',
    '<a href="#gone"></a>', "<style>a { background: url(x) }</style>",
])  # fmt: skip
def test_the_measure_of_inert_finds_what_is_not(bad: str) -> None:
    calm_page = "<style>a { color: red }</style>"
    assert faults(Page(calm_page)) == []
    assert faults(Page(bad if "<style" in bad else calm_page + bad)) != []


def test_the_page_allows_itself_nothing(desk: Desk) -> None:
    page = drawn(desk, load(desk, report(verdict("a"))))
    metas = [attrs for tag, attrs in page.elements if tag == "meta"]
    assert {"http-equiv": "Content-Security-Policy", "content": POLICY} in metas
    assert "script" not in POLICY
    assert POLICY.startswith("default-src 'none';")
    assert page.elements[0] == ("html", {"lang": "en"})


TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=4).map("".join)
NAMES = TEXTS.filter(lambda text: 0 < len(text) < 150)


def hostile_report(names: list[str], texts: list[str]) -> bytes:
    """Two verdicts that say the texts wherever a report may."""
    first, second, juror, model = names
    body = verdict(first, 0.9, 0.2, 0.8, flagged=True)
    body |= {
        "case": {"test": second}, "input": texts[0], "output": texts[1], "rubric": texts[2],
        "reference": [texts[3]], "bias_warning": texts[0], "escalation_reasons": [texts[1]],
        "checks": [{"name": texts[2], "pass": False, "reason": texts[3]}],
        "human": {"label": "pass", "by": texts[0], "note": texts[1]},
        "generator": {"model": model, "vendor": texts[2]},
    }  # fmt: skip
    body["jurors"][0] |= {"id": juror, "model": model, "reason": texts[3]}
    return report(
        body, report_id=second, title=texts[0], producer={"name": first, "version": texts[1]}
    )


FRAME = {"section", "article", "h1", "h2", "h3", "details", "table", "caption", "pre", "th", "dd"}


def calm(text: str) -> str:
    """A harmless text that is left out where the other one is."""
    return "calm" if text.strip() else text


@pytest.mark.slow
@settings(settings.get_profile("default"))
@given(
    st.lists(NAMES, min_size=4, max_size=4, unique=True),
    st.lists(TEXTS, min_size=4, max_size=4),
)
def test_no_text_changes_the_elements(names: list[str], texts: list[str]) -> None:
    sayings = ((names, texts), (["a", "b", "c", "d"], [calm(text) for text in texts]))
    with tempfile.TemporaryDirectory() as folder, closing(open_desk(Path(folder) / "d")) as desk:
        pages = [drawn(desk, load(desk, hostile_report(*said))) for said in sayings]
    hostile, harmless = pages
    assert faults(hostile) == []
    assert controls(hostile.source) == set()
    frames = [[tag for tag, _ in page.elements if tag in FRAME] for page in pages]
    assert frames[0] == frames[1]
    assert {tag for tag, _ in hostile.elements} - {tag for tag, _ in harmless.elements} == set()
    assert show(texts[1]) in hostile.text


@given(TEXTS)
def test_text_and_attributes_come_back_as_they_are_shown(text: str) -> None:
    grid = Table((Column("x"),), (Row((Text(text, outside=True),)),), caption=text)
    page = Page(section_html(Section("", (Quote(text), grid))))
    labels = [attrs["aria-label"] for _, attrs in page.elements if "aria-label" in attrs]
    assert labels == [show(text) or "x"]
    between = page.source.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]
    assert html.unescape(between).replace("\r\n", "\n") == show(text)
    assert page.text.count(show(text)) >= 2 + bool(text)


def test_the_figures_are_those_of_the_calibration(desk: Desk) -> None:
    run = labelled_library(desk)
    page, found = drawn(desk, run), calibration_page(desk, run, jurors=False)
    line = found.calibration.headline
    for value in (line.ece, line.brier, line.gap, line.accuracy, line.corrected_rate):
        assert value is not None
        assert f"{value:.3f}" in page.text
    assert f"[{line.corrected_rate_low:.3f}, {line.corrected_rate_high:.3f}]" in page.text
    assert "every verdict is labelled" in page.text
    assert found.fit is not None
    places = {"inside", "below", "above"}
    marks = [tag for tag, attrs in page.elements if attrs.get("class") in places]
    assert len(marks) == len(found.fit.bins)
    # The same points stand in a table, a row for each.
    for one in found.fit.bins:
        assert f"{one.mean_confidence:.2f}" in page.texts


def test_without_labels_nothing_is_said_of_the_judge(desk: Desk) -> None:
    page = drawn(desk, load(desk, numbered(8)))
    assert any("May this judge gate? Not yet: there are no" in text for text in page.texts)
    assert "figure" not in {tag for tag, _ in page.elements}


def names_of(page: Page) -> list[str]:
    parts = page.source.split('<h3 id="verdict-')[1:]
    return [part.split("<bdi>", 1)[1].split("<", 1)[0] for part in parts]


def test_the_flagged_come_first_then_the_labelled(desk: Desk) -> None:
    run = load(desk, numbered(8))
    desk.label(desk.find(run, "v6"), Truth.PASS)
    page = drawn(desk, run)
    # v0 and v4 are flagged, v6 is labelled, the rest follow in the order of the file.
    assert names_of(page) == ["v0", "v4", "v6", "v1", "v2", "v3", "v5", "v7"]


def test_a_long_run_is_cut_and_says_so(desk: Desk) -> None:
    run = load(desk, numbered(8))
    page = drawn(desk, run, most=3)
    assert names_of(page) == ["v0", "v4", "v1"]
    assert "3 of 8 verdicts" in page.text
    assert "5 are left out of this page" in page.text
    assert "left out of this page" not in drawn(desk, run, most=None).text


def test_a_trimmed_dissent_heads_the_jury(desk: Desk) -> None:
    body = verdict("a", 0.9, 0.8, 0.85, 0.9, 0.1)
    page = drawn(desk, load(desk, report(body, defaults={
        "threshold": 0.6, "quorum": 0.5, "strategy": "trimmed_mean",
    })))  # fmt: skip
    jury = page.source.split("<caption>The jury</caption>")[1]
    assert jury.index("j5") < jury.index("j1")
    assert "trimmed low" in jury


def test_a_run_without_verdicts_has_a_page(desk: Desk) -> None:
    page = drawn(desk, load(desk, report()))
    assert faults(page) == []
    assert "The run has no verdicts." in page.texts
