"""One case for a live panel: a response to judge, and what it is to be judged by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reviewdesk.domain.body_values import own_facts
from reviewdesk.domain.verdict import Body, Generator


@dataclass(frozen=True, slots=True)
class Check:
    """A deterministic check: ``exact``, ``contains``, ``regex`` or ``schema``, with its operand."""

    kind: str
    value: Any
    name: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """What a panel is asked about. ``rubric`` is ``None`` where the panel's own serves."""

    id: str
    output: str
    input: str | None = None
    alternative: str | None = None
    rubric: str | None = None
    reference: str | tuple[str, ...] | None = None
    generator: Generator = field(default_factory=Generator)
    tags: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    """More slots of a template, by name."""
    checks: tuple[Check, ...] = ()
    test: str | None = None
    """What the case is called; its id where nothing is said."""

    def slots(self, rubric: str | None) -> dict[str, str]:
        """The texts of a template's slots; what the case lacks is an empty text."""
        own = {
            "input": self.input,
            "output": self.output,
            "alternative": self.alternative,
            "reference": self.reference_text,
            "rubric": self.rubric or rubric,
        }
        return {**self.context, **{name: text or "" for name, text in own.items()}}

    @property
    def reference_text(self) -> str | None:
        """Several references one below the other."""
        if self.reference is None or isinstance(self.reference, str):
            return self.reference
        return "\n".join(self.reference)

    def under(self, rubric: str | None) -> Case:
        """The case with the panel's rubric where it has none of its own."""
        return self if self.rubric else replace(self, rubric=rubric)


def case_of(body: Body, generator: Generator | None = None) -> Case:
    """The case that a canonical verdict judged, for asking again."""
    stated = body.get("generator") or {}
    known = generator or Generator()
    reference = body.get("reference")
    return Case(
        id=body["id"],
        output=body.get("output") or "",
        input=body.get("input"),
        alternative=body.get("alternative"),
        rubric=body.get("rubric"),
        reference=tuple(reference) if isinstance(reference, list) else reference,
        generator=Generator(
            stated.get("model") or known.model, stated.get("vendor") or known.vendor
        ),
        tags=tuple(body["case"].get("tags") or ()),
        context=_context(body),
        test=body["case"]["test"],
    )


_OUTSIDE = (("response", "output"), ("alternative response", "alternative"), ("input", "input"))


def outside_texts(body: Body) -> Iterator[tuple[str, str]]:
    """Yield the texts of a canonical verdict that come from outside, each with what it is called.

    Any of them may speak to the jurors; rubric and reference are of whoever asks the panel.
    """
    for name, key in _OUTSIDE:
        text = body.get(key)
        if isinstance(text, str):
            yield name, text
    for key, text in _context(body).items():
        yield f'context "{key}"', text


def _context(body: Body) -> dict[str, str]:
    """Return the texts that filled further slots, which a live panel keeps beside its verdict."""
    context = own_facts(body).get("context")
    told = context.items() if isinstance(context, Mapping) else ()
    return {key: text for key, text in told if isinstance(key, str) and isinstance(text, str)}


def case_key(case: Case) -> str:
    """The content of a case as one text, so that equal cases are recognised on disk."""
    told = [
        case.id, case.output, case.input, case.alternative, case.rubric, case.reference_text,
        sorted(case.context.items()),
    ]  # fmt: skip
    return json.dumps(told, ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one response; ``reason`` is a line for a person where it did not pass.

    ``passed`` is ``None`` where it came to no answer, which says nothing against the response.
    """

    name: str
    passed: bool | None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it keeps the response from the jury."""
        return self.passed is False

    @property
    def body(self) -> dict[str, Any]:
        """The check as a canonical verdict states it."""
        stated = {"name": self.name, "pass": self.passed}
        return stated if self.reason is None else {**stated, "reason": self.reason}
