"""The library: a desk, its runs and their figures, for notebooks and scripts.

Each result has the shape of a command's ``--json``, and a notebook shows the document that the
command prints. Lists read what is looked at, a page at a time.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from itertools import groupby
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any, Self, TypeVar, Unpack, overload
from weakref import finalize

from msgspec import to_builtins

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk, existing
from reviewdesk.desk.export.report import diagram_of
from reviewdesk.desk.figures.calibration import bias_probes, calibration_page, segments
from reviewdesk.desk.figures.jurors import jurors_page, run_rows
from reviewdesk.desk.figures.whatif import variants_of, what_if, what_if_item
from reviewdesk.desk.labels.transfer import list_labels
from reviewdesk.desk.options import OpenOptions, load_options, size_of
from reviewdesk.desk.review.filters import ready
from reviewdesk.desk.review.items import assessed, ballot_ends, with_reruns
from reviewdesk.desk.review.runs import after, label_named, overview, run_details
from reviewdesk.desk.review.unsaved import notices
from reviewdesk.domain.records import Event, Run
from reviewdesk.errors import NotFoundError, ReportError, UsageError
from reviewdesk.pages.html import fragment
from reviewdesk.settings import load_settings, near
from reviewdesk.views import calibration as calibration_views
from reviewdesk.views import jurors as juror_views
from reviewdesk.views import run as run_views
from reviewdesk.views import verdict as verdict_views
from reviewdesk.views import whatif as whatif_views
from reviewdesk.views.document import Document
from reviewdesk.views.json import figures, review
from reviewdesk.views.queue import FIRST, records

MEMORY = ":memory:"
"""The desk that is kept nowhere."""


_PAGE = 500
"""How many records of a list are read at once."""


class LibraryResult:
    """The methods of every result, which is also a mapping or a list."""

    def to_dict(self) -> Any:
        """Return the result as JSON has it, with the shape of the command's ``--json``."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a data frame; records within a row become columns such as ``flags.split``.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")  # which nobody else needs
        except ImportError:
            hint = "Install it: pip install pandas."
            raise UsageError("to_pandas needs pandas, which is not installed", hint) from None
        return pandas.json_normalize(self._rows())

    def _rows(self) -> Any:
        return self.to_dict()

    def _document(self) -> Document:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return fragment(self._document())


class DeskRecord(LibraryResult, Mapping[str, Any]):
    """One result with the keys of a command's ``--json``, which cannot be changed."""

    def __init__(
        self,
        what: str,
        found: Mapping[str, Any],
        *documents: Callable[[], Document],
        rows: str = "",
    ) -> None:
        self._what = what
        self._found: dict[str, Any] = to_builtins(found)
        self._documents = documents
        self._key = rows

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the keys and values, as the command's ``--json`` has them."""
        copy: dict[str, Any] = to_builtins(self._found)
        return copy

    def _rows(self) -> Any:
        return self._found[self._key] if self._key else self._found

    def _document(self) -> Document:
        if not self._documents:
            return records([self._found], 1, self._what)
        return Document(tuple(part for made in self._documents for part in made().every))

    def __getitem__(self, key: str) -> Any:
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        shown = [(key, one) for key, one in self._found.items() if not isinstance(one, dict | list)]
        return f"<{self._what}: {', '.join(f'{key}={one!r}' for key, one in shown[:6])}>"


T = TypeVar("T", bound=LibraryResult)


class DeskRecords(LibraryResult, Sequence[T]):
    """A list of results that is read a page at a time. An entry is found by place or by name."""

    def __init__(
        self,
        what: str,
        places: range,
        read: Callable[[range], list[T]],
        name: Callable[[T], str],
        find: Callable[[str], T] | None = None,
        document: Callable[[], Document] | None = None,
        whole: Callable[[], list[dict[str, Any]]] | None = None,
    ) -> None:
        self._what = what
        self._whole = whole
        self._places = places
        self._read = read
        self._name = name
        self._find = find
        self._made = document

    @classmethod
    def of(
        cls, what: str, rows: Sequence[T], name: Callable[[T], str], **more: Any
    ) -> DeskRecords[T]:
        """Return the records of a list that is read already."""
        return cls(what, range(len(rows)), lambda at: [rows[one] for one in at], name, **more)

    @overload
    def __getitem__(self, at: int | str) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> DeskRecords[T]: ...
    def __getitem__(self, at: int | str | slice) -> T | DeskRecords[T]:
        """Return the entry at a place or the first with a name, or the entries of a slice."""
        if isinstance(at, slice):
            return DeskRecords(self._what, self._places[at], self._read, self._name)
        if not isinstance(at, str):
            if not -len(self) <= at < len(self):
                raise IndexError(f"there is no entry {at}: {self!r}")
            place = self._places[at]
            return self._read(range(place, place + 1))[0]
        if self._find is not None:
            return self._find(at)
        for one in self:
            if self._name(one) == at:
                return one
        raise NotFoundError(f"no {at!r} among the {self._what}", "Their names are in .names.")

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the entries, and read them a page at a time."""
        for start in range(0, len(self), _PAGE):
            yield from self._read(self._places[start : start + _PAGE])

    @property
    def names(self) -> list[str]:
        """The names of the entries, of which several may have the same."""
        return [self._name(one) for one in self]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all entries, as the command's ``--json`` has them. This reads the whole list."""
        return self._whole() if self._whole else [one.to_dict() for one in self]

    def _document(self) -> Document:
        if self._made:
            return self._made()
        return records([one.to_dict() for one in self[:FIRST]], len(self), self._what)

    def __repr__(self) -> str:
        return f"<{self._what}: {len(self):,}>"


class CalibrationRecord(DeskRecord):
    """The calibration of a run's judge: the figures, and their diagram."""

    def __init__(
        self,
        found: Mapping[str, Any],
        draw: Callable[[], str],
        *documents: Callable[[], Document],
    ) -> None:
        super().__init__("calibration", found, *documents)
        self._draw = draw

    def plot(self) -> Plot:
        """Return the reliability diagram; raise UsageError if there is no label to draw."""
        return Plot(self._draw())


class Plot(str):
    """A figure as the text of an SVG file, which a notebook shows."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        """Return how long the text is; ``str`` is the text."""
        return f"<plot: {len(self):,} characters of SVG>"


def open(  # noqa: A001 - as in ``reviewdesk open``
    *reports: str | os.PathLike[str],
    desk: str | os.PathLike[str] | None = None,
    reviewer: str | None = None,
    max_size: int | str | None = None,
    **options: Unpack[OpenOptions],
) -> ReviewDesk:
    """Load reports and open the desk that holds them, by default the user's own.

    ``desk`` is another one's path. In ``":memory:"`` everything is read and computed, but no label
    can be given, and nothing is kept. ``max_size`` is the largest report, in bytes or as ``4G``.

    Raises:
        ReportError: a report cannot be read.
        UsageError: an option cannot be used, or there is no desk at this path.
        DeskError: the desk cannot be opened.
    """
    for name in options.keys() - OpenOptions.__annotations__.keys():
        known = near(name, OpenOptions.__annotations__, "help(reviewdesk.open) lists them.")
        raise UsageError(f"open has no option {name!r}", known)
    named = None if desk is None else os.fspath(desk)
    settings = load_settings({"desk": named, "reviewer": reviewer})
    given = load_options({**options, "audit_share": settings.audit_share})
    limit = size_of(max_size)
    sources = [files.source(str(files.named(_path(one))), limit) for one in reports]
    with ExitStack() as stack:
        path = files.named(settings.desk) if settings.desk else None
        if named == MEMORY:
            path = files.named(stack.enter_context(TemporaryDirectory())) / "desk.db"
        elif not reports:
            hint = "Name another, or open a report on it: reviewdesk.open(REPORT, desk=PATH)."
            path = existing(path, hint)
        held = Desk.open(path, reviewer=settings.reviewer)
        stack.callback(held.close)
        notes = [*notices(held)]
        run = None
        try:
            loaded = [held.load(source, given) for source in sources]
        except ReportError as error:
            error.add_note(error.details)
            raise
        for made in loaded:
            run = run or made.run
            notes += [f"{made.run.name}: {note}" for note in made.notes]
        opened = _Opened(held, stack.pop_all(), in_memory=named == MEMORY)
        return ReviewDesk(opened, run, tuple(notes))


def _path(report: object) -> str:
    if not isinstance(report, str | os.PathLike):
        hint = "Name each report by itself: reviewdesk.open(*PATHS)."
        raise UsageError(f"a {type(report).__name__} is not the path of a report", hint)
    return os.fspath(report)


class _Opened:
    """An open desk. One thread uses it at a time, and it is closed at exit at the latest."""

    def __init__(self, desk: Desk, stack: ExitStack, *, in_memory: bool) -> None:
        self.path = desk.path
        self.reviewer = desk.reviewer
        self.in_memory = in_memory
        self._desk = desk
        self._lock = RLock()
        self._end = finalize(self, stack.close)

    def close(self) -> None:
        with self._lock:
            self._end()

    @contextmanager
    def use(self, *, writing: bool = False) -> Iterator[Desk]:
        if writing and self.in_memory:
            hint = "Open the report on your own desk: reviewdesk.open(REPORT)."
            raise UsageError("a desk in memory keeps no labels", hint)
        with self._lock:
            if not self._end.alive:
                raise UsageError("this desk is closed", "Open it again: reviewdesk.open().")
            yield self._desk


class ReviewDesk(LibraryResult):
    """An open desk. Use it in a ``with`` block, or close it; it is closed at exit as well."""

    def __init__(self, opened: _Opened, first: Run | None, notes: tuple[str, ...]) -> None:
        self._opened = opened
        self._first = first
        self.path = opened.path
        self.reviewer = opened.reviewer
        self.notes = notes
        """Notes about the reports that were loaded."""

    @property
    def runs(self) -> DeskRecords[DeskRun]:
        """Every run of the desk, the newest last."""
        with self._opened.use() as desk:
            found = [DeskRun(self._opened, run) for run in desk.runs()]
        more = {"find": self._run, "document": self._document, "whole": self.to_dict}
        return DeskRecords.of("runs", found, lambda run: run.name, **more)

    @property
    def run(self) -> DeskRun:
        """The run of the first report that was opened, else the run that was used last."""
        return DeskRun(self._opened, self._first) if self._first else self._run(None)

    def _run(self, name: str | None) -> DeskRun:
        with self._opened.use() as desk:
            return DeskRun(self._opened, desk.run(name))

    def undo(self) -> DeskRecord | None:
        """Take back your newest label, as ``label undo`` does; ``None`` if there is none."""
        with self._opened.use(writing=True) as desk:
            made = desk.undo()
            return None if made is None else _event(desk, made)

    def close(self) -> None:
        """Close the desk; what is saved stays saved."""
        self._opened.close()

    def __enter__(self) -> Self:
        """Return the desk, which the end of the block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the runs, as ``runs --json`` has them."""
        with self._opened.use() as desk:
            rows: list[dict[str, Any]] = to_builtins(run_rows(desk))
        return rows

    def _document(self) -> Document:
        with self._opened.use() as desk:
            return run_views.run_lines(overview(desk))

    def __repr__(self) -> str:
        where = MEMORY if self._opened.in_memory else str(self.path)
        return f"<desk {where!r} of {self.reviewer!r}>"


class DeskRun(LibraryResult):
    """One run of a desk: its verdicts, ballots and labels, and what its figures say."""

    def __init__(self, opened: _Opened, run: Run) -> None:
        self._opened = opened
        self.name = run.name
        self.hash = run.hash

    @contextmanager
    def _use(self) -> Iterator[tuple[Desk, Run]]:
        """Yield the desk and the run as it is now; raise NotFoundError if it was hidden since."""
        with self._opened.use() as desk:
            run = next((one for one in desk.runs() if one.hash == self.hash), None)
            if run is None:
                raise NotFoundError(f"{self.name}: the run is hidden", "Open its report again.")
            yield desk, run

    @property
    def verdicts(self) -> DeskRecords[DeskRecord]:
        """The verdicts in the order of the draw, as ``queue`` lists them."""
        return self.queue()

    def queue(self, filter: str = "", order: str = "draw") -> DeskRecords[DeskRecord]:  # noqa: A002
        """Return the verdicts that a filter keeps, as ``queue --filter --order`` does."""

        def read(places: Iterable[int]) -> list[DeskRecord]:
            with self._use() as (desk, run):
                rows = desk.rows([keys[at] for at in places])
                return [DeskRecord("verdict", review.queue_row(run, row)) for row in rows]

        def find(name: str) -> DeskRecord:
            with self._use() as (desk, run):
                key = desk.find(run, name)
            if key not in keys:
                raise NotFoundError(f"{name}: the filter leaves it out", "Look in run.verdicts.")
            return read([keys.index(key)])[0]

        with self._use() as (desk, run):
            keys = desk.queue(run, ready(desk, run, filter, order), order)
        return DeskRecords("verdicts", range(len(keys)), read, _id, find)

    @property
    def ballots(self) -> DeskRecords[DeskRecord]:
        """Every ballot in the order of the file, as ``show`` has them, with its verdict's id."""

        def read(places: Iterable[int]) -> list[DeskRecord]:
            made = []
            with self._use() as (desk, run):
                for verdict, group in groupby(places, partial(bisect_right, ends)):
                    stated, found = assessed(desk, run, verdict)
                    rows = review.ballots(stated, found)
                    for place in group:
                        seat = rows[place - ends[verdict]]  # from the end of its verdict
                        row = {"run": run.name, "verdict": stated.id, **seat}
                        made.append(DeskRecord("ballot", row))
            return made

        with self._use() as (desk, run):
            ends = ballot_ends(desk, run)
        return DeskRecords("ballots", range(ends[-1] if ends else 0), read, _id)

    @property
    def labels(self) -> DeskRecords[DeskRecord]:
        """Every current label, as ``labels list`` has them."""
        with self._use() as (desk, run):
            rows = [DeskRecord("label", found) for found in list_labels(desk, run)]
        return DeskRecords.of("labels", rows, _id)

    def show(self, verdict: str) -> DeskRecord:
        """Return everything about a verdict, as ``show`` does; its data frame has the jurors."""
        with self._use() as (desk, run):
            item, history = with_reruns(desk, desk.find(run, verdict))
        document = partial(verdict_views.verdict, item, history)
        return DeskRecord("verdict", review.verdict(item, history.reruns), document, rows="jurors")

    def label(
        self,
        verdict: str,
        truth: str,
        *,
        note: str | None = None,
        tags: str | Sequence[str] = (),
        force: bool = False,
    ) -> DeskRecord:
        """Label a verdict ``pass``, ``fail`` or ``unsure``; it is on disk when this returns.

        ``force`` labels one without a response. ``ReviewDesk.undo`` takes the label back.

        Raises:
            NotFoundError: the run has no such verdict.
            UsageError: the label cannot be given, or the desk is in memory.
        """
        with self._opened.use(writing=True), self._use() as (desk, run):
            made = label_named(
                desk, verdict, truth, run.hash, note=note, tags=_many(tags), force=force
            )
            return _event(desk, made)

    def calibration(
        self, confidence: str | None = None, *, by: str | None = None
    ) -> CalibrationRecord:
        """Return how far the judge can be trusted, as ``calibrate`` does."""
        with self._use() as (desk, run):
            page = calibration_page(desk, run, confidence, jurors=False)
            split = () if by is None else segments(desk, run, by)
        found = figures.run_figures(page)
        parts = [partial(calibration_views.calibration, page)]
        if by is not None:
            found |= figures.segments(by, split)
            parts.append(partial(run_views.segments, by, split))
        return CalibrationRecord(found, partial(diagram_of, self.name, page), *parts)

    def jurors(self) -> DeskRecord:
        """Return each juror against the labels and the others, as ``calibrate --jurors`` does."""
        with self._use() as (desk, run):
            page = jurors_page(desk, run, worth=True)
            probes = bias_probes(desk, run)
        found = figures.jurors(page) | figures.bias(probes)
        parts = (partial(juror_views.jurors, page), partial(juror_views.bias, probes))
        return DeskRecord("jurors", found, *parts, rows="jurors")

    def whatif(
        self,
        verdict: str | None = None,
        *,
        strategy: str | Sequence[str] = (),
        trim: float | Sequence[float] = (),
        rounding: str | Sequence[str] = (),
        quorum: float | str | Sequence[float | str] = (),
        supermajority: float | str | Sequence[float | str] = (),
        threshold: float | Sequence[float] = (),
        drop: str | Sequence[str] = (),
    ) -> DeskRecords[DeskRecord]:
        """Return what other rules would have decided, as ``whatif`` does; several are combined."""
        variants = variants_of(
            strategy=_many(strategy), trim=_many(trim), rounding=_many(rounding),
            quorum=_many(quorum), supermajority=_many(supermajority), threshold=_many(threshold),
            drop=_many(drop),
        )  # fmt: skip
        with self._use() as (desk, run):
            if verdict is None:
                table = what_if(desk, run, variants)
                rows = figures.what_if(table, every=variants is None)
                document = partial(whatif_views.what_if, table)
            else:
                item = desk.item(desk.find(run, verdict), run)
                found = what_if_item(item, variants)
                rows = figures.what_if_item(item, found, every=variants is None)
                document = partial(whatif_views.policies, item, found)
        made = [DeskRecord("policy", row) for row in rows]
        return DeskRecords.of("policies", made, lambda row: str(row["policy"]), document=document)

    def to_dict(self) -> dict[str, Any]:
        """Return the run, as ``runs --json`` has it."""
        with self._use() as (desk, _):
            (found,) = (row for row in run_rows(desk) if row["hash"] == self.hash)
        return DeskRecord("run", found).to_dict()

    def _document(self) -> Document:
        with self._use() as (desk, run):
            return run_views.run(run_details(desk, run))

    def __repr__(self) -> str:
        return f"<run {self.name!r}>"


def _id(row: DeskRecord) -> str:
    return str(row["id"])


def _many(given: Any) -> tuple[Any, ...]:
    """Return the values of an option that may be one or several."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    return (given,) if is_one else tuple(given)


def _event(desk: Desk, made: Event) -> DeskRecord:
    return DeskRecord("event", review.event(*after(desk, made)))
