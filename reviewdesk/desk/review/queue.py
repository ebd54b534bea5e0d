"""The queue of a run: its verdicts by a filter and an order, from columns in memory."""

from array import array
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from reviewdesk.desk.protocol import OpenFile
from reviewdesk.desk.team.claims import told_marks, withheld
from reviewdesk.domain.query.filter import Filter, Nested, Part, parse_filter, parse_order
from reviewdesk.domain.query.words import HALVES, LABELS
from reviewdesk.domain.records import NOT_WITHHELD, Run
from reviewdesk.store import events, figures, queue, verdicts

if TYPE_CHECKING:
    from reviewdesk.domain.query.matching import RunColumns

USUAL = ("draw", "decision", "band", "flags")
"""The columns that are read in advance: codes of what the queue shows.

A number takes eight times the memory of a code, and is read by the first filter on it.
"""


class HeldColumns:
    """The columns of the run that was asked for last, which the connections of a desk share."""

    def __init__(self) -> None:
        self._held: RunColumns | None = None
        self._loaded: tuple[int, ...] = ()
        self._labelled = -1

    def holds(self, run: Run) -> bool:
        return self._held is not None and self._held.run == run.key

    def read(self, desk: OpenFile, run: Run, names: Collection[str]) -> "RunColumns":
        from reviewdesk.domain.query.matching import RunColumns

        held = self._held
        if held is None or held.run != run.key:
            span = queue.span(desk.conn, run.key)
            held = self._held = RunColumns(span.run, span.first, span.size)
            self._labelled = -1
        loaded = queue.loaded_runs(desk.conn)
        if loaded != self._loaded:
            held.forget_other_runs()
            self._loaded = loaded
        missing = set(names) - held.columns.keys() - LABELS
        for name, values in queue.read_columns(desk.conn, _place(held), missing).items():
            held.add(name, values)
        if not LABELS.isdisjoint(names):
            newest = events.newest_key(desk.conn)
            if self._labelled != newest:
                hidden = withheld(desk)
                others = verdicts.keys_of_items(desk.conn, run.key, hidden.others)
                marks = told_marks(desk, _place(held), hidden)
                held.add_labels(marks, chain.from_iterable(others.values()))
                self._labelled = newest
        return held


def _place(held: "RunColumns") -> queue.RunKeys:
    return queue.RunKeys(held.run, held.first, held.size)


class QueueFile(OpenFile, Protocol):
    """An open desk, and the columns in memory that its connections share."""

    columns: HeldColumns


_GIVEN = frozenset({"tag", "state", "words"})
"""The kinds of terms that read what people wrote: tags and notes."""


def keys(desk: QueueFile, run: Run, text: str, order: str, *, whole: bool = False) -> "array[int]":
    """Return the keys that a filter keeps, in an order; ``whole`` keeps the holdout as well."""
    kept = parse_filter(text) if whole else _parsed(desk, text)
    if kept.groups or parse_order(order)[0] not in queue.IN_FILE or desk.columns.holds(run):
        return _query(desk, run, kept, order)
    return queue.keys_in_file(desk.conn, queue.span(desk.conn, run.key), order)


def _parsed(desk: QueueFile, text: str) -> Filter:
    """Parse a filter; words that tell of labels leave the holdout out.

    ``label:pass`` and ``label:fail`` keep it where the filter names a half itself; ``wrong`` never.
    """
    kept = parse_filter(text)
    labels = {one.value for one in kept.terms() if one.name == "label"}
    values = frozenset[str]() if labels & HALVES else frozenset({"pass", "fail"})

    def tells(one: Part) -> bool:
        if isinstance(one, Nested):
            return any(map(tells, one.filter.terms()))
        return one.name == "wrong" or (one.name == "label" and one.value in values)

    def part(one: Part) -> Part:
        if not tells(one):
            return one
        inner = one.filter if isinstance(one, Nested) else Filter(((replace(one, negated=False),),))
        return Nested(Filter(inner.groups + parse_filter("!label:holdout").groups), one.negated)

    if not any(map(tells, kept.terms())) or not any(figures.steps(desk.conn)):
        return kept
    return Filter(tuple(tuple(map(part, group)) for group in kept.groups))


def kept_back(desk: QueueFile, run: Run, text: str) -> int:
    """Return how many verdicts of the holdout a filter leaves out."""
    whole = parse_filter(text)
    kept = _parsed(desk, text)
    if kept == whole:
        return 0
    every, shown = (len(_query(desk, run, one, "file")) for one in (whole, kept))
    return max(0, every - shown)


def _query(desk: QueueFile, run: Run, kept: Filter, order: str) -> "array[int]":
    # Imported here because it loads numpy, which a queue in the order of the file spares.
    from reviewdesk.domain.query.matching import columns_of, mask_of, ordered
    from reviewdesk.store.search import FilterContext, matching

    held = desk.columns.read(desk, run, columns_of(kept, order))
    given = any(term.kind in _GIVEN for term in kept.terms())
    apart = withheld(desk) if given else NOT_WITHHELD
    context = FilterContext(desk.conn, _place(held), desk.reviewer, apart, held.memo)
    mask = mask_of(held, kept, partial(matching, context))
    return held.keys(ordered(held, mask, order))
