"""Compute what other rules would have decided, over a run and on one item."""

from collections.abc import Sequence

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import labelled_rows
from reviewdesk.desk.options import quorum_of, share_of, strategy_of
from reviewdesk.desk.review.runs import panels
from reviewdesk.domain import values, whatif
from reviewdesk.domain.records import Item, Run
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import Rounding, Strategy
from reviewdesk.domain.whatif import PolicyResult, Variant, WhatIfTable
from reviewdesk.errors import UsageError
from reviewdesk.store import runs
from reviewdesk.store.connect import reading


def what_if(desk: Desk, run: Run, variants: Sequence[Variant] | None = None) -> WhatIfTable:
    columns = panels(desk, run)
    with reading(desk.conn):
        made = labelled_rows(desk, run)
        archive = runs.archive_stats(desk.conn, run.key)
    if archive is None:
        known = None
        names = columns.names
        standing = whatif.counts(columns, columns.decision)
        busiest = whatif.busiest(columns)
    else:
        known = {one.variant: one for one in archive.policies}
        names = tuple(archive.jurors)
        standing = archive.standing
        busiest = whatif.most_seated({name: one.seats for name, one in archive.jurors.items()})
    if variants is None:
        variants = whatif.whole(busiest)
    known_jurors(names, variants, run.name)
    missing = [] if known is None else [one for one in variants if one not in known]
    if missing:
        raise UsageError(
            f"{run.name} is an archive, which keeps no counts of {missing[0].name}",
            "It keeps those of the table that whatif prints without options.",
        )
    found = made.lines
    return WhatIfTable(
        design=found.design,
        standing=whatif.result(standing, found.headline, found.confidence_source),
        rows=whatif.results(columns, variants, made, known),
        jurors=len(names),
    )


def variants_of(
    *,
    strategy: Sequence[str] = (),
    trim: Sequence[str | float] = (),
    rounding: Sequence[str] = (),
    quorum: Sequence[str | float] = (),
    supermajority: Sequence[str | float] = (),
    threshold: Sequence[str | float] = (),
    drop: Sequence[str] = (),
) -> tuple[Variant, ...] | None:
    """Return the policies that options select, ``None`` without any; UsageError for a bad value."""
    if not any((strategy, trim, rounding, quorum, supermajority, threshold, drop)):
        return None
    for share in supermajority:
        values.supermajority("--supermajority", share)
    return whatif.combined(
        [Strategy(strategy_of(one)) for one in strategy],
        [share_of("--trim", one, "a trim fraction", below=0.5) for one in trim],
        [values.member(Rounding, one, "--rounding: there is no") for one in rounding],
        [quorum_of(one) for one in quorum],
        [share_of("--threshold", one, "a threshold") for one in threshold],
        drop,
        [str(one) for one in supermajority],
    )


def known_jurors(names: Sequence[str], variants: Sequence[Variant], where: str) -> None:
    for variant in variants:
        if variant.dropped is not None and variant.dropped not in names:
            some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise UsageError(f"no juror {variant.dropped!r} in {where}", f"Jurors: {some}.")


def what_if_item(item: Item, variants: Sequence[Variant] | None = None) -> tuple[PolicyResult, ...]:
    names = seat_names([ballot.id for ballot in item.verdict.ballots])
    if variants is None:
        variants = (*whatif.whole(names), *whatif.outliers())
    known_jurors(names, variants, item.verdict.id)
    standing = PolicyResult(Variant(), item.assessment.score, item.assessment.decision)
    return (standing, *whatif.outcomes(item.verdict, variants))
