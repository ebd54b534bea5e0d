"""Painters for the jury pane: decision, flags, the table of jurors and their reasons."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.controllers.rerun_history import NOTHING
from reviewdesk.app.controllers.session import Session
from reviewdesk.app.keys.keymap import Keymap
from reviewdesk.app.paint.document import section_lines
from reviewdesk.app.paint.numbers import numbers_lines, provenance_lines
from reviewdesk.app.paint.rerun import offer_lines, rerun_lines, running_lines
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    block,
    clip,
    clip_start,
    cut,
    flow,
    fold,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.assess import Seat, State
from reviewdesk.domain.assessment.flags import SHORT, Flag, FlagNote
from reviewdesk.domain.assessment.seats import silent_words
from reviewdesk.domain.jury.agreement import AgreementPair
from reviewdesk.domain.panel.rerun_result import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.settings import Feedback
from reviewdesk.views.whatif import item_what_if

_WORDS: dict[Decision | None, tuple[str, str]] = {
    Decision.PASS: (" PASS ", Ink.BIG_PASS),
    Decision.FAIL: (" FAIL ", Ink.BIG_FAIL),
    Decision.INCONCLUSIVE: (" INCONCLUSIVE ", Ink.BIG_WARN),
    Decision.ERROR: (" ERROR ", Ink.BIG_WARN),
    None: (" NO DECISION ", Ink.BIG_WARN),
}
_WORD = 10
"""Columns for the label that a juror gives in place of a vote."""

_LOUD = (Flag.ESCALATED, Flag.BIAS_WARNING, Flag.TRIMMED_DISSENT)


def hidden_lines(session: Session, keymap: Keymap, width: int) -> Lines:
    """Return the pane while the panel's answer is hidden. It is the same for every item."""
    labels = " ".join(keymap.first(f"label.{word}") for word in ("pass", "fail", "unsure"))
    then = {
        Feedback.AFTER: f"Label the item first ({labels}), and the answer shows.",
        Feedback.END: "The answers show when everything in the queue is decided.",
        Feedback.NEVER: "The answers are kept back, as your settings say (feedback = never).",
    }
    reveal, blind = keymap.first("reveal"), keymap.first("blind")
    return [
        Content(""),
        *paragraph("The panel's answer is hidden.", width, Ink.STRONG),
        Content(""),
        *paragraph(then[session.feedback], width, Ink.MUTED),
        *paragraph(f"{reveal} reveals it now; the label is then not blind.", width, Ink.MUTED),
        *paragraph(f"{blind} ends blind review.", width, Ink.MUTED),
    ]


def jury_lines(item: Item, width: int, again: RerunHistory = NOTHING, ask: str = "") -> Lines:
    """Return the whole pane, what needs a person first. ``ask`` is the key that starts a re-run."""
    return [
        *_decision(item, width),
        *running_lines(again.running, width),
        *_flags(item.assessment.notes, width),
        *offer_lines(item, ask, width),
        Content(""),
        heading("JURORS", width),
        *jury_table(item.assessment.seats, width),
        Content(""),
        *rerun_lines(item, again, width),
        *numbers_lines(item, width),
        Content(""),
        *section_lines(item_what_if(item), width),
        Content(""),
        *_reasons(item.assessment.seats, width),
        Content(""),
        *provenance_lines(item, width),
    ]


def _decision(item: Item, width: int) -> Lines:
    verdict, found = item.verdict, item.assessment
    word, ink = _WORDS[found.decision]
    first = [line((word, ink))]
    score: list[Piece | str] = []
    if found.score is not None:
        score.append((f"{found.score:.3f}", Ink.STRONG))
    if verdict.policy.threshold is not None:
        mine = " set by you" if "threshold" in verdict.set_by_you else ""
        score.append((f" against {verdict.policy.threshold:g}{mine}", Ink.MUTED))
    if found.rule.used is not None:
        score.append((f" by {found.rule.used.value.replace('_', ' ')}", Ink.MUTED))
    votes = found.votes
    first += [line(*score)] if score else []
    first.append(line(f"{votes.passes} of {votes.answered} pass, {votes.seated} seated"))
    if silent := silent_words(found.seats):
        first.append(line((silent, Ink.WARN)))
    second = [line(("agreement", Ink.MUTED))]
    if found.pair.reported:
        second.append(_stated_agreement(found.pair))
    spread = found.agreement.spread
    figure = "-" if spread.raw is None else f"{spread.raw:.3f}"
    ours = "ours r_WG" if found.pair.reported else "r_WG"
    second.append(line((f"{ours} {figure}", Ink.MUTED), " ", *_band(spread.band)).rstrip())
    if alike := [what for what in ("scores", "votes") if getattr(found, f"unanimous_{what}")]:
        second.append(line((f"unanimous {' and '.join(alike)}", Ink.NOTE)))
    return [*flow(first, width), *flow(second, width)]


def _stated_agreement(pair: AgreementPair) -> Content:
    """Return the agreement that the report states, with its metric and band."""
    pieces: list[Piece | str] = ["stated "]
    if pair.metric is not None:
        figure = "none" if pair.value is None else f"{pair.value:.3f}"
        pieces.append(f"{pair.metric} {figure} ")
    return line(*pieces, *_band(pair.band)).rstrip()


def _band(band: Band | None) -> list[Piece]:
    """Return the band, which stands beside the figure it belongs to."""
    if band is None:
        return []
    return [(band.value, Ink.WARN if band is Band.LOW else Ink.TEXT)]


def _flags(notes: Sequence[FlagNote], width: int) -> Lines:
    """Return each flag with its full reason. Flags that ask for a person come first."""
    ranked = sorted(notes, key=lambda note: note.flag not in _LOUD)
    if not ranked:
        return [Content(""), cut(line(("no flags", Ink.MUTED)), width)]
    lines: Lines = [Content(""), heading("FLAGS", width)]
    for note in ranked:
        ink = Ink.WARN if note.flag in _LOUD else Ink.STRONG
        mark = "◆ " if note.flag in _LOUD else "  "
        name: Piece = (f"{mark}{pad(SHORT.get(note.flag, '?'), 8)} ", ink)
        lines += paragraph(block(note.reason), width, first=[name], indent=11)
    return lines


def _rank(seat: Seat) -> int:
    if seat.trimmed:
        return 0 if seat.dissent else 2
    return 3 if seat.state is State.FAILED else 1


def jury_table(seats: Sequence[Seat], width: int) -> Lines:
    """Return the table of jurors: trimmed dissents, then counted, trimmed and failed jurors."""
    ranked = sorted(seats, key=lambda seat: (_rank(seat), seat.ballot.seat))
    if not ranked:
        return [cut(line(("no jurors", Ink.MUTED)), width)]
    weights = any(seat.ballot.weight is not None for seat in ranked)
    rows = [_cells(seat, weights=weights) for seat in ranked]
    head = ["juror", "family", "score", "vote", *(["weight"] if weights else []), "state"]
    widths = [max(len(n), *(cell_len(row[i][0]) for row in rows)) for i, n in enumerate(head[:-1])]
    room = width - sum(widths[1:]) - len(widths) - 2
    state = max(cell_len(row[-2][0] + row[-1][0]) for row in rows)
    named = [
        (_juror_name(seat, max(0, room - state)), row[0][1])
        for seat, row in zip(ranked, rows, strict=True)
    ]
    rows = [[name, *row[1:]] for name, row in zip(named, rows, strict=True)]
    widths[0] = max(cell_len(name) for name, _ in named)
    # Where names and states do not both fit, a state goes on below its row.
    squeezed = room - state < min(widths[0], 15)
    widths[0] = max(10, min(widths[0], room - (13 if squeezed else state)))
    lines = [cut(_row([(name, Ink.MUTED) for name in head], widths, "  "), width)]
    for seat, cells in zip(ranked, rows, strict=True):
        lost = seat.trimmed and seat.dissent
        lines += _row_lines(_row(cells, widths, "◆ " if lost else "  "), width)
    return lines


def _row_lines(content: Content, width: int) -> Lines:
    """Fold a row that is too wide, so that the end of its state goes below."""
    below: Lines = []
    while content.cell_length > width and (at := content.plain.rfind(" · ")) > 0:
        below.insert(0, line("    ") + content[at + 1 :])
        content = content[:at]
    return [row for part in (content, *below) for row in fold(part, width)]


def _row(cells: Sequence[Piece], widths: Sequence[int], mark: str) -> Content:
    pieces: list[Piece | str] = [(mark, Ink.WARN)]
    for i, (text, ink) in enumerate(cells):
        if i < len(widths):
            shown = clip_start(text, widths[i]) if i == 0 else text
            pieces += [(pad(shown, widths[i], right=i == 2), ink), " "]
        else:
            pieces.append((text, ink))
    return line(*pieces).rstrip()


def _cells(seat: Seat, *, weights: bool) -> list[Piece]:
    ballot = seat.ballot
    quiet = Ink.MUTED if seat.state is not State.COUNTED else Ink.TEXT
    name = inline(ballot.id, 200)
    family = "?" if seat.family is None else seat.family.name + "*" * seat.family.extended
    vote: Piece = ("-", Ink.MUTED)
    if ballot.vote is not None:
        vote = ("pass", Ink.PASS) if ballot.vote else ("fail", Ink.FAIL)
    elif ballot.usable and ballot.label:
        vote = (clip(inline(ballot.label, 60), _WORD), quiet)
    score = "-" if ballot.score is None else f"{ballot.score:.3f}"
    if ballot.score is None and ballot.raw_score is not None:
        score = f"raw {ballot.raw_score:g}"
    cells: list[Piece] = [
        (name, Ink.WARN if seat.trimmed and seat.dissent else quiet),
        (family, Ink.MUTED),
        (score, quiet),
        vote,
    ]
    if weights:
        cells.append(("-" if ballot.weight is None else f"{ballot.weight:g}", quiet))
    return [*cells, _state(seat), (seat.aside, Ink.MUTED)]


def _juror_name(seat: Seat, room: int) -> str:
    """Return the juror's id, with its model if that differs and both fit into ``room`` cells."""
    name, model = inline(seat.ballot.id, 200), inline(seat.ballot.model or "", 200)
    both = f"{name} ({model})"
    return both if model and model != name and cell_len(both) <= room else name


def _state(seat: Seat) -> Piece:
    """Return the state in words, so that dissent and contradiction need no colour to be seen."""
    ballot = seat.ballot
    words = seat.words
    ink = Ink.MUTED if seat.state is not State.COUNTED else Ink.TEXT
    if seat.dissent:
        words += " · DISSENT"
        ink = Ink.WARN
    if ballot.contradicts:
        words += " · ≠ score"
        ink = Ink.WARN
    return words, ink


def _reasons(seats: Sequence[Seat], width: int) -> Lines:
    """Return every juror's full reason, or its error if it failed. Trimmed dissents come first."""
    lines = [heading("REASONS", width)]
    for seat in sorted(seats, key=lambda seat: (_rank(seat), seat.ballot.seat)):
        ballot = seat.ballot
        words, ink = _state(seat)
        mark = "◆ " if seat.trimmed and seat.dissent else ""
        names = [line((f"{mark}{inline(ballot.id, 200)}", Ink.STRONG))]
        if ballot.model and ballot.model != ballot.id:
            names.append(line((inline(ballot.model, 200), Ink.MUTED)))
        if ballot.score is not None:
            names.append(line(f"{ballot.score:.3f}"))
        lines += flow([*names, line((words, ink), (seat.aside, Ink.MUTED))], width, 2)
        if ballot.error:
            lines += paragraph(block(ballot.error), width, Ink.WARN, indent=2, first=[("  ", "")])
        if ballot.reason:
            lines += paragraph(block(ballot.reason), width, indent=2, first=[("  ", "")])
        elif not ballot.error:
            lines += paragraph("no reason given", width, Ink.MUTED, indent=2, first=[("  ", "")])
        lines.append(Content(""))
    return lines[:-1]
