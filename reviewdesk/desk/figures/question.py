"""Ask a run a question before labelling, and answer it at every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.desk.figures.calibration import labelled
from reviewdesk.errors import UsageError
from reviewdesk.store import events, figures, questions
from reviewdesk.store.connect import reading, writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.labels.question import RunAnswer, RunQuestion
    from reviewdesk.domain.records import Run


def question(desk: Desk, run: Run) -> RunQuestion | None:
    """Return the question that was asked of a run last, open or closed; ``None`` if none was."""
    found = questions.newest(desk.conn, run.hash)
    if not found:
        return None
    from reviewdesk.domain.labels.question import RunQuestion

    asked = found[0]
    return RunQuestion.from_detail(
        asked.event.detail, at=asked.event.at, event=asked.counter, closed=len(found) > 1
    )


def ask(desk: Desk, run: Run, asked: RunQuestion) -> RunAnswer:
    """Record a question, which replaces the one before it, and answer it from what is known.

    Raises:
        UsageError: the verdicts of the run were drawn one by one, or none is decided.
    """
    totals = figures.run_figures(desk.conn, run.key)
    if run.by_verdict:
        raise UsageError(
            f"{run.name}: a question needs a run whose contents were drawn",
            "Load the report into a new desk, and ask there.",
        )
    if not totals.passed + totals.failed:
        raise UsageError(f"{run.name}: the panel decided nothing, so there is nothing to ask about")
    guesses = questions.guesses(desk.conn, run.key, asked.figure)
    _record(desk, run, replace(asked, guesses=guesses).detail())
    found = answer(desk, run)
    assert found is not None  # noqa: S101 - it was recorded just now
    return found


def close(desk: Desk, run: Run) -> RunAnswer:
    """Close the open question of a run: the queue is the usual one again.

    Raises:
        UsageError: no question is open.
    """
    found = question(desk, run)
    if found is None or found.closed:
        raise UsageError(f"{run.name}: no question is open", 'Ask one: ask "accuracy >= 0.9".')
    _record(desk, run, {"closed": True})
    made = answer(desk, run)
    assert made is not None  # noqa: S101 - there is a question
    return made


def _record(desk: Desk, run: Run, detail: dict[str, object]) -> None:
    entry = events.NewEvent(questions.KIND, desk.at(), run=run.hash, detail=detail)
    with writing(desk.conn, desk.path):
        events.append(desk.conn, desk.reviewer, [entry])


def answer(desk: Desk, run: Run) -> RunAnswer | None:
    """Answer the newest question of a run from the labels as they stand; ``None`` if none."""
    asked = question(desk, run)
    if asked is None:
        return None
    from reviewdesk.domain.labels.answers import answer as answered
    from reviewdesk.domain.labels.question import Given

    with reading(desk.conn, desk.path):
        totals = figures.run_figures(desk.conn, run.key)
        rows = labelled(desk, run)
        firsts = questions.first_labels(desk.conn, run.key)
    given = []
    for row in rows:
        counter, truth = firsts.get(row.item, (0, row.place.truth))
        given.append(Given(row, truth, before=counter < asked.event))
    return answered(asked, run.seed, totals, given)


def asked_keys(desk: Desk, run: Run) -> list[int]:
    """Return the keys of the verdicts that the open question has drawn, in the order drawn."""
    found = answer(desk, run)
    if found is None or found.question.closed:
        return []
    keys = questions.keys_at(desk.conn, run.key, list(found.drawn))
    return [key for place in found.drawn for key in keys.get(place, ())]
