"""The runs screen as it is drawn."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.rows import run_head, run_row
from reviewdesk.domain.run.details import RunAlphas, RunLine
from reviewdesk.views.run import run
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check
from tests.helpers import verdict
from tests.views.test_run import THREE, loaded, text


def row(line: RunLine, width: int, *, blind: bool = False, **more: bool) -> str:
    marks = {"current": False, "chosen": False} | more
    return run_row(line, width, **marks, blind=blind).plain


def test_a_run_on_one_line(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    # Three verdicts, one flagged, one labelled, one failed ballot; the clock starts at 12:00.
    # W = .03 + .43 + .04 over N = 8, M2 = 3.53 - 8 * .5875² = .76875: alpha = 1 - .0625 / .10982.
    assert row(line, 120).split() == ["run", "canonical", "3", "1", "1", "0.431", "1", "0",
                                      "2025-01-31", "12:00"]  # fmt: skip
    assert row(line, 94).split() == ["run", "3", "1", "1", "0.431", "1", "0", "2025-01-31"]
    assert row(line, 84).split() == ["run", "3", "1", "1", "0.431", "1", "0"]
    assert row(line, 78).split() == ["run", "3", "1", "1", "0.431", "1"]
    assert row(line, 66).split() == ["run", "3", "1", "1", "0.431"]
    assert row(line, 57).split() == ["run", "3", "1", "1"]
    assert row(line, 30).split() == ["run"]
    assert row(replace(line, alphas=RunAlphas()), 78).split()[4] == "-"


@pytest.mark.parametrize("width", [158, 120, 78, 70, 60, 44])
@pytest.mark.parametrize("blind", [False, True])
def test_the_head_stands_over_its_columns(tmp_path: Path, width: int, blind: bool) -> None:
    line, _ = loaded(tmp_path, *THREE)
    head, drawn = run_head(width, blind=blind).plain, row(line, width, blind=blind)
    for name, value in (("verdicts", "3"), ("labelled", "1")):
        if name in head:
            end = head.index(name) + len(name)
            assert drawn[:end].endswith(f" {value}")
    assert ("flagged" in head) <= (not blind)


def test_the_marks_need_no_colour(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    starts = [
        row(line, 78, current=current, chosen=chosen)[:4]
        for current in (False, True)
        for chosen in (False, True)
    ]
    assert starts == ["    ", "  ● ", "▸   ", "▸ ● "]


def test_a_blind_line_tells_no_panel(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    assert row(line, 120, blind=True).split() == [
        "run", "canonical", "3", "1", "2025-01-31", "12:00",
    ]  # fmt: skip


def twin(number: int, *, other: bool) -> dict[str, Any]:
    if not other or not number:
        return verdict(f"v{number}", 0.9, 0.8, 0.7)
    return verdict(
        f"v{number}", 0.1, None, 0.2, 0.3, flagged=True, decision="fail", score=None, band="low",
        bias_warning="kin",
    )  # fmt: skip


@pytest.mark.parametrize("width", [78, 158])
@pytest.mark.parametrize("labels", [0, 1])
def test_blind_twins_draw_the_same(tmp_path: Path, labels: int, width: int) -> None:
    found = [
        loaded(tmp_path / str(other), *(twin(i, other=other) for i in range(9)), labels=labels)
        for other in (False, True)
    ]
    drawn = []
    for line, details in found:
        one = run_row(line, width, current=True, chosen=True, blind=True)
        same = replace(details, desk="the desk")
        drawn.append([one, *document_lines(run(same, blind=True), width)])
    assert drawn[0] == drawn[1]
    in_the_open = [text(replace(details, desk="the desk")) for _, details in found]
    assert in_the_open[0] != in_the_open[1]
    assert row(found[0][0], 158) != row(found[1][0], 158)


@pytest.mark.slow
def test_no_line_is_too_wide(tmp_path: Path) -> None:
    clean = HOSTILE.replace("\ud800", "")
    line, found = loaded(tmp_path, *THREE)
    changed = replace(
        line.run,
        name=clean,
        file=clean,
        seed=clean,
        notes=(clean, "x" * 300),
        header={
            "generator": {"model": clean, "vendor": clean},
            "defaults": {"weights": {clean: 1}},
        },
    )
    hostile = replace(found, run=changed, desk=clean)
    for width in WIDTHS:
        for blind in (False, True):
            check([run_head(width, blind=blind)], width)
            lines = [run_row(RunLine(changed, 9), width, current=True, chosen=True, blind=blind)]
            lines += document_lines(run(hostile, blind=blind), width)
            check(lines, width)
