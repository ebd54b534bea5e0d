"""One registry: bindings, footer, palette, help and the command line say the same."""

import contextlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import OptionList

from reviewdesk.app.controllers import review as screens
from reviewdesk.app.keys.actions import ACTIONS, ROWS, rows
from reviewdesk.app.keys.commands import (
    COMMANDS,
    among,
    complete_command,
    files,
    last_of_list,
    matching,
    panel_files,
    parse_command,
)
from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.domain.query.filter import Option
from reviewdesk.errors import UsageError
from tests.app.appkit import SMALL, Stage, showing, verdict

SCREENS = ("review", "calibration", "runs")


def there(name: str) -> set[str]:
    return {a.id for a in ACTIONS.values() if a.keys and name in a.where}


def test_actions_have_a_screen_a_row_of_one_group_and_a_title_of_their_own() -> None:
    for action in ACTIONS.values():
        assert action.where
        assert action.where <= set(SCREENS)
    with_keys = [action for action in ACTIONS.values() if action.keys]
    assert sum(map(len, rows(with_keys).values())) <= 50
    for names in ROWS.values():
        assert len({ACTIONS[name].group for name in names}) == 1
    twice = [title for title, n in Counter(a.title for a in ACTIONS.values()).items() if n > 1]
    assert twice == []


async def on(stage: Stage, name: str) -> ReviewScreen:
    stage.app.act(lambda: screens.go(stage.controller, name))
    await stage.settle()
    return stage.app.review


@pytest.mark.slow
async def test_help_lists_exactly_the_active_bindings(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1), size=SMALL) as stage:
        for name in SCREENS:
            screen = await on(stage, name)
            assert {*screen.bound.values()} == there(name)
            await stage.press("question_mark")
            helped = stage.app.screen
            assert isinstance(helped, PageDialog)
            keys, shown = stage.app.keymap.first, stage.app.keymap.shown
            expected = [
                (" ".join(keys(one.id) for one in row) if row[1:] else shown(row[0].id), title)
                for members in rows(
                    one for one in ACTIONS.values() if one.id in there(name)
                ).values()
                for title, row in members.items()
            ]
            choices = [one for one in helped._page.choices if not one.head]
            assert [one.text for one in choices] == [
                f"  {key:<12} {text}" for key, text in expected
            ]
            await stage.press("escape")
            assert stage.app.screen is screen


@pytest.mark.slow
async def test_help_does_the_highlighted_action_and_never_a_label_at_once(tmp_path: Path) -> None:
    async with showing(tmp_path) as stage:
        for name in ("jury.whole", "label.fail"):
            await stage.press("question_mark")
            options = stage.app.screen.query_one(OptionList)
            options.highlighted = options.get_option_index(name)
            await stage.press("enter")
        assert stage.controller.reading.open_sections
        # A label that is chosen from a list asks first.
        assert "Question" in stage.drawn()
        await stage.press("escape", "question_mark")
        options = stage.app.screen.query_one(OptionList)
        options.highlighted = options.get_option_index("label.fail")
        await stage.press("enter")
        assert "Question" in stage.drawn()
        await stage.press("enter")
        assert stage.session.progress.labelled == 0
        stage.app.act(lambda: stage.controller.do("label.fail"))
        await stage.press("y")
        assert [row.label for row in stage.desk.rows(stage.session.keys)] == ["fail", None]


@pytest.mark.slow
async def test_every_key_does_its_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    async with showing(tmp_path) as stage:
        monkeypatch.setattr(stage.controller, "handle", done.append)
        for name in SCREENS:
            await on(stage, name)
            for action in there(name) - {"quit.anywhere"}:
                keys = ACTIONS[action].keys.split(",")
                for key in keys:
                    await stage.pilot.press(key)
                assert done == [action] * len(keys)
                done.clear()


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("note", "note"), ("NOT", "note"), ("label fail", "label.fail"),
        ("fail label", "label.fail"), ("just tag", "tags.labelled"), ("order", "order"),
        ("theme", "theme"),
    ],
)  # fmt: skip
def test_the_palette_finds_words_in_any_order(typed: str, first: str) -> None:
    assert matching(typed, ACTIONS.values())[0].id == first
    # A fuzzy search would find "Label fail, go on".
    assert matching("lblfl", ACTIONS.values()) == []


@pytest.mark.slow
async def test_every_action_is_in_the_palette(tmp_path: Path) -> None:
    async with showing(tmp_path) as stage:
        for action in ACTIONS.values():
            assert matching(action.title, ACTIONS.values())[0] == action
        await stage.press("ctrl+p", *"calibr", "enter")
        assert stage.controller.where == "calibration"
        await stage.press("ctrl+p", *"no such", "enter")
        assert "no action has these words" in stage.drawn()


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("42", ("go", "42")),
        (":42", ("go", "42")),
        ("go item/001", ("go", "item/001")),
        ("  filter  esc label:none ", ("filter", "esc label:none")),
        ("filter", ("filter", "")),
    ],
)
def test_a_line_is_taken_apart(text: str, typed: tuple[str, str]) -> None:
    assert parse_command(text) == typed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no command was typed"),
        ("fliter esc", "filter"),
        ("go", "go needs ROW|ID"),
        ("runs now", "takes nothing after it"),
        ("label.pass", "no command 'label.pass'"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("|", r"\|")):
        parse_command(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_command(text)[0] in COMMANDS


def test_names_arguments_and_the_last_of_several_words_are_completed() -> None:
    found = complete_command("ru", 2, {})
    names = [option.text for option in found.options]
    assert names[0] == "runs"
    assert "run" in names
    assert (found.start, found.end) == (0, 2)
    completers = {"theme": among(lambda: [Option("desk"), Option("desk-light")])}
    found = complete_command("theme l", 7, completers)
    # "l" is only inside of desk-light; it stands for the "l" at column 6.
    assert [option.text for option in found.options] == ["desk-light"]
    assert (found.start, found.end) == (6, 7)
    assert complete_command("runs x", 6, completers).options == ()
    complete = last_of_list(lambda: ["tone", "too-long", "wrong-policy"])
    found = complete("wrong-policy, to", 16)
    assert [option.text for option in found.options] == ["tone", "too-long"]
    assert (found.start, found.end) == (14, 16)
    assert "wrong-policy" not in {o.text for o in complete("wrong-policy, ", 14).options}


def test_files_complete(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / ".hidden").write_text("")
    typed = f"{tmp_path}/ru"
    assert {o.text for o in files(typed, len(typed)).options} == {
        f"{tmp_path}/run.json",
        f"{tmp_path}/runs/",
    }
    assert not any("hidden" in o.text for o in files(f"{tmp_path}/", len(f"{tmp_path}/")).options)
    assert files("/no/such/folder/x", 17).options == ()
    (tmp_path / "panel.yaml").write_text("jurors: []")
    (tmp_path / "suite.yaml").write_text("jury: []")
    typed = f"{tmp_path}/"
    found = [o.text for o in panel_files(typed, len(typed)).options]
    assert found == [f"{tmp_path}/panel.yaml", f"{tmp_path}/runs/"]


@pytest.mark.parametrize("typed", ["~no-such-user/x", "a" * 5000 + "/x", "\0/x"])
def test_a_path_that_cannot_be_completes_to_nothing(typed: str) -> None:
    assert files(typed, len(typed)).options == ()
