"""Write what is made from the code: parts of docs/reference."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from click.testing import CliRunner

import reviewdesk
from reviewdesk.app.keys.actions import ACTIONS, EVERYWHERE, Action, Keymap, rows
from reviewdesk.app.keys.commands import COMMANDS
from reviewdesk.cli import cli
from reviewdesk.cli.program import GROUPS
from reviewdesk.domain.report_model import HeaderModel, VerdictModel
from reviewdesk.domain.stats.methods import FIGURES

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
SAMPLES = ROOT / "sample_runs"
EVERYWHERE_TAKEN = {"desk", "reviewer", "help"}
"""Options of every command: the page names them once."""


def keys_table() -> str:
    """Return a table of every key, in the rows of the help."""
    keymap = Keymap.of(ACTIONS)
    with_keys = (action for action in ACTIONS.values() if action.keys)
    made = [
        (_code(*(key for one in row for key in keymap.shown(one.id).split())), title, _screens(row))
        for members in rows(with_keys).values()
        for title, row in members.items()
    ]
    return _table(("key", "does", "on"), made)


def _screens(row: list[Action]) -> str:
    """Return the screens on which the keys of some actions work, in words."""
    where = frozenset[str]().union(*(action.where for action in row))
    return "every screen" if where == EVERYWHERE else ", ".join(sorted(where))


def command_line_table() -> str:
    """Return a table of the commands that the console takes after a colon."""
    rows = [(_code(f":{one.name} {one.argument}".rstrip()), one.note) for one in COMMANDS.values()]
    return _table(("command", "does"), rows)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something by itself, with its words, in the order of --help."""
    yield from _commands(cli, "reviewdesk")


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        if command is None:
            continue
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
            if not command.invoke_without_command:
                continue
        yield f"{path} {name}", command


def options_text(group: str) -> str:
    """Return a section for each command of a group: its usage, help and own options."""
    names = {place.rpartition(".")[2].rstrip("_") for place in GROUPS[group].split()}
    return "\n\n".join(
        _command_section(path, command) for path, command in commands() if path.split()[1] in names
    )


def _command_section(path: str, command: click.Command) -> str:
    # click keeps the first help option that it makes of a command, so this has the program's names.
    context = click.Context(command, info_name=path, **cli.context_settings)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    said = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    parts = [f"## {path}", f"```text\n{usage}\n```", *said]
    options = [one for one in command.params if isinstance(one, click.Option)]
    records = [one.get_help_record(context) for one in options if one.name not in EVERYWHERE_TAKEN]
    rows = [(_code(written), " ".join(text.split())) for written, text in filter(None, records)]
    if rows:
        parts.append(_table(("option", "does"), rows))
    if command.epilog:
        # A backspace alone on its line asks click to keep the lines that follow.
        parts.append(f"```text\n{command.epilog.replace(chr(8), '').strip()}\n```")
    return "\n\n".join(parts)


def report_text() -> str:
    """Return a section for each part of a canonical report: its keys and what each may hold."""
    _, parts = msgspec.json.schema_components([HeaderModel, VerdictModel])
    order = ["HeaderModel", "VerdictModel", "JurorModel"]
    sections = []
    for name in sorted(parts, key=lambda one: (order.index(one) if one in order else 9, one)):
        part = parts[name]
        rows = [
            (_code(key), _kind(value), "yes" if key in part.get("required", ()) else "")
            for key, value in part["properties"].items()
        ]
        table = _table(("key", "content", "required"), rows)
        sections.append(f"### {_part(name)}\n\n{part['description']}\n\n{table}")
    return "\n\n".join(sections)


def _part(name: str) -> str:
    return name.removesuffix("Model").lower()


_BOUNDS = (
    ("minimum", ">="),
    ("exclusiveMinimum", ">"),
    ("maximum", "<="),
    ("exclusiveMaximum", "<"),
)
_KINDS = {"string": "text", "object": "an object", "boolean": "true or false", "null": "null"}


def _kind(node: dict[str, Any]) -> str:
    """Return in words what a schema lets a value be."""
    if "$ref" in node:
        name = _part(node["$ref"].rsplit("/", 1)[1])
        return f"[{name}](#{name})"
    if "anyOf" in node:
        return ", ".join(_kind(one) for one in node["anyOf"])
    if "const" in node or "enum" in node:
        return " ".join(f"`{one}`" for one in node.get("enum", [node.get("const")]))
    if node["type"] == "array":
        return f"a list: {_kind(node['items'])}"
    bounds = " and ".join(f"{sign} {node[key]:g}" for key, sign in _BOUNDS if key in node)
    word = "whole number" if "multipleOf" in node else _KINDS.get(node["type"], node["type"])
    return f"{word} {bounds}" if bounds else word


def methods_text() -> str:
    """Return a section for each figure: what it estimates, how, and when it fails."""
    made = []
    for one in FIGURES:
        rows = (
            f"- {name}: {_code(text) if name == 'formula' else text}" for name, text in one.rows
        )
        made.append("\n".join((f"### {one.figure}", "", *rows)))
    return "\n\n".join(made)


def library_table() -> str:
    """Return a table of the library's names, with the first sentence of what each says."""
    rows = []
    for name in sorted(reviewdesk.__all__, key=str.lower):
        said = getattr(reviewdesk, name).__doc__ or ""
        # A plain dictionary says what dictionaries are.
        text = "The functions of the rules, by name." if name == "STRATEGIES" else said
        rows.append((_code(name), _marked(text.strip().split("\n\n")[0])))
    return _table(("name", "is"), rows)


def _marked(text: str) -> str:
    """Return a docstring's sentence as Markdown, with its code between single backquotes."""
    parts = re.split(r"``(.+?)``", " ".join(text.split()))
    return "".join(
        f"`{part}`" if at % 2 else part.replace("*", "\\*") for at, part in enumerate(parts)
    )


SHAPES = (
    ("queue", "queue --run support-bot"),
    ("show", "show support-bot:refund-after-30-days"),
    ("runs", "runs"),
    ("ingest", f"ingest {SAMPLES / 'release-notes.json'}"),
    ("calibrate", "calibrate --run library-desk"),
    ("calibrate --jurors", "calibrate --run library-desk --jurors"),
    ("calibrate --by", "calibrate --run library-desk --by decision"),
    ("calibrate --simulate", "calibrate --run library-desk --simulate 20"),
    ("ask", "ask accuracy>=0.8 --run library-desk"),
    ("calibrate LABELS", f"calibrate {SAMPLES / 'library-desk-labels.jsonl'}"),
    ("compare", "compare support-bot support-bot-second-panel"),
    ("whatif", "whatif --run support-bot"),
    ("gate", f"gate {SAMPLES / 'library-gates.yml'}"),
    ("labels list", "labels list --run library-desk"),
    ("labels agreement", "labels agreement --run support-bot"),
    ("panel check", f"panel check {SAMPLES / 'panel-hosted.yaml'}"),
    ("panel new", "panel new NEW --juror openai/gpt-5-mini"),
    ("config filters", "config filters"),
    ("explain", "explain ECE"),
    ("desk info", "desk info"),
    ("desk verify", "desk verify"),
    ("desk merge", "desk merge OTHER"),
    ("desk sync", "desk sync PLACE"),
    ("desk repair", "desk repair"),
    ("config", "config"),
    (
        "label, label defer, labels adjudicate",
        "labels adjudicate support-bot:refund-after-30-days fail",
    ),
    ("label undo, label redo", "label undo"),
    ("labels import", f"labels import {SAMPLES / 'library-desk-truth.jsonl'} --run library-desk"),
    ("judge", f"judge {SAMPLES / 'cases.jsonl'} --panel PANEL -o REPORT --yes"),
    ("rerun", "rerun support-bot:helmet-hygiene --panel PANEL --yes"),
    ("improve, improve split", "improve --run library-desk --panel PANEL"),
    ("improve make, improve edit", "improve make threshold=0.5 --run library-desk --panel PANEL"),
    ("improve try", "improve try CANDIDATE --run library-desk --yes"),
    ("improve adopt", "improve adopt CANDIDATE --run library-desk --anyway"),
)
_JUROR = """name: one
rubric: is right
jurors:
  - {name: j, model: m, vendor: custom, base_url: '%s'}
"""
"""A panel of one juror, who answers on this machine."""
_RUNS = ("support-bot", "support-bot-second-panel", "library-desk")
_PREPARED = (
    f"ingest {' '.join(str(SAMPLES / f'{run}.jsonl') for run in _RUNS)}",
    f"labels import {SAMPLES / 'library-desk-truth.jsonl'} --run library-desk",
    "label support-bot:refund-after-30-days fail --tag tone",
    "--reviewer ben label support-bot:refund-after-30-days pass --note thirty",
    "label support-bot:two-apologies pass",
    "--reviewer ben label support-bot:two-apologies pass",
    "config filters save todo esc",
    "desk backup OTHER",
    "improve split --run library-desk --open",
)


def shapes_text() -> str:
    """Return the keys of every command's ``--json``, as the commands print them for the samples."""
    with tempfile.TemporaryDirectory() as folder, _juror() as address:
        Path(folder, "PANEL.yaml").write_text(_JUROR % address, encoding="utf-8")
        for line in _PREPARED:
            _output(folder, line)
        found = {name: json.loads(_output(folder, f"{line} --json")) for name, line in SHAPES}
        rows = _output(folder, "labels export --run library-desk --format full").splitlines()
    found["labels export --format full"] = [json.loads(row) for row in rows]
    return "\n\n".join(_shape(name, value, found) for name, value in found.items())


@contextmanager
def _juror() -> Iterator[str]:
    """Yield the address of a juror that answers at once, on this machine."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.live.server", "0"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.kill()


def _shape(name: str, value: Any, found: dict[str, Any]) -> str:
    """Return a section on what a command prints; an option's tells only what it adds."""
    base = found.get(name.rpartition(" --")[0])
    if base is None:
        return f"### {name}\n\n{_keys(value)}"
    added = {key: one for key, one in value.items() if key not in base}
    return f"### {name}\n\nBeside the keys without the option: {_keys(added)}"


def _output(folder: str, line: str) -> str:
    """Return what a command prints on a desk of its own, without the user's settings."""
    ours = [name for name in os.environ if name.startswith("REVIEWDESK_")]
    env: dict[str, str | None] = dict.fromkeys(ours)
    env |= {"REVIEWDESK_DESK": f"{folder}/desk.db", "REVIEWDESK_REVIEWER": "ada"}
    env |= {"REVIEWDESK_CONFIG": f"{folder}/config.toml"}
    Path(folder, "config.toml").touch()
    # What a command reads and writes beside the desk is in the folder too.
    names = {name: name for name in ("OTHER", "PANEL", "PLACE", "REPORT", "NEW")}
    names["PANEL"] = "PANEL.yaml"
    names["CANDIDATE"] = "PANEL+threshold-0.5.yaml"
    words = [f"{folder}/{names[word]}" if word in names else word for word in line.split()]
    done = CliRunner().invoke(cli, words, env=env, catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"{line}: {done.output}")
    return done.stdout


def _keys(value: Any) -> str:
    """Return a list of a record's keys, with the keys of the records in it one level down."""
    what = "A list; each row has" if isinstance(value, list) else "A record with"
    record = value[0] if isinstance(value, list) else value
    plain = [key for key, one in record.items() if not _inner(one)]
    rows = [f"- {_code(key)}: {_code(*_inner(one))}" for key, one in record.items() if _inner(one)]
    lines = [
        f"{what} {', '.join(_code(key) for key in plain)}" if plain else what.removesuffix(" with")
    ]
    return "\n".join([lines[0] + (", and:\n" if rows else "."), *rows])


def _inner(value: Any) -> list[str]:
    """Return the keys of a record, or of the first record of a list; none of anything else."""
    if isinstance(value, list):
        value = value[0] if value else None
    return list(value) if isinstance(value, dict) else []


def _code(*texts: str) -> str:
    """Return texts as code; one with a bar as HTML, because readers differ on bars in a table."""
    return " ".join(
        f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"
        for text in texts
    )


def _table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; a bar is escaped, because it would end the cell."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in body]
    rows = [f"| {' | '.join(line)} |" for line in (head, *cells)]
    return "\n".join([rows[0], f"|{'---|' * len(head)}", *rows[1:]])


BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {
    "keys": ("keys.md", keys_table),
    "command line": ("keys.md", command_line_table),
    "review": ("commands-review.md", partial(options_text, "Review")),
    "figures": ("commands-figures.md", partial(options_text, "Figures and gates")),
    "panels": ("commands-panels.md", partial(options_text, "Ask jurors")),
    "desk": ("commands-desk.md", partial(options_text, "Desk and program")),
    "report": ("report.md", report_text),
    "names": ("library.md", library_table),
    "shapes": ("json.md", shapes_text),
    "methods": ("methods.md", methods_text),
}
"""The page and the maker of each made part, by the name in its marks."""


def main() -> None:
    """Replace what stands between the marks."""
    for name, (page, make) in BLOCKS.items():
        path = FOLDER / page
        text = path.read_text(encoding="utf-8")
        mark, end = f"<!-- made: {name} -->\n", "\n<!-- /made -->"
        before, start, rest = text.partition(mark)
        if not start or end not in f"\n{rest}":
            raise SystemExit(f"{path}: no marks of {name}")
        after = f"\n{rest}".partition(end)[2]
        made = f"{before}{mark}{make()}{end}{after}"
        path.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
