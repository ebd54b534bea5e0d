"""The state of each juror within a verdict: counted, trimmed at an end, or without an answer."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.family import Family
from reviewdesk.domain.jury.label_rules import LabelVote, said_labels
from reviewdesk.domain.jury.rule import Rule
from reviewdesk.domain.jury.trim import Trim
from reviewdesk.domain.verdict import Ballot, Decision, Strategy, Verdict, folded

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
        """Whether the trim left the ballot out, at either end."""
        return self.state in _TRIMMED


def seats(
    verdict: Verdict,
    cut: Trim,
    decision: Decision | None,
    rule: Rule,
    words: LabelVote | None = None,
) -> tuple[Seat, ...]:
    """Return the jurors of a verdict in seat order.

    A dissent is a vote against the decision. If labels are what the jurors said, it is another
    label than the consensus, provided that a juror gave the consensus.
    """
    losing = {Decision.PASS: False, Decision.FAIL: True}.get(decision) if decision else None
    won = folded(verdict.text("label") or (words.label if words else None))
    said = {one.seat: folded(one.label) for one in said_labels(verdict)} if won else {}
    ours = verdict.trim.low is None
    # A reason without a rule means a dispute, which a person decides: nobody is trimmed.
    trims = rule.reason is None if rule.used is None else rule.used is Strategy.TRIMMED_MEAN
    placed = []
    for ballot in verdict.ballots:
        end = _trim_state(ballot, verdict, cut)
        spared = ours and not trims
        placed.append(
            Seat(
                ballot=ballot,
                family=family.family(ballot.model, ballot.vendor),
                state=State.COUNTED if end is not State.FAILED and spared else end,
                dissent=(
                    won in said.values() and said.get(ballot.seat, won) != won
                    if said
                    else losing is not None and ballot.vote is losing
                ),
                tied=ours and trims and ballot.seat in cut.tied,
                would_trim=spared and end in _TRIMMED,
            )
        )
    return tuple(placed)


def _trim_state(ballot: Ballot, verdict: Verdict, cut: Trim) -> State:
    """Return the state of a ballot under the report's trim, or under ours if it states none."""
    if not ballot.usable:
        return State.FAILED
    if ballot.score is None and ballot.vote is None:
        return State.COUNTED  # a label alone cannot be trimmed
    if verdict.trim.low is not None:
        low, high = ballot.id in verdict.trim.low, ballot.id in (verdict.trim.high or ())
    else:
        low, high = ballot.seat in cut.low, ballot.seat in cut.high
    if low:
        return State.TRIMMED_LOW
    return State.TRIMMED_HIGH if high else State.COUNTED


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
