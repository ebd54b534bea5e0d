"""Helpers for the mappers of other tools' files: names, models, remarks, words and ballots.

A juror whose answer is under keys that the reader does not know did not fail: its ballot has the
status ``unknown`` and lists the keys under ``meta``. A report with no other ballots is refused.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from functools import lru_cache
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.values import Decision, Status, folded, label_decision
from reviewdesk.errors import ReportError
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.secrets import is_setting
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.wording import JsonObject

ID_LENGTH = 480
JUROR_LENGTH = 190
"""These leave room for a counter: a verdict's id has at most 500 characters, a juror's 200."""

_MOST_KEYS = 30
LEFT_OUT = "keys left out"
"""The start of the note that lists the keys outside a reader's allow-list."""


@lru_cache(maxsize=1000)
def juror_ids(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of a panel's jurors, in the order of their seats."""
    taken: dict[str, int] = {}
    return tuple([values.unused(name[:JUROR_LENGTH], taken) for name in names])


def model_notes(
    given: Iterable[str], met: Container[str], stated: Collection[str] = ()
) -> list[str]:
    """Return notes on jurors of ``--models`` that do not occur, or whose model the file states."""
    unmet = [show_line(name, 40) for name in given if name not in met]
    lines = [f"--models: no juror is called {', '.join(unmet)}"] if unmet else []
    if stated:
        lines.append(f"--models: the file's own model is used for {', '.join(stated)}")
    return lines


class Models:
    """The models from ``--models``, for jurors whose model the file does not state."""

    def __init__(self, options: ReadOptions) -> None:
        self._given = options.models
        self._met: set[str] = set()
        self._stated: dict[str, None] = {}

    def of(self, juror: str, stated: Any) -> str | None:
        """Return the model that the file states, else the one from ``--models``, else None."""
        model = values.filled(stated)
        given = self.chosen(juror)
        if model and given and model != given:
            self._stated.setdefault(show_line(juror, 40))
        return model or given

    def notes(self) -> list[str]:
        return model_notes(self._given, self._met, self._stated)

    def chosen(self, *names: str) -> str | None:
        """Return the model from ``--models`` for the first of a juror's names listed there."""
        for name in names if self._given else ():
            if name in self._given:
                self._met.add(name)
                return self._given[name]
        return None


class Remarks:
    """Collects unmapped keys, once each, and sentences with the number of cases."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._counts: Counter[str] = Counter()

    def unmapped(self, keys: Iterable[str], prefix: str = "") -> None:
        for key in keys:
            self._keys.setdefault(prefix + key)

    def count(self, sentence: str) -> None:
        self._counts[sentence] += 1

    def notes(self, unmapped: str = "keys not mapped, kept under meta.raw") -> list[str]:
        """Return the import notes, in the order in which their causes occurred."""
        lines = [f"{sentence} ({count}x)" for sentence, count in self._counts.items()]
        if self._keys:
            names = [show_line(key, 60) for key in self._keys]
            more = f" and {len(names) - _MOST_KEYS} more" if len(names) > _MOST_KEYS else ""
            listed = ", ".join(names[:_MOST_KEYS])
            lines.append(f"{unmapped}: {listed}{more}")
        return lines


class LabelWords:
    """Maps labels to votes; the words that a person gives take precedence over the usual ones."""

    def __init__(self, options: ReadOptions) -> None:
        self._given = {folded(word): True for word in options.pass_labels}
        self._given |= {folded(word): False for word in options.fail_labels}

    def vote(self, word: Any) -> bool | None:
        """Return True for a pass, False for a fail, and None for anything else."""
        if not isinstance(word, str):
            return None
        decision = label_decision(word)
        usual = None if decision is None else decision is Decision.PASS
        return self._given.get(folded(word), usual)


WHY_RAW = "outside 0..1, or of a juror with such scores,"
"""The words of notes for scores that are kept raw because no scale was given."""


class LateFactError(ReportError):
    """A fact stands behind a verdict that depends on it, so the file must be surveyed first."""

    def __init__(self) -> None:
        super().__init__("", "", "cannot be read in one pass", "Read it again, not streamed.")


class RefusedTableError(LateFactError):
    """A map refuses the table; its note has the reason and, after a semicolon, what to do."""

    def __init__(self, note: str) -> None:
        super().__init__()
        self.note = note


class LateFacts:
    """What holds for names anywhere in a file, such as a score outside 0..1.

    Names are added before they are queried; to add one later, in a streamed file, is an error.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._denied: set[str] = set()

    def add(self, name: str) -> None:
        """Record that the fact holds; raise LateFactError if the opposite was relied on."""
        if name in self._denied:
            raise LateFactError
        self._known.add(name)

    def holds(self, name: str) -> bool:
        if name in self._known:
            return True
        self._denied.add(name)
        return False


UNREAD = "unread"
"""The key in a ballot's ``meta`` that lists the unread keys."""

_ANSWERS = ("score", "raw_score", "pass", "label", "error")
MOST_UNREAD = 12


def unread_keys(
    record: Mapping[str, Any], answers: Collection[str], known: Container[str]
) -> list[str]:
    """Return the keys of a juror's record that must hold an answer that was not understood.

    Those among ``answers`` count if they are filled, else all that are filled but not ``known``.
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
    """Return the ballot, with the status ``unknown`` if unread ``keys`` may hold its answer."""
    if ballot.get("status") not in (None, Status.OK):
        return ballot
    named = list(dict.fromkeys(keys))
    if not named or any(ballot.get(key) is not None for key in _ANSWERS):
        return ballot
    kept = {key: value for key, value in ballot.items() if key != "pass"}
    meta = {
        **(ballot.get("meta") or {}),
        UNREAD: [show_line(key, 60) for key in named[:MOST_UNREAD]],
    }
    return {**kept, "status": Status.UNKNOWN.value, "meta": meta}


NOT_MEASURED = "a pass or fail beside an empty score is not measured, and casts no vote"
"""The note on ballots that ``measured`` changes."""


def measured(ballot: JsonObject, count: Callable[[str], None]) -> JsonObject:
    """Return the ballot of a record without a score, without the vote that tools derive from it.

    A ballot with an error or a number kept raw is unchanged. ``count`` counts a note.
    """
    known = any(ballot.get(key) is not None for key in ("score", "raw_score", "error"))
    if known or not isinstance(ballot.get("pass"), bool):
        return ballot
    count(NOT_MEASURED)
    return {**ballot, "pass": None}


_STATUS_BY_WORD = (
    ("timeout", re.compile(r"time[d ]*-?out", re.IGNORECASE)),
    ("parse_fail", re.compile(r"parse|malformed|invalid json|not (\w+ )*json", re.IGNORECASE)),
    ("empty", re.compile(r"no output|empty[_ ](?:output|response)", re.IGNORECASE)),
    ("missing_key", re.compile(r"missing api[_ ]key|api[_ ]key .{0,40}missing", re.IGNORECASE)),
)


def failure(message: str, status: str | None = None, kind: str = "") -> JsonObject:
    """Return ``error`` and ``status`` of a failed ballot; the message implies a missing status."""
    head = f"{kind} {message[:2000]}"
    found = next((name for name, words in _STATUS_BY_WORD if words.search(head)), "error")
    error = {"type": kind} if kind else {}
    error["message"] = message or "the juror failed"
    return {"status": status or found, "error": error}
