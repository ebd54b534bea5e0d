"""Offer the desk to agents."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reviewdesk.cli.common import options, say
from reviewdesk.cli.invocation import current_settings, desk_path
from reviewdesk.errors import UsageError


@click.command(epilog="Example: reviewdesk mcp --desk team.db")
@click.option("--allow-labels", is_flag=True, help="Let agents suggest labels.")
@click.option(
    "--agent",
    metavar="NAME",
    default="agent",
    show_default=True,
    help="Name shown for suggestions.",
)
@options()
def mcp(*, allow_labels: bool, agent: str) -> None:
    """Serve the desk to an agent (MCP, over stdin and stdout).

    Tools: runs, queue, show, calibrate and gate. Nothing is written, unless --allow-labels adds
    suggest_label; suggestions are kept beside labels, and no figure counts them.
    """
    from reviewdesk.desk.core import Desk, default_path, open_to_read
    from reviewdesk.desk.review.edits import check_agent

    try:
        from reviewdesk.mcp.server import make_server
        from reviewdesk.mcp.tools import DeskTools
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        problem = "mcp: the package of the protocol is not installed"
        raise UsageError(problem, "Add it with: pip install 'reviewdesk[mcp]'") from error
    check_agent(agent)
    path = desk_path() or default_path()
    reviewer = current_settings().reviewer or None

    def open_desk(writing: bool) -> Desk:
        return Desk.open(path, reviewer=reviewer) if writing else open_to_read(path, reviewer)

    # Whoever sets it up reads here that the desk cannot be used, and not in the agent's log.
    open_desk(False).close()
    if sys.stdin.isatty():
        say("waiting for an agent's client on standard input; ctrl+c ends it")
    make_server(DeskTools(open_desk, Path.cwd(), agent), labels=allow_labels).run()
