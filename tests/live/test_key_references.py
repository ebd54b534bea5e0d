"""A key by reference comes from a command or the keyring, once, and is shown nowhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reviewdesk.errors import PanelError, SettingsError
from reviewdesk.live.keys import KeyEnvironment, key_of, key_problem, read_key, redactor
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.settings import load_settings
from tests.helpers import environment
from tests.live.builders import KEY

PANEL = """
jurors:
  - {name: ada, model: gpt-5, vendor: openai, api_key: "@work"}
"""


def panel(folder: Path, text: str = PANEL) -> str:
    path = folder / "panel.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def prints(code: str) -> dict[str, list[str]]:
    return {"work": [sys.executable, "-c", code]}


def test_a_command_is_run_once_and_its_first_line_is_the_key(tmp_path: Path) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    log = tmp_path / "runs"
    code = f"open({str(log)!r}, 'a').write('x'); print('  {KEY} \\nurl: x')"
    known = KeyEnvironment({"OPENAI_API_KEY": "sk-another-one"}, prints(code))
    for _ in range(3):
        assert key_of(endpoint(juror), known).value == KEY
    assert redactor([juror], known).text(f"got {KEY}") == "got [key]"
    assert log.read_text(encoding="utf-8") == "x"
    assert KEY not in repr(known)
    assert "@work" not in set(known)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"import sys; print({KEY!r}); sys.exit({KEY!r})", "its command ended with 1"),
        ("pass", "its command printed nothing"),
        ("print('two words')", "holds characters that no key has"),
        ("import time; time.sleep(60)", "took over 0.5 s"),
    ],
)
def test_a_command_that_gives_no_key_is_told_without_what_it_printed(
    tmp_path: Path, code: str, said: str
) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    found = key_of(endpoint(juror), KeyEnvironment({}, prints(code), seconds=0.5))
    assert found.value is None
    assert found.problem is not None
    assert said in found.problem
    assert found.problem.startswith("@work ")
    assert KEY not in found.problem
    assert "two words" not in found.problem


async def test_planning_reads_no_key_and_asking_does(tmp_path: Path) -> None:
    place = endpoint(read_panel(panel(tmp_path)).jurors[0])
    made = tmp_path / "made"
    known = KeyEnvironment({}, prints(f"open({str(made)!r}, 'w'); print({KEY!r})"))
    assert key_problem(place, known) is None
    assert not made.exists()
    assert (await read_key(place, known)).value == KEY
    assert key_problem(place, KeyEnvironment({})) == "@work is not among your settings' api keys"


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    known = KeyEnvironment({}, {"work": [f"echo {KEY}; touch {tmp_path}/made"]})
    assert key_of(endpoint(juror), known).problem == "@work gave no key: its command cannot be run"
    assert not (tmp_path / "made").exists()


def test_an_entry_of_the_keyring(tmp_path: Path) -> None:
    place = endpoint(read_panel(panel(tmp_path)).jurors[0])

    def keyring(service: str, name: str) -> str | None:
        assert (service, name) == ("a/service", "ann")
        return KEY

    def locked(_service: str, _name: str) -> str | None:
        raise RuntimeError(KEY)

    entries = {"work": "a/service/ann"}
    assert key_of(place, KeyEnvironment({}, {}, entries, keyring=keyring)).value == KEY
    failed = KeyEnvironment({}, {}, entries, keyring=locked)
    assert key_of(place, failed).problem == "@work cannot be read from the keyring"
    nothing = KeyEnvironment({}, {}, entries, keyring=lambda *_: None)
    assert key_of(place, nothing).problem == "@work is not in the keyring"
    assert key_of(place, KeyEnvironment({})).problem == "@work is not among your settings' api keys"


@pytest.mark.parametrize("value", [KEY, '["pass", "show"]', "$(pass show x)", "work", "@", "@a b"])
def test_a_panel_file_names_a_reference_and_nothing_else(tmp_path: Path, value: str) -> None:
    written = value if value.startswith("[") else f'"{value}"'
    with pytest.raises(PanelError) as found:
        read_panel(panel(tmp_path, PANEL.replace('"@work"', written)))
    assert "api_key: must be a reference such as @openai" in str(found.value)
    assert len(value) < 4 or value not in str(found.value)


def test_one_key_a_juror(tmp_path: Path) -> None:
    text = PANEL.replace('"@work"', '"@work", api_key_env: OPENAI_API_KEY')
    with pytest.raises(PanelError, match="stands beside an api_key_env"):
        read_panel(panel(tmp_path, text))


def test_the_settings_name_commands_and_entries(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'api_key_keyring = {mine = "service/ann"}\n[api_key_command]\nwork = ["pass", "show"]\n',
        encoding="utf-8",
    )
    found = load_settings(environ={"REVIEWDESK_CONFIG": str(path)})
    assert found.api_key_command == {"work": ("pass", "show")}
    assert found.api_key_keyring == {"mine": "service/ann"}


@pytest.mark.parametrize(
    "text",
    [
        f'api_key_command = "{KEY}"', f'api_key_command = {{work = "{KEY}"}}',
        f'api_key_command = ["{KEY}"]', "api_key_command = {work = []}",
        f'api_key_keyring = "{KEY.replace("/", "")}"', 'api_key_keyring = {work = "service"}',
        f'api_key_keyring = {{"{KEY}" = "a/b"}}', 'api_key_keyring = {work = ["a/b"]}',
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_not_repeated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as found:
        load_settings(environ={"REVIEWDESK_CONFIG": str(path)})
    assert "must be a table such as {openai =" in str(found.value)
    assert KEY not in str(found.value)


@pytest.mark.slow
def test_the_command_reads_the_settings(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    printing = json.dumps([sys.executable, "-c", f"print({KEY!r})"])
    config.write_text(f"[api_key_command]\nwork = {printing}\n", encoding="utf-8")
    path = panel(tmp_path, PANEL + '  - {name: bob, model: m, vendor: openai, api_key: "@no"}\n')
    done = subprocess.run(
        [sys.executable, "-m", "reviewdesk", "panel", "check", path],
        env=environment(tmp_path / "desk.db") | {"REVIEWDESK_CONFIG": str(config)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "@no is not set" in done.stdout
    assert "@work" not in done.stdout
    assert KEY not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_dry_run_of_judge_runs_no_key_command(tmp_path: Path) -> None:
    config, ran = tmp_path / "config.toml", tmp_path / "ran"
    command = json.dumps([sys.executable, "-c", f"open({str(ran)!r}, 'w'); print({KEY!r})"])
    config.write_text(f"[api_key_command]\nwork = {command}\n", encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "a", "input": "q", "output": "r", "rubric": "is right"}\n', encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "reviewdesk", "judge", tmp_path / "cases.jsonl", "--panel",
         panel(tmp_path, PANEL), "--dry-run"],
        env=environment(tmp_path / "desk.db") | {"REVIEWDESK_CONFIG": str(config)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"juror"' in done.stdout
    assert not ran.exists()
