"""Turn text into Markdown in this module only: inside code spans, where no markup works.

A code span has no mentions, references, links, images, HTML or emphasis. Characters that could end
the span, or the cell of a table, are handled here.
"""

from __future__ import annotations

import re

from reviewdesk.domain.safetext import show, show_line

_TICKS = re.compile("`+")
_MARKUP = re.compile(r"[\\`*_\[\]<>|#~]")
_BULLET = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
_PIPE = re.compile(r"\\*\|")


def code(text: str, limit: int = 20_000, *, cell: bool = False) -> str:
    """Return a text from outside on one line, as a code span that may stand in a table's cell."""
    shown = show_line(text, limit)
    if not shown.strip():
        return "-"
    fence = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    if shown[0] in "` " or shown[-1] in "` ":
        shown = f" {shown} "
    return f"{fence}{_PIPE.sub(_cell_safe, shown) if cell else shown}{fence}"


def escaped(text: str) -> str:
    """Return words of our own with every sign that Markdown would read as markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", show_line(text, 20_000))


def started(text: str) -> str:
    """Return Markdown that begins a line or a point: its first sign must not make a list of it."""
    return _BULLET.sub(r"\g<1>\\\g<2>", text.strip(), count=1)


def fenced(text: str, limit: int) -> str:
    """Return a text of several lines as a block of code, inside a fence that it cannot close."""
    shown = show(text, limit)
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"


def _cell_safe(found: re.Match[str]) -> str:
    r"""Escape a pipe for a table cell; a space keeps backslashes before it from escaping ``\|``."""
    slashes = found[0][:-1]
    return f"{slashes} \\|" if slashes else "\\|"
