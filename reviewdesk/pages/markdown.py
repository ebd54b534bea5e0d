"""Summarize a run in a few lines of Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reviewdesk.domain.gates.limits import GateStatus, LimitCheck
from reviewdesk.domain.jurors.facts import JurorsPage
from reviewdesk.domain.labels.coverage import RunRate
from reviewdesk.domain.panel.rerun import flipped
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.verdict import Decision
from reviewdesk.pages import words
from reviewdesk.pages.jurors import HEADS, cells
from reviewdesk.pages.marktext import code, table
from reviewdesk.pages.overview import title
from reviewdesk.pages.records import ListedVerdict, RunPage


def summary(page: RunPage, listed: Iterable[ListedVerdict]) -> str:
    """Return the summary of a run as Markdown.

    It lists counts, pass rates, gates, jurors, escalated verdicts, and votes turned over in
    re-runs.
    """
    lines = [
        f"### Review of {code(title(page), 200)}",
        "",
        *_counts(page),
        "",
        *_pass_rate(page.calibration),
        "",
        *_gates(page.calibration.gates),
        *_jurors(page.jurors),
        *_escalated(page, listed),
        *_flips(page),
    ]
    return "\n".join(lines) + "\n"


def _counts(page: RunPage) -> Iterator[str]:
    run, found = page.run, page.progress
    decisions = ", ".join(
        f"{n:,} {words.decision(word)}"
        for word in (*Decision, None)
        if (n := page.decisions.get(word, 0))
    )
    yield f"- **{words.plural(run.verdicts, 'verdict')}**: {decisions or 'none'}"
    yield (
        f"- **{run.flagged:,} flagged for review**, {page.escalated:,} escalated; "
        f"{found.flagged_done:,} of the flagged and {found.labelled:,} in all have a label"
    )
    yield (
        f"- {words.plural(run.ballots, 'ballot')}, {run.failed_ballots:,} failed; "
        f"jurors' alpha on scores {words.number(page.alphas.alpha)}"
    )
    if run.skipped:
        yield f"- {run.skipped:,} verdicts of the file were left out as wrong"


def _pass_rate(page: CalibrationPage) -> Iterator[str]:
    line, design = page.calibration.headline, page.calibration.design
    if not line.n:
        yield "No label makes a row yet, so nothing is said of the judge."
        return
    yield from table(
        ("pass rate", "value", "95% interval", "design"),
        [
            ("observed", words.number(line.observed_positive_rate), words.NONE, "whole run"),
            (
                "corrected",
                words.number(line.corrected_rate),
                words.ends(line.corrected_rate_low, line.corrected_rate_high),
                f"{design.value}, n {line.n}",
            ),
            (
                "honest",
                words.number(page.honest.estimate),
                words.ends(page.honest.low, page.honest.high),
                _rate_method(page.honest),
            ),
        ],
    )
    for warning in page.calibration.warnings:
        yield f"\nMind: {code(warning, 500)}"


def _rate_method(found: RunRate) -> str:
    return found.reason or found.method.value.replace("_", " ")


def _gates(checks: Iterable[LimitCheck]) -> Iterator[str]:
    rows = [
        (
            check.target.replace("_", " "),
            f"**{check.status.upper()}**",
            words.number(check.value if check.status is not GateStatus.SKIP else None),
            f"{words.SIDES[check.op]} {words.number(check.limit)}",
            check.note,
        )
        for check in checks
    ]
    yield from table(("gate", "outcome", "value", "limit", "note"), rows)
    yield ""


def _jurors(page: JurorsPage) -> Iterator[str]:
    if not page.labels or not page.jurors:
        return
    rows = [(code(one.name), words.count(one.counts.votes), *cells(one)) for one in page.jurors]
    yield from table(("juror", "labelled votes", *HEADS), rows)
    yield ""


def _escalated(page: RunPage, listed: Iterable[ListedVerdict]) -> Iterator[str]:
    rows = [_row(one) for one in listed]
    if not rows:
        yield "No verdict is escalated."
        return
    yield from table(("escalated", "decision", "score", "agreement", "label", "asked again"), rows)
    if left := page.escalated - len(rows):
        yield f"\n{left:,} more are escalated and not listed."


def _row(found: ListedVerdict) -> tuple[str, ...]:
    item, row = found.item, found.item.row
    return (
        code(item.verdict.id),
        words.decision(row.decision),
        words.number(row.score, 2),
        words.agreement(row.agreement, row.band),
        words.NONE if row.label is None else row.label.value,
        _rerun_cell(found),
    )


def _rerun_cell(found: ListedVerdict) -> str:
    if not found.reruns:
        return words.NONE
    before = found.item.assessment.decision
    turned = sum(flipped(before, one.assessment.decision) for one in found.reruns)
    return f"{len(found.reruns)}, {turned} turned over"


def _flips(page: RunPage) -> Iterator[str]:
    if not page.flips:
        return
    yield ""
    yield from table(
        ("juror asked again", "votes given twice", "turned over"),
        [(code(one.juror), f"{one.asked:,}", f"{one.flipped:,}") for one in page.flips],
    )
