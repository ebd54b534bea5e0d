"""Workers on this machine or of a running scheduler, and the files at addresses that they read."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from reviewdesk.errors import UsageError
from reviewdesk.system.signals import held_back

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Value = TypeVar("Value")

_TRIES = 2
"""How often a task that raises is tried again, as a place may be unreachable for a moment."""
_TIMEOUT = 30
"""Seconds in which a scheduler must answer."""
_CONFIG = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.log-format": "%(message)s",
    "distributed.worker.profile.enabled": False,
}


class Lost(Struct, frozen=True):
    """The reason why an item has no result: it cannot be read, or its workers died."""

    reason: str


Task = Callable[[Item], Value | Lost]


@dataclass(slots=True)
class Crew:
    """Has tasks done by workers, and collects their results as they arrive."""

    client: "Client"

    def run(
        self, task: Task[Item, Value], items: Sequence[Item]
    ) -> Iterator[tuple[int, Value | Lost]]:
        """Yield the result of each item's task, with the item's place, as it comes.

        If its worker dies, a task is run again on another worker.
        """
        from distributed import as_completed

        futures = self.client.map(task, items, pure=False, retries=_TRIES)
        running = {future: place for place, future in enumerate(futures)}
        try:
            for future in as_completed(futures, loop=self.client.loop):
                yield running.pop(future), _result(future)
                future.release()
        finally:
            if running:
                self.client.cancel(list(running))


def _result(future: "Future[Any]") -> Any:
    from distributed.scheduler import KilledWorker

    if future.cancelled():
        raise UsageError("the scheduler was lost before the parts were read", "Start again.")
    found = future.exception()
    if found is None:
        return future.result()
    if isinstance(found, KilledWorker):
        return Lost("each worker that read it died; perhaps its memory was too small")
    if isinstance(found, ImportError):
        return Lost(f"what reads it is not installed where it is read: {found}")
    return Lost(str(found) or type(found).__name__)


@contextmanager
def crew(scheduler: str | None, workers: int | None = None) -> Iterator[Crew]:
    """Connect to the scheduler at an address; without one, start workers on this machine.

    Raise UsageError if the extra is not installed, no scheduler answers, or no worker starts.
    """
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        problem = "archive needs a package that is not installed"
        raise UsageError(problem, "Add it with: pip install 'reviewdesk[scale]'") from error
    with dask.config.set(_CONFIG):
        _quiet()
        if scheduler is None:
            with _local(workers or max(2, os.cpu_count() or 1)) as client:
                _quiet()
                yield Crew(client)
                _quiet()
            return
        try:
            client = Client(scheduler, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error) or type(error).__name__
            raise UsageError(
                f"{scheduler}: no dask scheduler answers: {reason}",
                "Write its address as it prints it: tcp://HOST:8786.",
            ) from error
        with client:
            yield Crew(client)


@contextmanager
def _local(workers: int) -> "Iterator[Client]":
    """Start workers that only this process can use, without a dashboard.

    Ctrl+c reaches only this process, which ends the workers. It waits while workers start or end,
    as a worker that is still starting cannot be ended.
    """
    from distributed import Client, LocalCluster

    opened = ExitStack()
    try:
        try:
            with held_back():
                found = opened.enter_context(
                    LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        host="127.0.0.1",
                        dashboard_address=None,
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                        memory_limit=0,
                        # Others on this machine could otherwise have the workers do as they like.
                        security=True,
                        silence_logs=logging.CRITICAL,
                    )
                )
                made = Client(found, set_as_default=False, direct_to_workers=True)
                client = opened.enter_context(made)
        except (OSError, RuntimeError) as error:
            raise UsageError(
                "the workers of this machine did not start: a process of theirs was ended, or may "
                "not listen",
                "Start again, with fewer if memory is short.",
            ) from error
        yield client
    finally:
        with held_back():
            opened.close()


def _quiet() -> None:
    """Keep the library's log of workers that start and end off the terminal."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


# Files at addresses


def is_remote(address: str) -> bool:
    """Return True unless the address is a path on this machine."""
    return "://" in address


def refuse_keys(address: str) -> None:
    """Raise UsageError if an address holds a password, which would travel and be logged."""
    if is_remote(address) and urlsplit(address).password:
        scheme = address.partition("://")[0]
        raise UsageError(
            f"{scheme}://: the address contains a password",
            "Leave it out; give it in the environment or the client's own settings, where the "
            "parts are read.",
        )


def expand(pattern: str) -> list[str]:
    """Return the addresses that a pattern matches, in order; a plain name is returned unchanged.

    Raise ImportError if what reads such addresses is not installed. Raise OSError if the place
    cannot be listed.
    """
    if not is_remote(pattern):
        path = str(Path(pattern).expanduser())
        if not has_magic(path):
            return [path]
        return sorted(glob(path, recursive=True))  # noqa: PTH207 - patterns may be absolute
    if not has_magic(pattern):
        return [pattern]
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]

    system, path = url_to_fs(pattern)
    return sorted(system.unstrip_protocol(str(name)) for name in system.glob(path))


@contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """Return a local file with the bytes at an address: the file itself, or a temporary copy.

    Raise ImportError if what reads such addresses is not installed. Raise OSError if the file
    cannot be read.
    """
    if not is_remote(address):
        yield Path(address)
        return
    from fsspec.core import url_to_fs

    system, path = url_to_fs(address)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        copy = Path(folder, "part")
        system.get_file(path, str(copy))
        yield copy
