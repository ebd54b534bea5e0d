"""The site of docs/ builds without a warning, and what is built leads nowhere that is not there."""

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import DOCS
from tests.helpers import ROOT

CONFIG = ROOT / "mkdocs.yml"


class Page(HTMLParser):
    """What a built page loads, what it leads to, and the names that can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found.get("id", "")}
        if tag == "a" and "href" in found:
            self.leads.append(found["href"])
        elif tag != "a" and (target := found.get("src") or found.get("href")):
            self.loads.append(target)


def test_the_navigation_names_every_page() -> None:
    text = CONFIG.read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = [line.rpartition(": ")[2] for line in text.splitlines() if line.endswith(".md")]
    assert sorted(named) == sorted(one.relative_to(DOCS).as_posix() for one in DOCS.rglob("*.md"))


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("zensical") is None, reason="the extra docs is not installed")
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(CONFIG, tmp_path)
    done = built(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arning" not in done.stdout + done.stderr
    site = tmp_path / "site"
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > len(list(DOCS.rglob("*.md"))) - 1
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for target in (*page.leads, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                assert target in page.leads, f"{path.name} loads {target}"
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), f"{path.name}: {target}"
            assert not parts.fragment or unquote(parts.fragment) in pages[there].names, target


@pytest.mark.slow
@pytest.mark.skipif(find_spec("zensical") is None, reason="the extra docs is not installed")
def test_a_dead_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# A\n\n[x](#nowhere)\n", encoding="utf-8")
    kept = CONFIG.read_text(encoding="utf-8").partition("\nnav:\n")[0]
    (tmp_path / "mkdocs.yml").write_text(kept, encoding="utf-8")
    assert built(tmp_path).returncode != 0
