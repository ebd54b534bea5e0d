"""Questions that a run is asked before it is labelled, answered at every look."""

from contextlib import suppress
from math import inf

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import panels
from reviewdesk.desk.team.claims import labelled
from reviewdesk.domain.labels.question import (
    Given,
    QuestionItems,
    RunAnswer,
    RunQuestion,
    with_raters,
)
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Event, Run
from reviewdesk.errors import UsageError
from reviewdesk.store import events, figures, measures
from reviewdesk.store.connect import reading, writing


def question(desk: Desk, run: Run) -> RunQuestion | None:
    found = next(figures.questions(desk.conn, run.hash), None)
    if found is None:
        return None
    try:
        asked = _stored(*found)
        items = _items(desk, run, asked)
    except (ValueError, UsageError):
        # A newer version, or somebody who writes events by hand, asked it on another desk.
        return None
    return None if items is not None and not items.passes else asked


def _stored(event: Event, counter: int, closed: bool) -> RunQuestion:
    return RunQuestion.from_detail(event.detail, at=event.at, event=counter, closed=closed)


def ask(desk: Desk, run: Run, asked: RunQuestion) -> None:
    """Record a question, unless it stands open already."""
    totals = figures.run_figures(desk.conn, run.key)
    if run.by_verdict:
        raise UsageError(
            f"{run.name}: a question needs a run whose contents were drawn",
            "Load the report into a new desk, and ask there.",
        )
    if run.whole != run.verdicts:
        raise UsageError(f"{run.name} is an archive, which keeps too few of its verdicts to ask")
    if asked.of:
        asked = with_raters(asked, measures.names(desk.conn, run.key))
    standing = question(desk, run)
    if standing is not None and not standing.closed and standing.is_same(asked):
        return
    items = _items(desk, run, asked)
    if items is not None and not items.passes:
        alike = "decided alike on all items, so the difference is 0"
        what = alike if items.items else "decided nothing, so there is nothing to ask about"
        raise UsageError(f"{run.name}: {' and '.join(asked.of)} {what}")
    if not totals.passed + totals.failed and items is None:
        raise UsageError(f"{run.name}: the panel decided nothing, so there is nothing to ask about")
    guesses = items.guesses if items else figures.guesses(desk.conn, run.key, asked.figure)
    labelled_now = {row.item for row in figures.labelled(desk.conn, run.key)}
    ever = {item for item, *_ in figures.labels_given(desk.conn, run.key)}
    gone = tuple(sorted(item.hex() for item in ever - labelled_now))
    turn = sum(1 for _ in figures.questions(desk.conn, run.hash))
    made = replace(asked, guesses=guesses, unlabelled=gone, turn=turn)
    _record(desk, run, made.detail())


def _items(desk: Desk, run: Run, asked: RunQuestion) -> QuestionItems | None:
    """Return the items of a question about jurors, read once; ``None`` if it is about the panel."""
    if not asked.of:
        return None
    from reviewdesk.domain.jurors.votes import question_items

    if run.whole != run.verdicts:
        raise ValueError("an archive has too few of its ballots")
    of = run.hash, asked.of
    if of not in desk.asked:
        found = question_items(panels(desk, run), figures.places(desk.conn, run.key), asked.of)
        desk.asked.clear()
        desk.asked[of] = found
    return desk.asked[of]


def close(desk: Desk, run: Run) -> None:
    found = question(desk, run)
    if found is None or found.closed:
        raise UsageError(f"{run.name}: no question is open", 'Ask one: ask "accuracy >= 0.9".')
    _record(desk, run, {"closed": True})


def _record(desk: Desk, run: Run, detail: dict[str, object]) -> None:
    entry = events.NewEvent(figures.QUESTION, desk.at(), run=run.hash, detail=detail)
    with writing(desk.conn):
        events.append(desk.conn, desk.reviewer, [entry])


def answer(desk: Desk, run: Run) -> RunAnswer | None:
    """Answer the newest question of a run from the current labels; ``None`` without a question."""
    asked = question(desk, run)
    if asked is None:
        return None
    from reviewdesk.domain.labels.confidence_sequence import answer as answered

    with reading(desk.conn):
        items = _items(desk, run, asked)
        totals = figures.run_figures(desk.conn, run.key)
        # Earlier questions on the same figure: older versions began each anew, with less risk.
        same = [asked]
        for old in figures.questions(desk.conn, run.hash):
            with suppress(ValueError, UsageError):
                one = replace(_stored(*old), closed=False)
                is_same = (one.figure, one.of) == (asked.figure, asked.of)
                if same[-1].turn and is_same and one.event < asked.event:
                    same.append(one)
        found = []
        gone: set[str] = set()
        until = inf
        for one in same:
            labels = given(desk, run, one, until)
            found.append((one, [of for item, of in labels.items() if item.hex() not in gone]))
            gone |= {*one.unlabelled}
            until = one.event
    return answered(found[::-1], run.seed, totals, items)


def given(desk: Desk, run: Run, asked: RunQuestion, until: float = inf) -> dict[bytes, Given]:
    rows: dict[bytes, LabelledRow] = {}
    for row in labelled(desk, run):
        rows.setdefault(row.item, row)
    found: dict[bytes, Given] = {}
    for item, unit, truth, counter in figures.labels_given(desk.conn, run.key):
        before = counter < asked.event
        again = before and item.hex() in asked.unlabelled
        if item not in found and not again and counter < until:
            found[item] = Given(unit, rows.get(item), truth, before)
    return found


def asked_keys(desk: Desk, run: Run) -> list[int]:
    found = answer(desk, run)
    if found is None or found.question.closed:
        return []
    keys = figures.at_places(desk.conn, run.key, found.drawn)
    return [keys[place][0] for place in found.drawn if place in keys]
