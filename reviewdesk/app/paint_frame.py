"""The lines around the panes: header, status, the calibration strip and the footer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.actions import Action
from reviewdesk.app.paint import Lines, Piece, clip, cut, inline, line
from reviewdesk.app.session import Session
from reviewdesk.app.themes import Ink
from reviewdesk.domain.correction import Status
from reviewdesk.domain.records import Calibration, Design, Metrics

_NO_POPULATION = "until each stratum has a label"


def header_line(session: Session, saved: str, width: int) -> Content:
    """Run, mode, progress, filter and order at the left; the saved mark at the right."""
    mark = line((f" {clip(saved, max(0, width // 2))} ", Ink.PASS)) if saved else Content("")
    room = max(0, width - mark.cell_length)
    left = cut(line(*_header_pieces(session, room)), room)
    return cut(left.pad_right(max(0, room - left.cell_length)) + mark, width)


def _header_pieces(session: Session, room: int) -> list[Piece | str]:
    view = session.view
    mode: Piece = ("blind", Ink.NOTE) if view.blind else ("open", Ink.TEXT)
    pieces: list[Piece | str] = [
        (f" {clip(inline(session.run.name), max(8, room // 4))}", Ink.STRONG),
        ("  ", ""),
        mode,
        ("  ", ""),
        (progress_text(session), Ink.TEXT),
        ("   order ", Ink.MUTED),
        (inline(view.order), Ink.TEXT),
    ]
    if view.filter:
        pieces += [("   filter ", Ink.MUTED), (inline(view.filter), Ink.WARN)]
    return pieces


def progress_text(session: Session) -> str:
    """How far the reviewer is; one number in a blind session, where strata are hidden."""
    progress = session.progress
    if session.view.blind:
        return f"labelled {progress.labelled}"
    return (
        f"flagged {progress.flagged_done}/{progress.flagged} · "
        f"audit {progress.audit_done}/{progress.audit}"
    )


def strip_lines(figures: Calibration | None, width: int) -> Lines:
    """The two lines of the strip; each names the design of the labels behind it."""
    if figures is None:
        return [cut(line((" labelled    ", Ink.HEAD), ("…", Ink.MUTED)), width), Content("")]
    design = figures.design.value
    if figures.labelled.n == 0:
        first = _empty_line("labelled", "no pass or fail label yet", width)
        return [first, _empty_line("population", f"-  {_NO_POPULATION}", width)]
    # Under a weighted design the upper line is still every label at weight 1.
    plain = "unweighted" if figures.design is Design.WEIGHTED else design
    first = _figures_line("labelled", figures.labelled, plain, width, figures.rowless)
    if figures.population is None:
        text = f"-  {_NO_POPULATION}"
        tail = next((f" · {said}" for said in figures.warnings if said.startswith("describes")), "")
        if width > len(text) + len(tail) + 14:
            text += tail
        return [first, _empty_line("population", text, width)]
    return [first, _figures_line("population", figures.population, design, width)]


def _empty_line(name: str, text: str, width: int) -> Content:
    return cut(line((f" {name:<11} ", Ink.HEAD), (text, Ink.MUTED)), width)


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.3f}"


_VARIANTS = (
    (("n", "ECE", "Brier", "gap", "acc", "corrected"), True, "  "),
    (("n", "ECE", "Brier", "gap", "acc", "corrected"), True, " "),
    (("n", "ECE", "Brier", "acc", "corrected"), True, " "),
    (("n", "ECE", "Brier", "acc", "corrected"), False, " "),
    (("n", "ECE", "Brier", "corrected"), False, " "),
    (("n", "ECE", "Brier"), False, " "),
    (("n", "ECE"), False, " "),
    (("n",), False, " "),
)
"""Which figures stand on the line, with or without the interval: the first variant that fits."""

_CAUTIONS = {Status.WEAK_JUDGE.value: " weak judge", Status.SKIPPED_NO_SIGNAL.value: " no signal"}


def _figures_line(name: str, found: Metrics, design: str, width: int, rowless: int = 0) -> Content:
    """As many figures as fit, those that are read most kept the longest; the design always."""
    low, high = found.corrected_rate_low, found.corrected_rate_high
    interval = "" if low is None or high is None else f" [{_number(low)}, {_number(high)}]"
    caution = _CAUTIONS.get(found.corrected_status or "", "")
    facts = {
        "n": f"{found.n}",
        "ECE": _number(found.ece),
        "Brier": _number(found.brier),
        "gap": _number(found.gap, "+"),
        "acc": _number(found.accuracy),
        "corrected": _number(found.corrected_rate),
    }
    drawn = Content("")
    for names, with_interval, space in _VARIANTS:
        pieces: list[Piece | str] = [(f" {name:<11}", Ink.HEAD)]
        for fact in names:
            pieces += [(f"{space}{fact} ", Ink.MUTED), (facts[fact], Ink.TEXT)]
            if fact == "n" and rowless and with_interval:
                pieces.append((f" (+{rowless} without a row)", Ink.MUTED))
        if "corrected" in names:
            pieces += [(interval if with_interval else "", Ink.MUTED), (caution, Ink.WARN)]
        drawn = line(*pieces, (f"{space}· {design}", Ink.NOTE))
        if drawn.cell_length <= width:
            return drawn
    return cut(drawn, width)


def footer_line(hints: Sequence[tuple[Action, str]], width: int) -> Content:
    """Keys and what they do now, as many as fit; help is always there."""
    drawn, last = Content(""), Content("")
    pieces = [(action.id, _hint(action, word)) for action, word in hints]
    for name, hint in pieces:
        if name == "help":
            last = hint
    for name, hint in pieces:
        if name == "help":
            continue
        if drawn.cell_length + hint.cell_length + last.cell_length > width:
            break
        drawn += hint
    return cut(drawn + last, width)


def _hint(action: Action, word: str) -> Content:
    return line((f" {_key(action)}", Ink.KEY), (f" {word} ", Ink.MUTED))


def _key(action: Action) -> str:
    return action.shown.split(" ", maxsplit=1)[0]


def status_line(text: str, ink: str, width: int) -> Content:
    """What just happened, or what a reviewer should know."""
    return cut(line((f" {text}" if text else "", ink)), width)


def title_line(name: str, note: str, width: int, *, focused: bool) -> Content:
    """A pane's title; the pane that has the keys is marked, not only coloured."""
    mark = "▶" if focused else " "
    ink = Ink.STRONG if focused else Ink.MUTED
    return cut(line((f"{mark}{name}", ink), (f"  {note}" if note else "", Ink.MUTED)), width)
