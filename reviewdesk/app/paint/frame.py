"""Painters for the lines around the panes: header, status, calibration strip and footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.content import Content

from reviewdesk.app.controllers.session import Session
from reviewdesk.app.keys.actions import Hint
from reviewdesk.app.paint.styled import Lines, Piece, clickable, clip, cut, inline, line
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Calibration, Design, Metrics
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.settings import Feedback
from reviewdesk.views import words

_USUAL = frozenset({"draw", "mix"})
_NO_POPULATION = "until each stratum has a label"


def header_line(session: Session, saved: str, jobs: str, width: int) -> Content:
    """Return the header: run, mode and progress at the left, jobs and saved mark at the right."""
    mark = line((f" {clip(saved, max(0, width * 2 // 5))} ", Ink.PASS)) if saved else Content("")
    if jobs:
        mark = line((f" {clip(jobs, max(0, width // 3))} ", Ink.NOTE)) + mark
    room = max(0, width - mark.cell_length)
    left = cut(line(*_header_pieces(session, room)), room)
    return cut(left.pad_right(max(0, room - left.cell_length)) + mark, width)


def _header_pieces(session: Session, room: int) -> list[Piece | str]:
    """Return the facts that fit whole, the most needed first: a number cut short would mislead."""
    view = session.view
    mode: Piece = ("blind", Ink.NOTE) if view.blind else ("open", Ink.TEXT)
    facts: list[list[Piece | str]] = [
        [(f" {clip(inline(session.run.name), max(8, room // 4))}", Ink.STRONG), "  ", mode]
    ]
    if view.filter:
        facts.append([("  filter ", Ink.MUTED), (clip(inline(view.filter), 24), Ink.WARN)])
    others: list[list[Piece | str]] = [
        ["  ", (progress_text(session), Ink.TEXT)],
        [("  order ", Ink.MUTED), (inline(view.order), Ink.TEXT)],
    ]
    # An order that somebody chose explains the list; the usual one can be left out.
    facts += others if view.order in _USUAL else reversed(others)
    pieces: list[Piece | str] = []
    for fact in facts:
        if pieces and line(*pieces, *fact).cell_length > room:
            continue
        pieces += fact
    return pieces


def page_header(title: str, session: Session, jobs: str, width: int) -> Content:
    """Return the first line of a page: its name, the run under review, and the jobs that run."""
    mark = line((f" {clip(jobs, max(0, width // 3))} ", Ink.NOTE)) if jobs else Content("")
    room = max(0, width - mark.cell_length)
    mode = "blind" if session.view.blind else "open"
    name = clip(inline(session.run.name), max(8, room // 3))
    left = line((f" {title}", Ink.STRONG), (f"  {name}", Ink.TEXT), (f"  {mode}", Ink.MUTED))
    left = cut(left, room)
    return cut(left.pad_right(max(0, room - left.cell_length)) + mark, width)


def progress_text(session: Session) -> str:
    """Format the reviewer's progress: one number in a blind session, where strata are hidden."""
    progress = session.progress
    if session.view.blind:
        return f"labelled {progress.labelled}"
    return (
        f"flagged {progress.flagged_done}/{progress.flagged} · "
        f"audit {progress.audit_done}/{progress.audit}"
    )


def strip_lines(
    session: Session, figures: Calibration | None, alone: Metrics | None, width: int
) -> Lines:
    """Return the two lines of the strip. Each names the design of the labels behind it.

    A blind session uses ``alone``, as nothing there may depend on panels of unlabelled items.
    """
    if session.view.blind:
        return _blind_strip(session, alone, width)
    if figures is None:
        return [cut(line((" labelled    ", Ink.HEAD), ("…", Ink.MUTED)), width), Content("")]
    design = figures.design.value
    if figures.labelled.n == 0:
        first = _empty_line("labelled", "no pass or fail label yet", width)
        return [first, _empty_line("population", f"-  {_NO_POPULATION}", width)]
    # Under a weighted design the upper line is still every label at weight 1.
    plain = "unweighted" if figures.design is Design.WEIGHTED else design
    first = _figures_line(
        "labelled", figures.labelled, plain, width, _count_note(figures.rowless, "without a row")
    )
    if figures.population is None:
        text = f"-  {_NO_POPULATION}"
        tail = next(
            (f" · {warning}" for warning in figures.warnings if warning.startswith("describes")), ""
        )
        if width > len(text) + len(tail) + 14:
            text += tail
        return [first, _empty_line("population", text, width)]
    more = _count_note(figures.waiting, "wait for the draw")
    return [first, _figures_line("population", figures.population, design, width, more)]


def _count_note(count: int, why: str) -> str:
    return f" (+{count} {why})" if count else ""


def _blind_strip(session: Session, alone: Metrics | None, width: int) -> Lines:
    """Return the strip of a blind session: labelled items only, as all else reveals the answers."""
    done = session.progress.labelled
    if session.withheld:
        when = "when the queue is done" if session.feedback is Feedback.END else "are kept back"
        first = _empty_line("labelled", f"{done} · the figures {when}", width)
    elif alone is None:
        first = _empty_line("labelled", "…", width)
    elif alone.n == 0:
        first = _empty_line("labelled", "no pass or fail label yet", width)
    else:
        known = replace(alone, corrected_rate=None, corrected_status=None)
        first = _figures_line("labelled", known, "labelled items only", width)
    return [first, _empty_line("population", "-  hidden while you review blind", width)]


def _empty_line(name: str, text: str, width: int) -> Content:
    return cut(line((f" {name:<11} ", Ink.HEAD), (text, Ink.MUTED)), width)


_PLAIN = (
    (("n", "ECE", "Brier", "gap", "accuracy"), False, "  "),
    (("n", "ECE", "Brier", "gap", "accuracy"), False, " "),
    (("n", "ECE", "Brier"), False, " "),
    (("n", "ECE"), False, " "),
    (("n",), False, " "),
)
_VARIANTS = (
    (("n", "ECE", "Brier", "gap", "accuracy", "corrected"), True, "  "),
    (("n", "ECE", "Brier", "gap", "accuracy", "corrected"), True, " "),
    (("n", "ECE", "Brier", "accuracy", "corrected"), True, " "),
    (("n", "ECE", "Brier", "accuracy", "corrected"), False, " "),
    (("n", "ECE", "Brier", "corrected"), False, " "),
    (("n", "ECE", "Brier"), False, " "),
    (("n", "ECE"), False, " "),
    (("n",), False, " "),
)
"""Figures of the line, and whether the interval is shown. The first variant that fits is used."""

_CAUTIONS = {
    CorrectionStatus.WEAK_JUDGE.value: " weak judge",
    CorrectionStatus.SKIPPED_NO_SIGNAL.value: " no signal",
}


def _figures_line(name: str, found: Metrics, design: str, width: int, more: str = "") -> Content:
    """Return as many figures as fit, the most important first, and always the design."""
    caution = _CAUTIONS.get(found.corrected_status or "", "")
    facts = words.metrics(found)
    interval = "" if facts["interval"] == words.NONE else f" {facts['interval']}"
    drawn = Content("")
    for names, with_interval, space in _PLAIN if found.corrected_rate is None else _VARIANTS:
        pieces: list[Piece | str] = [(f" {name:<11}", Ink.HEAD)]
        for fact in names:
            short = "acc" if fact == "accuracy" else fact
            pieces += [(f"{space}{short} ", Ink.MUTED), (facts[fact], Ink.TEXT)]
            if fact == "n" and more and with_interval:
                pieces.append((more, Ink.MUTED))
        if "corrected" in names:
            pieces += [(interval if with_interval else "", Ink.MUTED), (caution, Ink.WARN)]
        drawn = line(*pieces, (f"{space}· {design}", Ink.NOTE))
        if drawn.cell_length <= width:
            return drawn
    return cut(drawn, width)


def footer_line(hints: Sequence[Hint], key: Callable[[str], str], width: int) -> Content:
    """Return the keys and what they do now, as many as fit, and always help and quit.

    A click on one does what its key does.
    """
    drawn = [
        (hint.action, clickable(_hint(key(hint.action), hint.word), hint.action)) for hint in hints
    ]
    kept = [content for name, content in drawn if name in _ALWAYS]
    room = width - sum(content.cell_length for content in kept)
    line_ = Content("")
    for name, content in drawn:
        if name in _ALWAYS:
            continue
        if line_.cell_length + content.cell_length > room:
            break
        line_ += content
    return cut(Content("").join([line_, *kept]), width)


_ALWAYS = ("help", "quit")


def _hint(key: str, word: str) -> Content:
    return line((f" {key}", Ink.KEY), (f" {word} ", Ink.MUTED)) if key else Content("")


def status_line(text: str, ink: str, width: int) -> Content:
    """Return the status line: what just happened, or what a reviewer should know."""
    return cut(line((f" {text}" if text else "", ink)), width)


def title_line(name: str, note: str, width: int, *, focused: bool) -> Content:
    """Return a pane's title. The focused pane has a mark, so that colour is not the only sign."""
    mark = "▶" if focused else " "
    ink = Ink.STRONG if focused else Ink.MUTED
    return cut(line((f"{mark}{name}", ink), (f"  {note}" if note else "", Ink.MUTED)), width)
