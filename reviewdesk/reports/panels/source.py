"""Open panel and prompt files, and read their YAML or TOML into nodes."""

import datetime as dt
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import PanelError, ReportError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.yaml_nodes import (
    MAX_BYTES,
    MAX_DEPTH,
    Form,
    Node,
    bounded_text,
    read_yaml,
)
from reviewdesk.reports.wording import FieldError, keylike, spell_path

_ERROR_PLACE = re.compile(r"(.*) \(at line (\d+), column \d+\)", re.DOTALL)


def opened(path: str | Path, what: str) -> Source:
    """Open a file of at most ``MAX_BYTES``; PanelError if it is too large or cannot be read."""
    try:
        source = Source.from_path(path)
    except ReportError as error:
        raise PanelError(error.file, "", error.problem, f"Name {what}.") from error
    if source.size > MAX_BYTES:
        problem = f"is over {MAX_BYTES >> 10} KiB, too large for {what}"
        raise PanelError(source.shown_name, "", problem, "Is it the right file?")
    return source


@contextmanager
def parsed(source: Source, what: str, empty: str) -> Iterator[Node]:
    """Yield the outermost value of a file, and add the file's place to a ``FieldError`` about it.

    The file is TOML if its name ends in .toml, else YAML; if it is neither, raise PanelError.
    """
    try:
        if source.name.lower().endswith(".toml"):
            node = _toml(source, empty)
        else:
            form = Form(what, MAX_BYTES, "Is it the right file?", empty)
            node = read_yaml(source, form)
    except (SuiteError, ReportError) as error:
        # The readers of bytes raise errors about suites and reports; this is a panel or prompt.
        problem = error.problem
        if keylike(problem):
            problem = "has what looks like an API key where none is allowed (not shown)"
        raise PanelError(error.file, "", problem, error.hint) from None
    try:
        yield node
    except FieldError as error:
        line = node.line_of(error.path)
        place = f"{source.shown_name}:{line}" if line else source.shown_name
        text = show_line(error.text, 400)
        raise PanelError(place, spell_path(error.path), text, error.hint) from None


def _toml(source: Source, empty: str) -> Node:
    text = bounded_text(source, MAX_BYTES, "TOML")
    try:
        # An error after the last line break would have no line.
        table = tomllib.loads(f"{text}\n".replace("\r\n", "\n"))
        node = _node(table, 1)
    except RecursionError:
        raise SuiteError(
            source.shown_name, 0, "is nested too deeply", "Is it the right file?"
        ) from None
    except ValueError as error:
        found = _ERROR_PLACE.fullmatch(str(error))
        why, line = (found[1], int(found[2])) if found else (str(error), 0)
        problem = f"is not valid TOML: {show_line(why[:1].lower() + why[1:], 160)}"
        hint = "Check quotes, commas and brackets."
        raise SuiteError(source.shown_name, line, problem, hint) from None
    if not table:
        raise SuiteError(source.shown_name, 0, "is empty", empty)
    return node


def _node(value: Any, depth: int) -> Node:
    """Build a node from parsed TOML, which has no lines: errors name the path alone."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        return Node(0, {key: _node(one, depth + 1) for key, one in value.items()})
    if isinstance(value, list):
        return Node(0, tuple(_node(one, depth + 1) for one in value))
    if isinstance(value, dt.date | dt.time):
        value = value.isoformat()
    return Node(0, value, str(value))
