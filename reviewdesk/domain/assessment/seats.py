"""What became of each juror within a verdict: counted, trimmed at an end, or without an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.family import Family
from reviewdesk.domain.jury.rule import Rule
from reviewdesk.domain.jury.trim import Trim
from reviewdesk.domain.verdict import Ballot, Decision, Strategy, Verdict

WOULD_TRIM = "a trimmed mean would leave it out"


class State(StrEnum):
    """What became of a ballot; dissent is kept apart. ``failed`` is every ballot without an answer.

    A juror is trimmed by the report's own trim; else by ours, where a trimmed mean decided or no
    rule is known. Under any other rule everyone who answered counts.
    """

    COUNTED = "counted"
    TRIMMED_LOW = "trimmed_low"
    TRIMMED_HIGH = "trimmed_high"
    FAILED = "failed"


_TRIMMED = frozenset({State.TRIMMED_LOW, State.TRIMMED_HIGH})


@dataclass(frozen=True, slots=True)
class Seat:
    """One juror within the verdict: its ballot, what became of it, and whether it lost the vote."""

    ballot: Ballot
    family: Family | None
    state: State
    dissent: bool
    tied: bool
    would_trim: bool = False
    """A trimmed mean would leave it out, where another rule decides that reads every answer."""

    @property
    def words(self) -> str:
        """The state as a person reads it; a ballot that does not count says why."""
        if self.state is State.FAILED:
            return "waits for --scale" if self.ballot.unscaled else self.ballot.status.words
        return self.state.value.replace("_", " ") + (" (tie)" if self.tied else "")

    @property
    def aside(self) -> str:
        """What is said behind the state of a ballot that a trimmed mean would leave out."""
        return f" · {WOULD_TRIM}" if self.would_trim else ""

    @property
    def trimmed(self) -> bool:
        """Left out by the trim, at either end."""
        return self.state in _TRIMMED


def seats(verdict: Verdict, cut: Trim, decision: Decision | None, rule: Rule) -> tuple[Seat, ...]:
    """Each juror in seat order; a dissent is a vote against the decision."""
    losing = {Decision.PASS: False, Decision.FAIL: True}.get(decision) if decision else None
    ours = verdict.trim.low is None
    # A regime without a rule has a reason: a dispute goes whole to a person.
    trims = rule.reason is None if rule.used is None else rule.used is Strategy.TRIMMED_MEAN
    made = []
    for ballot in verdict.ballots:
        end = _end(ballot, verdict, cut)
        spared = ours and not trims
        made.append(
            Seat(
                ballot=ballot,
                family=family.family(ballot.model, ballot.vendor),
                state=State.COUNTED if end is not State.FAILED and spared else end,
                dissent=losing is not None and ballot.vote is losing,
                tied=ours and trims and ballot.seat in cut.tied,
                would_trim=spared and end in _TRIMMED,
            )
        )
    return tuple(made)


def _end(ballot: Ballot, verdict: Verdict, cut: Trim) -> State:
    """What the report's trim, or ours where it states none, makes of a ballot."""
    if not ballot.usable:
        return State.FAILED
    if ballot.score is None and ballot.vote is None:
        return State.COUNTED  # a label alone has no ends to cut
    if verdict.trim.low is not None:
        low, high = ballot.id in verdict.trim.low, ballot.id in (verdict.trim.high or ())
    else:
        low, high = ballot.seat in cut.low, ballot.seat in cut.high
    if low:
        return State.TRIMMED_LOW
    return State.TRIMMED_HIGH if high else State.COUNTED


_COUNTED = {
    "ok": "answered",
    "failed": "failed",
    "abstained": "abstained",
    "unknown": "not understood",
    "not_asked": "not asked",
}


def ballot_counts(found: Iterable[Seat]) -> dict[str, int]:
    """How many jurors answered, failed, abstained, were not understood, and were not asked."""
    counts = dict.fromkeys(_COUNTED, 0)
    for status in (seat.ballot.status for seat in found):
        counts["failed" if status.failed else status.value] += 1
    return counts


def silent_words(found: Iterable[Seat]) -> str:
    """The jurors without an answer, counted by why; empty where all of them answered."""
    counts = ballot_counts(found)
    told = [f"{n} {_COUNTED[kind]}" for kind, n in counts.items() if n and kind != "ok"]
    return ", ".join(told)
