"""A question to a run and its answer, in words."""

from __future__ import annotations

from reviewdesk.domain.labels.question import FIGURES, Reply, RunAnswer
from reviewdesk.views.document import Document, Facts, Paragraph, Section, Tone, Words
from reviewdesk.views.words import plural


def strip_line(found: RunAnswer, *, blind: bool = False) -> str:
    """Return the answer so far in one line.

    A blind session is told only whether one may stop: the interval rests on what the panel decided
    of items without a label.
    """
    if blind:
        stop = "you may stop" if found.safe else "not yet"
        return f"{found.question.text}? {plural(found.look.labels, 'label')} counted · {stop}"
    parts = [f"{found.question.text}? {found.reply}", interval(found)]
    if found.safe:
        parts.append("you may stop")
    elif found.more is not None:
        parts.append(f"about {plural(found.more, 'label')} more")
    return " · ".join(parts)


def said(found: RunAnswer) -> str:
    """Return the question, when it was asked, and the answer, as gates note it."""
    asked = found.question
    at = asked.at[:16].replace("T", " ")
    known = f", after {plural(found.known, 'label')}" if found.known else ""
    return f"asked {at}{known}: {asked.text}? {found.reply}, {interval(found)} at every look"


def interval(found: RunAnswer) -> str:
    """Return the interval that holds at every look."""
    return f"{found.look.low:.3f} to {found.look.high:.3f}"


def _conclusion(found: RunAnswer) -> str:
    asked = found.question
    if found.safe:
        said = {Reply.YES: "Yes", Reply.NO: "No"}.get(found.reply, "It cannot be told")
        return f"{said}. You may stop; this interval stays valid."
    if found.more is None:
        return "Not yet: a group of items has no label."
    more = plural(found.more, "label")
    end = f"decide it, if the {FIGURES[asked.figure]} stays as it is"
    return f"Not yet. About {more} more would {end}."


def question(found: RunAnswer) -> Document:
    """Return a question with its answer."""
    asked = found.question
    look = found.look
    level = f"{asked.level:.0%}"
    rows: list[tuple[str, Words]] = [
        ("asked", f"{asked.at[:16].replace('T', ' ')}, {plural(asked.planned, 'label')} planned"),
        ("interval", f"{interval(found)}, valid at every look ({level})"),
        ("this look alone", f"{look.now_low:.3f} to {look.now_high:.3f}"),
        ("labels counted", f"{look.labels:,} since the question"),
    ]
    if look.estimate is not None:
        rows.insert(1, (FIGURES[asked.figure], f"{look.estimate:.3f}"))
    if found.known:
        rows.append(("asked after", f"{plural(found.known, 'label')}, which count as known"))
    if found.waiting:
        rows.append(("waiting", f"{plural(found.waiting, 'label')} given out of turn"))
    tone = Tone.STRONG if found.safe else Tone.TEXT
    title = f"{asked.text}?" + (" (closed)" if asked.closed else "")
    blocks = (Paragraph(_conclusion(found), tone), Facts.of(*rows, column=17))
    return Document((Section(title, blocks),))
