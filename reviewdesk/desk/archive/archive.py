"""Read many report parts where there is room, and write them as one run of a small desk.

The first reading makes statistics of each part. Their sum says what the draw depends on; the second
reading fetches the verdicts that the desk keeps. The facts of a part are kept under its number,
and a part counts once, even if workers read it several times.
"""

import hashlib
import re
import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.archive.parts import (
    KeptPart,
    KeptVerdicts,
    PartSummary,
    Reading,
    Scratch,
    Selection,
    default_reading,
    kept_verdicts,
    select,
    summary,
)
from reviewdesk.desk.labels.transfer import import_human
from reviewdesk.desk.loading import LoadOptions, write_new
from reviewdesk.desk.open_file import OpenFile
from reviewdesk.domain.archive import JoinedWindows
from reviewdesk.domain.labels.sampling import AUDIT_SHARE
from reviewdesk.domain.records import Run
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.run.columns import score_units
from reviewdesk.domain.run.packing import PackedRun
from reviewdesk.domain.run.stats import Stats, run_measures
from reviewdesk.domain.run.window import final_flags
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import UsageError
from reviewdesk.scale.addresses import expand, refuse_keys
from reviewdesk.scale.crew import Crew, Lost, crew
from reviewdesk.store import runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport, with_undecided
from reviewdesk.views.words import plural

Told = Callable[[float, int], object]
"""Takes the share of the work that is done and the number of verdicts read."""
ALL = 1.0
"""The audit share of the kept verdicts: all that are not flagged are the audit."""
_MOST_NOTES = 20
MIXED = "archive"
"""The format of an archive whose parts have several formats."""
_SUMMARIES = 0.6
_KEPT = 0.3
"""The shares of the work that the two readings take."""


workers_at = crew
"""Connects to the workers of a scheduler, or starts some on this machine."""


def put_together(
    desk: OpenFile,
    patterns: Sequence[str],
    options: LoadOptions,
    crew: Crew,
    *,
    max_size: int | None = None,
    told: Told = lambda _share, _count: None,
) -> Archived:
    """Combine the parts that patterns match into a run of the desk; leave out bad parts.

    Raise UsageError if no part can be read, or a pattern matches no part.
    """
    for pattern in patterns:
        refuse_keys(pattern)
    every: set[str] = set()
    for place, some in crew.run(expand, patterns):
        if isinstance(some, Lost):
            raise UsageError(f"{patterns[place]}: {some.reason}", "Check the address.")
        if not some:
            raise UsageError(f"{patterns[place]}: no file matches this", "Check the pattern.")
        every.update(some)
    reading = Reading(options, default_reading().max_size if max_size is None else max_size)
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
        """Read the parts again for the kept data; return it, and the statistics of all parts.

        If a part can be read once and not twice, everything is drawn again without it.
        """
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
                renamed = chosen.renamed.get(part, b"")
                address = self.addresses[part]
                items.append(
                    KeptPart(address, name, one.sha256, one.streamed, chosen.kept[part], renamed)
                )
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
        """Return the seed that was given, else the sha256 over the parts' own seeds, sorted."""
        if self.reading.options.seed:
            return self.reading.options.seed
        seeds = sorted(self.summary(part).contents for part in self.names)
        return hashlib.sha256("".join(seeds).encode()).hexdigest()

    def hash(self) -> str:
        """Return the hash of the run, made from the contents of its parts and how they are read."""
        return hashlib.sha256(
            canonical_json(["archive", self.files(), self.reading.options.identity()])
        ).hexdigest()

    def files(self) -> list[list[str]]:
        """Return name and sha256 of each part."""
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
            file_hash=hashlib.sha256(canonical_json(self.files())).hexdigest(),
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

        def read(ingest: Ingest) -> ReadReport:
            return self._read(ingest, new, selection, stats, notes, skipped)

        # The remains of another archive are never continued: its parts may have been different.
        return write_new(desk, new, secrets.token_hex(8), read, progress)

    def _read(
        self, ingest: Ingest, new: NewRun, chosen: Selection, stats: Stats, notes: list[str],
        skipped: int,
    ) -> ReadReport:  # fmt: skip
        joined = JoinedWindows()
        strata = array("b")
        for number, part in enumerate(self.names):
            kept = self.scratch.get(part, KeptVerdicts)
            for window in kept.windows:
                made = joined.add(window, kept.names, kept.quorums)
                ingest.keep(made, number / len(self.names))
            strata.frombytes(chosen.strata[part])
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
        held = (
            f"an archive of {plural(len(self.names), 'part')}, of which the desk keeps the flagged"
        )
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
            archive=stats.as_json(),
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
    """Return a name for an archive: the last folder that its first pattern names."""
    *folders, file = patterns[0].replace("\\", "/").split("/")
    named = [one for one in folders if one and not has_magic(one) and not one.endswith(":")]
    if not has_magic(file):
        return _SUFFIXES.sub("", file)
    return named[-1] if named else "archive"


def archive_source(patterns: Sequence[str], parts: int) -> str:
    """Return the source of an archive: the number of parts, and the patterns that named them.

    A shell may have turned one pattern into thousands of addresses; two of them are named.
    """
    where = ", ".join(patterns[:2])
    more = len(patterns) - 2
    if more > 0:
        where += f" and {more:,} more"
    return f"{parts:,} part{'' if parts == 1 else 's'} of {where}"
