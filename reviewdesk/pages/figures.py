"""What the labels show about the judge: figures with their design, gates and warnings."""

from __future__ import annotations

from reviewdesk.domain.gates.limits import GateStatus, LimitCheck
from reviewdesk.domain.labels.coverage import RunRate
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Fit
from reviewdesk.pages import diagram, words
from reviewdesk.pages.blocks import items, paragraph, section, table
from reviewdesk.pages.htmltext import Html, el

_STATUS_CLASSES = {GateStatus.PASS: "pass", GateStatus.FAIL: "fail", GateStatus.SKIP: "muted"}
Row = tuple[str, str, str, str]


def calibration(page: CalibrationPage) -> Html:
    """Return the calibration section; without labels it only says that there are none."""
    found = page.calibration
    if not found.labelled.n:
        return section(
            "calibration",
            "Calibration",
            paragraph("No label makes a row yet, so nothing is said of the judge."),
        )
    return section(
        "calibration",
        "Calibration",
        paragraph(
            "Design of the labels: ",
            el("strong", found.design.value),
            f". Confidence is read from {found.confidence_source.replace('_', ' ')}.",
        ),
        _warnings(page),
        table(
            f"The judge by {words.plural(found.headline.n, 'label')}",
            ("figure", "value", "95% interval", "what it is"),
            rows(page),
            class_="figures",
        ),
        _gates(page.gates),
        None if page.fit is None else diagram.reliability(page.fit, found.design.value),
    )


def _warnings(page: CalibrationPage) -> Html | None:
    texts = [*page.calibration.warnings, *page.missing]
    return el("div", el("strong", "Mind"), items(texts), class_="warning") if texts else None


def rows(page: CalibrationPage) -> list[Row]:
    """Return the figures that may be quoted, each with its interval if it has one."""
    line, fit = page.calibration.headline, page.fit
    return [
        ("labels", words.count(line.n), words.NONE, _ess(line)),
        ("ECE", words.number(line.ece), words.NONE, _by_chance(fit)),
        ("Brier score", words.number(line.brier), _ends(page, "brier"), "0 is perfect"),
        ("gap", words.number(line.gap), _ends(page, "gap"), "positive is overconfident"),
        ("accuracy", words.number(line.accuracy), _ends(page, "accuracy"), _CONFIRMED),
        ("AUROC", words.number(fit.auroc if fit else None), words.NONE, "0.5 is chance"),
        (
            "pass rate, observed",
            words.number(line.observed_positive_rate),
            words.NONE,
            "of the panels, over the whole run",
        ),
        (
            "pass rate, corrected",
            words.number(line.corrected_rate),
            words.ends(line.corrected_rate_low, line.corrected_rate_high),
            _status(line),
        ),
        ("pass rate, honest", *_rate_cells(page.honest)),
        # If there is an estimate, the row ``accuracy`` shows it already, with its interval.
        *([] if page.accuracy.estimate is not None else [_accuracy_row(page.accuracy)]),
        (
            "confusion",
            f"tp {words.count(line.tp)}, fn {words.count(line.fn)}",
            f"tn {words.count(line.tn)}, fp {words.count(line.fp)}",
            _rates(line),
        ),
    ]


def _status(line: Metrics) -> str:
    if line.corrected_status in {None, CorrectionStatus.OK}:
        return "with the judge's mistakes taken out"
    return str(line.corrected_status).replace("_", " ")


def _rates(line: Metrics) -> str:
    sensitivity, specificity = words.number(line.sensitivity), words.number(line.specificity)
    return f"sensitivity {sensitivity}, specificity {specificity}"


_CONFIRMED = "decisions that labels confirm"


def _ess(line: Metrics) -> str:
    return f"count as {words.number(line.ess, 1)} equal ones: the loss by unequal weights"


def _by_chance(fit: Fit | None) -> str:
    if fit is None or fit.null is None:
        return "0 is perfect"
    return f"a calibrated judge would show {fit.null.expected:.3f} here; p {fit.null.p:.4f}"


def _ends(page: CalibrationPage, name: str) -> str:
    """Return a figure's interval: of this run through the draw, or else of the labels alone."""
    found = page.ends(name)
    return words.NONE if found is None else words.ends(found.low, found.high)


def _accuracy_row(found: RunRate) -> Row:
    return "accuracy, of the run", *_rate_cells(found)


def _rate_cells(found: RunRate) -> tuple[str, str, str]:
    what = found.reason or f"{found.method.value.replace('_', ' ')}, of the whole run"
    if found.estimate is None and found.low is not None:
        what = f"bounds; {what}"
    return words.number(found.estimate), words.ends(found.low, found.high), what


def _gates(checks: tuple[LimitCheck, ...]) -> Html:
    return table(
        "Gates",
        ("gate", "outcome", "value", "limit", "note"),
        [
            (
                check.target.replace("_", " "),
                el("span", check.status.upper(), class_=f"word {_STATUS_CLASSES[check.status]}"),
                words.number(check.value),
                f"{words.SIDES[check.op]} {words.number(check.limit)}",
                check.note,
            )
            for check in checks
        ],
    )
