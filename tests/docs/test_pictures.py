"""The pictures load nothing, and the one that moves is a session of the app as it is."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.picture import LEFT, PICTURES, STEPS, moving
from benchmarks.svg import Frame, film, still
from tests.docs.pages import DOCS, README, links

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
