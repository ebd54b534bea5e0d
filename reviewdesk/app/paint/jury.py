"""Painter for the jury pane: decision, flags, jurors with their reasons, and figures that fold."""

from __future__ import annotations

from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.texts.find import highlight
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.domain.panel.rerun_result import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.views import verdict


def jury_lines(
    item: Item, history: RerunHistory, key: str, reading: ReadingOptions, width: int, room: int
) -> Lines:
    """Return the whole pane; ``key`` starts a re-run.

    Reasons are cut only where the pane has no ``room`` for all lines, and never in a search.
    """
    opened = reading.open_sections
    whole = opened | {verdict.REASONS}
    lines = document_lines(verdict.jury(item, history, key, whole), width)
    if len(lines) > room and not (reading.find or verdict.REASONS in opened):
        lines = document_lines(verdict.jury(item, history, key, opened), width)
    return highlight(lines, reading.find)
