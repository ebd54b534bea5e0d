"""Find a verdict by what a person calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.errors import AmbiguousError, NotFoundError

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run


def named_verdict(desk: Desk, name: str, run_name: str | None) -> tuple[Run, int]:
    """Find a verdict by its id or by ``RUN:ID``, and return its run and key.

    Raises:
        NotFoundError: no loaded run has the verdict.
        AmbiguousError: several runs have it.
    """
    if run_name is not None:
        run = desk.run(run_name)
        return run, desk.find(run, name)
    runs = desk.runs()
    found = [(run, name) for run in runs if _has(desk, run, name)]
    found += [
        (run, name[len(run.name) + 1 :])
        for run in runs
        if name.startswith(f"{run.name}:") and _has(desk, run, name[len(run.name) + 1 :])
    ]
    if not found:
        raise NotFoundError(f"no verdict {name!r} in the loaded runs", "See: reviewdesk queue.")
    if len(found) > 1:
        candidates = ", ".join(f"{run.name}:{verdict}" for run, verdict in found)
        raise AmbiguousError(
            f"{name!r} fits several: {candidates}", "Name one of them, or give --run."
        )
    run, verdict = found[0]
    return run, desk.find(run, verdict)


def _has(desk: Desk, run: Run, verdict: str) -> bool:
    try:
        desk.find(run, verdict)
    except NotFoundError:
        return False
    return True
