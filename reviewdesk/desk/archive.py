"""Archives: many report parts, read where there is room, as one run of a small desk.

The first reading makes statistics of each part, whose sum says what the draw depends on; the second
fetches the verdicts that the desk keeps. Both may run on other machines, so they depend only on
their arguments. A part counts once, even if workers read it several times.
"""

import dataclasses
import hashlib
import pickle
import re
import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from msgspec import Struct, json
from msgspec.structs import replace

from reviewdesk.desk.labels.transfer import import_human
from reviewdesk.desk.loading import LoadOptions, garbage_waits, write_new
from reviewdesk.desk.open_file import OpenFile
from reviewdesk.domain.labels import draw
from reviewdesk.domain.labels.sampling import AUDIT_SHARE, FIRST_REST, audit_shares
from reviewdesk.domain.records import Run
from reviewdesk.domain.report_model import Written, json_of, verdict_model
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.run.columns import score_units
from reviewdesk.domain.run.packing import Bar, PackedRun
from reviewdesk.domain.run.stats import Stats, StatsCounter, run_measures
from reviewdesk.domain.run.window import (
    DERIVED_ESCALATION,
    VerdictWindow,
    WindowReader,
    final_flags,
)
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.verdict import drawn_name, json_sha256, stored_body
from reviewdesk.errors import ReportError, ReviewDeskError, UsageError
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source
from reviewdesk.scale.crew import Crew, Lost, crew, expand, local_copy, refuse_keys
from reviewdesk.store import runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport, with_undecided
from reviewdesk.views.words import plural

Facts = TypeVar("Facts", "PartSummary", "KeptVerdicts")
ESCALATED = 1 << 4
"""The bit of ``PartSummary.sides`` for a verdict that recomputation escalates."""
OUTPUTLESS = 1 << 5
"""The bit for a verdict without an output, whose content no other verdict shares."""


class KeptPart(Struct, frozen=True):
    """Which verdicts of a part are kept, by place in its file, and under which ids."""

    address: str
    name: str
    sha256: str
    streamed: bool
    kept: frozenset[int]
    renamed: frozenset[int]
    """Those whose ids occur in other parts too; their ids become ``NAME:ID``."""


class KeptVerdicts(Struct, frozen=True):
    """The kept verdicts of a part; the columns of the windows index ``names`` and ``quorums``."""

    windows: list[VerdictWindow]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


class Reading(Struct, frozen=True):
    """How every part is read: the options of ``ingest``, and the largest part in bytes."""

    options: LoadOptions = LoadOptions()
    max_size: int = DEFAULT_MAX_SIZE


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
    ids: tuple[str, ...]
    digests: bytes
    sides: bytes
    """The stratum of each verdict by itself, without recomputed escalations, with the bits
    ``ESCALATED`` and ``OUTPUTLESS``."""
    seated: bytes
    streamed: bool
    """Whether the part was read without scanning the whole part first."""
    scores: bytes
    """The scores as they are packed, ``seated`` of each verdict."""


def summary(reading: Reading, address: str) -> PartSummary | Lost:
    try:
        with opened(address, reading) as source, garbage_waits():
            if not reading.options.skip_bad:
                with suppress(ReportError):  # it may come from not scanning the part first
                    return _read(source, reading, streamed=True)
            return _read(source, reading, streamed=False)
    except ReviewDeskError as error:
        return Lost(str(error))


def kept_verdicts(reading: Reading, run_hash: str, part: KeptPart) -> KeptVerdicts | Lost:
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
        if place in part.renamed:
            renamed = json_of({**stored_body(text), "id": f"{part.name}:{verdict.id}"})
            yield verdict_model(renamed), renamed
        elif place in part.kept:
            yield verdict, text


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
    ids = list[str]()
    seated = bytearray()
    scores = bytearray()
    digests = bytearray()
    alone = bytearray()
    for window in reader.windows(report.written()):
        counter.add(window)
        ids += window.columns["id"]
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


_DIGEST = 32


class Selection(Struct, frozen=True):
    """The kept verdicts of each part by place, with own strata; ``sizes`` are of contents."""

    kept: Mapping[int, Mapping[int, int]]
    renamed: Mapping[int, set[int]]
    sizes: Mapping[int, int]
    audited: Mapping[int, int]
    decided: Mapping[int, tuple[int, int]]


def select(
    scratch: Scratch, names: Mapping[int, str], seed: str, share: float, *, stated: bool
) -> Selection:
    """Draw the contents of all parts and mark the kept ones; ``names`` are by part number."""
    buckets = range(draw.BUCKETS)
    scratch.clear_rows()
    for part in names:
        for bucket, rows in draw.id_rows(part, scratch.get(part, PartSummary).ids):
            scratch.put_rows(bucket, rows)
    renamed: dict[int, set[int]] = {part: set() for part in names}
    for bucket in buckets:
        for part, place in draw.repeated(scratch.rows(bucket)):
            renamed[part].add(place)
    scratch.clear_rows()
    # Recomputed escalations count unless the report states any.
    strata = (side & (ESCALATED - 1) for side in range(256))
    table = bytes(
        h % FIRST_REST if side & ESCALATED and not stated else h for side, h in enumerate(strata)
    )
    for part, name in names.items():
        one = scratch.get(part, PartSummary)
        ids = [*one.ids]
        for place in renamed[part]:
            ids[place] = f"{name}:{ids[place]}"
        contents = [
            drawn_name(
                one.digests[_DIGEST * at : _DIGEST * (at + 1)],
                ids[at] if side & OUTPUTLESS else None,
            )
            for at, side in enumerate(one.sides)
        ]
        sides = one.sides.translate(table)
        for bucket, rows in draw.content_rows(part, contents, sides, seed):
            scratch.put_rows(bucket, rows)
    sizes, decided = draw.drawn_sizes(map(scratch.rows, buckets))
    audited = audit_shares(sizes, share)
    chosen: dict[int, dict[int, int]] = {part: {} for part in names}
    for part, place, h in draw.kept_verdicts(map(scratch.rows, buckets), audited):
        chosen[part][place] = h
    return Selection(chosen, renamed, sizes, audited, decided)


# All parts

Told = Callable[[float, int], object]
"""Takes the share of the work that is done and the number of verdicts read."""
ALL = 1.0
"""The audit share of the kept verdicts: all that are not flagged are the audit."""
_MOST_NOTES = 20
MIXED = "archive"
_SUMMARIES = 0.6
_KEPT = 0.3
"""The shares of the work that the two readings take."""
workers_at = crew


def put_together(
    desk: OpenFile,
    patterns: Sequence[str],
    options: LoadOptions,
    crew: Crew,
    *,
    max_size: int | None = None,
    told: Told = lambda _share, _count: None,
) -> Archived:
    """Combine the parts that patterns match into a run of the desk; leave out bad parts."""
    for pattern in patterns:
        refuse_keys(pattern)
    every: set[str] = set()
    for place, some in crew.run(expand, patterns):
        if isinstance(some, Lost):
            raise UsageError(f"{patterns[place]}: {some.reason}", "Check the address.")
        if not some:
            raise UsageError(f"{patterns[place]}: no file matches this", "Check the pattern.")
        every.update(some)
    reading = Reading(options, DEFAULT_MAX_SIZE if max_size is None else max_size)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        found = _Reading(crew, reading, Scratch(Path(folder)), told, sorted(every))
        found.summarise()
        selection, stats = found.keep()
        run, new = found.write(desk, selection, stats, patterns)
        notes = (import_human(desk, run),) if options.import_labels else ()
        return Archived(run, new, len(found.names), tuple(found.bad.values()), stats, notes)


@dataclass(slots=True)
class _Reading:
    """The parts of an archive that were read so far; ``names`` are the names of the good parts."""

    crew: Crew
    reading: Reading
    scratch: Scratch
    told: Told
    addresses: list[str]
    names: dict[int, str] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)

    def summary(self, part: int) -> PartSummary:
        return self.scratch.get(part, PartSummary)

    def summarise(self) -> None:
        """Read every part for the first time, and leave out those with other defaults."""
        addresses = self.addresses
        count = 0
        named = part_names(addresses)
        done = self.crew.run(partial(summary, self.reading), addresses)
        for number, (part, found) in enumerate(done, start=1):
            if isinstance(found, Lost):
                self._leave_out(part, found.reason)
            else:
                count += found.stats.counts.verdicts
                self.scratch.put(part, found)
                self.names[part] = named[part]
            self.told(_SUMMARIES * number / len(addresses), count)
        self.names = dict(sorted(self.names.items()))
        first: tuple[int, list[object]] | None = None
        for part in list(self.names):
            header = self.summary(part).header
            rule = [header.get("defaults") or {}, header.get("generator") or {}]
            first = first or (part, rule)
            if rule != first[1]:
                reason = (
                    f"its defaults or its generator are not those of {addresses[first[0]]}. "
                    "Archive such parts apart."
                )
                self._leave_out(part, reason)

    def _leave_out(self, part: int, reason: str) -> None:
        address = self.addresses[part]
        self.bad[part] = reason if reason.startswith(address) else f"{address}: {reason}"
        self.names.pop(part, None)

    def keep(self) -> tuple[Selection, Stats]:
        """Read the parts again for the kept data; draw anew without one that cannot be read."""
        options = self.reading.options
        share = AUDIT_SHARE if options.audit_share is None else options.audit_share
        while self.names:
            stats = Stats()
            for part in self.names:
                stats = stats.merge(self.summary(part).stats)
            stated = stats.counts.stated_escalation
            chosen = select(self.scratch, self.names, self.seed(), share, stated=stated)
            items = []
            for part, name in self.names.items():
                one = self.summary(part)
                kept = frozenset(chosen.kept[part])
                file = self.addresses[part], name, one.sha256, one.streamed
                items.append(KeptPart(*file, kept, kept & chosen.renamed[part]))
            parts = list(self.names)
            task = partial(kept_verdicts, self.reading, self.hash())
            for ended, (place, found) in enumerate(self.crew.run(task, items), start=1):
                if isinstance(found, Lost):
                    self._leave_out(parts[place], found.reason)
                else:
                    self.scratch.put(parts[place], found)
                self.told(_SUMMARIES + _KEPT * ended / len(parts), stats.counts.verdicts)
            if len(self.names) == len(parts):
                return chosen, stats
        some = next(iter(self.bad.values()))
        raise UsageError(f"no part can be read; the first: {some}", "Fix them.")

    def seed(self) -> str:
        if self.reading.options.seed:
            return self.reading.options.seed
        seeds = sorted(self.summary(part).contents for part in self.names)
        return hashlib.sha256("".join(seeds).encode()).hexdigest()

    def hash(self) -> str:
        return json_sha256(["archive", self.files(), self.reading.options.identity()])

    def files(self) -> list[list[str]]:
        return [[name, self.summary(part).sha256] for part, name in self.names.items()]

    def write(
        self, desk: OpenFile, selection: Selection, stats: Stats, patterns: Sequence[str]
    ) -> tuple[Run, bool]:
        """Write the archive as a run, unless it is there; return the run and whether it is new."""
        refuse_read_only(desk.conn, "so no archive can be written")
        run_hash = self.hash()
        known = runs.by_hash(desk.conn, run_hash)
        if known is not None:
            return known, False
        header: dict[str, Any] | None = None
        formats = set()
        notes: list[str] = []
        skipped = 0
        for part, name in self.names.items():
            one = self.summary(part)
            formats.add(one.format)
            header = one.header if header is None else {
                key: value
                for key, value in header.items()
                if key in one.header and one.header[key] == value
            }  # fmt: skip
            skipped += one.skipped
            notes += [f"{name}: {note}" for note in one.notes]
        more = len(notes) - _MOST_NOTES
        new = NewRun(
            hash=run_hash,
            file=archive_source(patterns, len(self.names)),
            file_hash=json_sha256(self.files()),
            format=formats.pop() if len(formats) == 1 else MIXED,
            options=self.reading.options.identity(),
            loaded_at=desk.at(),
            header=header or {},
            seed=self.seed(),
            audit_share=ALL,
            name=archive_name(patterns),
        )
        notes[_MOST_NOTES:] = [f"and {more:,} notes more"] if more > 0 else []
        notes += [f"left out a part: {reason}" for reason in self.bad.values()]

        def progress(share: float, _count: int) -> bool:
            self.told(0.9 + 0.1 * share, stats.counts.verdicts)
            return True

        read = partial(self._read, new, selection, stats, notes, skipped)
        # The remains of another archive are never continued: its parts may have been different.
        return write_new(desk, new, secrets.token_hex(8), read, progress)

    def _read(
        self, new: NewRun, chosen: Selection, stats: Stats, notes: list[str], skipped: int,
        ingest: Ingest,
    ) -> ReadReport:  # fmt: skip
        joined = draw.JoinedWindows()
        strata = array("b")
        for number, part in enumerate(self.names):
            kept = self.scratch.get(part, KeptVerdicts)
            for window in kept.windows:
                made = joined.add(window, kept.names, kept.quorums)
                ingest.keep(made, number / len(self.names))
            strata.extend(h for _, h in sorted(chosen.kept[part].items()))
        counts = stats.counts
        flags = final_flags(joined.flags, stated=counts.stated_escalation)
        seed = self.seed()
        drawn, columns = ingest.draw(flags, strata, seed, ALL)

        def scores() -> Iterator[Floats]:
            for part in self.names:
                found = self.summary(part)
                yield score_units(
                    PackedRun({"seated": found.seated, "scores": found.scores}, (), ())
                )

        known = joined.known
        measures = run_measures(known.names, known.quorums, scores, stats.alpha, stats.votes)
        parts = plural(len(self.names), "part")
        held = f"an archive of {parts}, of which the desk keeps the flagged"
        about = f"{held} verdicts and the random check: {joined.verdicts:,} of {counts.verdicts:,}"
        return ReadReport(
            new=new,
            counts=counts,
            measures=measures,
            drawn=replace(
                drawn,
                sizes=dict(chosen.sizes),
                audited=dict(chosen.audited),
                decided=dict(chosen.decided),
            ),
            columns=columns,
            seed=seed,
            notes=with_undecided([about, *notes], counts),
            skipped=skipped,
            archive=json.encode(stats).decode(),
        )


_SUFFIXES = re.compile(r"(\.(jsonl?|ndjson|parquet|pq|gz))+$", re.IGNORECASE)


def part_names(addresses: Sequence[str]) -> list[str]:
    """Return a name for each address: the file's stem, with as many folders as make it unique."""
    stems = [_SUFFIXES.sub("", one).replace("\\", "/").split("/") for one in addresses]
    names = ["/".join(one[-1:]) for one in stems]
    for depth in range(2, max(map(len, stems), default=0) + 1):
        taken = Counter(names)
        if max(taken.values()) == 1:
            break
        names = [
            "/".join(stem[-depth:]) if taken[name] > 1 else name
            for stem, name in zip(stems, names, strict=True)
        ]
    taken = Counter(names)
    # Two files of one folder may differ in their suffixes alone.
    return [one if taken[name] > 1 else name for one, name in zip(addresses, names, strict=True)]


def archive_name(patterns: Sequence[str]) -> str:
    *folders, file = patterns[0].replace("\\", "/").split("/")
    named = [one for one in folders if one and not has_magic(one) and not one.endswith(":")]
    if not has_magic(file):
        return _SUFFIXES.sub("", file)
    return named[-1] if named else "archive"


def archive_source(patterns: Sequence[str], parts: int) -> str:
    more = f" and {len(patterns) - 2:,} more" * (len(patterns) > 2)
    return f"{plural(parts, 'part')} of {', '.join(patterns[:2])}{more}"
