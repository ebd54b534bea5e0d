"""The runs screen as it is drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.paint.runs import details_lines, run_head, run_row
from reviewdesk.desk.review.runs import overview, run_details
from reviewdesk.domain.records import Truth
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.run.measures import UNMEASURED
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check
from tests.helpers import Clock, load, open_desk, report, verdict


def loaded(folder: Path, *bodies: dict[str, Any], labels: int = 1) -> tuple[RunLine, RunDetails]:
    folder.mkdir(exist_ok=True)
    desk = open_desk(folder / "desk.db", clock=Clock())
    header = {"generator": {"model": "gpt-4o", "vendor": "openai"}}
    run = load(desk, report(*bodies, **header), "report.json", seed="same")
    for key in list(desk.queue(run, "", "file"))[:labels]:
        desk.label(key, Truth.PASS)
    found = overview(desk)[0], run_details(desk, run)
    desk.close()
    return found


THREE = (
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.2, 0.8, flagged=True),
    verdict("c", 0.1, None, 0.3),
)


def row(line: RunLine, width: int, *, blind: bool = False, **more: bool) -> str:
    marks = {"current": False, "chosen": False} | more
    return run_row(line, width, **marks, blind=blind).plain


def test_a_run_on_one_line(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    # Three verdicts, one flagged, one labelled, one failed ballot; the clock starts at 12:00.
    # W = .03 + .43 + .04 over N = 8, M2 = 3.53 - 8 * .5875² = .76875: alpha = 1 - .0625 / .10982.
    assert row(line, 120).split() == ["run", "canonical", "3", "1", "1", "0.431", "1", "0",
                                      "2025-01-31", "12:00"]  # fmt: skip
    assert row(line, 85).split() == ["run", "3", "1", "1", "0.431", "1", "0", "2025-01-31"]
    assert row(line, 78).split() == ["run", "3", "1", "1", "0.431", "1", "0"]
    assert row(line, 60).split() == ["run", "3", "1", "1", "0.431"]
    assert row(line, 50).split() == ["run", "3", "1", "1"]
    assert row(line, 30).split() == ["run"]
    assert row(replace(line, alphas=UNMEASURED), 78).split()[4] == "-"


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


def words(found: RunDetails, width: int = 78, *, blind: bool = False) -> str:
    lines = details_lines(found, width, blind=blind)
    return "\n".join(" ".join(line.plain.split()) for line in lines)


def test_everything_about_a_run(tmp_path: Path) -> None:
    line, found = loaded(tmp_path, *THREE)
    drawn = words(found)
    for text in (
        "file report.json",
        "format canonical",
        "loaded 2025-01-31 12:00 UTC",
        "seed same",
        "verdicts 3",
        "ballots 9, 1 of them failed",
        "skipped rows 0",
        f"run hash {line.run.hash}",
        f"file sha256 {found.file_hash}",
        "generator gpt-4o, openai",
        "defaults threshold 0.6, quorum 0.5, strategy mean",
        "decided 1 of 3 (pass or fail)",
        "pass 2",
        "fail 1",
        "inconclusive 0",
        "esc 1 escalated",
        "rest/fail 1 1",
        "flagged/pass 1 -",
        f"log head {found.head[:20]}",
    ):
        assert text in drawn, text


def test_how_far_the_jurors_agree(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    drawn = words(found)
    # Votes TTT, TFT, FF: of 8 ballots 5 pass, unlike pairs in b alone, 4 of them over m - 1 = 2.
    # 1 - (2 / 8) / (2 * 5 * 3 / (8 * 7)) = .5333.
    for text in (
        "AGREEMENT of the jurors, over all verdicts",
        "alpha 0.431 interval, on the scores\n- an interval needs ten verdicts with two ballots",
        "on votes 0.533 nominal",
        "on ranks",
    ):
        assert text in drawn, text
    interval = replace(found.alphas, alpha_low=-0.25, alpha_high=0.75, reasons={})
    assert "[-0.250, 0.750] 95% interval" in words(replace(found, alphas=interval))
    silent = words(replace(found, alphas=UNMEASURED))
    assert "alpha - loaded by an older version" in silent
    assert "AUDIT where the report breaks its own rules ─" in silent
    assert "no verdict breaks" not in silent


def test_the_audit_names_the_filter_that_lists_the_verdicts(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    assert "none no verdict breaks a rule of the report" in words(found)
    # The mean of .9 .8 .7 passes, and that of .1 .3 fails.
    wrong = [{**THREE[0], "decision": "fail"}, {**THREE[2], "decision": "pass"}]
    _, found = loaded(tmp_path / "wrong", *wrong)
    assert "breach:decision 2 the stated rule does not give the stated decision" in words(found)
    assert "breach:band" not in words(found)


def test_notes_are_told_in_full(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    assert "NOTES what the reader noticed ─" in words(found)
    note = "a note " + "that goes on " * 30 + "to its end"
    drawn = words(replace(found, run=replace(found.run, notes=(note, "second"))))
    assert note in " ".join(drawn.replace("·", "").split())
    assert "second" in drawn


def test_a_report_that_states_nothing_says_so(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    drawn = words(replace(found, run=replace(found.run, header={}), filled={"threshold": 0.7}))
    assert "generator - not stated" in drawn
    assert "defaults - none stated" in drawn
    assert "set by you threshold 0.7" in drawn


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
        drawn.append([one, *details_lines(same, width, blind=True)])
    assert drawn[0] == drawn[1]
    in_the_open = [words(replace(details, desk="the desk")) for _, details in found]
    assert in_the_open[0] != in_the_open[1]
    assert row(found[0][0], 158) != row(found[1][0], 158)


def test_no_line_is_too_wide(tmp_path: Path) -> None:
    clean = HOSTILE.replace("\ud800", "")
    line, found = loaded(tmp_path, *THREE)
    run = replace(
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
    for width in WIDTHS:
        for blind in (False, True):
            check([run_head(width, blind=blind)], width)
            lines = [run_row(RunLine(run, 9), width, current=True, chosen=True, blind=blind)]
            lines += details_lines(replace(found, run=run, desk=clean), width, blind=blind)
            check(lines, width)


def test_labels_that_came_with_the_file_are_counted_unless_blind(tmp_path: Path) -> None:
    def drawn(found: RunDetails, *, blind: bool = False) -> str:
        return "\n".join(line.plain for line in details_lines(found, 100, blind=blind))

    labelled = [verdict(name, human={"label": "pass"}) for name in ("a", "b")]
    for bodies, said in (
        (labelled, "2 human labels in the file; --import-labels takes them"),
        (labelled[:1], "1 human label in the file; --import-labels takes it"),
    ):
        _, found = loaded(tmp_path / said[:1], *bodies, labels=0)
        assert said in drawn(found)
        assert "human" not in drawn(found, blind=True)
    _, found = loaded(tmp_path / "none", verdict("c"), labels=0)
    assert "human" not in drawn(found)
