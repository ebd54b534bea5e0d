"""What `judge` and `rerun` share: options of the calls, their values, and the line of progress."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reviewdesk.cli.common import TerminalLine, say, say_section
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.domain.panel.turnout import Allowance, LiveProgress
    from reviewdesk.views.document import Section

F = TypeVar("F", bound=Callable[..., Any])

_LIMITS = (
    ("--max-cost", "USD", None, "Stop before spending more."),
    ("--concurrency", "N", "16", "Simultaneous calls; 16 by default."),
    ("--per-host", "N", None, "Simultaneous calls to one host."),
    (
        "--deadline", "SECONDS", None,
        "Seconds to keep trying for each ballot; 600 by default.",
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
    most = given["max_cost"]
    usd = None if most is None else most.removeprefix("$")
    return {
        "max_cost": _number("--max-cost", usd, "an amount", "US dollars, such as 2.50", shown=most),
        "concurrency": _calls("--concurrency", given["concurrency"]),
        "per_host": _calls("--per-host", given["per_host"]),
        "deadline": _seconds("--deadline", given["deadline"]),
        "max_wait": _seconds("--max-wait", given["max_wait"]),
        "max_failed": allowance(given["max_failed"]),
    }


def _calls(option: str, text: str | None) -> int | None:
    about = "a number of calls", "one from 1 to 1000"
    found = _number(option, text, *about, pattern="[1-9][0-9]{0,3}", most=1000)
    return None if found is None else int(found)


def _seconds(option: str, text: str | None) -> float | None:
    about = "a number of seconds", "one above 0, up to 86400"
    return _number(
        option, text, *about, pattern=r"(?=.*[1-9])[0-9]{1,6}(\.[0-9]{1,3})?", most=86_400
    )


def _number(
    option: str, text: str | None, noun: str, hint: str, *,
    pattern: str = ".*", most: float = math.inf, shown: str | None = None,
) -> float | None:  # fmt: skip
    """Parse a number from 0 on that an option gives; ``None`` if it is not there."""
    if text is None:
        return None
    try:
        found = float(text) if re.fullmatch(pattern, text) else math.nan
    except ValueError:
        found = math.nan
    if 0 <= found <= most and math.isfinite(found):
        return found
    raise UsageError(f"{option}: {shown or text!r} is not {noun}", f"Write {hint}.")


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


class LiveLine(TerminalLine):
    """The progress of a live run; ``things`` says what is counted."""

    def __init__(self, things: str) -> None:
        """Start without a drawn line."""
        super().__init__()
        self._things = things

    def __call__(self, progress: LiveProgress) -> None:
        """Draw the progress of the batch."""
        from reviewdesk.views.queue import live_text

        self.draw(f"{self._things} {live_text(progress)}", progress.seconds)


def consented(section: Section, *, yes: bool, note: str = "") -> bool:
    """Show what would be sent; return whether it may be, as agreed in advance or now."""
    from reviewdesk.cli.terminal import agreed

    say_section(section)
    if note:
        say(note)
    return yes or agreed("send?")


def check_terminal() -> None:
    """Raise UsageError, before anything is read, if there is no terminal to ask on."""
    from reviewdesk.cli.terminal import can_ask

    if not can_ask():
        raise UsageError(
            "nothing is sent without consent, and there is no terminal to ask on", "Give --yes."
        )
