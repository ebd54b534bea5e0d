"""Open promptfoo results: JSON, JSON Lines and YAML.

A row is one output of one provider for one prompt and test. All graders of the same assertion in
a row form one jury. Rows are read one by one, and no configuration is copied.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias

import msgspec
from msgspec.structs import replace

from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import MAX_DEPTH, Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline, Window
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import ID_LENGTH, LateFactError, Models
from reviewdesk.reports.mapping.secrets import (
    MOST_SECRETS,
    named_secrets,
    without_likely,
    without_secrets,
)
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo.jurors import (
    ERROR,
    RULE,
    AssertionJury,
    GradedAssertion,
    Provider,
    ResultRow,
    ballots,
    graders,
    record,
    shared_line,
    shown_address,
    take_apart,
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
from reviewdesk.reports.tables.ballot import PanelReader, TableSurvey
from reviewdesk.reports.wording import FieldError, JsonObject, Path, must_be, spell_path

_NAME_LENGTH = 200


def _digest(value: object) -> bytes:
    # Short, because one is kept for each row.
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).digest()[:16]


class Tests:
    """Names the tests of the rows, and counts their repetitions, prompts and providers."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._numbers: dict[bytes, int] = {}
        """The numbers of tests without a description."""
        self._epochs: dict[bytes, int] = {}
        self.repeats = False
        """Whether any test was repeated."""
        self.providers: dict[str | None, None] = {}
        self.prompts: dict[str, int] = {}
        """The first column of each prompt."""

    def place(self, row: JsonObject) -> tuple[str, int, str]:
        """Count a row; return its test's name, the repetition from 1, and the prompt.

        Repetitions are counted by prompt and provider. A prompt is named by its id, label or
        column.
        """
        case = record(row, "testCase")
        identity = [case.get(key) for key in ("description", "vars", "assert")]
        digest = _digest(identity)
        name = case.get("description")
        if not (isinstance(name, str) and name.strip()):
            index = row.get("testIdx")
            number = index if isinstance(index, int) else len(self._numbers)
            name = f"test {self._numbers.setdefault(digest, number) + 1}"
        provider = Provider.of(row.get("provider")).name
        self.providers[provider] = None
        column = row.get("promptIdx")
        named = row.get("promptId")
        named = record(row, "prompt").get("label") if named is None else named
        prompt = str(column if named is None else named)[:_NAME_LENGTH]
        at = column if isinstance(column, int) else 0
        self.prompts[prompt] = min(at, self.prompts.get(prompt, at))
        key = _digest([digest.hex(), provider, prompt])
        self._epochs[key] = epoch = self._epochs.get(key, 0) + 1
        self.repeats |= epoch > 1
        return name, epoch, prompt


class ResultSurvey:
    """Counts and names from a first pass over all rows. One that is unreadable may be a verdict."""

    def __init__(self, rows: Iterable[Any], *, streamed: bool) -> None:
        """Survey all rows. If ``streamed``, there are none, and all rows are taken to be alike."""
        self.streamed = streamed
        self.scores = TableSurvey(scale_by_judge=True, scored=False)
        panels = PanelReader(RULE, self.scores, ReadOptions())
        self.some = False
        """Whether any row may give a verdict."""
        self.rows = 0
        self.tests = Tests()
        for row in rows:
            self.rows += 1
            if not isinstance(row, dict):
                self.some = True
                continue
            self.tests.place(row)
            if self.some and not _is_raw(record(row, "gradingResult")):
                continue
            try:
                parts = take_apart(row)
            except FieldError:
                self.some = True
                continue
            self.some |= bool(parts.panels) or parts.stands_alone
            for panel in parts.panels:
                named = zip(panel.ballots, graders(panel, row), strict=True)
                panels.survey(
                    [
                        {"name": name, "score": values.number(part.result.get("score"))}
                        for part, (name, _) in named
                        if not part.failed
                    ]
                )
        columns = self.tests.prompts
        self.prompts = {one: at for at, one in enumerate(sorted(columns, key=columns.get), 1)}  # type: ignore[arg-type]
        """The number of each prompt, from 1 in the order of the columns."""


def _is_raw(result: JsonObject) -> bool:
    """Return True if a result, or a part of it, has a score outside 0..1."""
    score = values.number(result.get("score"))
    if score is not None and not 0 <= score <= 1:
        return True
    parts = values.listed(result.get("componentResults"))
    return any(_is_raw(part) for part in parts if isinstance(part, dict))


_REFERENCES = ("factuality", "model-graded-factuality", "context-recall")
"""Assertions whose value is the correct answer, not a rubric."""

_CONTENT = frozenset({"vars", "output", "outputPath"})
"""Keys of the judged content, which holds no configuration and thus no named secrets."""

_CODE = frozenset({"javascript", "python", "ruby"})
"""Types of assertions whose value is a program."""

_FAILED_TEST = "promptfoo fails the whole test, and this jury passes"
"""The note on a jury that passes in a row that fails although no jury of the row fails."""


class RowMapper:
    """Maps the rows of one file; remembers the notes on the import."""

    def __init__(self, seen: ResultSurvey, options: ReadOptions) -> None:
        """Start with the survey of all rows."""
        self.panels = PanelReader(RULE, seen.scores, replace(options, models={}))
        self.models = Models(options)
        self._survey = seen
        self._options = options
        self._tests = Tests()

    def verdicts(
        self, row: JsonObject, pointer: str, secrets: frozenset[str]
    ) -> Iterator[JsonObject]:
        """Yield the canonical verdicts of a row, one for each jury, without its secrets."""
        survey = self._survey
        tests = self._tests
        test, epoch, prompt = tests.place(row)
        if survey.streamed and (tests.repeats or len(tests.prompts) + len(tests.providers) > 2):
            raise LateFactError
        # Names are cut to a length below: of a secret that lies across the cut a part would stay.
        test, row = without_secrets([test, row], secrets)
        parts = take_apart(row)
        common = _common(row, pointer)
        repeats = survey.tests.repeats
        common["case"] = {"test": test, "epoch": epoch} if repeats else {"test": test}
        steps = [test[:_NAME_LENGTH]]
        if len(survey.prompts) > 1:
            steps.append(f"prompt {survey.prompts[prompt]}")
        if len(survey.tests.providers) > 1:
            steps.append(common["meta"]["row"].get("provider", "?")[:_NAME_LENGTH])
        if repeats:
            steps.append(f"epoch {epoch}")
        common["checks"] = [_check(check, at) for at, check in enumerate(parts.checks, 1)]
        common["human"] = _human(parts.human)
        bodies = [self._body(row, panel, common, parts) for panel in parts.panels]
        if parts.stands_alone:
            decision = "error" if parts.errored else None
            bodies.append({**common, "jurors": [], "decision": decision})
        elif not bodies:
            self.panels.notes.count("a row without judged assertions is left out")
        kinds = [panel.kind for panel in parts.panels]
        failed = row.get("success") is False and all(one["decision"] != "fail" for one in bodies)
        for at, body in enumerate(bodies):
            if failed and body["decision"] == "pass":
                body["meta"]["contradictions"] = [_FAILED_TEST]
            tag = []
            if len(kinds) > 1:
                # Each of several juries has its type in its name, numbered if the type repeats.
                kind = kinds[at]
                nth = f" {kinds[: at + 1].count(kind)}" if kinds.count(kind) > 1 else ""
                tag = [f"{kind[:80]}{nth}"]
            kept = {key: value for key, value in body.items() if value not in (None, [], {})}
            name = "/".join([*steps, *tag])
            yield {"id": name[:ID_LENGTH], **kept, "jurors": body["jurors"]}

    def _body(
        self, row: JsonObject, panel: AssertionJury, common: JsonObject, parts: ResultRow
    ) -> JsonObject:
        """Return the verdict of one jury, without an id."""
        jury_graders = graders(panel, row)
        line = shared_line(panel, self._options)
        jurors = ballots(panel, jury_graders, line, self.models, self.panels)
        off = self._survey.scores.off_scale
        raw = self._options.scale is None and any(off(name) for name, _ in jury_graders)
        meta = dict(common["meta"])
        scope = panel.scope
        if scope.assert_set:
            # The result and threshold of an assert-set belong to no single juror.
            passed = scope.outcome.get("pass")
            meta["assert_set"] = values.without_nulls({
                "name": scope.set_name,
                "pass": passed if isinstance(passed, bool) else None,
                "score": values.number(scope.outcome.get("score")),
                "threshold": scope.bar,
            })  # fmt: skip
        value = panel.value
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            value = "\n".join(value)
        asserted = values.text(value)
        is_reference = panel.base in _REFERENCES
        rubric = panel.base if is_reference or not asserted else asserted
        body = {
            **common,
            "case": {**common["case"], "target": panel.kind},
            "rubric": f"not: {rubric}" if panel.negated else rubric,
            "reference": asserted if is_reference else None,
            "jurors": jurors,
            "threshold": None if raw else line,
            "meta": meta,
            **_jury_decision(panel, jurors, overruled=parts.human is not None),
        }
        return body | {"score": None} if raw else body


def _common(row: JsonObject, pointer: str) -> JsonObject:
    """Return the fields that all verdicts of a row share."""
    provider = Provider.of(row.get("provider"))
    prompt = record(row, "prompt")
    error = row.get("error") if row.get("failureReason") == ERROR else None
    facts = {
        "id": row.get("id"),
        "pass": row.get("success"),
        "score": row.get("score"),
        "threshold": record(row, "testCase").get("threshold"),
        "test": row.get("testIdx"),
        "prompt": prompt.get("label"),
        "provider": provider.name,
        "error": without_likely(error) if isinstance(error, str) else None,
    }
    plain = {key: value for key, value in facts.items() if isinstance(value, str | int | float)}
    result = values.label(row.get("id"))
    response = row.get("response")
    return {
        "input": values.text(prompt.get("raw")),
        "output": values.text(response.get("output") if isinstance(response, dict) else response),
        "generator": values.without_nulls({"model": provider.model, "vendor": provider.vendor}),
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
    made = {
        "name": without_likely(str(name))[:_NAME_LENGTH],
        "pass": passed if isinstance(passed, bool) else None,
        "reason": values.text(check.result.get("reason")),
    }
    return values.without_nulls(made, "pass")


def _human(rating: GradedAssertion | None) -> JsonObject | None:
    """Return a person's rating of the row, which promptfoo lists among its assertions."""
    if rating is None:
        return None
    result = rating.result
    stated = result.get("pass")
    sources = (result, record(result, "metadata"), rating.assertion)
    by, at = (
        next((text for each in sources if isinstance(text := each.get(key), str) and text), None)
        for key in ("author", "timestamp")
    )
    return values.without_nulls({
        "label": ("pass" if stated else "fail") if isinstance(stated, bool) else "unsure",
        "by": by,
        "at": values.time(at),
        "note": values.text(result.get("comment") or result.get("reason") or None),
    })  # fmt: skip


def _jury_decision(
    panel: AssertionJury, jurors: list[JsonObject], *, overruled: bool
) -> JsonObject:
    """Return the decision and score that promptfoo's rules give the jury.

    If a row or an assert-set holds only this jury, its result is the jury's, unless a person rated
    the row (``overruled``). Otherwise every assertion of the jury must pass, which is promptfoo's
    rule without a threshold. A threshold that other assertions share leaves several undecided.
    """
    if all("error" in juror for juror in jurors):
        return {"decision": "error"}
    scope = panel.scope
    alone = len(panel.ballots) == len(scope.parts) and (scope.assert_set or not overruled)
    stated = scope.outcome.get("pass") if alone else None
    score = values.unit(scope.outcome.get("score")) if alone else None
    if not isinstance(stated, bool):
        votes = [
            None if one.failed or one.result.get("score", 0) is None else one.result.get("pass")
            for one in panel.ballots
        ]
        stated = None
        if scope.bar is None or len(votes) == 1:
            failed = any(vote is False for vote in votes)
            stated = False if failed else True if all(vote is True for vote in votes) else None
    if len(jurors) == 1 and "score" in jurors[0]:
        score = jurors[0]["score"]
    return {"decision": values.decision(stated), "score": score}


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
    streamed = look.outline.streamed
    looked = ImportTally(lenient=True)
    with source.open() as stream:
        surveyed = () if streamed else rows(stream, looked)
        seen = ResultSurvey((found.value for found in surveyed), streamed=streamed)
    if not (seen.rows or streamed):
        raise fail("", "is a promptfoo result without rows", "Run the evaluation again.")
    if not (seen.some or streamed):
        problem = "is a promptfoo result in which no model graded anything: it has no jury"
        raise fail("", problem, "Add assertions such as llm-rubric, and run it again.")

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = RowMapper(seen, options)
        some = False
        for found in rows(stream, tally):
            if not isinstance(found.value, dict):
                yield found.refused(FieldError((), must_be("an object", found.value)))
                continue
            place = f"line {found.line}" if found.line else found.pointer
            secrets = of_file | named_secrets(found.value, _CONTENT)
            # The report refuses a verdict beside more of them.
            removed = secrets if len(secrets) <= MOST_SECRETS else frozenset()
            try:
                for verdict in mapper.verdicts(found.value, place, removed):
                    some = True
                    yield found.item(verdict, secrets)
            except FieldError as error:
                yield found.refused(error)
        if streamed and not some:
            raise LateFactError
        remarks = mapper.panels.notes.notes("keys not mapped and left out")
        tally.notes.extend([*mapper.models.notes(), *mapper.panels.import_notes(), *remarks])

    return Report(
        source,
        "promptfoo",
        _header(envelope, look),
        items,
        skip_bad=options.skip_bad,
        lenient=True,
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
        raise fail("", "continues after the end of the result", "Remove it.")
    return outline.keys, lambda stream, tally: _envelope_rows(Window(stream, fail, tally))


def _envelope_rows(window: Window, path: Path = ()) -> Iterator[Record]:
    """Yield the rows under ``results`` or ``results.results``."""
    for key in window.members():
        inner = (*path, key)
        if key == "results" and window.peek() == "[":
            yield from elements(window, inner)
        elif key == "results" and window.peek() == "{" and not path:
            yield from _envelope_rows(window, inner)
        else:
            window.skim(spell_path(inner))


def _yaml(source: Source, fail: Fail) -> tuple[JsonObject, ImportTally]:
    # Imported here, because most results are JSON and need no YAML parser.
    from reviewdesk.reports.bytes.yaml_nodes import Form, read_yaml

    counted = ImportTally(lenient=True)
    form = Form(
        "a promptfoo result in YAML",
        8 << 20,
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
    return {
        "producer": {key: text for key, text in producer.items() if isinstance(text, str)},
        "title": values.filled(record(envelope, "config").get("description")),
        "created_at": values.time(summary.get("timestamp", metadata.get("evaluationCreatedAt"))),
    }


DIALECT = Dialect(
    "promptfoo",
    "a promptfoo result",
    _fits,
    _open,
    uses=frozenset({"models", "scale"}),
    steps_in=True,
)
