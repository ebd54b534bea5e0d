"""Check canonical headers and verdicts: by the models, and by rules no schema can express."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

from reviewdesk.reports.canonical.models import HeaderModel, VerdictModel
from reviewdesk.reports.validation import Strict, validated
from reviewdesk.reports.wording import FieldError, FieldProblem, Path, found, must_be

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z",
    re.ASCII,
)
_TIME_WORDS = "a time such as 2025-01-31T12:00:00Z"


def is_time(text: str) -> bool:
    """Return True if a text is an RFC 3339 time on a day that exists."""
    match = _TIME.match(text)
    if not match:
        return False
    try:
        datetime.fromisoformat(match[1])
    except ValueError:
        return False
    return True


def header_problem(header: Any) -> FieldProblem | None:
    """Return the first problem of a report's header, or None."""
    problem = _model_problem(HeaderModel, header)
    if problem:
        return problem
    return next(_header_rules(header), None)


def verdict_problem(verdict: Any) -> FieldProblem | None:
    """Return the first problem of a verdict, or None."""
    problem = _model_problem(VerdictModel, verdict)
    if problem:
        return problem
    return next(_verdict_rules(verdict, ()), None)


def _model_problem(model: type[Strict], value: Any) -> FieldProblem | None:
    try:
        validated(model, value)
    except FieldError as error:
        return error.problem
    return None


def _header_rules(header: dict[str, Any]) -> Iterator[FieldProblem]:
    yield from _time(header, "created_at", ())
    yield from _quorum(header.get("defaults") or {}, ("defaults",))


def _verdict_rules(verdict: dict[str, Any], path: Path) -> Iterator[FieldProblem]:
    yield from _jurors(verdict["jurors"], path)
    trim = verdict.get("trim")
    if trim:
        yield from _trim(trim, {juror["id"] for juror in verdict["jurors"]}, (*path, "trim"))
    yield from _quorum(verdict, path)
    if human := verdict.get("human"):
        yield from _time(human, "at", (*path, "human"))
    if provenance := verdict.get("provenance"):
        yield from _time(provenance, "committed_at", (*path, "provenance"))
    for index, rerun in enumerate(verdict.get("reruns", ())):
        yield from _verdict_rules(rerun, (*path, "reruns", index))


def _jurors(jurors: list[dict[str, Any]], path: Path) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for seat, juror in enumerate(jurors):
        if juror["id"] in seen:
            text = f"must be unique within the verdict, found {found(juror['id'])} again"
            yield FieldProblem((*path, "jurors", seat, "id"), text)
        seen.add(juror["id"])
        if juror.get("at") is not None:
            yield from _time(juror, "at", (*path, "jurors", seat))


def _trim(trim: dict[str, Any], jurors: set[str], path: Path) -> Iterator[FieldProblem]:
    for key in ("dropped_low", "dropped_high"):
        for index, name in enumerate(trim.get(key, ())):
            if name not in jurors:
                text = f"must name a juror of the verdict, found {found(name)}"
                yield FieldProblem((*path, key, index), text)


def _time(record: dict[str, Any], key: str, path: Path) -> Iterator[FieldProblem]:
    value = record.get(key)
    if value is not None and not is_time(value):
        yield FieldProblem((*path, key), must_be(_TIME_WORDS, value))


def _quorum(record: dict[str, Any], path: Path) -> Iterator[FieldProblem]:
    quorum = record.get("quorum")
    if isinstance(quorum, str):
        over, under = quorum.split("/")
        fits = len(quorum) <= 40 and int(under) > 0 and 0 < Fraction(int(over), int(under)) <= 1
        if not fits:
            yield FieldProblem(
                (*path, "quorum"), must_be("a fraction above 0 and at most 1", quorum)
            )
