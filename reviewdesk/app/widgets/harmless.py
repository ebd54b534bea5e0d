"""A second filter against control characters, for the input fields that Textual draws."""

from __future__ import annotations

from textual.strip import Strip

from reviewdesk.domain.safetext import strip_controls


def harmless(strip: Strip) -> Strip:
    """Return a drawn line without control characters, whatever was typed or pasted."""
    clean = [segment._replace(text=strip_controls(segment.text)) for segment in strip]
    return Strip(clean, strip.cell_length)
