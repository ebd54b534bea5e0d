"""Finding juries in a JSON value whose envelope is not documented: by structure, not by schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PANEL_KEYS = ("jurors", "votes", "verdicts", "judges", "critics")
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
_CHECK_LISTS = ("assertions", "checks", "expect", "expectations", "asserts")


@dataclass(frozen=True)
class Step:
    """An object above a jury and the key that leads from it towards the jury."""

    node: dict[str, Any]
    key: str


@dataclass(frozen=True)
class Jury:
    """One jury as found. ``facts`` adds what an object around the panel says about it."""

    raw: dict[str, Any]
    facts: dict[str, Any]
    panel: list[dict[str, Any]]
    panel_key: str
    pointer: str
    above: tuple[Step, ...]
    """Nearest first."""
    listed: bool
    """An element of a list or the document itself, so that its own name names the case."""


def find_juries(document: Any, pointer: str = "") -> Iterator[Jury]:
    """Every jury of a document, in its order; nothing inside a jury is searched."""
    yield from _walk(document, (), pointer, {}, listed=True)


def has_jury(value: Any) -> bool:
    """Whether there is a jury in the value, at any depth."""
    return next(_walk(value, (), "", {}, listed=True), None) is not None


def panel_key(node: dict[str, Any]) -> str | None:
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
        if answered and not any(has_jury(juror) for juror in panel):
            return key
    return None


def sibling_checks(jury: Jury) -> list[dict[str, Any]]:
    """The assertions without a jury that stand beside this one, up to the object with the name."""
    for step in jury.above:
        for key in _CHECK_LISTS:
            listed = step.node.get(key)
            if isinstance(listed, list):
                return [
                    check
                    for check in listed
                    if isinstance(check, dict)
                    and isinstance(check.get("pass", check.get("passed")), bool)
                    and not has_jury(check)
                ]
        if step.key not in _CHECK_LISTS and isinstance(step.node.get("name"), str):
            break
    return []


def _walk(
    node: Any, above: tuple[Step, ...], pointer: str, shell: dict[str, Any], *, listed: bool
) -> Iterator[Jury]:
    if isinstance(node, list):
        for index, child in enumerate(node):
            if isinstance(child, dict | list):
                yield from _walk(child, above, f"{pointer}/{index}", {}, listed=True)
        return
    if not isinstance(node, dict):
        return
    if key := panel_key(node):
        yield Jury(node, {**shell, **node}, node[key], key, pointer, above, listed)
        return
    children = [(key, child) for key, child in node.items() if isinstance(child, dict | list)]
    if ESCALATE in node:
        if not any(has_jury(child) for _, child in children):
            yield Jury(node, {**shell, **node}, [], "", pointer, above, listed)
            return
        inner = {key for key, child in children if has_jury(child)}
        shell = {key: value for key, value in node.items() if key not in inner}
    for key, child in children:
        step = Step(node, key)
        yield from _walk(child, (step, *above), f"{pointer}/{_escaped(key)}", shell, listed=False)


def _escaped(key: str) -> str:
    """A key as RFC 6901 writes it in a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
