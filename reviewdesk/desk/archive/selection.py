"""Which verdicts of an archive its desk keeps: the flagged ones, and the audit of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reviewdesk.desk.archive.parts import ESCALATED
from reviewdesk.desk.archive.scratch import Scratch, ids_of
from reviewdesk.domain.labels.sampling import FIRST_REST, audit_shares
from reviewdesk.frozen import Frozen

if TYPE_CHECKING:
    from reviewdesk.desk.archive.parts import PartSummary


class Selection(Frozen):
    """Bits of each part by place in the file, and the strata of its kept verdicts in file order."""

    kept: Mapping[int, bytes]
    renamed: Mapping[int, bytes]
    strata: Mapping[int, bytes]
    sizes: Mapping[int, int]
    audited: Mapping[int, int]


def select(
    scratch: Scratch,
    names: Mapping[int, str],
    sizes: Mapping[int, int],
    seed: str,
    share: float,
    *,
    stated: bool,
) -> Selection:
    """Draw the audit over all parts, whose ``names`` are by number, and mark what is kept."""
    renamed = _repeated(scratch, names)
    audited = audit_shares(sizes, share)
    chosen = _audit(scratch, names, renamed, (sizes, audited), seed, stated=stated)
    kept, strata = {}, {}
    for part in names:
        found = _strata(scratch.summary(part), stated=stated)
        places = {at for at, h in enumerate(found) if h < FIRST_REST}.union(chosen.get(part, ()))
        kept[part] = bits(places, len(found))
        strata[part] = bytes(found[at] for at in sorted(places))
    return Selection(
        kept,
        {part: bits(places, max(places) + 1) for part, places in renamed.items()},
        strata,
        sizes,
        audited,
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


def _audit(
    scratch: Scratch,
    names: Mapping[int, str],
    renamed: Mapping[int, set[int]],
    drawn: tuple[Mapping[int, int], Mapping[int, int]],
    seed: str,
    *,
    stated: bool,
) -> dict[int, list[int]]:
    """Return the places of the audited verdicts by part."""
    from reviewdesk.domain.archive.audit_draw import AuditDraw

    wider = 1
    while True:
        audit = AuditDraw(*drawn, seed, wider)
        for part, name in names.items():
            summary = scratch.summary(part)
            ids = ids_of(summary)
            for place in renamed.get(part, ()):
                ids[place] = f"{name}:{ids[place]}"
            audit.add(part, ids, _strata(summary, stated=stated))
        if (found := audit.chosen()) is not None:
            return found
        wider *= 8


def _strata(summary: PartSummary, *, stated: bool) -> bytes:
    """Return the stratum of each verdict of a part; recomputed escalations count unless stated."""
    table = bytearray(range(256))
    for side in range(2 * FIRST_REST):
        table[side | ESCALATED] = side if stated else side % FIRST_REST
    return summary.sides.translate(bytes(table))
