"""Remove what looks like an API key from verdicts of foreign files, whatever their reader."""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.mapping.foreign import unused
from reviewdesk.reports.mapping.secrets import without_likely

_NAMES = ("model", "vendor")


def guarded_header(header: dict[str, Any]) -> dict[str, Any]:
    """Return a report's header with what looks like a key removed from every text."""
    return {key: _clean_texts(value) for key, value in header.items()}


def guarded(body: Any) -> Any:
    """Remove what looks like a key from a body's errors, names, addresses and raw answers.

    The judged texts and the reasons are content and stay unchanged. The body is changed in place.
    """
    if not isinstance(body, dict):
        return body
    for key in ("meta", "generator"):
        if key in body:
            body[key] = _clean_texts(body[key])
    jurors = body.get("jurors")
    for juror in jurors if isinstance(jurors, list) else ():
        if isinstance(juror, dict):
            _guard(juror)
    if isinstance(jurors, list) and any("://" in _id(juror) for juror in jurors):
        _rename(jurors)
    return body


def _guard(juror: dict[str, Any]) -> None:
    for key in (*_NAMES, "raw", "error"):
        if juror.get(key):
            juror[key] = _clean_texts(juror[key])


def _rename(jurors: list[dict[str, Any]]) -> None:
    """Remove logins from the ids; ids that differed only in their logins get a counter."""
    taken: dict[str, int] = {}
    for juror in jurors:
        if isinstance(juror, dict) and (name := _id(juror)):
            juror["id"] = unused(without_likely(name), taken)


def _id(juror: Any) -> str:
    name = juror.get("id") if isinstance(juror, dict) else None
    return name if isinstance(name, str) else ""


def _clean_texts(value: Any) -> Any:
    if isinstance(value, str):
        return without_likely(value)
    if isinstance(value, dict):
        return {key: _clean_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean_texts(item) for item in value]
    return value
