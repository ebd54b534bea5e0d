"""The README's claims about commands and keys, held against the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reviewdesk.app.actions import ACTIONS, keys_table
from reviewdesk.cli import cli
from reviewdesk.domain.flags import SHORT
from reviewdesk.domain.queue import ORDERS, parse_filter

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
    told = re.findall(r"reviewdesk (?:labels |desk |runs )?[a-z]+(?= |`|\n|,)", README)
    # Prose such as "reviewdesk opens" is not in backquotes and not a command.
    commanded = {text for text in told if f"`{text}" in README}
    assert commanded
    assert commanded <= known


def test_the_keys_table_is_the_registry() -> None:
    found = re.search(r"<!-- keys -->\n(.*?)\n<!-- /keys -->", README, re.DOTALL)
    assert found
    assert found.group(1) == keys_table()


def test_every_key_is_in_the_table() -> None:
    table = keys_table()
    for action in ACTIONS.values():
        for key in action.shown.split():
            assert f"`{key}`" in table, f"{key} of {action.id}"


def test_every_flag_and_order_is_documented() -> None:
    for short in SHORT.values():
        assert f"`{short.rstrip('!')}`" in README
    for order in ORDERS:
        assert f"`{order}`" in README


def test_every_documented_filter_is_understood() -> None:
    section = README.split("| write | keeps |", 1)[1].split("`o` orders by", 1)[0]
    for row in section.splitlines():
        if row.startswith("| `"):
            for text in re.findall(r"`([^`]+)`", row.split("|")[1]):
                if text not in {"<", "<=", "=", ">=", ">"}:
                    assert parse_filter(text).groups
