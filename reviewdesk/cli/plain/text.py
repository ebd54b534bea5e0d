"""Runs, queue rows and verdicts as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.assessment.flags import SHORT
from reviewdesk.domain.audit.mismatches import Breach
from reviewdesk.domain.records import QueueRow
from reviewdesk.domain.safetext import show_line


def number(value: float | None, digits: int = 3) -> str:
    """Format a figure, or return ``-`` if it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def queue_row(row: QueueRow, *, blind: bool = False) -> str:
    """Return one verdict as one line; with ``blind``, only its id, test and label."""
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
    """Return one loaded file as text, with the notes of its reader."""
    text = (
        f"{show_line(line['file'])}: {show_line(line['run'])} "
        f"({'new' if line['new'] else 'known'}, {line['format']}), {line['verdicts']} verdicts, "
        f"{line['ballots']} ballots, {line['flagged']} flagged, "
        f"{line['failed_ballots']} failed ballots, {_unknown(line)}{line['skipped']} skipped"
    )
    return "\n".join([text, *_human(line), *_notes(line)])


def _unknown(line: Mapping[str, Any]) -> str:
    """Return the number of ballots whose answer was not understood, or "" if there are none."""
    found = line["unknown_ballots"]
    return f"{found} not understood, " if found else ""


def human_labels(found: int) -> str:
    """Return how many labels came in a file, and the option that imports them."""
    what, them = ("label", "it") if found == 1 else ("labels", "them")
    return f"{found} human {what} in the file; --import-labels takes {them}"


def _human(line: Mapping[str, Any]) -> list[str]:
    found = line["human_labels"]
    return [f"  {human_labels(found)}"] if found else []


def _notes(line: Mapping[str, Any]) -> list[str]:
    return [f"  note: {show_line(note, 5000)}" for note in line["notes"]]


def run_line(line: dict[str, Any]) -> str:
    """Return one loaded run as text."""
    text = (
        f"{show_line(line['run'])}  {line['hash'][:8]}  {line['verdicts']} verdicts, "
        f"{line['flagged']} flagged, {line['audit']} to audit, {line['labelled']} labelled, "
        f"{line['failed_ballots']} failed ballots, {_unknown(line)}{line['skipped']} skipped  "
        f"({line['format']}, {show_line(line['file'])})"
    )
    text += f"  {_tally('decisions', line['decisions'])}  {_tally('flags', line['flags'])}"
    text += f"\n  {_alphas(line)}; {_unanimous(line)}\n  {_breaches(line['breaches'])}"
    return "\n".join([text, *_human(line), *_notes(line)])


def _alphas(line: Mapping[str, Any]) -> str:
    """Return the alphas of a run; an undefined figure comes with its reason."""
    why = line["alpha_reasons"]

    def with_reason(name: str, figure: str) -> str:
        return f"{figure} ({why[name].words})" if name in why else figure

    alpha = with_reason("alpha", f"alpha {number(line['alpha'])}")
    if line["alpha_low"] is not None:
        alpha += f" [{number(line['alpha_low'])}, {number(line['alpha_high'])}]"
    elif line["alpha"] is not None:
        alpha = with_reason("alpha_low", alpha)
    votes = with_reason("alpha_votes", f"on votes {number(line['alpha_votes'])}")
    ranks = with_reason("alpha_ordinal", f"on ranks {number(line['alpha_ordinal'])}")
    return f"{alpha}, {votes}, {ranks}"


def _unanimous(line: Mapping[str, Any]) -> str:
    """Return how many verdicts have equal scores, or equal votes, from all jurors."""
    scores = "-" if line["unanimous_scores"] is None else line["unanimous_scores"]
    return f"unanimous: {scores} by equal scores, {line['unanimous_votes']} by equal votes"


def _breaches(counts: Mapping[str, int] | None) -> str:
    """Return the breaches of a report against its own rules; a rounded quorum is not one."""
    if counts is None:
        return "audit of the producer: not done yet"
    found = dict(counts)
    rounded = found.pop(Breach.ROUNDING.key)
    broken = ", ".join(f"{n} {Breach[key.upper()].label}" for key, n in found.items() if n)
    text = f"audit of the producer: {broken or 'no rule of its own is broken'}"
    return text + (f"; {rounded} {Breach.ROUNDING.label}" if rounded else "")


def _tally(name: str, counts: Mapping[str, int]) -> str:
    found = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{name}: {found or 'none'}"
