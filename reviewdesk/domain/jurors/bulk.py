"""Counts how often each juror was right, over columns of labelled verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jurors.facts import JurorCounts, trim_named
from reviewdesk.domain.jurors.strata import dissents, lone, trimmed
from reviewdesk.domain.jury.panels import code
from reviewdesk.domain.jury.sheet import sheet_of
from reviewdesk.domain.labels.marks import TRUTH, TRUTHS
from reviewdesk.domain.records import Truth
from reviewdesk.domain.run.columns import Bools, Columns
from reviewdesk.domain.run.packing import Names
from reviewdesk.domain.verdict import Decision, Generator, Policy, verdict_from_body


class LabelledPanel(Struct, frozen=True):
    """One labelled verdict: its body with the ballots, its rule, the decision and the label."""

    body: CanonicalVerdict
    policy: Policy
    decision: Decision | None
    deserved: bool
    """Whether the label says that the response should pass."""


def count(panels: Iterable[LabelledPanel]) -> tuple[JurorCounts, ...]:
    """Return each juror's counts over labelled verdicts whose run has no columns."""
    labelled = list(panels)
    if not labelled:
        return ()
    names = Names()
    verdicts = [verdict_from_body(one.body, one.policy, Generator()) for one in labelled]
    seats = [names.seats(tuple(ballot.id for ballot in one.ballots)) for one in verdicts]
    columns = replace(
        sheet_of(verdicts, seats).columns,
        names=names.names,
        decision=np.array([code(one.decision) for one in labelled], np.int8),
    )
    named = enumerate(trim_named(one.body) for one in labelled)
    stated = {row: trimmed for row, trimmed in named if trimmed is not None}
    return juror_counts(columns, np.array([one.deserved for one in labelled], np.bool_), stated)


def labelled(found: Columns, marks: bytearray) -> tuple[Columns, Bools]:
    """Return the verdicts of a run with a pass or fail label, and whether it is a pass.

    ``marks`` are the bytes of all labels, see ``domain.labels.marks``.
    """
    truth = np.frombuffer(marks, np.uint8) & TRUTH
    codes = [TRUTHS.index(one) for one in (Truth.PASS, Truth.FAIL)]
    rows = np.flatnonzero(np.isin(truth, codes)).astype(np.int32)
    return found.at(rows), truth[rows] == codes[0]


def juror_counts(
    found: Columns, deserved: Bools, stated: Mapping[int, AbstractSet[int]]
) -> tuple[JurorCounts, ...]:
    """Return each juror's counts over labelled verdicts, sorted by seat and then by name.

    ``deserved`` says of each verdict if its label is a pass; ``stated`` gives, by row, the trimmed
    seats that the report itself names.
    """
    cast = found.votes >= 0
    vote = found.votes == 1
    against = dissents(found)
    gone = trimmed(found, stated)
    seated = found.juror >= 0
    alone = lone(against, gone)
    right = cast & (vote == deserved)
    silent = seated & ~cast
    marks = {
        "tp": cast & vote & deserved,
        "fn": cast & ~vote & deserved,
        "tn": cast & ~vote & ~deserved,
        "fp": cast & vote & ~deserved,
        "abstained": silent & ~(found.failed | found.not_asked | found.unknown),
        "failed": silent & found.failed,
        "trimmed": gone,
        "dissents": against,
        "dissents_right": against & right,
        "lone_dissents": alone,
        "lone_right": alone & right,
    }
    jurors = len(found.names)
    counts = {
        fact: np.bincount(found.juror[where], minlength=jurors) for fact, where in marks.items()
    }
    seats: dict[int, int] = {}
    for seat, sitting in enumerate(found.juror):
        for juror in np.unique(sitting[sitting >= 0]).tolist():
            seats.setdefault(juror, seat)
    made = [
        JurorCounts(found.names[j], seat, **{fact: int(n[j]) for fact, n in counts.items()})
        for j, seat in seats.items()
    ]
    return tuple(sorted(made, key=lambda one: (one.seat, one.name)))
