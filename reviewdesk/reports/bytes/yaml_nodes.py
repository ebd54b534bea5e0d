"""Read the YAML that suites and labels need: mappings, lists and JSON's scalars, with lines.

The parser's events are read one by one, so that what could grow or run code is refused before it
is built: anchors and aliases, merge keys, tags, a second document, doubled keys, too deep nesting.
Scalars follow JSON and not YAML 1.1: ``no`` and dates are texts.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

import yaml
from msgspec import Struct
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import ESCAPED_SURROGATE, SURROGATE, ImportTally

MAX_BYTES = 1 << 18
"""256 KiB: some two thousand entries, read in about a second."""

MAX_DEPTH = 16
"""A JSON schema inside ``not`` inside a check is already about ten levels deep."""

_INTEGER = re.compile(r"[-+]?[0-9]+\Z", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_ALIAS_NAME = re.compile(r"ref_[0-9]{1,9}\Z", re.ASCII)

_C_LOADER: type[Any] | None = getattr(yaml, "CSafeLoader", None)
"""The parser in C, or None in builds of the library that lack it."""

_MAX_SLOW_TEXT = 1 << 20
"""The longest text for the parser in Python, which takes some seconds to read it."""

Scalar: TypeAlias = str | int | float | bool | None


class Form(Struct, frozen=True):
    """The name of a document in errors, its bounds, and the hints for when it breaks them."""

    what: str = "a suite"
    max_bytes: int = MAX_BYTES
    too_large: str = "Divide it into several suites."
    empty: str = "Write a list under jury:."
    max_depth: int = MAX_DEPTH
    tally: ImportTally | None = None
    """Counts the infinite numbers and lone surrogates replaced; without it they are errors."""
    fast: bool = False
    """Whether to use the parser in C, for long documents; it words its errors differently."""
    shared: int = 0
    """The most values that js-yaml's aliases (``*ref_0``) may repeat in all; 0 refuses aliases."""


class Node(Struct, frozen=True):
    """A value with the line it starts on; ``keys`` has the lines of a mapping's keys."""

    line: int
    value: "Scalar | tuple[Node, ...] | dict[str, Node]"
    text: str = ""
    """A scalar as written in the file, without its quotes."""
    keys: dict[str, int] | None = None

    def plain(self, texts: Collection[str] = ()) -> Any:
        """Return the value as plain data; scalars under the keys ``texts`` stay as written."""
        if isinstance(self.value, dict):
            return {
                key: node.text
                if key in texts and isinstance(node.value, str | int | float)
                else node.plain(texts)
                for key, node in self.value.items()
            }
        if isinstance(self.value, tuple):
            return [node.plain(texts) for node in self.value]
        return self.value

    def at(self, path: Sequence[str | int]) -> "Node":
        """Return the node at the end of a path, or the last node on it that exists."""
        node = self
        for step in path:
            inner = node.value
            if isinstance(inner, tuple):
                inner = {str(at): one for at, one in enumerate(inner)}
            if not isinstance(inner, dict) or str(step) not in inner:
                break
            node = inner[str(step)]
        return node

    def line_of(self, path: Sequence[str | int]) -> int:
        """Return the line at the end of a path: the line of the key if the path ends in a key."""
        above = self.at(path[:-1])
        keys = above.keys or {}
        return keys.get(str(path[-1]), self.at(path).line) if path else self.line


def read_yaml(source: Source, form: Form | None = None) -> Node:
    """Read the only document of a file, a suite without ``form``; SuiteError if it is bad."""
    form = form or Form()
    text = bounded_text(source, form.max_bytes, "YAML", form.too_large)
    return _Reader(source.shown_name, form).document(text)


def bounded_text(source: Source, most: int, language: str, hint: str = "") -> str:
    """Return the text of a file; SuiteError if it has over ``most`` bytes or is not UTF-8."""
    with source.open() as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise SuiteError(source.shown_name, 0, f"is over {most >> 10} KiB of {language}", hint)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = "is not UTF-8 text"
        raise SuiteError(source.shown_name, line, problem, "Save it as UTF-8.") from error


class _Reader:
    """Builds the nodes of one file from the parser's events."""

    def __init__(self, name: str, form: Form) -> None:
        self._name = name
        self._form = form
        self._anchored: dict[str, Node] = {}
        self._repeats_left = form.shared

    def document(self, text: str) -> Node:
        found: Node | None = None
        documents = 0
        events = self._events(text)
        for event in events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(event, "starts a second document", "Keep one in a file.")
                found = self._node(next(events), events, 1)
        if found is None or (found.value is None and not found.text):
            raise SuiteError(self._name, 0, "is empty", self._form.empty)
        return found

    def _events(self, text: str) -> Iterator[Event]:
        try:
            loader: Any = yaml.SafeLoader
            # The parser in C cannot read lone surrogates.
            if self._form.fast and _C_LOADER is not None and not ESCAPED_SURROGATE.search(text):
                loader = _C_LOADER
            elif self._form.fast and len(text) > _MAX_SLOW_TEXT:
                problem = "is over 1 MiB of YAML that only the slow parser can read"
                raise SuiteError(self._name, 0, problem, self._form.too_large)
            yield from yaml.parse(text, Loader=loader)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            shown = show_line(text[error.position : error.position + 1])
            problem = f"contains the character {shown}, which YAML does not allow"
            raise SuiteError(self._name, line, problem, "Take it out.") from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 0
            message = error.problem or error.context or "it cannot be read"
            problem = f"is not YAML: {show_line(message, 160)}"
            hint = "Check quotes, colons and the indentation."
            if "'\\t'" in message:
                problem = "is not YAML: a tab is where only spaces may be"
                hint = "Indent with spaces."
            raise SuiteError(self._name, line, problem, hint) from error
        except (ValueError, OverflowError) as error:
            # The parser fails on escapes such as "\UFFFFFFFF" and versions of a thousand digits.
            problem = "is not YAML: an escape or a directive in it is invalid"
            raise SuiteError(self._name, 0, problem) from error

    def _node(self, event: Event, events: Iterator[Event], depth: int) -> Node:
        self._refuse(event, depth)
        if isinstance(event, AliasEvent):
            return self._alias_node(event)
        line = _line(event)
        if isinstance(event, ScalarEvent):
            text = self._scalar_text(event)
            node = Node(line, self._scalar(event, text), text)
        elif isinstance(event, SequenceStartEvent):
            nodes = []
            while not isinstance(inner := next(events), SequenceEndEvent):
                nodes.append(self._node(inner, events, depth + 1))
            node = Node(line, tuple(nodes))
        else:
            members: dict[str, Node] = {}
            keys: dict[str, int] = {}
            while not isinstance(inner := next(events), MappingEndEvent):
                key = self._key(inner, keys)
                keys[key] = _line(inner)
                members[key] = self._node(next(events), events, depth + 1)
            node = Node(line, members, keys=keys)
        if isinstance(event, NodeEvent) and event.anchor:
            self._anchored[event.anchor] = node
        return node

    def _alias_node(self, event: AliasEvent) -> Node:
        """Return the node an alias repeats; an unknown or unfinished anchor is an error."""
        node = self._anchored.get(event.anchor or "")
        if node is None:
            raise self._error(event, f"has the alias *{event.anchor} without its anchor", "")
        layer = [node]
        while layer:
            self._repeats_left -= len(layer)
            if self._repeats_left < 0:
                problem = "repeats too much by aliases"
                raise self._error(event, problem, self._form.too_large)
            layer = [child for each in layer for child in _children(each)]
        return node

    def _refuse(self, event: Event, depth: int) -> None:
        anchor = event.anchor if isinstance(event, NodeEvent) else None
        if anchor and not (self._form.shared and depth and _ALIAS_NAME.match(anchor)):
            sign = "*" if isinstance(event, AliasEvent) else "&"
            problem = f"has the {'alias' if sign == '*' else 'anchor'} {sign}{anchor}"
            hint = f"Write the value out: {self._form.what} has no anchors and aliases."
            raise self._error(event, problem, hint)
        tag = getattr(event, "tag", None)
        if tag is not None:
            hint = f"Take it out: {self._form.what} has no tags."
            raise self._error(event, f"has the tag {tag}", hint)
        most = self._form.max_depth
        if depth > most and isinstance(event, SequenceStartEvent | MappingStartEvent):
            raise self._error(event, f"is nested more than {most} levels deep", "")

    def _key(self, event: Event, seen: dict[str, int]) -> str:
        self._refuse(event, 0)
        if not isinstance(event, ScalarEvent):
            raise self._error(event, "has a list or a mapping as a key", "Name it with a text.")
        key = self._scalar_text(event)
        if key == "<<" and not event.style:
            raise self._error(event, "has a merge key", "Write the keys out.")
        if key in seen:
            problem = f'has the key "{key}" twice, first on line {seen[key]}'
            raise self._error(event, problem, "Keep one of them.")
        return key

    def _scalar(self, event: ScalarEvent, text: str) -> Scalar:
        if event.style:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _NOT_FINITE.match(text):
            if self._form.tally:
                self._form.tally.nonfinite += 1
                return None
            raise self._error(event, f"contains {text}, which is not a number", "Write a number.")
        # A run's hash such as 12e45678 looks like a number that is too large, and stays a text.
        if _INTEGER.match(text):
            return int(text) if len(text) <= 18 else text
        number = float(text) if _NUMBER.match(text) else math.inf
        return number if math.isfinite(number) else text

    def _scalar_text(self, event: ScalarEvent) -> str:
        text: str = event.value
        if not SURROGATE.search(text):
            return text
        # JSON writes characters beyond U+FFFF as two escapes.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        mended, count = SURROGATE.subn("\ufffd", text)
        if count and not self._form.tally:
            problem = "contains half a character (a lone surrogate)"
            raise self._error(event, problem, "Take it out.")
        if self._form.tally:
            self._form.tally.surrogates += count
        return mended

    def _error(self, event: Event, problem: str, hint: str) -> SuiteError:
        return SuiteError(self._name, _line(event), show_line(problem, 160), hint)


def _children(node: Node) -> Sequence[Node]:
    if isinstance(node.value, dict):
        return tuple(node.value.values())
    return node.value if isinstance(node.value, tuple) else ()


def _line(event: Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark is not None else 0
