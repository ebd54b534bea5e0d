"""The command line and the palette: what is typed, its arguments, and how it is completed."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.state import Completer, Session
from reviewdesk.app.keys.actions import ACTIONS, THEMES, Action
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.query.filter import Completion, Option, Vocabulary, complete, complete_order
from reviewdesk.errors import UsageError


def matching(typed: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions in which each typed word is found.

    One with this title comes first, then those whose id has the words at the start of its parts.
    """
    words = typed.lower().split()

    def rank(action: Action) -> tuple[bool, bool]:
        name = f" {action.id.replace('.', ' ')} {action.id}"
        return action.title != typed.strip(), not all(f" {word}" in name for word in words)

    def text(action: Action) -> str:
        return f"{action.title.lower()} {action.id.replace('.', ' ')} {action.id}"

    return sorted((one for one in actions if all(w in text(one) for w in words)), key=rank)


class Command(Struct, frozen=True):
    """One command. ``argument`` names what follows it, in square brackets if it is optional."""

    name: str
    argument: str
    note: str


NAMED = {
    "team": "team", "queue": "screen.queue", "item": "screen.item", "cal": "screen.calibration",
    "runs": "screen.runs", "stop": "stop", "help": "help", "quit": "quit", "q": "quit",
}  # fmt: skip
"""The commands that carry out an action."""
COMMANDS = {
    command.name: command
    for command in (
        Command("go", "ROW|ID", "jump to a row of the queue or to a verdict; :42 is :go 42"),
        Command("filter", "[FILTER]", "filter the queue; without a filter, show all"),
        Command("order", "ORDER", "order the queue; - in front descends"),
        *(Command(name, "", ACTIONS[action].title.lower()) for name, action in NAMED.items()),
        Command("run", "NAME", "review another run"),
        Command("compare", "[RUN]", "which panel is right more often on the items of both runs"),
        Command("improve", "[PANEL]", "what the panel gets wrong, candidates, tries, adoption"),
        Command("open", "FILE", "load a report and review it"),
        Command(
            "export", "FILE", "labels: .jsonl, full.jsonl, .csv, .yaml; the run: .json, html, .md"
        ),
        Command("ask", "[QUESTION]", "ask, e.g. accuracy >= 0.9, and label what answers it; close"),
        Command("theme", "NAME", "switch the theme"),
    )
}


def parse_command(text: str) -> tuple[str, str]:
    """Return the name and the argument of a command line.

    Raises:
        UsageError: the name is unknown, or the argument is missing or too much.
    """
    text = text.strip().removeprefix(":").strip()
    if text.isdecimal():
        return "go", text
    name, _, argument = text.partition(" ")
    argument = argument.strip()
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, 3, 0.5)
        hint = f"Did you mean {', '.join(near)}?" if near else "tab lists the commands."
        raise UsageError(f"no command {name!r}" if name else "no command was typed", hint)
    if command.argument and not command.argument.startswith("[") and not argument:
        raise UsageError(f"{name} needs {command.argument}", f"{name}: {command.note}.")
    if argument and not command.argument:
        raise UsageError(f"{name} takes nothing after it", f"Found {argument!r}.")
    return name, argument


def complete_command(text: str, cursor: int, arguments: Mapping[str, Completer]) -> Completion:
    """Complete the name of a command or, after the name, the command's argument."""
    head = text[:cursor]
    lead = len(head) - len(head.lstrip(": "))
    name, space, typed = head[lead:].partition(" ")
    if not space:
        options = [Option(c.name, f"{c.argument}  {c.note}".strip()) for c in COMMANDS.values()]
        return choose(lead, cursor, name, options)
    completer = arguments.get(name)
    if completer is None:
        return Completion(cursor, cursor, ())
    start = cursor - len(typed)
    found = completer(typed, len(typed))
    return Completion(found.start + start, found.end + start, found.options)


def choose(start: int, end: int, typed: str, options: Iterable[Option]) -> Completion:
    """Return the options that contain ``typed``, those that start with it first."""
    typed = typed.lower()
    found = [option for option in options if typed in option.text.lower()]
    found.sort(key=lambda option: not option.text.lower().startswith(typed))
    return Completion(start, end, tuple(found))


def among(names: Callable[[], Iterable[Option]]) -> Completer:
    """Return a completer whose options replace the whole argument."""
    return lambda typed, cursor: choose(0, cursor, typed, names())


def last_of_list(names: Callable[[], Iterable[str]]) -> Completer:
    """Return a completer for the last word of a list with commas; it skips words already there."""

    def complete(typed: str, cursor: int) -> Completion:
        before, comma, last = typed[:cursor].rpartition(",")
        start = len(before) + len(comma) + len(last) - len(last.lstrip())
        there = {part.strip() for part in before.split(",")}
        options = [Option(name) for name in names() if name not in there]
        return choose(start, cursor, last.strip(), options)

    return complete


def files(typed: str, cursor: int) -> Completion:
    """Complete a path with the files and folders that start with it."""
    text = typed[:cursor]
    folder, _, start = text.rpartition("/")
    try:
        path = Path(folder or ("/" if text.startswith("/") else ".")).expanduser()
        found = sorted(p for p in path.iterdir() if p.name.startswith(start))[:200]
        shown = [p for p in found if start.startswith(".") or not p.name.startswith(".")]
        options = tuple(Option(f"{p}/" if p.is_dir() else str(p)) for p in shown)
    except (OSError, RuntimeError, ValueError):
        # The home folder does not exist, a folder may not be read, or the text is not a path.
        options = ()
    return Completion(0, cursor, options)


def panel_files(typed: str, cursor: int) -> Completion:
    """Complete a path with folders and with the YAML and TOML files that name jurors."""
    found = files(typed, cursor)
    return replace(found, options=tuple(one for one in found.options if _leads_to_panel(one.text)))


def _leads_to_panel(path: str) -> bool:
    if not path.endswith((".yaml", ".yml", ".toml")) or not Path(path).is_file():
        return path.endswith("/")
    try:
        with Path(path).open("rb") as stream:
            return b"jurors" in stream.read(1 << 16)
    except OSError:
        return False


def argument_completers(desk: Desk, session: Session) -> dict[str, Completer]:
    """Return completers by command name; the filter's words are read from the desk once, on use."""

    @lru_cache(maxsize=1)
    def known() -> Vocabulary:
        return filters.vocabulary(desk, session.run)

    return {
        "filter": lambda text, cursor: complete(text, cursor, known()),
        "order": complete_order,
        "run": among(lambda: [Option(run.name, run.file) for run in desk.runs()]),
        "compare": among(
            lambda: [Option(r.name, r.file) for r in desk.runs() if r.hash != session.run.hash]
        ),
        "theme": among(lambda: [Option(*theme) for theme in THEMES.items()]),
        "improve": panel_files,
        "open": files,
        "export": files,
    }
