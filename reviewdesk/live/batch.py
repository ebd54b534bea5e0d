"""Ask jurors about many cases, drawing only as many cases as the open calls need."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import ModelPause
from reviewdesk.domain.verdict import Status
from reviewdesk.live.budget import Meter
from reviewdesk.live.journal.cache import ReplyCache
from reviewdesk.live.journal.journal import ReplyStore
from reviewdesk.live.records import Call
from reviewdesk.live.replies.ballots import answer_of, ballot_of
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.rounds import CaseRounds, OneRound, Rounds
from reviewdesk.live.runner import CallRunner
from reviewdesk.live.session import CallSession


class Posed(Protocol):
    """A case that jurors are to be asked about."""

    def begin(self) -> Rounds:
        """Plan the calls that it takes; none if no juror is asked about it."""


P = TypeVar("P", bound=Posed)


class PendingCase(Struct, frozen=True):
    """A case with its position in the file, its panel, and the results of its checks."""

    place: int
    case: Case
    panel: PanelSpec
    checks: tuple[CheckResult, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a check failed, which keeps the case from the jury."""
        return any(check.failed for check in self.checks)

    def begin(self) -> Rounds:
        """Plan the calls of the panel; a case that failed a check takes none."""
        return OneRound(()) if self.failed else CaseRounds(self.case, self.panel)


class Answered(Struct, Generic[P], frozen=True):
    """A case whose jurors were all asked, as far as needed, with the ballots of its rounds."""

    posed: P
    ballots: tuple[CanonicalBallot, ...]


@dataclass(slots=True)
class BatchProgress:
    """Progress of a run: ``reused`` answers were on disk, ``calls`` were made in ``seconds``.

    ``failed`` of the calls brought no answer.
    """

    cases: int = 0
    calls: int = 0
    reused: int = 0
    failed: int = 0
    spared: int = 0
    """The calls that were not needed, because the panel had decided without them."""
    seconds: float = 0.0
    idle: float = 0.0
    """The seconds in which every call waited."""
    pauses: tuple[tuple[ModelPause, int], ...] = ()
    """The models that are paused, and how many drawn calls wait for each."""

    @property
    def rate(self) -> float:
        """The number of calls per second, 0 before any time has passed."""
        return self.calls / self.seconds if self.seconds > 0 else 0.0


@dataclass(slots=True)
class _OpenCase(Generic[P]):
    """A case that some jurors have not answered yet."""

    posed: P
    rounds: Rounds


class Batch(Generic[P]):
    """Makes the calls of cases as they are drawn, and skips those whose answer is on disk."""

    def __init__(
        self,
        journal: ReplyStore,
        meter: Meter,
        asking: CallSession,
        done: Callable[[Answered[P]], None],
        came: Callable[[P, Call, CanonicalBallot], None] = lambda _posed, _call, _ballot: None,
        *,
        is_final: Callable[[Call], bool] = lambda _: False,
        cache: ReplyCache | None = None,
    ) -> None:
        """Open nothing yet; ``asking`` must store its exchanges through ``meter``.

        ``done`` receives each finished case in the order in which cases finish, ``came`` each
        ballot whose reply is stored. A call that ``is_final`` is not made again where its stored
        exchange is no answer. Answers in the ``cache`` are stored, and cost nothing.
        """
        self._journal, self._meter, self._asking = journal, meter, asking
        self._done, self._came, self._is_final = done, came, is_final
        self._cache = cache
        self._cases: Iterator[P] = iter(())
        self._waiting: deque[tuple[_OpenCase[P], Call]] = deque()
        self.counts = BatchProgress()

    async def run(self, cases: Iterable[P], report: Callable[[BatchProgress], None]) -> None:
        """Run until every case is finished, or the ceiling is reached.

        ``report`` is called after each ballot, and each second while every call waits.

        Raises:
            JournalError: a reply cannot be stored; those before it are.
        """
        self._cases = iter(cases)

        def look() -> None:
            self.counts.idle, self.counts.pauses = runner.idle, runner.pauses()
            report(self.counts)

        runner = CallRunner(self._asking, self._next, self._meter, look)
        async with aclosing(runner.ballots()) as ballots:
            async for opened, call, ballot in ballots:
                self.counts.calls += 1
                self.counts.failed += Status(ballot["status"]).failed
                self._came(opened.posed, call, ballot)
                if opened.rounds.take(call, ballot):
                    self._advance(opened)
                look()

    def _next(self, free: int) -> list[tuple[_OpenCase[P], Call]] | None:
        """Return further calls, of a new case only when none of earlier cases is left."""
        if not self._waiting:
            posed = next(self._cases, None)
            if posed is None:
                return None
            self._advance(_OpenCase(posed, posed.begin()))
        return [self._waiting.popleft() for _ in range(min(free, len(self._waiting)))]

    def _advance(self, opened: _OpenCase[P]) -> None:
        """Use the stored answers of a case, and queue the calls that none answers."""
        rounds, hidden = opened.rounds, self._asking.hiding(None)
        while calls := rounds.next():
            missing = []
            for call in calls:
                stored = self._journal.reply(call.key)
                ballot = answer_of(call, stored, hidden)
                if ballot is None and self._cache is not None:
                    ballot = self._from_cache(call, self._cache, hidden)
                if ballot is None and stored is not None and self._is_final(call):
                    ballot = ballot_of(call, stored, hidden)
                if ballot is None:
                    missing.append((opened, call))
                    continue
                self.counts.reused += 1
                rounds.take(call, ballot)
            if missing:
                self._waiting.extend(missing)
                break
        else:
            self.counts.spared += rounds.spared
            self.counts.cases += 1
            self._done(Answered(opened.posed, rounds.ballots))

    def _from_cache(
        self, call: Call, cache: ReplyCache, hidden: Redactor
    ) -> CanonicalBallot | None:
        exchange = cache.reply(call)
        ballot = answer_of(call, exchange, hidden)
        if exchange is not None and ballot is not None:
            self._journal.keep(call, exchange, 0.0)
        return ballot
