"""Reading options: what a person states about a file that the file leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain import arguments
from reviewdesk.errors import UsageError

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ReadOptions(Struct, frozen=True):
    """The options for reading a report; most apply to some formats only (``Dialect.uses``)."""

    format: str | None = None
    """The name of the dialect to read the file as, or None to recognise it."""
    skip_bad: bool = False
    """Whether to leave out bad verdicts instead of raising an error."""
    models: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The model of each juror, by juror name, for files that do not state it."""
    pass_labels: tuple[str, ...] = ()
    """Words that mean a pass, in addition to the usual ones; case does not matter."""
    fail_labels: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    """The lowest and the highest raw score, for scores that are not from 0 to 1."""
    judge_columns: tuple[str, ...] = ()
    """The columns of a wide table, each with one juror's scores."""

    def __post_init__(self) -> None:
        """Raise UsageError if the scale is not ascending or a word means both pass and fail."""
        if self.scale is not None:
            low, high = (arguments.finite("--scale", end) for end in self.scale)
            if low >= high:
                raise UsageError("--scale: the lowest score must come first", "Write 1..5.")
        words = {word.strip().casefold() for word in self.pass_labels}
        if both := words & {word.strip().casefold() for word in self.fail_labels}:
            raise UsageError(f"{min(both)!r} cannot mean a pass and a fail", "Give one of them.")

    def given(self) -> dict[str, Any]:
        """Return the given options except ``format`` as JSON; they are part of a run's identity."""
        options = {
            "skip_bad": self.skip_bad or None,
            "models": dict(sorted(self.models.items())) or None,
            "pass_labels": list(self.pass_labels) or None,
            "fail_labels": list(self.fail_labels) or None,
            "scale": list(self.scale) if self.scale else None,
            "judge_columns": list(self.judge_columns) or None,
        }
        return {name: value for name, value in options.items() if value is not None}
