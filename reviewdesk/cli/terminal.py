"""The terminal: the app and the line it opens with, questions, and signals that end."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from reviewdesk.cli.common import say, say_section
from reviewdesk.desk import files
from reviewdesk.desk.options import scale_of, share_of
from reviewdesk.domain.records import ProposedMap, View
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import Ended, UnclearTableError, UsageError
from reviewdesk.system.signals import ENDING, on_end
from reviewdesk.system.terminal import open_keyboard, read_key, single_keys
from reviewdesk.views.queue import proposed

if TYPE_CHECKING:
    from reviewdesk.desk.review.runs import Opening
    from reviewdesk.settings import Settings


@contextmanager
def terminal() -> Iterator[None]:
    """Read keys from the terminal even if stdin was the report, and draw the screen on it.

    The app draws through stderr; if that is redirected, it leads to stdout's terminal meanwhile.
    """
    if not sys.stdin.isatty():
        try:
            open_keyboard()
        except OSError as error:
            raise UsageError(
                "no terminal to read keys from", "Load it: reviewdesk ingest."
            ) from error
    kept = None if os.isatty(2) else os.dup(2)
    if kept is not None:
        os.dup2(1, 2)
    try:
        yield
    finally:
        if kept is not None:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def run_app(
    opening: "Opening | str", settings: "Settings", enter: "Callable[[str], Opening] | None" = None
) -> None:
    """Run the console, for a visitor if with ``enter``, and say what could not be saved."""
    # By itself the toolkit lets panes wait 16 ms, and a worker keeps the interpreter for 5 ms.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    sys.setswitchinterval(0.0005)
    import asyncio

    from reviewdesk.app.app import ReviewApp

    def started() -> None:
        # What is loaded so far takes no part in the collections of garbage, each a pause of a key.
        gc.freeze()
        gc.set_threshold(2_500, 4, 200)

    app = ReviewApp(opening, settings, enter=enter)
    app.started = started
    ended: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise Ended(number) from None
        # An error in the middle of the loop would leave the terminal as the app had set it.
        loop.call_soon_threadsafe(app.action_close_desk)

    before = {number: signal.getsignal(number) for number in ENDING}
    on_end(handle)
    try:
        with terminal() if enter is None else nullcontext():
            app.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for line in app.flush(5 if ended or enter is not None else 0.5):
            say(line)
        if enter is not None and app.opening is not None:
            app.opening.desk.close()
    if enter is None and app.opening is not None:
        app.opening.desk.still_there()
        say(f"saved in {app.opening.desk.path}")
        if ended:
            raise Ended(ended[0])
    if app.return_code:
        raise app.fault or RuntimeError("the console stopped unexpectedly")


def can_ask() -> bool:
    """Return True if the process can read keys from a terminal and show a question on one."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask on stderr and return True for ``y``; every other key, even Enter, refuses."""
    with single_keys():
        click.echo(f"{question} [y/N] ", nl=False, err=True)
        try:
            key = read_key()
        finally:
            click.echo(err=True)
    return key in {"y", "Y"}


def named_keys(settings: "Settings") -> dict[str, str]:
    """Check the app's settings, and return the keys that messages name, by their actions."""
    from reviewdesk.app.keys.actions import checked

    keymap = checked(settings)
    named = ("label.pass", "label.fail", "label.unsure", "blind", "reveal")
    return {name: keymap.first(name) or "the palette" for name in named}


def opening_line(
    kept: View | None, view: View, settings: "Settings", keys: dict[str, str], *, asked: bool
) -> str | None:
    """Return what the first line under the item says: what to do, or which mode goes on."""
    key = keys["blind"]
    if kept is None:
        passed, failed, unsure = (keys[f"label.{word}"] for word in ("pass", "fail", "unsure"))
        do = f"Read, then {passed} pass, {failed} fail, {unsure} can't tell."
        if view.blind:
            return f"{do} Blind: {keys['reveal']} reveals the panel's answer."
        return f"{do} {key}: blind, hides the panel's answer."
    if asked:
        return None
    if view.blind:
        return f"still blind: {key} shows the answers"
    return f"answers still shown: {key} reviews blind" if settings.blind else None


# What the columns of a table are: asked on a terminal, and kept as a map beside the table

_RULES = ("majority", "mean", "trimmed_mean", "unanimous", "criteria", "none")
_ITEM = "Which column names the item? (0: the row's number)"
_KEPT = ("item_column", "judge_columns", "criteria_columns", "strategy", "scale", "threshold")
"""The options whose values the map beside the table holds."""


def answers(
    file: str,
    given: dict[str, Any],
    unclear: UnclearTableError,
    propose: Callable[[dict[str, Any]], ProposedMap],
) -> dict[str, Any] | None:
    """Return the options of a load with what a person answered, or ``None`` to leave it."""
    say(f"{unclear.file}: {unclear.problem}")
    made = dict(given) if unclear.nested else given | _columns(unclear)
    shown = propose(made)
    ballots = [one for body in shown.verdicts for one in body["jurors"]]
    raw = any("raw_score" in one and "score" not in one for one in ballots)
    if not unclear.nested and (raw or any("score" in b and "pass" not in b for b in ballots)):
        made |= _threshold(raw=raw)
        shown = propose(made)
    say_section(proposed(shown))
    if not click.confirm("Open it like this?", default=True, err=True):
        return None
    path = Path(f"{file}.map.toml")
    if path.exists():
        return made
    files.write(None, path, [shown.text], force=False)
    say(f"kept as {show_line(str(path), 200)}; the file is read with it from now on")
    return given | dict.fromkeys(_KEPT)


def _columns(unclear: UnclearTableError) -> dict[str, Any]:
    columns = unclear.columns
    for place, name in enumerate(columns, 1):
        say(f"  {place}  {show_line(name, 70)}")
    found: dict[str, Any] = {}
    item = [unclear.item] if unclear.item in columns else _chosen(_ITEM, columns, ())
    if item:
        found["item_column"] = item[0]
    judges: list[str] = []
    while not judges:
        judges = _chosen("Which columns have the answers? (such as 3,4)", columns, unclear.judges)
    rule = "none"
    if len(judges) > 1:
        ask = "How do these judges decide? (criteria: each column asks a different question)"
        rule = click.prompt(ask, type=click.Choice(_RULES), default=_RULES[0], err=True)
    found["criteria_columns" if rule == "criteria" else "judge_columns"] = ",".join(judges)
    found["strategy"] = None if rule in {"criteria", "none"} else rule
    return found


def _threshold(*, raw: bool) -> dict[str, Any]:
    """Ask from which score a response passes; ``raw`` scores need their scale with it."""
    about = "such as 4 of 1..5" if raw else "from 0 to 1"
    ask = f"From which score does a response pass? ({about}, empty: not stated)"
    while text := click.prompt(ask, default="", show_default=False, err=True).strip():
        least, _, scale = text.replace(",", ".").partition(" of ")
        try:
            low, high = scale_of(scale) if raw else (0, 1)
            share = share_of("threshold", (float(least) - low) / (high - low), "a threshold")
        except (UsageError, ValueError, ZeroDivisionError):
            say(f"{show_line(text, 60)} is not understood: write it {about}")
            continue
        return {"threshold": share} | ({"scale": scale} if raw else {})
    return {}


def _chosen(question: str, columns: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Ask for columns by their numbers or names; an answer that fits none is asked for again."""
    default = ",".join(str(columns.index(name) + 1) for name in usual if name in columns) or "0"
    while True:
        said = click.prompt(question, default=default, err=True)
        words = [word.strip() for word in said.split(",") if word.strip() not in {"", "0"}]
        known = {str(place): name for place, name in enumerate(columns, 1)}
        if wrong := [word for word in words if word not in known and word not in columns]:
            say(f"there is no column {show_line(wrong[0], 60)}")
            continue
        return [known.get(word, word) for word in words]
