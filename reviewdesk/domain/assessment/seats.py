"""The state of each juror within a verdict: counted, trimmed at an end, or without an answer."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.jury.family import Family
from reviewdesk.domain.verdict import Ballot

WOULD_TRIM = "a trimmed mean would leave it out"


class State(StrEnum):
    """The state of a ballot, apart from dissent; ``failed`` is every ballot without an answer.

    A juror is trimmed by the report's own trim. If there is none, it is trimmed by ours where a
    trimmed mean decided or no rule is known. Under any other rule everyone who answered counts.
    """

    COUNTED = "counted"
    TRIMMED_LOW = "trimmed_low"
    TRIMMED_HIGH = "trimmed_high"
    FAILED = "failed"


_TRIMMED = frozenset({State.TRIMMED_LOW, State.TRIMMED_HIGH})


class Seat(Struct, frozen=True):
    """One juror within the verdict: its ballot, its state, and whether it dissents."""

    ballot: Ballot
    family: Family | None
    state: State
    dissent: bool
    tied: bool
    contradicts: bool = False
    """Whether the stated pass differs from the vote that score and threshold give.

    Without a threshold, a pass with a score of 0 and a fail with a score of 1 contradict.
    """
    would_trim: bool = False
    """Whether a trimmed mean would leave it out, although the rule used reads every answer."""

    @property
    def words(self) -> str:
        """The state in words for the screen; a ballot that does not count says why."""
        if self.state is State.FAILED:
            return "waits for --scale" if self.ballot.unscaled else self.ballot.status.words
        return self.state.value.replace("_", " ") + (" (tie)" if self.tied else "")

    @property
    def aside(self) -> str:
        """The text after the state of a ballot that a trimmed mean would leave out, else empty."""
        return f" · {WOULD_TRIM}" if self.would_trim else ""

    @property
    def trimmed(self) -> bool:
        return self.state in _TRIMMED


_STATUS_WORDS = {
    "ok": "answered",
    "failed": "failed",
    "abstained": "abstained",
    "unknown": "not understood",
    "not_asked": "not asked",
}


def ballot_counts(found: Iterable[Seat]) -> dict[str, int]:
    """Count the jurors that answered, failed, abstained, were not understood, were not asked."""
    counts = dict.fromkeys(_STATUS_WORDS, 0)
    for status in (seat.ballot.status for seat in found):
        counts["failed" if status.failed else status.value] += 1
    return counts


def silent_words(found: Iterable[Seat]) -> str:
    """Return how many jurors gave no answer and why, in words; empty if all of them answered."""
    counts = ballot_counts(found)
    parts = [f"{n} {_STATUS_WORDS[kind]}" for kind, n in counts.items() if n and kind != "ok"]
    return ", ".join(parts)
