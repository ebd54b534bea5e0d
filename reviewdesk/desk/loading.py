"""Load a report file as a run: open a known run, or write a new one that is hidden at first."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import monotonic, sleep
from typing import Any

from msgspec import field

from reviewdesk.desk.labels.transfer import import_human
from reviewdesk.desk.protocol import OpenFile
from reviewdesk.domain.labels.sampling import AUDIT_SHARE
from reviewdesk.domain.records import Loaded, Run
from reviewdesk.domain.verdict import canonical_json, json_sha256
from reviewdesk.errors import Cancelled, DeskError, ReportError, UsageError
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report
from reviewdesk.store import measures, runs
from reviewdesk.store.connect import refuse_read_only, writing
from reviewdesk.store.load import hidden_runs
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport, show
from reviewdesk.version import __version__

ProgressCall = Callable[[float, int], bool]
"""Takes the share of the file read and the verdicts so far; returning ``False`` cancels."""


_LOOK = 0.1
"""Seconds between two checks of a load in another process."""
_STILL = 60.0
"""Seconds within which such a load must make progress."""


class LoadOptions(ReadOptions, frozen=True, kw_only=True):
    """How to read a report. The policy fields fill in only what the file does not state.

    ``audit_share`` is the share of unflagged verdicts that a new run mixes into its queue.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    seed: str | None = None
    threshold: float | None = None
    quorum: float | str | None = None
    strategy: str | None = None
    import_labels: bool = False
    audit_share: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError as ``ReadOptions``, and unless ``audit_share`` lies between 0 and 1."""
        super().__post_init__()
        if self.audit_share is not None and not 0 <= self.audit_share <= 1:
            raise UsageError(
                f"random check share: {self.audit_share:g} is not a share",
                "Give a number from 0 to 1.",
            )

    def identity(self) -> dict[str, Any]:
        policy = {name: getattr(self, name) for name in ("threshold", "quorum", "strategy")}
        given = {name: value for name, value in policy.items() if value is not None}
        return self.given() | given


def load(
    desk: OpenFile, source: Source, options: LoadOptions, progress: ProgressCall | None
) -> Loaded:
    """Load a report, read once unless that may cause an error, or open its run if it is loaded."""
    if not options.skip_bad:  # its notes say how many verdicts there are
        with suppress(ReportError):
            return _load(desk, source, read(source, options, streamed=True), options, progress)
    return _load(desk, source, read(source, options), options, progress)


def _load(
    desk: OpenFile,
    source: Source,
    report: Report,
    options: LoadOptions,
    progress: ProgressCall | None,
) -> Loaded:
    from reviewdesk.domain.run.window import SIZE

    file_hash = source.sha256()
    # A file whose name is not UTF-8 can be opened, but its name can be neither stored nor printed.
    file = source.name.encode(errors="backslashreplace").decode()
    run_hash = json_sha256([file_hash, report.format, options.identity()])
    known = runs.by_hash(desk.conn, run_hash)
    if known is not None:
        return _open_known(desk, known, options)
    refuse_read_only(desk.conn, "so no report can be loaded")
    new = NewRun(
        hash=run_hash,
        file=file,
        file_hash=file_hash,
        format=report.format,
        options=options.identity(),
        loaded_at=desk.at(),
        header=report.header,
        seed=options.seed,
        audit_share=AUDIT_SHARE if options.audit_share is None else options.audit_share,
        by_verdict=runs.was_drawn_by_verdict(desk.conn, run_hash),
    )
    notes: list[str] = []

    def read(ingest: Ingest) -> ReadReport:
        made = ingest.read(
            report.written(),
            lambda: min(1.0, report.position / source.size) if source.size else 1.0,
            lambda: (list(report.notes), report.skipped),
        )
        twins = (one for one in runs.all_runs(desk.conn) if one.file_hash == new.file_hash)
        if first := next(twins, None):
            same = f"the same file is loaded as {first.name} with other options"
            notes.append(f"{same}; this is a new run")
        if not report.responses and options.texts is None:
            notes.append("no responses: add --texts FILE, a table with id and output")
        return made

    # A load that was cut off is continued only if it would be read in the same windows.
    made = canonical_json([__version__, SIZE, new.seed, new.audit_share]).decode()
    run, is_new = write_new(desk, new, made, read, progress)
    if not is_new:
        return _open_known(desk, run, options)
    return _load_result(desk, run, options, notes, new=True)


def write_new(
    desk: OpenFile,
    new: NewRun,
    made: str,
    read: Callable[[Ingest], ReadReport],
    progress: ProgressCall | None,
    accept: Callable[[Run], object] = lambda _run: None,
) -> tuple[Run, bool]:
    """Write a new run while hidden and show it; return False with it if another process did that.

    One that a load left unfinished is continued if ``made`` from the same, else deleted; ``accept``
    may raise to refuse the run before anybody sees it.
    """
    hidden_runs.sweep_left(desk.conn, new.hash, made)
    while (hidden := hidden_runs.claim(desk.conn, new.hash, new.file, made)) is None:
        # Another process loads the same bytes.
        last = None
        since = monotonic()
        while (other := hidden_runs.of_hash(desk.conn, new.hash)) is not None and other.held:
            _told(progress, other.share, other.bodies)
            if (now := (other.bodies, other.rows)) != last:
                last = now
                since = monotonic()
            if monotonic() - since > _STILL:
                raise DeskError(
                    f"{other.file}: process {other.pid} loads it without progress for 60 s",
                    "End that process, and load it again.",
                )
            sleep(_LOOK)
        # The other load is complete, was cancelled, or has died.
        if (known := runs.by_hash(desk.conn, new.hash)) is not None:
            return known, False
    with garbage_waits(), hidden_runs.holding(desk.conn, hidden) as hold, ExitStack() as whole:
        ingest = Ingest(hold, new, partial(_told, progress), whole)
        found = read(ingest)
        ingest.write_rows(found)
        with hold.step(hashed=True):
            run = runs.by_key(desk.conn, show(hold, ingest, found, desk.at()))
            accept(run)
            return run, True


@contextmanager
def garbage_waits() -> Iterator[None]:
    """Pause the collection of cycles: a window leaves none, and would be scanned often."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _told(progress: ProgressCall | None, share: float, count: int) -> None:
    if progress is not None and not progress(share, count):
        raise Cancelled("loading was cancelled; nothing was kept")


def _open_known(desk: OpenFile, known: Run, options: LoadOptions) -> Loaded:
    """Open a run that is loaded already; raise UsageError if the options name another seed."""
    if options.seed is not None and options.seed != known.seed:
        raise UsageError(
            f"{known.name} is drawn with seed {known.seed}, and a draw is never repeated",
            "Leave out --seed.",
        )
    if not desk.read_only:
        with writing(desk.conn):
            runs.touch(desk.conn, known.key, desk.at())
    return _load_result(desk, known, options, (), new=False)


def _load_result(
    desk: OpenFile, run: Run, options: LoadOptions, notes: Iterable[str], *, new: bool
) -> Loaded:
    """Count the unknown ballots; this reads the whole run, so it holds no lock."""
    taken = (import_human(desk, run),) if options.import_labels else ()
    unknown = measures.unknown_ballots(desk.conn, run.key).get(run.key, 0)
    return Loaded(run, new, (*notes, *taken), unknown)
