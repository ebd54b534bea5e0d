"""Keep an object on each worker of a cluster, and call the one with the fewest open calls."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from distributed import Actor, Client

LOOK: Final = 2.0
"""Seconds after which a call looks for workers that came or went."""
_PLACED: Final = 60.0
"""Seconds in which a worker must have its object."""


class LostWorkerError(Exception):
    """The worker died, or cannot be reached, while it had a call open."""


class NoWorkerError(Exception):
    """No worker is there that could take the call."""


@dataclass(slots=True)
class _Member:
    """A worker with its object, what the object said when it was placed, and its open calls."""

    actor: Actor
    said: Any
    open: int = 0


class WorkerPool:
    """The objects that ``make`` builds, one on each worker, also on those that come later.

    Their method ``ask`` answers ``question()`` when they are placed. The methods that are called
    through ``call`` are coroutines.
    """

    def __init__(
        self, client: Client, make: Callable[[], object], ask: str, question: Callable[[], Any]
    ) -> None:
        """Place the objects.

        Raises:
            UsageError: there is no worker, or one cannot build its object.
        """
        self._client, self._make = client, make
        self._ask, self._question = ask, question
        self._looking: asyncio.Task[None] | None = None
        self._looked = monotonic()
        self._unfit: set[str] = set()
        known = client.nthreads()
        if not known:
            raise UsageError("the scheduler has no worker", "Start one: dask worker ADDRESS.")
        self._members: dict[str, _Member] = {at: self._member(at) for at in known}

    @property
    def said(self) -> Mapping[str, Any]:
        """What each worker's object answered, by the worker's address."""
        return {address: one.said for address, one in self._members.items()}

    def ask_again(self) -> None:
        """Put the question to every worker once more, because it has changed."""
        for address, one in list(self._members.items()):
            try:
                one.said = self._answer(one.actor)
            except (OSError, RuntimeError, KeyError):
                self._members.pop(address, None)

    def _look(self) -> None:
        """Place objects on workers that are new, and forget workers that are gone."""
        with suppress(OSError):  # the scheduler may be out of reach for a moment
            known = self._client.nthreads().keys() - self._unfit
            new = {}
            for address in known - self._members.keys():
                try:
                    new[address] = self._member(address)
                except UsageError:
                    self._unfit.add(address)
            # Replaced as a whole, because calls read it meanwhile.
            kept = {address: one for address, one in self._members.items() if address in known}
            self._members = kept | new
        self._looked = monotonic()

    async def call(
        self, method: str, *args: object, fits: Callable[[Any], bool], undo: str | None = None
    ) -> Any:
        """Call a method on the least busy worker whose answer ``fits``, and return its result.

        If the caller is cancelled, ``undo`` names the method that is then called with the first
        argument alone.

        Raises:
            LostWorkerError: the worker is gone, and what it did is not known.
            NoWorkerError: no worker fits.
        """
        address = await self._chosen(fits)
        member = self._members[address]
        member.open += 1
        try:
            return await self._on(member, method, *args)
        except asyncio.CancelledError:
            if undo is not None:
                self._start(member, undo, args[0])
            raise
        except (OSError, RuntimeError, KeyError) as error:
            self._members.pop(address, None)
            self._looked = 0.0
            raise LostWorkerError(address) from error
        finally:
            member.open -= 1

    async def _chosen(self, fits: Callable[[Any], bool]) -> str:
        if monotonic() - self._looked >= LOOK and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        for waits in (False, True):
            if waits and self._looking is not None:
                await asyncio.shield(self._looking)
            able = [(one.open, at) for at, one in self._members.items() if fits(one.said)]
            if able:
                _, address = min(able)
                return address
        raise NoWorkerError

    async def _on(self, member: _Member, method: str, *args: object) -> Any:
        return await asyncio.wrap_future(self._start(member, method, *args))

    def _start(self, member: _Member, method: str, *args: object) -> Any:
        async def called() -> Any:
            return await getattr(member.actor, method)(*args)

        # The client has an event loop of its own, in a thread of its own.
        return asyncio.run_coroutine_threadsafe(called(), self._client.loop.asyncio_loop)

    def _member(self, address: str) -> _Member:
        try:
            # An actor binds itself to the client that is current when it is first used.
            with self._client.as_current():
                actor = self._client.submit(
                    self._make,
                    actor=True,
                    workers=[address],
                    allow_other_workers=False,
                    pure=False,
                    key=f"reviewdesk-{secrets.token_hex(8)}",
                ).result(_PLACED)
                return _Member(actor, self._answer(actor))
        except Exception as error:  # a worker raises whatever its environment makes it raise
            raise UsageError(
                f"worker {address}: cannot be used ({type(error).__name__})",
                "Scheduler and workers need the same release of reviewdesk, with its extra scale.",
            ) from error

    def _answer(self, actor: Actor) -> Any:
        return getattr(actor, self._ask)(self._question()).result(_PLACED)
