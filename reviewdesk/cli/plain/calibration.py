"""Calibration figures as plain text, each with the design of the labels behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewdesk.cli.plain.text import number
from reviewdesk.domain.records import Calibration, Design, Metrics
from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.domain.gates.limits import LimitCheck
    from reviewdesk.domain.labels.coverage import LabelsNeeded, RunRate
    from reviewdesk.domain.labels.strata import AuditSample, Stratum
    from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage
    from reviewdesk.domain.stats.figures import (
        Estimate,
        Fit,
        Interval,
        Suggestion,
    )

    Ends = Interval | Estimate | None


def filed(page: FilePage) -> str:
    """Return the figures of a labels file as text."""
    lines = _calibration(page.calibration, page.gates)
    lines += _fit(page.fit, page.calibration.design, page.fit.brier, page.fit.gap)
    lines.append(f"honest      {_run_rate('pass rate', page.honest, page.calibration.design)}")
    return "\n".join(lines)


def run_figures(page: CalibrationPage) -> str:
    """Return the figures of a run, with its draw, as text."""
    design = page.calibration.design
    lines = _calibration(page.calibration, page.gates)
    if page.fit is not None:
        ends = {name: page.ends(name) for name in ("brier", "gap")}
        lines += _fit(page.fit, design, **ends)
    lines.append(f"honest      {_run_rate('pass rate', page.honest, design)}")
    lines.append(f"honest      {_run_rate('accuracy', page.accuracy, design)}")
    lines += [f"stratum     {_stratum(one)}" for one in page.strata]
    lines.append(f"audit       {_audit(page.audit)}")
    lines += [f"more        {_labels_needed(one)}" for one in page.more]
    lines += [f"missing     {text}" for text in page.missing]
    once = _unweighted_design(page.calibration)
    lines.append(f"blind       {_metrics(page.split.blind, once)}")
    unsaid = f"  ({page.split.unsaid} do not say)" if page.split.unsaid else ""
    lines.append(f"open        {_metrics(page.split.open, once)}{unsaid}")
    if page.tags:
        tags = ", ".join(f"{show_line(one.tag, 80)} {one.count}" for one in page.tags)
        lines.append(f"tags        {tags}")
    return "\n".join(lines)


def _calibration(found: Calibration, gates: Sequence[LimitCheck]) -> list[str]:
    """Return both lines of the strip, the confusion and the gates."""
    design = found.design
    population = "-" if found.population is None else _metrics(found.population, design)
    line = found.headline
    return [
        f"design      {design}   confidence from {found.confidence_source}",
        f"labelled    {_metrics(found.labelled, _unweighted_design(found))}",
        f"population  {population}",
        (
            f"confusion   tp {_count(line.tp)}  fn {_count(line.fn)}  tn {_count(line.tn)}  "
            f"fp {_count(line.fp)}   sensitivity {number(line.sensitivity)}  "
            f"specificity {number(line.specificity)}  J {number(line.youden_j)}  [{design}]"
        ),
        (
            f"left out    {found.unsure} unsure, {found.disputed} disputed, "
            f"{found.no_verdict} without a decision"
        ),
        *(f"gate        {_gate(check, design)}" for check in gates),
    ]


def _unweighted_design(found: Calibration) -> str:
    """Return the design of figures that count every label once."""
    return f"{found.design}, each label once" if found.design is Design.WEIGHTED else found.design


def _gate(check: LimitCheck, design: str) -> str:
    margin = "" if check.margin is None else f"  margin {check.margin:+.3f}"
    note = f"  ({check.note})" if check.note else ""
    held = f"{check.target} {number(check.value)} {check.op} {number(check.limit)}"
    return f"{check.status.upper():4}  {held}{margin}{note}  [{design}]"


def _fit(fit: Fit, design: str, brier: Ends, gap: Ends) -> list[str]:
    """Return the resampled and simulated figures of the headline's rows; empty without rows."""
    if not fit.n:
        return []
    z, loss, corp = fit.spiegelhalter, fit.log_loss, fit.corp
    lines = [f"intervals   Brier {_interval(brier)}  gap {_interval(gap)}  [{design}]"]
    if fit.null is not None:
        lines.append(
            f"by chance   a calibrated judge would show ECE {number(fit.null.expected)} here, "
            f"under {number(fit.null.p95)} in 95%; p {number(fit.null.p, 4)}  [{design}]"
        )
    test = z.reason or f"z {number(z.z, 2)} p {number(z.p, 4)}"
    clipped = f" ({loss.clipped} clipped)" if loss and loss.clipped else ""
    lines.append(
        f"ranking     AUROC {number(fit.auroc)}  log-loss {number(loss.value if loss else None)}"
        f"{clipped}  Spiegelhalter {test}  [{design}]"
    )
    if corp is not None:
        lines.append(
            f"Brier       {number(corp.brier)} = {number(corp.miscalibration)} miscalibration - "
            f"{number(corp.discrimination)} discrimination + {number(corp.uncertainty)} "
            f"uncertainty  [{design}]"
        )
    return lines + [f"suggestion  {_suggestion(one)}  [{design}]" for one in fit.suggestions]


def _suggestion(one: Suggestion) -> str:
    if one.reason is not None:
        return f"{one.method}: {one.reason}"
    found = "  ".join(f"{name} {number(value)}" for name, value in one.parameters.items())
    return (
        f"{one.method}: Brier {number(one.before)} -> {number(one.after)}, cross-validated, "
        f"not applied{'  ' + found if found else ''}"
    )


def _interval(found: Ends) -> str:
    return "-" if found is None else f"{number(found.low)} to {number(found.high)}"


def _run_rate(what: str, found: RunRate, design: str) -> str:
    """Return a rate over a whole run; without an estimate, its bounds and the reason."""
    if found.low is None or found.high is None:
        return f"{what} -  ({found.reason})  [{design}]"
    ends = f"{number(found.low)} to {number(found.high)}"
    if found.estimate is None:
        bounds = f"bounds {ends}, the labelled strata at their ends"
        return f"{what} -, {bounds}  ({found.reason})  [{design}]"
    by = found.method.replace("_", "-")
    return f"{what} {number(found.estimate)}, {ends}  ({by}, 95%, this run)  [{design}]"


def _labels_needed(one: LabelsNeeded) -> str:
    gate = f"{one.target} {one.op} {number(one.limit)}"
    if one.labels is None:
        return f"{gate}: {one.reason}"
    return f"{gate}: {one.labels} more audits to gate, if the rates stay"


def _stratum(one: Stratum) -> str:
    return (
        f"{one.name:13} {one.size} verdicts, {one.labelled} labelled, prefix {one.prefix}, "
        f"{one.counted} pass or fail in it, weight {number(one.weight)}, "
        f"audit {one.audit_done}/{one.audit}"
    )


def _audit(found: AuditSample) -> str:
    text = f"{found.done} of {found.planned} done, {found.counted} count, {found.errors} errors"
    if found.bound is None:
        return text
    return f"{text}; unstable, at most {number(found.bound)} (one-sided 95%)"


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _effective_size(line: Metrics) -> str:
    """Return the effective sample size in words, or "" if the weights are equal."""
    if line.ess is None or abs(line.ess - line.n) < 0.05:
        return ""
    return f" (counting as {line.ess:.1f} by unequal weights)"


def _metrics(line: Metrics, design: str) -> str:
    if not line.n:
        # Without labels, ECE is 0 by definition, which would look like a good result.
        return f"n 0  [{design}]"
    corrected = ""
    if line.corrected_rate is not None:
        corrected = (
            f"  pass rate {number(line.observed_positive_rate)} -> {number(line.corrected_rate)} "
            f"[{number(line.corrected_rate_low)}, {number(line.corrected_rate_high)}]"
        )
    return (
        f"n {line.n}{_effective_size(line)}  ECE {number(line.ece)}  "
        f"Brier {number(line.brier)}  gap {number(line.gap)}  accuracy {number(line.accuracy)}"
        f"{corrected}  [{design}]"
    )
