"""Links between pages lead somewhere; what lies outside the repository is not asked."""

from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import DOCS, PAGES, README, anchors, links, page_name
from tests.helpers import ROOT


def dead(page: Path) -> list[str]:
    """Return the links of a page whose file or heading is not there."""
    found = []
    for target in links(page):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = unquote(target).partition("#")
        file = (page.parent / path).resolve() if path else page
        # A folder is shown by its README, and nothing outside the repository is published with it.
        inside = file.exists() and (not page.is_relative_to(ROOT) or file.is_relative_to(ROOT))
        if not inside or (anchor and (file.suffix != ".md" or anchor not in anchors(file))):
            found.append(target)
    return found


@pytest.mark.parametrize("page", [pytest.param(page, id=page_name(page)) for page in PAGES])
def test_no_link_is_dead(page: Path) -> None:
    assert dead(page) == []


def test_every_page_of_the_docs_is_listed() -> None:
    listed = {
        (DOCS / target).resolve() for target in links(DOCS / "README.md") if target.endswith(".md")
    }
    assert listed == {*DOCS.rglob("*.md")} - {DOCS / "README.md"}


def test_the_readme_leads_to_the_list_of_pages() -> None:
    assert "docs/README.md" in links(README)


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# What `it` is\n\n## A, b\n\n## A, b\n", encoding="utf-8")
    page.write_text(
        "# Top\n[a](other.md) [b](other.md#a-b) [c](other.md#a-b-1) [d](#top)"
        " [e](other.md#what-it-is)\n"
        "[f](gone.md) [g](other.md#gone) [h](#gone) ![i](gone.svg) [j](other.md#a-b-2) `[k](no)`\n"
        "\n```\n[l](no)\n```\n| [m](gone/m.md) |\n|---|\n| [n](https://example.org/n) |\n",
        encoding="utf-8",
    )
    assert dead(page) == [
        "gone.md", "other.md#gone", "#gone", "gone.svg", "other.md#a-b-2", "gone/m.md",
    ]  # fmt: skip
