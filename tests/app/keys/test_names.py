"""Names of keys: what people write, what Textual calls it, and what terminals send."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from reviewdesk.app.app import Bursts
from reviewdesk.app.keys.actions import (
    _PLAIN,
    ACTIONS,
    _signs,
    key_of,
    real_key,
    shown_key,
    spellings,
)

MODIFIERS = ("", "shift+", "ctrl+", "alt+", "alt+shift+", "ctrl+shift+", "alt+ctrl+",
             "alt+ctrl+shift+", "super+", "shift+alt+")  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def arrived(sequence: str) -> list[str]:
    """Textual's names of the keys in what a terminal sends, which then ends."""
    parser = XTermParser()
    said = [event for data in (sequence, "") for event in parser.feed(data)]
    return [event.key for event in said if isinstance(event, events.Key)]


def sequences() -> Iterator[str]:
    """What xterm sends: characters, control codes, both with alt, and keys with modifiers."""
    yield from (chr(code) for code in [*range(0x80), *range(0xA1, 0x100)])
    yield from (f"\x1b{chr(code)}" for code in range(1, 0x80))
    yield "\x1b[Z"
    yield from (f"\x1bO{end}" for end in "PQRS")
    yield from (f"\x1b[{end}" for end in "ABCDHF")
    for number in (2, 3, 5, 6, 15, 17, 18, 19, 20, 21, 23, 24):
        yield f"\x1b[{number}~"
        yield from (f"\x1b[{number};{modifier}~" for modifier in range(2, 9))
    for modifier in range(2, 9):
        yield from (f"\x1b[1;{modifier}{end}" for end in "ABCDHFPQRS")


SENT = {keys[0] for keys in map(arrived, sequences()) if len(keys) == 1}
REFUSED = {
    "ctrl+j",  # a line break, also from a paste
    "ctrl+circumflex_accent", "ctrl+underscore",  # several keys send them, others elsewhere
    "alt+shift+o",  # how the function keys begin
    "soft_hyphen",  # cannot be seen
}  # fmt: skip
NEWER = {"ctrl+space": "\x00", **{f"alt+{digit}": f"\x1b{digit}" for digit in "0123456789"}}


def test_a_key_is_real_if_a_terminal_sends_it() -> None:
    names = {*_PLAIN, *LETTERS, *LETTERS.upper(), *"0123456789", *_signs(), "caps_lock", "f13"}
    every = {modifier + name for modifier in MODIFIERS for name in names} | SENT
    # Signs beyond Latin-1 are on keyboards that the sequences above do not know.
    beyond = {name for name, sign in _signs().items() if sign > "\xff"}
    other_runs = {spellings(name)[-1] for name in NEWER}
    expected = (SENT - REFUSED - (other_runs - {*_signs(), "ª", "º"})) | beyond | set(NEWER)
    assert {name for name in every if real_key(name)} == expected


def test_the_other_names_of_a_key_are_what_older_terminals_send() -> None:
    assert {name: spellings(name) for name in NEWER} == {
        name: (name, *arrived(sequence)) for name, sequence in NEWER.items()
    }
    # The newer protocol: code, then 1 and the modifiers: 2 is alt, 4 is ctrl.
    assert arrived("\x1b[49;3u") == ["alt+1"]
    assert arrived("\x1b[32;5u") == ["ctrl+space"]
    assert spellings("ctrl+r") == ("ctrl+r",)


def test_every_character_has_the_name_that_textual_gives_it() -> None:
    for name, sign in _signs().items():
        assert arrived(sign) == [name] == [key_of(sign)]
        assert shown_key(name) == sign
    for char in "aZ0éßж漢":
        assert arrived(char) == [char] == [key_of(char)]


def test_the_registry_has_real_keys_only_and_shows_them_as_people_write_them() -> None:
    for action in ACTIONS.values():
        keys = [key for key in action.keys.split(",") if key]
        assert all(real_key(key) for key in keys), action.id
        assert [key_of(shown_key(key)) for key in keys] == keys


@pytest.mark.parametrize(
    ("written", "name", "shown"),
    [
        ("?", "question_mark", "?"),
        ("question_mark", "question_mark", "?"),
        ("\\", "backslash", "\\"), ("/", "slash", "/"), (",", "comma", ","), ("+", "plus", "+"),
        ("-", "minus", "-"), (" ", "space", "space"), ("Space", "space", "space"),
        ("pgdn", "pagedown", "pgdn"),
        ("PageDown", "pagedown", "pgdn"),
        ("esc", "escape", "esc"), ("return", "enter", "enter"), ("del", "delete", "del"),
        ("↓", "down", "↓"), ("down", "down", "↓"), ("F4", "f4", "f4"), ("f", "f", "f"),
        ("G", "G", "G"), ("shift+g", "G", "G"),
        ("Shift+Tab", "shift+tab", "shift+tab"),
        ("ctrl+R", "ctrl+r", "ctrl+r"),
        ("Control+p", "ctrl+p", "ctrl+p"),
        ("ctrl+\\", "ctrl+backslash", "ctrl+\\"),
        ("ctrl+]", "ctrl+right_square_bracket", "ctrl+]"),
        ("alt+1", "alt+1", "alt+1"),
        ("alt+G", "alt+shift+g", "alt+shift+g"),
        ("shift+ctrl+up", "ctrl+shift+up", "ctrl+shift+↑"),
        ("ctrl+alt+pgup", "alt+ctrl+pageup", "ctrl+alt+pgup"),
        ("«", "left_pointing_double_angle_quotation_mark", "«"),
    ],
)  # fmt: skip
def test_a_key_as_people_write_it(written: str, name: str, shown: str) -> None:
    assert key_of(written) == name
    assert shown_key(name) == shown
    assert key_of(shown) == name


def test_a_key_that_is_not_ours_is_shown_all_the_same() -> None:
    assert shown_key("alt+super+k") == "alt+super+k"
    assert shown_key("<none>") == "<none>"


@pytest.mark.parametrize(
    "written",
    [
        "ctrl+i", "Ctrl+M", "ctrl+j", "ctrl+h", "ctrl+[", "alt+f", "alt+b", "ctrl+shift+r",
        "ctrl+1", "ctrl+enter", "shift+f3", "super+k", "alt+?", "ctrl++", "a+", "shift+5", "p,1",
        "pagedwn", "<none>", "", "pp", "\t", "\x1b", "\u200b", "\u3164", "e\u0301",
    ],
)  # fmt: skip
def test_what_is_not_a_key(written: str) -> None:
    assert key_of(written) is None


def press(bursts: Bursts, name: str, at: float) -> list[str]:
    """Press a key; label keys wait, and names of one letter are printable."""
    key = events.Key(name, name if len(name) == 1 else None)
    return [one.key for one, _ in bursts.press(key, at, waits=name in "pfi")]


def due(bursts: Bursts, now: float) -> list[str]:
    return [key.key for key, _ in bursts.due(now)]


def acting(times: list[tuple[str, float]], end: float = 10.0) -> list[str]:
    """Return the keys that act, in order, once all were pressed and nothing follows."""
    bursts = Bursts()
    acted = [one for name, at in times for one in press(bursts, name, at)]
    return acted + due(bursts, end)


def test_a_label_key_waits_25_ms_and_one_that_moves_does_not() -> None:
    bursts = Bursts()
    assert press(bursts, "p", 1.0) == []
    assert bursts.rest(1.0) == pytest.approx(0.025)
    assert bursts.due(1.0249) == []
    assert due(bursts, 1.0251) == ["p"]
    assert bursts.rest(1.03) is None
    bursts = Bursts()
    assert press(bursts, "j", 1.0) == ["j"]
    assert bursts.rest(1.0) is None


def test_keys_act_in_the_order_in_which_they_were_pressed() -> None:
    # Had j acted at once, p would label the item that it moves to.
    assert acting([("p", 1.0), ("j", 1.01)]) == ["p", "j"]
    assert acting([("p", 1.0), ("j", 1.01), ("f", 1.3)]) == ["p", "j", "f"]


@pytest.mark.parametrize("apart", [0.0, 0.001, 0.025])
def test_four_printable_keys_close_together_do_nothing(apart: float) -> None:
    assert acting([(name, 1 + place * apart) for place, name in enumerate("pfip")]) == []
    assert acting([(name, 1 + place * apart) for place, name in enumerate("pass fail")]) == []


def test_which_keys_are_a_hands_and_which_a_burst() -> None:
    assert acting([(name, 1.0) for name in "pfi"]) == ["p", "f", "i"]
    assert acting([(name, 1 + place * 0.026) for place, name in enumerate("pfip")]) == [*"pfip"]
    keys = [*"pass", "enter", *"fail", "enter", "escape", "p"]
    assert acting([(name, 1.0) for name in keys]) == []
    assert acting([("p", 1.0 + place * 0.015) for place in range(20)]) == []
    # The parts of a long paste over a slow line are further apart than its keys.
    times = [*((name, 1.0) for name in "xyzx"), ("p", 1.1), ("f", 1.2), ("i", 1.34)]
    assert [one for one in acting(times) if one in "pfi"] == []
    assert acting([*times, ("p", 1.6)])[-1] == "p"


def test_a_key_that_is_held_down_and_only_moves_is_no_burst() -> None:
    # 60 repeats a second, as some keyboards are set.
    times = [("j", 1 + place / 60) for place in range(40)]
    assert all(later[1] - at[1] < 0.025 for at, later in pairwise(times))
    assert acting(times) == ["j"] * 40
    # A label key that follows within a burst's time waits, and does not act.
    assert acting([*times, ("p", times[-1][1] + 0.01)]) == ["j"] * 40


def test_keys_that_the_app_handles_late_are_no_burst() -> None:
    # Read a fifth of a second apart, and all handled a second later: each acts when the next one
    # shows that nothing followed it within 25 ms.
    bursts = Bursts()
    acted = []
    for place, name in enumerate("pfip"):
        acted += press(bursts, name, 1 + place * 0.2)
    assert acted == ["p", "f", "i"]
    assert due(bursts, 2.6) == ["p"]
