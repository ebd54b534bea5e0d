"""The parts that every section of a page is built from: headings, tables, lists of facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewdesk.pages.htmltext import Child, Html, el, joined


def section(name: str, title: str, *children: Child) -> Html:
    """A part of the page that the contents lead to."""
    return el("section", el("h2", title, id=name), *children, aria_labelledby=name)


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Child]], class_: str | None = None
) -> Html:
    """A table; the first cell of a row names it. Columns after the first hold figures."""
    head = el("tr", *(el("th", name, scope="col") for name in heads))
    body = [
        el("tr", el("th", cells[0], scope="row"), *(el("td", cell) for cell in cells[1:]))
        for cells in rows
    ]
    made = el("table", el("caption", caption), el("thead", head), el("tbody", *body), class_=class_)
    # Focusable, so that a wide one can be scrolled by keys.
    return el("div", made, class_="wide", tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Names and what they are, a pair each."""
    return el(
        "dl",
        *(el("div", el("dt", name), el("dd", value)) for name, value in pairs if value is not None),
        class_="facts",
    )


def items(texts: Iterable[Child]) -> Html:
    """A list with a point for each."""
    return el("ul", *(el("li", text) for text in texts))


def paragraph(*children: Child, class_: str | None = None) -> Html:
    """A paragraph."""
    return el("p", *children, class_=class_)


def spread(children: Iterable[Html], between: str = " ") -> Html:
    """Pieces in a row."""
    found: list[Child] = []
    for child in children:
        found += [between, child] if found else [child]
    return joined(found)
