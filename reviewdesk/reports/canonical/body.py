"""Make canonical bodies from validated JSON: only optional keys that are null are dropped."""

from __future__ import annotations

from typing import Any, cast

from reviewdesk.domain.canonical import CanonicalVerdict


def verdict_body(verdict: dict[str, Any]) -> CanonicalVerdict:
    """Return a verdict, which the models have validated, as it is stored; here it gets its type.

    ``meta`` and ``labels`` stay unchanged.

    A juror's ``pass: null`` stays: it withholds the vote. Without the key, the threshold decides.
    """
    body = _without_nulls(verdict)
    for key, keep in _OBJECTS.items():
        if key in body:
            body[key] = _without_nulls(body[key], keep)
    if "checks" in body:
        body["checks"] = [_without_nulls(check, "pass") for check in body["checks"]]
    body["jurors"] = [_juror(juror) for juror in body["jurors"]]
    if "reruns" in body:
        body["reruns"] = [verdict_body(rerun) for rerun in body["reruns"]]
    return cast(CanonicalVerdict, body)


def header_body(header: dict[str, Any]) -> dict[str, Any]:
    """Return a validated header as it is stored."""
    body = _without_nulls(header)
    for key in ("producer", "defaults", "generator"):
        if key in body:
            body[key] = _without_nulls(body[key])
    return body


_OBJECTS = {
    "case": "",
    "generator": "",
    "agreement": "value",
    "trim": "",
    "human": "",
    "provenance": "",
}
"""The objects of a verdict, each with its one key whose null has a meaning, if any."""


def _juror(juror: dict[str, Any]) -> dict[str, Any]:
    body = _without_nulls(juror, "pass")
    if "error" in body:
        body["error"] = _without_nulls(body["error"])
    return body


def _without_nulls(record: dict[str, Any], keep: str = "") -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None or key == keep}
