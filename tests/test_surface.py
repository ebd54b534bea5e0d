"""The README's claims about commands and keys, held against the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reviewdesk.app.keys.actions import ACTIONS
from reviewdesk.app.keys.keymap import Keymap, checked
from reviewdesk.app.keys.readme_table import keys_table
from reviewdesk.cli import cli
from reviewdesk.domain.assessment.flags import SHORT
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import ORDERS, parse_filter
from reviewdesk.settings import load_settings

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def commands(group: click.Group, path: str = "reviewdesk") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
            if not command.invoke_without_command:
                continue
        yield f"{path} {name}", command


@pytest.mark.parametrize(("name", "command"), [pytest.param(n, c, id=n) for n, c in commands(cli)])
def test_every_command_is_documented(name: str, command: click.Command) -> None:
    short = name.removeprefix("reviewdesk ")
    assert name in README or f"`{short}" in README, f"{name} is not in the README"
    assert command.help, f"{name} has no help"


def test_no_command_is_documented_that_is_not_there() -> None:
    known = {name for name, _ in commands(cli)} | {f"reviewdesk {name}" for name in cli.commands}
    told = re.findall(r"reviewdesk (?:labels |desk |runs |filters )?[a-z]+(?= |`|\n|,)", README)
    # Prose such as "reviewdesk opens" is not in backquotes and not a command.
    commanded = {text for text in told if f"`{text}" in README}
    assert commanded
    assert commanded <= known


def test_the_keys_table_is_the_registry() -> None:
    found = re.search(r"<!-- keys -->\n(.*?)\n<!-- /keys -->", README, re.DOTALL)
    assert found
    assert found.group(1) == keys_table()


def test_every_key_is_in_the_table() -> None:
    table, keymap = keys_table(), Keymap.of(ACTIONS)
    for action in ACTIONS.values():
        for key in keymap.shown(action.id).split():
            written = "\\|" if key == "|" else key
            assert f"`{written}`" in table, f"{key} of {action.id}"


def test_every_flag_and_order_is_documented() -> None:
    for short in SHORT.values():
        assert f"`{short.rstrip('!')}`" in README
    for order in ORDERS:
        assert f"`{order}`" in README


def documented_filters() -> list[str]:
    section = README.split("| write | keeps |", 1)[1].split("`o` orders by", 1)[0]
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
    assert all(f"`{sign}`" in README for sign in words.OPERATORS)


def test_the_settings_of_the_readme_can_be_used(tmp_path: Path) -> None:
    example = README.split("```toml\n", 1)[1].split("```", 1)[0]
    file = tmp_path / "config.toml"
    file.write_text(example, encoding="utf-8")
    found = load_settings(environ={"REVIEWDESK_CONFIG": str(file)})
    assert found.blind
    assert checked(found).keys("defer") == ("S",)
