"""A first pass over all rows of a promptfoo result, needed before any verdict gets its id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.raw_scores import Scales
from reviewdesk.reports.promptfoo.jurors import Provider, weigh
from reviewdesk.reports.promptfoo.row import RowError, record, take_apart

_NAME_LENGTH = 200


@dataclass
class ResultSurvey:
    """Counts and names from a first pass over all rows."""

    providers: set[str | None] = field(default_factory=set)
    prompts: dict[str, int] = field(default_factory=dict)
    repeats: bool = False
    scales: Scales = field(default_factory=Scales)
    total: int = 0
    rows: int = 0

    @cached_property
    def prompt_numbers(self) -> dict[str, int]:
        """The number of each prompt, from 1 in the order of the columns."""
        ordered = sorted(self.prompts, key=lambda prompt: self.prompts[prompt])
        return {prompt: number for number, prompt in enumerate(ordered, 1)}


class TestNames:
    """Names tests, and counts the repetitions of each one."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._first: dict[bytes, str] = {}
        self._epochs: dict[tuple[bytes, str | None, str], int] = {}

    def place(self, row: dict[str, Any]) -> tuple[str, int]:
        """Count a row, and return its test's name and repetition.

        The repetition counts from 1, for each prompt and provider.
        """
        case = record(row, "testCase")
        identity = [case.get(key) for key in ("description", "vars", "assert")]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()
        described = case.get("description")
        if not (isinstance(described, str) and described.strip()):
            index = row.get("testIdx")
            described = f"test {index + 1 if isinstance(index, int) else len(self._first) + 1}"
        name = self._first.setdefault(digest, described)
        key = (digest, Provider.of(row.get("provider")).name, prompt_of(row))
        self._epochs[key] = self._epochs.get(key, 0) + 1
        return name, self._epochs[key]


def prompt_of(row: dict[str, Any]) -> str:
    """Return the identity of a row's prompt: its id, else its label, else its column."""
    label = record(row, "prompt").get("label")
    stated = values.first({**row, "label": label}, ("promptId", "label", "promptIdx"))
    return str(stated)[:_NAME_LENGTH]


def survey(rows: Iterable[Any]) -> ResultSurvey:
    """Survey all rows. A row that cannot be read counts as one verdict."""
    found, tests = ResultSurvey(), TestNames()
    for row in rows:
        found.rows += 1
        found.total += _count(row, found.scales)
        if isinstance(row, dict):
            found.providers.add(Provider.of(row.get("provider")).name)
            prompt, index = prompt_of(row), row.get("promptIdx")
            at = index if isinstance(index, int) else 0
            found.prompts[prompt] = min(at, found.prompts.get(prompt, at))
            found.repeats |= tests.place(row)[1] > 1
    return found


def default_grader(row: dict[str, Any]) -> Any:
    """Return the provider that grades the row's assertions that name none."""
    return record(record(row, "testCase"), "options").get("provider")


def _count(row: Any, scales: Scales) -> int:
    if not isinstance(row, dict):
        return 1
    try:
        parts = take_apart(row)
    except RowError:
        return 1
    for panel in parts.panels:
        weigh(panel, default_grader(row), scales)
    return len(parts.panels) or int(parts.stands_alone)
