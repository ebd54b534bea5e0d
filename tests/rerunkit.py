"""Re-runs over real sockets, without the app: prepared, agreed to and carried out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.desk.live.rerun import ReadyRerun, RerunOrder, carry_out, survey
from reviewdesk.desk.review import items
from reviewdesk.domain.panel.asking import Listener, LiveProgress
from reviewdesk.domain.panel.rerun import Rerun, RerunRequest, RerunSummary
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.verdict import CanonicalBallot
from reviewdesk.live.limits import World
from reviewdesk.live.records import Transport
from reviewdesk.live.wires.transport import HttpTransport
from tests.live.builders import KEYS, FakeClock


def ready(
    desk: Desk,
    keys: int | Sequence[int],
    panel: PanelSpec | str,
    wish: RerunRequest | None = None,
    environment: Mapping[str, str] = KEYS,
    **more: Any,
) -> ReadyRerun:
    """A re-run of these verdicts by a panel, or by one that a file describes."""
    source = panel if isinstance(panel, str) else ""
    spec = None if isinstance(panel, str) else panel
    chosen = [keys] if isinstance(keys, int) else keys
    order = RerunOrder(keys=chosen, wish=wish or RerunRequest(), source=source, panel=spec, **more)
    return survey(desk, order, environment)


async def run(
    desk: Desk,
    found: ReadyRerun,
    came: Callable[[CanonicalBallot], object] = lambda _ballot: None,
    told: Callable[[LiveProgress], None] = lambda _state: None,
    transport: Transport | None = None,
    environment: Mapping[str, str] = KEYS,
) -> RerunSummary:
    """Carry out a re-run."""

    world = World(environment, FakeClock(), lambda: transport or HttpTransport())
    summary = RerunSummary()
    await carry_out(desk, found, summary, Listener(came=came, told=told), world)
    return summary


async def carried(
    desk: Desk,
    found: ReadyRerun,
    came: Callable[[CanonicalBallot], object] = lambda _ballot: None,
    **more: Any,
) -> Rerun:
    """Carry out a re-run of one verdict, and return what is kept of it."""
    summary = await run(desk, found, came, **more)
    [(key, done)] = summary.done.items()
    return next(o for o in items.of_item(desk, desk.item(key)) if o.plan == done.plan)
