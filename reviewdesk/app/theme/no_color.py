"""A filter that removes all colour, for users who set ``NO_COLOR``."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_REVERSED = Style(reverse=True)


class Colourless(LineFilter):
    """Drops every colour on its way to the terminal. Textual's own filter would send greys.

    What has a background colour is reversed instead: cursors, selections, chosen options.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colour; bold, dim, underline and reverse remain."""
        del background
        return [
            Segment(text, None if style is None else _plain(style), control)
            for text, style, control in segments
        ]


@lru_cache(1024)
def _plain(style: Style) -> Style:
    raised = style.bgcolor is not None and not style.bgcolor.is_default
    return style.without_color + _REVERSED if raised else style.without_color


NO_COLOUR = (Colourless(),)
"""The filters of a session without colour. They replace Textual's filters."""
