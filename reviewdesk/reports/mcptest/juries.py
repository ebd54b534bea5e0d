"""Finding juries in a JSON value whose envelope is not documented: by structure, not by schema."""

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
    [
        "score",
        "pass",
        "passed",
        "verdict",
        "reason",
        "reasoning",
        "rationale",
        "error",
        "status",
        "confidence",
    ]
)
CHECK_LISTS = ("assertions", "checks", "expect", "expectations", "asserts")


@dataclass(frozen=True)
class PathStep:
    """An object above a jury and the key that leads from it towards the jury."""

    node: dict[str, Any]
    key: str


@dataclass(frozen=True)
class FoundJury:
    """One jury as found. ``facts`` adds what an object around the panel says about it."""

    raw: dict[str, Any]
    facts: dict[str, Any]
    panel: list[dict[str, Any]]
    panel_key: str
    pointer: str
    above: tuple[PathStep, ...]
    """Nearest first."""
    listed: bool
    """An element of a list or the document itself, so that its own name names the case."""


def find_juries(document: Any, pointer: str = "") -> Iterator[FoundJury]:
    """Every jury of a document, in its order; nothing inside a jury is searched."""
    yield from _Search().walk(document, (), pointer, {}, listed=True)


def sibling_checks(jury: FoundJury) -> list[dict[str, Any]]:
    """The assertions without a jury that stand beside this one, up to the object with the name."""
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
    """One search of one document, which looks at every object once, however deep they nest."""

    def __init__(self) -> None:
        self._held: dict[int, bool] = {}

    def holds(self, value: Any) -> bool:
        """Whether there is a jury in the value, at any depth."""
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
        """The key of an object under which its jurors stand.

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
        """The juries of a value, with what stands above them."""
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
            step, place = PathStep(node, key), f"{pointer}/{_escaped(key)}"
            yield from self.walk(child, (step, *above), place, shell, listed=False)


def _escaped(key: str) -> str:
    """A key as RFC 6901 writes it in a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
