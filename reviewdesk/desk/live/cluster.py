"""Send a panel's calls from the workers of a cluster, which hold the keys.

Journal, budget, rates and pauses stay in the process that planned the calls: each request is
admitted there, and its answer stored there, so that all workers together keep to what a vendor
admits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, BinaryIO, Final

from reviewdesk.desk.live.batch import BatchEnvironment
from reviewdesk.errors import TransportError, UsageError
from reviewdesk.live.clock import SystemClock
from reviewdesk.live.remote import RemoteKeys, Sender, SenderFacts, SendFailure, key_names
from reviewdesk.live.wires.vendors import VENDORS
from reviewdesk.scale.cluster import cluster
from reviewdesk.scale.pool import LostWorkerError, NoWorkerError, WorkerPool
from reviewdesk.version import __version__

if TYPE_CHECKING:
    from reviewdesk.live.records import Request, Response

LOST: Final = "worker_lost"
"""The kind of failure of a call whose worker is gone: it may have been answered, and paid for."""


@contextmanager
def cluster_environment(
    scheduler: str | None,
    workers: int | None,
    noted: Callable[[str], None],
    stdin: BinaryIO | None = None,
) -> Iterator[BatchEnvironment]:
    """Yield the surroundings of a batch whose calls are made by workers.

    Raises:
        UsageError: the extra is missing, no scheduler answers, or a worker cannot be used.
    """
    what = "--workers" if scheduler is None else "--scheduler"
    with cluster(what, scheduler, workers) as client:
        names = {vendor.key_env for vendor in VENDORS.values() if vendor.key_env}
        pool = WorkerPool(client, Sender, "facts", lambda: frozenset(names))
        _check_versions(pool)
        found = len(pool.said)
        noted(f"{found} workers make the calls, with the keys of their own environment")

        def has(name: str) -> bool:
            if name not in names:
                names.add(name)
                pool.ask_again()
            return any(name in facts.names for facts in pool.said.values())

        transport = ClusterTransport(pool)
        yield BatchEnvironment(RemoteKeys(has), SystemClock(), lambda: transport, stdin)


def _check_versions(pool: WorkerPool) -> None:
    for address, facts in pool.said.items():
        if facts.version != __version__:
            raise UsageError(
                f"worker {address}: has reviewdesk {facts.version}, and this is {__version__}",
                "Install the same release everywhere.",
            )


class ClusterTransport:
    """Has each request sent by the worker with the fewest open ones, among those with its keys."""

    def __init__(self, pool: WorkerPool) -> None:
        """Send through the senders of the pool."""
        self._pool, self._numbers = pool, count()

    async def send(self, request: Request) -> Response:
        """Have one request sent, and return the whole response.

        Raises:
            TransportError: it failed, or the worker that sent it is gone.
        """
        names = key_names(request)

        def fits(facts: SenderFacts) -> bool:
            return facts.version == __version__ and names <= facts.names

        number = next(self._numbers)
        try:
            found: Response | SendFailure = await self._pool.call(
                "send", number, request, fits=fits, undo="cancel"
            )
        except LostWorkerError:
            raise TransportError(LOST, "the worker that made the call is gone") from None
        except NoWorkerError:
            raise TransportError("connection", "no worker is left to make the call") from None
        if isinstance(found, SendFailure):
            raise TransportError(found.kind, found.message)
        return found

    async def close(self) -> None:
        """Hold nothing: the workers close their connections when they end."""
