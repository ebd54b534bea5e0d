"""Open promptfoo results: JSON, JSON Lines and YAML.

A row is one output of one provider for one prompt and test. All graders of the same assertion in
a row form one jury. Rows are read one by one, and no configuration is copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO, TypeAlias

import msgspec

from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import MAX_DEPTH, Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline, Window
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import Models, VerdictNames
from reviewdesk.reports.mapping.secrets import (
    MOST_SECRETS,
    named_secrets,
    without_likely,
    without_secrets,
)
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo.jurors import (
    ERROR,
    AssertionJury,
    GradedAssertion,
    Provider,
    ballots,
    graders,
    panel_reader,
    record,
    shared_line,
    shown_address,
    take_apart,
    weigh,
)
from reviewdesk.reports.report import (
    Dialect,
    FirstLook,
    Record,
    Report,
    ReportVerdict,
    elements,
    records,
)
from reviewdesk.reports.tables.ballot import TableSurvey
from reviewdesk.reports.wording import FieldError, FieldProblem, JsonObject, must_be, spell_path

_NAME_LENGTH = 200


@dataclass
class ResultSurvey:
    """Counts and names from a first pass over all rows."""

    providers: set[str | None] = field(default_factory=set)
    prompts: dict[str, int] = field(default_factory=dict)
    repeats: bool = False
    seen: TableSurvey = field(
        default_factory=lambda: TableSurvey(scale_by_judge=True, scored=False)
    )
    """The scores of the graders."""
    some: bool = False
    """Whether any row may give a verdict."""
    rows: int = 0

    @cached_property
    def prompt_numbers(self) -> dict[str, int]:
        """The number of each prompt, from 1 in the order of the columns."""
        ordered = sorted(self.prompts, key=lambda prompt: self.prompts[prompt])
        return {prompt: number for number, prompt in enumerate(ordered, 1)}


class TestNames:
    """Names tests, and counts the repetitions of each one."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._first: dict[bytes, str] = {}
        self._epochs: dict[tuple[bytes, str | None, str], int] = {}

    def place(self, row: JsonObject) -> tuple[str, int]:
        """Count a row, and return its test's name and repetition.

        The repetition counts from 1, for each prompt and provider.
        """
        case = record(row, "testCase")
        identity = [case.get(key) for key in ("description", "vars", "assert")]
        digest = hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).digest()
        described = case.get("description")
        if not (isinstance(described, str) and described.strip()):
            index = row.get("testIdx")
            described = f"test {index + 1 if isinstance(index, int) else len(self._first) + 1}"
        name = self._first.setdefault(digest, described)
        key = (digest, Provider.of(row.get("provider")).name, prompt_of(row))
        self._epochs[key] = self._epochs.get(key, 0) + 1
        return name, self._epochs[key]


def prompt_of(row: JsonObject) -> str:
    """Return the identity of a row's prompt: its id, else its label, else its column."""
    label = record(row, "prompt").get("label")
    stated = values.first({**row, "label": label}, ("promptId", "label", "promptIdx"))
    return str(stated)[:_NAME_LENGTH]


def survey(rows: Iterable[Any]) -> ResultSurvey:
    """Survey all rows. A row that cannot be read may give a verdict."""
    found = ResultSurvey()
    tests = TestNames()
    for row in rows:
        found.rows += 1
        if not isinstance(row, dict):
            found.some = True
        else:
            if not found.some or _is_raw(record(row, "gradingResult")):
                try:
                    parts = take_apart(row)
                except FieldError:
                    found.some = True
                else:
                    for panel in parts.panels:
                        weigh(panel, default_grader(row), found.seen)
                    found.some |= bool(parts.panels) or parts.stands_alone
            found.providers.add(Provider.of(row.get("provider")).name)
            prompt = prompt_of(row)
            index = row.get("promptIdx")
            at = index if isinstance(index, int) else 0
            found.prompts[prompt] = min(at, found.prompts.get(prompt, at))
            found.repeats |= tests.place(row)[1] > 1
    return found


def default_grader(row: JsonObject) -> Any:
    return record(record(row, "testCase"), "options").get("provider")


def _is_raw(result: JsonObject) -> bool:
    score = values.number(result.get("score"))
    parts = result.get("componentResults")
    return (score is not None and not 0 <= score <= 1) or (
        isinstance(parts, list) and any(_is_raw(part) for part in parts if isinstance(part, dict))
    )


_REFERENCES = ("factuality", "model-graded-factuality", "context-recall")
"""Assertions whose value is the correct answer, not a rubric."""

_CONTENT = frozenset({"vars", "output", "outputPath"})
"""Keys of the judged content, which holds no configuration and thus no named secrets."""

_CODE = frozenset({"javascript", "python", "ruby"})
"""Types of assertions whose value is a program."""

_FAILED_TEST = "promptfoo fails the whole test, and this jury passes"
"""The note on a jury that passes in a row that fails although no jury of the row fails."""


class RowMapper:
    """Maps the rows of one file; remembers the ids it gave and the notes on the import."""

    def __init__(self, seen: ResultSurvey, options: ReadOptions) -> None:
        """Start with the survey of all rows."""
        self.panels = panel_reader(seen.seen, options)
        self.remarks = self.panels.notes
        self.models = Models(options)
        self._survey = seen
        self._options = options
        self._names = VerdictNames()
        self._tests = TestNames()

    def verdicts(
        self, row: JsonObject, pointer: str, secrets: frozenset[str]
    ) -> Iterator[JsonObject]:
        """Yield the canonical verdicts of a row, one for each jury, without its secrets."""
        test, epoch = self._tests.place(row)
        number = self._survey.prompt_numbers[prompt_of(row)]
        # Names are cut to a length below: of a secret that lies across the cut a part would stay.
        test, row = without_secrets([test, row], secrets)
        parts = take_apart(row)
        if not parts.panels and not parts.stands_alone:
            self.remarks.count("a row without judged assertions is left out")
        common = _common(row, test, epoch if self._survey.repeats else None, pointer)
        common["checks"] = [_check(check, at) for at, check in enumerate(parts.checks, 1)]
        common["human"] = _human(parts.human)
        if parts.stands_alone:
            no_jury: JsonObject = {"jurors": [], "decision": "error" if parts.errored else None}
            yield self._with_id({**common, **no_jury}, number, "")
        kinds = [panel.kind for panel in parts.panels]
        bodies = []
        for panel in parts.panels:
            body = {**common, **_rubric_fields(panel)}
            body["case"] = {**common["case"], "target": panel.kind}
            jury_graders = graders(panel, default_grader(row))
            body["jurors"] = ballots(panel, jury_graders, self._options, self.models, self.panels)
            off = self._survey.seen.off_scale
            raw = self._options.scale is None and any(off(one.name) for one in jury_graders)
            body["threshold"] = None if raw else shared_line(panel, self._options)
            body |= _jury_decision(panel, body["jurors"], overruled=parts.human is not None)
            if raw:
                body["score"] = None
            body["meta"] = dict(common["meta"])
            if panel.scope.assert_set:
                # The result and threshold of an assert-set belong to no single juror.
                passed = panel.scope.outcome.get("pass")
                set_facts = {
                    "name": panel.scope.set_name,
                    "pass": passed if isinstance(passed, bool) else None,
                    "score": values.number(panel.scope.outcome.get("score")),
                    "threshold": panel.scope.bar,
                }
                body["meta"]["assert_set"] = values.without_nulls(set_facts)
            bodies.append(body)
        if row.get("success") is False and not any(one["decision"] == "fail" for one in bodies):
            for body in bodies:
                if body["decision"] == "pass":
                    body["meta"]["contradictions"] = [_FAILED_TEST]
        for at, (body, kind) in enumerate(zip(bodies, kinds, strict=True)):
            # Each of several juries has its type in its name, numbered if the type repeats.
            nth = f" {kinds[: at + 1].count(kind)}" if kinds.count(kind) > 1 else ""
            yield self._with_id(body, number, f"{kind[:80]}{nth}" if len(kinds) > 1 else "")

    def _with_id(self, body: JsonObject, prompt: int, tag: str) -> JsonObject:
        steps = [body["case"]["test"][:_NAME_LENGTH]]
        if len(self._survey.prompts) > 1:
            steps.append(f"prompt {prompt}")
        if len(self._survey.providers) > 1:
            steps.append(body["meta"]["row"].get("provider", "?")[:_NAME_LENGTH])
        if "epoch" in body["case"]:
            steps.append(f"epoch {body['case']['epoch']}")
        name = "/".join([*steps, *([tag] if tag else [])])
        kept = {key: value for key, value in body.items() if value not in (None, [], {})}
        return {"id": self._names.verdict(name), **kept, "jurors": body["jurors"]}


def _common(row: JsonObject, test: str, epoch: int | None, pointer: str) -> JsonObject:
    provider = Provider.of(row.get("provider"))
    generator = values.without_nulls({"model": provider.model, "vendor": provider.vendor})
    prompt = record(row, "prompt")
    case = record(row, "testCase")
    error = row.get("error") if row.get("failureReason") == ERROR else None
    facts = {
        "id": row.get("id"),
        "pass": row.get("success"),
        "score": row.get("score"),
        "threshold": case.get("threshold"),
        "test": row.get("testIdx"),
        "prompt": prompt.get("label"),
        "provider": provider.name,
        "error": without_likely(error) if isinstance(error, str) else None,
    }
    plain = {key: value for key, value in facts.items() if isinstance(value, str | int | float)}
    result = values.label(row.get("id"))
    response = row.get("response")
    return {
        "case": values.without_nulls({"test": test, "epoch": epoch}),
        "input": values.text(prompt.get("raw")),
        "output": values.text(response.get("output") if isinstance(response, dict) else response),
        "generator": generator,
        "provenance": {"pointer": pointer},
        "meta": {"row": plain, **({"origin": {"result": result}} if result else {})},
    }


def _check(check: GradedAssertion, at: int) -> JsonObject:
    value = check.value
    name = check.assertion.get("metric") or check.kind or f"check {at}"
    is_code = check.kind.removeprefix("not-") in _CODE
    if name == check.kind and isinstance(value, str | int | float) and not is_code:
        name = f"{name}: {shown_address(value) if isinstance(value, str) else value}"
    passed = check.result.get("pass")
    return values.without_nulls(
        {
            "name": without_likely(str(name))[:_NAME_LENGTH],
            "pass": passed if isinstance(passed, bool) else None,
            "reason": values.text(check.result.get("reason")),
        },
        "pass",
    )


def _human(rating: GradedAssertion | None) -> JsonObject | None:
    """Return a person's rating of the row, which promptfoo lists among its assertions."""
    if rating is None:
        return None
    label = {True: "pass", False: "fail"}
    stated = rating.result.get("pass")
    result = rating.result
    sources = (result, rating.metadata, rating.assertion)
    by, at = (
        next((text for each in sources if isinstance(text := each.get(key), str) and text), None)
        for key in ("author", "timestamp")
    )
    return values.without_nulls(
        {
            "label": label[stated] if isinstance(stated, bool) else "unsure",
            "by": by,
            "at": values.time(at),
            "note": values.text(result.get("comment") or result.get("reason") or None),
        }
    )


def _rubric_fields(panel: AssertionJury) -> JsonObject:
    base = panel.kind.removeprefix("not-")
    value = panel.value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "\n".join(value)
    asserted = values.text(value)
    rubric = base if base in _REFERENCES or not asserted else asserted
    return {
        "rubric": f"not: {rubric}" if panel.negated else rubric,
        "reference": asserted if base in _REFERENCES else None,
    }


def _jury_decision(
    panel: AssertionJury, jurors: list[JsonObject], *, overruled: bool
) -> JsonObject:
    """Return the decision and score that promptfoo's rules give the jury.

    If a row or an assert-set holds only this jury, its result is the jury's. Otherwise every
    assertion of the jury must pass, which is promptfoo's rule without a threshold. A threshold
    that other assertions share leaves a jury of several undecided. If a person rated the row
    (``overruled``), its result is that rating and is not used.
    """
    outcome = {} if overruled and not panel.scope.assert_set else panel.scope.outcome
    stated = outcome.get("pass") if panel.alone else None
    score = values.unit(outcome.get("score")) if panel.alone else None
    if not isinstance(stated, bool):
        votes = [
            None if one.failed or one.result.get("score", 0) is None else one.result.get("pass")
            for one in panel.ballots
        ]
        if panel.scope.bar is not None and len(votes) > 1:
            stated = None
        elif any(vote is False for vote in votes):
            stated = False
        else:
            stated = True if all(vote is True for vote in votes) else None
    if len(jurors) == 1 and "score" in jurors[0]:
        score = jurors[0]["score"]
    if all("error" in juror for juror in jurors):
        return {"decision": "error"}
    return {"decision": values.decision(stated), "score": score}


_LONGEST_YAML = 8 << 20
_SHARED = 1 << 20
"""A promptfoo YAML has the variables of every row twice, the second time as an alias."""

_AS_JSON = "Export it again as JSON: promptfoo export eval EVAL_ID -o results.json."


Rows: TypeAlias = Callable[[BinaryIO, ImportTally], Iterator[Record]]


def _fits(look: FirstLook) -> bool:
    if look.kind == "text":
        return look.text.lstrip().startswith("evalId:")
    return look.kind == "json" and (_is_row(look.outline) or _is_envelope(look.outline))


def _is_row(outline: Outline) -> bool:
    keys = outline.keys
    return "results" not in keys and (
        "gradingResult" in keys or {"promptIdx", "testCase"} <= keys.keys()
    )


def _is_envelope(outline: Outline) -> bool:
    """Return True for an export, and for the summary that promptfoo's library returns.

    The summary has the rows under ``results``, an export under ``results.results``.
    """
    keys = outline.keys
    if outline.kind != "object" or "results" not in keys:
        return False
    inner = keys["results"]
    has_summary = isinstance(inner, dict) and {"results", "stats"} <= inner.keys()
    first = outline.first("results")
    return "evalId" in keys or has_summary or {"promptIdx", "testCase"} <= first.keys()


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    fail = failing(source)
    envelope, rows = _envelope_and_rows(source, look, fail)
    of_file = named_secrets(envelope.get("config"), frozenset({"vars"}))
    looked = ImportTally(lenient=True)
    with source.open() as stream:
        seen = survey(found.value for found in rows(stream, looked))
    if not seen.rows:
        raise fail("", "is a promptfoo result without rows", "Run the evaluation again.")
    if not seen.some:
        problem = "is a promptfoo result in which no model graded anything: it has no jury"
        raise fail("", problem, "Add assertions such as llm-rubric, and run it again.")

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = RowMapper(seen, options)
        for found in rows(stream, tally):
            if not isinstance(found.value, dict):
                yield found.refused(FieldProblem((), must_be("an object", found.value)))
                continue
            place = f"line {found.line}" if found.line else found.pointer
            secrets = of_file | named_secrets(found.value, _CONTENT)
            # The report refuses a verdict beside more of them.
            removed = secrets if len(secrets) <= MOST_SECRETS else frozenset()
            try:
                for verdict in mapper.verdicts(found.value, place, removed):
                    yield found.item(verdict, secrets)
            except FieldError as error:
                yield found.refused(error.problem)
        tally.notes.extend([*mapper.models.notes(), *mapper.panels.import_notes()])
        tally.notes.extend(mapper.remarks.notes("keys not mapped and left out"))

    return Report(
        source,
        "promptfoo",
        _header(envelope, look),
        items,
        skip_bad=options.skip_bad,
        looked=looked,
        secrets=of_file,
    )


def _envelope_and_rows(source: Source, look: FirstLook, fail: Fail) -> tuple[JsonObject, Rows]:
    outline = look.outline
    if look.kind == "text":
        document, counted = _yaml(source, fail)
        held = document.get("results")
        inner = ("results", "results") if isinstance(held, dict) else ("results",)
        listed = values.listed(held.get("results") if isinstance(held, dict) else held)

        def yaml_rows(_stream: BinaryIO, tally: ImportTally) -> Iterator[Record]:
            tally.nonfinite += counted.nonfinite
            tally.surrogates += counted.surrogates
            yield from (Record(row, (*inner, index)) for index, row in enumerate(listed))

        return document, yaml_rows
    if _is_row(outline):
        return {}, lambda stream, tally: records(stream, outline, fail, tally)
    if outline.kind != "object" or "results" not in outline.keys:
        raise fail("$.results", "is missing", _AS_JSON)
    if outline.goes_on:
        raise fail("", "holds something behind the end of the result", "Remove it.")
    return outline.keys, lambda stream, tally: _envelope_rows(Window(stream, fail, tally))


def _envelope_rows(window: Window) -> Iterator[Record]:
    for key in window.members():
        if key != "results":
            window.skip(spell_path((key,)))
        elif window.peek() == "[":
            yield from elements(window, ("results",))
        elif window.peek() == "{":
            for inner in window.members():
                if inner == "results" and window.peek() == "[":
                    yield from elements(window, ("results", "results"))
                else:
                    window.skip(spell_path((inner,), "$.results"))
        else:
            window.skip("$.results")


def _yaml(source: Source, fail: Fail) -> tuple[JsonObject, ImportTally]:
    # Imported here, because most results are JSON and need no YAML parser.
    from reviewdesk.reports.bytes.yaml_nodes import Form, read_yaml

    counted = ImportTally(lenient=True)
    form = Form(
        "a promptfoo result in YAML",
        _LONGEST_YAML,
        _AS_JSON,
        _AS_JSON,
        max_depth=MAX_DEPTH,
        tally=counted,
        fast=True,
        shared=_SHARED,
    )
    try:
        document = read_yaml(source, form).plain()
    except SuiteError as error:
        place = f"line {error.line}" if error.line else ""
        raise fail(place, error.problem, error.hint) from error
    if not isinstance(document, dict):
        raise fail("$", must_be("an object", document), _AS_JSON)
    return document, counted


def _header(envelope: JsonObject, look: FirstLook) -> JsonObject:
    summary = record(envelope, "results")
    metadata = record(envelope, "metadata")
    version = summary.get("version", envelope.get("version"))
    shape = "yaml" if look.kind == "text" else "json" if envelope else "jsonl"
    numbered = isinstance(version, int) and not isinstance(version, bool)
    producer = {
        "name": "promptfoo",
        "format": f"{shape} v{version}" if numbered else shape,
        "version": metadata.get("promptfooVersion"),
        "run_id": envelope.get("evalId"),
    }
    header: JsonObject = {
        "schema": FORMAT_NAME,
        "producer": {key: text for key, text in producer.items() if isinstance(text, str)},
    }
    title = record(envelope, "config").get("description")
    if isinstance(title, str) and title.strip():
        header["title"] = title
    started = summary.get("timestamp", metadata.get("evaluationCreatedAt"))
    if created := values.time(started):
        header["created_at"] = created
    return header


DIALECT = Dialect(
    "promptfoo",
    "a promptfoo result",
    _fits,
    _open,
    uses=frozenset({"models", "scale"}),
    steps_in=True,
)
