"""The one registry of actions: key, footer hint, palette entry and help come from here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from reviewdesk.app.controllers.state import Completer, Session
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.query.completion import (
    Completion,
    Option,
    Vocabulary,
    complete,
    complete_order,
)
from reviewdesk.errors import UsageError

THEMES = {
    "desk": "dark",
    "desk-light": "paper",
    "ansi-dark": "16 colours on black",
    "ansi-light": "16 colours on white",
    "high-contrast": "black and white",
}
"""The themes, with a description of each. The default comes first."""


REVIEW = frozenset({"review"})
CALIBRATION = frozenset({"calibration"})
RUNS = frozenset({"runs"})
PAGES = CALIBRATION | RUNS
EVERYWHERE = REVIEW | PAGES


class Action(Struct, frozen=True):
    """One thing a reviewer can do; without ``keys`` only the palette offers it.

    ``keys`` are Textual's names, separated by commas, ``where`` names the screens on which they are
    bound, and ``hint`` is the footer's word, empty if the footer leaves the action out.
    """

    id: str
    group: str
    title: str
    keys: str = ""
    where: frozenset[str] = EVERYWHERE
    hint: str = ""


LABEL = "Label"
MOVE = "Move"
QUEUE = "Queue"
ITEM = "Item"
SCREENS = "Screens"
DESK = "Desk"

_LABELS = (
    Action("label.pass", LABEL, "Label pass, go on", "p,1", REVIEW, "pass"),
    Action("label.fail", LABEL, "Label fail, go on", "f,2", REVIEW, "fail"),
    Action("label.because", LABEL, "Label fail, say why, go on", "F", REVIEW),
    Action("label.unsure", LABEL, "Label can't tell, go on", "i,3", REVIEW, "can't tell"),
    Action("select", LABEL, "Select the item, or not; go to the next one", "v", REVIEW),
    Action("select.range", LABEL, "Select from the last selected item to here", "V", REVIEW),
    Action("select.all", LABEL, "Select all that the filter shows, or none", "asterisk", REVIEW),
    Action("defer", LABEL, "Defer to the end of the queue", "s", REVIEW),
    Action("undo", LABEL, "Undo my newest label, note, tags, mark or defer", "u", REVIEW, "undo"),
    Action("redo", LABEL, "Redo what was undone", "U,ctrl+r", REVIEW, "redo"),
)
_ITEM = (
    Action("note", ITEM, "Write a note", "c", REVIEW),
    Action("tags", ITEM, "Tag what went wrong", "t", REVIEW),
    Action("adjudicate", ITEM, "Settle what people differ on", "a", REVIEW, "adjudicate"),
    Action("note.labelled", ITEM, "Write a note on the item just labelled", "C", REVIEW),
    Action("tags.labelled", ITEM, "Open the reasons of the item just labelled", "T", REVIEW),
    Action("mark", ITEM, "Mark, or take the mark away", "m", REVIEW),
    Action("history", ITEM, "History of the item", "at", REVIEW),
    Action("diff", ITEM, "Compare with another run of the same content", "d", REVIEW),
    Action("rerun", ITEM, "Ask the jurors again (asks before it sends)", "R", REVIEW),
    Action("copy.json", ITEM, "Copy the item as JSON", "y", REVIEW),
    Action("jury.whole", ITEM, "The jury in full, or in short", "full_stop", REVIEW),
    Action("what.if", ITEM, "What if: what other rules decide", "w", REVIEW | CALIBRATION),
    Action("unfold", ITEM, "Long texts whole, or folded", "semicolon", REVIEW),
)
_MOVES = (
    Action("next", MOVE, "Next undecided", "space", REVIEW, "next"),
    Action("back", MOVE, "Back to the item seen before", "backspace", REVIEW, "last seen"),
    Action("item.next", MOVE, "Next item, whatever its state", "J", REVIEW),
    Action("item.previous", MOVE, "Previous item, whatever its state", "K", REVIEW),
    Action("down", MOVE, "Down, or scroll down", "j,down"),
    Action("up", MOVE, "Up, or scroll up", "k,up"),
    Action("half.down", MOVE, "Half a page down", "ctrl+d"),
    Action("half.up", MOVE, "Half a page up", "ctrl+u"),
    Action("page.down", MOVE, "A page down", "pagedown"),
    Action("page.up", MOVE, "A page up", "pageup"),
    Action("first", MOVE, "To the first line", "g,home"),
    Action("last", MOVE, "To the last line", "G,end"),
    Action("part.next", MOVE, "To the next text, section or juror", "right_parenthesis", REVIEW),
    Action("part.previous", MOVE, "To the text, section, juror before", "left_parenthesis", REVIEW),
    Action("deeper", MOVE, "One level deeper: queue, item, jury", "enter", REVIEW, "deeper"),
    Action("shallower", MOVE, "One level back", "escape", REVIEW, "back"),
    Action("leave", MOVE, "Back to the item", "escape", PAGES, "back"),
    Action("pane.next", MOVE, "Next pane", "tab", REVIEW),
    Action("pane.previous", MOVE, "Previous pane", "shift+tab", REVIEW),
    Action("pane.narrower", MOVE, "Narrow the pane", "less_than_sign", REVIEW),
    Action("pane.wider", MOVE, "Widen the pane", "greater_than_sign", REVIEW),
    Action("pane.default", MOVE, "Default widths of the panes", "equals_sign", REVIEW),
    Action("zoom", MOVE, "Zoom the pane, or back", "z", REVIEW),
    Action("jump", MOVE, "Jump to a row or an id"),
)
_QUEUE = (
    Action("search", QUEUE, "Search the texts", "slash", REVIEW, "search"),
    Action("search.next", QUEUE, "Next item that was found", "n", REVIEW, "next found"),
    Action("search.previous", QUEUE, "Item found before", "N", REVIEW),
    Action("filter", QUEUE, "Filter the queue", "backslash", REVIEW, "filter"),
    Action("order", QUEUE, "Order the queue", "o", REVIEW, "order"),
    Action("blocker", QUEUE, "Go to the item that labels wait behind", "B", REVIEW),
    Action("blind", QUEUE, "Blind review on or off", "b", REVIEW),
    Action("reveal", QUEUE, "Reveal the panel's answer (blind)", "r", REVIEW, "reveal"),
)
_SCREENS = (
    Action("screen.queue", SCREENS, "The queue", "f2,alt+1"),
    Action("screen.item", SCREENS, "The item", "f3,alt+2"),
    Action("screen.calibration", SCREENS, "Calibration", "f4,alt+3", hint="calibration"),
    Action("screen.runs", SCREENS, "Runs", "f5,alt+4", hint="runs"),
    Action("section.next", SCREENS, "Next page of calibration", "tab", CALIBRATION),
    Action("section.previous", SCREENS, "Page of calibration before", "shift+tab", CALIBRATION),
    Action("drill", SCREENS, "All figures; then verdicts", "enter", CALIBRATION, "verdicts"),
    Action("target.switch", SCREENS, "Intervals of this run, or of new items", "i", CALIBRATION),
    Action("improve", SCREENS, "Improve the panel by its labels", "m", CALIBRATION, "improve it"),
    Action("run.open", SCREENS, "Review the chosen run", "enter", RUNS, "review it"),
    Action("run.load", SCREENS, "Load a report", "a", RUNS, "load a file"),
    Action("run.compare", SCREENS, "Compare with the run under review", "d", RUNS, "compare"),
    Action("run.remove", SCREENS, "Remove the chosen run, keep its labels", "x", RUNS, "remove"),
)
_DESK = (
    Action("help", DESK, "Help: every key and sign", "question_mark", hint="help"),
    Action("explain", DESK, "Explain the figures and flags in view", "e", hint="explain"),
    Action("palette", DESK, "Palette: every action by name", "ctrl+p"),
    Action("command", DESK, "Command line", "colon", hint="command"),
    Action("export", DESK, "Write the labels to a file"),
    Action("team", DESK, "How far the reviewers agree, and where not", where=REVIEW),
    Action("redraw", DESK, "Draw the whole screen again", "ctrl+l"),
    Action("stop", DESK, "Stop what runs in the background", "ctrl+x"),
    Action("copy", DESK, "Copy the selected text", "ctrl+c"),
    Action("quit", DESK, "Close the desk (everything is saved)", "q", hint="close"),
    Action("quit.anywhere", DESK, "Close the desk, also from a dialog", "ctrl+q"),
    Action("theme", DESK, "Choose another theme"),
)

ACTIONS: dict[str, Action] = {
    action.id: action for action in (*_LABELS, *_ITEM, *_QUEUE, *_MOVES, *_SCREENS, *_DESK)
}
OF_MACHINE = frozenset({"export", "improve", "open", "rerun", "run.load", "run.remove"})
"""The actions and commands that reach files or API keys of the machine, or hide a run from all.

A reviewer in a browser is at another machine, and does not get them.
"""
ROWS: Mapping[str, tuple[str, ...]] = {
    "Select the item; up to here; all": ("select", "select.range", "select.all"),
    "Undo or redo my newest label, note, tag, mark": ("undo", "redo"),
    "Blind review on or off; reveal this answer": ("blind", "reveal"),
    "Note on this item, on the one just labelled": ("note", "note.labelled"),
    "Next item, or before, whatever its state": ("item.next", "item.previous"),
    "Scroll the text, or move in the list": ("down", "up"),
    "Half a page, a page": ("half.down", "half.up", "page.down", "page.up"),
    "To the first line, the last": ("first", "last"),
    "To the next text or juror, or the one before": ("part.next", "part.previous"),
    "One level deeper or back: queue, item, jury": ("deeper", "shallower", "leave"),
    "Give the keys to queue, jury or item": ("pane.next", "pane.previous"),
    "Narrower, wider, default widths, zoom": (
        "pane.narrower", "pane.wider", "pane.default", "zoom",
    ),
    "Next item that was found, or before": ("search.next", "search.previous"),
    "The queue, the item, calibration, runs": (
        "screen.queue", "screen.item", "screen.calibration", "screen.runs",
    ),
    "Next page of calibration, or the one before": ("section.next", "section.previous"),
    "Load a report; remove a run, keep its labels": ("run.load", "run.remove"),
    "Palette with every action; command line": ("palette", "command"),
    "Draw the screen again; stop background work": ("redraw", "stop"),
    "Close (all is saved); also from a dialog": ("quit", "quit.anywhere"),
}  # fmt: skip
"""Rows of the help that name the keys of several actions, by their text."""
_IN_ROWS = {name: title for title, names in ROWS.items() for name in names}


def rows(actions: Iterable[Action]) -> dict[str, list[Action]]:
    """Return the actions by the row of the help that lists them, in order."""
    found: dict[str, list[Action]] = {}
    for action in actions:
        found.setdefault(_IN_ROWS.get(action.id, action.title), []).append(action)
    return found


GIVES_LABEL = frozenset(a.id for a in _LABELS if a.id.startswith("label."))
"""The actions that give a label: chosen by name instead of by key, they ask for confirmation."""


class Hint(Struct, frozen=True):
    """One hint of the footer: an action and the word for what it does now."""

    action: str
    word: str


def hints(wanted: Mapping[str, object]) -> list[Hint]:
    """Return a hint for each true value of ``wanted``; a string replaces the registry's word."""
    return [
        Hint(name, word if isinstance(word, str) else ACTIONS[name].hint)
        for name, word in wanted.items()
        if word
    ]


def matching(typed: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions in which each typed word is found.

    One with this title comes first, then those whose id has the words at the start of its parts,
    then those in which every word begins a word; equal actions keep their order.
    """
    words = typed.lower().split()

    def rank(action: Action) -> tuple[bool, int]:
        name = f" {action.id.replace('.', ' ')} {action.id}"
        begins = (all(f" {word}" in part for word in words) for part in (name, f" {text(action)}"))
        return action.title != typed.strip(), -sum(begins)

    def text(action: Action) -> str:
        return f"{action.title.lower()} {action.id.replace('.', ' ')} {action.id}"

    return sorted((one for one in actions if all(w in text(one) for w in words)), key=rank)


def by_group(actions: Iterable[Action]) -> dict[str, list[Action]]:
    """Return the actions by group, in the order in which the groups first appear."""
    found: dict[str, list[Action]] = {}
    for action in actions:
        found.setdefault(action.group, []).append(action)
    return found


class Command(Struct, frozen=True):
    """One command. ``argument`` names what follows it, in square brackets if it is optional."""

    name: str
    argument: str
    note: str

    @property
    def must(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


COMMANDS = {
    command.name: command
    for command in (
        Command("go", "ROW|ID", "jump to a row of the queue or to a verdict; :42 is :go 42"),
        Command("filter", "[FILTER]", "filter the queue; without a filter, show all"),
        Command("order", "ORDER", "order the queue; - in front descends"),
        Command("team", "", "how far the reviewers of the run agree, and where they differ"),
        Command("queue", "", "the queue"),
        Command("item", "", "the item"),
        Command("cal", "", "calibration"),
        Command("runs", "", "the runs"),
        Command("run", "NAME", "review another run"),
        Command("compare", "[RUN]", "which panel is right more often on the items of both runs"),
        Command("improve", "[PANEL]", "what the panel gets wrong, candidates, tries, adoption"),
        Command("open", "FILE", "load a report and review it"),
        Command(
            "export", "FILE", "labels: .jsonl, full.jsonl, .csv, .yaml; the run: .json, .html, .md"
        ),
        Command("ask", "[QUESTION]", "ask, e.g. accuracy >= 0.9, and label what answers it; close"),
        Command("theme", "NAME", "switch the theme"),
        Command("stop", "", "stop what runs in the background"),
        Command("help", "", "every key and sign"),
        Command("quit", "", "close; everything is saved"),
        Command("q", "", "close; everything is saved"),
    )
}


class TypedCommand(Struct, frozen=True):
    """A parsed command line."""

    name: str
    argument: str


def parse_command(text: str) -> TypedCommand:
    """Parse a command line; raise UsageError for an unknown name or a wrong argument."""
    text = text.strip().removeprefix(":").strip()
    if text.isdecimal():
        return TypedCommand("go", text)
    name, _, argument = text.partition(" ")
    argument = argument.strip()
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, 3, 0.5)
        hint = f"Did you mean {', '.join(near)}?" if near else "tab lists the commands."
        raise UsageError(f"no command {name!r}" if name else "no command was typed", hint)
    if command.must and not argument:
        raise UsageError(f"{name} needs {command.argument}", f"{name}: {command.note}.")
    if argument and not command.argument:
        raise UsageError(f"{name} takes nothing after it", f"Found {argument!r}.")
    return TypedCommand(name, argument)


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
        "improve": files,
        "open": files,
        "export": files,
    }
