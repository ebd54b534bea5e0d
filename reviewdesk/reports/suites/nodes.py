"""Read the parts of a suite from its nodes: mappings, lists, texts, numbers and matchers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from reviewdesk.domain.gates.expect import (
    Expectation,
    Matcher,
    Span,
    is_number,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.yaml_nodes import Node
from reviewdesk.reports.suites.matchers import (
    Exact,
    NotMatcher,
    Schema,
    SchemaProblem,
)
from reviewdesk.reports.wording import found, must_be

Table = Mapping[str, Node]

_EXPECTATION = ("target", "matcher", "message")
_MATCHERS = ("exact", "not", "schema")
_MOST = 1e15
"""The largest number allowed in a suite; squares of far larger ones overflow a float."""


class Nodes:
    """Reads the nodes of one suite; ``file`` is the name that its errors begin with."""

    def __init__(self, file: str) -> None:
        """Store the file's name as errors print it."""
        self.file = file

    def table(self, node: Node, what: str, known: Iterable[str]) -> Table:
        """Return the members of a mapping; raise SuiteError for a key outside ``known``."""
        if not isinstance(node.value, dict):
            raise self.fail(node.line, f"{what} {must_be('a mapping', node.plain())}")
        for key in node.value:
            if key not in known:
                line = (node.keys or {}).get(key, node.line)
                raise self._unknown(line, f"key of {what}", key, known)
        return node.value

    def items(self, table: Table, key: str, above: Node) -> tuple[Node, ...]:
        """Return the items of a required list that must not be empty."""
        node = self.member(table, key, above)
        if not isinstance(node.value, tuple) or not node.value:
            raise self.fail(node.line, f"{key} {must_be('a list of at least one', node.plain())}")
        return node.value

    def text(self, table: Table, key: str, above: Node) -> str:
        """Return a required text as it is written, even if it looks like a number."""
        node = self.member(table, key, above)
        if isinstance(node.value, dict | tuple) or node.value is None or not node.text.strip():
            raise self.fail(node.line, f"{key} {must_be('a text', node.plain())}")
        return node.text

    def amount(self, node: Node, key: str, least: float = 0) -> float:
        """Return a count of ``least`` or more, possibly fractional, because labels have weights."""
        value = node.value
        if not isinstance(value, int | float) or not is_number(value):
            value = -1
        if not least <= value <= _MOST:
            expected = f"a number, {least:g} or more"
            expected += f" and at most {_MOST:g}" if value > _MOST else ""
            raise self.fail(node.line, f"{key} {must_be(expected, node.plain())}")
        return value

    def share(self, node: Node, key: str) -> float:
        """Return a number from 0 to 1."""
        value = node.value
        if not isinstance(value, int | float) or not is_number(value) or not 0 <= value <= 1:
            raise self.fail(node.line, f"{key} {must_be('a number from 0 to 1', node.plain())}")
        return float(value)

    def expectation(self, node: Node, spans: Mapping[str, Span]) -> Expectation:
        """Return an expectation: one known target, held to one matcher."""
        table = self.table(node, "an expectation", _EXPECTATION)
        target = self.text(table, "target", node)
        if target not in spans:
            raise self._unknown(table["target"].line, "target", target, spans)
        matcher = self._matcher(self.member(table, "matcher", node), target, spans[target])
        message = self.text(table, "message", node) if "message" in table else ""
        return Expectation(target, matcher, message)

    def fail(self, line: int, problem: str, hint: str = "") -> SuiteError:
        """Return an error that names file and line."""
        return SuiteError(self.file, line, problem, hint)

    def _matcher(self, node: Node, target: str, span: Span) -> Matcher:
        table = self.table(node, "a matcher", _MATCHERS)
        if len(table) != 1:
            problem = f"a matcher must hold one of {', '.join(_MATCHERS)}, found {len(table)}"
            raise self.fail(node.line, problem)
        ((kind, inner),) = table.items()
        if kind == "not":
            return NotMatcher(self._matcher(inner, target, span))
        build = self._exact if kind == "exact" else self._schema
        return build(inner, target, span)

    def _exact(self, node: Node, target: str, span: Span) -> Matcher:
        value = node.plain()
        if not span.holds(value):
            problem = f"exact: {target} is {span.words}, and never {found(value)}"
            raise self.fail(node.line, problem, "Write a value that it can have.")
        return Exact(value)

    def _schema(self, node: Node, target: str, span: Span) -> Matcher:
        schema = node.plain()
        if not isinstance(schema, dict):
            raise self.fail(node.line, f"schema: {must_be('a mapping', schema)}")
        try:
            check = Schema.of(schema)
        except SchemaProblem as wrong:
            line = _line_of(node, wrong.path)
            raise self.fail(line, f"schema: {wrong.problem}", wrong.hint) from wrong
        if check.of_numbers and not span.numeric:
            problem = f"schema: {target} is {span.words}, of which {check.of_numbers} says nothing"
            raise self.fail(node.line, problem, "Use exact, or enum in the schema.")
        return check

    def member(self, table: Table, key: str, above: Node) -> Node:
        """Return the value of a required key."""
        if key not in table:
            raise self.fail(above.line, f'has no "{key}"', f"Add {key}: to it.")
        return table[key]

    def _unknown(self, line: int, what: str, name: str, known: Iterable[str]) -> SuiteError:
        names = [str(one) for one in known]
        close = get_close_matches(name[:80], names, 1)
        hint = f'Did you mean "{close[0]}"? ' if close else ""
        problem = f'"{show_line(name, 60)}" is no {what}'
        return self.fail(line, problem, f"{hint}Known: {', '.join(names)}.")


def _line_of(node: Node, path: list[str | int]) -> int:
    """Return the line that a path leads to: that of the key itself if the path ends in a key."""
    if not path:
        return node.line
    above, last = node.at(path[:-1]), path[-1]
    if above.keys and isinstance(last, str) and last in above.keys:
        return above.keys[last]
    return node.at(path).line
