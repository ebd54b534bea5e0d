"""Runs, queue rows and verdicts as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.assessment.flags import SHORT
from reviewdesk.domain.assessment.history import trail
from reviewdesk.domain.assessment.notes import remarks
from reviewdesk.domain.assessment.seats import silent_words
from reviewdesk.domain.audit.mismatches import Breach
from reviewdesk.domain.canonical import CanonicalCheck
from reviewdesk.domain.records import Item, QueueRow
from reviewdesk.domain.safetext import show, show_line


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


def verdict(item: Item) -> str:
    """Return everything about one verdict as text."""
    found, stated = item.assessment, item.verdict
    lines = [
        show_line(f"{item.run.name}:{stated.id}"),
        show_line(stated.test),
        (
            f"decision {found.decision or '-'}  score {number(found.score)}  "
            f"threshold {number(stated.policy.threshold)}  quorum {stated.policy.quorum or '-'}  "
            f"votes {found.votes.passes}/{found.votes.answered}, {found.votes.seated} seated"
            + (f", {silent}" if (silent := silent_words(found.seats)) else "")
        ),
        *_agreement(item),
    ]
    if word := stated.text("label"):
        lines.append(f"consensus reported {show_line(word, 60)}")
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
    return "\n".join(show(line) for line in [*lines, "", *_review(item)])


def _agreement(item: Item) -> list[str]:
    """Return the agreement with its band, and ours too if the report states its own."""
    pair, ours = item.assessment.pair, item.assessment.agreement.spread
    if not pair.reported:
        return [f"agreement {number(pair.value)}  band {pair.band or '-'}  (ours, r_WG)"]
    facts = trail(item.verdict, item.assessment)
    named = ", ".join(word for word in ("reported", pair.metric, facts.agreement_reason) if word)
    return [
        f"agreement {number(pair.value)}  band {pair.band or '-'}  ({named})",
        f"ours r_WG {number(ours.raw)}  band {ours.band or '-'}",
    ]


_TEXTS = {"rubric": "RUBRIC", "input": "INPUT", "output": "RESPONSE", "alternative": "RESPONSE B"}


def _check(check: CanonicalCheck) -> str:
    """Return one deterministic check as a line."""
    word = {True: "pass", False: "fail", None: "none"}[check["pass"]]
    return f"check {word}  {show_line(check['name'])}  {show_line(check.get('reason') or '')}"


def _review(item: Item) -> list[str]:
    """Return the reviewers' label, tags, note and mark, one per line."""
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
    vote = {True: "pass", False: "fail", None: show_line(ballot.label or "-", 30)}[ballot.vote]
    score = number(ballot.score, 2)
    if ballot.score is None and ballot.raw_score is not None:
        score = f"raw {ballot.raw_score:g}"
    dissent = "  DISSENT" if seat.dissent else ""
    message = ballot.error or ballot.reason or ""
    return (
        f"  {show_line(ballot.id, 60)}  {score}  {vote}  {seat.words}{seat.aside}{dissent}\n"
        f"      {show_line(message, 20_000)}"
    )
