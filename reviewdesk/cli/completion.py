"""Shell completion of files, formats, and names in the desk.

A completion creates, migrates and prints nothing. Without a usable desk it offers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, shell_complete

from reviewdesk.cli.invocation import current_settings, desk_path
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

Items = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Items]

VARIABLE = "_REVIEWDESK_COMPLETE"
"""The variable that a shell's script sets; click derives it from the program's name."""
_PLAIN = re.compile(r"[\w@%+=:./][\w@%+=:./-]*")
"""Names that no shell treats specially, because bash inserts a completion without quoting it."""


def answer(cli: click.Command, instruction: str) -> int:
    """Print the completions or the shell script that ``instruction`` names.

    Return the exit code, which is 1 if the shell is unknown.
    """
    return shell_complete(cli, {}, "reviewdesk", VARIABLE, instruction)


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Leave files to the shell."""
    return [CompletionItem(incomplete, type="file")]


def formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Offer the formats of reports."""
    from reviewdesk.desk.files import formats as known

    return [CompletionItem(name) for name in known() if name.startswith(incomplete)]


def _of_desk(find: Callable[[Desk, str | None, str], Iterable[str]]) -> Completer:
    """Return a completer of what ``find`` finds in the desk that the line names.

    It takes the desk, the name after ``--run``, and what is typed.
    """

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
        from reviewdesk.desk.core import glance

        try:
            with ctx.scope(cleanup=False):
                desk = glance(desk_path(), current_settings().reviewer or None)
            if desk is None:
                return []
            with closing(desk):
                names = [*find(desk, ctx.params.get("run_name"), incomplete)]
        except ReviewDeskError:
            return []
        fitting = (name for name in names if name.startswith(incomplete))
        return [CompletionItem(name) for name in fitting if _PLAIN.fullmatch(name)]

    return complete


def _ids(desk: Desk, run: str | None, incomplete: str) -> Iterable[str]:
    from reviewdesk.desk.review.items import ids_from

    return ids_from(desk, desk.run(run) if run else None, incomplete)


runs = _of_desk(lambda desk, _run, _typed: (run.name for run in desk.runs()))
verdicts = _of_desk(_ids)
"""Verdicts of the run that ``--run`` names, else of all runs."""
