"""What the figures of a fit say in words."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import section_lines
from reviewdesk.cli.plain import section_text
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.figures import Estimate, LogLoss, NullEce, ZTest
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.views.calibration import confidence, null_text
from reviewdesk.views.document import Section
from reviewdesk.views.words import between, chance
from tests.app.paint.test_styled import WIDTHS, check
from tests.views.test_calibration import census, text

NOTHING: dict[str, Any] = dict.fromkeys(Metrics.__struct_fields__)
LINE = Metrics(**NOTHING | {"n": 4})
FOUND = fit(Rows.of([0.9, 0.7, 0.7, 0.86], [True, False, True, True]))


def words(sections: list[Section]) -> str:
    return " ".join(" ".join(map(section_text, sections)).split())


def test_each_figure_in_a_sentence() -> None:
    drawn = words(confidence(FOUND, LINE))
    # The wrong one has .7, a tie with one of three right ones: (1 + 1 + .5) / 3 = .833.
    assert "AUROC 0.833: how often a right verdict is surer than a wrong one" in drawn
    # -(ln .9 + ln .3 + ln .7 + ln .86) / 4 = (.105361 + 1.203973 + .356675 + .150823) / 4.
    assert "log-loss 0.454 on average; always saying" in drawn
    # y - c: .1 -.7 .3 .14, 1 - 2c: -.8 -.4 -.4 -.72: the sum is -.0208; the variance is
    # .0576 + .0336 + .0336 + .518400 · .1204 = .18721536, whose root is .43268: z = -.048.
    assert "Spiegelhalter z -0.048, p 0.962 together no more than chance" in drawn


def test_undefined_figures_say_why() -> None:
    one = fit(Rows.of([1.0], [True]))
    drawn = words(confidence(one, LINE))
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
