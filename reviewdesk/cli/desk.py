"""The desk file, servers for browsers and agents, and the settings of the program."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import (
    ProgressLine,
    current_settings,
    desk_path,
    file_argument,
    flag,
    leave,
    open_desk,
    option,
    options,
    output_options,
    own_desk,
    put,
    put_json,
    put_shape,
    say,
    wants_json,
)
from reviewdesk.cli.plain import section_text
from reviewdesk.cli.review import load_options, loading_options
from reviewdesk.cli.terminal import named_keys, opening_line, run_app
from reviewdesk.desk import backups, core, files
from reviewdesk.desk.core import Access, Desk, default_path, default_reviewer, existing
from reviewdesk.desk.review import filters as saved_filters
from reviewdesk.desk.review.edits import check_agent
from reviewdesk.desk.review.edits import kept as choices
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import View
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import reviewer_name
from reviewdesk.errors import DeskError, ExitCode, UsageError
from reviewdesk.settings import KEPT, SETTINGS, Settings, settings_path
from reviewdesk.views.queue import loaded
from reviewdesk.views.team import chain_name
from reviewdesk.views.words import plural


@click.group()
def desk() -> None:
    """Back up, verify, merge and share the desk file."""


@desk.command(epilog="Example: reviewdesk desk info")
@options("json")
def info() -> None:
    """Show where the desk is, and how many runs and labels it has."""
    with open_desk() as opened:
        facts = backups.info(opened)
    if wants_json():
        put_json(facts)
        return
    facts.setdefault("backup", "none yet")
    rows = [("loading", one) for one in facts.pop("loading")]
    for one in facts.pop("chains"):
        events = f"{plural(one['events'], 'event')}, head {one['hash']}"
        rows.append(("chain", f"{chain_name(one['reviewer'], one['desk'])}: {events}"))
    for name, value in (*facts.items(), *rows):
        put(f"{name:10} {value}")


@desk.command(epilog="Example: reviewdesk desk backup desk-copy.db")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options()
def backup(*, file: Path) -> None:
    """Copy the desk to FILE, even while it is open elsewhere."""
    with open_desk() as opened:
        opened.backup(file)
        say(f"{file}: a copy of {opened.path}")


@desk.command(epilog="Example: reviewdesk desk restore backups/desk-2026-03-02.db")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@flag("--force", "Restore a damaged backup.")
@options()
def restore(*, backup: Path, force: bool) -> None:
    """Replace the desk by BACKUP.

    The previous desk is kept under another name. The backup is checked first, and stays
    where it is.
    """
    path = desk_path()
    kept, runs = backups.restore(path, backup, core.now, force=force)
    if kept is not None:
        say(f"the previous desk is kept as {kept}")
    say(f"{path}: restored from {backup}")
    if not runs:
        say("it has no runs: load the reports again, and their labels are back")


@desk.command(epilog="Example: reviewdesk desk repair -o saved.db")
@output_options("New desk; DESK-repaired if omitted.")
@options("json")
def repair(*, output: Path | None, force: bool) -> None:
    """Recover what can be read of a damaged desk into a new one.

    The damaged file is only read. What was lost is listed; then the exit code is 1.
    """
    path = desk_path()
    with ProgressLine(f"reading {path}") as bar:
        found = backups.repair_desk(path, output, core.now, bar, replaced=force)
    if wants_json():
        put_shape(found, "head events runs lost", path=str(found.path))
    else:
        put(f"{found.path}: {found.events} events, {len(found.runs)} runs, head {found.head}")
        put("nothing was lost" if not found.lost else "lost:")
        for line in found.lost:
            put(f"  {line}")
        say(f"to use it: reviewdesk desk restore {found.path}")
    if found.lost:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk share --group evals")
@option("--group", "GROUP", "Let this group read and write the desk.")
@flag("--private", "Let only the owner read and write the desk.")
@options()
def share(*, group: str | None, private: bool) -> None:
    """Choose who else on this machine may open the desk.

    For a group, the desk's folder belongs to the group too, because SQLite keeps files beside the
    desk.
    """
    if private == (group is not None):
        raise UsageError("share: needs --group or --private", "Give one of them.")
    with open_desk() as opened:
        backups.share(opened.path, group)
        say(f"{opened.path}: {backups.access(opened.path)}")


@desk.command(epilog="Example: reviewdesk desk verify --json")
@option("--expect-head", "SEQ:HASH", "Check that the log has this entry.")
@flag("--full", "Also recompute every verdict from its report, and rebuild the text index.")
@options("json")
def verify(*, expect_head: str | None, full: bool) -> None:
    """Verify the label log and runs.

    Exits 1 if anything was changed or cut.
    """
    with ProgressLine("deciding again") as progress:
        found = core.verify(desk_path(), expect_head, progress if full else None)
    if wants_json():
        put_shape(found)
    else:
        put(f"{'whole' if found.ok else 'NOT WHOLE'}: {found.events} events, head {found.head}")
        for line in (*found.problems, *found.older, *found.loading):
            put(f"  {line}")
    if not found.ok:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk merge ben.db")
@click.argument("other", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options("json")
def merge(*, other: Path) -> None:
    """Merge what people did on the desk OTHER into this one.

    Labels, notes, tags and marks are verified first. The result is the same in every order,
    and merging again changes nothing. OTHER is only read.
    """
    from reviewdesk.desk.team.sync import merge as take

    with open_desk(new=True) as desk:
        found = take(desk, other)
    if wants_json():
        chains = [
            {"desk": one.desk, "reviewer": one.reviewer, "events": one.events, "new": one.taken}
            for one in found.chains
        ]
        put_shape(found, "new=taken head", chains=chains)
        return
    for one in found.chains:
        if one.taken:
            put(f"{chain_name(one.reviewer, one.desk)}: {one.taken} of {one.events} events are new")
    put(f"{found.taken} events are new, head {found.head}")


@desk.command(epilog="Example: reviewdesk desk sync /mnt/team/labels")
@file_argument("where")
@flag("--no-runs", "Exchange labels only.")
@options("json")
def sync(*, where: str, no_runs: bool) -> None:
    """Exchange labels and runs through the folder WHERE.

    WHERE may be a mounted share, or a folder that git, rclone or Syncthing copies. Each reviewer
    and desk has a file of its own there. Files are verified first; one that was changed is refused,
    and the exit code is 1.
    """
    from reviewdesk.desk.team import sync as team

    with open_desk(new=True) as desk, ProgressLine(f"syncing with {where}", "files") as bar:
        found = team.sync(desk, team.SharedFolder(where), bar, with_runs=not no_runs)
    if wants_json():
        put_shape(found, "place taken sent head chains runs refused notes")
    else:
        for chain in found.chains:
            who = chain_name(chain.reviewer, chain.desk)
            for new, side in ((chain.taken, "here"), (chain.sent, "there")):
                if new:
                    put(f"{who}: {new} of {chain.events} events are new {side}")
        for run in found.runs:
            put(f"run {show_line(run.name)}: {'taken' if run.taken else 'sent'}")
        refused = [f"{one.file}: {one.problem}. {one.hint}" for one in found.refused]
        for line in (*found.notes, *refused):
            say(line)
        moved = f"{plural(found.taken, 'event')} taken, {found.sent:,} sent"
        is_same = not (found.taken or found.sent or found.runs or found.refused)
        put(f"{'nothing new here or there' if is_same else moved}, head {found.head}")
    if found.refused:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk archive 's3://runs/2026/*.jsonl.gz' -o 2026.db")
@file_argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@option("--scheduler", "ADDRESS", "Dask scheduler, tcp://HOST:8786.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Local workers; one per core if omitted."
)
@output_options("New desk for the archive; your desk if omitted.")
@loading_options
@options("json")
def archive(
    *, patterns: tuple[str, ...], scheduler: str | None, workers: int | None, output: Path | None,
    force: bool, **given: Any,
) -> None:  # fmt: skip
    """Combine many report parts into one run.

    The run has the figures of all parts, but keeps only flagged verdicts and the random check.
    PATTERN is a path or an address (s3://, gs://, az://, https://) with * and **. Parts are
    reports, also gzipped. Bad parts are named and skipped.
    """
    from reviewdesk.desk.archive import put_together, workers_at
    from reviewdesk.views.json import review as shapes

    options = load_options(given)
    # The target first: what cannot be written is refused before any worker starts.
    with (
        _target(output, force=force) as desk,
        workers_at(scheduler, workers) as crew,
        ProgressLine(f"archiving {', '.join(patterns)}") as bar,
    ):
        made = put_together(desk, patterns, options, crew, max_size=given["max_size"], told=bar)
    for reason in made.bad:
        say(reason)
    if wants_json():
        put_json(shapes.archived(made))
    else:
        put(section_text(loaded(made.run.file, made)))
    if made.bad:
        leave(ExitCode.BAD_INPUT)


@contextmanager
def _target(output: Path | None, *, force: bool) -> Iterator[Desk]:
    """Open the desk of the options, or a new one, which has its name only once it is whole."""
    if output is None:
        with open_desk(new=True) as desk:
            yield desk
        return
    own = desk_path()
    with files.whole_desk(output, own, force=force) as part, open_desk(part, new=True) as desk:
        yield desk


# Servers


@click.command(epilog="Example: reviewdesk serve --run support-bot")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@option(
    "--public-url public", "URL", "Address of a reverse proxy in front; repeatable.", multiple=True
)
@option("--trust-header", "NAME", "Header in which a login proxy names the reviewer.")
@option(
    "--trusted-proxy proxies",
    "ADDRESS",
    "Address that may send this header; repeatable.",
    multiple=True,
)
@click.option(
    "--max-visitors",
    "most",
    type=click.IntRange(1, 500),
    default=8,
    show_default=True,
    help="Maximum simultaneous visitors.",
)
@option("--run run_name", "RUN", "Run to review.")
@option("--read-only shared", "RUN", "Share only this run, read-only.")
@options()
def serve(
    *, host: str, port: int, public: tuple[str, ...], trust_header: str | None,
    proxies: tuple[str, ...], most: int, run_name: str | None, shared: str | None,
) -> None:  # fmt: skip
    """Serve the console to browsers.

    Prints a link with a token: anybody who has it can review, under any name, but cannot
    reach files or API keys of this machine. With --trust-header and --trusted-proxy, a login proxy
    says who the reviewer is, and there is no token.
    """
    if run_name and shared:
        raise UsageError("--read-only names its run already", "Leave --run out.")
    try:
        from reviewdesk.web.access import SignOn, Site, is_loopback, public_origin
        from reviewdesk.web.server import serve
    except ModuleNotFoundError as error:
        problem = f"serve needs {error.name}, which is not installed"
        raise UsageError(problem, "Install it: pip install 'reviewdesk[web]'.") from None
    origins = tuple(map(public_origin, public))
    sign_on = SignOn.of(trust_header, proxies)

    def ready(site: Site) -> None:
        put(site.link)
        sys.stdout.flush()
        if not (is_loopback(host) or any(one.startswith("https:") for one in origins)):
            say(
                "connections are not encrypted: put a proxy with TLS in front, and name it with"
                " --public-url"
            )
        say(f"serving {what} for up to {most} consoles at a time; ctrl+c ends them and the server")

    # The desk stays open, so that those who only read find its log.
    with open_desk() as desk:
        run = desk.run(shared or run_name)
        what = f"{run.name}, for reading" if shared else f"{desk.path}"
        # Nothing in it comes from a visitor. -P: no module of the folder in which the server was
        # started takes the place of one of ours.
        command = [sys.executable, "-P", "-m", "reviewdesk", "--desk", str(desk.path.absolute())]
        command += ["--reviewer", desk.reviewer] if shared else []
        command += ["console", *(["--run", run.hash] if shared or run_name else [])]
        command += ["--read-only"] if shared else []
        command += ["--signed-on"] if sign_on is not None else []
        serve(
            lambda taken: Site(host, taken, origins, sign_on=sign_on),
            (host, port), command, most, say, ready,
        )  # fmt: skip
        desk.still_there()
        say(f"saved in {desk.path}")


@click.command(hidden=True)
@click.option("--run", "run_name", metavar="HASH")
@click.option("--read-only", "shared", is_flag=True)
@click.option("--signed-on", "named", is_flag=True)
@options()
def console(*, run_name: str | None, shared: bool, named: bool) -> None:
    """Run the app behind a page that `serve` has sent to a browser."""
    settings = current_settings()
    named_keys(settings)
    opening: Opening | str
    if shared:
        # For reading, with the labels of the person who shares it.
        desk = Desk.open(
            desk_path(), reviewer=settings.reviewer, access=Access.READ, only=run_name or ""
        )
        opening = Opening(desk, desk.run(), View())
    elif named:
        opening = _opened(settings.reviewer, run_name, settings)
    else:
        with open_desk() as desk:
            opening = desk.run(run_name).name
    run_app(opening, settings, lambda name: _opened(name, run_name, settings))


def _opened(typed: str, run_name: str | None, settings: Settings) -> Opening:
    """Open the desk for a name that was typed, where its reviewer left the run."""
    desk = Desk.open(existing(desk_path()), reviewer=reviewer_name(typed))
    try:
        run = desk.run(run_name)
        desk.opened(run)
        kept = desk.view(run)
    except BaseException:
        desk.close()
        raise
    view = kept or View(blind=settings.blind)
    notice = opening_line(kept, view, settings, named_keys(settings), asked=False)
    return Opening(desk, run, view, notice or "")


@click.command(hidden=True, epilog="Example: reviewdesk mcp --desk team.db")
@flag("--allow-labels", "Let agents suggest labels.")
@option("--agent", "NAME", "Name shown for suggestions.", default="agent", show_default=True)
@options()
def mcp(*, allow_labels: bool, agent: str) -> None:
    """Serve the desk to an agent (MCP, over stdin and stdout).

    Tools: runs, queue, show, calibrate and gate. Nothing is written, unless --allow-labels adds
    suggest_label; suggestions are kept beside labels, and no figure counts them.
    """
    try:
        from reviewdesk.mcp import DeskTools, make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        problem = "mcp: the package of the protocol is not installed"
        raise UsageError(problem, "Add it with: pip install 'reviewdesk[mcp]'") from error
    check_agent(agent)
    path = desk_path()
    reviewer = current_settings().reviewer

    def opened(writing: bool) -> Desk:
        if writing:
            return Desk.open(existing(path), reviewer=reviewer)
        return Desk.open(path, reviewer=reviewer, access=Access.READ)

    # The person who sets it up reads here that the desk cannot be used, and not in the agent's log.
    opened(False).close()
    if sys.stdin.isatty():
        say("waiting for an agent's client on standard input; ctrl+c ends it")
    make_server(DeskTools(opened, Path.cwd(), agent), labels=allow_labels).run()


# Settings


@click.group(
    invoke_without_command=True, epilog="Example: reviewdesk config --example > config.toml"
)
@flag("--example as_example", "Print a file with every setting.")
@options("json")
@click.pass_context
def config(ctx: click.Context, *, as_example: bool) -> None:
    """Show the settings in force, and your saved filters.

    The file and its keys are checked. What you choose on the screen is kept by the desk and
    overrides the file; the environment and the options of a command override both.
    """
    if ctx.invoked_subcommand is not None:
        return
    if as_example:
        if wants_json():
            raise UsageError("--example prints TOML", "Leave out --json.")
        put("\n".join(_example()))
        return
    facts = _facts(current_settings())
    if wants_json():
        put_json(facts)
        return
    put(f"file  {facts['file']}{'' if facts['exists'] else '  (not there)'}")
    settings = {
        name: (_value_text(f["value"]), f["source"]) for name, f in facts["settings"].items()
    }
    wide = max(len(value) for value, _ in settings.values())
    for name, (value, source) in settings.items():
        put(f"{name:15}  {value:{wide}}  {source}")
    if facts["kept"]:
        put("kept by the desk, overriding the file; the palette (ctrl+p) forgets it:")
    for name, found in facts["kept"].items():
        put(f"  {name:12}  {_value_text(found['value'])}")
    put("keys that differ from the defaults:" if facts["keys"] else "keys: the defaults")
    for name, found in facts["keys"].items():
        keys, default = (" ".join(found[what]) or "none" for what in ("keys", "default"))
        put(f"  {name}  {keys}  (default {default})  {found['source']}")


@config.group(invoke_without_command=True)
@options("json")
@click.pass_context
def filters(ctx: click.Context) -> None:
    """List your saved filters; use one as --filter @NAME."""
    if ctx.invoked_subcommand is not None:
        return
    with open_desk() as desk:
        found = saved_filters.saved(desk)
        if wants_json():
            put_json(found)
            return
        for name, text in found.items():
            put(f"@{show_line(name):20} {show_line(text)}")


@filters.command(epilog="Example: reviewdesk config filters save todo 'esc label:none'")
@click.argument("name")
@click.argument("filter_", metavar="FILTER")
@options()
def save(*, name: str, filter_: str) -> None:
    """Save FILTER as NAME, replacing an older one of that name."""
    with open_desk() as desk:
        saved_filters.save(desk, name, filter_)
        say(f"@{name.removeprefix('@')}: saved")


@filters.command(epilog="Example: reviewdesk config filters remove todo")
@click.argument("name")
@options()
def remove(*, name: str) -> None:
    """Remove the saved filter NAME."""
    with open_desk() as desk:
        saved_filters.forget(desk, name)
        say(f"@{name.removeprefix('@')}: removed")


def _facts(settings: Settings) -> dict[str, Any]:
    """Return the settings in force, what the desk keeps for the screen, and the changed keys."""
    from reviewdesk.app.controllers.review import usable
    from reviewdesk.app.keys.actions import checked, shown_key

    path = settings_path()
    keymap = checked(settings)
    chosen: dict[str, Any] = {}
    views: dict[str, View] = {}
    with suppress(DeskError), own_desk() as desk:
        if desk is not None:
            chosen = choices(desk)
            views = desk.views()
    kept = usable(chosen)
    for part in ("order", "filter"):
        usual = getattr(View(), part)
        runs = {run: getattr(view, part) for run, view in views.items()}
        if changed := {run: value for run, value in runs.items() if value != usual}:
            kept[part] = changed
    settings = settings.with_kept(kept)
    values = {setting.name: getattr(settings, setting.name) for setting in SETTINGS}
    for name in ("api_key_command", "api_key_keyring"):
        values[name] = dict.fromkeys(values[name], "set")
    values["desk"] = values["desk"] or str(default_path())
    values["reviewer"] = values["reviewer"] or default_reviewer()
    return {
        "file": str(path),
        "exists": path.exists(),
        "settings": {
            name: {"value": value, "source": settings.source(name)}
            for name, value in values.items()
        },
        "kept": {name: {"value": value, "source": KEPT} for name, value in kept.items()},
        "keys": {
            name: {
                "keys": [shown_key(key) for key in keymap.keys(name)],
                "default": [shown_key(key) for key in keymap.defaults[name]],
                "source": settings.source(f"keys.{name}"),
            }
            for name in keymap.changed()
        },
    }


def _value_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_HEAD = """\
# The settings of reviewdesk, each at its default. In this file they apply to every command:
# {path}
# REVIEWDESK_CONFIG names another file. What is chosen on the screen is kept by the desk and
# overrides the file; the environment and the options of a command override both.
"""
_KEYS = """\
# Which keys do what: "action" = "key", or a list of keys. A key is the character that it types, or
# a name as below. An empty list takes an action's keys away; the palette still has it. These are
# the defaults; take the # off a line to change it.
[keys]"""


def _example() -> Iterator[str]:
    """Yield the lines of an example settings file that lists every setting and changes none."""
    from reviewdesk.app.keys.actions import ACTIONS, THEMES, Keymap, shown_key

    yield _HEAD.format(path=settings_path({}))
    for setting in SETTINGS:
        yield f"# {setting.about}"
        names = f": {', '.join(THEMES)}" if setting.name == "theme" else ""
        yield f"# {setting.wanted[:1].upper()}{setting.wanted[1:]}{names}."
        if setting.variable:
            yield f"# {setting.variable} overrides it."
        yield f"{setting.name} = {_value_text(getattr(Settings(), setting.name))}\n"
    yield _KEYS
    own = Keymap.of(ACTIONS)
    group = ""
    for name, action in ACTIONS.items():
        if action.group != group:
            group = action.group
            yield f"\n# {group}"
        keys = [shown_key(key) for key in own.keys(name)]
        value = _value_text(keys[0] if len(keys) == 1 else keys)
        yield f"#{_value_text(name)} = {value}  # {action.title}"
