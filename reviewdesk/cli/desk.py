"""Describe, copy, verify and query the desk file."""

from __future__ import annotations

from pathlib import Path

import click

from reviewdesk.cli.common import json_option, open_desk, put, put_json, say, shared_options
from reviewdesk.cli.query import query
from reviewdesk.errors import ExitCode


@click.group()
def desk() -> None:
    """Look after the desk file."""


desk.add_command(query)


@desk.command()
@json_option
@shared_options
def info(*, as_json: bool) -> None:
    """Show where the desk is and what it holds."""
    from reviewdesk.desk.sql import info as facts_of

    with open_desk() as opened:
        facts = facts_of(opened)
    if as_json:
        put_json(facts)
        return
    for name, value in facts.items():
        put(f"{name:10} {value}")


@desk.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@shared_options
def backup(*, file: Path) -> None:
    """Copy the desk to FILE, whole even while it is open elsewhere."""
    with open_desk() as opened:
        opened.backup(file)
        say(f"{file}: a copy of {opened.path}, log head {opened.head()}")


@desk.command()
@click.option("--expect-head", metavar="SEQ:HASH", help="A head printed earlier.")
@json_option
@shared_options
def verify(*, expect_head: str | None, as_json: bool) -> None:
    """Walk the chains of the label log; exit 1 if anything was changed or cut."""
    from reviewdesk.views.json.shape import shape

    with open_desk() as opened:
        found = opened.verify(expect_head)
    if as_json:
        put_json(shape(found))
    else:
        put(f"{'whole' if found.ok else 'NOT WHOLE'}: {found.events} events, head {found.head}")
        for problem in found.problems:
            put(f"  {problem}")
    if not found.ok:
        click.get_current_context().exit(ExitCode.FAILED)
