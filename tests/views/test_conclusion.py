"""Whether a judge may gate, for every way in which labels fall short; a fit's figures in words."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import section_lines
from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.records import Metrics, Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.figures import Estimate, LogLoss, NullEce, ZTest
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.views.calibration import calibration, confidence, null_text
from reviewdesk.views.document import Paragraph, Section, plain
from reviewdesk.views.words import between, chance
from tests.app.paint.test_styled import WIDTHS, check
from tests.helpers import load, mostly_slow, open_desk, report, verdict
from tests.views.test_calibration import census, text


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
    desk = open_desk(folder / "desk.db")
    scores = [0.95] * (40 + missed) + [0.05] * caught
    run = load(desk, report(*(verdict(f"v{i:02}", *[one] * 3) for i, one in enumerate(scores))))
    for row in desk.rows(desk.queue(run)):
        desk.label(row.key, Truth.PASS if int(row.id[1:]) < 40 else Truth.FAIL)
    found = calibration_page(desk, run)
    desk.close()
    return found


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


def test_few_labels_stand_alone_with_the_progress(tmp_path: Path) -> None:
    few = run_page(tmp_path / "few", 60, ["right"] * 15)
    assert document_text(calibration(few)) == (
        "May this judge decide alone? Not yet: 15 labels count, and at least 30 are needed.\n\n"
        "15 of 60 verdicts labelled. Figures show after 5 more labels."
    )
    enough = document_text(calibration(run_page(tmp_path / "more", 60, ["right"] * 20)))
    assert "accuracy" in enough
    assert (
        "Next: label 22 more verdicts in the order of the queue: the flagged ones and a" in enough
    )


def test_one_kind_of_label_is_not_enough(desk: Desk) -> None:
    # The panel passes all; nothing that should fail was among what people saw.
    run = load(desk, report(*(verdict(f"v{i}", 0.95, 0.95, 0.95) for i in range(40))))
    for key in desk.queue(run):
        desk.label(key, Truth.PASS)
    found = told(calibration_page(desk, run))
    desk.close()
    assert found.startswith(
        "May this judge decide alone? Not yet: no label says fail, so nobody knows"
    )


def test_a_point_that_keeps_its_limit_is_not_enough(tmp_path: Path) -> None:
    page = run_page(tmp_path, 60, ["right"] * 60)
    assert page.such is not None
    wide = replace(page, such=replace(page.such, brier=Estimate(0.1, 0.0, 0.3)))
    assert told(wide).startswith(
        "May this judge decide alone? Not yet: Brier may be over its limit."
    )
    assert "Brier has no interval" in told(replace(page, such=replace(page.such, brier=None)))


def test_what_chance_explains_is_no_fault(tmp_path: Path) -> None:
    page = run_page(tmp_path, 60, ["pass"] * 60)
    assert page.fit is not None
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
    assert "Spiegelhalter z -0.048, p 0.962 together no more than chance" in drawn
    drawn = words(confidence(fit(Rows.of([1.0], [True])), LINE))
    assert "Spiegelhalter - every confidence is 0, 0.5 or 1" in drawn
    assert "AUROC - not known: it needs both right and wrong verdicts" in drawn
    # A confidence of 1 is limited before its logarithm is taken.
    assert "1 limited at certainty" in drawn
    assert confidence(None, LINE) == confidence(fit(Rows.of([], [])), LINE) == []


def test_what_chance_would_show() -> None:
    null = NullEce(expected=0.0534, exact=True, p95=0.0801, p=0.0004)
    assert null_text(null) == (
        "a calibrated judge would show about 0.053 (95% under 0.080), p < 0.001"
    )
    assert null_text(None) == "what a calibrated judge would show is not known"
    assert chance(0.001) == "p 0.001"


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


def test_an_interval_in_words() -> None:
    assert between(None) == "-"
    assert between(Estimate(0.1, -0.1, 0.25), "+") == "[-0.100, +0.250]"
    assert between(Estimate(0.5, 0.5, 0.5)) == "exact"


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
