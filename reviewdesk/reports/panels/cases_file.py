"""Read cases files: the cases of a panel as JSON Lines, a list or objects one after another."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, BinaryIO, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reviewdesk.domain.panel.case import Case, Check
from reviewdesk.domain.panel.prompt import CASE_SLOTS, SLOT_NAME
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Generator
from reviewdesk.errors import PanelError, ReportError
from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.report import read_objects
from reviewdesk.reports.validation import FILLED, Strict, Wanted, fulfilling, validated
from reviewdesk.reports.wording import FieldError, Path, spell_path

KINDS = ("exact", "contains", "regex", "schema")
_MAX_CHECKS = 100
_REFERRING = ("$ref", "$dynamicRef")


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _slots(context: dict[str, str]) -> dict[str, str]:
    for name in context:
        if not SLOT_NAME.match(name):
            hint = "Use 1 to 80 characters and no braces, so that a template can say {name}."
            raise FieldError((name,), "is not a name for a slot", hint)
        if name in CASE_SLOTS:
            text = "is a slot that the case itself fills"
            raise FieldError((name,), text, "Choose another name.")
    return context


def _regex(value: str) -> str:
    _check_operand(Check("regex", value))
    return value


def _schema(value: dict[str, Any]) -> dict[str, Any]:
    if away := next(_references(value), None):
        hint = "Refer to #/$defs of the schema itself, or write it out."
        raise FieldError(away, "refers to another document", hint)
    _check_operand(Check("schema", value))
    return value


def _check_operand(check: Check) -> None:
    # Imported here, because most cases have neither and the libraries are heavy.
    from reviewdesk.reports.panels.case_checks import check_problem

    if problem := check_problem(check):
        raise FieldError((), problem, "Fix it.")


def _references(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths where a schema refers to something outside itself."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _REFERRING and isinstance(inner, str) and not inner.startswith("#"):
                yield (*path, key)
            yield from _references(inner, (*path, str(key)))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _references(inner, (*path, at))


# Lengths are taken in Python, because pydantic's own refuse a caller's lone surrogates.
_SHORT = fulfilling(lambda name: len(name) <= 400)
CaseId: TypeAlias = Annotated[str, FILLED, _SHORT, Wanted("a text of 1 to 400 characters")]
Text: TypeAlias = Annotated[str, Wanted("a text or null")] | None
Texts: TypeAlias = Annotated[list[str], fulfilling(all)]
Expression: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=1000),
    Wanted("a regular expression of 1 to 1000 characters"),
    AfterValidator(_regex),
]
SchemaText: TypeAlias = Annotated[
    dict[str, Any],
    Field(min_length=1),
    Wanted("a JSON schema that is not empty"),
    AfterValidator(_schema),
]


class GeneratorEntry(Strict):
    """The model that wrote the response."""

    what = "a generator"

    model: Text = None
    vendor: Text = None


class CheckEntry(Strict):
    """Kinds of checks with their operands; ``name`` and ``not`` apply to all of them.

    A list under ``contains`` gives a check for each text; with ``not``, none of them may occur.
    """

    what = "a check"

    exact: Any = None
    contains: Annotated[
        Texts, Field(min_length=1), BeforeValidator(_listed), Wanted("a text or a list of texts")
    ] = Field(default_factory=list)
    regex: Expression = ""
    schema_: SchemaText = Field(default_factory=dict, alias="schema")
    name: str = ""
    negated: bool = Field(default=False, alias="not")

    @model_validator(mode="after")
    def _has_kind(self) -> "CheckEntry":
        if not self.model_fields_set - {"name", "negated"}:
            raise FieldError((), f"has none of {', '.join(KINDS)}", "Give it one.")
        return self

    def checks(self) -> Iterator[Check]:
        """Yield the checks, in the order of their kinds."""
        operands = {"exact": [self.exact], "contains": self.contains, "regex": [self.regex]}
        operands["schema"] = [self.schema_]
        for kind in KINDS:
            if {"schema": "schema_"}.get(kind, kind) in self.model_fields_set:
                for operand in operands[kind]:
                    yield Check(kind, operand, self.name or kind, self.negated)


class CaseEntry(Strict):
    """One line of a cases file."""

    what = "a case"

    id: CaseId
    output: str
    input: Text = None
    alternative: Text = None
    rubric: Text = None
    reference: Annotated[str | list[str] | None, Wanted("a text or a list of texts")] = None
    generator: GeneratorEntry | None = None
    tags: Annotated[Texts | None, Wanted("a list of texts")] = None
    context: Annotated[dict[str, str], AfterValidator(_slots)] | None = None
    checks: Annotated[list[CheckEntry], BeforeValidator(_listed)] | None = None
    dimension: Text = None
    subject: Text = None

    def case(self) -> Case:
        """Return the case; an empty text counts as missing."""
        named = self.generator or GeneratorEntry()
        reference = self.reference
        checks = tuple(check for one in self.checks or () for check in one.checks())
        if len(checks) > _MAX_CHECKS:
            raise FieldError(("checks",), f"has {len(checks)} checks, more than {_MAX_CHECKS}")
        texts = ("input", "alternative", "rubric", "dimension", "subject")
        return Case(
            id=self.id,
            output=self.output,
            reference=(tuple(reference) or None) if isinstance(reference, list) else reference,
            generator=Generator(named.model or None, named.vendor or None),
            tags=tuple(self.tags or ()),
            context=self.context or {},
            checks=checks,
            **{key: getattr(self, key) or None for key in texts},
        )


KEYS = frozenset(CaseEntry.model_fields)
"""The keys that a case may have."""


def open_cases(path: str, stdin: BinaryIO | None = None) -> Source:
    """Open a cases file, or for ``-`` all of ``stdin``; PanelError if it cannot be read."""
    try:
        if path == "-" and stdin is not None:
            return Source.from_bytes("-", stdin.read(DEFAULT_MAX_SIZE + 1))
        return Source.from_path(path)
    except ReportError as error:
        raise PanelError(error.file, "", error.problem, "Name a JSON Lines file.") from error


def read_cases(source: Source) -> Iterator[Case]:
    """Yield the cases in order; a bad line raises its PanelError when it is reached."""
    fail = failing(source, PanelError)
    seen: dict[str, int] = {}
    mend = "Fix the line or remove it."
    try:
        for line, value in read_objects(source, fail, mend):
            try:
                case = validated(CaseEntry, value).case()
            except FieldError as error:
                where = f"line {line}: {spell_path(error.path)}"
                raise fail(where, error.text, error.hint) from None
            if case.id in seen:
                text = f'is that of line {seen[case.id]} too: "{show_line(case.id, 60)}"'
                raise fail(f"line {line}: $.id", text, "Give each case its own.")
            seen[case.id] = line
            yield case
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a cases file.
        raise PanelError(error.file, error.where, error.problem, error.hint) from error


def case_from(row: object) -> Case:
    """Return the case of a mapping; FieldError if a member is missing, unknown or wrong."""
    return validated(CaseEntry, _dicts(row)).case()


def _dicts(value: Any) -> Any:
    """Return the value with every mapping as a dict, as the models need it."""
    if isinstance(value, Mapping):
        return {key: _dicts(inner) for key, inner in value.items()}
    return [_dicts(inner) for inner in value] if isinstance(value, list) else value
