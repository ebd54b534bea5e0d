"""The jury pane: decision, flags, the table of jurors and their reasons."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint import (
    Lines,
    Piece,
    block,
    clip_start,
    cut,
    fold,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.paint_numbers import numbers_lines, provenance_lines
from reviewdesk.app.themes import Ink
from reviewdesk.domain.assess import Seat, State
from reviewdesk.domain.flags import SHORT, Flag, FlagNote
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Decision, Status

_WORDS: dict[Decision | None, tuple[str, str]] = {
    Decision.PASS: (" PASS ", Ink.BIG_PASS),
    Decision.FAIL: (" FAIL ", Ink.BIG_FAIL),
    Decision.INCONCLUSIVE: (" INCONCLUSIVE ", Ink.BIG_WARN),
    Decision.ERROR: (" ERROR ", Ink.BIG_WARN),
    None: (" NO DECISION ", Ink.BIG_WARN),
}
_LOUD = (Flag.ESCALATED, Flag.BIAS_WARNING, Flag.TRIMMED_DISSENT)


def hidden_lines(width: int) -> Lines:
    """What the pane says of an unlabelled item in a blind session: the same for every item."""
    return [
        Content(""),
        *paragraph("The panel's answer is hidden.", width, Ink.STRONG),
        Content(""),
        *paragraph("Label the item first (p f i), and the answer shows.", width, Ink.MUTED),
        *paragraph("r reveals it now; the label is then not blind.", width, Ink.MUTED),
        *paragraph("b ends blind review.", width, Ink.MUTED),
    ]


def jury_lines(item: Item, width: int) -> Lines:
    """The whole pane: what needs a person first, reasons in full last."""
    return [
        *_decision(item, width),
        *_flags(item.assessment.notes, width),
        Content(""),
        heading("JURORS", width),
        *jury_table(item.assessment.seats, width),
        Content(""),
        *numbers_lines(item, width),
        Content(""),
        *_reasons(item.assessment.seats, width),
        Content(""),
        *provenance_lines(item, width),
    ]


def _decision(item: Item, width: int) -> Lines:
    verdict, found = item.verdict, item.assessment
    word, ink = _WORDS[found.decision]
    first: list[Piece | str] = [(word, ink)]
    if found.score is not None:
        first.append((f"  {found.score:.3f}", Ink.STRONG))
    if verdict.policy.threshold is not None:
        first.append((f" against {verdict.policy.threshold:g}", Ink.MUTED))
    votes = found.votes
    first.append((f"   {votes.passes} of {votes.answered} pass, {votes.seated} seated", Ink.TEXT))
    second: list[Piece | str] = [("agreement  ", Ink.MUTED)]
    if verdict.agreement is not None:
        value = verdict.agreement.value
        figure = "none" if value is None else f"{value:.3f}"
        second += [(f"{verdict.agreement.metric} {figure}", Ink.TEXT), " "]
    if found.band is not None:
        second += [(f"{found.band.value}", Ink.WARN if found.band == "low" else Ink.TEXT), "  "]
    raw = found.agreement.spread.raw
    second.append((f"r_WG {raw:.3f}" if raw is not None else "r_WG undefined", Ink.MUTED))
    return [*fold(line(*first), width), *fold(line(*second), width)]


def _flags(notes: Sequence[FlagNote], width: int) -> Lines:
    """Each flag with its reason in full, the ones that ask for a person first."""
    ranked = sorted(notes, key=lambda note: note.flag not in _LOUD)
    if not ranked:
        return [Content(""), cut(line(("no flags", Ink.MUTED)), width)]
    lines: Lines = [Content(""), heading("FLAGS", width)]
    for note in ranked:
        ink = Ink.WARN if note.flag in _LOUD else Ink.STRONG
        mark = "◆ " if note.flag in _LOUD else "  "
        name: Piece = (f"{mark}{pad(SHORT.get(note.flag, '?'), 6)}", ink)
        lines += paragraph(block(note.reason), width, first=[name], indent=8)
    return lines


def _rank(seat: Seat) -> int:
    if seat.trimmed:
        return 0 if seat.dissent else 2
    return 3 if seat.state is State.FAILED else 1


def jury_table(seats: Sequence[Seat], width: int) -> Lines:
    """Trimmed dissents, then counted, trimmed and failed jurors, apart from each other."""
    ranked = sorted(seats, key=lambda seat: (_rank(seat), seat.ballot.seat))
    if not ranked:
        return [cut(line(("no jurors", Ink.MUTED)), width)]
    weights = any(seat.ballot.weight is not None for seat in ranked)
    rows = [_cells(seat, weights=weights) for seat in ranked]
    head = ["juror", "family", "score", "vote", *(["weight"] if weights else []), "state"]
    widths = [max(cell_len(row[i][0]) for row in rows) for i in range(len(head) - 1)]
    widths = [max(found, len(name)) for found, name in zip(widths, head, strict=False)]
    state = max(cell_len(row[-1][0]) for row in rows)
    rest = sum(widths[1:]) + 2 * len(widths) + 2
    widths[0] = max(8, min(widths[0], width - rest - min(state, 24)))
    lines = [cut(_row([(name, Ink.MUTED) for name in head], widths, "  "), width)]
    for seat, cells in zip(ranked, rows, strict=True):
        lost = seat.trimmed and seat.dissent
        lines += _folded(_row(cells, widths, "◆ " if lost else "  "), width)
    return lines


def _folded(content: Content, width: int) -> Lines:
    """A row that is too wide puts its state on a second line instead of losing it."""
    rows = fold(content, width)
    return [rows[0], *(line("    ") + row if width > 20 else row for row in rows[1:])]


def _row(cells: Sequence[Piece], widths: Sequence[int], mark: str) -> Content:
    pieces: list[Piece | str] = [(mark, Ink.WARN)]
    for i, (text, ink) in enumerate(cells):
        if i < len(widths):
            shown = clip_start(text, widths[i]) if i == 0 else text
            pieces += [(pad(shown, widths[i], right=i == 2), ink), "  "]
        else:
            pieces.append((text, ink))
    return line(*pieces).rstrip()


def _cells(seat: Seat, *, weights: bool) -> list[Piece]:
    ballot = seat.ballot
    quiet = Ink.MUTED if seat.state is not State.COUNTED else Ink.TEXT
    name = inline(ballot.id, 200)
    if ballot.model and ballot.model != ballot.id:
        name += f" ({inline(ballot.model, 200)})"
    family = "?" if seat.family is None else seat.family.name + "*" * seat.family.extended
    vote: Piece = ("-", Ink.MUTED)
    if ballot.vote is not None:
        vote = ("pass", Ink.PASS) if ballot.vote else ("fail", Ink.FAIL)
    cells: list[Piece] = [
        (name, Ink.WARN if seat.trimmed and seat.dissent else quiet),
        (family, Ink.MUTED),
        ("-" if ballot.score is None else f"{ballot.score:.3f}", quiet),
        vote,
    ]
    if weights:
        cells.append(("-" if ballot.weight is None else f"{ballot.weight:g}", quiet))
    return [*cells, _state(seat)]


def _state(seat: Seat) -> Piece:
    """The state in words; dissent and contradiction are never told by colour alone."""
    ballot = seat.ballot
    words = {
        State.COUNTED: "counted",
        State.TRIMMED_LOW: "trimmed low",
        State.TRIMMED_HIGH: "trimmed high",
        State.FAILED: f"failed: {ballot.status}",
    }[seat.state]
    if ballot.status is Status.ABSTAINED:
        words = "abstained"
    if seat.tied:
        words += " (tie)"
    ink = Ink.MUTED if seat.state is not State.COUNTED else Ink.TEXT
    if seat.dissent:
        words += " · DISSENT"
        ink = Ink.WARN
    if ballot.contradicts:
        words += " · ≠ score"
        ink = Ink.WARN
    return words, ink


def _reasons(seats: Sequence[Seat], width: int) -> Lines:
    """Every juror's reason in full, trimmed dissents first; of a failed juror, its error."""
    lines = [heading("REASONS", width)]
    for seat in sorted(seats, key=lambda seat: (_rank(seat), seat.ballot.seat)):
        ballot = seat.ballot
        words, ink = _state(seat)
        score = "" if ballot.score is None else f"  {ballot.score:.3f}"
        mark = "◆ " if seat.trimmed and seat.dissent else ""
        title = line(
            (f"{mark}{inline(ballot.id, 200)}", Ink.STRONG), (score, Ink.TEXT), (f"  {words}", ink)
        )
        lines += fold(title, width)
        if ballot.error:
            lines += paragraph(block(ballot.error), width, Ink.WARN, indent=2, first=[("  ", "")])
        if ballot.reason:
            lines += paragraph(block(ballot.reason), width, indent=2, first=[("  ", "")])
        elif not ballot.error:
            lines += paragraph("no reason given", width, Ink.MUTED, indent=2, first=[("  ", "")])
        lines.append(Content(""))
    return lines[:-1]
