"""The HTML blocks that sections are built from: headings, tables, lists of facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewdesk.pages.htmltext import Child, Html, el, joined


def section(name: str, title: str, *children: Child) -> Html:
    """Return a section with a heading that the table of contents links to."""
    return el("section", el("h2", title, id=name), *children, aria_labelledby=name)


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Child]], class_: str | None = None
) -> Html:
    """Return a table; the first cell of a row is its header, and later columns hold figures."""
    head = el("tr", *(el("th", name, scope="col") for name in heads))
    body = [
        el("tr", el("th", cells[0], scope="row"), *(el("td", cell) for cell in cells[1:]))
        for cells in rows
    ]
    grid = el("table", el("caption", caption), el("thead", head), el("tbody", *body), class_=class_)
    # Focusable, so that a wide table can be scrolled with the keyboard.
    return el("div", grid, class_="wide", tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Return a list of names with their values, without those whose value is ``None``."""
    return el(
        "dl",
        *(el("div", el("dt", name), el("dd", value)) for name, value in pairs if value is not None),
        class_="facts",
    )


def items(texts: Iterable[Child]) -> Html:
    """Return a bulleted list with one point for each text."""
    return el("ul", *(el("li", text) for text in texts))


def paragraph(*children: Child, class_: str | None = None) -> Html:
    """Return a paragraph."""
    return el("p", *children, class_=class_)


def spread(children: Iterable[Html], between: str = " ") -> Html:
    """Return pieces in a row, with ``between`` from one to the next."""
    found: list[Child] = []
    for child in children:
        found += [between, child] if found else [child]
    return joined(found)
