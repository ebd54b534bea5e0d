"""What `judge`, `rerun` and `improve try` share: the options of calls, and consent to them."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reviewdesk.cli.common import leave, option, say, say_section
from reviewdesk.cli.terminal import agreed, can_ask
from reviewdesk.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from reviewdesk.domain.panel.turnout import Allowance
    from reviewdesk.views.document import Section

F = TypeVar("F", bound=Callable[..., Any])


class _Amount(click.FloatRange):
    """A finite number in a range, with or without a dollar sign."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the number; not a number at all, ``nan`` and ``inf`` are refused."""
        text: Any = str(value).removeprefix("$")
        found: float = super().convert(text, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


def _allowance(_ctx: click.Context, _param: click.Parameter, text: str) -> "Allowance":
    """Parse a count of ballots, or a share of them if the text has a percent sign or a point."""
    from reviewdesk.domain.panel.turnout import Allowance

    is_percent = text.endswith("%")
    is_share = is_percent or "." in text
    try:
        value = float(text.removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not (0 <= value <= 1 if is_share else text.isdecimal() and text.isascii()):
        hint = "Write a whole number such as 3, or a share such as 5% or 0.05."
        raise click.BadParameter(f"{text!r} is neither a count nor a share of ballots. {hint}")
    return Allowance(value, is_share)


_CALLS = click.IntRange(1, 1000)
_SECONDS = _Amount(0, 86_400, min_open=True)
_LIMITS = (
    option("--max-cost", "USD", "Stop before spending more.", type=_Amount(0)),
    option("--concurrency", "N", "Simultaneous calls; 16 by default.", type=_CALLS, default=16),
    option("--per-host", "N", "Simultaneous calls to one host.", type=_CALLS),
    option(
        "--deadline", "SECONDS", "Seconds to keep trying for each ballot; 600 by default.",
        type=_SECONDS,
    ),
    option(
        "--max-wait", "SECONDS",
        "Longest pause of a model before its jurors are skipped; 600 by default.", type=_SECONDS,
    ),
    option(
        "--max-failed", "N", "Ballots that may fail: a count, or a share such as 5%; 0 by default.",
        default="0", callback=_allowance,
    ),
)  # fmt: skip


def limit_options(command: F) -> F:
    """Add the options of what a run may spend, open, wait for and lose: the fields of an order."""
    for add in reversed(_LIMITS):
        command = add(command)
    return command


def ask_consent(section: "Section", *, yes: bool, note: str = "") -> bool:
    """Show what would be sent; return whether it may be, as agreed in advance or now."""
    say_section(section)
    if note:
        say(note)
    return yes or agreed("send?")


def require_consent(section: "Section", *, yes: bool) -> None:
    """Show what would be sent; unless that is agreed to, end the command."""
    if not ask_consent(section, yes=yes):
        say("nothing was sent")
        leave(ExitCode.INTERRUPTED)


def check_terminal() -> None:
    """Raise UsageError, before anything is read, if there is no terminal to ask on."""
    if not can_ask():
        raise UsageError(
            "nothing is sent without consent, and there is no terminal to ask on", "Give --yes."
        )
