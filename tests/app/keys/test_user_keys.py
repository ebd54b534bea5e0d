"""The keymap: the registry's keys under those of the settings, and what it refuses."""

from pathlib import Path

import pytest

from reviewdesk.app.keys.actions import ACTIONS, EVERYWHERE, FIXED, NEEDED, Action, Keymap
from reviewdesk.errors import SettingsError
from reviewdesk.settings import Settings
from tests.app.appkit import showing, verdict


def deed(name: str, keys: str = "", where: frozenset[str] = EVERYWHERE) -> Action:
    return Action(name, "", "", keys, where)


def registry(*deeds: Action) -> dict[str, Action]:
    return {one.id: one for one in deeds}


REVIEW, RUNS = frozenset({"review"}), frozenset({"runs"})
SMALL = registry(
    deed("label.pass", "p,1", REVIEW), deed("label.fail", "f,2", REVIEW),
    deed("defer", "s", REVIEW), deed("sort", "s", RUNS), deed("undo", "u"),
    deed("shallower", "escape"), deed("help", "question_mark"), deed("screen.runs", "f3,alt+3"),
    deed("theme.desk"), deed("copy", "ctrl+c"), deed("quit", "q"), deed("quit.anywhere", "ctrl+q"),
)  # fmt: skip


def keymap(**overrides: list[str]) -> Keymap:
    return Keymap.of(SMALL, {name.replace("_", "."): keys for name, keys in overrides.items()})


def refusal(overrides: dict[str, list[str]]) -> str:
    sources = {f"keys.{name}": f"f: line {at}" for at, name in enumerate(overrides, 1)}
    with pytest.raises(SettingsError) as caught:
        Keymap.of(SMALL, overrides, sources)
    return str(caught.value)


def test_without_overrides_the_registry_holds_and_no_keys_clash() -> None:
    plain = Keymap.of(ACTIONS)
    for action in ACTIONS.values():
        assert ",".join(plain.keys(action.id)) == action.keys
    assert plain.changed() == []
    assert (plain.first("down"), plain.first("theme.desk")) == ("j", "")
    Keymap.of(ACTIONS)
    assert {*NEEDED, *FIXED} <= ACTIONS.keys()
    assert all(ACTIONS[name].keys for name in (*NEEDED, *FIXED))


def test_keys_are_given_as_people_write_them_and_an_empty_list_takes_them_away() -> None:
    found = keymap(defer=["S", "pgdn", "S"], theme_desk=["F4"])
    assert found.keys("defer") == ("S", "pagedown")
    assert (found.shown("defer"), found.first("defer")) == ("S pgdn", "S")
    assert found.changed() == ["defer", "theme.desk"]
    assert found.keys("undo") == ("u",)
    found = keymap(quit=[], defer=[])
    assert (found.keys("quit"), found.shown("quit"), found.first("defer")) == ((), "", "")
    assert found.changed() == ["defer", "quit"]


def test_the_defaults_written_out_change_nothing() -> None:
    plain = Keymap.of(ACTIONS)
    overrides = {name: plain.shown(name).split() for name in ACTIONS}
    assert Keymap.of(ACTIONS, overrides) == plain
    # Alt with a digit is bound under the character that terminals send for it as well.
    bound = plain.bound("review")
    assert bound["alt+1"] == bound["inverted_exclamation_mark"] == "screen.queue"


def test_two_actions_may_swap_keys_and_one_keeps_the_dialog_key_that_is_its_own() -> None:
    swapped = keymap(label_pass=["f"], label_fail=["p"])
    assert (swapped.keys("label.pass"), swapped.keys("label.fail")) == (("f",), ("p",))
    assert keymap(sort=["p"]).keys("sort") == ("p",)
    assert keymap(defer=["q"], quit=["Q"]).keys("defer") == ("q",)
    assert keymap(shallower=["h", "esc"]).keys("shallower") == ("h", "escape")
    assert keymap(shallower=["h"]).keys("shallower") == ("h",)
    assert keymap(copy=["ctrl+c"], quit_anywhere=["ctrl+q"]) == keymap()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"defr": ["s"]}, 'f: line 1: there is no action "defr". Did you mean defer?'),
        (
            {"x" * 99: ["s"]},
            f'f: line 1: there is no action "{"x" * 57}…". reviewdesk config --example lists ',
        ),
        (
            {"undo": ["z"], "defer": ["ctrl+i"]},
            'f: line 2: defer cannot have "ctrl+i": few terminals send such a key. Write a charac',
        ),
        ({"defer": ["S", "zz"]}, 'f: line 1: defer cannot have "zz": few terminals send such '),
        # a default stolen
        (
            {"defer": ["p"]},
            (
                "f: line 1: defer cannot have p: label.pass has it on the review screen. "
                "Choose another key, or give label.pass another one as well."
            ),
        ),
        ({"label.pass": ["s"]}, "f: line 1: label.pass cannot have s: defer has it on the review"),
        ({"sort": ["u"]}, "f: line 1: sort cannot have u: undo has it on the runs screen. "),
        # remapped as well, yet not away from it
        (
            {"label.pass": ["1", "p"], "defer": ["p"]},
            "f: line 2: defer cannot have p: label.pass is given it on the review screen. ",
        ),
        # both given another's key
        (
            {"defer": ["x"], "label.pass": ["x"]},
            "f: line 2: label.pass cannot have x: defer is given it on the review screen. ",
        ),
        ({"defer": ["£"]}, "f: line 1: defer cannot have £: screen.runs has it on the review "),
        (
            {"defer": ["ctrl+q"]},
            (
                "f: line 1: defer cannot have ctrl+q: quit.anywhere has it on the review screen. "
                "Choose another key."
            ),
        ),
        ({"defer": ["ctrl+c"]}, "f: line 1: defer cannot have ctrl+c: copy has it on the review"),
        # what must stay
        ({"label.fail": []}, "f: line 1: label.fail must have a key. Give it one."),
        ({"undo": []}, "f: line 1: undo must have a key. Give it one."),
        ({"quit.anywhere": ["ctrl+x"]}, "f: line 1: quit.anywhere stays on ctrl+q: it is the way "),
        ({"quit.anywhere": ["ctrl+q", "Q"]}, "f: line 1: quit.anywhere stays on ctrl+q: "),
        ({"copy": ["y"]}, "f: line 1: copy stays on ctrl+c: people press it to get out of a "),
        (
            {"label.pass": ["enter"]},
            "f: line 1: label.pass cannot have enter, which answers dialogs. Choose another key.",
        ),
        ({"shallower": ["h"], "undo": ["esc"]}, "f: line 2: undo cannot have esc, which answers "),
    ],
)  # fmt: skip
def test_what_is_refused(overrides: dict[str, list[str]], said: str) -> None:
    assert refusal(overrides).startswith(said)


@pytest.mark.slow
async def test_the_desk_with_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = {"label.pass": ["0"], "next": ["p", "space"], "filter": ["'"], "redo": []}
    keys = {name: tuple(given) for name, given in overrides.items()}
    found = Keymap.of(ACTIONS, overrides)
    async with showing(tmp_path, verdict(1), settings=Settings(keys=keys)) as stage:
        # The notice of the first look and the footer tell the keys that are in force.
        assert " 0 pass " in stage.drawn()
        done: list[str] = []
        monkeypatch.setattr(stage.controller, "handle", done.append)
        for action in ACTIONS.values():
            if "review" in action.where and action.id != "quit.anywhere":
                await stage.press(*found.keys(action.id))
                assert (action.id, done) == (action.id, [action.id] * len(found.keys(action.id)))
                done.clear()
        await stage.press("1", "backslash", "U", "ctrl+r")
        assert done == []
