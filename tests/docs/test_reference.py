"""What docs/reference says, held against the program; links lead somewhere, pictures load none."""

import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import click
import pytest

from benchmarks.picture import LEFT, PICTURES, STEPS, moving
from benchmarks.reference import BLOCKS, FOLDER, SHAPES, commands, keys_table
from benchmarks.svg import Frame, film, still
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


def test_every_page_of_the_docs_is_in_a_list_that_the_readme_leads_to() -> None:
    listed = {
        (DOCS / target).resolve() for target in links(DOCS / "README.md") if target.endswith(".md")
    }
    assert listed == {*DOCS.rglob("*.md")} - {DOCS / "README.md"}
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


SVG = "{http://www.w3.org/2000/svg}"
SHOT = """
.terminal-1-r1 { fill: #f4f6f8;font-weight: bold }
<rect fill="#1e2127" x="0" y="25.9" width="24.4" height="24.65"/>
<rect fill="#1e2127" x="24.4" y="25.9" width="12.2" height="24.65"/>
<rect fill="#1e2127" x="61" y="25.9" width="12.2" height="24.65"/>
<text class="terminal-1-r1" x="12.2" y="44.4" textLength="24.4" id="a">&lt;&#160;</text>
<text class="terminal-1-r1" x="0" y="68.8" textLength="12.2" id="b">&#160;</text>
"""


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)  # noqa: S314 - a picture of our own


def texts(frame: ET.Element, lines: dict[str, ET.Element]) -> str:
    """Return the lines that a frame uses, as they are read."""
    used = [lines[use.get("href", "")[1:]] for use in frame.iter(f"{SVG}use")]
    rows = ["".join(part.text or "" for part in line.iter(f"{SVG}text")) for line in used]
    return "\n".join(rows).replace("\xa0", " ")


def test_a_line_is_drawn_once_in_cells_of_ten_by_twenty() -> None:
    root = parsed(still(SHOT, (10, 4)))
    (line,) = root.iter(f"{SVG}defs")
    (group,) = line
    # Row 1: the two areas that touch are one of 3 cells, the third is the sixth cell. Blanks are
    # left out.
    assert [one.get("d") for one in group.iter(f"{SVG}path")] == [
        "M0 0H30v20H0z", "M50 0H60v20H50z",
    ]  # fmt: skip
    (text,) = group.iter(f"{SVG}text")
    assert (text.get("x"), text.get("textLength"), text.text) == ("10", "20", "<\xa0")
    assert [use.get("y") for use in root.iter(f"{SVG}use")] == ["20"]


def test_a_film_shows_each_frame_for_its_seconds_and_uses_lines_again() -> None:
    picture = film([Frame(SHOT, "", "a", 1), Frame(SHOT, "enter", "b & c", 3)], (10, 4))
    assert "animation:play 4s step-end infinite" in picture
    # 4 rows of 20 and a caption of 34 make a frame of 114; the second begins after 1 of 4 s.
    assert "0.00%{transform:translateY(0px)}25.00%{transform:translateY(-114px)}" in picture
    assert "prefers-reduced-motion" in picture
    assert picture.count("<g id=") == 1
    assert picture.count('href="#l0"') == 2


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_loads_nothing_and_is_small(name: str) -> None:
    text = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    root = parsed(text)
    assert not {"script", "image", "foreignObject"} & {
        one.tag.removeprefix(SVG) for one in root.iter()
    }
    assert text.count("http") == 1  # the name of the language itself
    assert not re.search(r"url\(|@import|@font-face", text)
    assert len(text) < 100_000


def test_the_pages_show_every_picture_and_the_readme_begins_with_the_one_that_moves() -> None:
    shown = [one for page in (README, *DOCS.rglob("*.md")) for one in links(page) if ".svg" in one]
    assert {Path(one).name for one in shown} == set(PICTURES)
    assert Path(shown[0]).name == "session.svg"


@pytest.mark.slow
async def test_the_session_goes_as_its_captions_say(tmp_path: Path) -> None:
    root = parsed(await moving(tmp_path))
    lines = {line.get("id", ""): line for defs in root.iter(f"{SVG}defs") for line in defs}
    strip = next(one for one in root.iter(f"{SVG}g") if one.get("class") == "strip")
    read, jury, first, second, done, figures = (texts(frame, lines) for frame in strip)
    assert len(STEPS) == 6
    assert LEFT[0] in read
    assert "27 of 30 done" in read
    assert "RESPONSE" in read
    assert all(said in jury for said in ("trimmed low", "DISSENT", "hill station"))
    assert f"saved ✓ fail {LEFT[0]}" in first
    assert f"saved ✓ pass {LEFT[1]}" in second
    # The figures of the first frame may still be on their way.
    moved = {next(row for row in one.split("\n") if " labels · " in row) for one in (first, second)}
    assert len(moved) == 2
    assert "Everything in this queue is decided." in done
    assert "May this judge decide alone?" in figures
