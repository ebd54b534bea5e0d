"""Workers that run tasks: processes on this machine, or workers of a running scheduler."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from reviewdesk.errors import UsageError
from reviewdesk.scale.cluster import cluster

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Value = TypeVar("Value")

_AHEAD = 2
"""The number of tasks sent out per thread: one that runs, and one that waits for it."""
_LEAST = 4
_TRIES = 2
"""How often a task that raises is tried again, as a place may be unreachable for a moment."""


class Step(NamedTuple, Generic[Value]):
    """The result of a task: a value, and the place to continue from; ``None`` at its end."""

    value: Value
    follows: int | None = None


class Lost(Struct, frozen=True):
    """The reason why a task has no result: it raised an error, or its workers died."""

    reason: str


Task = Callable[[Item, int], Step[Value]]


@dataclass(slots=True)
class Crew:
    """Sends out tasks, a few at a time, and collects their results as they arrive."""

    client: Client
    _token: str = field(default_factory=lambda: secrets.token_hex(6))
    _round: int = 0

    def run(
        self, task: Task[Item, Value], items: Sequence[Item]
    ) -> Iterator[tuple[int, Value | Lost, bool]]:
        """Yield each result of an item's task, with the item's place and whether it is the last.

        A task that continues is sent out again after its result has been taken, so that results
        do not pile up. If its worker dies, a task is run again on another worker.
        """
        from distributed import as_completed

        self._round += 1
        waiting = iter(enumerate(items))
        running: dict[Future[Any], tuple[int, Item]] = {}
        done = as_completed(loop=self.client.loop)

        def give(place: int, item: Item, start: int) -> None:
            key = f"reviewdesk-{self._token}-{self._round}-{place}-{start}"
            future = self.client.submit(task, item, start, key=key, pure=False, retries=_TRIES)
            running[future] = place, item
            done.add(future)

        try:
            while True:
                for place, item in islice(waiting, max(0, self._room() - len(running))):
                    give(place, item, 0)
                if not running:
                    return
                future = next(done)
                place, item = running.pop(future)
                value, follows = _result(future)
                future.release()
                if follows is not None:
                    give(place, item, follows)
                yield place, value, follows is None
        finally:
            if running:
                self.client.cancel(list(running))

    def _room(self) -> int:
        """Return how many tasks may be out at a time; the number of workers may change."""
        threads = sum(map(int, self.client.nthreads().values()))
        return max(_LEAST, _AHEAD * threads)


def _result(future: Future[Any]) -> Step[Any]:
    """Return the result of a task; ``Lost`` if it has none."""
    from distributed.scheduler import KilledWorker

    if future.cancelled():
        raise UsageError("the scheduler was lost before the parts were read", "Start again.")
    found = future.exception()
    if found is None:
        made: Step[Any] = future.result()
        return made
    if isinstance(found, KilledWorker):
        return Step(Lost("each worker that read it died; perhaps its memory was too small"))
    if isinstance(found, ImportError):
        return Step(Lost(f"what reads it is not installed where it is read: {found}"))
    return Step(Lost(str(found) or type(found).__name__))


@contextmanager
def crew(scheduler: str | None, workers: int | None = None) -> Iterator[Crew]:
    """Connect to the scheduler at an address; without one, start workers on this machine.

    Raises:
        UsageError: the extra is not installed, or no scheduler answers.
    """
    with cluster("archive", scheduler, workers) as client:
        yield Crew(client)
