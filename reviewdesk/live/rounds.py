"""The calls about one case, in the order in which a panel makes them, and the ballots they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import not_asked, seat_body
from reviewdesk.domain.panel.samples import one_ballot
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.verdict_body import can_turn
from reviewdesk.live.records import Call, calls_for, chance


class Rounds(Protocol):
    """The calls about one case, which are handed out as the panel's rules ask for them."""

    def next(self) -> Sequence[Call]:
        """Return the calls to make now; none if the case is finished, or some are still open."""

    def take(self, call: Call, ballot: CanonicalBallot) -> bool:
        """Keep the answer to a call; return True if no call is open any more."""

    @property
    def ballots(self) -> tuple[CanonicalBallot, ...]:
        """The ballots of the case."""

    @property
    def spared(self) -> int:
        """The calls that were not needed."""


class OneRound:
    """Calls that are all made at once, with a ballot for each in the same order."""

    spared = 0

    def __init__(self, calls: Sequence[Call]) -> None:
        """Store the calls without making any."""
        self._calls, self._waiting = calls, calls
        self._answers: dict[str, CanonicalBallot] = {}

    def next(self) -> Sequence[Call]:
        """Return all calls the first time, and none after it."""
        waiting, self._waiting = self._waiting, ()
        return waiting

    def take(self, call: Call, ballot: CanonicalBallot) -> bool:
        """Keep the answer to a call; return True if it was the last."""
        self._answers[call.key] = ballot
        return len(self._answers) == len(self._calls)

    @property
    def ballots(self) -> tuple[CanonicalBallot, ...]:
        """The ballots in the order of the calls."""
        return tuple(self._answers[call.key] for call in self._calls)


class CaseRounds:
    """Hands out the calls about one case, and keeps the answers until every seat has its ballot.

    All calls that may be open at once are handed out together: those of one order where the panel
    stops when it has decided, else all.
    """

    def __init__(self, case: Case, panel: PanelSpec, nonce: Callable[[], str] = chance) -> None:
        """Plan the calls without making any."""
        self._case, self._panel = case, panel
        self._answers: list[list[CanonicalBallot]] = [[] for _ in panel.jurors]
        self._calls = calls_for(case, panel, nonce)
        self._asked: set[int] = set()
        self._open = 0
        self._steps = self._plan()

    def next(self) -> list[Call]:
        """Return the calls to make now; none if the case is finished, or some are still open."""
        if self._open:
            return []
        found = next(self._steps, [])
        self._open = len(found)
        return found

    def take(self, call: Call, ballot: CanonicalBallot) -> bool:
        """Keep the answer to a call; return True if no call is open any more."""
        marks = {"swapped": True} if call.swapped else {}
        self._answers[call.seat].append({**ballot, **marks})  # type: ignore[typeddict-item]
        self._open -= 1
        return not self._open

    @property
    def ballots(self) -> tuple[CanonicalBallot, ...]:
        """The ballots in seat order; a juror without any answer was not asked."""
        return tuple(map(self._ballot, range(len(self._answers))))

    @property
    def spared(self) -> int:
        """The calls to the jurors that were not asked."""
        return len(self.rest())

    def rest(self) -> list[Call]:
        """Return every call that may still follow those handed out."""
        return [call for call in self._calls if call.seat not in self._asked]

    def _plan(self) -> Iterator[list[Call]]:
        panel = self._panel
        for seats in panel.stages:
            self._asked.update(seats)
            yield [call for call in self._calls if call.seat in seats]
            if panel.rule.stop_when_decided and not can_turn(self._case, panel, self.ballots):
                return

    def _ballot(self, seat: int) -> CanonicalBallot:
        juror, answers = self._panel.jurors[seat], self._answers[seat]
        if not answers:
            return not_asked(juror)
        if len(answers) == 1:
            return answers[0]
        labels = bool(self._panel.counting_for(self._case.tags).labels)
        return one_ballot(seat_body(juror), answers, self._panel.rule.threshold, labels=labels)
