"""The HTML page of a run: whole, readable and inert, whatever the report says."""

import html
import re
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.desk.core import Desk
from reviewdesk.desk.export import report as export
from reviewdesk.desk.export.report import html as html_pieces
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.safetext import show
from reviewdesk.errors import UsageError
from reviewdesk.pages.html import POLICY, fragment
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.views.document import Column, Document, Quote, Row, Section, Table, Text
from tests.helpers import SAMPLES, controls, load, mostly_slow, numbered, open_desk, report, verdict
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


@pytest.mark.parametrize(
    "name",
    mostly_slow(["hostile.json", "support-bot.jsonl", "code-review.json", "release-notes.json"]),
)
def test_the_page_of_a_sample_is_inert_and_whole(desk: Desk, name: str) -> None:
    run = desk.load(Source.from_path(SAMPLES / name)).run
    page = drawn(desk, run, full=True)
    assert faults(page) == []
    assert controls(page.source) == set()
    assert [tag for tag, _ in page.elements].count("h1") == 1
    assert len(names_of(page)) == run.verdicts
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


FRAME = {"section", "h1", "h2", "h3", "h4", "details", "table", "caption", "pre", "th", "dd"}


def calm(text: str) -> str:
    """A harmless text that is left out where the other one is."""
    return "calm" if text.strip() else text


@pytest.mark.slow
@given(
    st.lists(TEXTS.filter(lambda text: 0 < len(text) < 150), min_size=4, max_size=4, unique=True),
    st.lists(TEXTS, min_size=4, max_size=4),
)
def test_no_text_changes_the_elements(names: list[str], texts: list[str]) -> None:
    sayings = ((names, texts), (["a", "b", "c", "d"], [calm(text) for text in texts]))
    with tempfile.TemporaryDirectory() as folder, closing(open_desk(Path(folder) / "d")) as desk:
        pages = [drawn(desk, load(desk, hostile_report(*said)), full=True) for said in sayings]
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
    page = Page(fragment(Document((Section("", (Quote(text), grid)),))))
    labels = [attrs["aria-label"] for _, attrs in page.elements if "aria-label" in attrs]
    assert labels == [show(text) or "x"]
    between = page.source.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]
    assert html.unescape(between).replace("\r\n", "\n") == show(text)
    assert page.text.count(show(text)) >= 2 + bool(text)


@pytest.mark.slow
def test_the_figures_are_those_of_the_calibration(desk: Desk) -> None:
    run = labelled_library(desk)
    page, found = drawn(desk, run, full=True), calibration_page(desk, run, jurors=False)
    line = found.calibration.headline
    for value in (line.ece, line.brier, line.gap, line.accuracy, line.corrected_rate):
        assert value is not None
        assert f"{value:.3f}" in page.text
    assert f"[{line.corrected_rate_low:.3f}, {line.corrected_rate_high:.3f}]" in page.text
    assert found.fit is not None
    places = {"inside", "below", "above"}
    marks = [tag for tag, attrs in page.elements if attrs.get("class") in places]
    assert len(marks) == len(found.fit.bins)
    # The same points stand in a table, a row for each.
    for one in found.fit.bins:
        assert f"{one.mean_confidence:.2f}" in page.texts


def test_a_page_begins_with_what_a_manager_asks(desk: Desk) -> None:
    run = labelled_library(desk)
    page = drawn(desk, run)
    heads = ["Conclusion", "Figures", "What the judge got wrong", "Reliability", "What to do next"]
    titles = [text.strip() for text in re.findall("<h2[^>]*>([^<]*)", page.source)]
    assert titles == [*heads, "Details"]
    assert page.text.index("May this judge decide alone? Not alone") < page.text.index("Figures")
    # The truth differs on seven of the forty, and each of them is linked to its details.
    assert "The judge was wrong on 7 of 40 decided verdicts" in page.text
    links = [str(attrs["href"])[1:] for tag, attrs in page.elements if tag == "a"]
    assert len(links) == 7
    assert links == [attrs["id"] for _, attrs in page.elements if "id" in attrs][1:8]
    assert all(text not in page.text for text in (run.hash, run.hash[:12], run.seed))
    assert run.hash in drawn(desk, run, full=True).text


def test_without_labels_the_page_says_what_to_label(desk: Desk) -> None:
    page = drawn(desk, load(desk, numbered(8)))
    assert any("May this judge decide alone? Not yet: there are no" in text for text in page.texts)
    assert "figure" not in {tag for tag, _ in page.elements}
    assert "Label these first, in this order:" in page.text
    run = desk.run()
    order = [desk.item(key).verdict.test for key in desk.queue(run)]
    assert names_of(page) == order


def names_of(page: Page) -> list[str]:
    return re.findall("<h4><bdi>([^<]*)", page.source)


@pytest.mark.slow
def test_the_wrong_come_first_then_the_flagged(desk: Desk) -> None:
    run = load(desk, numbered(8))
    for name, truth in (("v6", Truth.PASS), ("v1", Truth.PASS)):
        desk.label(desk.find(run, name), truth)
    # v6 failed and should pass, v0 and v4 are flagged, v1 is labelled; the others follow.
    named = ["v6", "v0", "v4"]
    assert names_of(drawn(desk, run)) == [f"test of {name}" for name in named]
    every = [*named, "v1", "v2", "v3", "v5", "v7"]
    assert names_of(drawn(desk, run, full=True)) == [f"test of {name}" for name in every]


@pytest.mark.slow
def test_a_long_run_is_cut_and_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load(desk, numbered(30))
    monkeypatch.setattr(export, "MOST_LISTED", 12)
    page = drawn(desk, run, full=True)
    shown = len(names_of(page))
    assert shown < 30
    assert f"{shown} of 30 verdicts are on this page" in page.text


def test_the_diagram_is_a_file_of_its_own(desk: Desk) -> None:
    run = load(desk, numbered(8))
    with pytest.raises(UsageError, match="no verdict has a pass or fail label"):
        export.diagram(desk, run)
    drawing = ET.fromstring(export.diagram(desk, labelled_library(desk)))  # noqa: S314 - ours
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert "right 0.57 of 7" in drawing.attrib["aria-label"]
    names = {str(one.attrib.get("class")) for one in drawing.iter()}
    style = next(one.text for one in drawing if one.tag.endswith("style"))
    assert style is not None
    assert all(f".{name}" in style for name in names - {"None"})


def test_a_run_without_verdicts_has_a_page(desk: Desk) -> None:
    page = drawn(desk, load(desk, report()))
    assert faults(page) == []
    assert "The run has no verdicts." in page.texts
