"""Re-runs: which jurors are asked again about which verdicts, and what would be sent."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.live.journal import DeskJournal
from reviewdesk.desk.live.rerun_history import UnfinishedRerun
from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, own_facts
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.juror import VENDORS, seat_body
from reviewdesk.domain.panel.rerun import (
    RerunExtent,
    RerunRequest,
    RerunScope,
    RerunSeats,
    contract_before,
    missing,
    seating,
)
from reviewdesk.domain.panel.spec import PanelSpec, panel_of
from reviewdesk.domain.panel.turnout import ConsentPlan
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.records import Item
from reviewdesk.errors import Cancelled, ReviewDeskError, UsageError
from reviewdesk.live.batch import CaseCalls, RunLimits
from reviewdesk.live.keys import PROCESS, key_problem
from reviewdesk.live.plan import Survey
from reviewdesk.live.plan import payloads as sent
from reviewdesk.live.records import Call, calls_for
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.store import reruns

JURORS = "@jurors"
"""The name of the panel that is made of the report's jurors, where others are paths of files."""


class PreparedRerun(Struct, frozen=True):
    """A re-run that waits for a person's consent; nothing has been sent or written."""

    item: Item
    case: Case
    wish: RerunRequest
    seats: RerunSeats
    calls: tuple[Call, ...]
    committed: str
    contract_before: int | None = None
    """The version of the reply contract that the first panel answered, if it is not today's."""

    def begin(self) -> CaseCalls:
        return CaseCalls(self.calls)


def own_panel(item: Item, wish: RerunRequest | None = None) -> PanelSpec:
    """Return the panel that the report describes.

    If ``wish`` names jurors, the report has to describe only these.
    """
    placed = {
        name: urlsplit(vendor.base_url).netloc
        for name, vendor in VENDORS.items()
        if vendor.base_url
    }
    from reviewdesk.reports.panels.prices import priced

    return priced(panel_of(item.verdict, item.run.header, placed, _wanted_jurors(item, wish)))


def _wanted_jurors(item: Item, wish: RerunRequest | None) -> tuple[str, ...] | None:
    if wish is None or wish.scope is RerunScope.PANEL:
        return None
    return missing(item.verdict) if wish.scope is RerunScope.MISSING else (wish.juror or "",)


def jurors_panel(item: Item, environment: Mapping[str, str] | None = None) -> PanelSpec:
    """Return those of the report's jurors whose key is set, or current models of the set keys.

    Unlike ``own_panel``, it asks today's prompts. The report's names of vendors and models choose
    among known addresses and never give one.

    Raises:
        UsageError: no key of a known vendor is set.
    """
    from reviewdesk.desk.live.panel_new import reachable_panel

    return reachable_panel(item.verdict, environment).spec


def panel_for(source: str, item: Item, wish: RerunRequest | None = None) -> PanelSpec:
    """Return the panel that ``source`` names: a file, ``JURORS``, or if empty the report's own."""
    if source == JURORS:
        return jurors_panel(item)
    return panel_from(source) if source else own_panel(item, wish)


def panel_from(path: str) -> PanelSpec:
    """Read a panel from a file."""
    from reviewdesk.desk.files import named
    from reviewdesk.reports.panels.panel_file import read_panel

    return read_panel(named(path))


def prepare(
    desk: Desk,
    key: int,
    panel: PanelSpec,
    wish: RerunRequest,
    *,
    environment: Mapping[str, str] | None = None,
    item: Item | None = None,
) -> PreparedRerun:
    """Prepare a re-run: the jurors, and their calls about the verdict, or ``item`` if it is read.

    Raises:
        UsageError: no juror can be asked.
    """
    item = item or desk.item(key)
    seats = seating(item.verdict, panel, wish)
    case = case_of(item.verdict.body, item.verdict.generator).under(panel.rubric)
    places = sorted(seats.asked)
    asked_panel = dataclasses.replace(
        seats.panel, jurors=tuple(seats.asked[seat] for seat in places)
    )
    calls = tuple(replace(call, seat=places[call.seat]) for call in calls_for(case, asked_panel))
    known = PROCESS if environment is None else environment
    problems = [key_problem(endpoint(call.juror), known) for call in calls]
    if all(problems):
        why = "; ".join(dict.fromkeys(filter(None, problems)))
        raise UsageError(f"no juror can be asked: {why}", "Set it, or choose another panel.")
    committed = seats.committed(case.rubric, case.tags)
    before = contract_before(item.verdict, seats.asked.values())
    return PreparedRerun(item, case, wish, seats, calls, committed, before)


def payloads(prepared: Iterable[PreparedRerun]) -> Iterator[dict[str, Any]]:
    """Yield the body of every request that would be sent."""
    return sent(call for one in prepared for call in one.calls)


def rerun_body(
    prepared: PreparedRerun, ballots: Mapping[str, CanonicalBallot], committed_at: str
) -> CanonicalVerdict:
    """Return the new verdict; calls without one of the ``ballots``, by call, were stopped."""
    seats = prepared.seats
    jurors = dict(seats.kept)
    for call in prepared.calls:
        jurors[call.seat] = ballots.get(call.key) or _stopped_ballot(call)
    in_order = [jurors[seat] for seat in range(seats.size)]
    made = verdict_body(prepared.case, seats.panel, in_order, committed_at=committed_at)
    # The new verdict keeps the item's own texts in the form that its report gave them.
    first_body = prepared.item.verdict.body
    for name in ("output", "alternative", "input"):
        if name in first_body:
            made[name] = first_body[name]
    own = dict(own_facts(made))
    if prepared.contract_before is not None:
        own["contract_before"] = prepared.contract_before
    if own:
        made["meta"] = {"reviewdesk": own}
    return made


def _stopped_ballot(call: Call) -> CanonicalBallot:
    return {
        **seat_body(call.juror),
        "status": "error",
        "error": {"type": "stopped", "message": "stopped before the answer came"},
    }


HELD = 50
"""The most verdicts whose calls are held between consent and sending; those of others are made
again, with other nonces."""


class RerunOrder(RunLimits, frozen=True, kw_only=True):
    """What a person asks for: the verdicts, who is asked about them, and the limits.

    ``source`` names the panel as ``panel_for`` takes it, ``shown`` the filter that chose the
    verdicts, if one did.
    """

    keys: Sequence[int] = ()
    wish: RerunRequest = RerunRequest()
    source: str = ""
    shown: str | None = None
    yes: bool = False
    """Whether the person gave consent in advance, so that no question is asked."""
    panel: PanelSpec | None = None
    """The panel itself, if it was read already."""


@dataclass(frozen=True, slots=True)
class ReadyRerun:
    """A re-run that waits for consent; nothing has been sent or written.

    ``plans`` maps each verdict to its planning event, if the re-run was begun before.
    """

    order: RerunOrder
    keys: tuple[int, ...]
    plan: ConsentPlan
    held: Mapping[int, PreparedRerun]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Why some verdicts of the order are not asked about, and how many."""
    panel: str = ""
    """The name of the panel that is asked, or of each, if the verdicts have several."""
    contracts: tuple[int, ...] = ()
    resumes: UnfinishedRerun | None = None
    plans: Mapping[int, reruns.PlannedRerun] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: PROCESS, repr=False)

    @property
    def first(self) -> PreparedRerun:
        """The first verdict of it."""
        return self.held[self.keys[0]]

    def prepared(self, desk: Desk, key: int) -> PreparedRerun:
        """Return one of its verdicts, prepared again if it is not held."""
        return self.held.get(key) or prepared(desk, key, self.order, self.environment)

    @property
    def consent_facts(self) -> dict[str, Any]:
        """What the person is shown and agrees to, as events keep it."""
        planned = self.plan
        first = self.first
        return {
            "rule": first.seats.panel.rule_body(first.case.rubric, first.case.tags),
            "hosts": [host.name for host in planned.hosts],
            "models": list(planned.models),
            "calls": planned.calls,
            "worst_case_usd": planned.worst_usd,
            "payload_sha256": planned.payload_sha256,
        }

    @property
    def asked(self) -> RerunExtent:
        """Who is asked about how many verdicts."""
        wish = self.order.wish
        return RerunExtent(
            wish.scope, wish.juror, self.panel, len(self.keys), self.order.shown,
            self.left_out,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Its verdict or, of several, how many there are."""
        alone = len(self.keys) == 1
        return self.first.item.verdict.id if alone else f"{len(self.keys):,} verdicts"


def survey(
    desk: Desk,
    order: RerunOrder,
    environment: Mapping[str, str] | None = None,
    told: Callable[[float], bool] = lambda _share: True,
) -> ReadyRerun:
    """Prepare every verdict of an order, and sum up what would be sent.

    ``told`` receives the share that is done; False stops. Verdicts that cannot be asked about are
    left out and counted if a filter chose them and others remain.

    Raises:
        UsageError: no verdict can be asked about, or a ceiling is given without prices.
        Cancelled: ``told`` stopped it.
    """
    return _survey(desk, order, PROCESS if environment is None else environment, told)


def survey_rest(
    desk: Desk,
    found: UnfinishedRerun,
    order: RerunOrder,
    environment: Mapping[str, str] | None = None,
    told: Callable[[float], bool] = lambda _share: True,
) -> ReadyRerun:
    """Prepare what is left of a re-run that did not end; ``order`` gives its limits.

    Raises:
        UsageError: its panel is not the one that was agreed to, or cannot be had any more.
        DeskError: another process is at work on it.
    """
    found.refuse_held()
    plans = {one.verdict: one for one in reruns.planned(desk.conn, found.event)}
    keys = [key for key, one in plans.items() if not one.done]
    if not keys:
        raise UsageError("the run of that re-run was removed", "Load its report again.")
    order = replace(
        order, keys=keys, wish=found.wish, source=found.source, shown=found.shown, panel=None
    )
    return _survey(desk, order, PROCESS if environment is None else environment, told, found, plans)


def _survey(
    desk: Desk,
    order: RerunOrder,
    environment: Mapping[str, str],
    told: Callable[[float], bool],
    resumes: UnfinishedRerun | None = None,
    plans: Mapping[int, reruns.PlannedRerun] | None = None,
) -> ReadyRerun:
    order = with_panel(order)
    plans = plans or {}
    journal = DeskJournal(desk, "", 0)
    calls = Survey(environment, journal)
    made: dict[int, PreparedRerun] = {}
    keys: list[int] = []
    panels: dict[str, None] = {}
    contracts: set[int] = set()
    left_out: Counter[str] = Counter()
    problem: ReviewDeskError | None = None
    for place, key in enumerate(order.keys):
        if not told(place / len(order.keys)):
            raise Cancelled("cancelled: nothing was sent")
        try:
            one = _prepared_as_planned(desk, key, order, environment, plans.get(key))
        except UsageError as error:
            if resumes is not None or order.shown is None:
                raise
            # The text after the verdict's id is the same for all that it concerns.
            left_out[error.message.rpartition(": ")[2]] += 1
            problem = problem or error
            continue
        keys.append(key)
        panels[one.seats.panel.name] = None
        contracts |= set() if one.contract_before is None else {one.contract_before}
        if len(made) < HELD:
            made[key] = one
        journal.draw(one.calls, plans[key].plan if key in plans else None)
        calls.add(one.begin())
        journal.draw(one.calls, None)
    if problem is not None and not keys:
        raise problem
    if order.max_cost is not None and calls.worst_usd is None:
        hint = "Give each juror price: {input, output} in US dollars per million tokens."
        raise UsageError("a ceiling needs prices, and a juror has none", hint)
    return ReadyRerun(
        order, tuple(keys), calls.plan(), made, left_out, " or ".join(panels),
        tuple(sorted(contracts)), resumes, plans, environment,
    )  # fmt: skip


def _prepared_as_planned(
    desk: Desk,
    key: int,
    order: RerunOrder,
    environment: Mapping[str, str],
    plan: reruns.PlannedRerun | None,
) -> PreparedRerun:
    one = prepared(desk, key, order, environment)
    if plan is not None and plan.panel_hash != one.committed:
        raise UsageError(
            f"{one.item.verdict.id}: the panel is not the one that was agreed to",
            "Put the panel file back, or give the re-run up.",
        )
    return one


def with_panel(order: RerunOrder) -> RerunOrder:
    """Return the order with its panel read, if that is a file."""
    is_file = bool(order.source) and not order.source.startswith("@")
    return replace(order, panel=panel_from(order.source)) if is_file and not order.panel else order


def prepared(
    desk: Desk, key: int, order: RerunOrder, environment: Mapping[str, str]
) -> PreparedRerun:
    """Prepare one verdict of an order; raise UsageError if it cannot be asked about."""
    item = desk.item(key)
    panel = order.panel or panel_for(order.source, item, order.wish)
    return prepare(desk, key, panel, order.wish, environment=environment, item=item)
