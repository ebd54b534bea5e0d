"""What is said of a run's calibration, as the terminal draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines, section_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.jurors.accuracy import JurorCounts
from reviewdesk.domain.records import Metrics, Pace, TagCount, Truth
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.views import labels
from reviewdesk.views.calibration import calibration, confidence_text
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check
from tests.helpers import load, open_desk, report, verdict


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
    return document_lines(calibration(found, blind=blind), width)


def text(found: CalibrationPage, width: int = 78, *, blind: bool = False) -> str:
    return "\n".join(line.plain for line in calibration_lines(found, width, blind=blind))


FOUR = (
    verdict("a", 0.9, 0.9, 0.9),
    verdict("b", 0.9, 0.5, 0.7, flagged=True),
    verdict("c", 0.2, 0.4, 0.3),
    verdict("d", 0.86, 0.86, 0.86),
)


def test_every_section_names_its_design_and_n(tmp_path: Path) -> None:
    # Both of rest/pass have a label, one of them no answer: the other stands for two.
    labels = {"a": "unsure", "b": "fail", "c": "fail", "d": "pass"}
    heads = [row for row in text(page(tmp_path, labels, *FOUR)).splitlines() if "──" in row]
    assert [head.rstrip("─ ") for head in heads] == [
        "METRICS  confidence from support",
        "CONFIDENCE  weighted, n 3",
        "CONFUSION  weighted, n 3",
        "GATES  defaults, weighted, n 3",
        "DESIGN  weighted",
        "JURORS  counts of labels",
        "BLIND AND OPEN  weighted, each label once",
    ]


def census(tmp_path: Path, **more: Any) -> CalibrationPage:
    return page(tmp_path, {"a": "pass", "b": "fail", "c": "fail", "d": "pass"}, *FOUR, **more)


def test_the_figures_of_a_census(tmp_path: Path) -> None:
    found = census(tmp_path)
    drawn = text(found)
    # Confidences .9 .7 .7 .86 against right, wrong, right, right: mean .79, accuracy .75.
    assert "says 0.79 on average and is right 0.75 of the time: overconfident by 0.04" in drawn
    assert "(census, n 4)" in drawn
    # ECE: bin 9 -.1, bin 7 (.7 - 1 and .7 - 0) +.4, bin 8 -.14: (.1 + .4 + .14) / 4 = .16.
    # Brier: (.01 + .49 + .09 + .0196) / 4 = .1524.
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    for line in (
        "design census census",
        "n 4 4",
        "ECE 0.160 0.160",
        "judge passed 2 tp 1 fp",
        "judge failed 0 fn 1 tn",
        "sensitivity 1.000",
        "specificity 0.500",
        "Youden's J +0.500",
        "1 of its 3 passes should have failed; 0 of its 1 fails should have passed",
        "pass rate 0.750 observed, over all verdicts",
        "PASS brier 0.152 <= 0.250 margin +0.098",
        "PASS corrected_rate 0.500 <= 0.750 margin +0.250",
        "over the limit: ece",
    ):
        assert line in lines, line
    # The gap's d are -.1 .7 -.3 -.14, mean .04. A census leaves nothing to guess of this run.
    assert "gap +0.040 +0.040 [+0.040, +0.040]" in lines
    assert "accuracy 0.750 0.750 [0.750, 0.750]" in lines
    fit = found.fit
    assert fit is not None
    assert fit.null is not None
    null = f"about {fit.null.expected:.3f}"
    assert f"FAIL ece 0.160 <= 0.100 margin -0.060 calibrated: {null}, p" in " ".join(lines)
    assert "Brier 0.152 0.152 [0.152, 0.152]" in lines
    # (.75 + .5 - 1) / .5 = .5; the Wald interval of .75 over 4 is .3256 to 1, mapped 0 to 1.
    assert "0.500 [0.000, 1.000] Wald 95%, census, n 4" in drawn
    assert "about 0.50 should pass where the judge passes 0.75" in drawn


def test_the_design_of_a_census(tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in text(census(tmp_path)).splitlines()]
    for line in (
        "stratum N labels prefix p/f other weight audit",
        "flagged/pass 1 1 1 1 0 1.00 -",
        "rest/pass 2 2 2 2 0 1.00 2/2",
        "rest/fail 1 1 1 1 0 1.00 1/1",
        "every decided verdict has a label: the run's figures, not an estimate",
        "loss by unequal weights: 4 labels count as 4.0 equal ones (Kish's ESS)",
    ):
        assert line in lines, line
    # The rest is known: no bound.
    assert "audit: 3 of 3 done, the panel wrong on 0 of the 3 that count" in lines


def test_an_audit_without_errors_is_bounded(tmp_path: Path) -> None:
    drawn = text(page(tmp_path, {"a": "unsure", "c": "fail", "d": "pass"}, *FOUR))
    # c and d count and are right: 1 - .05^(1/2) = .776.
    assert (
        "audit: 3 of 3 done, the panel wrong on 0 of the 2 that count: unstable, at most 0.776 of "
        "the rest (one-sided 95%)"
    ) in " ".join(drawn.split())


def test_the_jurors_of_a_census(tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in text(census(tmp_path)).splitlines()]
    # Threshold .6. j1: .9 .9 .2 .86 is wrong on b alone; j2: .9 .5 .4 .86 is always right, and
    # dissents on b; j3 as j1. The mean decides, so that nobody is trimmed.
    for line in (
        "j1 4 2 0 1 1 0 0 0 0",
        "j2 4 2 0 2 0 0 0 1 1",
        "j3 4 2 0 1 1 0 0 0 0",
    ):
        assert line in lines, line
    assert "1 of 1 dissents were right; rates of the run are on the jurors' page" in lines


def test_a_population_that_is_not_there_says_what_is_missing(tmp_path: Path) -> None:
    drawn = " ".join(text(page(tmp_path, {"b": "fail"}, *FOUR)).split())
    assert "design escalated-only -" in drawn
    assert "accuracy 0.000 -" in drawn
    assert "population: - until each stratum has a pass or fail label in its prefix" in drawn
    assert "rest/fail has no pass or fail label in its prefix: 1 more to the next figures" in drawn
    assert "describes escalated verdicts only" in drawn
    assert "sensitivity 0 by convention: no label says pass" in drawn


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


def test_labels_given_in_view_of_the_answer(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, report(*FOUR))
    for name, truth, blind in (("a", "fail", True), ("b", "pass", False), ("c", "fail", False)):
        desk.label(desk.find(run, name), Truth(truth), blind=blind)
    drawn = " ".join(text(calibration_page(desk, run)).split())
    desk.close()
    # Blind, the panel was wrong on a; in the open it was right on b and c.
    assert "n 1 2 ECE" in drawn
    assert (
        "labels side with the panel 0.00 blind, 1.00 open: 1.00 more with the answer in view"
        in (drawn)
    )


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


def test_two_columns_on_a_wide_screen(tmp_path: Path) -> None:
    found = census(tmp_path)
    wide = text(found, 158).splitlines()
    assert wide[0].startswith("May this judge gate? Not yet: all 4 decided verdicts have a label")
    # The conclusion stands above both columns.
    at = next(row for row in wide if row.startswith("METRICS"))
    assert "DESIGN  census" in at
    assert "METRICS" not in "".join(wide[: wide.index(at)])
    # Nothing is lost: each line of the narrow halves is there.
    half = (158 - 4) // 2
    narrow = text(found, half).splitlines()
    for line in narrow[next(i for i, row in enumerate(narrow) if row.startswith("METRICS")) :]:
        assert any(line.rstrip() in row for row in wide), line


def test_a_page_without_rows_says_what_to_do(tmp_path: Path) -> None:
    found = page(tmp_path, {"a": "unsure"}, *FOUR)
    for blind in (False, True):
        drawn = " ".join(text(found, blind=blind).split())
        assert "there is nothing to measure" in drawn
        assert "A label says that the response should pass" in drawn
        assert "labelled: 1 can't tell, 0 disputed" in drawn
        assert ("DESIGN" in drawn) is not blind
        assert ("rest/fail" in drawn) is not blind
        assert "GATES" not in drawn


def test_tags_and_pace(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, report(*FOUR))
    for name, tags in (("a", ["tone"]), ("b", ["tone", "wrong-date"]), ("c", [])):
        desk.label(desk.find(run, name), Truth.PASS, tags=tags, blind=False)
    found = calibration_page(desk, run)
    desk.close()
    # Two labels are timed, too few to speak of; their pace is told once there are
    # five, and two minutes' worth: 120 of a second each.
    assert "PACE" not in text(found)
    assert found.pace is not None
    found = replace(found, pace=replace(found.pace, counted=119))
    assert "PACE" not in text(found)
    found = replace(found, pace=Pace(3600.0, 120))
    drawn = text(found)
    assert "TAGS  items that carry them" in drawn
    assert "tone 2   wrong-date 1" in drawn
    # The clock moves on by a second whenever it is looked at: two labels timed, a second each.
    # d has no label.
    assert "PACE  yours, 120 labels timed" in drawn
    words = "3600 labels an hour, 1 s each on average"
    assert f"{words}; the 1 left take about 1 min" in " ".join(drawn.split())
    blind = text(found, blind=True)
    assert "tone 2   wrong-date 1" in blind
    assert words in blind
    assert "left of flagged" not in blind


# Blind: nothing of what the panels said of verdicts without a label


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


@pytest.mark.parametrize("width", [78, 158])
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
    assert "Blind: the strata and their weights, the audit, the design" in drawn
    for word in ("census", "DESIGN", "pass rate  ", "flagged/", "rest/", "ESS", "corrected_rate"):
        assert word not in drawn
    for word in ("METRICS", "CONFUSION", "GATES", "JURORS", "BLIND AND OPEN", "n 4"):
        assert word in drawn


# Whatever a report holds


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
        pace=Pace(per_hour=90.0, counted=12),
        calibration=replace(found.calibration, warnings=(clean,)),
        alone=replace(found.alone, warnings=(clean,)),
    )
    empty = page(tmp_path / "empty", {}, *FOUR)
    for width in WIDTHS:
        for blind in (False, True):
            check(calibration_lines(hostile, width, blind=blind), width)
            check(calibration_lines(empty, width, blind=blind), width)


def test_long_names_give_way_to_the_figures() -> None:
    one = JurorCounts("a juror with a very long name indeed, longer than the line itself", 0,
                      1234, 56, 789, 10, 3, 4, 555, 66, 44)  # fmt: skip
    [section] = labels.jurors([one])
    drawn = [line.plain for line in section_lines(section, 78)]
    assert drawn[2].split()[-9:] == (["2089", "1234", "56", "789", "10", "7", "555", "66", "44"])


def test_no_jurors_draw_nothing() -> None:
    assert labels.jurors(()) == labels.jurors(None) == []
