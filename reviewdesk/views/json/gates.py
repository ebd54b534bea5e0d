"""The JSON of ``gate``: a suite, its entries and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.gates.expect import EntryKind, EntryResult, GateStatus, SuiteResult
from reviewdesk.views.json.shape import shape

_CHECK = (
    "target=expected.target value=reading.value matcher=expected.matcher.written status note "
    "margin message=expected.message verdict test source=reading.origin metric=reading.metric"
)
_JOIN = "labels joined changed one_sided missing frame held extra"
_INTERVAL = "low=reading.low high=reading.high limit reaches_past"


def suite(result: SuiteResult) -> dict[str, Any]:
    """Return ``gate --json``; an entry's status is ``pass``, ``fail``, ``skip`` or ``error``."""
    return {
        "suite": result.suite,
        **_numbers({status: result.count(status) for status in GateStatus}),
        "errors": len(result.errors),
        "entries": [_entry(entry) for entry in result.entries],
    }


def _numbers(counts: Mapping[GateStatus, int]) -> dict[str, int]:
    words = {"passed": GateStatus.PASS, "failed": GateStatus.FAIL, "skipped": GateStatus.SKIP}
    return {word: counts[status] for word, status in words.items()}


def _entry(entry: EntryResult) -> dict[str, Any]:
    """Return one entry; each check of a calibration also has its interval and the limit."""
    is_jury = entry.kind is EntryKind.JURY
    check = _CHECK if is_jury else f"{_CHECK} {_INTERVAL}"
    return {
        "name": entry.name,
        "status": "error" if entry.error else entry.status,
        **shape(entry, "kind source case design representative"),
        "verdicts": _numbers(entry.units) if is_jury else None,
        "counts": _numbers(entry.counts),
        **shape(entry, "values=origins"),
        "checks": [shape(found, check) for found in entry.findings],
        **shape(entry, "notes doubts short"),
        "join": None if entry.join is None else shape(entry.join, _JOIN),
        "error": entry.error or None,
    }
