"""Read suites of gates from YAML, checked completely before any gate is run, and their labels."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field, PrivateAttr, field_validator, model_validator

from reviewdesk.domain.gates import expect
from reviewdesk.domain.gates.expect import BRIER_LIMIT, ECE_LIMIT, Expectation, Matcher, Span
from reviewdesk.domain.gates.join import LabelRow, PanelContent, SuiteLabels
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.labels.segments import BY
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.correction import Cells, Corrected
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.errors import LabelsFileError, ReportError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.bytes.yaml_nodes import Node, read_yaml
from reviewdesk.reports.labels.reader import checked_row, label_file_rows, label_rows
from reviewdesk.reports.suites.matchers import exact, fitting, keyword_of_numbers, negated
from reviewdesk.reports.validation import (
    FILLED,
    MEND,
    Strict,
    Unit,
    Wanted,
    fulfilling,
    nearest,
    validated,
)
from reviewdesk.reports.wording import FieldError, Path, found, spell_path

_NO_VERDICT = "is a calibration row, which names no verdict of a report"
_NEEDED = frozenset({
    "truth", "id", "item_hash", "decision", "stratum", "pi", "weight", "selection",
    "confidence_source", "half",
})  # fmt: skip
_EXPORT = "Export the suite again: reviewdesk labels export --format suite -o FOLDER."
_Sides: TypeAlias = Annotated[
    list[int],
    fulfilling(lambda two: len(two) == 2 and all(0 <= one <= 1e15 for one in two)),
    Wanted("two whole numbers, of passes and of fails"),
]


class _FrameModel(Strict):
    item_hash: Annotated[str, FILLED]
    stratum: Annotated[str, Wanted("the name of a stratum", STRATA)]
    content: str = ""
    id: str = ""
    decision: Literal["pass", "fail", "inconclusive", "error"] | None = None
    answer: str = ""
    decided: _Sides | None = None


def read_suite_labels(labels: Source, frame: Source | None) -> SuiteLabels:
    """Read the labels that count in a suite, and the frame that they were drawn from.

    Raise LabelsFileError for a row without a verdict or a truth, two truths of one content, or a
    label whose content is not in the frame.
    """
    fail = failing(labels, LabelsFileError)
    held = None if frame is None else read_frame(frame)
    found: dict[tuple[str | None, str | None], LabelRow] = {}
    unanswered: dict[str | None, LabelRow] = {}
    sources: dict[str | None, None] = {}
    for _, row in label_rows(labels, fail, _NEEDED):
        where = f"line {row.line}"
        if row.truth is None:
            raise fail(where, _NO_VERDICT, _EXPORT)
        if not row.id and not row.item_hash:
            raise fail(where, "names no content: it has neither item_hash nor id", _EXPORT)
        if row.truth is Truth.UNSURE:
            unanswered.setdefault(row.item_hash or row.id, row)
        if row.truth is Truth.UNSURE or row.weight == 0:
            continue
        key = (row.item_hash, None if row.item_hash else row.id)
        first = found.setdefault(key, row)
        if first.truth is not row.truth:
            problem = f"truth is {row.truth}, but {first.truth} in line {first.line}, for the same"
            raise fail(where, f"{problem} content", "Settle it, and export again.")
        sources[row.confidence_source] = None
    made = tuple(found.values())
    if not made:
        raise fail("", "has no label that counts", "Label verdicts, and export again.")
    if held is not None and frame is not None:
        known = {one.item_hash for one in held}
        if lost := [one for one in made if one.item_hash not in known]:
            problem = f"{len(lost)} of {len(made)} labels are of contents that are not in "
            raise fail(f"line {lost[0].line}", problem + frame.shown_name, _EXPORT)
    source = next(iter(sources)) if len(sources) == 1 else None
    drawn = all(one.drawn for one in made)
    silent = tuple(one for one in unanswered.values() if one.selection == "draw" or not drawn)
    return SuiteLabels(made, held, source, silent)


def read_frame(source: Source) -> tuple[PanelContent, ...]:
    """Read the contents that labels were drawn from; raise LabelsFileError if there are none."""
    fail = failing(source, LabelsFileError)
    found: dict[str, PanelContent] = {}
    for line, row in label_file_rows(source, fail):
        one = checked_row(_FrameModel, row, line, fail)
        if bool(one.content) is not bool(one.id):
            raise fail(f"line {line}", "has only one of content and id", _EXPORT)
        found[one.item_hash] = PanelContent(
            one.item_hash,
            STRATA.index(one.stratum),
            one.content,
            one.id,
            Decision(one.decision) if one.decision else None,
            one.answer,
            (one.decided[0], one.decided[1]) if one.decided else None,
        )
    if not found:
        raise fail("", "lists no content", _EXPORT)
    return tuple(found.values())


_TEXTS = frozenset({"name", "report", "labels", "frame", "run", "case", "target", "message"})
"""The keys whose values are texts, even if they look like numbers."""


Text: TypeAlias = Annotated[str, FILLED, Wanted("a text")]
# The squares of far larger numbers overflow a float.
CellCount: TypeAlias = Annotated[
    int | float, Field(ge=0, le=1e15), Wanted("a number, 0 or more and at most 1e+15")
]
Count: TypeAlias = Annotated[
    int | float, Field(ge=1, le=1e15), Wanted("a number, 1 or more and at most 1e+15")
]

Weight: TypeAlias = Annotated[
    int | float, Field(gt=0, le=1), Wanted("a weight, over 0 and at most 1")
]
_ROUNDED = 1e-6
"""The largest difference between the sum of decimal weights and 1."""


class SuitePart(Strict):
    """A mapping in a suite."""

    shape: ClassVar[str] = "a mapping"

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, stated: Any) -> Any:
        """Refuse null for a field that is None only if it is left out."""
        for key, value in stated.items() if isinstance(stated, Mapping) else ():
            if value is None and key != "exact":
                raise FieldError((key,), "must have a value, found null", MEND)
        return stated


class MatcherModel(SuitePart):
    """One condition on a value: ``exact``, ``not`` or ``schema``."""

    what = "a matcher"

    exact: Any = None
    negated: "MatcherModel | None" = Field(None, alias="not")
    schema_: Annotated[dict[str, Any], Wanted("a mapping")] = Field(
        default_factory=dict, alias="schema"
    )

    @model_validator(mode="after")
    def _is_one(self) -> "MatcherModel":
        if len(self.model_fields_set) != 1:
            problem = f"must have one of exact, not, schema, found {len(self.model_fields_set)}"
            raise FieldError((), problem)
        return self

    def matcher(self, target: str, span: Span, path: Path = ("matcher",)) -> Matcher:
        """Return the matcher for a target; raise FieldError if the target can never fit it."""
        (kind,) = self.model_fields_set
        if self.negated is not None:
            return negated(self.negated.matcher(target, span, (*path, "not")))
        if kind == "exact":
            if not span.holds(self.exact):
                problem = f"{target} is {span.words}, and never {found(self.exact)}"
                raise FieldError((*path, kind), problem, "Write a value that it can have.")
            return exact(self.exact)
        path = (*path, "schema")
        try:
            check = fitting(self.schema_)
        except FieldError as error:
            raise error.within(*path) from error
        keyword = keyword_of_numbers(self.schema_)
        if keyword and not span.numeric:
            problem = f"{target} is {span.words}, to which {keyword} does not apply"
            raise FieldError(path, problem, "Use exact, or enum in the schema.")
        return check


_VALUES = (-1e9, -1, 0, 0.123456789, 1, 1e9, None, True, False, *Band)
"""Values that are tried on a matcher, beside those it names. If all fit, it checks nothing."""


def _scalars(written: Any) -> Iterator[Any]:
    if isinstance(written, dict | list):
        for one in written.values() if isinstance(written, dict) else written:
            yield from _scalars(one)
    else:
        yield written


class ExpectationModel(SuitePart):
    """A target and the matcher that it must fit."""

    what = "an expectation"
    spans: ClassVar[Mapping[str, Span]] = expect.JURY_SPANS

    target: Text
    matcher: MatcherModel
    message: Text = ""

    _made: Expectation = PrivateAttr()

    @field_validator("target")
    @classmethod
    def _is_known(cls, target: str) -> str:
        if target not in cls.spans:
            hint = nearest(target, [str(one) for one in cls.spans])
            raise FieldError((), f"there is no target {found(target)}", hint)
        return target

    @model_validator(mode="after")
    def _fits(self) -> "ExpectationModel":
        span = self.spans[self.target]
        matcher = self.matcher.matcher(self.target, span)
        tries = filter(span.holds, [*_scalars(matcher.written), *_VALUES])
        if all(matcher.judge(value).fits for value in tries):
            problem = f"every value of {self.target} fits this, so the gate cannot fail"
            raise FieldError(("matcher",), problem, "Give a limit.")
        self._made = Expectation(self.target, matcher, self.message)
        return self

    @property
    def expectation(self) -> Expectation:
        return self._made


class CalibrationExpectationModel(ExpectationModel):
    """A target of a judge's calibration and the matcher that it must fit."""

    spans = expect.CALIBRATION_SPANS

    by: Literal[BY] | None = None  # type: ignore[valid-type]
    """The property by which the run is split; the worst segment is then checked."""
    subject: Text | None = None
    """The subject whose composite is checked; the worst one by default."""

    @model_validator(mode="after")
    def _splits(self) -> "CalibrationExpectationModel":
        if self.subject is not None:
            if self.target != expect.COMPOSITE:
                problem = f"has subject beside {self.target}, which is of all subjects"
                raise FieldError(("subject",), problem, "Use composite_low, or leave it out.")
            self._made = replace(self._made, target=f"{expect.COMPOSITE_OF}{self.subject}")
        if self.by is not None:
            if self.target != "accuracy_low":
                problem = f"has by beside {self.target}, which is not split"
                raise FieldError(("by",), problem, "Use accuracy_low, or leave it out.")
            self._made = replace(self._made, target=f"{expect.SPLIT}{self.by}")
        return self


class ReliabilityModel(SuitePart):
    """A judge against a trusted set."""

    what = "reliability"

    tp: CellCount
    fn: CellCount
    tn: CellCount
    fp: CellCount


class QuestionModel(SuitePart):
    """The question that was asked before the labels of an entry."""

    what = "a question"

    text: Text
    asked_at: Text = ""
    labels_before: CellCount = 0


class Entry(SuitePart):
    """The common part of both kinds of entries: a name, one source, and lines for errors."""

    file_key: ClassVar[str]

    name: Text
    run: Text | None = None
    _node: Node = PrivateAttr()

    @model_validator(mode="after")
    def _has_one_source(self) -> "Entry":
        if bool(self.file) is bool(self.run):
            key = self.file_key
            text = f"has both {key} and run" if self.run else f"has neither {key} nor run"
            raise FieldError((), text, "Name one: a file, or a run of the desk.")
        return self

    @property
    def file(self) -> str | None:
        found: str | None = getattr(self, self.file_key)
        return found

    @property
    def source(self) -> str:
        return self.file or self.run or ""

    @property
    def source_line(self) -> int:
        return self.line_of(self.file_key if self.file else "run")

    @property
    def line(self) -> int:
        return self._node.line

    def line_of(self, key: str) -> int:
        """Return the line of a key's value, or of the entry without the key."""
        return self._node.at([key]).line

    def placed(self, node: Node) -> Self:
        self._node = node
        return self


class JuryGate(Entry):
    """One ``jury:`` entry."""

    what = "a jury entry"
    file_key = "report"

    report: Text | None = None
    case: Text | None = None
    expected: Annotated[list[ExpectationModel], Field(min_length=1, alias="expect")]

    @property
    def expect(self) -> tuple[Expectation, ...]:
        return tuple(one.expectation for one in self.expected)


class CalibrationGate(Entry):
    """One ``calibration:`` entry; a run's observed rate and default checks are known only later."""

    what = "a calibration entry"
    file_key = "labels"

    labels: Text | None = None
    frame: Text | None = None
    """The file of the contents that the labels were drawn from."""
    counts: ReliabilityModel | None = Field(None, alias="reliability")
    observed: Unit = Field(None, alias="observed_positive_rate")
    composite: Annotated[dict[Text, Weight] | None, Field(min_length=1)] = None
    """The weight of each dimension in the composite of a subject."""
    observed_n: Count | None = None
    """The number of verdicts behind the observed rate."""
    question: QuestionModel | None = None
    expected: Annotated[list[CalibrationExpectationModel] | None, Field(min_length=1)] = Field(
        None, alias="expect"
    )

    @model_validator(mode="after")
    def _has_inputs(self) -> "CalibrationGate":
        if self.frame is not None and self.run is not None:
            problem = "has frame beside run, and a run has its own draw"
            raise FieldError(("frame",), problem, "Leave it out.")
        if self.observed_n is not None and self.observed is None:
            problem = "has observed_n without observed_positive_rate"
            raise FieldError(("observed_n",), problem, "Give the rate of those verdicts too.")
        self._can_weigh()
        for at, one in enumerate(self.expected or () if self.run is None else ()):
            if one.by is not None:
                problem = "has by, and a labels file has no run to split"
                raise FieldError(("expect", at), problem, "Name a run, or leave it out.")
            if one.target in expect.ASKED:
                problem = f"{one.target} needs run, whose labels answer the question"
                raise FieldError(("expect", at), problem, "Name a run, or leave it out.")
            if one.target in expect.RATES and self.rate is None:
                problem = f"{one.target} needs both reliability and observed_positive_rate"
                raise FieldError(("expect", at), problem, "Give both, or leave it out.")
            if one.target in expect.HONEST and self.observed_n is None:
                problem = f"{one.target} needs run, or observed_n beside observed_positive_rate"
                hint = "Say of how many verdicts that rate is, or leave the target out."
                raise FieldError(("expect", at), problem, hint)
        return self

    def _can_weigh(self) -> None:
        if self.composite is not None:
            total = math.fsum(self.composite.values())
            if self.run is None:
                problem = "has composite, and a labels file does not name dimensions"
                raise FieldError(("composite",), problem, "Name a run, or leave it out.")
            if abs(total - 1) > _ROUNDED:
                problem = f"the weights must sum to 1, found {total:.6g}"
                raise FieldError(("composite",), problem, "Change them, as they are not scaled.")
        for at, one in enumerate(self.expected or ()):
            if one.target == expect.COMPOSITE and self.composite is None:
                problem = "composite_low needs composite, the weight of each dimension"
                hint = "Write composite: {accuracy: 0.6, safety: 0.4} in the entry."
                raise FieldError(("expect", at), problem, hint)

    @property
    def by_default(self) -> bool:
        return self.expected is None

    @property
    def expect(self) -> tuple[Expectation, ...]:
        """The expectations on the judge; the default ones if the entry has no ``expect``."""
        if self.expected is None:
            return default_expectations(None if self.rate is None else self.observed)
        return tuple(one.expectation for one in self.expected)

    @property
    def reliability(self) -> Cells | None:
        return Cells(**self.counts.model_dump()) if self.counts else None

    @property
    def rate(self) -> Corrected | None:
        """The corrected rate if both of its inputs are given, else None."""
        if self.reliability is None or self.observed is None:
            return None
        return self.reliability.correct(self.observed)


Gate: TypeAlias = JuryGate | CalibrationGate


class SuiteModel(SuitePart):
    """A whole suite."""

    what = "a suite"

    jury: Annotated[list[JuryGate] | None, Field(min_length=1)] = None
    calibration: Annotated[list[CalibrationGate] | None, Field(min_length=1)] = None

    @model_validator(mode="after")
    def _has_gates(self) -> "SuiteModel":
        if self.jury is None and self.calibration is None:
            raise FieldError((), "has no gates", "Write a list under jury: or calibration:.")
        return self


class Suite(Struct, frozen=True):
    """The gates of a suite in the order of its file; ``file`` is the name that errors print."""

    file: str
    entries: tuple[Gate, ...]


def read_suite(path: str) -> Suite:
    """Read a suite and check all of it; SuiteError names file and line if it is not valid."""
    try:
        source = Source.from_path(path)
        root = read_yaml(source)
        suite = validated(SuiteModel, root.plain(_TEXTS))
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a suite.
        raise SuiteError(error.file, 0, error.problem, "Name the suite's YAML file.") from error
    except FieldError as error:
        text = f"{spell_path(error.path)}: {error.text}"
        raise SuiteError(source.shown_name, root.line_of(error.path), text, error.hint) from None
    kinds: dict[str, Sequence[Gate]] = {
        "jury": suite.jury or (), "calibration": suite.calibration or (),
    }  # fmt: skip
    placed = [
        gate.placed(root.at([kind, at]))
        for kind, gates in kinds.items()
        for at, gate in enumerate(gates)
    ]
    return Suite(source.shown_name, tuple(sorted(placed, key=lambda gate: gate.line)))


def default_expectations(observed: float | None) -> tuple[Expectation, ...]:
    """Return the expectations of a calibration entry that has no ``expect``."""
    limits = {"ece": ECE_LIMIT, "brier": BRIER_LIMIT}
    if observed is not None:
        limits["corrected_rate"] = observed
    return tuple(
        Expectation(target, fitting({"maximum": limit})) for target, limit in limits.items()
    )
