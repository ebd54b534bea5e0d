"""Open Inspect logs: ``.json``, and ``.eval``, which is a zip archive, sample by sample.

A sample is read in parts, because its transcript may not fit into memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.bytes.zip_archive import ZipArchive
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.inspectai.scores import numeral, scores_of
from reviewdesk.reports.inspectai.transcript import (
    ANY,
    KEEP,
    SAMPLE,
    SCORES,
    LogHeader,
    Sample,
    Shape,
    pick,
    read_events,
    read_sample,
    read_samples,
)
from reviewdesk.reports.inspectai.verdicts import SampleMapper
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import Scales
from reviewdesk.reports.mapping.values import filled, listed, record, without_nulls
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, spell_path

_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLE_BODY = "/sample.json"
_SAMPLE_NAME = re.compile(r"samples/.+_epoch_\d+(?:/sample)?\.json\Z", re.DOTALL)
_PARTS = re.compile(r"(samples/.+_epoch_\d+/)(events|attachments)/(\d{1,18})\.json\Z", re.DOTALL)
"""Parts of a long sample. The number in a name is the index of the part's first element."""

_MOST_SHOWN = 5
_RUN = {"status": KEEP, "eval": {ANY: KEEP}, "results": {"scores": KEEP}}


class LogArchive:
    """An ``.eval`` archive. Inspect writes it member by member, so it may end early."""

    def __init__(self, stream: BinaryIO, fail: Fail, max_size: int) -> None:
        """Read the archive's directory.

        Raises:
            InputFileError: the archive is damaged, or holds no Inspect log.
        """
        self._zip = ZipArchive(stream, fail, max_size)
        self._fail = fail
        names = self._zip.names
        self.samples = [name for name in names if _SAMPLE_NAME.match(name)]
        self._parts: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for found in filter(None, map(_PARTS.match, names)):
            folder, kind, first = found.groups()
            self._parts.setdefault((folder, kind), []).append((int(first), found.string))
        if _HEADER not in names and _START not in names:
            listed = ", ".join(show_line(name, 40) for name in names[:_MOST_SHOWN]) or "nothing"
            raise fail(
                "",
                f"is a zip archive without an Inspect log: there is no {_HEADER} in it ({listed})",
                f"Unpack it, and open a file of it: unzip {quote(fail('', '', '').file)}",
            )
        self._start = _HEADER if _HEADER in names else _START

    def header(self) -> dict[str, Any]:
        """Return the run's header. An interrupted log has only the header written at its start."""
        with self._zip.open(self._start) as member:
            window = Window(member, self._fail, ImportTally(lenient=True))
            found = pick(window, _RUN, self._start)
        if not isinstance(found, dict) or not isinstance(found.get("eval"), dict):
            raise self._fail(self._start, "says nothing of a run", "Write the log again.")
        return found

    def sample(self, name: str, tally: ImportTally) -> Sample | None:
        """Read the sample in a member, with the parts that separate members hold.

        Return None if the member holds no JSON object.
        """
        with self._zip.open(name) as member:
            sample = read_sample(Window(member, self._fail, tally), "$", self._fail)
        if sample is not None and name.endswith(_SAMPLE_BODY):
            folder = name.removesuffix(_SAMPLE_BODY) + "/"
            for _, part in sorted(self._parts.get((folder, "events"), ())):
                with self._zip.open(part) as member:
                    read_events(Window(member, self._fail, tally), "$", sample)
            for first, part in sorted(self._parts.get((folder, "attachments"), ())):
                with self._zip.open(part) as member:
                    window = Window(member, self._fail, tally)
                    for index in window.elements():
                        sample.attach(str(first + index), window.skim("$"))
        return sample


def _fits(look: FirstLook) -> bool:
    """Return True for any zip archive, and for JSON with the ``eval`` block of a log.

    Only opening an archive shows whether it holds a log.
    """
    run = look.outline.first("eval")
    return look.kind == "zip" or (
        look.outline.kind == "object" and ("task" in run or "eval_id" in run)
    )


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    if look.kind == "zip":
        return _open_archive(source, options)
    fail = failing(source)
    keys = look.outline.keys
    if not _fits(look):
        raise fail(
            "$.eval", "is missing, or says nothing of a run", "An Inspect log begins with it."
        )
    if look.outline.goes_on:
        raise fail("", "holds something behind the end of the log", "Remove it.")
    run = LogHeader.of(keys)
    scales = Scales()

    def samples(
        stream: BinaryIO, tally: ImportTally, shape: dict[str, Shape] = SAMPLE
    ) -> Iterator[Sample | None]:
        window = Window(stream, fail, tally)
        for key in window.members():
            if key == "samples" and window.peek() == "[":
                yield from read_samples(window, fail, shape)
            else:
                window.skip(spell_path((key,)))

    looked = ImportTally(lenient=True)
    with source.open() as stream:
        total = _survey(samples(stream, looked, SCORES), scales)

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = SampleMapper(run, options, scales)
        for index, sample in enumerate(samples(stream, tally)):
            yield from _items("", f"$.samples[{index}]", sample, mapper, f"/samples/{index}")
        tally.notes.extend((*mapper.models.notes(), *mapper.remarks.notes()))

    return _report(source, run, keys.get("status"), items, total, options, looked)


def _open_archive(source: Source, options: ReadOptions) -> Report:
    """Open a log in an archive. A damaged sample spoils only the verdicts of that sample."""
    fail = failing(source)
    with source.open_raw() as stream:
        log = LogArchive(stream, fail, source.max_size)
        header = log.header()
        scales = Scales()
        run = LogHeader.of(header)
        total = _survey(_samples_or_none(log), scales)

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = SampleMapper(run, options, scales)
        log = LogArchive(stream, fail, source.max_size)
        for name in log.samples:
            shown = show_line(name, 120)
            try:
                sample = log.sample(name, tally)
            except InputFileError as error:
                place = error.where if error.where != shown else ""
                problem = ": ".join(part for part in (place, error.problem) if part)
                yield ReportVerdict(shown, None, problem=FieldProblem((), problem))
                continue
            yield from _items(shown, "$", sample, mapper, name)
        tally.notes.extend((*mapper.models.notes(), *mapper.remarks.notes()))

    return _report(source, run, header.get("status"), items, total, options)


def _samples_or_none(log: LogArchive) -> Iterator[Sample | None]:
    """Yield the samples of an archive, and None for one that cannot be read.

    The import itself reports the unreadable samples.
    """
    for name in log.samples:
        try:
            yield log.sample(name, ImportTally(lenient=True))
        except InputFileError:
            yield None


def _survey(samples: Iterable[Sample | None], scales: Scales) -> int:
    """Record all scores in ``scales``, and count the samples, bad ones included."""
    total = 0
    for sample in samples:
        total += 1
        for name, score in scores_of(sample.keys).items() if sample is not None else ():
            _weigh(name, score, scales)
            for given in listed(score.get("history")):
                _weigh(name, record(given), scales)
    return total


def _weigh(name: str, given: dict[str, Any], scales: Scales) -> None:
    value = given.get("value")
    if "metadata" not in given and type(value) is float and 0 <= value <= 1:
        return
    panel = record(record(given.get("metadata")).get("panel"))
    parts: list[tuple[str, Any]] = [(name, vote) for vote in listed(panel.get("votes"))]
    if isinstance(value, dict):
        parts += [(f"{name}.{key}", part) for key, part in value.items()]
    elif isinstance(value, list):
        parts += [(f"{name}.{at}", part) for at, part in enumerate(value)]
    else:
        parts.append((name, value))
    for whose, part in parts:
        scales.off(whose, numeral(part.strip()) if isinstance(part, str) else part)


def _items(
    where: str, path: str, sample: Sample | None, mapper: SampleMapper, pointer: str
) -> Iterator[ReportVerdict]:
    if sample is None:
        yield ReportVerdict(where, None, path, FieldProblem((), "must be an object"))
        return
    for verdict in mapper.verdicts(sample, pointer):
        yield ReportVerdict(where, mapper.secrets.clean(verdict), path)


def _report(
    source: Source,
    run: LogHeader,
    status: Any,
    items: Any,
    total: int,
    options: ReadOptions,
    looked: ImportTally | None = None,
) -> Report:
    """Open a report; ``looked`` is the tally of a log that is no archive."""
    if not total:
        raise failing(source)(
            "",
            "is an Inspect log without samples",
            "Run the eval with log_samples on, and let at least one sample end.",
        )
    spec = run.spec
    producer = {
        "name": "inspect_ai",
        "version": filled(record(spec.get("packages")).get("inspect_ai")),
        "format": "inspect",
        "run_id": filled(spec.get("run_id")),
    }
    header = {
        "schema": FORMAT_NAME,
        "title": filled(spec.get("task")),
        "created_at": values.time(spec.get("created")),
        "producer": without_nulls(producer),
    }
    of = f" of {run.planned}" if run.planned is not None and run.planned >= total else ""
    why = f'the run did not succeed: its status is "{show_line(str(status), 40)}"'
    if filled(status) in {None, "started"}:
        why = "interrupted log: the run was still going when it was written"
    return Report(
        source,
        DIALECT.name,
        without_nulls(header),
        items,
        skip_bad=options.skip_bad,
        notes=() if status == "success" else (f"{why}; {total}{of} samples are in it",),
        looked=looked or ImportTally(lenient=True, odd=True),
        raw=looked is None,
    )


DIALECT = Dialect(
    "inspect",
    "an Inspect log",
    _fits,
    _open,
    frozenset({"models", "pass_labels", "fail_labels", "scale"}),
    steps_in=True,
)
