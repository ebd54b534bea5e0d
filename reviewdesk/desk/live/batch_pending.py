"""Judge by the vendors' batch interfaces: what can be, what it may cost, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import BatchesPending
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.live.records import Call
from reviewdesk.live.vendor_batches.interfaces import interface

if TYPE_CHECKING:
    from reviewdesk.desk.live.batch_plan import CasesSurvey
    from reviewdesk.live.vendor_batches.run import Submission

GO_ON: Final = "Go on with --resume."


class CallsPendingError(ReviewDeskError):
    """The run has no report yet, because calls wait at vendors or could not be submitted."""

    def __init__(self, pending: BatchesPending) -> None:
        """Keep the counts beside the sentence."""
        self.pending = pending
        super().__init__(pending.text)


def check_pending(made: Submission) -> None:
    """Raise CallsPendingError if calls wait after a pass over the cases."""
    if made.waiting or made.unsent:
        raise CallsPendingError(BatchesPending(made.waiting, made.fetched, made.unsent))


def check_batches(panel: PanelSpec) -> None:
    """Raise UsageError if a panel cannot be asked by batches."""
    if panel.rule.stop_when_decided:
        hint = "Leave --batch out, or change the panel."
        raise UsageError("--batch asks every juror, and the panel asks them in an order", hint)
    if all(interface(juror) is None for juror in panel.jurors):
        hint = "OpenAI, Anthropic, Gemini and Mistral have one; leave --batch out."
        raise UsageError("--batch: no juror of the panel has a vendor with a batch interface", hint)


def check_ceiling(ceiling: float | None, spent: float, found: CasesSurvey) -> None:
    """Raise UsageError if the calls may cost more than the ceiling, as no batch stops half-way."""
    most = spent + found.waiting_usd + (found.worst_usd or 0.0)
    if ceiling is not None and most > ceiling + SLACK:
        hint = "Raise --max-cost, or judge fewer cases."
        raise UsageError(
            f"the run may cost ${most:.4f}, a batch cannot be stopped half-way, "
            f"and --max-cost is ${ceiling:.10g}",
            hint,
        )


def in_batch(call: Call) -> bool:
    """Return True if a call is made by its vendor's batch interface."""
    return interface(call.juror) is not None


def live_jurors(panel: PanelSpec) -> tuple[str, ...]:
    """Return the names of the jurors that are asked live, with their vendors."""
    live = (one for one in panel.jurors if interface(one) is None)
    return tuple(f"{one.name} ({one.vendor})" for one in live)
