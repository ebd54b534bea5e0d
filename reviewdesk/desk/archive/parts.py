"""Read one part of an archive: its sufficient statistics, then those verdicts that are kept.

Both run where there is room, even on another machine. They read a part of any size window by
window, depend only on their arguments, and return the facts of the part.
"""

from __future__ import annotations

import dataclasses
import marshal
import pickle
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reviewdesk.desk.loading import LoadOptions, garbage_waits
from reviewdesk.domain.labels.sampling import FIRST_REST, audit_shares
from reviewdesk.domain.run.packing import Bar
from reviewdesk.domain.verdict import drawn_name
from reviewdesk.errors import ReportError, ReviewDeskError
from reviewdesk.scale.addresses import local_copy
from reviewdesk.scale.crew import Step

if TYPE_CHECKING:
    from reviewdesk.domain.run.stats import Stats
    from reviewdesk.domain.run.window import VerdictWindow
    from reviewdesk.reports.bytes.source import Source

ESCALATED = 1 << 4
"""The bit of ``PartSummary.sides`` for a verdict that recomputation escalates."""
OUTPUTLESS = 1 << 5
"""The bit for a verdict without an output, whose content no other verdict shares."""


class KeptPiece(Struct, frozen=True):
    """Consecutive windows of the kept verdicts; their columns index ``names`` and ``quorums``."""

    windows: list[VerdictWindow]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


class Reading(Struct, frozen=True):
    """How every part is read: the options of ``ingest``, and the largest part in bytes."""

    options: LoadOptions
    max_size: int


class BadPart(Struct, frozen=True):
    """The reason why a part cannot be read, in a sentence that names the part."""

    reason: str


class PartSummary(Struct, frozen=True):
    """The facts of a part that was read: its statistics, and columns over its verdicts."""

    stats: Stats
    header: dict[str, Any]
    sha256: str
    contents: str
    """The default seed of a run that holds this part alone."""
    format: str
    notes: tuple[str, ...]
    skipped: int
    ids: tuple[bytes, ...]
    """The ids of each window as ``marshal`` writes a list."""
    digests: bytes
    """The content digest of each verdict."""
    sides: bytes
    """The stratum of each verdict by itself, without recomputed escalations, with the bits
    ``ESCALATED`` and ``OUTPUTLESS``."""
    seated: bytes
    streamed: bool
    """Whether the part was read without scanning the whole part first."""
    scores: bytes
    """The scores as they are packed, ``seated`` of each verdict."""


def part_stats(address: str, reading: Reading | None = None) -> Stats:
    """Return the sufficient statistics of a part.

    Raises:
        ReportError: it cannot be read.
    """
    return _summary(address, reading or default_reading()).stats


def default_reading() -> Reading:
    """Return how parts are read without options."""
    from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE

    return Reading(LoadOptions(), DEFAULT_MAX_SIZE)


class SummaryTask(Struct, frozen=True):
    """The task that reads a part for the first time."""

    reading: Reading

    def __call__(self, address: str, _start: int) -> Step[PartSummary | BadPart]:
        """Return the facts of the part, or the reason why it cannot be read."""
        try:
            return Step(_summary(address, self.reading))
        except ReviewDeskError as error:
            return Step(BadPart(str(error)))


def _summary(address: str, reading: Reading) -> PartSummary:
    """Read a part; if an error may come from not scanning it first, scan it and read it again."""
    with opened(address, reading) as source, garbage_waits():
        if not reading.options.skip_bad:
            with suppress(ReportError):
                return _read(source, reading, streamed=True)
        return _read(source, reading, streamed=False)


@contextmanager
def opened(address: str, reading: Reading) -> Iterator[Source]:
    """Return a part as a source."""
    from reviewdesk.reports.bytes.source import Source

    try:
        with local_copy(address) as path:
            yield dataclasses.replace(Source.from_path(path, reading.max_size), name=address)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ReportError(address, "", f"cannot be read: {reason}") from error


def _read(source: Source, reading: Reading, *, streamed: bool) -> PartSummary:
    from reviewdesk.domain.run.stats import StatsCounter
    from reviewdesk.domain.run.window import DERIVED_ESCALATION, WindowReader
    from reviewdesk.reports import read

    report = read(source, reading.options, streamed=streamed)
    reader = WindowReader(report.header, reading.options.identity(), "")
    counter = StatsCounter(reader)
    ids = list[bytes]()
    seated = bytearray()
    scores = bytearray()
    digests = bytearray()
    alone = bytearray()
    for window in reader.windows(report.written()):
        counter.add(window)
        ids.append(marshal.dumps(list(window.columns["id"])))
        digests += b"".join(window.contents)
        none = frozenset(window.outputless)
        alone += bytes(OUTPUTLESS * (at in none) for at in range(len(window.contents)))
        seated += window.packed["seated"]
        scores += window.packed["scores"]
    tally = reader.tally
    facts = zip(tally.sides, tally.preliminary, alone, strict=True)
    sides = (
        side | more | (ESCALATED if flags & DERIVED_ESCALATION else 0)
        for side, flags, more in facts
    )
    return PartSummary(
        stats=counter.stats(),
        header=report.header,
        sha256=source.sha256(),
        contents=tally.contents.hexdigest(),
        format=report.format,
        notes=tuple(report.notes),
        skipped=report.skipped,
        ids=tuple(ids),
        digests=bytes(digests),
        sides=array("b", sides).tobytes(),
        seated=bytes(seated),
        streamed=streamed,
        scores=bytes(scores),
    )


class Scratch:
    """The files of one archive, in a folder that is deleted with it; parts are named by number."""

    def __init__(self, folder: Path) -> None:
        """Write into an existing folder that nobody else can write into."""
        self._folder = folder

    def put_summary(self, part: int, summary: PartSummary) -> None:
        self._path(part, "summary").write_bytes(pickle.dumps(summary))

    def summary(self, part: int) -> PartSummary:
        """Return the facts of a part."""
        found: PartSummary = pickle.loads(self._path(part, "summary").read_bytes())  # noqa: S301 - written above
        return found

    def put_piece(self, part: int, piece: KeptPiece) -> None:
        with self._path(part, "pieces").open("ab") as file:
            pickle.dump(piece, file)

    def pieces(self, part: int) -> Iterator[KeptPiece]:
        """Yield the pieces of a part in their order."""
        path = self._path(part, "pieces")
        if not path.exists():
            return
        with path.open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)  # noqa: S301 - written above

    def drop(self, part: int) -> None:
        """Delete the facts and the pieces of a part."""
        self._path(part, "summary").unlink(missing_ok=True)
        self.drop_pieces(part)

    def drop_pieces(self, part: int) -> None:
        self._path(part, "pieces").unlink(missing_ok=True)

    def put_rows(self, bucket: int, rows: bytes) -> None:
        """Append hashes of ids to a bucket."""
        with self._path(bucket, "ids").open("ab") as file:
            file.write(rows)

    def clear_rows(self) -> None:
        for path in self._folder.glob("*.ids"):
            path.unlink()

    def rows(self, bucket: int) -> bytes:
        """Return the hashes in a bucket."""
        path = self._path(bucket, "ids")
        return path.read_bytes() if path.exists() else b""

    def _path(self, number: int, kind: str) -> Path:
        return self._folder / f"{number}.{kind}"


def ids_of(summary: PartSummary) -> list[str]:
    """Return the ids of a part's verdicts, in file order."""
    return [name for some in summary.ids for name in marshal.loads(some)]  # noqa: S302 - by ours


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
    """Draw the contents of all parts and mark the kept ones; ``names`` are by part number."""
    from reviewdesk.domain.archive import BUCKETS, DrawnSizes, id_rows, kept_verdicts, repeated

    scratch.clear_rows()
    for part in names:
        for bucket, rows in id_rows(part, ids_of(scratch.summary(part))):
            scratch.put_rows(bucket, rows)
    renamed: dict[int, set[int]] = {}
    for bucket in range(BUCKETS):
        for part, place in repeated(scratch.rows(bucket)):
            renamed.setdefault(part, set()).add(place)
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
    """Return ``count`` bits, the lowest of a byte first; the bits at ``places`` are set."""
    made = bytearray((count + 7) // 8)
    for place in places:
        made[place >> 3] |= 1 << (place & 7)
    return bytes(made)


def _bucket_contents(
    scratch: Scratch,
    names: Mapping[int, str],
    renamed: Mapping[int, set[int]],
    seed: str,
    *,
    stated: bool,
) -> dict[int, int]:
    """Write the contents of all parts into buckets; return the number of verdicts by part."""
    from reviewdesk.domain.archive import content_rows

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
        # Recomputed escalations count unless the report states any.
        table = bytearray(range(256))
        for side in range(2 * FIRST_REST):
            for alone in (0, OUTPUTLESS):
                table[side | alone] = side
                table[side | alone | ESCALATED] = side if stated else side % FIRST_REST
        for bucket, rows in content_rows(part, drawn, summary.sides.translate(bytes(table)), seed):
            scratch.put_rows(bucket, rows)
        counts[part] = len(ids)
    return counts
