"""Which verdicts of a run a filter keeps, and how orders sort them, over columns in memory."""

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.labels.sampling import TRUTH, TRUTHS
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import ORDERS, Filter, Nested, Part, Term, parse_order
from reviewdesk.domain.run.packing import COLUMNS
from reviewdesk.domain.stats.dense import Bools, Column, Ints
from reviewdesk.domain.verdict import SLACK

Find = Callable[[Term], Iterable[int]]
"""Returns the keys of a run that match a term, as columns cannot decide it."""

_WARNINGS = {"bias": Flag.BIAS_WARNING, "same-family": Flag.SAME_FAMILY}
_ANY = Flag.BIAS_WARNING | Flag.SAME_FAMILY
_SORTED = words.NUMBERS.keys() & ORDERS
"""The orders by a number; ties follow the draw."""


_FIXED = frozenset({"text", "juror", "failed", "abstained", "run", "flip"})
"""Terms that match the same verdicts for as long as the same runs are loaded."""
_TRUTHS = np.array([words.CODES["truth"].index(one) if one else -1 for one in TRUTHS], np.int8)
"""The code of a truth by its bits in the byte of a label."""


@dataclass(slots=True)
class RunColumns:
    """The data read from a run so far; arrays are never changed, so threads may share them."""

    run: int
    first: int
    size: int
    columns: dict[str, Column] = field(default_factory=dict)
    masks: dict[Term, Column] = field(default_factory=dict)
    """The newest masks of fixed terms, as bits."""
    memo: dict[str, Any] = field(default_factory=dict)
    """Data that the desk read from the run to find terms, and need not read again."""

    def add(self, name: str, values: "array[Any]") -> None:
        column = np.frombuffer(values, dtype=values.typecode)
        if name in words.NUMBERS:
            column[np.isinf(column)] = np.nan
        self.columns[name] = column

    def forget_other_runs(self) -> None:
        self.columns.pop("swing", None)
        self.masks.clear()

    def add_labels(self, marks: bytearray, not_told: Iterable[int] = ()) -> None:
        """Store the truths from the bytes of all labels; those of ``not_told`` keys are hidden."""
        held = np.frombuffer(marks, np.uint8)
        truth = _TRUTHS[held & TRUTH]
        truth[self.mask(not_told)] = words.CODES["truth"].index(words.NOT_TOLD)
        self.columns["truth"] = truth

    def mask(self, keys: Iterable[int]) -> Bools:
        """Return the mask of the verdicts with these keys; keys of other runs are ignored."""
        rows = np.fromiter(keys, dtype=np.int64) - self.first
        found = np.zeros(self.size, dtype=bool)
        found[rows[(rows >= 0) & (rows < self.size)]] = True
        return found

    def matching(self, term: Term, find: Find) -> Bools:
        """Return the mask of a term that columns cannot decide; keep it if it cannot change."""
        known = self.masks.pop(term, None)
        if known is not None:
            self.masks[term] = known
            return np.unpackbits(known, count=self.size).astype(bool)
        found = self.mask(find(term))
        if not {term.kind, term.name}.isdisjoint(_FIXED):
            self.masks[term] = np.packbits(found)
            for oldest in list(self.masks)[:-16]:
                self.masks.pop(oldest, None)
        return found

    def keys(self, rows: Ints) -> "array[int]":
        made = array("q")
        made.frombytes((rows.astype(np.int64) + self.first).tobytes())
        return made


def columns_of(kept: Filter, order: str) -> frozenset[str]:
    """Return the names of the columns that a filter and an order need."""
    name, _ = parse_order(order)
    needed = {name} & words.PLACES or {"draw"}
    needed |= {name} & _SORTED
    for term in kept.terms():
        if term.kind == "flag" or term.name == "warn":
            needed.add("flags")
        elif term.name in words.WRONG:
            needed |= {"decision", "truth"}
        else:
            column = "truth" if term.name == "label" else term.name
            needed |= {column} & words.TYPES.keys() - words.PLACES
    return frozenset(needed - {"draw"} if name == "file" else needed)


def ordered(held: RunColumns, mask: Bools | None, order: str) -> Ints:
    name, descending = parse_order(order)
    rows: Ints = np.arange(held.size, dtype=np.int32)
    if name != "file":
        rows = held.columns[name if name in words.PLACES else "draw"]
    rows = rows if mask is None else rows[mask[rows]]
    rows = rows[::-1] if descending else rows
    if name in _SORTED:
        values = held.columns[name][rows]
        values = -values if descending else values
        # Rows with equal values keep their order.
        rows = rows[np.argsort(values, kind="stable")]
    return rows


def mask_of(held: RunColumns, kept: Filter, find: Find) -> Bools | None:
    """Return the mask of a filter; ``None`` if it is empty and so matches every verdict."""
    groups = [reduce(or_, (_part(held, part, find) for part in group)) for group in kept.groups]
    return reduce(and_, groups) if groups else None


def _part(held: RunColumns, part: Part, find: Find) -> Bools:
    if isinstance(part, Nested):
        mask = mask_of(held, part.filter, find)
        found = np.ones(held.size, np.bool_) if mask is None else mask
        return ~found if part.negated else found
    name = part.name if part.kind in {"choice", "state", "panel"} else part.kind
    if name in _CONDITIONS and not (name == "label" and part.value in words.HALVES):
        found = _CONDITIONS[name](held.columns, part)
    elif part.name == "untagged":
        found = ~held.matching(dataclasses.replace(part, name="tagged"), find)
    else:
        found = held.matching(part, find)
    return ~found if part.negated else found


_COMPARISONS: Mapping[str, Callable[[Column, float], Bools]] = {
    "<": lambda column, number: column < number - SLACK,
    "<=": lambda column, number: column <= number + SLACK,
    "=": lambda column, number: np.abs(column - number) <= SLACK,
    ">=": lambda column, number: column >= number - SLACK,
    ">": lambda column, number: column > number + SLACK,
}


def _is(columns: Mapping[str, Column], name: str, word: str) -> Bools:
    return np.asarray(columns[name] == (-1 if word == "none" else words.CODES[name].index(word)))


def _wrong(columns: Mapping[str, Column], term: Term) -> Bools:
    sides = (("pass", "fail"), ("fail", "pass"))
    marks = [
        _is(columns, "decision", made) & _is(columns, "truth", truth)
        for made, truth in sides
        if term.value in {"", made}
    ]
    return reduce(or_, marks)


_CONDITIONS: Mapping[str, Callable[[Mapping[str, Column], Term], Bools]] = {
    "flag": lambda columns, term: columns["flags"] & int(term.value) != 0,
    "number": lambda columns, term: _COMPARISONS[term.op](columns[term.name], float(term.value)),
    "warn": lambda columns, term: columns["flags"] & int(_WARNINGS.get(term.value, _ANY)) != 0,
    "label": lambda columns, term: _is(columns, "truth", term.value),
    **dict.fromkeys(("decision", "band"), lambda cols, term: _is(cols, term.name, term.value)),
    **dict.fromkeys(words.WRONG, _wrong),
    **dict.fromkeys(words.UNANIMOUS, lambda columns, term: columns[term.name] != 0),
}
"""The conditions that columns can decide, by the name of the term; all others need the desk."""


def rows_with_seat(
    windows: Iterator[tuple[int, Mapping[str, bytes]]], name: str, codes: Iterable[int]
) -> Iterator[int]:
    """Yield the rows with a seat of one of the codes; a window is its first row and columns."""
    wanted = list(codes)
    for first, window in windows:
        seats = np.frombuffer(window[name], dtype=np.dtype(COLUMNS[name]).newbyteorder("<"))
        seated = np.frombuffer(window["seated"], dtype=np.dtype("i").newbyteorder("<"))
        rows = np.repeat(np.arange(first, first + len(seated)), seated)
        yield from np.unique(rows[np.isin(seats, wanted)]).tolist()
