"""`reviewdesk config`, and the settings at work in the other commands."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.keys.actions import ACTIONS, THEMES, Keymap
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import View
from reviewdesk.settings import SETTINGS, Settings, load_settings
from tests.cli.conftest import Cli
from tests.helpers import ROOT, SAMPLES, numbered, open_desk

SAMPLE = SAMPLES / "support-bot.jsonl"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.touch()
    monkeypatch.setenv("REVIEWDESK_CONFIG", str(path))
    return path


def test_the_settings_in_force(cli: Cli, file: Path, desk_path: Path) -> None:
    file.write_text(
        'blind = true\n[keys]\n"label.pass" = ["X", "pgdn"]\nredo = []\nundo = "u"\n"page.down"=[]'
    )
    found = cli("config", "--json", "--reviewer", "ben").json
    assert (found["file"], found["exists"]) == (str(file), True)
    own = {
        "blind": {"value": True, "source": f"{file}: line 1"},
        "reviewer": {"value": "ben", "source": "--reviewer"},
        "desk": {"value": str(desk_path), "source": "REVIEWDESK_DESK"},
    }
    plain = {one.name: getattr(Settings(), one.name) for one in SETTINGS}
    assert (
        found["settings"]
        == {
            name: {"value": list(value) if value == () else value, "source": "default"}
            for name, value in plain.items()
        }
        | own
    )
    # undo was given the key that it has.
    line = f"{file}: line"
    assert found["keys"] == {
        "label.pass": {"keys": ["X", "pgdn"], "default": ["p", "1"], "source": f"{line} 3"},
        "redo": {"keys": [], "default": ["U", "ctrl+r"], "source": f"{line} 4"},
        "page.down": {"keys": [], "default": ["pgdn"], "source": f"{line} 6"},
    }
    assert not desk_path.exists()


def test_the_settings_for_a_person(cli: Cli, file: Path) -> None:
    file.write_text('[keys]\nredo = []\n"filter" = "X"')
    done = cli("config")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"file  {file}"
    assert re.fullmatch(r'reviewer {9}"ann" +REVIEWDESK_REVIEWER', lines[6])
    assert lines[-3:] == [
        "keys that differ from the defaults:",
        f"  redo  none  (default U ctrl+r)  {file}: line 2",
        f"  filter  X  (default \\)  {file}: line 3",
    ]


def test_what_holds_without_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REVIEWDESK_CONFIG", "REVIEWDESK_DESK", "REVIEWDESK_REVIEWER"):
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("LOGNAME", "carla")
    done = cli("config")
    assert done.out.splitlines()[0].endswith("config.toml  (not there)")
    assert done.out.splitlines()[-1] == "keys: the defaults"
    found = cli("config", "--json").json
    assert (found["exists"], found["keys"]) == (False, {})
    assert {value["source"] for value in found["settings"].values()} == {"default"}
    assert found["settings"]["reviewer"]["value"] == "carla"
    assert found["settings"]["desk"]["value"].startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('theme = "dsk"', 'line 1: there is no theme "dsk". Did you mean desk?'),
        ('[keys]\ndefer = "p"', "line 2: defer cannot have p: label.pass has it on the "),
        ("[keys", "line 1: is not valid TOML: "),
        ('[keys]\n"\\u001b]0;owned\\u0007" = "p"', "there is no action "),
        ('blind = true\ntags = ["tone", "a,b"]', 'line 2: the tag "a,b" contains a comma'),
        ('tags = ["tone", " "]', "line 1: a tag is empty"),
    ],
)
def test_a_file_that_is_wrong(cli: Cli, file: Path, text: str, said: str) -> None:
    file.write_text(text)
    done = cli("config")
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert done.err.startswith(f"{file}: {said}")
    assert "\x1b" not in done.err


def test_a_file_that_was_named_must_be_there(cli: Cli, file: Path) -> None:
    file.unlink()
    for command in ("config", "runs", "open"):
        done = cli(command)
        assert (done.code, done.out) == (2, "")
        assert done.lines == [
            f"{file}: there is no such settings file. REVIEWDESK_CONFIG names it."
        ]


# What the desk keeps


def keep(path: Path, **values: Any) -> None:
    desk = open_desk(path)
    edits.keep(desk, values)
    desk.close()


def keep_view(path: Path, **values: Any) -> None:
    desk = open_desk(path)
    desk.save_view(desk.run(), View(**values))
    desk.close()


def test_what_the_desk_keeps_is_shown_with_its_source(
    cli: Cli, file: Path, desk_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('theme = "desk-light"')
    keep(desk_path, theme="desk-light", queue_width=0.3, zzz=1, jury_width="yes")
    assert cli("ingest", SAMPLE).code == 0
    keep_view(desk_path, order="-score", filter="esc")
    found = cli("config", "--json").json
    assert found["settings"]["theme"] == {"value": "desk-light", "source": "desk"}
    assert found["kept"] == {
        "theme": {"value": "desk-light", "source": "desk"},
        "queue_width": {"value": 0.3, "source": "desk"},
        "order": {"value": {"support-bot": "-score"}, "source": "desk"},
        "filter": {"value": {"support-bot": "esc"}, "source": "desk"},
    }
    lines = cli("config").out.splitlines()
    assert re.fullmatch(r'theme {12}"desk-light" +desk', lines[1])
    place = lines.index("kept by the desk, overriding the file; the palette (ctrl+p) forgets it:")
    assert lines[place + 1 : place + 3] == ['  theme         "desk-light"', "  queue_width   0.3"]
    assert '  order         {"support-bot": "-score"}' in lines
    # Another reviewer keeps nothing, and a variable is over what is kept.
    assert cli("config", "--json", "--reviewer", "ben").json["kept"] == {}
    monkeypatch.setenv("REVIEWDESK_THEME", "high-contrast")
    theme = cli("config", "--json").json["settings"]["theme"]
    assert theme == {"value": "high-contrast", "source": "REVIEWDESK_THEME"}


# The example


def example(cli: Cli) -> str:
    done = cli("config", "--example")
    assert (done.code, done.err) == (0, "")
    return done.out


def plain(found: Settings) -> Settings:
    return replace(found, keys={}, sources={})


def read(text: str, path: Path) -> Settings:
    path.write_text(text, encoding="utf-8")
    return load_settings(environ={"REVIEWDESK_CONFIG": str(path)})


def test_the_example_holds_what_holds_without_it_with_every_key_taken_in_too(
    cli: Cli, tmp_path: Path
) -> None:
    found = read(example(cli), tmp_path / "config.toml")
    assert (plain(found), found.keys) == (Settings(), {})
    assert found.sources.keys() == {setting.name for setting in SETTINGS}
    text, taken_in = re.subn("^#(?! )", "", example(cli), flags=re.MULTILINE)
    assert taken_in == len(ACTIONS)
    found = read(text, tmp_path / "config.toml")
    assert plain(found) == Settings()
    assert found.keys.keys() == ACTIONS.keys()
    assert Keymap.of(ACTIONS, found.keys, found.sources) == Keymap.of(ACTIONS)


def test_the_example_names_every_theme_and_says_what_each_setting_is(cli: Cli) -> None:
    text = example(cli)
    assert f"# The name of a theme: {', '.join(THEMES)}.\n" in text
    for setting in SETTINGS:
        assert f"# {setting.about}\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_example_helps_where_the_file_is_wrong(cli: Cli, file: Path) -> None:
    file.write_text("[")
    assert "[keys]" in example(cli)
    assert cli("config", "--example", "--json").code == 2


def test_the_docs_have_the_settings() -> None:
    rows = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8").splitlines()
    told = [re.findall(r"`([^`]+)`", row) for row in rows if row.startswith("| `")]
    assert [row[0] for row in told] == [*(setting.name for setting in SETTINGS), "[keys]"]
    for row, setting in zip(told, SETTINGS, strict=False):
        if setting.variable:
            assert setting.variable in row
        if default := getattr(Settings(), setting.name):
            assert row[-1] == str(default).lower()


# At work


def test_desk_and_reviewer_of_the_file(
    cli: Cli, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('desk = "its/own.db"\nreviewer = "dee"\n')
    report = tmp_path / "report.json"
    report.write_bytes(numbered(3))
    # The environment of the tests is over the file; the options are over both.
    cli("ingest", report)
    assert cli("label", "v1", "pass", "--json").json["reviewer"] == "ann"
    monkeypatch.delenv("REVIEWDESK_DESK")
    monkeypatch.delenv("REVIEWDESK_REVIEWER")
    cli("ingest", report)
    assert (tmp_path / "its" / "own.db").exists()
    assert cli("label", "v1", "pass", "--json").json["reviewer"] == "dee"
    other = ("--desk", tmp_path / "third.db", "--reviewer", "eve")
    cli("ingest", report, *other)
    assert cli("label", "v1", "pass", "--json", *other).json["reviewer"] == "eve"
    monkeypatch.setenv("REVIEWDESK_REVIEWER", "ann")
    assert cli("label", "v2", "pass", "--json").json["reviewer"] == "ann"


def test_blind_of_the_file_is_for_a_run_never_opened(cli: Cli, file: Path, desk_path: Path) -> None:
    file.write_text("blind = true")
    blind, shown = cli("open", SAMPLE, "--blind").out, cli("open", SAMPLE, "--open").out
    assert blind != shown
    assert cli("open").out == blind
    keep_view(desk_path, blind=False)
    assert cli("open").out == shown
    assert cli("open", "--blind").out == blind
    # Another reviewer has not opened it.
    assert cli("open", "--reviewer", "ben").out == blind
    file.write_text("blind = false")
    assert cli("open", "--reviewer", "ben").out == shown


def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[View, str | None]]:
    """How the app is opened from here on: stdout is a terminal, and the app is not drawn."""
    found: list[tuple[View, str | None]] = []

    def note(opening: Any, _settings: Any) -> None:
        found.append((opening.view, opening.notice or None))

    monkeypatch.setattr("reviewdesk.cli.terminal.run_app", note)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    return found


def test_what_is_said_of_blindness(
    cli: Cli, file: Path, desk_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = opened(monkeypatch)

    def start(text: str, *options: str) -> tuple[bool, str | None]:
        file.write_text(text)
        assert cli("open", *options).code == 0
        view, notice = starts.pop()
        return view.blind, notice

    assert cli("ingest", SAMPLE).code == 0
    other = '[keys]\nblind = "H"'
    first = "Read, then p pass, f fail, i can't tell."
    anchoring = "blind, hides the panel's answer."
    blind = f"{first} Blind: r reveals the panel's answer."
    assert start("") == (False, f"{first} b: {anchoring}")
    assert start(other) == (False, f"{first} H: {anchoring}")
    assert start("[keys]\nblind = []") == (False, f"{first} the palette: {anchoring}")
    assert start("blind = true", "--open") == (False, f"{first} b: {anchoring}")
    assert start("", "--blind") == (True, blind)
    # The line, which has a space before it, fits a terminal of 80 columns.
    assert max(len(f" {first} b: {anchoring}"), len(f" {blind}")) <= 80
    assert start(f"blind = true\n{other}") == (True, blind)
    keep_view(desk_path, blind=True)
    for text in ("", "blind = true"):
        assert start(text) == (True, "still blind: b shows the answers")
        assert start(text, "--open") == (False, None)
    keep_view(desk_path, blind=False)
    assert start("") == (False, None)
    assert start("blind = true") == (False, "answers still shown: b reviews blind")
    assert start("blind = true", "--open") == (False, None)
    assert start("blind = true", "--blind") == (True, None)


@pytest.mark.parametrize("text", ['theme = "dusk"', '[keys]\ndefer = "p"'])
def test_the_desk_does_not_open_with_settings_that_cannot_be_used(
    cli: Cli, file: Path, desk_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(text)
    starts = opened(monkeypatch)
    done = cli("open", SAMPLE)
    assert (done.code, done.out, len(done.lines), starts) == (2, "", 1, [])
    # It is told before anything is loaded.
    assert not desk_path.exists()


def test_keys_do_not_matter_without_a_screen(cli: Cli, file: Path) -> None:
    file.write_text('[keys]\ndefer = "p"')
    assert len(cli("open", SAMPLE).out.splitlines()) == 1 + 30
