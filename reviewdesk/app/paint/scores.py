"""Plot the jurors' scores on a line from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.paint.styled import Lines, Piece, cut, line
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.assess import Seat, State


def strip_plot(seats: Sequence[Seat], threshold: float | None, width: int) -> Content:
    """Plot scores from 0 to 1: ``●`` is counted, ``○`` trimmed, ``◆`` a trimmed dissent.

    A digit says how many scores share one place.
    """
    if width < 3:
        return Content("")
    marks: dict[int, list[Seat]] = {}
    for seat in seats:
        if seat.ballot.score is not None:
            marks.setdefault(round(seat.ballot.score * (width - 1)), []).append(seat)
    bar = None if threshold is None else round(threshold * (width - 1))
    return line(*(_mark(marks.get(at), threshold=at == bar) for at in range(width)))


def _mark(here: list[Seat] | None, *, threshold: bool) -> Piece:
    if not here:
        return ("│", Ink.STRONG) if threshold else ("─", Ink.RULE)
    if len(here) > 1:
        return str(min(len(here), 9)), Ink.STRONG
    [seat] = here
    if seat.state is State.COUNTED:
        return "●", Ink.STRONG
    return ("◆", Ink.WARN) if seat.dissent else ("○", Ink.MUTED)


def score_plot_lines(seats: Sequence[Seat], threshold: float | None, width: int) -> Lines:
    """Return the plot with its threshold and legend; nothing without a score or room."""
    if width < 12 or not any(seat.ballot.score is not None for seat in seats):
        return []
    room = width - 4
    plot = strip_plot(seats, threshold, room)
    lines = [line(("0 ", Ink.MUTED)) + plot + line((" 1", Ink.MUTED))]
    if threshold is not None:
        lines.append(_threshold_line(threshold, room, width))
    legend = "● counted  ○ trimmed  ◆ trimmed dissent  2..9 together"
    return [*lines, cut(line((f"  {legend}", Ink.MUTED)), width)]


def _threshold_line(threshold: float, room: int, width: int) -> Content:
    """Point at the threshold from the line below, because scores may hide it on the axis."""
    at, text = round(threshold * (room - 1)), f"threshold {threshold:g}"
    if at + 4 + len(text) <= width:
        return line(" " * (at + 2), ("▲ ", Ink.STRONG), (text, Ink.MUTED))
    lead = max(0, at + 1 - len(text))
    return cut(line(" " * lead, (f"{text} ", Ink.MUTED), ("▲", Ink.STRONG)), width)
