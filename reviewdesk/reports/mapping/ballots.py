"""Shared handling of other tools' ballots: failures, and answers that are not understood.

A juror whose answer is under keys that the reader does not know did not fail. Its ballot has the
status ``unknown`` and lists the keys under ``meta``. A report counts such ballots, and is refused
if it has no others.
"""

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from reviewdesk.domain.report_model import JurorModel
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Status
from reviewdesk.reports.mapping.secrets import is_setting
from reviewdesk.reports.wording import JsonObject

UNREAD = "unread"
"""The key in a ballot's ``meta`` that lists the unread keys."""

_ANSWERS = ("score", "raw_score", "pass", "label", "error")
_MOST = 12


def unread_keys(
    record: Mapping[str, Any], answers: Collection[str], known: Container[str]
) -> list[str]:
    """Return the keys of a juror's record that must hold an answer that was not understood.

    ``answers`` are the keys that the reader looks at: null there means no answer, and any other
    value was not understood. ``known`` are the keys that describe the juror and its cost.
    """
    stated = [key for key in answers if key in record]
    if stated:
        return [key for key in stated if _says_something(record[key])]
    return [
        key
        for key, value in record.items()
        if key not in known and _says_something(value) and not is_setting(key)
    ]


def _says_something(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and value not in ([], {})


def understood(ballot: JsonObject, keys: Iterable[str]) -> JsonObject:
    """Return the ballot, with the status ``unknown`` if it has no answer but ``keys`` has any.

    A failure or an abstention that the file states counts as understood.
    """
    if ballot.get("status") not in (None, Status.OK):
        return ballot
    named = list(dict.fromkeys(keys))
    if not named or any(ballot.get(key) is not None for key in _ANSWERS):
        return ballot
    kept = {key: value for key, value in ballot.items() if key != "pass"}
    meta = {**(ballot.get("meta") or {}), UNREAD: [show_line(key, 60) for key in named[:_MOST]]}
    return {**kept, "status": Status.UNKNOWN.value, "meta": meta}


NOT_MEASURED = "a pass or fail beside an empty score is not measured, and casts no vote"
"""The note on ballots that ``measured`` changes."""


def measured(ballot: JsonObject, count: Callable[[str], None]) -> JsonObject:
    """Return the ballot of a record whose score is null, NaN or absent, without a vote.

    Tools derive pass from the score, so a pass or a fail without a score was never measured. A
    ballot with an error, or with a number that is kept raw, is unchanged. ``count`` counts a note.
    """
    known = any(ballot.get(key) is not None for key in ("score", "raw_score", "error"))
    if known or not isinstance(ballot.get("pass"), bool):
        return ballot
    count(NOT_MEASURED)
    return {**ballot, "pass": None}


class UnreadBallots:
    """Counts the ballots of a report that were not understood, and collects their keys."""

    def __init__(self) -> None:
        self.count = self.ballots = 0
        self._keys: dict[str, None] = {}

    def add(self, jurors: Sequence[JurorModel]) -> None:
        """Count those of the jurors that were not understood."""
        for juror in jurors:
            if juror.status == "unknown":
                self.count += 1
                named = (juror.meta or {}).get(UNREAD)
                if isinstance(named, list) and len(self._keys) <= _MOST:
                    self._keys.update(dict.fromkeys(key for key in named if isinstance(key, str)))

    @property
    def keys(self) -> str:
        """The keys on one line, shortened for display."""
        more = ", ..." if len(self._keys) > _MOST else ""
        return ", ".join(show_line(key, 60) for key in [*self._keys][:_MOST]) + more


_STATUS_BY_WORD = (
    ("timeout", re.compile(r"time[d ]*-?out", re.IGNORECASE)),
    ("parse_fail", re.compile(r"parse|malformed|invalid json|not (\w+ )*json", re.IGNORECASE)),
    ("empty", re.compile(r"no output|empty[_ ](?:output|response)", re.IGNORECASE)),
    ("missing_key", re.compile(r"missing api[_ ]key|api[_ ]key .{0,40}missing", re.IGNORECASE)),
)
_HEAD_LENGTH = 2000


def failure(message: str, status: str | None = None, kind: str = "") -> JsonObject:
    """Return ``error`` and ``status`` of a failed ballot; the message implies a missing status."""
    head = f"{kind} {message[:_HEAD_LENGTH]}"
    found = next((name for name, words in _STATUS_BY_WORD if words.search(head)), "error")
    error = {"type": kind} if kind else {}
    error["message"] = message or "the juror failed"
    return {"status": status or found, "error": error}
