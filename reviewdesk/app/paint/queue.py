"""Painter for one line of the queue."""

from __future__ import annotations

from textual.content import Content

from reviewdesk.app.paint.row import row_pieces
from reviewdesk.app.paint.styled import cut, line
from reviewdesk.domain.records import QueueRow


def queue_line(
    row: QueueRow, width: int, *, current: bool, blind: bool, chosen: bool = False
) -> Content:
    """Return the line of one verdict, which may be ``chosen`` to be labelled with others."""
    pieces = row_pieces(row, width, current=current, blind=blind, chosen=chosen)
    return cut(line(*pieces), width)
