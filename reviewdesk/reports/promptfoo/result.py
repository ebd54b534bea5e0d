"""Open promptfoo results: JSON, JSON Lines and YAML.

A row is one output of one provider for one prompt and test. All graders of the same assertion in
a row form one jury. Rows are read one by one, and no configuration is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeAlias

from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import MAX_DEPTH, Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.secrets import SecretRemover, named_secrets
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo.jurors import record
from reviewdesk.reports.promptfoo.verdicts import RowMapper, survey
from reviewdesk.reports.report import (
    Dialect,
    FirstLook,
    Record,
    Report,
    ReportVerdict,
    elements,
    records,
)
from reviewdesk.reports.wording import FieldError, FieldProblem, JsonObject, must_be, spell_path

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
    looked = ImportTally(lenient=True)
    with source.open() as stream:
        seen = survey((found.value for found in rows(stream, looked)), options)
    if not seen.rows:
        raise fail("", "is a promptfoo result without rows", "Run the evaluation again.")
    if not seen.some:
        problem = "is a promptfoo result in which no model graded anything: it has no jury"
        raise fail("", problem, "Add assertions such as llm-rubric, and run it again.")
    secrets = named_secrets(envelope.get("config"), frozenset({"vars"}))

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = RowMapper(seen, options, secrets)
        for found in rows(stream, tally):
            if not isinstance(found.value, dict):
                yield found.refused(FieldProblem((), must_be("an object", found.value)))
                continue
            place = f"line {found.line}" if found.line else found.pointer
            try:
                for verdict in mapper.verdicts(found.value, place):
                    yield found.item(verdict)
            except FieldError as error:
                yield found.refused(error.problem)
        tally.notes.extend([*mapper.models.notes(), *mapper.panels.import_notes()])
        tally.notes.extend(mapper.remarks.notes("keys not mapped and left out"))

    header = SecretRemover(secrets).clean(_header(envelope, look))
    skip_bad = options.skip_bad
    return Report(source, "promptfoo", header, items, skip_bad=skip_bad, looked=looked)


def _envelope_and_rows(source: Source, look: FirstLook, fail: Fail) -> tuple[JsonObject, Rows]:
    """Return the object around the rows, and the function that reads the rows from a stream."""
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
