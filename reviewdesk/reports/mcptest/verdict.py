"""Map a jury found by structure to a canonical verdict."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import ballots
from reviewdesk.reports.mapping.foreign import Remarks, VerdictNames
from reviewdesk.reports.mapping.raw_scores import Scales
from reviewdesk.reports.mapping.secrets import is_setting, without_settings
from reviewdesk.reports.mcptest.juries import CHECK_LISTS, ESCALATE, FoundJury, sibling_checks

_BANDS = ("high", "medium", "low")
_DECISIONS = (
    *("passed", "pass", "verdict", "decision"),
    *("consensus", "outcome", "final_decision", "final_verdict", "majority"),
)
_AGREEMENTS = ("agreement", "krippendorff_alpha", "alpha")
_INPUTS = ("input", "arguments", "args", "prompt")
_OUTPUTS = ("output", "response", "actual", "result")
_GENERATORS = ("generator", "agent", "model")
_NAMES = ("name", "test", "id")
_TEXTS = ("rubric", "bias_warning")
_TEST_KEYS = frozenset({*_NAMES, *CHECK_LISTS})
_MAPPED = frozenset(
    {*_DECISIONS, *_AGREEMENTS, *_INPUTS, *_OUTPUTS, *_GENERATORS, *_NAMES, *_TEXTS, ESCALATE}
    | {"confidence", "threshold", "quorum", "same_family", "score", "matcher", "target", "type"}
)


class JuryMapper:
    """Maps the juries of one file; remembers the ids given and what could not be mapped."""

    def __init__(self, scales: Scales) -> None:
        """Start with no id taken; ``scales`` has seen all scores of the file."""
        self._scales = scales
        self.remarks = Remarks()
        self._names = VerdictNames()

    def verdict(self, jury: FoundJury, line: int) -> dict[str, Any]:
        """Return the canonical verdict of a jury; ``line`` is 0 if the file is one document."""
        facts = jury.facts
        known = _MAPPED | {jury.panel_key}
        self.remarks.unmapped(key for key in facts if key not in known and not is_setting(key))
        if any(map(is_setting, (*facts, *chain.from_iterable(jury.panel)))):
            self.remarks.count("settings such as headers, environments and keys are left out")
        pointer = f"line {line}#{jury.pointer}" if line else jury.pointer
        test = _case_name(jury) or pointer or "/"
        suite = _nearest(jury, ("suite",))
        case = values.without_nulls(
            {
                "test": test,
                "suite": suite if isinstance(suite, str) else None,
                "target": facts.get("target") if isinstance(facts.get("target"), str) else None,
            }
        )
        body: dict[str, Any] = {
            "id": self._names.verdict(test, f"{suite}/{test}" if case.get("suite") else ""),
            "case": case,
            "input": values.text(_nearest(jury, _INPUTS)),
            "output": values.text(_nearest(jury, _OUTPUTS)),
            "generator": _generator(jury),
            **self._policy(jury),
            **self._result_fields(facts),
            "checks": [_check(check, at) for at, check in enumerate(sibling_checks(jury), 1)],
            "jurors": ballots(jury.panel, self.remarks, self._scales),
            "provenance": {"pointer": pointer},
            "meta": {"raw": without_settings(jury.raw)},
        }
        body |= self._decision(jury, body["jurors"])
        return values.without_nulls(
            {key: value for key, value in body.items() if value != []} | {"jurors": body["jurors"]}
        )

    def _policy(self, jury: FoundJury) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for record in (jury.facts, *_matchers(jury)):
            for key, fit in (
                ("rubric", values.text),
                ("threshold", values.unit),
                ("quorum", values.quorum),
            ):
                stated = record.get(key)
                if stated is None or found.get(key) is not None:
                    continue
                found[key] = fit(stated)
                if found[key] is None:
                    self.remarks.count(f"a {key} outside its range is kept under meta.raw only")
        if found.get("quorum") is not None:
            found["strategy"] = "quorum"
        return found

    def _result_fields(self, facts: dict[str, Any]) -> dict[str, Any]:
        warning = facts.get("bias_warning")
        family, escalate = facts.get("same_family"), facts.get(ESCALATE)
        score = values.unit(facts.get("score"))
        if facts.get("score") is not None and score is None:
            self.remarks.count("a jury's score outside 0..1 is kept under meta.raw only")
        return {
            "score": score,
            "agreement": self._agreement(facts),
            "band": self._band(facts.get("confidence")),
            ESCALATE: escalate if isinstance(escalate, bool) else None,
            "same_family": family if isinstance(family, bool) else None,
            "bias_warning": warning if isinstance(warning, str) else None,
        }

    def _agreement(self, facts: dict[str, Any]) -> dict[str, Any] | None:
        key = next((key for key in _AGREEMENTS if key in facts), None)
        if key is None or facts[key] is None:
            return None
        stated = facts[key]
        if isinstance(stated, dict):
            stated = values.first(stated, ("alpha", "value"))
        value = values.number(stated)
        if stated is not None and (value is None or value > 1):
            self.remarks.count("an agreement that is no number up to 1 is kept under meta.raw only")
            return None
        return {"value": value, "metric": "krippendorff_alpha"}

    def _band(self, stated: Any) -> str | None:
        if stated is None:
            return None
        word = stated.strip().lower() if isinstance(stated, str) else ""
        if word in _BANDS:
            return word
        self.remarks.count("a jury's confidence that is no band word is kept under meta.raw only")
        return None

    def _decision(self, jury: FoundJury, jurors: list[dict[str, Any]]) -> dict[str, Any]:
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


def _case_name(jury: FoundJury) -> str | None:
    """Return the nearest ``name``, else the nearest ``test``, else the nearest ``id``."""
    records = [step.node for step in jury.above]
    records = [jury.facts, *records] if jury.listed else [*records, jury.facts]
    for key in _NAMES:
        for record in records:
            value = record.get(key)
            if isinstance(value, str) and value.strip():
                return value
    return None


def _nearest(jury: FoundJury, keys: Iterable[str]) -> Any:
    """Return the nearest value that is not null and does not contain the jury itself."""
    keys = tuple(keys)
    if (own := values.first(jury.facts, keys)) is not None:
        return own
    for step in jury.above:
        others = [key for key in keys if key != step.key]
        if (value := values.first(step.node, others)) is not None:
            return value
    return None


def _generator(jury: FoundJury) -> dict[str, Any] | None:
    """Return who wrote the response: the nearest key decides, and its null means unknown."""
    records = [(jury.facts, ""), *((step.node, step.key) for step in jury.above)]
    for record, through in records:
        for key in _GENERATORS:
            if key not in record or key == through:
                continue
            stated = record[key]
            if isinstance(stated, dict):
                texts = {
                    "model": values.first(stated, ("model", "name")),
                    "vendor": values.first(stated, ("vendor", "provider")),
                }
                kept = {name: text for name, text in texts.items() if isinstance(text, str)}
                return kept or None
            return {"model": stated} if isinstance(stated, str) and stated else None
    return None


def _matchers(jury: FoundJury) -> list[dict[str, Any]]:
    """Return the jury's configurations as the report repeats them, nearest first."""
    found = []
    for record in (jury.facts, *(step.node for step in jury.above)):
        matcher = record.get("matcher")
        holder = matcher if isinstance(matcher, dict) else record
        config = holder.get("llm-jury")
        if isinstance(config, dict):
            found.append(config)
    return found


def _check(check: dict[str, Any], at: int) -> dict[str, Any]:
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
