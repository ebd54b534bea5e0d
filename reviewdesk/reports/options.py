"""How a report is to be read: what a person says of a file that the file leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from reviewdesk.domain import arguments
from reviewdesk.errors import UsageError

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of reading; a reader is given only those that it says it uses."""

    format: str | None = None
    """A dialect to force."""
    skip_bad: bool = False
    """Whether bad verdicts are left out or an error."""
    models: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The model behind a juror's name, in files that do not say."""
    pass_labels: tuple[str, ...] = ()
    """Words that mean a pass, beside the usual ones; compared without case."""
    fail_labels: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    """The lowest and the highest raw score, for scores that are not from 0 to 1."""
    judge_columns: tuple[str, ...] = ()
    """The columns of a wide table that hold one judge's scores each."""

    def __post_init__(self) -> None:
        """Refuse what no file can be read by."""
        if self.scale is not None:
            low, high = (arguments.finite("--scale", end) for end in self.scale)
            if low >= high:
                raise UsageError("--scale: the lowest score must come first", "Write 1..5.")
        words = {word.strip().casefold() for word in self.pass_labels}
        if both := words & {word.strip().casefold() for word in self.fail_labels}:
            raise UsageError(f"{min(both)!r} cannot mean a pass and a fail", "Give one of them.")

    def given(self) -> dict[str, Any]:
        """The options beside ``format`` that were given, as JSON; part of a run's identity."""
        said = {
            "skip_bad": self.skip_bad or None,
            "models": dict(sorted(self.models.items())) or None,
            "pass_labels": list(self.pass_labels) or None,
            "fail_labels": list(self.fail_labels) or None,
            "scale": list(self.scale) if self.scale else None,
            "judge_columns": list(self.judge_columns) or None,
        }
        return {name: value for name, value in said.items() if value is not None}
