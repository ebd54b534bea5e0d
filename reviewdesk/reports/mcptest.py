"""The reader of mcptest reports, JSON and NDJSON.

Their envelope is not public, so a jury is recognised by its structure, and only the keys that are
understood are read. The raw object is kept with the verdict, and an import note reports this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import (
    UNCLEAN,
    Fail,
    ImportTally,
    NonStandardJsonError,
    decode_clean,
    decode_whole,
    failing,
    syntax_problem,
)
from reviewdesk.reports.bytes.window import Outline, decode_utf8, read_lines
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import VerdictNames
from reviewdesk.reports.mapping.secrets import (
    MOST_SECRETS,
    SecretRemover,
    is_setting,
    named_secrets,
    without_settings,
)
from reviewdesk.reports.mapping.values import first
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.refusals import of_json
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.tables.ballot import TableSurvey
from reviewdesk.reports.tables.table import USES, unclear
from reviewdesk.reports.tables.verdict import PanelReader
from reviewdesk.reports.wording import JsonObject

PANEL_KEYS = (
    *("jurors", "votes", "verdicts", "judges", "critics"),
    *("ballots", "judgements", "judgments", "ratings"),
)
_PANELS = frozenset(PANEL_KEYS)
_HOLDER = frozenset({dict, list})
ESCALATE = "escalate_for_review"
_ANSWERS = frozenset(
    {"score", "pass", "passed", "verdict", "reason", "reasoning", "rationale"}
    | {"error", "status", "confidence"}
)
CHECK_LISTS = ("assertions", "checks", "expect", "expectations", "asserts")


@dataclass(frozen=True)
class PathStep:
    """An object above a jury and the key that leads from it towards the jury."""

    node: JsonObject
    key: str


@dataclass(frozen=True)
class FoundJury:
    """One jury as found. ``facts`` is ``raw`` with the keys of an object around the panel."""

    raw: JsonObject
    facts: JsonObject
    panel: list[JsonObject]
    panel_key: str
    pointer: str
    above: tuple[PathStep, ...]
    """The objects above the jury, nearest first."""
    listed: bool
    """Whether the jury is a list element or the document itself; then its name is the case's."""


def find_juries(document: Any) -> Iterator[FoundJury]:
    """Yield every jury of a document in document order; nothing inside a jury is searched."""
    yield from _Search().walk(document, (), "", {}, listed=True)


def sibling_checks(jury: FoundJury) -> list[JsonObject]:
    """Return the assertions without a jury beside this one, up to the nearest named object."""
    search = _Search()
    for step in jury.above:
        for key in CHECK_LISTS:
            listed = step.node.get(key)
            if isinstance(listed, list):
                return [
                    check
                    for check in listed
                    if isinstance(check, dict)
                    and isinstance(check.get("pass", check.get("passed")), bool)
                    and not search.holds(check)
                ]
        if step.key not in CHECK_LISTS and isinstance(step.node.get("name"), str):
            break
    return []


class _Search:
    """A search of one document that examines every object once, at any depth."""

    def __init__(self) -> None:
        self._held: dict[int, bool] = {}

    def holds(self, value: Any) -> bool:
        """Return True if there is a jury in the value, at any depth."""
        if isinstance(value, list):
            return any(self.holds(child) for child in value if type(child) in _HOLDER)
        if not isinstance(value, dict):
            return False
        if (known := self._held.get(id(value))) is None:
            known = (
                ESCALATE in value
                or any(self.holds(child) for child in value.values() if type(child) in _HOLDER)
                or self.panel_key(value) is not None
            )
            self._held[id(value)] = known
        return known

    def panel_key(self, node: JsonObject) -> str | None:
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
            answered = ESCALATE in node or any(_ANSWERS & juror.keys() for juror in panel)
            if answered and not any(self.holds(juror) for juror in panel):
                return key
        return None

    def walk(
        self,
        node: Any,
        above: tuple[PathStep, ...],
        pointer: str,
        shell: JsonObject,
        *,
        listed: bool,
    ) -> Iterator[FoundJury]:
        """Yield the juries of a value; ``shell`` has the facts of an object around the panel."""
        if isinstance(node, list):
            for index, child in enumerate(node):
                if type(child) in _HOLDER:
                    yield from self.walk(child, above, f"{pointer}/{index}", {}, listed=True)
            return
        if not isinstance(node, dict):
            return
        if key := self.panel_key(node):
            yield FoundJury(node, {**shell, **node}, node[key], key, pointer, above, listed)
            return
        children = [(key, child) for key, child in node.items() if type(child) in _HOLDER]
        if ESCALATE in node:
            inner = {key for key, child in children if self.holds(child)}
            if not inner:
                yield FoundJury(node, {**shell, **node}, [], "", pointer, above, listed)
                return
            shell = {key: value for key, value in node.items() if key not in inner}
        for key, child in children:
            step = PathStep(node, key)
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            yield from self.walk(child, (step, *above), place, shell, listed=False)


_NOTHING: tuple[Any, ...] = ([], {})
_PASSES = ("pass", "passed", "verdict")
"""The keys of a juror's vote; null there withholds it."""
_JUROR_NAMES = ("name", "id", "juror", "judge", "critic", "critic_id", "model")
_RULE = {
    "each": "juror", "judge": "seat", "known": [*_JUROR_NAMES],
    "score": "score", "raw_score": "raw_score", "pass": "|".join(_PASSES), "label": "label",
    "reason": "reason|reasoning|rationale", "error": "error", "status": "status",
    "model": "model", "vendor": "vendor", "role": "role", "confidence": "confidence",
    "weight": "weight", "latency_ms": "latency_ms", "cost_usd": "cost_usd",
    "tokens_in": "tokens_in", "tokens_out": "tokens_out",
}  # fmt: skip
"""The keys of a juror's record that hold its ballot."""


def _panel(jury: FoundJury) -> list[JsonObject]:
    """Return the records of a jury's jurors with their names, without settings and empty values."""
    panel = []
    for seat, one in enumerate(jury.panel, 1):
        record = {
            key: value
            for key, value in one.items()
            if value not in _NOTHING and not is_setting(key)
        }
        names = (values.label(record[key]) for key in _JUROR_NAMES if key in record)
        record["seat"] = next(filter(None, names), f"juror {seat}")
        panel.append(record)
    return panel


_DECISIONS = (
    *("passed", "pass", "verdict", "decision"),
    *("consensus", "outcome", "final_decision", "final_verdict", "majority"),
)
_AGREEMENTS = ("agreement", "krippendorff_alpha", "alpha")
_INPUTS = ("input", "arguments", "args", "prompt", "question", "query")
_OUTPUTS = ("output", "response", "actual", "result", "completion", "answer")
_GENERATORS = ("generator", "agent", "model")
_PLAIN = {ESCALATE: bool, "same_family": bool, "bias_warning": str}
"""The facts that are kept as they are, with their types."""
_NAMES = ("name", "test", "id")
_TEXTS = ("rubric", "bias_warning")
_TEST_KEYS = frozenset({*_NAMES, *CHECK_LISTS})
_MAPPED = frozenset(
    {*_DECISIONS, *_AGREEMENTS, *_INPUTS, *_OUTPUTS, *_GENERATORS, *_NAMES, *_TEXTS, ESCALATE}
    | {"confidence", "threshold", "quorum", "same_family", "score", "matcher", "target", "type"}
)


class JuryMapper:
    """Maps the juries of one file; remembers the ids given and the keys that were not mapped."""

    def __init__(self, panels: PanelReader) -> None:
        """Start with no id taken; ``panels`` has seen all scores of the file."""
        self._panels = panels
        self.remarks = panels.notes
        self._names = VerdictNames()

    def verdict(self, jury: FoundJury, line: int) -> JsonObject:
        """Return the canonical verdict of a jury; ``line`` is 0 if the file is one document."""
        facts = jury.facts
        known = _MAPPED | {jury.panel_key}
        self.remarks.unmapped(key for key in facts if key not in known and not is_setting(key))
        if any(map(is_setting, (*facts, *chain.from_iterable(jury.panel)))):
            self.remarks.count("settings such as headers, environments and keys are left out")
        pointer = f"line {line}#{jury.pointer}" if line else jury.pointer
        around = [step.node for step in jury.above]
        around = [facts, *around] if jury.listed else [*around, facts]
        names = (values.filled(one.get(key)) for key in _NAMES for one in around)
        test = next(filter(None, names), pointer or "/")
        suite = _nearest(jury, ("suite",))
        case = values.without_nulls(
            {
                "test": test,
                "suite": suite if isinstance(suite, str) else None,
                "target": facts.get("target") if isinstance(facts.get("target"), str) else None,
            }
        )
        jurors = [one for _, found in self._panels.juries(_panel(jury)) for one in found]
        for ballot, record in zip(jurors, jury.panel, strict=True):
            keys = [key for key in _PASSES if key in record]
            if keys and values.first(record, keys) is None:
                ballot["pass"] = None
        # The nearest key decides, and null there means an unknown writer.
        records = [(facts, ""), *((step.node, step.key) for step in jury.above)]
        stated = (
            one[key]
            for one, key_of in records
            for key in _GENERATORS
            if key in one and key != key_of
        )
        generator = next(stated, None)
        if isinstance(generator, dict):
            texts = {
                "model": values.first(generator, ("model", "name")),
                "vendor": values.first(generator, ("vendor", "provider")),
            }
            generator = {key: one for key, one in texts.items() if isinstance(one, str)} or None
        else:
            generator = {"model": generator} if values.filled(generator) else None
        agreement = next((facts[key] for key in _AGREEMENTS if key in facts), None)
        body: JsonObject = {
            "id": self._names.verdict(test),
            "case": case,
            "input": values.text(_nearest(jury, _INPUTS)),
            "output": values.text(_nearest(jury, _OUTPUTS)),
            "generator": generator,
            **self._policy(jury),
            "score": self._fitting("score", facts.get("score"), values.unit),
            "agreement": self._fitting("agreement", agreement, _agreement),
            "band": self._fitting("confidence", facts.get("confidence"), _band),
            **{key: one for key, kind in _PLAIN.items() if isinstance(one := facts.get(key), kind)},
            "checks": [_check(check, at) for at, check in enumerate(sibling_checks(jury), 1)],
            "jurors": jurors,
            "provenance": {"pointer": pointer},
            "meta": {"raw": without_settings(jury.raw)},
        }
        body |= self._decision(jury, jurors)
        return {key: one for key, one in body.items() if one not in (None, [])} | {"jurors": jurors}

    def _policy(self, jury: FoundJury) -> JsonObject:
        found: JsonObject = {}
        records = [jury.facts]
        for around in (jury.facts, *(step.node for step in jury.above)):
            # The report repeats a jury's configuration.
            matcher = around.get("matcher")
            config = (matcher if isinstance(matcher, dict) else around).get("llm-jury")
            records.append(values.record(config))
        fits = {"rubric": values.text, "threshold": values.unit, "quorum": values.quorum}
        for record in records:
            for key, fit in fits.items():
                if found.get(key) is None:
                    found[key] = self._fitting(key, record.get(key), fit)
        if found["quorum"] is not None:
            found["strategy"] = "quorum"
        return found

    def _fitting(self, key: str, stated: Any, fit: Callable[[Any], Any]) -> Any:
        found = None if stated is None else fit(stated)
        if stated is not None and found is None:
            self.remarks.count(f"a {key} outside its range is kept under meta.raw only")
        return found

    def _decision(self, jury: FoundJury, jurors: list[JsonObject]) -> JsonObject:
        stated = values.first(jury.facts, _DECISIONS)
        if stated is None and jury.above and not jury.listed:
            # An assertion around the panel states the panel's decision, and so does an object with
            # nothing else in it; a whole test has other assertions too.
            around = jury.above[0].node
            if "matcher" in around or "target" in around or not around.keys() & _TEST_KEYS:
                stated = values.first(around, ("passed", "pass"))
        decision = values.decision(stated)
        if stated is not None and decision is None:
            self.remarks.count("a decision in unknown words is kept as the verdict's label")
        if stated is None and jurors and all("error" in juror for juror in jurors):
            return {"decision": "error"}
        word = stated if decision is None and isinstance(stated, str) else None
        return {"decision": decision, "label": word}


def _agreement(stated: Any) -> JsonObject | None:
    value = values.first(stated, ("alpha", "value")) if isinstance(stated, dict) else stated
    number = values.number(value)
    fits = value is None or (number is not None and number <= 1)
    return {"value": value, "metric": "krippendorff_alpha"} if fits else None


def _band(stated: Any) -> str | None:
    word = stated.strip().lower() if isinstance(stated, str) else ""
    return word if word in {"high", "medium", "low"} else None


def _nearest(jury: FoundJury, keys: Iterable[str]) -> Any:
    keys = tuple(keys)
    if (own := values.first(jury.facts, keys)) is not None:
        return own
    for step in jury.above:
        others = [key for key in keys if key != step.key]
        if (value := values.first(step.node, others)) is not None:
            return value
    return None


def _check(check: JsonObject, at: int) -> JsonObject:
    named = values.first(check, ("name", "matcher", "type", "kind", "target"))
    if isinstance(named, dict):
        named = next(iter(named), None)
    name = named if isinstance(named, str) and named else f"check {at}"
    value = check.get("value")
    if "name" not in check and isinstance(value, str | int | float):
        name = f"{name}: {value}"
    reason = values.first(check, ("reason", "message", "error"))
    return values.without_nulls(
        {
            "name": name,
            "pass": check.get("pass", check.get("passed")),
            "reason": values.text(reason),
        }
    )


MAX_DOCUMENT = 64 << 20


def documents(
    stream: BinaryIO, outline: Outline, fail: Fail, tally: ImportTally
) -> Iterator[tuple[int, Any]]:
    """Yield documents with their line, which is 0 for a file that is one document.

    One document is held whole and so has a size bound; lines are streamed.
    """
    if outline.goes_on:
        yield from read_lines(stream, fail, tally)
        return
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise fail("", "is over 64 MiB in one JSON document", "Write it as NDJSON.")
    value = decode_clean(data)
    if value is not UNCLEAN:
        yield 0, value
        return
    text = decode_utf8(data, 0, fail)
    try:
        yield 0, decode_whole(text, tally)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fail(where, syntax_problem(error), "") from error
    except NonStandardJsonError as error:
        raise fail("", error.problem, error.hint) from error


_NOTE = "shape not verified: read by structure, because the format is not published"


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    fail = failing(source)
    some = False
    survey = TableSurvey(scale_by_judge=True)
    panels = PanelReader(_RULE, survey, options)
    looked = ImportTally(lenient=True)
    learned: dict[str, str] = {}
    with source.open() as stream:
        for _, document in documents(stream, look.outline, fail, looked):
            for jury in find_juries(document):
                panels.look(_panel(jury))
                some = True
            if isinstance(document, dict):
                run_id = first(document, ("run_id", "runId"))
                title = first(document, ("title", "suite"))
                stated = document.get("version") if document.get("tool") == "mcptest" else None
                facts = {"run_id": run_id, "version": stated, "title": title}
                learned = {k: text for k, text in facts.items() if isinstance(text, str)} | learned
    if not some:
        raise of_json(source, look, unclear)
    producer = {"name": "mcptest", "format": "mcptest"}
    title = {"title": learned.pop("title")} if "title" in learned else {}
    header = {"schema": FORMAT_NAME, **title, "producer": producer | learned}

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        panels = PanelReader(_RULE, survey, options)
        mapper = JuryMapper(panels)
        for line, document in documents(stream, look.outline, fail, tally):
            secrets = named_secrets(document)
            if len(secrets) > MOST_SECRETS:
                raise fail("", f"shows over {MOST_SECRETS} keys in clear", "Write it without them.")
            scrubber = SecretRemover(secrets)
            for jury in find_juries(document):
                where = f"line {line}: {jury.pointer or '/'}" if line else jury.pointer or "/"
                yield ReportVerdict(where, scrubber.clean(mapper.verdict(jury, line)))
        tally.notes.extend([*mapper.remarks.notes(), *panels.import_notes()])

    return Report(
        source, "mcptest", header, items, skip_bad=options.skip_bad, notes=(_NOTE,), looked=looked
    )


DIALECT = Dialect("mcptest", "read by its structure", lambda look: look.kind == "json", _open, USES)
