"""A case for a live panel: a response, and the rubric, reference and checks to judge it by."""

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.report_model import VerdictModel
from reviewdesk.domain.verdict import CanonicalCheck, CanonicalVerdict, Generator, own_facts


class Check(Struct, frozen=True):
    """A deterministic check: ``exact``, ``contains``, ``regex`` or ``schema``, with its operand."""

    kind: str
    value: Any
    name: str = ""
    negated: bool = False


class Case(Struct, frozen=True):
    """One response that waits for a panel. Without a ``rubric``, the panel's rubric applies."""

    id: str
    output: str
    input: str | None = None
    alternative: str | None = None
    rubric: str | None = None
    reference: str | tuple[str, ...] | None = None
    generator: Generator = Generator()
    tags: tuple[str, ...] = ()
    context: Mapping[str, str] = {}
    """The texts of further template slots, by slot name."""
    checks: tuple[Check, ...] = ()
    test: str | None = None
    """The name of the case; ``None`` if its id is its name."""
    dimension: str | None = None
    subject: str | None = None

    def slots(self, rubric: str | None) -> dict[str, str]:
        """Return the text of each template slot by name; a slot that the case lacks is empty."""
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
        return "\n".join(self.reference) if isinstance(self.reference, tuple) else self.reference

    def under(self, rubric: str | None) -> "Case":
        return self if self.rubric else replace(self, rubric=rubric)


def case_of(body: CanonicalVerdict, generator: Generator | None = None) -> Case:
    """Return the case that a verdict judged; ``generator`` is used where it states none."""
    said = body.get("generator") or {}
    known = generator or Generator()
    reference = body.get("reference")
    case = body["case"]
    return Case(
        id=body["id"],
        output=body.get("output") or "",
        input=body.get("input"),
        alternative=body.get("alternative"),
        rubric=body.get("rubric"),
        reference=tuple(reference) if isinstance(reference, list) else reference,
        generator=Generator(said.get("model") or known.model, said.get("vendor") or known.vendor),
        tags=tuple(case.get("tags") or ()),
        context=_context(body),
        test=case["test"],
        dimension=case.get("dimension"),
        subject=case.get("subject"),
    )


_OUTSIDE_KEYS = (
    ("response", "output"),
    ("alternative response", "alternative"),
    ("input", "input"),
)


def outside_texts(body: CanonicalVerdict) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each part from outside, which may address the jurors."""
    for name, key in _OUTSIDE_KEYS:
        text = body.get(key)
        if isinstance(text, str):
            yield name, text
    if "meta" in body:
        for key, text in _context(body).items():
            yield f'context "{key}"', text


def outside_columns(verdicts: Sequence[VerdictModel]) -> Iterator[tuple[int, str]]:
    for _, key in _OUTSIDE_KEYS:
        texts = map(attrgetter(key), verdicts)
        yield from [(at, text) for at, text in enumerate(texts) if text is not None]
    for at, verdict in enumerate(verdicts):
        if verdict.meta:
            yield from ((at, text) for text in _context({"meta": verdict.meta}).values())


def _context(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of further slots by name, which a live panel keeps with its verdict."""
    context = own_facts(body).get("context")
    slots = context.items() if isinstance(context, Mapping) else ()
    return {key: text for key, text in slots if isinstance(key, str) and isinstance(text, str)}


def case_key(case: Case) -> str:
    """Serialise the content of a case as JSON, so that equal cases are recognised on disk."""
    content = [
        case.id, case.output, case.input, case.alternative, case.rubric, case.reference_text,
        sorted(case.context.items()),
    ]  # fmt: skip
    return json.dumps(content, ensure_ascii=True)


class CheckResult(Struct, frozen=True):
    """A check's result: ``passed`` is ``None`` without an answer; ``reason`` says why it failed."""

    name: str
    passed: bool | None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        return self.passed is False

    @property
    def body(self) -> CanonicalCheck:
        reason = {} if self.reason is None else {"reason": self.reason}
        return {"name": self.name, "pass": self.passed, **reason}
