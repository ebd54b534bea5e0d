"""An HTML page taken apart: its elements, what they say, and whether all of it is inert."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "rect", "line", "circle", "path", "polyline"}
PLAIN = {"class", "id", "role", "tabindex", "aria-label", "aria-labelledby", "dir"}
BARE = {
    "head", "title", "style", "body", "header", "main", "footer", "nav", "section", "h1",
    "h2", "h3", "h4", "h5", "p", "ul", "li", "dl", "dt", "dd", "div", "span", "bdi", "pre",
    "details", "summary", "figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "td",
}  # fmt: skip
"""Elements that take none but the plain attributes."""
ALLOWED: dict[str, set[str]] = {
    "html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"}, "link": {"rel", "href"},
    "a": {"href"}, "th": {"scope"}, "td": {"colspan"}, "svg": {"viewbox"},
    "text": {"x", "y", "text-anchor", "transform"}, "line": {"x1", "y1", "x2", "y2"},
    "rect": {"x", "y", "width", "height"}, "circle": {"cx", "cy", "r"}, "path": {"d"},
    "polyline": {"points"},
}  # fmt: skip


@dataclass
class Page(HTMLParser):
    """The elements of a page in order, each with its attributes, and the text between them."""

    source: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def faults(page: Page) -> list[str]:
    """What of a page could act, fetch or lead away; nothing may."""
    found = [f"not an element: {other[:40]}" for other in page.others]
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    found += ["an id twice"] * (len(ids) != len(set(ids)))
    for tag, attrs in page.elements:
        if tag not in ALLOWED.keys() | BARE:
            found.append(f"<{tag}>")
            continue
        found += [f"<{tag} {name}>" for name in attrs.keys() - ALLOWED.get(tag, set()) - PLAIN]
        target = attrs.get("href")
        if target is not None and target != "data:," and target.removeprefix("#") not in ids:
            found.append(f"leads to {target[:40]}")
    style = re.search("<style>(.*?)</style>", page.source, re.DOTALL)
    assert style is not None
    found += [word for word in ("url(", "@import", "expression", "http") if word in style[1]]
    return found
