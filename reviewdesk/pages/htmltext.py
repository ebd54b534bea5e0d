"""The one door through which text becomes HTML: nothing from outside is ever markup.

``Html`` is markup that is safe already; ``el`` makes it, and every other text it is given is made
visible by ``domain/safetext`` and escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from reviewdesk.domain.safetext import show, show_line

LONGEST = 20_000
"""Characters of one text that a page shows."""
_VOID = frozenset({"link", "meta", "path", "line", "rect", "circle", "polyline"})


@dataclass(frozen=True, slots=True)
class Html:
    """Markup that may stand in a page as it is."""

    text: str


Child: TypeAlias = "Html | str | None"


def escaped(text: str) -> str:
    """A text with everything hidden made visible, as HTML shows it."""
    return html.escape(show(text, LONGEST))


def el(tag: str, *children: Child, **attributes: str | None) -> Html:
    """An element; texts among the children are escaped, ``None`` is left out.

    ``class_`` is the attribute ``class``, and an underscore inside a name is a hyphen.
    """
    said = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(show_line(value, LONGEST))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{said}>" if tag in {"link", "meta"} else f"<{tag}{said}/>")
    return Html(f"<{tag}{said}>{joined(children).text}</{tag}>")


def joined(children: Iterable[Child]) -> Html:
    """Several pieces as one."""
    return Html(
        "".join(
            child.text if isinstance(child, Html) else escaped(child)
            for child in children
            if child is not None
        )
    )


def line(text: object, limit: int = 500) -> str:
    """A text from outside on one line, cut where it is long."""
    return show_line(text if isinstance(text, str) else str(text), limit)
