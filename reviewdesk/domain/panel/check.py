"""What a deterministic check of a case found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one response; ``reason`` is a line for a person where it did not pass.

    ``passed`` is ``None`` where it came to no answer, which says nothing against the response.
    """

    name: str
    passed: bool | None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it keeps the response from the jury."""
        return self.passed is False

    @property
    def body(self) -> dict[str, Any]:
        """The check as a canonical verdict states it."""
        stated = {"name": self.name, "pass": self.passed}
        return stated if self.reason is None else {**stated, "reason": self.reason}
