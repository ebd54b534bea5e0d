"""The ballots of a whole run as columns, and the panels of its labelled verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reviewdesk.desk.team.second_opinions import told_marks
from reviewdesk.domain.canonical import stored_body
from reviewdesk.domain.jurors.accuracy import JurorCounts, LabelledPanel, count, trim_named
from reviewdesk.domain.labels.second_opinions import NOTHING
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import UsageError
from reviewdesk.store import jurors, queue, runs
from reviewdesk.store.explain import explained
from reviewdesk.store.jurors import DatedTruth
from reviewdesk.store.measures import packed
from reviewdesk.store.verdicts import first_key

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.run.columns import Columns


def every_ballot(run: Run) -> None:
    """Raise UsageError if the desk does not hold every ballot of the run, as of an archive."""
    if run.whole != run.verdicts:
        raise UsageError(
            f"{run.name} is an archive, of which the desk holds {run.verdicts:,} of "
            f"{run.whole:,} verdicts; this needs every ballot",
            "Load the parts that it is about.",
        )


def panels(desk: Desk, run: Run) -> Columns:
    """Return every ballot of a run as columns, in file order."""
    from reviewdesk.domain.run.columns import unpacked

    with explained(desk.path):
        first = first_key(desk.conn, run.key)
        found = packed(desk.conn, run.key)
    return unpacked(found, range(first, first + run.verdicts))


def juror_counts(desk: Desk, run: Run) -> tuple[JurorCounts, ...]:
    """Return how often each juror of a run was right, over the verdicts that people labelled.

    The desk may hold no columns of an archive, whose labelled verdicts are counted one by one.
    """
    if run.whole != run.verdicts:
        return count(panel for _, panel in labelled_panels(desk, run))
    from reviewdesk.domain.jurors import bulk

    of = queue.span(desk.conn, run.key)
    found, deserved = bulk.labelled(
        panels(desk, run), told_marks(desk, of, desk.apart.now if desk.double else NOTHING)
    )
    return bulk.juror_counts(found, deserved, stated_trims(desk, found.key.tolist()))


def stated_trims(desk: Desk, keys: list[int]) -> dict[int, set[int]]:
    """Return the trimmed seats that the report states, by the place of a verdict among ``keys``."""
    places = {key: place for place, key in enumerate(keys)}
    made = {}
    for key, text in jurors.stating_trims(desk.conn, keys):
        if (named := trim_named(stored_body(text))) is not None:
            made[places[key]] = named
    return made


def labelled_panels(desk: Desk, run: Run) -> Iterator[tuple[DatedTruth, LabelledPanel]]:
    """Yield the verdicts that people labelled pass or fail, in file order, each also as read."""
    filled = Policy.from_body(runs.options(desk.conn, run.key))
    policy = Policy.from_body(run.header.get("defaults")).over(filled)
    waiting = desk.apart.waiting(run)
    for found in jurors.dated_truths(desk.conn, run.key):
        if found.key in waiting:
            continue
        body = stored_body(found.body)
        deserved = found.truth is Truth.PASS
        yield found, LabelledPanel(body, policy, found.decision, deserved=deserved)
