"""Which verdicts of an archive a desk keeps, and the scores that its figures count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.archive.parts import ESCALATED, OUTPUTLESS, PartSummary, Scratch, ids_of
from reviewdesk.domain.content import drawn_name
from reviewdesk.domain.labels.sampling import FIRST_REST, audit_shares
from reviewdesk.domain.run.packing import Bar, PackedRun
from reviewdesk.store.measures import spilled_tables

if TYPE_CHECKING:
    from reviewdesk.desk.archive.parts import PartSummary, Scratch
    from reviewdesk.domain.run.measures import RunMeasures
    from reviewdesk.domain.run.packing import Bar
    from reviewdesk.domain.run.stats import Stats
    from reviewdesk.domain.stats.dense import Floats

Told = Callable[[float, int], object]
"""Takes the share of the work that is done and the number of verdicts read."""


def archive_measures(
    scratch: Scratch,
    parts: Sequence[int],
    stats: Stats,
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
) -> RunMeasures:
    """Compute the alphas of an archive: their states are merged, and its ballots ranked."""
    from reviewdesk.domain.run.alphas import run_measures

    scores = partial(_scores, scratch, parts)
    with spilled_tables() as tables:
        return run_measures(names, quorums, scores, tables, stats.alpha, stats.votes)


def _scores(scratch: Scratch, parts: Sequence[int]) -> Iterator[Floats]:
    """Yield the scores of each part, ``[seats, verdicts]``."""
    from reviewdesk.domain.run.columns import score_units

    for part in parts:
        found = scratch.summary(part)
        yield score_units(PackedRun({"seated": found.seated, "scores": found.scores}, (), ()))


_DIGEST = 32


class Selection(Struct, frozen=True):
    """Bits of each part by place in the file, and the strata of its kept verdicts in file order.

    The strata are the verdicts' own. Contents are drawn, over all parts: ``sizes`` and ``audited``
    count contents, ``decided`` the verdicts on those of each stratum.
    """

    kept: Mapping[int, bytes]
    renamed: Mapping[int, bytes]
    strata: Mapping[int, bytes]
    sizes: Mapping[int, int]
    audited: Mapping[int, int]
    decided: Mapping[int, tuple[int, int]]


def select(
    scratch: Scratch, names: Mapping[int, str], seed: str, share: float, *, stated: bool
) -> Selection:
    """Draw the contents of all parts, whose ``names`` are by number, and mark what is kept."""
    from reviewdesk.domain.archive.content_draw import BUCKETS, DrawnSizes, kept_verdicts

    renamed = _repeated(scratch, names)
    counts = _bucket_contents(scratch, names, renamed, seed, stated=stated)
    drawn = DrawnSizes(map(scratch.rows, range(BUCKETS)))
    audited = audit_shares(drawn.sizes, share)
    chosen: dict[int, dict[int, int]] = {part: {} for part in names}
    for part, place, h in kept_verdicts(map(scratch.rows, range(BUCKETS)), audited):
        chosen[part][place] = h
    return Selection(
        {part: bits(set(found), counts[part]) for part, found in chosen.items()},
        {part: bits(places, max(places) + 1) for part, places in renamed.items()},
        {part: bytes(found[at] for at in sorted(found)) for part, found in chosen.items()},
        drawn.sizes,
        audited,
        drawn.decided,
    )


def bits(places: Sequence[int] | set[int], count: int) -> bytes:
    """Return ``count`` bits, the lowest of a byte first, of which those at ``places`` are set."""
    made = bytearray((count + 7) // 8)
    for place in places:
        made[place >> 3] |= 1 << (place & 7)
    return bytes(made)


def _repeated(scratch: Scratch, names: Mapping[int, str]) -> dict[int, set[int]]:
    """Return the places, by part, of the verdicts whose ids another part has too."""
    from reviewdesk.domain.archive.repeated_ids import BUCKETS, bucket_rows, repeated

    scratch.clear_rows()
    for part in names:
        for bucket, rows in bucket_rows(part, ids_of(scratch.summary(part))):
            scratch.put_rows(bucket, rows)
    found: dict[int, set[int]] = {}
    for bucket in range(BUCKETS):
        for part, place in repeated(scratch.rows(bucket)):
            found.setdefault(part, set()).add(place)
    return found


def _bucket_contents(
    scratch: Scratch,
    names: Mapping[int, str],
    renamed: Mapping[int, set[int]],
    seed: str,
    *,
    stated: bool,
) -> dict[int, int]:
    """Write the contents of all parts into buckets; return the number of verdicts by part."""
    from reviewdesk.domain.archive.content_draw import bucket_rows

    scratch.clear_rows()
    counts = {}
    for part, name in names.items():
        summary = scratch.summary(part)
        ids = ids_of(summary)
        for place in renamed.get(part, ()):
            ids[place] = f"{name}:{ids[place]}"
        drawn = [
            drawn_name(
                summary.digests[_DIGEST * at : _DIGEST * (at + 1)],
                ids[at] if side & OUTPUTLESS else None,
            )
            for at, side in enumerate(summary.sides)
        ]
        for bucket, rows in bucket_rows(part, drawn, _strata(summary, stated=stated), seed):
            scratch.put_rows(bucket, rows)
        counts[part] = len(ids)
    return counts


def _strata(summary: PartSummary, *, stated: bool) -> bytes:
    """Return the stratum of each verdict of a part; recomputed escalations count unless stated."""
    table = bytearray(range(256))
    for side in range(2 * FIRST_REST):
        for alone in (0, OUTPUTLESS):
            table[side | alone] = side
            table[side | alone | ESCALATED] = side if stated else side % FIRST_REST
    return summary.sides.translate(bytes(table))
