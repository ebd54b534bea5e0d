"""Read many report parts where there is room, and write them as one run of a small desk.

The first reading makes statistics of each part. Their sum says what the draw depends on; the second
reading fetches the verdicts that the desk keeps. What is known of a part is kept under its number,
and a part counts once, however often a worker had to read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reviewdesk.desk.archive import write
from reviewdesk.desk.archive.common import Common
from reviewdesk.desk.archive.kept import KeptPart, KeptPiece, KeptTask
from reviewdesk.desk.archive.names import archive_name, archive_source, part_names
from reviewdesk.desk.archive.parts import (
    BadPart,
    PartSummary,
    Reading,
    SummaryTask,
    default_reading,
)
from reviewdesk.desk.archive.scratch import Scratch
from reviewdesk.desk.archive.selection import Selection, select
from reviewdesk.desk.archive.write import WholeArchive
from reviewdesk.desk.labels.batches import import_human
from reviewdesk.domain.archive.result import Archived
from reviewdesk.domain.content import canonical_json
from reviewdesk.domain.labels.sampling import AUDIT_SHARE
from reviewdesk.errors import UsageError
from reviewdesk.scale.addresses import expand, refuse_keys
from reviewdesk.scale.crew import Crew, Lost, Step, crew

if TYPE_CHECKING:
    from reviewdesk.desk.loading import LoadOptions
    from reviewdesk.desk.open_file import OpenFile
    from reviewdesk.domain.run.stats import Stats

Told = Callable[[float, int], object]
"""Takes the share of the work that is done and the number of verdicts read."""
_SUMMARIES, _KEPT = 0.6, 0.3
"""The shares of the work that the two readings are."""


@contextmanager
def workers_at(scheduler: str | None, workers: int | None = None) -> Iterator[Crew]:
    """Connect to the workers of a scheduler, or start ``workers`` on this machine.

    Raises:
        UsageError: the extra is not installed, or no scheduler answers.
    """
    with crew(scheduler, workers) as found:
        yield found


def put_together(
    desk: OpenFile,
    patterns: Sequence[str],
    options: LoadOptions,
    crew: Crew,
    *,
    max_size: int | None = None,
    told: Told = lambda _share, _count: None,
) -> Archived:
    """Put the parts that patterns name together as a run of the desk; bad ones are left out.

    Raises:
        UsageError: no part can be read, or a pattern names none.
    """
    for pattern in patterns:
        refuse_keys(pattern)
    reading = Reading(options, default_reading().max_size if max_size is None else max_size)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        found = _Reading(crew, reading, Scratch(Path(folder)), told)
        found.summarise(_addresses(crew, patterns))
        while (selection := found.keep()) is None:
            pass  # a part could be read once and not twice: everything is drawn again without it
        whole = found.whole(selection, patterns)
        run, new = write.write_archive(desk, whole, told)
        notes = (import_human(desk, run),) if options.import_labels else ()
        return Archived(run, new, len(found.names), tuple(found.bad.values()), whole.stats, notes)


def _addresses(crew: Crew, patterns: Sequence[str]) -> list[str]:
    """Return every address that the patterns name once, in order."""
    every: set[str] = set()
    for place, found, _ in crew.run(_expanded, patterns):
        if isinstance(found, Lost):
            raise UsageError(f"{patterns[place]}: {found.reason}", "Check the address.")
        if not found:
            raise UsageError(f"{patterns[place]}: no file fits this pattern", "Check the pattern.")
        every.update(found)
    return sorted(every)


def _expanded(pattern: str, _start: int) -> Step[list[str]]:
    return Step(expand(pattern))


@dataclass(slots=True)
class _Reading:
    """The parts of an archive as far as they are read; ``names`` are those of the good ones."""

    crew: Crew
    reading: Reading
    scratch: Scratch
    told: Told
    addresses: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)

    def summarise(self, addresses: list[str]) -> None:
        """Read every part for the first time."""
        self.addresses, count = addresses, 0
        named = part_names(addresses)
        done = self.crew.run(SummaryTask(self.reading), addresses)
        for number, (part, found, _) in enumerate(done, start=1):
            if isinstance(found, PartSummary):
                count += found.stats.counts.verdicts
                self.scratch.put_summary(part, found)
                self.names[part] = named[part]
            else:
                self._leave_out(part, found)
            self.told(_SUMMARIES * number / len(addresses), count)
        self.names = dict(sorted(self.names.items()))
        self._agree()

    def _agree(self) -> None:
        """Leave out the parts whose defaults are not those of the first."""
        first: PartSummary | None = None
        for part in list(self.names):
            found = self.scratch.summary(part)
            if first is None:
                first, start = found, self.addresses[part]
            elif _rule(found.header) != _rule(first.header):
                reason = (
                    f"{self.addresses[part]}: its defaults or its generator are not those of "
                    f"{start}. Archive such parts apart."
                )
                self._leave_out(part, BadPart(reason))

    def _leave_out(self, part: int, found: BadPart | Lost) -> None:
        text = (
            f"{self.addresses[part]}: {found.reason}" if isinstance(found, Lost) else found.reason
        )
        self.bad[part] = text
        self.names.pop(part, None)
        self.scratch.drop(part)

    def stats(self) -> Stats:
        """Return the statistics of all parts, merged in the order of their names."""
        from reviewdesk.domain.run.stats import Stats

        made = Stats()
        for part in self.names:
            made = made.merge(self.scratch.summary(part).stats)
        return made

    def keep(self) -> Selection | None:
        """Read the parts again for what is kept; ``None`` if one cannot be read any more."""
        if not self.names:
            some = next(iter(self.bad.values()))
            raise UsageError(f"no part can be read; the first: {some}", "Mend them.")
        stats, options = self.stats(), self.reading.options
        share = AUDIT_SHARE if options.audit_share is None else options.audit_share
        stated = stats.counts.stated_escalation
        selection = select(self.scratch, self.names, self.seed(), share, stated=stated)
        parts = list(self.names)
        items = [self._kept_part(part, selection) for part in parts]
        ended = 0
        for place, found, last in self.crew.run(KeptTask(self.reading, self.hash()), items):
            if isinstance(found, KeptPiece):
                self.scratch.put_piece(parts[place], found)
            else:
                self._leave_out(parts[place], found)
            ended += last
            self.told(_SUMMARIES + _KEPT * ended / len(parts), stats.counts.verdicts)
        if len(self.names) == len(parts):
            return selection
        for part in parts:
            self.scratch.drop_pieces(part)
        return None

    def _kept_part(self, part: int, selection: Selection) -> KeptPart:
        summary = self.scratch.summary(part)
        return KeptPart(
            self.addresses[part], self.names[part], summary.sha256, summary.streamed,
            selection.kept[part], selection.renamed.get(part, b""),
        )  # fmt: skip

    def seed(self) -> str:
        """Return the seed that was given, else the sha256 over the parts' own seeds, sorted."""
        if self.reading.options.seed:
            return self.reading.options.seed
        seeds = sorted(self.scratch.summary(part).contents for part in self.names)
        return hashlib.sha256("".join(seeds).encode()).hexdigest()

    def hash(self) -> str:
        """Return the hash of the run: of what its parts hold and how they are read."""
        return hashlib.sha256(
            canonical_json(["archive", self.files(), self.reading.options.identity()])
        ).hexdigest()

    def files(self) -> list[list[str]]:
        """Return name and sha256 of each part."""
        return [[name, self.scratch.summary(part).sha256] for part, name in self.names.items()]

    def whole(self, selection: Selection, patterns: Sequence[str]) -> WholeArchive:
        """Return everything that is to be written."""
        common = Common()
        for part, name in self.names.items():
            common.add(name, self.scratch.summary(part))
        return WholeArchive(
            hash=self.hash(),
            name=archive_name(patterns),
            file=archive_source(patterns, len(self.names)),
            file_hash=hashlib.sha256(canonical_json(self.files())).hexdigest(),
            format=common.format,
            header=common.header,
            seed=self.seed(),
            options=self.reading.options,
            parts=tuple(self.names),
            stats=self.stats(),
            selection=selection,
            scratch=self.scratch,
            notes=[
                *common.notes(),
                *(f"left out a part: {reason}" for reason in self.bad.values()),
            ],
            skipped=common.skipped,
        )


def _rule(header: Mapping[str, object]) -> list[object]:
    """Return what the header of a report says of the rule of its verdicts."""
    return [header.get("defaults") or {}, header.get("generator") or {}]
