"""What is said of a run's calibration, and whether a judge may gate, as the terminal draws it."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines, section_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.records import Metrics, Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.figures import Estimate, LogLoss, NullEce, ZTest
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.views.calibration import calibration, confidence, confidence_text, null_text
from reviewdesk.views.document import Paragraph, Section, plain
from reviewdesk.views.words import between, chance
from tests.app.paint.test_styled import WIDTHS, check
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
    assert "corrected rate 0.500 [0.000, 1.000] by Wald, who takes" in " ".join(lines)


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
    labels = dict(zip("abcd", ("pass", "fail", "fail", "pass"), strict=True))
    drawn = text(page(tmp_path, labels, *FOUR, verdict("e", 0.2, 0.3)), blind=True)
    assert "Blind: groups, weights and pass rates are left out" in drawn
    for word in ("every verdict", "WHICH ITEMS", "pass rate  ", "flagged/", "rest/", "corrected"):
        assert word not in drawn
    for word in ("HOW RIGHT", "WHICH GATES", "WHICH JUROR", "BLIND OR OPEN", "4 of 5 verdicts"):
        assert word in drawn


def test_once_all_is_labelled_a_blind_page_leaves_nothing_out(tmp_path: Path) -> None:
    found = census(tmp_path)
    assert text(found, blind=True) == text(found)


def run_page(folder: Path, size: int, labels: list[str], **more: Any) -> CalibrationPage:
    """A run whose panel passes two of three with .95 and fails the others with .05.

    ``labels`` are given in the order of the draw: right, wrong, or a truth.
    """
    desk = open_desk(folder / "desk.db")
    bodies = [
        verdict(f"v{i:02}", *([0.05] * 3 if i % 3 == 0 else [0.95] * 3), flagged=i % 5 == 0)
        for i in range(size)
    ]
    run = load(desk, report(*bodies))
    for row, label in zip(desk.rows(desk.queue(run, **more)), labels, strict=False):
        decided = "pass" if row.decision == "pass" else "fail"
        other = {"pass": "fail", "fail": "pass"}[decided]
        desk.label(row.key, Truth({"right": decided, "wrong": other}.get(label, label)))
    found = calibration_page(desk, run)
    desk.close()
    return found


def told(page: CalibrationPage, *, blind: bool = False) -> str:
    sections = calibration(page, blind=blind).sections
    blocks = [one for section in sections for one in section.blocks]
    return " ".join(plain(one.text) for one in blocks if isinstance(one, Paragraph))


@pytest.mark.parametrize(
    ("size", "labels", "answer"),
    mostly_slow([
        (60, [], ("Not yet: there are no pass or fail labels. 0 of 60 verdicts labelled. "
                 "Figures show after 20 more labels.")),
        (60, ["right"] * 20, "Not yet: 20 labels count, and at least 30 are needed. "),
        (12, ["right"] * 12, "Not yet: every decided verdict has a label, and 12 labels are "),
        (1, ["right"], "Not yet: every decided verdict has a label, and 1 label is fewer "),
        (60, ["pass"] * 60, "No: its confidence is off (ECE)."),
        (60, ["wrong"] * 60, ("No: its confidence is off (ECE); its confidence is "
                             "often wrong (Brier)")),
        (60, ["right"] * 60, ("Yes, by the default limits: ECE, Brier, the share that should pass, "
                             "and it passes 0 of 20 bad answers (new items, 95%: up to 17%; "
                             "the limit is 20%). ")),
    ]),
)  # fmt: skip
def test_the_answer_and_its_reason(tmp_path: Path, size: int, labels: Any, answer: str) -> None:
    # Twenty of sixty fail with .05 and the rest pass with .95. Labelled pass throughout, the judge
    # is right on 40 of 60 where it says .95: ECE .95 - .667 = .283.
    assert told(run_page(tmp_path, size, labels)).startswith(
        f"May this judge decide alone? {answer}"
    )


def failing_page(folder: Path, caught: int, missed: int) -> CalibrationPage:
    """A run with 40 right passes whose panel caught or missed each answer that should fail."""
    scores = [0.95] * (40 + missed) + [0.05] * caught
    bodies = [verdict(f"v{i:02}", *[one] * 3) for i, one in enumerate(scores)]
    labels = {body["id"]: "pass" if i < 40 else "fail" for i, body in enumerate(bodies)}
    return page(folder, labels, *bodies)


@pytest.mark.parametrize(
    ("caught", "missed", "answer"),
    [
        # Wilson: 8 of 13 begins at 0.3552, 16 of 17 at 0.7302, 15 of 15 at 0.7961.
        (8, 5, "Not alone: it passes 5 of 13 bad answers (new items, 95%: up to 65%"),
        (16, 1, "Not alone: it passes 1 of 17 bad answers (new items, 95%: up to 27%"),
        (15, 0, "Not alone: it passes 0 of 15 bad answers (new items, 95%: up to 21%"),
        # 30 of 31 begins at 0.8381.
        (30, 1, "Yes, by the default limits: "),
    ],
)
def test_answer_names_false_passes(tmp_path: Path, caught: int, missed: int, answer: str) -> None:
    found = told(failing_page(tmp_path, caught, missed))
    assert found.startswith(f"May this judge decide alone? {answer}")
    assert f"it passes {missed} of {caught + missed} bad answers (new items, 95%: up to " in found


def test_a_fault_does_not_hide_false_passes(tmp_path: Path) -> None:
    # 10 caught and 40 missed among 90: accuracy .556 at confidence .95, so ECE is .394.
    found = told(failing_page(tmp_path, 10, 40))
    assert found.startswith("May this judge decide alone? No: its confidence is off (ECE)")
    # Wilson: 10 of 50 begins at 0.1124.
    assert (
        "; it passes 40 of 50 bad answers (new items, 95%: up to 89%; the limit is 20%)." in found
    )


def test_labels_of_escalated_verdicts_alone_do_not_let_it_gate(tmp_path: Path) -> None:
    found = told(run_page(tmp_path, 300, ["right"] * 60, filter="esc"))
    start = "May this judge decide alone? Not yet: only escalated verdicts are labelled, which"
    assert found.startswith(start)


def test_twenty_labels_have_figures_and_the_way_to_more(tmp_path: Path) -> None:
    enough = document_text(calibration(run_page(tmp_path, 60, ["right"] * 20)))
    assert "accuracy" in enough
    # Thirty labels are enough; all that need one are more.
    assert "in the order of the queue, at most 22 more verdicts: the flagged ones and" in " ".join(
        enough.split()
    )


def test_one_kind_of_label_is_not_enough(tmp_path: Path) -> None:
    # The panel passes all; nothing that should fail was among what people saw.
    found = told(failing_page(tmp_path, 0, 0))
    assert found.startswith(
        "May this judge decide alone? Not yet: no label says fail, so nobody knows"
    )


def test_a_point_that_keeps_its_limit_is_not_enough(tmp_path: Path) -> None:
    page = run_page(tmp_path, 60, ["right"] * 60)
    wide = replace(page, such=replace(page.such, brier=Estimate(0.1, 0.0, 0.3)))
    assert told(wide).startswith(
        "May this judge decide alone? Not yet: Brier may be over its limit."
    )
    assert "Brier has no interval" in told(replace(page, such=replace(page.such, brier=None)))


def test_what_chance_explains_is_no_fault(tmp_path: Path) -> None:
    page = run_page(tmp_path, 60, ["pass"] * 60)
    gates = [one for one in page.gates if one.target == "ece"]
    lucky = replace(
        page, gates=tuple(gates), fit=replace(page.fit, null=NullEce(0.2, True, 0.4, 0.3))
    )
    found = told(lucky)
    assert found.startswith("May this judge decide alone? Not yet: ")
    assert "its confidence is off (ECE), maybe by chance" in found


def test_a_blind_session_is_told_nothing_that_rests_on_the_draw(tmp_path: Path) -> None:
    page = run_page(tmp_path, 60, ["right"] * 40)
    assert told(page, blind=True).startswith(
        "May this judge decide alone? A blind session does not say"
    )


NOTHING: dict[str, Any] = dict.fromkeys(Metrics.__struct_fields__)
LINE = Metrics(**NOTHING | {"n": 4})
FOUND = fit(Rows.of([0.9, 0.7, 0.7, 0.86], [True, False, True, True]))


def words(sections: list[Section]) -> str:
    return " ".join(" ".join(map(section_text, sections)).split())


def test_each_figure_in_a_sentence_and_undefined_ones_say_why() -> None:
    drawn = words(confidence(FOUND, LINE))
    # The wrong one has .7, a tie with one of three right ones: (1 + 1 + .5) / 3 = .833.
    assert "AUROC 0.833: how often a right verdict is surer than a wrong one" in drawn
    # -(ln .9 + ln .3 + ln .7 + ln .86) / 4 = (.105361 + 1.203973 + .356675 + .150823) / 4.
    assert "log-loss 0.454 on average; always saying" in drawn
    # y - c: .1 -.7 .3 .14, 1 - 2c: -.8 -.4 -.4 -.72: the sum is -.0208; the variance is
    # .0576 + .0336 + .0336 + .518400 · .1204 = .18721536, whose root is .43268: z = -.048.
    assert "Spiegelhalter z -0.048, p 0.962: a test of confidence together no more than" in drawn
    drawn = words(confidence(fit(Rows.of([1.0], [True])), LINE))
    assert "Spiegelhalter - every confidence is 0, 0.5 or 1" in drawn
    assert "AUROC - not known: it needs both right and wrong verdicts" in drawn
    # A confidence of 1 is limited before its logarithm is taken.
    assert "1 limited at certainty" in drawn
    assert confidence(fit(Rows.of([], [])), LINE) == []


def test_what_chance_would_show_and_an_interval_are_told_in_words() -> None:
    null = NullEce(expected=0.0534, exact=True, p95=0.0801, p=0.0004)
    assert null_text(null) == (
        "a calibrated judge would show about 0.053 (95% under 0.080), p < 0.001"
    )
    assert null_text(None) == "what a calibrated judge would show is not known"
    assert chance(0.001) == "p 0.001"
    assert between(None) == "-"
    assert between(Estimate(0.1, -0.1, 0.25), "+") == "[-0.100, +0.250]"
    assert between(Estimate(0.5, 0.5, 0.5)) == "exact"


@pytest.mark.parametrize(
    ("ece", "test", "answer"),
    [
        (0.01, 0.01, "confidence is off by more than chance"),
        (0.01, 0.05, "confidence is off by more than chance, by ECE alone"),
        (0.05, 0.01, "confidence is off by more than chance, by the test alone"),
        (0.05, 0.05, "no more than chance"),
        (0.01, None, "confidence is off by more than chance, by ECE alone"),
    ],
)
def test_two_tests_give_one_answer(ece: float, test: float | None, answer: str) -> None:
    z = ZTest(None, None, "undefined") if test is None else ZTest(2.0, test)
    found = replace(FOUND, null=NullEce(0.05, True, 0.08, ece), spiegelhalter=z)
    drawn = words(confidence(found, LINE))
    assert f"together {answer}" in drawn
    assert drawn.count("than chance") == 1
    assert "nothing shows" not in drawn


def test_no_line_is_too_wide_and_no_number_is_cut(tmp_path: Path) -> None:
    extreme = replace(
        FOUND,
        log_loss=LogLoss(36.04, 1_000_000),
        spiegelhalter=ZTest(-12345.678, 0.0),
    )
    whole = census(tmp_path)
    page = replace(whole, fit=extreme)
    for width in WIDTHS:
        sections = confidence(extreme, whole.calibration.headline)
        for section in sections:
            check(section_lines(section, width), width)
    for width in (78, 158):
        assert "…" not in text(page, width)
