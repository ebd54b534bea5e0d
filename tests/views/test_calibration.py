"""What is said of a run's calibration, as the terminal draws it."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.jurors.facts import JurorCounts
from reviewdesk.domain.records import Metrics, TagCount, Truth
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.views.calibration import calibration, confidence_text
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check
from tests.helpers import load, mostly_slow, open_desk, report, verdict


def page(
    folder: Path, labels: dict[str, str], *bodies: dict[str, Any], blind: bool | None = None
) -> CalibrationPage:
    desk = open_desk(folder / "desk.db")
    run = load(desk, report(*bodies))
    for name, truth in labels.items():
        desk.label(desk.find(run, name), Truth(truth), blind=blind)
    found = calibration_page(desk, run)
    desk.close()
    return found


def calibration_lines(found: CalibrationPage, width: int, *, blind: bool) -> Lines:
    return document_lines(calibration(found, blind=blind, full=True), width)


def text(found: CalibrationPage, width: int = 78, *, blind: bool = False) -> str:
    return "\n".join(line.plain for line in calibration_lines(found, width, blind=blind))


FOUR = (
    verdict("a", 0.9, 0.9, 0.9),
    verdict("b", 0.9, 0.5, 0.7, flagged=True),
    verdict("c", 0.2, 0.4, 0.3),
    verdict("d", 0.86, 0.86, 0.86),
)


def test_the_second_layer_answers_questions(tmp_path: Path) -> None:
    # Both of rest/pass have a label, one of them no answer: the other stands for two.
    labels = {"a": "unsure", "b": "fail", "c": "fail", "d": "pass"}
    heads = [row for row in text(page(tmp_path, labels, *FOUR)).splitlines() if "──" in row]
    assert [head.rstrip("─ ").split("  ")[0] for head in heads] == [
        "HOW RIGHT?", "WHICH CONFIDENCE?", "WHICH ITEMS?", "BLIND OR OPEN?", "WHICH JUROR?",
        "WHICH GATES?",
    ]  # fmt: skip


def first_layer(found: CalibrationPage, width: int = 78, *, blind: bool = False) -> list[str]:
    return [line.plain for line in document_lines(calibration(found, blind=blind), width)]


def figures_in(lines: list[str]) -> list[str]:
    """The figures that lines hold; one with its interval counts once, and so does a share."""
    said = re.sub(r"\[.*?\]|\(95%.*?\)|95%", "", " ".join(lines))
    return re.findall(r"[-+]?\d[\d,.]* of \d+|[-+]?\d[\d,.]*", said)


@pytest.mark.parametrize("blind", [True, False])
def test_the_first_layer_is_one_small_screen(tmp_path: Path, blind: bool) -> None:
    bodies = [verdict(f"v{i:02}", *([0.9] * 3 if i % 3 else [0.1] * 3)) for i in range(60)]
    labels = {f"v{i:02}": "pass" if i % 3 and i % 7 else "fail" for i in range(45)}
    lines = first_layer(page(tmp_path, labels, *bodies), blind=blind)
    # A terminal of 80x24 has a header, a title, a strip, a status and a footer around it.
    assert len(lines) <= 19
    assert len(figures_in(lines)) <= 14, figures_in(lines)
    for name in ("accuracy", "false passes", "false fails", "gap", "Brier", "ECE", "chance"):
        assert any(name in line for line in lines), name
    assert any("pass rate" in line for line in lines) is not blind


@pytest.mark.parametrize(("given", "left"), [(0, 20), (1, 19), (19, 1)])
def test_below_twenty_labels_there_is_progress_alone(tmp_path: Path, given: int, left: int) -> None:
    bodies = [verdict(f"v{i:02}", 0.9, 0.9, 0.9) for i in range(60)]
    lines = first_layer(page(tmp_path, {f"v{i:02}": "pass" for i in range(given)}, *bodies))
    labels = "label" if left == 1 else "labels"
    assert lines[-1].split() == (
        f"{given} of 60 verdicts labelled. Figures show after {left} more {labels}.".split()
    )
    assert len(lines) == 3


def census(tmp_path: Path, **more: Any) -> CalibrationPage:
    return page(tmp_path, {"a": "pass", "b": "fail", "c": "fail", "d": "pass"}, *FOUR, **more)


def test_the_figures_of_a_census(tmp_path: Path) -> None:
    found = census(tmp_path)
    drawn = text(found)
    # Confidences .9 .7 .7 .86 against right, wrong, right, right: mean .79, accuracy .75.
    assert "says 0.79 on average and is right 0.75 of the time: overconfident by 0.04" in drawn
    # ECE: bin 9 -.1, bin 7 (.7 - 1 and .7 - 0) +.4, bin 8 -.14: (.1 + .4 + .14) / 4 = .16.
    # Brier: (.01 + .49 + .09 + .0196) / 4 = .1524. The gap's d are -.1 .7 -.3 -.14, mean .04.
    # b of the three passes is wrong, of two that should fail. A census leaves nothing to guess.
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    about = "4 labels, every decided verdict is labelled; they are the run's figures"
    assert about in " ".join(lines)
    for line in (
        "accuracy 0.750 exact decides as the label says",
        "pass rate 0.750 passed by the judge",
        "should pass 0.500 exact by the labels",
        "false passes 0.500 exact share of what should fail",
        "false fails 0.000 exact share of what should pass",
        "gap +0.040 exact surer than it is right",
        "Brier 0.152 exact error of confidence, lower is better",
        "judge passed 2 1",
        "judge failed 0 1",
        "sensitivity 1.000",
        "specificity 0.500",
        "Youden's J 0.500",
        "PASS brier 0.152 <= 0.250 margin +0.098",
        "PASS corrected_rate 0.500 <= 0.750 margin +0.250",
        "missed: ece",
    ):
        assert any(row.startswith(line) for row in lines), line
    fit = found.fit
    assert fit is not None
    assert fit.null is not None
    assert f"ECE 0.160 chance {fit.null.expected:.3f} distance of" in " ".join(lines)
    null = f"about {fit.null.expected:.3f}"
    assert f"FAIL ece 0.160 <= 0.100 margin -0.060 calibrated: {null}, p" in " ".join(lines)
    # (.75 + .5 - 1) / .5 = .5; the Wald interval of .75 over 4 is .3256 to 1, mapped 0 to 1.
    assert "corrected rate 0.500 [0.000, 1.000] Wald" in " ".join(lines)


def test_the_groups_and_the_jurors_of_a_census(tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in text(census(tmp_path), 120).splitlines()]
    for line in (
        "group items labels in order pass or fail can't tell weight random check",
        "flagged/pass 1 1 1 1 0 1.00 -",
        "rest/pass 2 2 2 2 0 1.00 2/2",
        "rest/fail 1 1 1 1 0 1.00 1/1",
    ):
        assert line in lines, line
    # The rest is known: no bound.
    assert "random check: 3 of 3 done, the panel wrong on 0 of the 3 that count" in lines
    # Threshold .6. j1: .9 .9 .2 .86 is wrong on b alone; j2: .9 .5 .4 .86 is always right, and
    # dissents on b; j3 as j1. The mean decides, so that nobody is trimmed.
    jurors = {"j1 4 3 1 0 0 0 0 of 0", "j2 4 4 0 0 0 0 1 of 1", "j3 4 3 1 0 0 0 0 of 0"}
    assert {*lines} >= {*jurors, "1 of 1 dissents were right"}


def test_an_audit_without_errors_is_bounded(tmp_path: Path) -> None:
    drawn = text(page(tmp_path, {"a": "unsure", "c": "fail", "d": "pass"}, *FOUR))
    # c and d count and are right: 1 - .05^(1/2) = .776.
    assert (
        "random check: 3 of 3 done, the panel wrong on 0 of the 2 that count: too few to say more "
        "than at most 0.776 of the rest (95%, one side)"
    ) in " ".join(drawn.split())


def test_what_does_not_stand_for_the_run_says_so(tmp_path: Path) -> None:
    found = page(tmp_path, {"b": "fail"}, *FOUR)
    assert " ".join(text(found).split()).startswith(
        "May this judge decide alone? Not yet: only escalated verdicts are labelled, "
        "which are the hard ones."
    )
    drawn = " ".join(text(found).split())
    assert "rest/fail has no pass or fail label in order: 1 more to the next figures" in drawn


def test_the_words_for_confidence() -> None:
    def words(gap: float | None, accuracy: float | None) -> str:
        empty: dict[str, Any] = dict.fromkeys(Metrics.__struct_fields__)
        return confidence_text(Metrics(**empty | {"n": 9, "gap": gap, "accuracy": accuracy}))

    assert words(0.09, 0.82) == (
        "says 0.91 on average and is right 0.82 of the time: overconfident by 0.09"
    )
    assert words(-0.2, 0.9) == (
        "says 0.70 on average and is right 0.90 of the time: underconfident by 0.20"
    )
    assert words(0.004, 0.5).endswith("as sure as it is right")
    # .784 and .746: to two decimals .78 and .75, and so .03, though the gap is .038.
    assert words(0.038, 0.746) == (
        "says 0.78 on average and is right 0.75 of the time: overconfident by 0.03"
    )
    assert words(None, None) == "nothing to compare yet"


def test_labels_given_in_view_of_the_answer(desk: Desk) -> None:
    run = load(desk, report(*FOUR))
    for name, truth, blind in (("a", "fail", True), ("b", "pass", False), ("c", "fail", False)):
        desk.label(desk.find(run, name), Truth(truth), blind=blind)
    page = calibration_page(desk, run)
    drawn = " ".join(text(page).split())
    desk.close()
    # Blind, the panel was wrong on a; in the open it was right on b and c.
    assert "labels 1 2 accuracy" in drawn
    assert "too few labels to compare: wait for 20 of each" in drawn
    found = page.split
    many = replace(found, blind=replace(found.blind, n=20), open=replace(found.open, n=20))
    drawn = " ".join(text(replace(page, split=many)).split())
    assert "panel 0.00 blind, 1.00 open: 1.00 more with the answer in view" in drawn


@pytest.mark.parametrize(
    ("blind", "words"),
    [
        (True, "every label was given before the panel's answer was seen"),
        (False, "no label is blind"),
        (None, "open: 4 of 4 come from a shell or a file and do not say"),
    ],
)
def test_one_way_alone(tmp_path: Path, blind: bool | None, words: str) -> None:
    assert words in " ".join(text(census(tmp_path, blind=blind)).split())


def test_tags_are_counted(desk: Desk) -> None:
    run = load(desk, report(*FOUR))
    for name, tags in (("a", ["tone"]), ("b", ["tone", "wrong-date"]), ("c", [])):
        desk.label(desk.find(run, name), Truth.PASS, tags=tags, blind=False)
    found = calibration_page(desk, run)
    desk.close()
    for blind in (False, True):
        assert "tone 2   wrong-date 1" in text(found, blind=blind)


def twin(number: int, *, labelled: bool, other: bool) -> dict[str, Any]:
    if labelled or not other:
        scores = (0.9, 0.8, 0.4) if number % 2 else (0.3, 0.7, 0.1)
        return verdict(f"v{number:02}", *scores, flagged=number % 4 == 0)
    return verdict(
        f"v{number:02}", 0.1, None, 0.2, 0.3, 0.0, flagged=True, decision="fail", score=None,
        band="low", bias_warning="kin", agreement={"value": -0.4, "metric": "r_wg"},
    )  # fmt: skip


def other_runs(folder: Path, truths: tuple[str, ...]) -> tuple[CalibrationPage, CalibrationPage]:
    found = []
    for other in (False, True):
        labels = {f"v{i * 2:02}": truth for i, truth in enumerate(truths)}
        bodies = [twin(i, labelled=f"v{i:02}" in labels, other=other) for i in range(20)]
        found.append(page(folder / str(other), labels, *bodies, blind=True))
    return found[0], found[1]


@pytest.mark.parametrize("width", mostly_slow([78, 158]))
@pytest.mark.parametrize(
    "truths",
    [(), ("unsure",), ("pass", "fail", "pass"), ("fail", "pass", "unsure", "fail", "pass", "pass")],
    ids=len,
)
def test_twins_draw_the_same_lines(tmp_path: Path, truths: tuple[str, ...], width: int) -> None:
    one, two = other_runs(tmp_path, truths)
    blind = [calibration_lines(found, width, blind=True) for found in (one, two)]
    assert blind[0] == blind[1]
    assert [line.spans for line in blind[0]] == [line.spans for line in blind[1]]
    # The twins are no copies.
    assert text(one) != text(two)


def test_a_blind_page_says_what_it_leaves_out(tmp_path: Path) -> None:
    drawn = text(census(tmp_path), blind=True)
    assert "Blind: groups, weights and pass rates are left out" in drawn
    for word in ("every verdict", "WHICH ITEMS", "pass rate  ", "flagged/", "rest/", "corrected"):
        assert word not in drawn
    for word in ("HOW RIGHT", "WHICH GATES", "WHICH JUROR", "BLIND OR OPEN", "4 labels"):
        assert word in drawn


@pytest.mark.slow
def test_no_line_is_too_wide(tmp_path: Path) -> None:
    clean = HOSTILE.replace("\ud800", "")
    found = census(tmp_path)
    jurors = tuple(
        JurorCounts(name, seat, 1234, 56, 789, 10, 3, 4, 555, 66, 44)
        for seat, name in enumerate((clean, "日本" * 30, "short", "w" * 200))
    )
    hostile = replace(
        found,
        jurors=jurors,
        tags=(TagCount(clean, 3), TagCount("x" * 100, 1)),
        calibration=replace(found.calibration, warnings=(clean,)),
        alone=replace(found.alone, warnings=(clean,)),
    )
    empty = page(tmp_path / "empty", {}, *FOUR)
    for width in WIDTHS:
        for blind in (False, True):
            check(calibration_lines(hostile, width, blind=blind), width)
            check(calibration_lines(empty, width, blind=blind), width)
