"""Describe, copy, verify and query the desk file."""

from __future__ import annotations

import base64
import csv
import io
import math
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewdesk.cli import team
from reviewdesk.cli.common import (
    ProgressLine,
    dump,
    force_option,
    json_option,
    open_desk,
    output_option,
    put,
    put_json,
    say,
    shared_options,
)
from reviewdesk.cli.invocation import desk_path
from reviewdesk.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from reviewdesk.desk.sql import QueryRows

_FORMATS = ("table", "json", "csv", "tsv", "nl")
_CELL = 200
"""The most characters of a table's cell; the other formats cut nothing."""
_ALL = 1_000_000_000


@click.group()
def desk() -> None:
    """Look after the desk file."""


@desk.command(epilog="Example: reviewdesk desk info")
@json_option
@shared_options
def info(*, as_json: bool) -> None:
    """Show where the desk is and what it holds."""
    from reviewdesk.desk.sql import info as facts_of
    from reviewdesk.views.team import chain_name
    from reviewdesk.views.words import plural

    with open_desk() as opened:
        facts = facts_of(opened)
    if as_json:
        put_json(facts)
        return
    facts.setdefault("backup", "none yet")
    loading = facts.pop("loading")
    chains = [
        f"{chain_name(one['reviewer'], one['desk'])}: {plural(one['events'], 'event')}, "
        f"head {one['hash']}"
        for one in facts.pop("chains")
    ]
    more = *(("loading", one) for one in loading), *(("chain", one) for one in chains)
    for name, value in [*facts.items(), *more]:
        put(f"{name:10} {value}")


@desk.command(epilog="Example: reviewdesk desk backup desk-copy.db")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@shared_options
def backup(*, file: Path) -> None:
    """Copy the desk to FILE, whole even while it is open elsewhere."""
    with open_desk() as opened:
        opened.backup(file)
        say(f"{file}: a copy of {opened.path}, log head {opened.head()}")


@desk.command(epilog="Example: reviewdesk desk restore backups/desk-2026-03-02.db")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Take the backup although it is not whole.")
@shared_options
def restore(*, backup: Path, force: bool) -> None:
    """Put BACKUP in the desk's place.

    The desk that was there is kept under another name. The backup is checked first, and brought up
    to date if an older version made it. It stays where it is.
    """
    from reviewdesk.desk import backups
    from reviewdesk.desk.core import default_path, now

    path = desk_path() or default_path()
    found = backups.restore(path, backup, now, force=force)
    if found.kept is not None:
        say(f"before: log head {found.before or 'unreadable'}, kept as {found.kept}")
    say(f"{path}: restored from {backup}, log head {found.after}")
    if not found.runs:
        say("it holds no runs: load the reports again, and their labels are there")


@desk.command(epilog="Example: reviewdesk desk repair -o saved.db")
@output_option("The new desk; else DESK-repaired beside the damaged one.")
@force_option
@json_option
@shared_options
def repair(*, output: Path | None, force: bool, as_json: bool) -> None:
    """Save what can be read of a damaged desk.

    It goes into a new desk, and what was lost is listed. The damaged file is only read. It ends
    with 1 if anything was lost.
    """
    from reviewdesk.desk import backups
    from reviewdesk.desk.core import default_path, now
    from reviewdesk.views.json.shape import shape

    path = desk_path() or default_path()
    bar = ProgressLine(f"reading {path}")
    target = output or backups.repaired_name(path)
    try:
        found = backups.repair_desk(path, target, now, bar, replaced=force)
    finally:
        bar.done()
    if as_json:
        put_json(shape(found, "head events runs lost", path=str(found.path)))
    else:
        put(f"{found.path}: {found.events} events, {len(found.runs)} runs, head {found.head}")
        put("nothing was lost" if not found.lost else "lost:")
        for line in found.lost:
            put(f"  {line}")
        say(f"to use it: reviewdesk desk restore {found.path}")
    if found.lost:
        click.get_current_context().exit(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk share --group evals")
@click.option("--group", metavar="GROUP", help="Let this group read and write the desk.")
@click.option("--private", is_flag=True, help="Let only the owner read and write the desk.")
@shared_options
def share(*, group: str | None, private: bool) -> None:
    """Choose who else on this machine may open the desk.

    It is a group, or nobody. For a group, the desk's folder belongs to the group too, so that each
    member can write the files that SQLite keeps beside the desk.
    """
    from reviewdesk.desk import access

    if private == (group is not None):
        raise UsageError("share: takes one of --group and --private", "Give one of them.")
    with open_desk() as opened:
        access.share(opened.path, group)
        say(f"{opened.path}: {access.access(opened.path)}")


@desk.command(epilog="Example: reviewdesk desk verify --json")
@click.option("--expect-head", metavar="SEQ:HASH", help="A head printed earlier.")
@click.option(
    "--full",
    is_flag=True,
    help="Decide every verdict again from its body as well, and index its texts again.",
)
@json_option
@shared_options
def verify(*, expect_head: str | None, full: bool, as_json: bool) -> None:
    """Hold the label log and the runs to their hashes.

    It ends with 1 if anything was changed or cut.
    """
    from reviewdesk.desk.core import verify as verified
    from reviewdesk.views.json.shape import shape

    progress = ProgressLine("deciding again")
    try:
        found = verified(desk_path(), expect_head, progress if full else None)
    finally:
        progress.done()
    if as_json:
        put_json(shape(found))
    else:
        put(f"{'whole' if found.ok else 'NOT WHOLE'}: {found.events} events, head {found.head}")
        for line in (*found.problems, *found.older, *found.loading):
            put(f"  {line}")
    if not found.ok:
        click.get_current_context().exit(ExitCode.FAILED)


desk.add_command(team.merge)
desk.add_command(team.sync)


@desk.command(epilog="Example: reviewdesk desk query 'SELECT id FROM verdicts' --format csv")
@click.argument("sql")
@click.option(
    "-p", "--param", "params", nargs=2, multiple=True, metavar="NAME VALUE",
    help="The value of :NAME in the SQL; may be repeated.",
)  # fmt: skip
@click.option(
    "--format", "kind", type=click.Choice(_FORMATS),
    help="nl is one JSON object a line.  [default: table on a terminal, else json]",
)  # fmt: skip
@json_option
@shared_options
def query(
    *, sql: str, params: tuple[tuple[str, str], ...], kind: str | None, as_json: bool
) -> None:
    """Read the desk with one SQL statement; nothing is ever written.

    It works while the desk is open elsewhere. `SELECT name, sql FROM sqlite_master` lists the
    tables.
    """
    from reviewdesk.desk.sql import query as ask

    on_screen = bool(sys.stdout and sys.stdout.isatty())
    if as_json and kind not in {None, "json"}:
        raise UsageError(f"--json: --format says {kind}", "Leave one of them out.")
    kind = kind or ("json" if as_json or not on_screen else "table")
    with ask(desk_path(), sql, dict(params)) as found:
        for piece in _pieces(found, kind, on_screen=on_screen):
            # Written as bytes, because a file is UTF-8 whatever encoding the terminal has.
            click.echo(piece if on_screen else piece.encode(), nl=False)


def _pieces(found: QueryRows, kind: str, *, on_screen: bool) -> Iterator[str]:
    """Yield the text of all rows, a batch at a time."""
    if kind == "table":
        return _table(found)
    if kind in {"json", "nl"}:
        return _json(found, as_lines=kind == "nl")
    return _csv(found, "\t" if kind == "tsv" else ",", on_screen=on_screen)


def _json(found: QueryRows, *, as_lines: bool) -> Iterator[str]:
    """Yield a list of objects, or an object a line; a second column ``id`` becomes ``id_2``."""
    names = [dump(name) for name in found.object_keys()]
    before, between, end = ("", "\n", "\n") if as_lines else ("[", ",\n ", "]\n")
    for rows in found.batches:
        yield before + between.join(_object(names, row) for row in rows)
        before = between
    yield end if before == between else "" if as_lines else "[]\n"


def _object(names: list[str], row: Sequence[object]) -> str:
    pairs = (f"{name}: {_json_value(value)}" for name, value in zip(names, row, strict=True))
    return f"{{{', '.join(pairs)}}}"


def _json_value(value: object) -> str:
    if isinstance(value, bytes):
        return dump({"$base64": True, "encoded": _text(value)})
    if isinstance(value, float) and math.isinf(value):
        # JSON has no infinity; SQLite's own JSON functions write this number.
        return "9.0e+999" if value > 0 else "-9.0e+999"
    return dump(value)


def _csv(found: QueryRows, between: str, *, on_screen: bool) -> Iterator[str]:
    """Yield a header and rows without control characters, but for line breaks in a file.

    A text that a spreadsheet would run as a formula is quoted.
    """
    from reviewdesk.domain.safetext import show, without_formula

    shown = _harmless if on_screen else partial(show, limit=_ALL)

    def cell(value: object) -> object:
        return without_formula(shown(value)) if isinstance(value, str) else _text(value)

    out = io.StringIO()
    writer = csv.writer(out, delimiter=between, lineterminator="\n")
    for rows in chain([[found.columns]], found.batches):
        writer.writerows([cell(value) for value in row] for row in rows)
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def _table(found: QueryRows) -> Iterator[str]:
    """Yield lines whose columns are as wide as the first batch of rows needs."""
    head = [_harmless(name, _CELL) for name in found.columns]
    wide: list[int] = []
    for rows in chain(found.batches, [[]]):
        cells = [[_harmless(_text(value), _CELL) for value in row] for row in rows]
        if not wide:
            wide = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
            cells = [head, ["-" * width for width in wide], *cells]
        yield "".join("  ".join(map(str.ljust, row, wide)).rstrip() + "\n" for row in cells)


def _harmless(text: str, limit: int = _ALL) -> str:
    from reviewdesk.domain.safetext import show_line

    return show_line(text, limit)


def _text(value: Any) -> str:
    """Return a value as text: nothing for NULL, base64 for bytes."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return "" if value is None else str(value)
