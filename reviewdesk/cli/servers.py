"""Serve a desk to others: the console to people in browsers, and tools to agents."""

import sys
from pathlib import Path

import click

from reviewdesk.cli.common import (
    current_settings,
    desk_path,
    flag,
    open_desk,
    option,
    options,
    put,
    say,
)
from reviewdesk.cli.terminal import named_keys, opening_line, run_app
from reviewdesk.desk.core import Access, Desk, existing
from reviewdesk.desk.review.edits import check_agent
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import View
from reviewdesk.domain.tags import reviewer_name
from reviewdesk.errors import UsageError
from reviewdesk.settings import Settings


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
        from reviewdesk.web.server import Offer, serve
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
            (host, port), Offer(command, most), say, ready,
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
