"""The same facts as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.flags import SHORT
from reviewdesk.domain.records import Calibration, Item, Metrics, QueueRow
from reviewdesk.domain.remarks import remarks
from reviewdesk.domain.safetext import show, show_line

if TYPE_CHECKING:
    from reviewdesk.domain.gates import Check
    from reviewdesk.domain.judgement import CalibrationPage
    from reviewdesk.domain.jurors import JurorCounts
    from reviewdesk.domain.strata import Audit, Stratum


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or ``-`` where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def queue_row(row: QueueRow, *, blind: bool = False) -> str:
    """One verdict on one line; a blind one tells id, test and label alone."""
    mark = "-" if row.label is None else row.label + ("?" if row.tentative else "")
    name = show_line(row.id, 80)
    test = "" if row.test == row.id else f"  {show_line(row.test, 120)}"
    if blind:
        return f"{mark:9}  {name}{test}"
    flags = ",".join(short for flag, short in SHORT.items() if flag in row.flags)
    return (
        f"{mark:9} {row.decision or '-':12} {number(row.score, 2):>5} "
        f"{number(row.agreement, 2):>6} {row.band or '-':6}  {name}{test}"
        + (f"  [{flags}]" if flags else "")
    )


def loaded(line: dict[str, Any]) -> str:
    """One loaded file, with what its reader noticed."""
    text = (
        f"{show_line(line['file'])}: {show_line(line['run'])} "
        f"({'new' if line['new'] else 'known'}, {line['format']}), {line['verdicts']} verdicts, "
        f"{line['ballots']} ballots, {line['flagged']} flagged, "
        f"{line['failed_ballots']} failed ballots, {line['skipped']} skipped"
    )
    return "\n".join([text, *(f"  note: {show_line(note)}" for note in line["notes"])])


def run_line(line: dict[str, Any]) -> str:
    """One loaded run."""
    text = (
        f"{show_line(line['run'])}  {line['hash'][:8]}  {line['verdicts']} verdicts, "
        f"{line['flagged']} flagged, {line['audit']} to audit, {line['labelled']} labelled, "
        f"{line['failed_ballots']} failed ballots, {line['skipped']} skipped  "
        f"({line['format']}, {show_line(line['file'])})"
    )
    text += f"  {_tally('decisions', line['decisions'])}  {_tally('flags', line['flags'])}"
    return "\n".join([text, *(f"  note: {show_line(note)}" for note in line["notes"])])


def _tally(name: str, counts: Mapping[str, int]) -> str:
    found = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{name}: {found or 'none'}"


def calibration(found: Calibration, gates: Sequence[Check]) -> str:
    """Both lines of the strip, the confusion and the gates."""
    population = "-" if found.population is None else _metrics(found.population)
    line = found.headline
    return "\n".join(
        [
            f"design      {found.design}   confidence from {found.confidence_source}",
            f"labelled    {_metrics(found.labelled)}",
            f"population  {population}",
            (
                f"confusion   tp {_count(line.tp)}  fn {_count(line.fn)}  tn {_count(line.tn)}  "
                f"fp {_count(line.fp)}   sensitivity {number(line.sensitivity)}  "
                f"specificity {number(line.specificity)}  J {number(line.youden_j)}"
            ),
            (
                f"left out    {found.unsure} unsure, {found.disputed} disputed, "
                f"{found.no_verdict} without a decision"
            ),
            *(f"gate        {_gate(check)}" for check in gates),
        ]
    )


def _gate(check: Check) -> str:
    margin = "" if check.margin is None else f"  margin {check.margin:+.3f}"
    note = f"  ({check.note})" if check.note else ""
    held = f"{check.target} {number(check.value)} {check.op} {number(check.limit)}"
    return f"{check.status.upper():4}  {held}{margin}{note}"


def judged(page: CalibrationPage) -> str:
    """The figures of a run with its draw, and with its jurors where they were asked for."""
    lines = [calibration(page.calibration, page.gates)]
    lines += [f"stratum     {_stratum(one)}" for one in page.strata]
    lines.append(f"audit       {_audit(page.audit)}")
    lines += [f"missing     {text}" for text in page.missing]
    lines.append(f"blind       {_metrics(page.split.blind)}")
    unsaid = f"  ({page.split.unsaid} do not say)" if page.split.unsaid else ""
    lines.append(f"open        {_metrics(page.split.open)}{unsaid}")
    if page.tags:
        tags = ", ".join(f"{show_line(one.tag, 80)} {one.count}" for one in page.tags)
        lines.append(f"tags        {tags}")
    if page.jurors is not None:
        lines += ["", _jurors(page.jurors)]
    return "\n".join(lines)


def _stratum(one: Stratum) -> str:
    return (
        f"{one.name:13} {one.size} verdicts, {one.labelled} labelled, prefix {one.prefix}, "
        f"{one.counted} pass or fail in it, weight {number(one.weight)}, "
        f"audit {one.audit_done}/{one.audit}"
    )


def _audit(found: Audit) -> str:
    text = f"{found.done} of {found.planned} done, {found.counted} count, {found.errors} errors"
    if found.bound is None:
        return text
    return f"{text}; unstable, at most {number(found.bound)} (one-sided 95%)"


_JUROR = (
    "votes", "right", "wrong", "tp", "fn", "tn", "fp", "abstained", "failed", "trimmed", "dissents",
    "dissents_right",
)  # fmt: skip


def _jurors(found: Sequence[JurorCounts]) -> str:
    """A table of counts, the names last, so that columns stand whatever they hold."""
    rows = [[str(getattr(one, name)) for name in _JUROR] for one in found]
    head = [name.replace("_", " ") for name in _JUROR]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    names = ["juror", *(show_line(one.name, 200) for one in found)]
    return "\n".join(
        "  ".join([*map(str.rjust, cells, widths), name])
        for cells, name in zip([head, *rows], names, strict=True)
    )


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _metrics(line: Metrics) -> str:
    if not line.n:
        # ECE of nothing is 0 by definition, which must not read as merit.
        return "n 0"
    corrected = ""
    if line.corrected_rate is not None:
        corrected = (
            f"  pass rate {number(line.observed_positive_rate)} -> {number(line.corrected_rate)} "
            f"[{number(line.corrected_rate_low)}, {number(line.corrected_rate_high)}]"
        )
    return (
        f"n {line.n}  ESS {number(line.ess, 1)}  ECE {number(line.ece)}  "
        f"Brier {number(line.brier)}  gap {number(line.gap)}  accuracy {number(line.accuracy)}"
        f"{corrected}"
    )


def verdict(item: Item) -> str:
    """Everything about one verdict."""
    found, stated = item.assessment, item.verdict
    lines = [
        show_line(f"{item.run.name}:{stated.id}"),
        show_line(stated.test),
        (
            f"decision {found.decision or '-'}  score {number(found.score)}  "
            f"threshold {number(stated.policy.threshold)}  quorum {stated.policy.quorum or '-'}  "
            f"votes {found.votes.passes}/{found.votes.answered}, {found.votes.seated} seated"
        ),
        f"agreement {number(item.row.agreement)}  band {found.band or '-'}",
    ]
    lines += [f"  note: {remark}" for remark in remarks(stated, found)]
    if stated.set_by_you:
        lines.append(f"set by you: {', '.join(stated.set_by_you)}")
    lines += [f"  {note.flag.label}: {note.reason}" for note in found.notes]
    lines += ["", "jurors"]
    lines += [_juror(seat) for seat in found.seats]
    lines += ["", "rules"]
    lines += [
        f"  {name.replace('_', ' '):17} {number(getattr(found.values, name, None)):>6}  "
        f"{getattr(found.decisions, name) or '-'}"
        for name in found.decisions.__slots__
    ]
    for name, title in _TEXTS.items():
        if text := stated.text(name):
            lines += ["", title, text]
    lines += [_check(check) for check in stated.body.get("checks") or ()]
    return "\n".join(show(line) for line in [*lines, "", *_reviewed(item)])


_TEXTS = {"rubric": "RUBRIC", "input": "INPUT", "output": "RESPONSE", "alternative": "RESPONSE B"}


def _check(check: dict[str, Any]) -> str:
    """One deterministic check."""
    word = {True: "pass", False: "fail", None: "none"}[check.get("pass")]
    return (
        f"check {word}  {show_line(check.get('name', ''))}  {show_line(check.get('reason') or '')}"
    )


def _reviewed(item: Item) -> list[str]:
    """What people said of it."""
    row = item.row
    facts = {
        "label": f"{row.label}{'?' if row.tentative else ''}" if row.label else "",
        "tags": ", ".join([*item.tags, *item.other_tags]),
        "note": item.note or "",
        "mark": "marked" if item.marked else "",
    }
    return [f"{name:5} {show_line(text, 2000)}" for name, text in facts.items() if text]


def _juror(seat: Any) -> str:
    ballot = seat.ballot
    vote = {True: "pass", False: "fail", None: "-"}[ballot.vote]
    state = seat.state.replace("_", " ") + (" (tie)" if seat.tied else "")
    dissent = "  DISSENT" if seat.dissent else ""
    said = ballot.error or ballot.reason or ""
    return (
        f"  {show_line(ballot.id, 60)}  {number(ballot.score, 2)}  {vote}  {state}{dissent}\n"
        f"      {show_line(said, 20_000)}"
    )
