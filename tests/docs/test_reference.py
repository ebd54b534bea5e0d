"""What docs/reference says, held against the program; links between pages lead somewhere."""

import re
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from benchmarks.reference import BLOCKS, FOLDER, SHAPES, commands, keys_table
from reviewdesk.app.keys.actions import ACTIONS, Keymap, checked
from reviewdesk.domain.assessment.result import MEANINGS, SHORT
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import ORDERS, parse_filter
from reviewdesk.settings import load_settings
from tests.docs.pages import DOCS, PAGES, README, anchors, blocks, codes, links, page_name
from tests.helpers import ROOT

COMMANDS, FILTERS, SETTINGS = (FOLDER / f"{n}.md" for n in ("commands", "filters", "settings"))


@pytest.mark.parametrize(("name", "command"), [pytest.param(n, c, id=n) for n, c in commands()])
def test_every_command_is_documented(name: str, command: click.Command) -> None:
    table = COMMANDS.read_text(encoding="utf-8").split("## Options")[0]
    short = name.removeprefix("reviewdesk ")
    assert f"`{name}" in table or f"`{short}" in table, f"{name} is not in the table"
    assert command.help, f"{name} has no help"


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    page, make = BLOCKS[name]
    text = (FOLDER / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- made: {name} -->\n(.*?)\n<!-- /made -->", text, re.DOTALL)
    assert found
    assert found.group(1) == make(), "run python benchmarks/reference.py"


def test_every_key_is_in_the_table() -> None:
    table, keymap = keys_table(), Keymap.of(ACTIONS)
    for action in ACTIONS.values():
        for key in keymap.shown(action.id).split():
            written = "<code>&#124;</code>" if key == "|" else f"`{key}`"
            assert written in table, f"{key} of {action.id}"


def test_every_flag_and_order_is_documented() -> None:
    found = codes(FILTERS)
    assert {short.rstrip("!") for short in SHORT.values()} <= {*found}
    assert {*ORDERS} <= {*found}


def documented_filters() -> list[str]:
    table = FILTERS.read_text(encoding="utf-8").split("| write | keeps |", 1)[1]
    section = table.split("`o` orders by", 1)[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return [text for row in rows for text in re.findall(r"`([^`]+)`", row)]


def test_every_documented_filter_is_understood() -> None:
    found = documented_filters()
    assert len(found) > 30
    for text in found:
        assert parse_filter(text).groups


def test_every_word_of_the_filter_language_is_documented() -> None:
    parsed = [parse_filter(text) for text in documented_filters()]
    known = {term.name for found in parsed for term in found.terms()}
    for known_words in (words.STATES, words.CHOICES, words.NAMED, words.NUMBERS, words.TEXTS):
        assert known_words.keys() <= known
    assert {*words.OPERATORS} <= {*codes(FILTERS)}


def test_the_settings_of_the_page_can_be_used(tmp_path: Path) -> None:
    (example,) = (block for block in blocks(SETTINGS) if block.language == "toml")
    file = tmp_path / "config.toml"
    file.write_text(example.text, encoding="utf-8")
    found = load_settings(environ={"REVIEWDESK_CONFIG": str(file)})
    assert found.blind
    assert checked(found).keys("defer") == ("S",)


def test_every_command_that_prints_json_has_its_shape_on_the_page() -> None:
    shown = {name for title, _ in SHAPES for name in title.split(", ")}
    printing = {
        name.removeprefix("reviewdesk ")
        for name, command in commands()
        if any("--json" in one.opts for one in command.params)
    }
    # Archive starts workers: the page says what it prints.
    assert printing - shown == {"desk archive"}
    assert {"judge", "rerun", "desk verify", "labels import", "label undo"} <= printing


def test_a_person_can_learn_the_words_of_a_filter() -> None:
    tables = (MEANINGS, words.STATES, words.PANEL, words.CHOICES, words.NAMED, words.NUMBERS)
    assert len({name for table in (*tables, words.TEXTS) for name in table}) <= 40


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
