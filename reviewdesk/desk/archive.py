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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from glob import has_magic
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from reviewdesk.desk.labels.transfer import import_human
from reviewdesk.desk.loading import LoadOptions, garbage_waits, write_new
from reviewdesk.desk.protocol import OpenFile
from reviewdesk.domain.labels.draw import Draw, asked, draw, repeated
from reviewdesk.domain.labels.sampling import AUDIT_SHARE
from reviewdesk.domain.records import Run
from reviewdesk.domain.report_model import Written, json_of, verdict_model
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.run.columns import score_units
from reviewdesk.domain.run.packing import PackedRun
from reviewdesk.domain.run.stats import WINDOWS, Stats, run_measures, window_stats
from reviewdesk.domain.run.window import Counts, WindowReader
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


class KeptPart(Struct, frozen=True):
    """Which verdicts of a part are kept, by place in its file, and under which ids."""

    address: str
    name: str
    sha256: str
    streamed: bool
    kept: frozenset[int]
    renamed: frozenset[int]
    """Those whose ids occur in other parts too; their ids become ``NAME:ID``."""


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
    outputless: frozenset[int]
    """The places of the verdicts without an output, whose content no other verdict shares."""
    sides: bytes
    """The stratum of each verdict by itself, if recomputed escalations are ignored."""
    strata: bytes
    """The stratum of each verdict by itself, as in a report that holds this part alone."""
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


def kept_verdicts(reading: Reading, part: KeptPart) -> list[bytes] | Lost:
    """Read a part again and return the JSON of the verdicts that are kept."""
    try:
        with opened(part.address, reading) as source:
            if source.sha256() != part.sha256:
                raise ReportError(
                    part.address, "", "was changed while it was being read", "Start again."
                )
            written = read(source, reading.options, streamed=part.streamed).written()
            return [
                json_of({**stored_body(text), "id": f"{part.name}:{verdict.id}"})
                if place in part.renamed
                else text
                for place, (verdict, text) in enumerate(written)
                if place in part.kept
            ]
    except ReviewDeskError as error:
        return Lost(str(error))


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
    windows = reader.windows(report.written())
    stats = Stats()
    ids = list[str]()
    seated = bytearray()
    scores = bytearray()
    digests = bytearray()
    outputless = set[int]()
    while some := list(islice(windows, WINDOWS)):
        stats = stats.merge(window_stats(reader, some))
        for window in some:
            ids += window.columns["id"]
            digests += b"".join(window.contents)
            outputless.update(window.first + at for at in window.outputless)
            seated += window.packed["seated"]
            scores += window.packed["scores"]
    tally = reader.tally
    return PartSummary(
        stats=replace(stats, counts=Counts().merge(tally)),
        header=report.header,
        sha256=source.sha256(),
        contents=tally.contents.hexdigest(),
        format=report.format,
        notes=tuple(report.notes),
        skipped=report.skipped,
        ids=tuple(ids),
        digests=bytes(digests),
        outputless=frozenset(outputless),
        sides=tally.sides.tobytes(),
        strata=tally.strata().tobytes(),
        seated=bytes(seated),
        streamed=streamed,
        scores=bytes(scores),
    )


# All parts

_DIGEST = 32
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
        found = _Parts(crew, reading, Path(folder), told, sorted(every))
        found.summarise()
        stats, drawn = found.keep()
        run, new = found.write(desk, drawn, stats, patterns)
        notes = (import_human(desk, run),) if options.import_labels else ()
        return Archived(run, new, len(found.names), tuple(found.bad.values()), stats, notes)


@dataclass(slots=True)
class _Parts:
    """The parts of an archive, by number; ``names`` are those of the good ones that were read.

    What was read of a part waits in two files of ``folder``: its summary and its kept verdicts.
    """

    crew: Crew
    reading: Reading
    folder: Path
    told: Told
    addresses: list[str]
    names: dict[int, str] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)

    def _put(self, part: int, kind: str, found: PartSummary | list[bytes]) -> None:
        (self.folder / f"{part}.{kind}").write_bytes(pickle.dumps(found))

    def _get(self, part: int, kind: str) -> Any:
        return pickle.loads((self.folder / f"{part}.{kind}").read_bytes())  # noqa: S301 - by ours

    def summaries(self) -> Iterator[PartSummary]:
        """Yield the facts of each good part, of which one is in memory at a time."""
        for part in list(self.names):
            yield self._get(part, "summary")

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
                self._put(part, "summary", found)
                self.names[part] = named[part]
            self.told(_SUMMARIES * number / len(addresses), count)
        self.names = dict(sorted(self.names.items()))
        first: tuple[int, list[object]] | None = None
        for part, one in zip(list(self.names), self.summaries(), strict=False):
            rule = [one.header.get("defaults") or {}, one.header.get("generator") or {}]
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

    def keep(self) -> tuple[Stats, Draw]:
        """Read the parts again for the kept data; draw anew without one that cannot be read."""
        while self.names:
            stats = reduce(Stats.merge, (one.stats for one in self.summaries()))
            renamed = repeated(one.ids for one in self.summaries())
            drawn = self._drawn(renamed, stated=stats.counts.stated_escalation)
            kept = asked(drawn, (len(one.ids) for one in self.summaries()))
            parts = list(self.names)
            items = [
                KeptPart(
                    self.addresses[part], self.names[part], one.sha256, one.streamed, mine,
                    mine & again,
                )
                for part, one, mine, again in zip(
                    parts, self.summaries(), kept, renamed, strict=True
                )
            ]  # fmt: skip
            done = self.crew.run(partial(kept_verdicts, self.reading), items)
            for ended, (place, found) in enumerate(done, start=1):
                if isinstance(found, Lost):
                    self._leave_out(parts[place], found.reason)
                else:
                    self._put(parts[place], "kept", found)
                self.told(_SUMMARIES + _KEPT * ended / len(parts), stats.counts.verdicts)
            if len(self.names) == len(parts):
                return stats, drawn
        some = next(iter(self.bad.values()))
        raise UsageError(f"no part can be read; the first: {some}", "Fix them.")

    def _drawn(self, renamed: Sequence[frozenset[int]], *, stated: bool) -> Draw:
        """Draw the contents of all parts as if one report held them."""
        options = self.reading.options
        share = AUDIT_SHARE if options.audit_share is None else options.audit_share
        # Recomputed escalations count unless the report states any.
        strata = b"".join(one.sides if stated else one.strata for one in self.summaries())

        def names() -> Iterator[str]:
            for name, one, again in zip(
                self.names.values(), self.summaries(), renamed, strict=True
            ):
                for at, own in enumerate(one.ids):
                    known = f"{name}:{own}" if at in again else own
                    content = one.digests[_DIGEST * at : _DIGEST * (at + 1)]
                    yield drawn_name(content, known if at in one.outputless else None)

        return draw(names(), array("b", strata), self.seed(), share)

    def seed(self) -> str:
        if self.reading.options.seed:
            return self.reading.options.seed
        seeds = sorted(one.contents for one in self.summaries())
        return hashlib.sha256("".join(seeds).encode()).hexdigest()

    def write(
        self, desk: OpenFile, drawn: Draw, stats: Stats, patterns: Sequence[str]
    ) -> tuple[Run, bool]:
        """Write the archive as a run, unless it is there; return the run and whether it is new."""
        refuse_read_only(desk.conn, "so no archive can be written")
        files: list[list[str]] = []
        headers: list[dict[str, Any]] = []
        formats = set()
        notes: list[str] = []
        skipped = 0
        for name, one in zip(self.names.values(), self.summaries(), strict=True):
            files.append([name, one.sha256])
            headers.append(one.header)
            formats.add(one.format)
            skipped += one.skipped
            notes += [f"{name}: {note}" for note in one.notes]
        identity = self.reading.options.identity()
        run_hash = json_sha256(["archive", files, identity])
        known = runs.by_hash(desk.conn, run_hash)
        if known is not None:
            return known, False
        more = len(notes) - _MOST_NOTES
        notes[_MOST_NOTES:] = [f"and {more:,} notes more"] if more > 0 else []
        notes += [f"left out a part: {reason}" for reason in self.bad.values()]
        new = NewRun(
            hash=run_hash,
            file=archive_source(patterns, len(files)),
            file_hash=json_sha256(files),
            format=formats.pop() if len(formats) == 1 else MIXED,
            options=identity,
            loaded_at=desk.at(),
            header={
                key: value
                for key, value in headers[0].items()
                if all(key in one and one[key] == value for one in headers)
            },
            seed=self.seed(),
            audit_share=ALL,
            name=archive_name(patterns),
        )

        def progress(share: float, _count: int) -> bool:
            self.told(0.9 + 0.1 * share, stats.counts.verdicts)
            return True

        read = partial(self._read, new, drawn, stats, notes, skipped)
        # The remains of another archive are never continued: its parts may have been different.
        return write_new(desk, new, secrets.token_hex(8), read, progress)

    def _written(self) -> Iterator[Written]:
        for part in self.names:
            for text in self._get(part, "kept"):
                yield verdict_model(text), text

    def _read(
        self, new: NewRun, whole: Draw, stats: Stats, notes: list[str], skipped: int,
        ingest: Ingest,
    ) -> ReadReport:  # fmt: skip
        counts = stats.counts
        reader = WindowReader(new.header, new.options, new.hash)
        for window in reader.windows(self._written()):
            ingest.keep(window, window.first / counts.verdicts)
        tally = reader.tally
        # What decides the flags may stand in verdicts that are not kept.
        tally.stated_escalation = counts.stated_escalation
        seed = self.seed()
        drawn, columns = ingest.draw(tally.final_flags(), tally.strata(), seed, ALL)

        def scores() -> Iterator[Floats]:
            for one in self.summaries():
                yield score_units(PackedRun({"seated": one.seated, "scores": one.scores}, (), ()))

        known = reader.known
        measures = run_measures(known.names, known.quorums, scores, stats.alpha, stats.votes)
        parts = plural(len(self.names), "part")
        held = f"an archive of {parts}, of which the desk keeps the flagged"
        about = f"{held} verdicts and the random check: {tally.verdicts:,} of {counts.verdicts:,}"
        return ReadReport(
            new=new,
            counts=counts,
            measures=measures,
            drawn=replace(drawn, sizes=whole.sizes, audited=whole.audited, decided=whole.decided),
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
