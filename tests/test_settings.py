"""The settings file: what it may say, what overrides it, and what is said of one that is wrong."""

import datetime as dt
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ExitCode, SettingsError
from reviewdesk.settings import (
    SETTINGS,
    Feedback,
    Settings,
    checked_theme,
    load_settings,
    settings_path,
    values_of,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(file: Path, text: str, **environ: str) -> Settings:
    file.write_text(text, encoding="utf-8", newline="")
    return load_settings(environ={"REVIEWDESK_CONFIG": str(file), **environ})


def refusal(file: Path, text: str) -> str:
    """What is said of a file, without the folder that the test made for it."""
    with pytest.raises(SettingsError) as caught:
        load(file, text)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    said = str(caught.value)
    assert "\n" not in said
    return said.replace(f"{file.parent}{os.sep}", "")


EVERYTHING = """\
theme = "desk-light"
blind = true
feedback = "end"  # at the end
audit_share = 0.25
repeat_guard = 300
reviewer = "ben"
desk = "desks/mine.db"
panel = "panels/five.yaml"
tags = ["tone", "Wrong Policy"]
tags_after_fail = true

[keys]
"label.pass" = ["p", "x"]
defer = "S"
"""


def test_a_file_sets_everything(file: Path) -> None:
    found = load(file, EVERYTHING)
    assert found == Settings(
        theme="desk-light", blind=True, feedback=Feedback.END, audit_share=0.25, repeat_guard=300,
        reviewer="ben", desk=str(file.parent / "desks" / "mine.db"),
        panel=str(file.parent / "panels" / "five.yaml"), tags=("tone", "Wrong Policy"),
        tags_after_fail=True,
        keys={"label.pass": ("p", "x"), "defer": ("S",)},
        sources=found.sources,
    )  # fmt: skip
    # Its lines, counted from one.
    where = {"theme": 1, "blind": 2, "feedback": 3, "audit_share": 4, "repeat_guard": 5,
             "reviewer": 6, "desk": 7, "panel": 8, "tags": 9, "tags_after_fail": 10,
             "keys.label.pass": 13, "keys.defer": 14}  # fmt: skip
    assert found.sources == {name: f"{file}: line {line}" for name, line in where.items()}


@pytest.mark.parametrize("text", ["", "  \n\n", "# nothing\n", "\ufeff# from a Windows editor\r\n"])
def test_an_empty_file_changes_nothing(file: Path, text: str) -> None:
    assert load(file, text) == Settings()
    assert load(file, text).source("theme") == "default"


def test_no_file_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REVIEWDESK_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = settings_path()
    assert path.name == "config.toml"
    assert tmp_path in path.parents
    assert load_settings() == Settings()
    path.parent.mkdir(parents=True)
    path.write_text("blind = true", encoding="utf-8")
    assert load_settings().blind


def test_the_environment_overrides_the_file_and_options_override_both(file: Path) -> None:
    environ = {"REVIEWDESK_THEME": "high-contrast", "REVIEWDESK_REVIEWER": "cem",
               "REVIEWDESK_DESK": "here.db"}  # fmt: skip
    found = load(file, EVERYTHING, **environ)
    assert (found.theme, found.reviewer, found.desk) == ("high-contrast", "cem", "here.db")
    assert [found.source(name) for name in ("theme", "reviewer", "desk")] == list(environ)
    named = {"REVIEWDESK_CONFIG": str(file), **environ}
    found = load_settings({"reviewer": "dee", "desk": None}, named)
    assert (found.reviewer, found.source("reviewer")) == ("dee", "--reviewer")
    assert (found.desk, found.source("desk")) == ("here.db", "REVIEWDESK_DESK")


def test_what_is_given_empty_is_not_given(file: Path) -> None:
    text = 'reviewer = "ben"\ndesk = ""\n'
    assert load(file, text, REVIEWDESK_REVIEWER="").reviewer == "ben"
    assert load_settings({"reviewer": ""}, {"REVIEWDESK_CONFIG": str(file)}).reviewer == "ben"
    assert load_settings({}, {"REVIEWDESK_CONFIG": str(file)}).desk == ""


def test_a_desk_under_the_home(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert load(file, 'desk = "~/d.db"').desk == "/home/ann/d.db"
    assert load(file, 'desk = "/d.db"').desk == "/d.db"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '\naudit_share = "lots"',
            'line 2: audit_share must be a number from 0 to 1, found "lots"',
        ),
        ("audit_share = 1.01", "line 1: audit_share must be a number from 0 to 1, found 1.01"),
        ("audit_share = nan", "line 1: audit_share must be a number from 0 to 1, found nan"),
        ("audit_share = true", "line 1: audit_share must be a number from 0 to 1, found true"),
        ("repeat_guard = 99", "a whole number of milliseconds from 100 to 2000, found 99"),
        ("repeat_guard = 2001", "a whole number of milliseconds from 100 to 2000, found 2001"),
        ("repeat_guard = 150.0", "a whole number of milliseconds from 100 to 2000, found 150.0"),
        ("repeat_guard = true", "a whole number of milliseconds from 100 to 2000, found true"),
        ("blind = 1", "line 1: blind must be true or false, found 1"),
        ('blind = "true"', 'line 1: blind must be true or false, found "true"'),
        ('feedback = "later"', 'feedback must be "after", "end" or "never", found "later"'),
        ("theme = 7", "line 1: theme must be the name of a theme, found 7"),
        ("reviewer = []", "line 1: reviewer must be a name in quotes, found a list"),
        ('desk = "a\\u0000b"', "line 1: desk must be a path in quotes, found"),
        ("[theme]\nname = 1", "line 1: theme must be the name of a theme, found a table"),
        ('tags = "tone"', 'line 1: tags must be a list of tags in quotes, found "tone"'),
        ('tags = ["tone", 3]', "must be a list of tags in quotes, found a list"),
        ('tags = ["a\\u0000b"]', "line 1: tags must be a list of tags in quotes, found"),
        ("tags_after_fail = 1", "line 1: tags_after_fail must be true or false, found 1"),
        ("theme = 2025-01-31", "theme must be the name of a theme, found 2025-01-31"),
    ],
)
def test_a_value_that_is_wrong(file: Path, text: str, said: str) -> None:
    told = refusal(file, text)
    assert told.startswith("config.toml: line ")
    assert said in told
    assert told.endswith(". Fix it, or remove the line.")


@pytest.mark.parametrize(
    "text", ["audit_share = 0", "audit_share = 1", "repeat_guard = 100", "repeat_guard = 2000"]
)
def test_the_ends_of_a_range_are_in_it(file: Path, text: str) -> None:
    name, _, value = text.partition(" = ")
    found = getattr(load(file, text), name)
    assert found == int(value)
    assert type(found) is type(getattr(Settings(), name))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thme = 1", 'line 1: there is no setting "thme". Did you mean theme?'),
        (
            'prices = "p.toml"',
            'line 1: there is no setting "prices". Leave it out, and state price: ',
        ),
        ('[key]\ndefer = "s"', 'line 1: there is no setting "key". Did you mean keys?'),
        ("\n\n[zzz.q]\nx = 1", 'line 3: there is no setting "zzz". Settings: theme, blind, '),
        ("keys = 1", "line 1: keys must be a table, found 1. Write [keys]"),
        ("[[keys]]\ndefer = 1", "line 1: keys must be a table, found a list. Write [keys]"),
        ("[keys]\n\ndefer = 1", "line 3: defer must be a key or a list of keys in quotes, found 1"),
        ('keys.defer = ["s", 1]', "line 1: defer must be a key or a list of keys in quotes"),
        (
            '[keys]\n"label.pass" = "p"\nlabel.pass = "x"',
            "line 2: label.pass has keys in two places. Keep one of them.",
        ),
    ],
)
def test_a_name_or_a_key_that_is_wrong(file: Path, text: str, said: str) -> None:
    assert refusal(file, text).startswith(f"config.toml: {said}")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            'theme = "desk"\nblind = maybe\n',
            "config.toml: line 2: is not valid TOML: invalid value",
        ),
        (
            'theme = "desk"\ntheme = "desk"',
            "config.toml: line 2: is not valid TOML: cannot overwri",
        ),
        ("theme = ", "config.toml: line 1: "),
        ('theme = "', "config.toml: line 1: "),
        ("a" * 70_000, "config.toml: line 1: "),
        (f"audit_share = {'9' * 5000}", "config.toml: is not valid TOML: exceeds the limit"),
    ],
)
def test_what_is_not_toml(file: Path, text: str, place: str) -> None:
    said = refusal(file, text)
    assert said.startswith(place)
    assert "is not valid TOML" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [f"theme = {'[' * 100_000}", f"keys.{'a.' * 5_000}a = 1"], ids=["list", "table"]
)
def test_what_is_nested_without_end(file: Path, text: str) -> None:
    assert refusal(file, text).startswith("config.toml: is nested too deeply. ")


def test_a_file_that_cannot_be_read(file: Path) -> None:
    def said() -> str:
        with pytest.raises(SettingsError) as caught:
            load_settings(environ={"REVIEWDESK_CONFIG": str(file)})
        return str(caught.value).removeprefix(f"{file}: ")

    assert said() == "there is no such settings file. REVIEWDESK_CONFIG names it."
    file.write_bytes(b"theme = 'd\xe9sk'")
    assert said() == "is not UTF-8 text. Save it as UTF-8."
    file.write_bytes(b"#" * ((1 << 20) + 1))
    assert said().startswith("is larger than 1 MB")
    file.write_bytes(b"#" * (1 << 20))
    assert load_settings(environ={"REVIEWDESK_CONFIG": str(file)}) == Settings()
    file.unlink()
    file.mkdir()
    assert said().startswith("cannot be read: is a directory. ")
    file.rmdir()
    file.symlink_to(file)
    # A link to itself: the system's own words for it follow.
    assert said().startswith("cannot be read: ")


def test_a_key_inside_a_table_on_one_line_has_no_line(file: Path) -> None:
    found = load(file, 'blind = true\nkeys = { defer = "S", label = { pass = "x" } }')
    assert found.keys == {"defer": ("S",), "label.pass": ("x",)}
    assert found.source("keys.label.pass") == str(file)


def test_a_theme_must_be_known(file: Path) -> None:
    assert checked_theme(Settings(), ["desk", "other"]) == "desk"
    with pytest.raises(SettingsError) as caught:
        checked_theme(load(file, '\ntheme = "othre"'), ["desk", "other"])
    assert str(caught.value) == f'{file}: line 2: there is no theme "othre". Did you mean other?'
    with pytest.raises(SettingsError) as caught:
        checked_theme(load(file, "", REVIEWDESK_THEME="zzz"), ["desk", "other"])
    assert str(caught.value) == 'REVIEWDESK_THEME: there is no theme "zzz". Themes: desk, other.'


VALUES: list[Any] = [
    *(True, False, 0, 1, 2, -1, 99, 100, 2000, 2001, 150.0, 0.0, 0.5, 1.0, 1.01, -0.0),
    *(float("nan"), float("inf"), 10**400, "", "desk", "after", "AFTER", "a\nb", "\x7f", "é"),
    *([], ["p"], [1], {}, {"defer": "s"}, {"defer": ["s", "x"]}, {"defer": 1}, {"defer": [1]}),
    *(dt.date(2025, 1, 31), dt.time(12, 0)),
]


@pytest.mark.parametrize("name", [*(setting.name for setting in SETTINGS), "keys", "thme"])
def test_a_value_of_another_kind_is_refused_by_name(name: str) -> None:
    refused = 0
    for value in VALUES:
        with suppress(SettingsError):
            assert values_of({name: value}).keys() == {name}
            continue
        refused += 1
    assert refused > 0
    assert (refused < len(VALUES)) is (name != "thme")


def test_the_first_line_that_is_wrong_is_told(file: Path) -> None:
    text = 'panel = 1\nthme = "x"\ntheme = 1'
    assert refusal(file, text).startswith("config.toml: line 1: panel must be")
    assert refusal(file, text.partition("\n")[2]).startswith("config.toml: line 1: there is no")
