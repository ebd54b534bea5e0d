"""The jury pane where room is short; every theme can be read: its inks on its surfaces."""

from pathlib import Path

import pytest
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from reviewdesk.app.controllers.state import ReadingOptions
from reviewdesk.app.paint.document import block_lines
from reviewdesk.app.paint.inks import (
    COLOURLESS,
    DEFAULTS,
    DESK,
    DESK_LIGHT,
    HIGH_CONTRAST,
    fallback,
    ink_styles,
)
from reviewdesk.app.paint.item import jury_lines
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.views.document import Tone, table
from reviewdesk.views.verdict import FIGURES, REASONS
from tests.app.appkit import SMALL, showing
from tests.app.builders import item_of, juror

LONG = "so many words " * 60 + "and an end"


@pytest.fixture
def item(tmp_path: Path) -> Item:
    jurors = [juror("a", 0.9, reason=LONG), juror("b", 0.8), juror("c", 0.1, reason=LONG)]
    return item_of(tmp_path, jurors=jurors)


def drawn(item: Item, room: int, width: int = 79, **reading: object) -> str:
    options = ReadingOptions(**reading)  # type: ignore[arg-type]
    lines = jury_lines(item, RerunHistory(), {"rerun": "R"}, options, room, width)
    assert all(line.cell_length <= width for line in lines)
    return "\n".join(line.plain for line in lines)


def test_reasons_are_whole_where_the_pane_has_room_or_a_key_shows_them(item: Item) -> None:
    assert drawn(item, 100).count("and an end") == 2
    cut = drawn(item, 18)
    assert "and an end" not in cut
    # 854 characters are twelve lines of 75: of the dissent's three stay, of the other's one.
    rows = cut.splitlines()
    first, second = (next(i for i, row in enumerate(rows) if row[2:4] == f"{x} ") for x in "ca")
    assert second - first == 4
    assert [row.rstrip().endswith("…") for row in rows[first + 1 : second + 2]] == [
        False, False, True, False, True,
    ]  # fmt: skip
    assert drawn(item, 18, open_sections=frozenset({REASONS})).count("and an end") == 2
    assert drawn(item, 18, find=("end",)).count("and an end") == 2
    for name in FIGURES:
        opened = drawn(item, 100, open_sections=frozenset({name}))
        assert f"▿ {name.upper()}" in opened
        assert opened.count("▹") == 2


def test_a_reason_is_cut_only_where_no_row_is_free_and_a_dissent_last(item: Item) -> None:
    whole = len(drawn(item, 100).splitlines())
    least = len(drawn(item, 1).splitlines())
    for room in range(least, whole):
        rows = drawn(item, room).splitlines()
        # Twelve lines for each of two reasons: the dissent, c, takes all it needs before a does.
        ends = [at for at, row in enumerate(rows) if row.endswith("and an end")]
        other = next(at for at, row in enumerate(rows) if row.startswith("  a "))
        assert not ends or ends[0] < other
        assert len(rows) == room or len(ends) == 2
    # Rows that no reason needs go to the reasons of flags.
    flagged = drawn(item, whole - 1).splitlines()
    assert not any(row.endswith("…") for row in flagged)
    # Whole reasons and the flags in full need more rows than that.
    assert drawn(item, whole).count("and an end") == 2


def test_names_of_jurors_differ_however_they_are_cut(tmp_path: Path) -> None:
    names = [f"{who}-with-a-long-name/{way}" for who in ("gpt-4", "gpt-5") for way in ("a", "b")]
    jurors = [juror(f"{name}/swap=no", 0.9) for name in names]
    found = item_of(tmp_path, jurors=jurors)
    for width in (160, 79, 39, 32):
        # Where rows are free a name is whole, above its row where the table is narrow.
        whole = drawn(found, 100, width)
        assert width < 39 or all(f"{name}\n" in whole or f"{name} " in whole for name in names)
        rows = drawn(found, 1, width).splitlines()
        at = next(at for at, row in enumerate(rows) if row.lstrip().startswith("juror "))
        shown = [row[2:].split("  ")[0] for row in rows[at + 1 :] if "0.900" in row]
        assert len(set(shown)) == 4
    # So do names in any other table, whose end is cut unless they would be equal.
    rates = table(("juror", "votes"), [(f"one-long-beginning/{end}", "9") for end in "abc"])
    assert len({line.plain for line in block_lines(rates, 17)[1:]}) == 3


def test_flags_are_whole_and_name_jurors_in_short(tmp_path: Path) -> None:
    jurors = [juror(f"{name}/cot", 0.9) for name in ("gpt-4", "gpt-4o")]
    jurors.append(juror("a/cot", 0.1, reason=LONG))
    said = "a long reason " * 4
    flagged = {"escalate_for_review": True, "escalation_reasons": [said]}
    found = item_of(tmp_path, jurors=jurors, **flagged)
    whole = " ".join(drawn(found, 100, 41).split())
    assert "the decision turns if any one of gpt-4, gpt-4o turns" in whole
    # Also where no row is free, behind the name of the flag.
    assert f"◆ escalated {said.strip()}" in " ".join(drawn(found, 1, 41).split())


@pytest.mark.parametrize("width", [1, 12, 40])
def test_no_line_is_wider_than_the_pane(item: Item, width: int) -> None:
    assert drawn(item, 18, width)


LEAST = {"desk": 4.5, "desk-light": 4.5, "high-contrast": 7.0}


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours by WCAG 2, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def variables(theme: Theme) -> dict[str, str]:
    return DEFAULTS | theme.to_color_system().generate() | theme.variables


def colours(theme: Theme) -> dict[str, Color]:
    """Every ink as the painters get it, the plain text among them."""
    known = variables(theme)
    inks = ink_styles(known, ansi=theme.ansi)
    found = {name: style.foreground for name, style in inks.items() if style.foreground}
    assert set(found) == {ink.value for ink in Tone} - {""}
    return found | {"": Color.parse(known["foreground"])}


def folded(colour: Color) -> Color:
    return Color(*colour.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())


def test_contrast_is_that_of_wcag() -> None:
    # Black on white is the largest there is; #777777 is the grey that just misses 4.5 on white.
    for one, ratio in (("#000000", 21.0), ("#ffffff", 1.0), ("#777777", 4.48)):
        assert contrast(Color.parse(one), Color.parse("#ffffff")) == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize("theme", [DESK, DESK_LIGHT, HIGH_CONTRAST], ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", ["background", "surface", "panel", "desk-bar", "desk-cursor"])
def test_every_ink_reads_on_every_surface(theme: Theme, ground: str) -> None:
    under = Color.parse(variables(theme)[ground])
    for name, ink in colours(theme).items():
        least = 1.5 if name == Tone.RULE else LEAST[theme.name]
        assert contrast(ink, under) >= least, (name, contrast(ink, under))
        assert contrast(folded(ink), folded(under)) >= least, (name, "256 colours")


def test_without_colour_inks_are_the_terminals_own_and_sixteen_get_a_theme_that_fits() -> None:
    assert all(colour.ansi is not None for colour in colours(COLOURLESS).values())
    assert ink_styles(variables(COLOURLESS), ansi=True)[Tone.MUTED].dim
    assert fallback("standard") == "high-contrast"
    assert fallback("256") == fallback("truecolor") == fallback(None) == "desk"


@pytest.mark.parametrize("name", ["high-contrast", "no-color"])
async def test_the_cursor_line_is_reversed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        monkeypatch.setenv("REVIEWDESK_THEME", name)
    async with showing(tmp_path, size=SMALL) as stage:
        await stage.press("escape")
        rows = [[segment for segment in row if segment.text.strip()] for row in stage.strips()]
        lines = [row for row in rows if "item/00" in "".join(part.text for part in row)]
        reversed_ = [[bool(part.style and part.style.reverse) for part in row] for row in lines]
        assert "▸" in lines[0][0].text
        assert all(reversed_[0])
        assert not any(reversed_[1])
