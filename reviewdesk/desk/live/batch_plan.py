"""Plan a batch before anything is sent: its calls, what they may cost, and their endpoints."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.consent import ConsentPlan
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import kind_of_loss
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import PanelError, TransportError, UsageError
from reviewdesk.live.batch import PendingCase
from reviewdesk.live.budget import worst
from reviewdesk.live.journal.cache import ReplyCache
from reviewdesk.live.journal.journal import Journal
from reviewdesk.live.keys import redactor
from reviewdesk.live.plan import hashed, hosts, payloads
from reviewdesk.live.records import Call, Exchange, calls_for
from reviewdesk.live.replies.ballots import answer_of, ballot_of
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.rounds import CaseRounds
from reviewdesk.live.vendor_batches.interfaces import interface
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.reports.panels.cases_file import read_cases

if TYPE_CHECKING:
    from reviewdesk.reports.bytes.source import Source


@dataclass(slots=True)
class CasesSurvey:
    """The counts and costs of a cases file of which every case can be judged."""

    cases: int = 0
    calls: int = 0
    stored: int = 0
    """The calls whose answer is stored in the journal."""
    cached: int = 0
    """The calls that the cache answers."""
    again: Counter[str] = field(default_factory=Counter)
    """Those of ``calls`` that were made before without an answer, counted by kind of fault."""
    worst_usd: float | None = 0.0
    """The most that ``calls`` may cost in US dollars; ``None`` if a juror has no price."""
    payload_sha256: str = ""
    """The SHA-256 of all calls that no stored reply answers, without their nonces."""
    again_usd: float | None = 0.0
    """The most that the calls in ``again`` may cost in US dollars; ``None`` if one has no price."""
    batched: int = 0
    """Those of ``calls`` that are submitted to vendors' batch interfaces."""
    waiting: int = 0
    """The calls that wait at a vendor, and are in no other count."""
    waiting_usd: float = 0.0
    checked: dict[int, tuple[CheckResult, ...]] = field(default_factory=dict)
    """The results of the checks by place in the file, for cases that did not pass them all."""

    def add(
        self, call: Call, kind: str | None, journal: Journal | None, *, in_batches: bool
    ) -> bool:
        """Count an open call, which failed before with ``kind``; return False if it waits."""
        is_batched = in_batches and interface(call.juror) is not None
        usd = worst(call, in_batch=is_batched) or 0.0
        if is_batched and journal is not None and journal.batch_of(call.key) is not None:
            self.waiting += 1
            self.waiting_usd += usd
            return False
        self.calls += 1
        self.batched += is_batched
        self.worst_usd = (self.worst_usd or 0.0) + usd
        if kind is not None:
            self.again[kind] += 1
            self.again_usd = (self.again_usd or 0.0) + usd
        return True


def panel_hosts(panel: PanelSpec, environment: Mapping[str, str]) -> ConsentPlan:
    """Return, for consent, where the jurors of a panel are asked, before any case is read.

    Raises:
        UsageError: a juror's address cannot be used.
    """
    for juror in panel.jurors:
        try:
            endpoint(juror)
        except TransportError as error:
            raise UsageError(f"juror {juror.name}: {error.message}", "Mend the panel.") from error
    return hosts(panel.jurors, environment)


def with_calls(plan: ConsentPlan, found: CasesSurvey) -> ConsentPlan:
    """Return the plan with the calls of a cases file, and the most that they cost."""
    return replace(
        plan,
        calls=found.calls,
        worst_usd=found.worst_usd,
        payload_sha256=found.payload_sha256,
        cases=found.cases,
        stored=found.stored,
        cached=found.cached,
        again=found.again,
        again_usd=found.again_usd,
        batched=found.batched,
        waiting=found.waiting,
    )


def survey(
    source: Source,
    panel: PanelSpec,
    journal: Journal | None,
    environment: Mapping[str, str],
    *,
    in_batches: bool = False,
    cached: ReplyCache | None = None,
) -> CasesSurvey:
    """Read every case, run its checks, and count the calls that no stored reply answers.

    With ``in_batches``, the vendors' batch interfaces are used where there are any.

    Raises:
        PanelError: a case cannot be judged; nothing has been sent.
    """
    found = CasesSurvey()
    priced = all(juror.price is not None for juror in panel.jurors)
    digest = hashlib.sha256()
    # A reference's command runs for stored replies alone: their texts may repeat the key.
    hidden = cache(partial(redactor, panel.jurors, environment))
    for place, case in enumerate(read_cases(source)):
        found.cases += 1
        if not (case.rubric or panel.rubric):
            raise _rubric_error(source, case)
        results = _check_results(case)
        if not all(result.passed for result in results):
            found.checked[place] = results
        if any(result.failed for result in results):
            continue
        for call, before in _open_calls(case, panel, (journal, cached), hidden, found):
            kind = None if before is None else kind_of_loss(ballot_of(call, before, hidden()))
            if found.add(call, kind, journal, in_batches=in_batches):
                digest.update(hashed(call))
    if not found.cases:
        raise PanelError(source.shown_name, "", "holds no cases", "Write one a line.")
    if not priced:
        found.worst_usd = found.again_usd = None
    found.payload_sha256 = digest.hexdigest()
    return found


def _open_calls(
    case: Case,
    panel: PanelSpec,
    known: tuple[Journal | None, ReplyCache | None],
    hidden: Callable[[], Redactor],
    found: CasesSurvey,
) -> Iterator[tuple[Call, Exchange | None]]:
    """Yield the calls about a case that may be made, each with its stored exchange if it has one.

    Stored answers are counted in ``found``. As they may decide the case, they are used in the
    order in which a panel asks.
    """
    rounds, is_open, (journal, cached) = CaseRounds(case, panel), False, known

    def unanswered(calls: Iterable[Call]) -> Iterator[tuple[Call, Exchange | None]]:
        for call in calls:
            before = None if journal is None else journal.reply(call.key)
            ballot = None if before is None else answer_of(call, before, hidden())
            if ballot is not None:
                found.stored += 1
            elif cached is not None and (kept := cached.reply(call)) is not None:
                ballot = answer_of(call, kept, hidden())
                found.cached += ballot is not None
            if ballot is None:
                yield call, before
            else:
                rounds.take(call, ballot)

    while not is_open and (calls := rounds.next()):
        for one in unanswered(calls):
            is_open = True
            yield one
    if is_open:
        yield from unanswered(rounds.rest())


def _rubric_error(source: Source, case: Case) -> PanelError:
    where = f'case "{show_line(case.id, 60)}"'
    hint = "Give it a rubric, or the panel one for all."
    return PanelError(source.shown_name, where, "has no rubric, nor has the panel", hint)


def pending_cases(source: Source, panel: PanelSpec, found: CasesSurvey) -> Iterator[PendingCase]:
    """Read the cases again, and yield each with its panel and the results of its checks."""
    for place, case in enumerate(read_cases(source)):
        passed = tuple(CheckResult(check.name or check.kind, passed=True) for check in case.checks)
        yield PendingCase(place, case, panel, found.checked.get(place, passed))


def sent(source: Source, panel: PanelSpec) -> Iterator[dict[str, Any]]:
    """Yield what would be sent for each juror and case; a case that fails a check sends nothing."""
    for case in read_cases(source):
        if not any(result.failed for result in _check_results(case)):
            yield from payloads(calls_for(case, panel))


def _check_results(case: Case) -> tuple[CheckResult, ...]:
    """Run the checks of a case; import their libraries only if it has checks."""
    if not case.checks:
        return ()
    from reviewdesk.reports.panels.case_checks import run_checks

    return run_checks(case)
