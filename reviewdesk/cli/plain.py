"""The same facts as plain text, for people and pipes."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.flags import SHORT
from reviewdesk.domain.records import Calibration, Item, Metrics, QueueRow
from reviewdesk.domain.remarks import remarks
from reviewdesk.domain.safetext import show, show_line


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
        f"{line['flagged']} flagged, {line['audit']} to audit, {line['labelled']} labelled  "
        f"({line['format']}, {show_line(line['file'])})"
    )
    return "\n".join([text, *(f"  note: {show_line(note)}" for note in line["notes"])])


def calibration(found: Calibration) -> str:
    """Both lines of the strip and the confusion."""
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
        ]
    )


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _metrics(line: Metrics) -> str:
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
    for name in ("rubric", "input", "output", "alternative"):
        if text := stated.text(name):
            lines += ["", name.upper(), text]
    if item.row.label:
        lines += ["", f"label {item.row.label}{'?' if item.row.tentative else ''}"]
    return "\n".join(show(line) for line in lines)


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
