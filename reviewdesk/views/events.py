"""What is said of an entry of the label log: what was done, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reviewdesk.domain.panel.rerun import RerunResult
from reviewdesk.domain.records import SUGGESTION, Event
from reviewdesk.views.document import Text, joined, outside
from reviewdesk.views.words import moment

RERUNS = {"rerun_planned": "re-run agreed to", "rerun_ended": "re-run ended"}
"""The kinds of events that belong to re-runs, in words."""
_KINDS = {**RERUNS, SUGGESTION: "an agent suggests", "improve": "step to a better panel"}
_SIGHT: dict[Any, str] = {True: ", given blind", False: ", given open"}
_SEEN: dict[Any, str] = {True: ", seen", False: ", not seen"}


def given(event: Event) -> tuple[Text, Text]:
    """Return when and by whom an event was made, or an imported label was originally given."""
    if event.kind == SUGGESTION:
        return moment(event.at), outside(event.detail.get("agent") or event.author, 80)
    if not event.detail.get("imported"):
        return moment(event.at), outside(event.reviewer, 80)
    at = event.detail.get("at")
    return moment(at if isinstance(at, str) else event.at), outside(event.author, 80)


def event(one: Event, result: RerunResult | None = None) -> tuple[str | Text, ...]:
    """Say what an event did; ``result`` is that of the re-run that it ended."""
    detail = one.detail
    words: list[str | Text] = [_KINDS.get(one.kind) or outside(one.kind, 20)]
    if one.kind == "mark" and not detail.get("on"):
        words = ["unmark"]
    if one.label is not None:
        sight = _SIGHT.get(detail.get("blind"), "") + _SEEN.get(detail.get("seen"), "")
        imported = ", imported" if detail.get("imported") else ""
        many = detail.get("together")
        imported += f", with {many - 1:,} more" if isinstance(many, int) and many > 1 else ""
        closed = ", closed without an answer" if detail.get("closed") else ""
        words.append(f" {one.label.value}{closed}{imported}{sight}")
    if one.kind in {"undo", "redo"}:
        words += [": ", outside(detail.get("was") or "", 60)]
    if one.kind == "tags":
        words += [" ", *(tag_list(detail.get("tags") or ()) or ("cleared",))]
    if detail.get("note"):
        words += [": ", outside(detail["note"], 60)]
    if one.kind in RERUNS:
        words += [": ", outside(rerun_event_text(detail, result), 160)]
    return (*words, *([" (undone)"] if one.undone else []))


def tag_list(tags: Iterable[object]) -> tuple[str | Text, ...]:
    """Join tags with commas."""
    return joined([outside(tag, 80) for tag in tags])


def rerun_event_text(detail: Mapping[str, Any], found: RerunResult | None = None) -> str:
    """Describe an event of a re-run: what was agreed to, or its result, if ``found`` has one."""
    many = (
        f"{detail['of']:,} verdicts, " if detail.get("of", 1) > 1 and "plan" not in detail else ""
    )
    if "scope" in detail:
        who = {"panel": "the whole panel", "missing": "the missing jurors"}.get(detail["scope"])
        hosts = ", ".join(map(str, detail.get("hosts") or ()))
        target = f"{who or detail.get('juror')} of {detail.get('panel')}"
        calls = f", {detail['calls']} calls to {hosts}" if "calls" in detail else ""
        return f"{many if calls else ''}{target}{calls}"
    if "left" in detail:
        return many + _end_text(detail)
    if "answered" not in detail:
        return f"{'stopped, ' if detail.get('stopped') else ''}nobody answered"
    if found is None:
        halt = "stopped: " if detail.get("stopped") else ""
        return f"{halt}{detail.get('decision') or 'no decision'}, {detail['answered']} came back"
    if found.stopped:
        return f"{found.halt}, {found.count}"
    return f"{detail.get('decision') or 'no decision'}, {found.count}"


def _end_text(detail: Mapping[str, Any]) -> str:
    """Say how a re-run of many verdicts ended: how many are done, turned over, and left."""
    if "given_up" in detail:
        return f"given up with {detail['given_up']:,} left"
    flips = sum(detail["flips"].values())
    left = f", {detail['left']:,} left" if detail["left"] else ""
    return f"{detail['done']:,} asked again, {flips:,} turned over{left}"
