"""Read one part of an archive: its sufficient statistics, then those verdicts that are kept.

Both run where there is room, even on another machine. They read a part of any size window by
window, depend only on their arguments, and return the facts of the part.
"""

import dataclasses
import marshal
import pickle
from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from reviewdesk.desk.loading import LoadOptions, garbage_waits
from reviewdesk.domain import archive
from reviewdesk.domain.labels.sampling import FIRST_REST, audit_shares
from reviewdesk.domain.report_model import Written, json_of, verdict_model
from reviewdesk.domain.run.packing import Bar
from reviewdesk.domain.run.stats import Stats, StatsCounter
from reviewdesk.domain.run.window import DERIVED_ESCALATION, VerdictWindow, WindowReader
from reviewdesk.domain.verdict import drawn_name, stored_body
from reviewdesk.errors import ReportError, ReviewDeskError
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source
from reviewdesk.scale.addresses import local_copy
from reviewdesk.scale.crew import Lost

Facts = TypeVar("Facts", "PartSummary", "KeptVerdicts")
ESCALATED = 1 << 4
"""The bit of ``PartSummary.sides`` for a verdict that recomputation escalates."""
OUTPUTLESS = 1 << 5
"""The bit for a verdict without an output, whose content no other verdict shares."""


class KeptPart(Struct, frozen=True):
    """Which verdicts of a part are kept, and under which ids; bits are by place in the file."""

    address: str
    name: str
    sha256: str
    streamed: bool
    kept: bytes
    renamed: bytes
    """The verdicts whose ids occur in other parts too; their ids become ``NAME:ID``."""


class KeptVerdicts(Struct, frozen=True):
    """The kept verdicts of a part; the columns of the windows index ``names`` and ``quorums``."""

    windows: list[VerdictWindow]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


class Reading(Struct, frozen=True):
    """How every part is read: the options of ``ingest``, and the largest part in bytes."""

    options: LoadOptions
    max_size: int


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
    sides: bytes
    """The stratum of each verdict by itself, without recomputed escalations, with the bits
    ``ESCALATED`` and ``OUTPUTLESS``."""
    seated: bytes
    streamed: bool
    """Whether the part was read without scanning the whole part first."""
    scores: bytes
    """The scores as they are packed, ``seated`` of each verdict."""


def part_stats(address: str, reading: Reading | None = None) -> Stats:
    """Return the sufficient statistics of a part; raise ReportError if it cannot be read."""
    return _summary(reading or default_reading(), address).stats


def default_reading() -> Reading:
    """Return how parts are read without options."""
    return Reading(LoadOptions(), DEFAULT_MAX_SIZE)


def summary(reading: Reading, address: str) -> PartSummary | Lost:
    """Read a part for the first time; return its facts, or why it cannot be read."""
    try:
        return _summary(reading, address)
    except ReviewDeskError as error:
        return Lost(str(error))


def _summary(reading: Reading, address: str) -> PartSummary:
    """Read a part; if an error may come from not scanning it first, scan it and read it again."""
    with opened(address, reading) as source, garbage_waits():
        if not reading.options.skip_bad:
            with suppress(ReportError):
                return _read(source, reading, streamed=True)
        return _read(source, reading, streamed=False)


def kept_verdicts(reading: Reading, run_hash: str, part: KeptPart) -> KeptVerdicts | Lost:
    """Read a part again for its kept verdicts, for the run with this hash."""
    try:
        with opened(part.address, reading) as source:
            if source.sha256() != part.sha256:
                raise ReportError(
                    part.address, "", "was changed while it was being read", "Start again."
                )
            report = read(source, reading.options, streamed=part.streamed)
            reader = WindowReader(report.header, reading.options.identity(), run_hash)
            windows = list(reader.windows(_kept(part, report.written())))
            return KeptVerdicts(windows, tuple(reader.known.names), tuple(reader.known.quorums))
    except ReviewDeskError as error:
        return Lost(str(error))


def _kept(part: KeptPart, written: Iterator[Written]) -> Iterator[Written]:
    for place, (verdict, text) in enumerate(written):
        if _bit(part.kept, place) and _bit(part.renamed, place):
            renamed = json_of({**stored_body(text), "id": f"{part.name}:{verdict.id}"})
            yield verdict_model(renamed), renamed
        elif _bit(part.kept, place):
            yield verdict, text


def _bit(bits: bytes, place: int) -> bool:
    return place >> 3 < len(bits) and bool(bits[place >> 3] >> (place & 7) & 1)


@contextmanager
def opened(address: str, reading: Reading) -> Iterator[Source]:
    try:
        with local_copy(address) as path:
            yield dataclasses.replace(Source.from_path(path, reading.max_size), name=address)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ReportError(address, "", f"cannot be read: {reason}") from error


def _read(source: Source, reading: Reading, *, streamed: bool) -> PartSummary:
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
        self._folder = folder

    def put(self, part: int, facts: PartSummary | KeptVerdicts) -> None:
        """Keep one kind of facts of a part."""
        self._path(part, type(facts)).write_bytes(pickle.dumps(facts))

    def get(self, part: int, kind: type[Facts]) -> Facts:
        """Return the facts of this kind of a part, which must have some."""
        found: Facts = pickle.loads(self._path(part, kind).read_bytes())  # noqa: S301 - by ours
        return found

    def _path(self, part: int, kind: type) -> Path:
        return self._folder / f"{part}.{kind.__name__}"

    def put_rows(self, bucket: int, rows: bytes) -> None:
        with (self._folder / f"{bucket}.rows").open("ab") as file:
            file.write(rows)

    def clear_rows(self) -> None:
        for path in self._folder.glob("*.rows"):
            path.unlink()

    def rows(self, bucket: int) -> bytes:
        path = self._folder / f"{bucket}.rows"
        return path.read_bytes() if path.exists() else b""


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
    buckets = range(archive.BUCKETS)
    scratch.clear_rows()
    for part in names:
        for bucket, rows in archive.id_rows(part, ids_of(scratch.get(part, PartSummary))):
            scratch.put_rows(bucket, rows)
    renamed: dict[int, set[int]] = {}
    for bucket in buckets:
        for part, place in archive.repeated(scratch.rows(bucket)):
            renamed.setdefault(part, set()).add(place)
    scratch.clear_rows()
    # Recomputed escalations count unless the report states any.
    strata = (side & (ESCALATED - 1) for side in range(256))
    table = bytes(
        h % FIRST_REST if side & ESCALATED and not stated else h for side, h in enumerate(strata)
    )
    counts = {}
    for part, name in names.items():
        one = scratch.get(part, PartSummary)
        ids = ids_of(one)
        for place in renamed.get(part, ()):
            ids[place] = f"{name}:{ids[place]}"
        contents = [
            drawn_name(
                one.digests[_DIGEST * at : _DIGEST * (at + 1)],
                ids[at] if side & OUTPUTLESS else None,
            )
            for at, side in enumerate(one.sides)
        ]
        sides = one.sides.translate(table)
        for bucket, rows in archive.content_rows(part, contents, sides, seed):
            scratch.put_rows(bucket, rows)
        counts[part] = len(ids)
    drawn = archive.DrawnSizes(map(scratch.rows, buckets))
    audited = audit_shares(drawn.sizes, share)
    chosen: dict[int, dict[int, int]] = {part: {} for part in names}
    for part, place, h in archive.kept_verdicts(map(scratch.rows, buckets), audited):
        chosen[part][place] = h
    return Selection(
        {part: bits(set(found), counts[part]) for part, found in chosen.items()},
        {part: bits(places, max(places) + 1) for part, places in renamed.items()},
        {part: bytes(found[at] for at in sorted(found)) for part, found in chosen.items()},
        drawn.sizes,
        audited,
        drawn.decided,
    )


def bits(places: Collection[int], count: int) -> bytes:
    """Return ``count`` bits, the lowest of a byte first; the bits at ``places`` are set."""
    made = bytearray((count + 7) // 8)
    for place in places:
        made[place >> 3] |= 1 << (place & 7)
    return bytes(made)
