"""Open Inspect logs: ``.json``, and ``.eval``, which is a zip archive, sample by sample.

A sample is read in parts, because its transcript may not fit into memory. Each scorer that is a
panel forms a separate jury. The other scorers that ask a model form one jury together. Scorers that
ask no model are checks.
"""

import re
from collections.abc import Iterator
from functools import partial
from shlex import quote
from typing import Any, BinaryIO

from msgspec import Struct

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Decision, Status
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.bytes.zip_archive import ZipArchive
from reviewdesk.reports.inspectai.scores import (
    Ballot,
    BallotContext,
    GradeReader,
    human,
    numeral,
    parts_of,
    scores_of,
    split_edits,
    votes_of,
)
from reviewdesk.reports.inspectai.transcript import (
    RUN,
    LogHeader,
    Sample,
    Texts,
    pick,
    read_events,
    read_sample,
    whole,
)
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.secrets import named_secrets
from reviewdesk.reports.mapping.values import filled, listed, record, without_nulls
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.wording import FieldError, JsonObject, spell_path

Scores = dict[str, JsonObject]

_ERROR = {"decision": Decision.ERROR.value}
_FAILED = frozenset([Status.ERROR, Status.TIMEOUT, Status.PARSE_FAIL])
_NO_JURY = "a sample that no model graded has checks and no ballots"


class Jury(Struct, frozen=True):
    """The scorers of one jury, and its result as fields of a verdict."""

    scorers: tuple[str, ...]
    outcome: JsonObject
    panel: str = ""
    """The scorer that is the panel; empty for the jury of the other scorers."""


def juries_of(broken: Any, given: Scores, bench: BallotContext) -> list[Jury]:
    """Return the juries behind a sample's scores, at least one; ``broken`` is its error."""
    lost = bench.transcript.failed_scorer if broken is not None else None
    if broken is not None and lost is None:
        if given:
            bench.remarks.count("the scores of a sample that failed itself are left out")
        message = filled(record(broken).get("message"))
        meta = {"error": message} if message else None
        return [Jury(tuple(bench.run.scorers), {**_ERROR, "jurors": [], "meta": meta})]
    ballots = {name: bench.ballots(name, score) for name, score in given.items()}
    panels = [name for name in given if votes_of(given[name]) or bench.seats(name) > 1]
    code = [
        name
        for name, of_name in ballots.items()
        if name not in panels and of_name and all(one.get("kind") == "code" for one in of_name)
    ]
    others = tuple(name for name in given if name not in panels and name not in code)
    found = [
        Jury((name,), _jury_result((name,), given, ballots, bench), panel=name) for name in panels
    ]
    if lost is not None:
        message = filled(record(broken).get("message")) or "the scorer failed"
        ballot = bench.failed(lost, message)
        if bench.seats(lost) > 1:
            found.append(Jury((lost,), {**_ERROR, "jurors": [ballot]}, panel=lost))
        else:
            jurors = [*_ballots_of(others, ballots), ballot]
            found.append(Jury((*others, lost, *code), {**_ERROR, "jurors": jurors}))
            others = ()
    if others or not found:
        names = others or tuple(code)
        outcome = _jury_result(names, given, ballots, bench) if names else {}
        if not others:
            bench.remarks.count(_NO_JURY if code else "a sample without a score has no ballots")
            outcome["jurors"] = []
        found.append(Jury((*others, *code), outcome))
    checks = [_check(ballot) for name in code for ballot in ballots[name]]
    for one in found:
        one.outcome["checks"] = checks or None
    return found


def _jury_result(
    names: tuple[str, ...], given: Scores, ballots: dict[str, list[Ballot]], bench: BallotContext
) -> JsonObject:
    """Return the ballots of a jury, with the decision and score that the log states.

    If the jury has one scorer, that scorer's value is the decision; several scorers state none.
    A missing consensus (null or NaN) is escalated for review. Its decision is inconclusive,
    ``error`` if every juror failed, or none if every ballot is unreadable.
    """
    jurors = _ballots_of(names, ballots)
    values_of = {name: given[name].get("value") for name in names}
    found: JsonObject = {"jurors": jurors}
    alone = names[0] if len(names) == 1 else None
    unscored = [
        name
        for name, value in values_of.items()
        if value is None and "value" in given[name] and (alone or len(ballots[name]) > 1)
    ]
    if unscored:
        found["escalate_for_review"] = True
        found["escalation_reasons"] = [f"no consensus: {', '.join(unscored)} gave no value"]
    failed = bool(jurors) and all(ballot.get("status") in _FAILED for ballot in jurors)
    value = values_of[alone] if alone else None
    if failed and value is None:
        return {**found, **_ERROR}
    if alone is None or isinstance(value, dict | list):
        return found
    if value is None:
        unknown = all(ballot.get("status") == Status.UNKNOWN for ballot in jurors)
        return {**found, "decision": None if unknown else Decision.INCONCLUSIVE.value}
    single = len(jurors) == 1 and jurors[0]["id"] == alone
    ballot = jurors[0] if single else bench.grader.ballot(value, alone)
    return found | bench.grader.consensus(ballot)


def _ballots_of(names: tuple[str, ...], ballots: dict[str, list[Ballot]]) -> list[Ballot]:
    return [ballot for name in names for ballot in ballots[name]]


def _check(ballot: Ballot) -> JsonObject:
    passed = ballot.get("pass")
    number = values.first(ballot, ("score", "raw_score"))
    if passed is None and number in (0, 1):
        passed = number == 1
    reasons = [f"score {number:g}"] if passed is None and number is not None else []
    reasons += filter(None, (ballot.get("reason"), record(ballot.get("error")).get("message")))
    made = {"name": ballot["id"], "pass": passed, "reason": "\n".join(reasons) or None}
    return without_nulls(made, "pass")


class SampleMapper:
    """Maps the samples of one log; remembers the remarks to show."""

    def __init__(self, run: LogHeader, options: ReadOptions, scales: foreign.LateFacts) -> None:
        """``scales`` already knows all scores of the log."""
        self.remarks = foreign.Remarks()
        self.models = foreign.Models(options)
        self._run = run
        self._grader = GradeReader(options, self.remarks, scales)

    def verdicts(self, sample: Sample, pointer: str) -> Iterator[JsonObject]:
        """Yield the canonical verdicts of a sample; ``pointer`` is its place in the log."""
        keys = sample.keys
        texts = Texts(sample.attachments)
        scores = {name: split_edits(score) for name, score in scores_of(keys).items()}
        bench = BallotContext(
            self._run, self._grader, self.remarks, self.models, sample.transcript, texts
        )
        given = {name: score for name, (score, _) in scores.items() if score is not None}
        juries = juries_of(keys.get("error"), given, bench)
        in_jury = {scorer for jury in juries for scorer in jury.scorers}
        name, case = self._case(keys)
        sample_texts = self._sample_texts(keys, texts)
        run_id = filled(self._run.spec.get("run_id"))
        for jury in juries:
            several = len(juries) > 1 and jury.panel
            known = (self._run.scorers.get(scorer) for scorer in jury.scorers)
            rubrics = {one.rubric for one in known if one is not None and one.rubric}
            # A score outside all juries goes to those that are no panel, or else to all.
            takes_more = not jury.panel or all(one.panel for one in juries)
            edited = {
                scorer: edits
                for scorer, (_, edits) in scores.items()
                if scorer in jury.scorers or (takes_more and scorer not in in_jury)
            }
            people = human(edited, self._grader, self.remarks, texts)
            meta = {**(jury.outcome.get("meta") or {}), **(people["meta"] or {})}
            body = {
                "id": f"{name}/{jury.panel}"[: foreign.ID_LENGTH] if several else name,
                "case": case,
                **sample_texts,
                "rubric": rubrics.pop() if len(rubrics) == 1 else None,
                **jury.outcome,
                "human": people["human"],
                "provenance": without_nulls({"pointer": pointer, "run_id": run_id}),
                "meta": meta or None,
            }
            seats = enumerate(body["jurors"], 1)
            names = [filled(ballot["id"]) or f"juror {seat}" for seat, ballot in seats]
            ids = foreign.juror_ids(tuple(names))
            body["jurors"] = [
                without_nulls({**ballot, "id": juror_id}, "pass")
                for ballot, juror_id in zip(body["jurors"], ids, strict=True)
            ]
            yield without_nulls({key: value for key, value in body.items() if value != {}})

    def _case(self, keys: JsonObject) -> tuple[str, JsonObject]:
        stated = keys.get("id")
        plain = isinstance(stated, str | int) and not isinstance(stated, bool)
        test = (str(stated) if plain else "") or "sample"
        epoch = whole(keys.get("epoch"))
        name = test[: foreign.ID_LENGTH]
        if epoch is not None and (epoch > 1 or self._run.epochs > 1):
            name = f"{name}/epoch {epoch}"
        invalid = isinstance(keys.get("invalidation"), dict)
        if invalid:
            self.remarks.count('a sample that the log declares invalid has the tag "invalidated"')
        case = {
            "test": test,
            "suite": filled(self._run.spec.get("task")),
            "epoch": epoch,
            "tags": ["invalidated"] if invalid else None,
        }
        return name, without_nulls(case)

    def _sample_texts(self, keys: JsonObject, texts: Texts) -> JsonObject:
        output = record(keys.get("output"))
        if None in (keys.get("input", ""), output.get("completion", "")):
            self.remarks.count("an input or output too long to be held is left out")
        question = texts.messages(keys.get("input"))
        choices = [choice for choice in listed(keys.get("choices")) if isinstance(choice, str)]
        if question is not None and choices:
            question += "\n\n" + "\n".join(f"- {texts.plain(choice)}" for choice in choices)
        return {
            "input": question,
            "output": texts.output(keys.get("output")),
            "reference": texts.reference(keys.get("target")),
            "generator": {"model": self._run.model} if self._run.model else None,
        }


_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLE_BODY = "/sample.json"
_SAMPLE_NAME = re.compile(r"samples/.+_epoch_\d+(?:/sample)?\.json\Z", re.DOTALL)
_PARTS = re.compile(r"(samples/.+_epoch_\d+/)(events|attachments)/(\d{1,18})\.json\Z", re.DOTALL)
"""Parts of a long sample. The number in a name is the index of the part's first element."""


class LogArchive:
    """An ``.eval`` archive. Inspect writes it member by member, so it may end early."""

    def __init__(self, stream: BinaryIO, fail: Fail, max_size: int) -> None:
        """Read the directory; InputFileError if it is damaged, or holds no Inspect log."""
        self._zip = ZipArchive(stream, fail, max_size)
        self._fail = fail
        names = self._zip.names
        self.samples = [name for name in names if _SAMPLE_NAME.match(name)]
        self._parts: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for found in filter(None, map(_PARTS.match, names)):
            folder, kind, first = found.groups()
            self._parts.setdefault((folder, kind), []).append((int(first), found.string))
        if _HEADER not in names and _START not in names:
            listed = ", ".join(show_line(name, 40) for name in names[:5]) or "nothing"
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
            found = pick(window, RUN, self._start)
        if not isinstance(found, dict) or not isinstance(found.get("eval"), dict):
            raise self._fail(self._start, "does not describe a run", "Write the log again.")
        return found

    def sample(self, name: str, tally: ImportTally) -> Sample | None:
        """Return the sample in a member and its separate parts, or None if it is not an object."""
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

    def read(self, tally: ImportTally) -> Iterator[tuple[str, Sample | InputFileError | None]]:
        """Yield the samples with their names, and the error of one that cannot be read."""
        for name in self.samples:
            try:
                yield name, self.sample(name, tally)
            except InputFileError as error:
                yield name, error


def _fits(look: FirstLook) -> bool:
    """Return True for any zip archive, and for JSON with the ``eval`` block of a log."""
    run = look.outline.first("eval")
    return look.kind == "zip" or (
        look.outline.kind == "object" and ("task" in run or "eval_id" in run)
    )


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    """Open a log; in an archive, a damaged sample spoils only the verdicts of that sample."""
    fail = failing(source)
    zipped = look.kind == "zip"
    header = look.outline.keys
    if zipped:
        with source.open_raw() as stream:
            header = LogArchive(stream, fail, source.max_size).header()
    elif not _fits(look):
        problem = "is missing, or does not describe a run"
        raise fail("$.eval", problem, "An Inspect log begins with it.")
    elif look.outline.goes_on:
        raise fail("", "continues after the end of the log", "Remove it.")
    run = LogHeader.of(header)
    scales = foreign.LateFacts()
    status = header.get("status")
    # A note on a run that did not succeed counts its samples, which takes a survey.
    streamed = look.outline.streamed and status == "success"

    samples = partial(_samples, source, zipped)
    looked = ImportTally(lenient=True)
    total = int(streamed)
    with source.open_raw() if zipped else source.open() as stream:
        for _, sample in () if streamed else samples(stream, looked):
            total += 1
            _survey(sample, scales)
    if not total:
        hint = "Run the eval with log_samples on, and let at least one sample end."
        raise fail("", "is an Inspect log without samples", hint)

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = SampleMapper(run, options, scales)
        some = False
        for index, (pointer, sample) in enumerate(samples(stream, tally)):
            some = True
            _survey(sample, scales)
            where = show_line(pointer, 120) if zipped else ""
            yield from _items(
                where, "$" if zipped else f"$.samples[{index}]", pointer, sample, mapper
            )
        if not some:
            raise foreign.LateFactError
        tally.notes.extend((*mapper.models.notes(), *mapper.remarks.notes()))

    of = f" of {run.planned}" if run.planned is not None and run.planned >= total else ""
    why = f'the run did not succeed: its status is "{show_line(str(status), 40)}"'
    if filled(status) in {None, "started"}:
        why = "interrupted log: the run was still going when it was written"
    return Report(
        source,
        DIALECT.name,
        run.about,
        items,
        skip_bad=options.skip_bad,
        notes=() if status == "success" else (f"{why}; {total}{of} samples are in it",),
        lenient=True,
        raw=zipped,
        secrets=named_secrets(run.spec),
    )


def _samples(
    source: Source, zipped: bool, stream: BinaryIO, tally: ImportTally
) -> Iterator[tuple[str, Sample | InputFileError | None]]:
    """Yield the place of each sample with the sample, or the error of one that cannot be read."""
    fail = failing(source)
    if zipped:
        yield from LogArchive(stream, fail, source.max_size).read(tally)
        return
    window = Window(stream, fail, tally)
    for key in window.members():
        if key == "samples" and window.peek() == "[":
            for index in window.elements():
                sample = read_sample(window, f"$.samples[{index}]", fail)
                yield f"/samples/{index}", sample
        else:
            window.skim(spell_path((key,)))


def _items(
    where: str,
    path: str,
    pointer: str,
    sample: Sample | InputFileError | None,
    mapper: SampleMapper,
) -> Iterator[ReportVerdict]:
    if isinstance(sample, Sample):
        for verdict in mapper.verdicts(sample, pointer):
            yield ReportVerdict(where, verdict, path)
        return
    problem = "must be an object"
    if sample is not None:
        parts = (sample.where if sample.where != where else "", sample.problem)
        problem = ": ".join(filter(None, parts))
    yield ReportVerdict(where, None, path, FieldError((), problem))


def _survey(sample: Sample | InputFileError | None, scales: foreign.LateFacts) -> None:
    """Record the scorers with a score outside 0..1 in ``scales``."""
    keys = sample.keys if isinstance(sample, Sample) else {}
    for name, score in scores_of(keys).items():
        for given in (score, *map(record, listed(score.get("history")))):
            value = given.get("value")
            if "metadata" not in given and type(value) is float and 0 <= value <= 1:
                continue
            for whose, part in (
                *((name, vote) for vote in votes_of(given)),
                *parts_of(name, value),
            ):
                number = numeral(part.strip()) if isinstance(part, str) else values.number(part)
                if number is not None and values.unit(number) is None:
                    scales.add(whose)


DIALECT = Dialect(
    "inspect",
    "an Inspect log",
    _fits,
    _open,
    frozenset({"models", "pass_labels", "fail_labels", "scale"}),
    steps_in=True,
)
