"""Painters for pages in the place of an item or its jury: hidden, finished or empty queue."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.controllers.state import Figures, Session
from reviewdesk.app.keys.keymap import Keymap
from reviewdesk.app.paint.frame import figures_line
from reviewdesk.app.paint.styled import Lines, flow, heading, inline, line, paragraph
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Pace
from reviewdesk.views.progress import pace_text, waits

EXPORT = "reviewdesk labels export"


def done_lines(session: Session, found: Figures, keymap: Keymap, width: int) -> Lines:
    """Return the page of a finished queue: what is done, what is open, what to do next."""
    what = "in this filter" if session.view.filter else "in this queue"
    lines = paragraph(f"Everything {what} is decided.", width, Ink.STRONG)
    lines += [Content(""), heading("DONE", width), *_facts(_done(session, found.pace), width)]
    if not session.withheld:
        lines += [Content(""), heading("THE NUMBERS SAY", width)]
        lines.append(figures_line(session, found.calibration, found.alone, width))
        made = None if session.view.blind else found.calibration
        for warning in made.warnings if made else ():
            lines += paragraph(inline(warning, 2000), width, Ink.WARN)
    lines += [Content(""), heading("NEXT", width)]
    steps = [(keymap.first("blocker"), before + inline(name, 200) + after)
             for before, name, after in waits(found.blockers)]  # fmt: skip
    for key, text in [*steps, *_next(session, keymap)]:
        lines += paragraph(text, width, Ink.MUTED, first=[(f"{key}  ", Ink.KEY)], indent=4)
    return lines


def _done(session: Session, pace: Pace | None) -> list[tuple[str, str]]:
    progress = session.progress
    facts = [("labelled", f"{progress.labelled} of {progress.verdicts}")]
    if not session.view.blind:
        facts += [
            ("flagged", f"{progress.flagged_done} of {progress.flagged}"),
            ("random check", f"{progress.audit_done} of {progress.audit}"),
        ]
    facts += [
        ("deferred", str(progress.deferred)),
        ("can't tell", str(progress.unsure)),
        ("disputed", str(progress.disputed)),
    ]
    if pace is not None and pace.steady:
        facts.append(("pace", pace_text(pace)))
    return facts


def _next(session: Session, keymap: Keymap) -> list[tuple[str, str]]:
    """Return the next steps after a finished queue, each with its key or command."""
    filter_ = keymap.first("filter")
    command = keymap.first("command") or ":"
    steps = []
    if session.view.filter:
        steps.append((f"{command}filter", "without a filter, shows the whole queue again"))
    if session.progress.unsure:
        steps.append((f"{filter_} label:unsure", "looks again at what you could not tell"))
    if session.progress.disputed:
        steps.append((f"{filter_} label:disputed", "shows where reviewers differ"))
    if session.progress.labelled and not session.withheld:
        steps.append((f"{filter_} wrong", "looks again at what you labelled against the panel"))
    steps.append(
        (keymap.first("screen.calibration"), "how far the judge can be trusted, and the gates")
    )
    if "export" not in keymap.withheld:
        text = f"takes the labels out ({EXPORT} does the same)"
        steps.append((f"{command}export labels.jsonl", text))
    return [
        *steps,
        (keymap.first("screen.runs"), "the other runs, and which panel is right more often"),
        (keymap.first("back"), "back to the item seen before"),
        (keymap.first("quit"), "closes; everything is saved"),
    ]


def _facts(facts: Sequence[tuple[str, str]], width: int) -> Lines:
    return flow((line((f"{name} ", Ink.MUTED), (text, Ink.TEXT)) for name, text in facts), width)


def reading_lines(width: int) -> Lines:
    """Return what stands where the item will be, until its queue is read."""
    return paragraph("Reading the queue …", width, Ink.MUTED)


def nothing_lines(session: Session, keymap: Keymap, width: int) -> Lines:
    """Return the page of an empty queue: why nothing is in it, and what to do about it."""
    command = keymap.first("command") or ":"
    if not session.view.filter:
        steps = [f"{keymap.first('screen.runs')} shows the other runs."]
        if "open" not in keymap.withheld:
            steps.append(f"{command}open FILE and enter loads a report.")
        lines = [*paragraph("This run holds no verdicts.", width, Ink.STRONG), Content("")]
        return lines + [row for step in steps for row in paragraph(step, width, Ink.MUTED)]
    return [
        *paragraph("No verdict matches the filter", width, Ink.STRONG),
        *paragraph(inline(session.view.filter), width, Ink.WARN, first=[("  ", "")], indent=2),
        Content(""),
        *paragraph(f"{command}filter and enter clears it.", width, Ink.MUTED),
        *paragraph(f"{keymap.first('filter')} changes it.", width, Ink.MUTED),
    ]


def tiny_lines(width: int) -> Lines:
    """Return what a terminal below 40x10 shows. Nothing is lost meanwhile."""
    return [
        *paragraph("terminal too small", width, Ink.STRONG),
        *paragraph("needs 40x10; all is kept", width, Ink.MUTED),
    ]
