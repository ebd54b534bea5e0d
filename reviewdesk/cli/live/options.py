"""What `judge` and `rerun` share: options of the calls, their values, and the line of progress."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reviewdesk.cli.common import TerminalLine
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.domain.panel.turnout import Allowance, LiveProgress

F = TypeVar("F", bound=Callable[..., Any])

_LIMITS = (
    ("--max-cost", "USD", None, "Stop before spending more."),
    ("--concurrency", "N", "16", "Simultaneous calls; 16 by default."),
    ("--per-host", "N", None, "Simultaneous calls to one host."),
    (
        "--deadline", "SECONDS", None,
        "Seconds to try for each ballot; 600 by default.",
    ),
    (
        "--max-wait", "SECONDS", None,
        "Longest pause of a model before its jurors are skipped; 600 by default.",
    ),
    (
        "--max-failed", "N", "0",
        "Ballots that may fail: a count, or a share such as 5%; 0 by default.",
    ),
)  # fmt: skip


def limit_options(command: F) -> F:
    """Add the options of what a run may spend, open, wait for and lose."""
    for name, metavar, default, text in reversed(_LIMITS):
        command = click.option(name, metavar=metavar, default=default, help=text)(command)
    return command


def limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse what the options of ``limit_options`` say, by the names of an order's fields."""
    per_host = given["per_host"]
    return {
        "max_cost": usd(given["max_cost"]),
        "concurrency": call_limit(given["concurrency"], "--concurrency"),
        "per_host": None if per_host is None else call_limit(per_host, "--per-host"),
        "deadline": seconds(given["deadline"], "--deadline"),
        "max_wait": seconds(given["max_wait"], "--max-wait"),
        "max_failed": allowance(given["max_failed"]),
    }


def allowance(text: str) -> Allowance:
    """Parse a count of ballots, or a share of them if the text has a percent sign or a point."""
    from reviewdesk.domain.panel.turnout import Allowance

    is_percent = text.endswith("%")
    is_share = is_percent or "." in text
    try:
        value = float(text.removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not (0 <= value <= 1 if is_share else text.isdecimal() and text.isascii()):
        raise UsageError(
            f"--max-failed: {text!r} is neither a count nor a share of ballots",
            "Write a whole number such as 3, or a share such as 5% or 0.05.",
        )
    return Allowance(value, is_share)


def seconds(text: str | None, option: str) -> float | None:
    """Parse the seconds that an option gives; ``None`` if it is not there."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) or not 0 < float(text) <= 86_400:
        raise UsageError(
            f"{option}: {text!r} is not a number of seconds", "Write one above 0, up to 86400."
        )
    return float(text)


class LiveLine(TerminalLine):
    """The progress of a live run; ``things`` says what is counted."""

    def __init__(self, things: str) -> None:
        """Start without a drawn line."""
        super().__init__()
        self._things = things

    def __call__(self, progress: LiveProgress) -> None:
        """Draw the progress of the batch."""
        from reviewdesk.views.progress import live_text

        self.draw(f"{self._things} {live_text(progress)}", progress.seconds)


def usd(text: str | None) -> float | None:
    """Parse an amount of US dollars."""
    if text is None:
        return None
    try:
        usd = float(text.removeprefix("$"))
    except ValueError:
        usd = math.nan
    if not math.isfinite(usd) or usd < 0:
        raise UsageError(
            f"--max-cost: {text!r} is not an amount", "Write US dollars, such as 2.50."
        )
    return usd


def call_limit(text: str, option: str) -> int:
    """Parse a number of open calls, given by an option."""
    if not re.fullmatch("[1-9][0-9]{0,3}", text) or int(text) > 1000:
        raise UsageError(
            f"{option}: {text!r} is not a number of calls", "Write one from 1 to 1000."
        )
    return int(text)


def check_terminal() -> None:
    """Raise UsageError, before anything is read, if there is no terminal to ask on."""
    from reviewdesk.cli.terminal import can_ask

    if not can_ask():
        raise UsageError(
            "nothing is sent without consent, and there is no terminal to ask on", "Give --yes."
        )
