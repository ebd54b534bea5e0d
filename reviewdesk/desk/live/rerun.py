"""Prepare the re-run of one verdict: its jurors, its calls, and the verdict made from them."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, own_facts
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.from_report import panel_of
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.rerun import (
    RerunRequest,
    RerunScope,
    RerunSeats,
    contract_before,
    missing,
    seating,
)
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.records import Item
from reviewdesk.errors import UsageError
from reviewdesk.live.keys import key_problem
from reviewdesk.live.plan import payloads as sent
from reviewdesk.live.records import Call, calls_for
from reviewdesk.live.references import PROCESS
from reviewdesk.live.rounds import OneRound
from reviewdesk.live.wires.vendors import VENDORS, endpoint

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

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

    def begin(self) -> OneRound:
        """Plan the calls, which are made all at once."""
        return OneRound(self.calls)


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
    calls = tuple(
        replace(call, seat=places[call.seat])
        for call in calls_for(case, asked_panel, lambda: secrets.token_hex(8))
    )
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
    """Return the ballot of a juror whose call was stopped before it answered."""
    return {
        **seat_body(call.juror),
        "status": "error",
        "error": {"type": "stopped", "message": "stopped before the answer came"},
    }
