"""The reader of mcptest reports, JSON and NDJSON.

Their envelope is not public, so a jury is recognised by its structure, and only the keys that are
understood are read. The raw object is kept with the verdict, and an import note reports this.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, BinaryIO

from msgspec import Struct

from reviewdesk.reports.bytes import strict_json
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import HOLDERS
from reviewdesk.reports.bytes.window import Outline, TextLine, line_value
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.conversation import Conversation, conversation
from reviewdesk.reports.mapping.foreign import ID_LENGTH, Remarks
from reviewdesk.reports.mapping.secrets import named_secrets, settings_among, without_settings
from reviewdesk.reports.mapping.values import first
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.refusals import of_json
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict, records
from reviewdesk.reports.tables.ballot import PanelReader, TableSurvey
from reviewdesk.reports.tables.cells import REASONS, SPELLINGS, USUAL
from reviewdesk.reports.tables.table import USES, unclear
from reviewdesk.reports.wording import JsonObject

PANEL_KEYS = (
    *("jurors", "votes", "verdicts", "judges", "critics"),
    *("ballots", "judgements", "judgments", "ratings"),
)
_PANELS = frozenset(PANEL_KEYS)
ESCALATE = "escalate_for_review"
_PASSES = ("pass", "passed", "verdict", "ok", "correct")
"""The keys of a juror's vote; null there withholds it."""
_ANSWERS = frozenset({"score", "status", *_PASSES})
_QUESTIONS = frozenset({"criterion", "metric", "dimension", "aspect", "question"})
"""Keys of what is an answer to one of several questions rather than a juror's vote."""
CHECK_LISTS = ("assertions", "checks", "expect", "expectations", "asserts")


class FoundJury(Struct, frozen=True):
    """One jury as found. ``facts`` is ``raw`` with the keys of an object around the panel."""

    raw: JsonObject
    facts: JsonObject
    panel: list[JsonObject]
    panel_key: str
    pointer: str
    above: tuple[tuple[JsonObject, str], ...]
    """The objects above the jury, nearest first, each with the key that leads towards the jury."""
    listed: bool
    """Whether the jury is a list element or the document itself; then its name is the case's."""


def find_juries(
    node: Any,
    above: tuple[tuple[JsonObject, str], ...] = (),
    pointer: str = "",
    shell: Mapping[str, Any] = MappingProxyType({}),
    held: dict[int, bool] | None = None,
    *,
    listed: bool = True,
) -> Iterator[FoundJury]:
    """Yield every jury of a document in document order; nothing inside a jury is searched.

    For inner values, ``shell`` has the facts of an object around the panel, and ``held`` says which
    objects are known to hold a jury.
    """
    held = {} if held is None else held
    if isinstance(node, list):
        for index, child in enumerate(node):
            if type(child) in HOLDERS:
                yield from find_juries(child, above, f"{pointer}/{index}", held=held)
        return
    if not isinstance(node, dict):
        return
    if key := _panel_key(node, held):
        yield FoundJury(node, {**shell, **node}, node[key], key, pointer, above, listed)
        return
    children = [(key, child) for key, child in node.items() if type(child) in HOLDERS]
    if ESCALATE in node:
        inner = {key for key, child in children if _holds_jury(child, held)}
        if not inner:
            yield FoundJury(node, {**shell, **node}, [], "", pointer, above, listed)
            return
        shell = {key: value for key, value in node.items() if key not in inner}
    for key, child in children:
        place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        yield from find_juries(child, ((node, key), *above), place, shell, held, listed=False)


def _panel_key(node: JsonObject, held: dict[int, bool]) -> str | None:
    """Return the key that holds an object's jurors, or None.

    A list of models without any answer is a panel's configuration, and a list of objects that
    hold juries themselves is a list of tests.
    """
    for key in PANEL_KEYS if not _PANELS.isdisjoint(node) else ():
        panel = node.get(key)
        if not isinstance(panel, list) or not panel:
            continue
        if not all(isinstance(juror, dict) for juror in panel):
            continue
        keys: set[str] = set().union(*panel)
        answered = ESCALATE in node or not _ANSWERS.isdisjoint(keys)
        answered = answered or all("error" in juror for juror in panel)
        if answered and _QUESTIONS.isdisjoint(keys) and not _holds_jury(panel, held):
            return key
    return None


def _holds_jury(value: Any, held: dict[int, bool]) -> bool:
    """Return True if a list or an object has a jury, at any depth; ``held`` has known answers."""
    if type(value) is list:
        return any(_holds_jury(child, held) for child in value if type(child) in HOLDERS)
    if ESCALATE in value or HOLDERS.isdisjoint(map(type, value.values())):
        return ESCALATE in value
    if (known := held.get(id(value))) is None:
        known = _holds_jury([*value.values()], held) or bool(_panel_key(value, held))
        held[id(value)] = known
    return known


_JUROR_NAMES = ("name", "id", *SPELLINGS["judge"], "by", "model")
_RULE = {
    "each": "juror", "judge": "seat", "known": [*_JUROR_NAMES],
    "score": "score", "raw_score": "raw_score", "pass": "|".join(_PASSES), "label": "label",
    "reason": "|".join(REASONS), "error": "error", "status": "status",
    "model": "model", "vendor": "vendor", "role": "role", "confidence": "confidence",
    "weight": "weight", "latency_ms": "latency_ms", "cost_usd": "cost_usd",
    "tokens_in": "tokens_in", "tokens_out": "tokens_out",
}  # fmt: skip
"""The keys of a juror's record that hold its ballot."""


@lru_cache(maxsize=4096)
def _names_among(keys: tuple[str, ...]) -> list[str]:
    return [key for key in _JUROR_NAMES if key in keys]


def _panel(jury: FoundJury) -> list[JsonObject]:
    """Return the records of a jury's jurors with their names, without settings and empty values."""
    panel = []
    for seat, one in enumerate(jury.panel, 1):
        keys = tuple(one)
        record = dict(one)
        empty = [key for key, value in one.items() if not value and type(value) in HOLDERS]
        for key in settings_among(keys).union(empty):
            del record[key]
        record["seat"] = f"juror {seat}"
        for key in _names_among(keys):
            held = record.get(key)
            held = first(held, ("name", "id", "model")) if isinstance(held, dict) else held
            if name := values.label(held):
                record["seat"] = name
                break
        panel.append(record)
    return panel


def _spelt(*names: str) -> tuple[str, ...]:
    """Return names, and those of several words in camel case, such as ``itemId``."""
    camel = (re.sub(r"_([a-z])", lambda found: found[1].upper(), one) for one in names)
    return tuple(dict.fromkeys((*names, *camel)))


_DECISIONS = _spelt(
    *("passed", "pass", "verdict", "decision"),
    *("consensus", "outcome", "final", "final_decision", "final_verdict", "majority"),
)
_AGREEMENTS = ("agreement", "krippendorff_alpha", "alpha")
_INPUTS = ("input", "arguments", "args", *SPELLINGS["input"])
_OUTPUTS = ("output", "response", "actual", "result", *SPELLINGS["output"])
_GENERATORS = ("generator", "agent", "model")
_NAMES = _spelt("name", "test", "id", *SPELLINGS["item"], "$oid")
_INNER = {"_id", "sample", "example", "case", "data", "record", "task", "inputs", "doc"}
_HUMANS = ("human", "human_label", "human_verdict")
_TEST_KEYS = frozenset({*_NAMES, *CHECK_LISTS})
_MAPPED = frozenset(
    {*_DECISIONS, *_AGREEMENTS, *_INPUTS, *_OUTPUTS, *_GENERATORS, *_NAMES, *_HUMANS, ESCALATE}
    | {"confidence", "threshold", "quorum", "same_family", "score", "matcher", "target", "type"}
    | {"rubric", "bias_warning"}
)


def _agreement(stated: Any) -> JsonObject | None:
    value = first(stated, ("alpha", "value")) if isinstance(stated, dict) else stated
    number = values.number(value)
    fits = value is None or (number is not None and number <= 1)
    return {"value": value, "metric": "krippendorff_alpha"} if fits else None


def _of_type(kind: type, stated: Any) -> Any:
    return stated if isinstance(stated, kind) else None


_BANDS = {band: band for band in ("high", "medium", "low")}
_FITS: dict[str, Callable[[Any], Any]] = {
    "rubric": values.text, "threshold": values.unit, "quorum": values.quorum,
    "score": values.unit, "agreement": _agreement,
    "confidence": lambda stated: _BANDS.get(str(stated).strip().lower()),
}  # fmt: skip
"""How a fact of a jury is read; a value that does not fit is left out, and counted."""
_POLICY = ("rubric", "threshold", "quorum")
_PLAIN = {ESCALATE: bool, "same_family": bool, "bias_warning": str}
"""The facts that are kept as they are, with their types."""


def _verdict(jury: FoundJury, line: int, panels: PanelReader) -> JsonObject:
    """Return the canonical verdict of a jury; ``line`` is 0 if the file is one document."""
    remarks = panels.notes
    facts = jury.facts
    settings = settings_among(tuple(facts))
    if more := facts.keys() - _MAPPED - {jury.panel_key} - settings:
        remarks.unmapped(key for key in facts if key in more)
    if settings or any(map(settings_among, map(tuple, jury.panel))):
        remarks.count("settings such as headers, environments and keys are left out")
    pointer = f"line {line}#{jury.pointer}" if line else jury.pointer
    around = [node for node, _ in jury.above]
    # The id of a row counts more than the name of the run around it.
    own = jury.listed and not (jury.above and jury.above[0][1] in CHECK_LISTS)
    row = [facts, *_inner(facts)]
    groups = [row, around] if own else [[*around, *row]]
    keys = (*_NAMES, *(key for key in facts if key.endswith("_id")))
    named = (values.label(one.get(key)) for some in groups for key in keys for one in some)
    # A jury in an object of several objects is called by its key.
    parent, key = jury.above[0] if jury.above and not jury.listed else ({}, "")
    keyed = len(parent) > 1 and all(type(one) is dict for one in parent.values())
    test = next(filter(None, named), (keyed and key) or pointer or "/")
    said = conversation(_nearest(jury, SPELLINGS["conversation"])) or Conversation(None, None)
    juries = panels.juries(_panel(jury))
    jurors = [one for made in juries.values() for one in made]
    for ballot, record in zip(jurors, jury.panel, strict=True):
        if None in record.values():
            votes = [record[key] for key in _PASSES if key in record]
            if votes and votes.count(None) == len(votes):
                ballot["pass"] = None
    label = USUAL.human(first(facts, _HUMANS))
    agreement = next((facts[key] for key in _AGREEMENTS if key in facts), None)
    body: JsonObject = {
        "id": test[:ID_LENGTH],
        "case": values.without_nulls({
            "test": test,
            "suite": _of_type(str, _nearest(jury, ("suite",))),
            "target": _of_type(str, facts.get("target")),
        }),
        "input": values.text(_nearest(jury, _INPUTS)) or said.input,
        "output": values.text(_nearest(jury, _OUTPUTS)) or said.output,
        "generator": _generator(jury),
        **_policy(jury, remarks),
        "score": _fitting("score", facts.get("score"), remarks),
        "agreement": _fitting("agreement", agreement, remarks),
        "band": _fitting("confidence", facts.get("confidence"), remarks),
        **{key: _of_type(kind, facts.get(key)) for key, kind in _PLAIN.items()},
        "checks": sibling_checks(jury) or None,
        "human": {"label": label} if label else None,
        **_decision(jury, jurors, remarks),
    }  # fmt: skip
    return {
        **values.without_nulls(body),
        "jurors": jurors,
        "provenance": {"pointer": pointer},
        "meta": {"raw": without_settings(jury.raw)},
    }


def _policy(jury: FoundJury, remarks: Remarks) -> JsonObject:
    """Return the rule of a jury: its own, or its configuration, which the report repeats."""
    found: JsonObject = dict.fromkeys(_POLICY)
    records = [jury.facts]
    for around in (jury.facts, *(node for node, _ in jury.above)):
        matcher = around.get("matcher")
        config = (matcher if isinstance(matcher, dict) else around).get("llm-jury")
        if isinstance(config, dict):
            records.append(config)
    for record in records:
        for key in _POLICY:
            if found[key] is None and key in record:
                found[key] = _fitting(key, record[key], remarks)
    if found["quorum"] is not None:
        found["strategy"] = "quorum"
    return found


def _fitting(key: str, stated: Any, remarks: Remarks) -> Any:
    found = None if stated is None else _FITS[key](stated)
    if stated is not None and found is None:
        remarks.count(f"a {key} outside its range is kept under meta.raw only")
    return found


def _decision(jury: FoundJury, jurors: list[JsonObject], remarks: Remarks) -> JsonObject:
    stated = first(jury.facts, _DECISIONS)
    if stated is None and jury.above and not jury.listed:
        # An assertion around the panel states the panel's decision, and so does an object with
        # nothing else in it; a whole test has other assertions too.
        around, _ = jury.above[0]
        if "matcher" in around or "target" in around or not around.keys() & _TEST_KEYS:
            stated = first(around, ("passed", "pass"))
    decision = values.decision(stated)
    if stated is not None and decision is None:
        remarks.count("a decision in unknown words is kept as the verdict's label")
    if stated is None and jurors and all("error" in juror for juror in jurors):
        return {"decision": "error"}
    return {"decision": decision, "label": _of_type(str, stated) if decision is None else None}


def _generator(jury: FoundJury) -> JsonObject | None:
    """Return the writer of the response: under the nearest key that does not lead to the jury."""
    records = [(jury.facts, ""), *jury.above]
    places = ((one, key, held) for one, held in records for key in _GENERATORS)
    found = next((one[key] for one, key, held in places if key in one and key != held), None)
    if not isinstance(found, dict):
        return {"model": found} if values.filled(found) else None
    model = first(found, ("model", "name"))
    vendor = first(found, ("vendor", "provider"))
    texts = {"model": _of_type(str, model), "vendor": _of_type(str, vendor)}
    return values.without_nulls(texts) or None


def _inner(facts: JsonObject) -> list[JsonObject]:
    """Return the objects of a row that say what was judged, such as ``sample``."""
    return [one for key, one in facts.items() if type(one) is dict and key in _INNER]


def _nearest(jury: FoundJury, keys: tuple[str, ...]) -> Any:
    inner = [(one, "") for one in _inner(jury.facts)]
    for node, held in ((jury.facts, ""), *jury.above, *inner):
        for key in keys:
            if key in node and key != held and node[key] is not None:
                return node[key]
    return None


def sibling_checks(jury: FoundJury) -> list[JsonObject]:
    """Return the assertions without a jury beside this one, up to the nearest named object."""
    for node, held in jury.above:
        for key in CHECK_LISTS:
            if isinstance(listed := node.get(key), list):
                checks: list[JsonObject] = []
                for check in filter(values.record, listed):
                    passed = check.get("pass", check.get("passed"))
                    if not isinstance(passed, bool) or _holds_jury(check, {}):
                        continue
                    named = first(check, ("name", "matcher", "type", "kind", "target"))
                    named = next(iter(named), None) if isinstance(named, dict) else named
                    shown = values.filled(named) or f"check {len(checks) + 1}"
                    value = check.get("value")
                    if "name" not in check and isinstance(value, str | int | float):
                        shown = f"{shown}: {value}"
                    reason = values.text(first(check, ("reason", "message", "error")))
                    made = {"name": shown, "pass": passed, "reason": reason}
                    checks.append(values.without_nulls(made))
                return checks
        if held not in CHECK_LISTS and isinstance(node.get("name"), str):
            break
    return []


MAX_DOCUMENT = 64 << 20


def documents(
    outline: Outline, fail: strict_json.Fail, stream: BinaryIO, tally: strict_json.ImportTally
) -> Iterator[tuple[int, Any]]:
    """Yield documents with their line, which is 0 for a file that is one (bounded) document."""
    if outline.goes_on:
        yield from ((one.line, one.value) for one in records(stream, outline, fail, tally))
        return
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise fail("", "is over 64 MiB in one JSON document", "Write it as NDJSON.")
    yield 0, line_value(TextLine(0, 0, data), fail, tally, "")


_NOTE = "shape not verified: read by structure, because the format is not published"


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    fail = strict_json.failing(source)
    read = partial(documents, look.outline, fail)
    survey = TableSurvey(scale_by_judge=True)
    panels = PanelReader(_RULE, survey, options)
    looked = strict_json.ImportTally(lenient=True)
    some = False
    held: list[tuple[int, Any]] = []
    """The document of a file that is one."""
    learned: dict[str, str] = {}
    """The facts on the run that the documents state."""
    with source.open() as stream:
        for line, document in read(stream, looked):
            held = [] if look.outline.goes_on else [(line, document)]
            for jury in find_juries(document):
                some = True
                if look.outline.streamed:
                    break
                panels.survey(_panel(jury))
            if isinstance(document, dict):
                version = document.get("version") if document.get("tool") == "mcptest" else None
                run_id = first(document, ("run_id", "runId"))
                title = first(document, ("title", "suite"))
                facts = {"run_id": run_id, "version": version, "title": title}
                learned = {key: one for key, one in facts.items() if type(one) is str} | learned
    if not some:
        raise of_json(source, look, unclear)
    title = learned.pop("title", None)
    header = {"title": title, "producer": {"name": "mcptest", "format": "mcptest", **learned}}

    def items(stream: BinaryIO, tally: strict_json.ImportTally) -> Iterator[ReportVerdict]:
        panels = PanelReader(_RULE, survey, options)
        if held:
            tally.nonfinite += looked.nonfinite
            tally.surrogates += looked.surrogates
        for line, document in held or read(stream, tally):
            secrets = named_secrets(document)
            for jury in find_juries(document):
                where = f"line {line}: {jury.pointer or '/'}" if line else jury.pointer or "/"
                yield ReportVerdict(where, _verdict(jury, line, panels), secrets=secrets)
        tally.notes.extend([*panels.notes.notes(), *panels.import_notes()])

    return Report(
        source, "mcptest", header, items, skip_bad=options.skip_bad, notes=(_NOTE,), lenient=True
    )


DIALECT = Dialect("mcptest", "read by its structure", lambda look: look.kind == "json", _open, USES)
