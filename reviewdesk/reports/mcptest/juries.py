"""Find juries in JSON whose envelope is not documented: by structure, not by schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PANEL_KEYS = (
    *("jurors", "votes", "verdicts", "judges", "critics"),
    *("ballots", "judgements", "judgments", "ratings"),
)
ESCALATE = "escalate_for_review"
_ANSWERS = frozenset(
    {"score", "pass", "passed", "verdict", "reason", "reasoning", "rationale"}
    | {"error", "status", "confidence"}
)
CHECK_LISTS = ("assertions", "checks", "expect", "expectations", "asserts")


@dataclass(frozen=True)
class PathStep:
    """An object above a jury and the key that leads from it towards the jury."""

    node: dict[str, Any]
    key: str


@dataclass(frozen=True)
class FoundJury:
    """One jury as found. ``facts`` is ``raw`` with the keys of an object around the panel."""

    raw: dict[str, Any]
    facts: dict[str, Any]
    panel: list[dict[str, Any]]
    panel_key: str
    pointer: str
    above: tuple[PathStep, ...]
    """The objects above the jury, nearest first."""
    listed: bool
    """Whether the jury is a list element or the document itself; then its name is the case's."""


def find_juries(document: Any) -> Iterator[FoundJury]:
    """Yield every jury of a document in document order; nothing inside a jury is searched."""
    yield from _Search().walk(document, (), "", {}, listed=True)


def sibling_checks(jury: FoundJury) -> list[dict[str, Any]]:
    """Return the assertions without a jury beside this one, up to the nearest named object."""
    search = _Search()
    for step in jury.above:
        for key in CHECK_LISTS:
            listed = step.node.get(key)
            if isinstance(listed, list):
                return [
                    check
                    for check in listed
                    if isinstance(check, dict)
                    and isinstance(check.get("pass", check.get("passed")), bool)
                    and not search.holds(check)
                ]
        if step.key not in CHECK_LISTS and isinstance(step.node.get("name"), str):
            break
    return []


class _Search:
    """A search of one document that examines every object once, however deep they nest."""

    def __init__(self) -> None:
        self._held: dict[int, bool] = {}

    def holds(self, value: Any) -> bool:
        """Return True if there is a jury in the value, at any depth."""
        if isinstance(value, list):
            return any(self.holds(child) for child in value if isinstance(child, dict | list))
        if not isinstance(value, dict):
            return False
        if (known := self._held.get(id(value))) is None:
            known = (
                ESCALATE in value
                or any(self.holds(child) for child in value.values())
                or self.panel_key(value) is not None
            )
            self._held[id(value)] = known
        return known

    def panel_key(self, node: dict[str, Any]) -> str | None:
        """Return the key under which an object has its jurors, or None.

        A list of models without any answer is a panel's configuration, and a list of objects that
        hold juries themselves is a list of tests.
        """
        for key in PANEL_KEYS:
            panel = node.get(key)
            if not isinstance(panel, list) or not panel:
                continue
            if not all(isinstance(juror, dict) for juror in panel):
                continue
            answered = ESCALATE in node or any(_ANSWERS & juror.keys() for juror in panel)
            if answered and not any(self.holds(juror) for juror in panel):
                return key
        return None

    def walk(
        self,
        node: Any,
        above: tuple[PathStep, ...],
        pointer: str,
        shell: dict[str, Any],
        *,
        listed: bool,
    ) -> Iterator[FoundJury]:
        """Yield the juries of a value; ``shell`` has the facts of an object around the panel."""
        if isinstance(node, list):
            for index, child in enumerate(node):
                if isinstance(child, dict | list):
                    yield from self.walk(child, above, f"{pointer}/{index}", {}, listed=True)
            return
        if not isinstance(node, dict):
            return
        if key := self.panel_key(node):
            yield FoundJury(node, {**shell, **node}, node[key], key, pointer, above, listed)
            return
        children = [(key, child) for key, child in node.items() if isinstance(child, dict | list)]
        if ESCALATE in node:
            inner = {key for key, child in children if self.holds(child)}
            if not inner:
                yield FoundJury(node, {**shell, **node}, [], "", pointer, above, listed)
                return
            shell = {key: value for key, value in node.items() if key not in inner}
        for key, child in children:
            step, place = PathStep(node, key), f"{pointer}/{_escape_key(key)}"
            yield from self.walk(child, (step, *above), place, shell, listed=False)


def _escape_key(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
