"""Painters for re-runs in the jury pane: each beside the first verdict, juror by juror."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    cut,
    flow,
    fold,
    heading,
    inline,
    line,
    moment,
    pad,
    paragraph,
)
from reviewdesk.app.paint.table import number, table
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.panel.rerun import (
    Change,
    FlipRate,
    Rerun,
    RerunScope,
    changes,
    contract_note,
    flipped,
    missing,
)
from reviewdesk.domain.panel.rerun_result import (
    Arrival,
    OpenRerun,
    RerunHistory,
    RerunResult,
    outcome,
    stopped_after,
)
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Ballot, Decision, Status

_INKS = {Decision.PASS: Ink.PASS, Decision.FAIL: Ink.FAIL}
_VOTES = {True: "pass", False: "fail", None: "no vote"}
_SCOPES = {
    RerunScope.PANEL: "the whole panel",
    RerunScope.MISSING: "the missing jurors",
    RerunScope.JUROR: "one juror",
    None: "a panel",
}
RERUNS = {"rerun_planned": "re-run agreed to", "rerun_ended": "re-run ended"}
"""The kinds of events that belong to re-runs, in words."""


def offer_lines(item: Item, key: str, width: int) -> Lines:
    """Return the offer to ask an incomplete panel again; ``key`` is the key that does it."""
    gone = missing(item.verdict)
    if not key or not (gone or item.assessment.degraded):
        return []
    who = f"the missing jurors again: {inline(', '.join(gone), 200)}" if gone else "the panel again"
    lead = [(f"{key} ", Ink.KEY)]
    return paragraph(f"asks {who}", width, Ink.NOTE, first=lead, indent=len(key) + 1)


def rerun_lines(item: Item, again: RerunHistory, width: int) -> Lines:
    """Return every re-run, the newest first, then how often each juror turned its vote."""
    if not again.reruns:
        return []
    note = f"{len(again.reruns)}, the newest first" if len(again.reruns) > 1 else ""
    lines = [heading("RE-RUNS", width, note)]
    for past in reversed(again.reruns):
        lines += _rerun(item, past, width)
    return [*lines, *_rates(again, width), Content("")]


def running_lines(running: OpenRerun | None, width: int) -> Lines:
    """Return one line per juror of the running re-run: its answer, or that it is awaited."""
    if running is None:
        return []
    done, count = len(running.came), len(running.asked)
    note = f"{done} of {count} came back{', stopping' if running.stopping else ''}"
    lines = [Content(""), heading("ASKING AGAIN", width, note)]
    column = min(24, max(10, *(cell_len(inline(name, 200)) for name in running.asked)))
    came = list(running.came)
    for name in running.asked:
        found = next((one for one in came if one.juror == name), None)
        if found is not None:
            came.remove(found)
        answer = _arrival(found)
        lines += fold(line("  ", (pad(inline(name, 200), column), ""), "  ", answer), width)
    return lines


def _arrival(found: Arrival | None) -> Piece:
    if found is None:
        return "waiting", Ink.MUTED
    if found.error:
        return f"{inline(found.status, 40)}: {inline(found.error, 200)}", Ink.WARN
    if found.status == Status.ABSTAINED:
        return found.status, Ink.TEXT
    score = "" if found.score is None else f" {found.score:.3f}"
    return f"{_VOTES[found.vote]}{score}", Ink.TEXT


def _rerun(item: Item, made: Rerun, width: int) -> Lines:
    who = _SCOPES[made.scope]
    facts = [
        *(["stopped"] if made.stopped else []),
        "of the report" if made.at is None else moment(made.at),
        *([f"by {inline(made.reviewer, 60)}"] if made.reviewer else []),
        f"{who} of {inline(made.panel, 80)}" if made.panel else who,
        *(["masked"] if made.masked else []),
    ]
    lines = flow([line((" · ".join(facts), Ink.STRONG))], width)
    lines += flow(_outcome(item, made), width)
    for name, text, ink in _remarks(made):
        lines += paragraph(text, width, first=[(pad(name, 12), ink)], indent=12)
    return [*lines, *_changes(changes(item.verdict, made), width), Content("")]


def _outcome(item: Item, made: Rerun) -> Iterator[Content]:
    before, after = item.assessment, made.assessment
    came = outcome(item, made)
    halt: Piece = (f"{stopped_after(came.answered + came.failed, came.asked)}: ", Ink.WARN)
    lead: Piece = halt if made.stopped else ("decision ", Ink.MUTED)
    pieces: list[Piece | str] = [
        lead, _decision_piece(before.decision), " → ", _decision_piece(after.decision),
    ]  # fmt: skip
    if flipped(before.decision, after.decision):
        pieces.append(("  ≠ FLIPPED", Ink.WARN))
    yield line(*pieces)
    yield line(("score ", Ink.MUTED), f"{number(before.score)} → {number(after.score)}")
    if made.correct is not None:
        word, ink = ("correct", Ink.PASS) if made.correct else ("wrong", Ink.FAIL)
        yield line((word, ink), (" against the label", Ink.MUTED))


def _decision_piece(decision: Decision | None) -> Piece:
    return ("-", Ink.MUTED) if decision is None else (decision.value, _INKS.get(decision, Ink.WARN))


def _remarks(made: Rerun) -> Iterator[tuple[str, str, Ink]]:
    rule = made.assessment.rule
    for reason in made.assessment.degraded:
        yield "degraded", inline(reason, 500), Ink.WARN
    for cast in made.verdict.ballots:
        if cast.status.missing:
            why = inline(cast.error or cast.status.words, 300)
            yield "no answer", f"{inline(cast.id, 80)}: {why}", Ink.WARN
    if rule.reason and rule.used is not None and rule.used is not rule.strategy:
        asked = "the strategy" if rule.strategy is None else rule.strategy.value.replace("_", " ")
        used = rule.used.value.replace("_", " ")
        yield "fallback", f"{used} in the place of {asked}: {inline(rule.reason, 500)}", Ink.WARN
    if made.contract_before is not None:
        yield "contract", contract_note(made.contract_before), Ink.NOTE
    if made.panel_hash is None:
        return
    short = inline(made.panel_hash, 80)[:16]
    if made.filed:
        when = "" if made.at is None else f", committed {moment(made.at)}, as the report says"
        yield "panel hash", f"{short}{when}", Ink.MUTED
    elif made.kept_its_panel is None:
        yield "panel hash", f"{short}, not committed beforehand", Ink.MUTED
    elif made.kept_its_panel:
        yield "panel hash", f"{short}, as committed before the first request", Ink.MUTED
    else:
        committed = inline(made.committed, 80)[:16]
        yield "panel hash", f"changed: {short} answered, {committed} was committed", Ink.WARN


def _changes(found: Iterable[Change], width: int) -> Lines:
    rows: list[list[Piece]] = []
    for change in found:
        moved = "" if change.moved is None else f"{change.moved:+.3f}"
        marks = "≠ vote flipped" if change.flipped else "" if change.asked else "stays"
        quiet = Ink.TEXT if change.asked else Ink.MUTED
        rows.append(
            [
                (f"{'≠' if change.flipped else ' '} {inline(change.juror, 200)}", quiet),
                (_ballot_text(change.before), Ink.MUTED),
                (_ballot_text(change.after), quiet),
                (moved, quiet),
                (marks, Ink.WARN if change.flipped else Ink.MUTED),
            ]
        )
    return table(("  juror", "before", "after", "moved", ""), rows, width) if rows else []


def _ballot_text(cast: Ballot | None) -> str:
    if cast is None:
        return "not seated"
    if not cast.usable:
        return cast.status.value if cast.status.failed else cast.status.words
    return f"{_VOTES[cast.vote]} {number(cast.score)}"


def _rates(again: RerunHistory, width: int) -> Lines:
    if not again.in_run:
        return []
    here = {rate.juror: rate for rate in again.here}
    rows: list[list[Piece]] = [
        [(inline(rate.juror, 200), ""), (_rate(here.get(rate.juror)), ""), (_rate(rate), "")]
        for rate in again.in_run
    ]
    head = cut(line(("flip rate: votes turned, of those given twice", Ink.MUTED)), width)
    return [head, *table(("juror", "this item", "this run"), rows, width)]


def _rate(rate: FlipRate | None) -> str:
    if rate is None or rate.rate is None:
        return "-"
    return f"{rate.flipped} of {rate.asked}, {rate.rate:.0%}"


def event_text(detail: Mapping[str, Any], found: RerunResult | None = None) -> str:
    """Describe an event of a re-run: what was agreed to, or its result, if ``found`` has one."""
    if "scope" in detail:
        who = {"panel": "the whole panel", "missing": "the missing jurors"}.get(detail["scope"])
        masked = ", masked" if detail.get("masked") else ""
        hosts = ", ".join(map(str, detail.get("hosts") or ()))
        target = f"{who or detail.get('juror')} of {detail.get('panel')}{masked}"
        return f"{target}, {detail.get('calls')} calls to {hosts}"
    if "answered" not in detail:
        return f"{'stopped, ' if detail.get('stopped') else ''}nobody answered"
    if found is None:
        halt = "stopped: " if detail.get("stopped") else ""
        return f"{halt}{detail.get('decision') or 'no decision'}, {detail['answered']} came back"
    if found.stopped:
        return f"{found.halt}, {found.count}"
    return f"{detail.get('decision') or 'no decision'}, {found.count}"
