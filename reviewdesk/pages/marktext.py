"""The one door through which text becomes Markdown: it stands in code spans, where nothing acts.

Inside a code span there are no mentions, references, links, images, HTML or emphasis; what could
end the span, or the cell of a table, is taken care of here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reviewdesk.domain.safetext import show_line

_TICKS = re.compile("`+")
_PIPE = re.compile(r"\\*\|")


def code(text: object, limit: int = 120) -> str:
    """A text from outside on one line, as a code span that fits into a table."""
    shown = show_line(text if isinstance(text, str) else str(text), limit)
    if not shown.strip():
        return "–"
    fence = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    if shown[0] in "` " or shown[-1] in "` ":
        shown = f" {shown} "
    return f"{fence}{_PIPE.sub(_cell_safe, shown)}{fence}"


def _cell_safe(found: re.Match[str]) -> str:
    r"""A pipe as a table's cell takes it; a backslash before it would take part in that."""
    slashes = found[0][:-1]
    return f"{slashes} \\|" if slashes else "\\|"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the cells are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
