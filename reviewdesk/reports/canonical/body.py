"""From what a file says to a canonical body: null optional keys are dropped, nothing else."""

from __future__ import annotations

from typing import Any


def verdict_body(verdict: dict[str, Any]) -> dict[str, Any]:
    """A validated verdict as it is stored; ``meta`` and ``labels`` stay as they are.

    A juror's ``pass: null`` stays: it withholds the vote, where an absent key leaves it to the
    threshold.
    """
    body = _said(verdict)
    for key, keep in _OBJECTS.items():
        if key in body:
            body[key] = _said(body[key], keep)
    if "checks" in body:
        body["checks"] = [_said(check, "pass") for check in body["checks"]]
    body["jurors"] = [_juror(juror) for juror in body["jurors"]]
    if "reruns" in body:
        body["reruns"] = [verdict_body(rerun) for rerun in body["reruns"]]
    return body


def header_body(header: dict[str, Any]) -> dict[str, Any]:
    """A validated header as it is stored."""
    body = _said(header)
    for key in ("producer", "defaults", "generator"):
        if key in body:
            body[key] = _said(body[key])
    return body


_OBJECTS = {
    "case": "",
    "generator": "",
    "agreement": "value",
    "trim": "",
    "human": "",
    "provenance": "",
}
"""The objects of a verdict, each with the key whose null says something."""


def _juror(juror: dict[str, Any]) -> dict[str, Any]:
    body = _said(juror, "pass")
    if "error" in body:
        body["error"] = _said(body["error"])
    return body


def _said(record: dict[str, Any], keep: str = "") -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None or key == keep}
