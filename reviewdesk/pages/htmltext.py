"""Turn text into HTML in this module only, so that no text from outside is ever markup.

``Html`` holds safe markup. ``el`` makes it: hidden characters of any other text become visible
through ``domain/safetext``, and the text is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from reviewdesk.domain.safetext import show, show_line

LONGEST = 20_000
"""The most characters of one text that a page shows."""
_VOID = frozenset({"link", "meta", "path", "line", "rect", "circle", "polyline"})


@dataclass(frozen=True, slots=True)
class Html:
    """Markup that is safe to put into a page."""

    text: str


Child: TypeAlias = "Html | str | None"


def escaped(text: str) -> str:
    """Return a text as HTML, with hidden characters made visible and long texts cut."""
    return html.escape(show(text, LONGEST))


def el(tag: str, *children: Child, **attributes: str | None) -> Html:
    """Return an element; texts among the children are escaped, and ``None`` is left out.

    ``class_`` sets the attribute ``class``; an underscore inside a name becomes a hyphen.
    """
    attrs = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(show_line(value, LONGEST))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{attrs}>" if tag in {"link", "meta"} else f"<{tag}{attrs}/>")
    return Html(f"<{tag}{attrs}>{joined(children).text}</{tag}>")


def joined(children: Iterable[Child]) -> Html:
    """Join several pieces into one; texts are escaped, and ``None`` is left out."""
    return Html(
        "".join(
            child.text if isinstance(child, Html) else escaped(child)
            for child in children
            if child is not None
        )
    )


def line(text: object, limit: int = 500) -> str:
    """Return a text from outside on one line, cut to ``limit`` characters."""
    return show_line(text if isinstance(text, str) else str(text), limit)
