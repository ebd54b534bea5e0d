"""Read the checks of a case, such as ``{"contains": ["a", "b"], "not": true}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reviewdesk.domain.panel.case import Check
from reviewdesk.reports.panels.cells import nearest
from reviewdesk.reports.wording import Path, found

KINDS = ("exact", "contains", "regex", "schema")
_KEYS = (*KINDS, "name", "not")
_MAX_PATTERN = 1000
_MAX_CHECKS = 100
_REFERRING = ("$ref", "$dynamicRef")


class FieldError(ValueError):
    """A member of a case that cannot be used, with the path that leads to it."""

    def __init__(self, path: Path, problem: str, hint: str = "") -> None:
        """Store the path, the problem and the hint."""
        super().__init__(problem)
        self.path, self.problem, self.hint = path, problem, hint


def read_checks(value: object, path: Path = ()) -> tuple[Check, ...]:
    """Read the checks of a case: an object of kinds with their operands, or a list of objects.

    ``name`` and ``not`` apply to all kinds in the same object. A list under ``contains`` gives one
    check for each of its texts, so that with ``not`` none of them may occur.

    Raises:
        FieldError: a kind is unknown, or an operand can never be evaluated.
    """
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [value]
    checks: list[Check] = []
    for at, one in enumerate(listed):
        checks += _checks(one, (*path, at) if isinstance(value, list) else path)
    if len(checks) > _MAX_CHECKS:
        raise FieldError(path, f"has {len(checks)} checks, more than {_MAX_CHECKS}")
    return tuple(checks)


def _checks(value: object, path: Path) -> Iterator[Check]:
    if not isinstance(value, Mapping):
        raise FieldError(
            path, f'must be an object such as {{"contains": "x"}}, found {found(value)}'
        )
    for key in value:
        if key not in _KEYS:
            raise FieldError((*path, str(key)), "is no kind of check", nearest(str(key), _KEYS))
    if not any(key in KINDS for key in value):
        raise FieldError(path, f"has none of {', '.join(KINDS)}", "Give it one.")
    name, negated = value.get("name", ""), value.get("not", False)
    if not isinstance(name, str):
        raise FieldError((*path, "name"), f"must be a text, found {found(name)}")
    if not isinstance(negated, bool):
        raise FieldError((*path, "not"), f"must be true or false, found {found(negated)}")
    for kind in KINDS:
        if kind in value:
            for operand in _operands(kind, value[kind], (*path, kind)):
                yield Check(kind, operand, name or kind, negated)


def _operands(kind: str, value: Any, path: Path) -> list[Any]:
    if kind == "exact":
        return [value]
    if kind == "contains":
        texts = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise FieldError(path, f"must be a text or a list of texts, found {found(value)}")
        return list(texts)
    _check_operand(kind, value, path)
    return [value]


def _check_operand(kind: str, value: Any, path: Path) -> None:
    """Raise FieldError for an expression or a schema that can never be evaluated."""
    # Imported here, because most cases have neither and the libraries are heavy.
    from reviewdesk.reports.panels.case_checks import check_problem

    if kind == "regex":
        fits = isinstance(value, str) and 0 < len(value) <= _MAX_PATTERN
        expected = f"a regular expression of 1 to {_MAX_PATTERN} characters"
    else:
        fits = isinstance(value, Mapping) and bool(value)
        expected = "a JSON schema that holds something"
    if not fits:
        raise FieldError(path, f"must be {expected}, found {found(value)}")
    if kind == "schema" and (away := next(_references(value), None)):
        hint = "Refer to #/$defs of the schema itself, or write it out."
        raise FieldError((*path, *away), "refers to another document", hint)
    if problem := check_problem(Check(kind, value)):
        raise FieldError(path, problem, "Mend it.")


def _references(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths where a schema refers to something outside itself."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _REFERRING and isinstance(inner, str) and not inner.startswith("#"):
                yield (*path, key)
            yield from _references(inner, (*path, str(key)))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _references(inner, (*path, at))
