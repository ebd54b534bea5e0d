"""Ask on a terminal what the columns of a table are, and keep the answer as a map beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import say, say_section
from reviewdesk.desk import files
from reviewdesk.domain.records import ProposedMap
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UnclearTableError, UsageError
from reviewdesk.views.queue import proposed

_RULES = ("none", "majority", "mean", "trimmed_mean", "unanimous")


def answers(
    file: str,
    given: dict[str, Any],
    unclear: UnclearTableError,
    propose: Callable[[dict[str, Any]], ProposedMap],
) -> dict[str, Any] | None:
    """Return the options of a load with what a person answered, or ``None`` to leave it.

    ``propose`` makes the map of some options. Its first verdicts are shown before it is written.
    """
    say(f"{unclear.file}: {unclear.problem}")
    made = dict(given) if unclear.nested else given | _columns(unclear)
    shown = propose(made)
    say_section(proposed(shown))
    if not click.confirm("Open it like this?", default=True, err=True):
        return None
    path = Path(f"{file}.map.toml")
    if path.exists():
        return made
    files.write(None, path, [shown.text], force=False)
    say(f"kept as {show_line(str(path), 200)}; --map reads it again")
    columns = dict.fromkeys(("item_column", "judge_columns", "criteria_columns"))
    return made | columns | {"map": str(path)}


def _columns(unclear: UnclearTableError) -> dict[str, Any]:
    """Ask which columns hold what, and how the judges decide."""
    columns = unclear.columns
    for place, name in enumerate(columns, 1):
        say(f"  {place}  {show_line(name, 70)}")
    found: dict[str, Any] = {}
    item = _chosen("Which column names the item? (0: the row's number)", columns, (unclear.item,))
    if item:
        found["item_column"] = item[0]
    judges: list[str] = []
    while not judges:
        judges = _chosen("Which columns hold scores? (such as 3,4)", columns, unclear.judges)
    kind = "judges"
    if len(judges) > 1:
        kinds = click.Choice(["judges", "criteria"])
        ask = "Are they judges of one question, or criteria that ask different ones?"
        kind = click.prompt(ask, type=kinds, default=kind, err=True)
    found["judge_columns" if kind == "judges" else "criteria_columns"] = ",".join(judges)
    ask = "From which score does a response pass? (0 to 1, empty: not stated)"
    score = click.prompt(ask, default="", show_default=False, err=True).strip()
    if score:
        found["threshold"] = _share(score)
    if kind == "judges" and len(judges) > 1:
        rule = click.prompt(
            "How do they decide?", type=click.Choice(_RULES), default="none", err=True
        )
        found["strategy"] = None if rule == "none" else rule
    return found


def _share(text: str) -> float:
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise UsageError(f"{show_line(text, 40)} is not a threshold", "Write a number from 0 to 1.")
    return found


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
