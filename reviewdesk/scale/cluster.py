"""Connect to the workers of a running scheduler, or start workers on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from reviewdesk.errors import UsageError
from reviewdesk.system.signals import held_back

if TYPE_CHECKING:
    from distributed import Client

_TIMEOUT = 30
"""Seconds in which a scheduler must answer."""
_CONFIG = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.log-format": "%(message)s",
    "distributed.worker.profile.enabled": False,
}


@contextmanager
def cluster(what: str, scheduler: str | None, workers: int | None = None) -> Iterator[Client]:
    """Connect to the scheduler at an address; without one, start workers on this machine.

    ``what`` names the feature that needs it, for the error if the extra is not installed.

    Raises:
        UsageError: the extra is not installed, no scheduler answers, or no worker starts.
    """
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        problem = f"{what} needs a package that is not installed"
        raise UsageError(problem, "Add it with: pip install 'reviewdesk[scale]'") from error
    with dask.config.set(_CONFIG):
        _quiet()
        if scheduler is None:
            with _local(workers or max(2, os.cpu_count() or 1)) as client:
                _quiet()
                yield client
                _quiet()
            return
        try:
            client = Client(scheduler, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error) or type(error).__name__
            raise UsageError(
                f"{scheduler}: no scheduler of dask answers: {reason}",
                "Write its address as it prints it: tcp://HOST:8786.",
            ) from error
        with client:
            yield client


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    """Start workers that only this process can use, without a dashboard.

    Ctrl+c reaches only this process, which ends the workers. It waits while workers start or end,
    as a worker that is still starting cannot be ended.
    """
    opened = ExitStack()
    try:
        with held_back():
            client = _started(workers, opened)
        yield client
    finally:
        with held_back():
            opened.close()


def _started(workers: int, opened: ExitStack) -> Client:
    from distributed import Client, LocalCluster

    try:
        found = opened.enter_context(
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                memory_limit=0,
                # Others on this machine could otherwise have the workers do what they like.
                security=True,
                silence_logs=logging.CRITICAL,
            )
        )
        client = Client(found, set_as_default=False, direct_to_workers=True)
    except (OSError, RuntimeError) as error:
        raise UsageError(
            "the workers of this machine did not start: a process of theirs was ended, or may not "
            "listen",
            "Start again, with fewer if memory is short.",
        ) from error
    return opened.enter_context(client)


def _quiet() -> None:
    """Keep the library's log of workers that start and end off the terminal."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
