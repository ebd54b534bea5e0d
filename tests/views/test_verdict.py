"""What a verdict's document says, on every surface that lays it out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.paint.document import document_lines
from reviewdesk.cli.plain import document_text
from reviewdesk.domain.records import Item, Truth
from reviewdesk.pages.markdown_document import document_markdown
from reviewdesk.views.comparison import comparison
from reviewdesk.views.document import Document
from reviewdesk.views.verdict import jury, review, title, verdict
from tests.app.builders import juror, open_run, report
from tests.app.builders import verdict as body

SURFACES: dict[str, Callable[[Document], str]] = {
    "terminal": lambda found: "\n".join(line.plain for line in document_lines(found, 158)),
    "plain": document_text,
    "markdown": lambda found: "\n".join(document_markdown(found)).replace("\\", ""),
}


def item(tmp_path: Path, label: Truth | None = None, **more: Any) -> Item:
    desk, run = open_run(tmp_path / "d.db", report([body(1, **more)]))
    with closing(desk):
        [key] = desk.queue(run)
        if label is not None:
            desk.label(key, label, blind=True)
            desk.note(key, "look at the date")
        return desk.item(key)


def words(text: str) -> str:
    return " ".join(text.replace("`", "").replace("*", "").replace("|", " ").split())


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_holds_the_same_facts(tmp_path: Path, surface: str) -> None:
    found = item(
        tmp_path,
        Truth.PASS,
        scores=(0.9, 0.8, 0.85, 0.95, 0.1),
        strategy="trimmed_mean",
        decision="pass",
        reference="forty-two",
        checks=[{"name": "length", "pass": False, "reason": "too long"}],
    )
    text = words(SURFACES[surface](verdict(found)))
    # Of .1, .8, .85, .9 and .95 the ends go: (.8 + .85 + .9) / 3 = .85; 4 of 5 are over .7.
    for fact in (
        "PASS", "0.850 against 0.7 by trimmed mean", "4 of 5 pass, 5 seated", "label pass",
        "trimmed low · DISSENT", "judge-4 thinks so", "trimmed mean −1 0.850 pass", "forty-two",
        "✗ fail", "length: too long", "given blind", "look at the date", "the answer is right",
        "what would turn this pass", "breakdown: tolerates 1 of 5, breaks at 2",
    ):  # fmt: skip
        assert fact in text.replace("fail:", "fail"), fact


def test_a_blind_session_leaves_out_labels_and_tags(tmp_path: Path) -> None:
    found = item(tmp_path, Truth.PASS, human={"label": "fail", "by": "cara"})
    hidden = Document((*review(found, blind=True),))
    seen = Document((*review(found, blind=False),))
    assert "fail by cara" in document_text(seen)
    assert "label pass" in document_text(seen)
    assert "label" not in document_text(hidden).replace("LABEL", "")
    assert "cara" not in document_text(hidden)
    assert "look at the date" in document_text(hidden)
    assert title(found, blind=True) == title(found, blind=False)


def test_the_state_of_a_juror_goes_below_where_room_is_short(tmp_path: Path) -> None:
    names = ["claude-sonnet", "a/very/long/name/of/a/model/that/ends-here", "gpt"]
    ballots = [juror(name, score) for name, score in zip(names, (0.9, 0.8, 0.3), strict=True)]
    found = item(tmp_path, jurors=ballots)
    lines = [line.plain for line in document_lines(jury(found), 40)]
    # Two of three pass, so the third dissents; an id is cut at its start.
    [at] = [at for at, line in enumerate(lines) if line.startswith("  gpt ") and "0.300" in line]
    assert lines[at + 1].strip() == "· DISSENT"
    assert any("…" in line and "-here " in line for line in lines[:at])
    assert max(map(len, lines)) <= 40


def test_a_comparison_marks_what_differs(tmp_path: Path) -> None:
    one = item(tmp_path / "a")
    other = item(tmp_path / "b", scores=(0.9, 0.8, 0.9))
    rows = [words(line) for line in document_text(comparison(one, other)).splitlines()]
    # The mean of .9, .8 and .3 is .667; the third juror turns from fail to pass.
    assert "≠ judge-2 0.300 fail counted 0.900 pass counted" in rows
    assert "judge-0 0.900 pass counted 0.900 pass counted" in rows
    assert "REASONS OF TURNED VOTES" in rows
