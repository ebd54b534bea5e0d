"""Shell completion of files, names in the desk, orders, formats and the words of a filter.

A completion creates, migrates and prints nothing. Without a usable desk it offers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem, shell_complete

from reviewdesk.cli.invocation import current_settings, desk_path
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.query.completion import Option, Vocabulary
    from reviewdesk.domain.records import Run

T = TypeVar("T")
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


def _offers(find: Callable[[click.Context, str], Iterable[str]]) -> Completer:
    """Return a completer that offers the names found, as far as they begin with what is typed."""
    return lambda ctx, _param, incomplete: _names(find(ctx, incomplete), incomplete)


def _ids(ctx: click.Context, incomplete: str) -> list[str]:
    def ids(desk: Desk) -> list[str]:
        from reviewdesk.desk.review.items import ids_from

        name = ctx.params.get("run_name")
        return ids_from(desk, desk.run(name) if name else None, incomplete)

    return _from_desk(ctx, ids)


def _formats(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    from reviewdesk.desk.files import formats as known

    return known()


runs = _offers(lambda ctx, _: _from_desk(ctx, lambda desk: [run.name for run in desk.runs()]))
verdicts = _offers(_ids)
jurors = _offers(lambda ctx, _: _vocabulary(ctx).jurors)
tags = _offers(lambda ctx, _: _vocabulary(ctx).tags)
formats = _offers(_formats)
"""Names of the run that ``--run`` names, else of the run opened last; verdicts, of all runs."""


def saved_filters(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Offer the names of the reviewer's saved filters."""
    kept = _vocabulary(ctx).filters
    return [CompletionItem(name, help=kept[name]) for name in kept if name.startswith(incomplete)]


def filter_words(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Offer completions of a filter's last word; the name of a fact comes with its values."""
    from reviewdesk.domain.query.completion import complete

    known = _vocabulary(ctx)
    found = complete(incomplete, len(incomplete), known)
    options = list(found.options)
    if len(options) == 1 and options[0].text.endswith(":"):
        # A shell would take a single option as the complete word.
        options += complete(options[0].text, len(options[0].text), known).options
    head = incomplete[: found.start]
    tail = incomplete[found.end :]
    return _items(options, head, tail)


def orders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Offer the orders of the queue."""
    from reviewdesk.domain.query.completion import complete_order

    return _items(complete_order(incomplete, len(incomplete)).options)


def _items(options: Iterable[Option], head: str = "", tail: str = "") -> Items:
    return [CompletionItem(f"{head}{one.text}{tail}", help=one.note or None) for one in options]


def _names(names: Iterable[str], incomplete: str) -> Items:
    return [
        CompletionItem(name)
        for name in names
        if name.startswith(incomplete) and _PLAIN.fullmatch(name)
    ]


def _vocabulary(ctx: click.Context) -> Vocabulary:
    """Return the names that a filter may use over the run that the line names."""
    from reviewdesk.desk.review.filters import saved, vocabulary
    from reviewdesk.domain.query.completion import Vocabulary

    def known(desk: Desk) -> list[Vocabulary]:
        run = _run(desk, ctx.params.get("run_name"))
        return [vocabulary(desk, run) if run else Vocabulary(filters=saved(desk))]

    def plain(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if _PLAIN.fullmatch(name.replace(" ", "_")))

    found = next(iter(_from_desk(ctx, known)), Vocabulary())
    return Vocabulary(plain(found.tags), plain(found.jurors), plain(found.runs), found.filters)


def _run(desk: Desk, name: str | None) -> Run | None:
    return desk.run(name) if name or desk.runs() else None


def _from_desk(ctx: click.Context, ask: Callable[[Desk], list[T]]) -> list[T]:
    """Return what ``ask`` finds in the line's desk; nothing if it is missing or unusable."""
    from reviewdesk.desk.core import glance

    try:
        with ctx.scope(cleanup=False):
            desk = glance(desk_path(), current_settings().reviewer or None)
        if desk is None:
            return []
        try:
            return ask(desk)
        finally:
            desk.close()
    except ReviewDeskError:
        return []
