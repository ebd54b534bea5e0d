"""Pages that stand where an item would: a finished queue, an empty one, help, a tiny terminal."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.actions import GROUPS, Action
from reviewdesk.app.paint import Lines, cut, heading, inline, line, pad, paragraph
from reviewdesk.app.session import Session
from reviewdesk.app.themes import Ink
from reviewdesk.domain.records import Calibration

NEXT = (
    ("reviewdesk labels export", "takes the labels out as a calibration file"),
    ("reviewdesk calibrate", "prints the figures with their designs and counts"),
)


def done_lines(session: Session, figures: Calibration | None, width: int) -> Lines:
    """Everything in the queue is decided: what is done, what is open, what to do next."""
    progress, view = session.progress, session.view
    what = "in this filter" if view.filter else "in this queue"
    lines = paragraph(f"Everything {what} is decided.", width, Ink.STRONG)
    lines += [Content(""), heading("DONE", width)]
    facts: list[tuple[str, str]] = [("labelled", f"{progress.labelled} of {progress.verdicts}")]
    if not view.blind:
        facts += [
            ("flagged", f"{progress.flagged_done} of {progress.flagged}"),
            ("audit", f"{progress.audit_done} of {progress.audit}"),
        ]
    facts += [
        ("deferred", str(progress.deferred)),
        ("can't tell", str(progress.unsure)),
        ("disputed", str(progress.disputed)),
    ]
    lines += _facts(facts, width)
    if figures is not None and figures.labelled.n:
        lines += [Content(""), heading("THE NUMBERS SAY", width), *_figures(figures, width)]
    lines += [Content(""), heading("NEXT", width)]
    for command, text in NEXT:
        lines += paragraph(text, width, Ink.MUTED, first=[(f"{command}  ", Ink.KEY)], indent=4)
    lines += paragraph(
        "looks at what is left: label:unsure or label:disputed; empty clears it",
        width,
        Ink.MUTED,
        first=[("\\  ", Ink.KEY)],
        indent=4,
    )
    lines += paragraph(
        "back to the item seen before", width, Ink.MUTED, first=[("backspace  ", Ink.KEY)]
    )
    return lines


def _facts(facts: Sequence[tuple[str, str]], width: int) -> Lines:
    return [cut(line((pad(name, 12), Ink.MUTED), (text, Ink.TEXT)), width) for name, text in facts]


def _figures(figures: Calibration, width: int) -> Lines:
    found = figures.headline
    which = "population" if figures.population is not None else "labelled"
    lines = _facts([("design", f"{figures.design.value} ({which}, n {found.n})")], width)
    facts = [("accuracy", found.accuracy), ("ECE", found.ece), ("Brier", found.brier)]
    lines += _facts([(n, "-" if v is None else f"{v:.3f}") for n, v in facts], width)
    for warning in figures.warnings:
        lines += paragraph(inline(warning, 2000), width, Ink.WARN)
    return lines


def nothing_lines(session: Session, width: int) -> Lines:
    """A filter that matches nothing, and how to clear it."""
    if not session.view.filter:
        return paragraph("This run holds no verdicts.", width, Ink.STRONG)
    return [
        *paragraph("No verdict matches the filter", width, Ink.STRONG),
        *paragraph(inline(session.view.filter), width, Ink.WARN, first=[("  ", "")], indent=2),
        Content(""),
        *paragraph("\\ then an empty line and enter clears it.", width, Ink.MUTED),
    ]


def tiny_lines(width: int) -> Lines:
    """What a terminal below 40x10 shows; nothing is lost meanwhile."""
    return [
        *paragraph("terminal too small", width, Ink.STRONG),
        *paragraph("needs 40x10; all is kept", width, Ink.MUTED),
    ]


def help_lines(active: Sequence[tuple[Action, str]], width: int) -> Lines:
    """The active bindings by group: each action with the keys that lead to it now."""
    lines: Lines = []
    for group in GROUPS:
        members = [(action, keys) for action, keys in active if action.group == group]
        if not members:
            continue
        lines += [*([Content("")] if lines else []), heading(group.upper(), width)]
        for action, keys in members:
            lines += paragraph(
                action.title, width, first=[(f"  {pad(keys, 12)}", Ink.KEY)], indent=14
            )
    return lines
