"""Every kind of document says the same on all four surfaces, and no more or less than it holds."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import import_module

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from reviewdesk import views
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import inline
from reviewdesk.cli.plain import document_text
from reviewdesk.domain.safetext import show
from reviewdesk.pages.html import fragment
from reviewdesk.pages.markdown import document_markdown
from reviewdesk.views import document as doc
from tests.app.paint.test_styled import WIDTHS, check
from tests.helpers import mostly_slow
from tests.views.documents import documents

WIDTH = 4000
"""Cells of a terminal in which nothing is folded or cut."""
DECORATION = str.maketrans("", "", "·:()─")
"""What a renderer may set between the texts of a document."""


def said(document: doc.Document) -> str:
    return "".join(
        text
        for section in document.every
        for part in (
            [section.title, doc.plain(section.note)],
            *(of_block(one) for one in section.blocks),
        )
        for text in part
    )


def of_block(one: doc.Block) -> list[str]:
    match one:
        case doc.Paragraph():
            return [doc.plain(one.lead), doc.plain(one.text)]
        case doc.Quote():
            return [doc.plain(one.lead), show(one.text, one.limit)]
        case doc.Facts():
            return [
                text
                for fact in one.rows
                for text in (fact.mark.text if fact.mark else "", fact.name, doc.plain(fact.text))
            ]
        case doc.Flow():
            return list(map(doc.plain, one.groups))
        case doc.Table():
            return list(of_table(one))
    assert isinstance(one, doc.Gap | doc.ReliabilityDiagram | doc.ScorePlot)
    return []


def of_table(one: doc.Table) -> Iterator[str]:
    heads = [doc.plain(one.title or one.columns[0].title)]
    heads += [doc.plain(head.title) for head in one.columns[1:]]
    rows = [
        [
            row.mark.text if row.mark else "",
            *map(doc.plain, row.cells),
            *(text for quote in row.below for text in of_block(quote)),
        ]
        for row in one.rows
    ]
    for cells in (heads, *rows):
        yield from cells


def bare(text: str) -> str:
    """A text without case, spaces, what is set between texts, and what a terminal cannot draw."""
    text = inline(text.replace("\n", " "), 1_000_000).translate(DECORATION)
    return "".join(text.split()).casefold()


def without_figures(document: doc.Document) -> doc.Document:
    """The document in one column, without the figures that a table beside them repeats."""
    return doc.Document(
        tuple(
            replace(
                section,
                blocks=tuple(
                    one
                    for one in section.blocks
                    if not isinstance(one, doc.ReliabilityDiagram | doc.ScorePlot)
                ),
            )
            for section in document.every
        )
    )


def in_terminal(document: doc.Document) -> str:
    return "\n".join(line.plain for line in document_lines(document, WIDTH))


class ShownText(HTMLParser):
    """The text of a page, without the captions, which a terminal does not show."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.captions = 0
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.captions += tag == "caption"

    def handle_endtag(self, tag: str) -> None:
        self.captions -= tag == "caption"

    def handle_data(self, data: str) -> None:
        if not self.captions:
            self.parts.append(data)


def in_html(document: doc.Document) -> str:
    return "".join(ShownText(fragment(document).partition("</style>")[2]).parts)


def in_markdown(document: doc.Document) -> str:
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(document_markdown(document)))
    assert "html_block" not in {token.type for token in tokens}
    return "".join(
        "".join(child.content for child in token.children or ()) or token.content
        for token in tokens
        if token.type in {"inline", "fence"}
    )


RENDERERS: dict[str, Callable[[doc.Document], str]] = {
    "terminal": in_terminal, "shell": document_text, "HTML": in_html, "Markdown": in_markdown,
}  # fmt: skip


def lost(document: doc.Document, renderer: str) -> str:
    """Where a renderer first says something else than the document; empty if it never does."""
    document = without_figures(document)
    wanted = bare(said(document))
    found = bare(RENDERERS[renderer](document))
    if wanted == found:
        return ""
    at = next(
        (i for i, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b),
        min(len(wanted), len(found)),
    )
    return f"wanted …{wanted[max(0, at - 40) : at + 60]}, found …{found[max(0, at - 40) : at + 60]}"


@pytest.mark.parametrize("renderer", mostly_slow(RENDERERS))
def test_a_renderer_says_all_of_every_document_and_nothing_else(renderer: str) -> None:
    found = {name: lost(made, renderer) for name, made in documents().items()}
    assert {name: text for name, text in found.items() if text} == {}


def test_every_kind_of_block_and_document_is_walked() -> None:
    blocks = {type(one) for made in documents().values() for s in made.every for one in s.blocks}
    assert blocks == set(doc.Block.__args__)
    names = [one.name for one in pkgutil.walk_packages(views.__path__, f"{views.__name__}.")]
    modules = [import_module(name) for name in names]
    made = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if value.__module__ == module.__name__
        and not name.startswith("_")
        and value.__annotations__.get("return") in {"Document", doc.Document}
    }
    assert made == {
        "calibration.calibration", "calibration.file_calibration", "overview.overview",
        "improve.candidate", "improve.improve",
        "overview.short_overview",
        "run.segments", "run.composites", "run.simulation", "jurors.bias",
        "comparison.comparison", "gates.gates", "jurors.jurors", "panel.panel", "queue.question",
        "queue.records", "calibration.reliability", "team.team",
        "run.run", "run.run_lines", "comparison.two_panels",
        "verdict.jury", "verdict.verdict", "whatif.policies", "whatif.what_if",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS[::3])
def test_no_line_of_any_document_is_too_wide_or_acts_on_the_terminal(width: int) -> None:
    for made in documents().values():
        check(document_lines(made, width), width)
