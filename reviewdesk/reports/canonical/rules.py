"""Check canonical headers and verdicts by the models and by rules that no schema can express.

The bodies that are stored are the JSON of the file; only optional keys that are null are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.reports.canonical.types import fits_header
from reviewdesk.reports.mapping.values import without_nulls
from reviewdesk.reports.wording import FieldError, FieldProblem, Path, found, must_be

if TYPE_CHECKING:
    from reviewdesk.reports.validation import Strict

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z",
    re.ASCII,
)
_TIME_WORDS = "a time such as 2025-01-31T12:00:00Z"

_OBJECTS = {
    "case": "",
    "generator": "",
    "agreement": "value",
    "trim": "",
    "human": "",
    "provenance": "",
}
"""The objects of a verdict, each with its one key whose null has a meaning, if any."""


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
    if fits_header(header):
        return next(_header_rules(header), None)
    # Imported here, as below, because models take long to build and only word what is wrong.
    from reviewdesk.reports.canonical.models import HeaderModel

    return _problem(HeaderModel, header, _header_rules)


def verdict_problem(verdict: Any) -> FieldProblem | None:
    """Return the first problem of a verdict, or None."""
    from reviewdesk.reports.canonical.models import VerdictModel

    return _problem(VerdictModel, verdict, _verdict_rules)


def rules_problem(verdict: Any) -> FieldProblem | None:
    """Return the first problem of a verdict that fits the models, or None."""
    return next(_verdict_rules(verdict), None)


def _problem(
    model: type[Strict], value: Any, rules: Callable[[dict[str, Any]], Iterator[FieldProblem]]
) -> FieldProblem | None:
    from reviewdesk.reports.validation import validated

    try:
        validated(model, value)
    except FieldError as error:
        return error.problem
    return next(rules(value), None)


def _header_rules(header: dict[str, Any]) -> Iterator[FieldProblem]:
    yield from _time(header, "created_at", ())
    yield from _quorum(header.get("defaults") or {}, ("defaults",))


def _verdict_rules(verdict: dict[str, Any], path: Path = ()) -> Iterator[FieldProblem]:
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
    seen: set[str] = {juror["id"] for juror in jurors}
    if len(seen) == len(jurors) and not any("at" in juror for juror in jurors):
        return
    seen.clear()
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


def verdict_body(verdict: dict[str, Any]) -> CanonicalVerdict:
    """Return a verdict, which the models have validated, as it is stored; here it gets its type.

    ``meta`` and ``labels`` stay unchanged.

    A juror's ``pass: null`` stays: it withholds the vote. Without the key, the threshold decides.
    """
    body = without_nulls(verdict)
    for key, keep in _OBJECTS.items():
        if key in body:
            body[key] = without_nulls(body[key], keep)
    if "checks" in body:
        body["checks"] = [without_nulls(check, "pass") for check in body["checks"]]
    body["jurors"] = [_juror(juror) for juror in body["jurors"]]
    if "reruns" in body:
        body["reruns"] = [verdict_body(rerun) for rerun in body["reruns"]]
    return cast(CanonicalVerdict, body)


def header_body(header: dict[str, Any]) -> dict[str, Any]:
    """Return a validated header as it is stored."""
    body = without_nulls(header)
    for key in ("producer", "defaults", "generator"):
        if key in body:
            body[key] = without_nulls(body[key])
    return body


def _juror(juror: dict[str, Any]) -> dict[str, Any]:
    body = without_nulls(juror, "pass")
    if "error" in body:
        body["error"] = without_nulls(body["error"])
    return body
