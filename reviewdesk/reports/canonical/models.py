"""Strict models of ``reviewdesk.report/1``, which validate a canonical report.

They only accept or refuse: a verdict's body is the JSON of the file, never a model's dump.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from reviewdesk.reports.canonical.fields import (
    AgreementMetric,
    Amount,
    Count,
    Finite,
    Fraction,
    Free,
    Ordinal,
    Positive,
    Quorum,
    Reference,
    StatusName,
    StrategyName,
    Text,
    Unit,
    Vote,
)
from reviewdesk.reports.validation import Strict, Wanted
from reviewdesk.reports.wording import FieldError, must_be

_UNKNOWN = "is not a key of this format (free data belongs under meta)"


class Canonical(Strict):
    """A part of a canonical report."""

    unknown: ClassVar[str] = _UNKNOWN


class ProducerModel(Canonical):
    """The program that wrote the report."""

    name: str
    version: Text = None
    format: Text = None
    run_id: Text = None


class GeneratorModel(Canonical):
    """The model that wrote the response under review."""

    model: Text = None
    vendor: Text = None


class PolicyModel(Canonical):
    """The rule for verdicts that state none."""

    threshold: Unit = None
    quorum: Quorum = None
    strategy: StrategyName = None
    trim_fraction: Fraction = None
    weights: dict[str, Positive] | None = None


class CaseModel(Canonical):
    """The test a verdict belongs to."""

    test: str = Field(min_length=1)
    suite: Text = None
    name: Text = None
    target: Text = None
    epoch: Ordinal = None
    tags: list[str] = []
    dimension: Text = None
    subject: Text = None


class AgreementModel(Canonical):
    """How closely the jurors agree, under the metric the report names."""

    value: Annotated[float, Field(le=1), Wanted("a finite number, at most 1")] | None
    metric: AgreementMetric


class TrimModel(Canonical):
    """The jurors whose scores the report left out at each end."""

    method: Literal["quantile", "median", "none"]
    fraction: Fraction = None
    rounding: Literal["down", "nearest", "up"] | None = None
    per_side: Count = None
    dropped_low: list[str] = []
    dropped_high: list[str] = []
    degraded: bool | None = None
    rule_version: Text = None


class CheckModel(Canonical):
    """A deterministic assertion beside the jury."""

    name: str
    pass_: Vote = Field(alias="pass")
    reason: Text = None


class HumanModel(Canonical):
    """A reviewer's label that the file already has."""

    label: Literal["pass", "fail", "unsure"]
    by: Text = None
    at: Text = None
    note: Text = None


class ProvenanceModel(Canonical):
    """How a verdict came about."""

    pointer: Text = None
    panel_hash: Text = None
    committed_at: Text = None
    run_id: Text = None
    commit: Text = None
    unanimous: bool | None = None


class ErrorModel(Canonical):
    """Why a juror gave no answer."""

    type: Text = None
    message: str


class JurorModel(Canonical):
    """One juror's ballot."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["error"], "properties": {"error": {"type": "object"}}},
            "then": {"properties": {"score": {"type": "null"}, "pass": {"type": "null"}}},
        }
    )

    id: str = Field(min_length=1, max_length=200)
    kind: Literal["llm", "reward_model", "human", "code"] = "llm"
    model: Text = None
    vendor: Text = None
    role: Text = None
    score: Unit = None
    raw_score: Finite | None = None
    scale: (
        Annotated[
            list[float], Field(min_length=2, max_length=2), Wanted("a list of two finite numbers")
        ]
        | None
    ) = None
    label: Text = None
    pass_: Vote = Field(None, alias="pass")
    confidence: Unit = None
    reason: Text = None
    weight: Positive | None = None
    error: ErrorModel | None = None
    trimmed: Literal["low", "high"] | None = None
    latency_ms: Amount = None
    tokens_in: Count = None
    tokens_out: Count = None
    cost_usd: Amount = None
    at: Text = None
    raw: Text = None
    meta: Free = {}
    status: StatusName = None
    temperature: Finite | None = None
    prompt_sha256: Text = None
    samples: list[Free] | None = None
    round: Ordinal = None
    not_applied: list[str] | None = None

    @model_validator(mode="after")
    def _failed_is_no_answer(self) -> JurorModel:
        if self.error is not None:
            for key, value in (("score", self.score), ("pass", self.pass_)):
                if value is not None:
                    text = must_be("null where the juror has an error", value)
                    raise FieldError((key,), text)
        return self


class VerdictModel(Canonical):
    """What a panel decided about one item."""

    id: str = Field(min_length=1, max_length=500)
    case: CaseModel
    input: Text = None
    output: Text = None
    alternative: Text = None
    reference: Reference = None
    rubric: Text = None
    generator: GeneratorModel | None = None
    threshold: Unit = None
    quorum: Quorum = None
    strategy: StrategyName = None
    decision: Literal["pass", "fail", "inconclusive", "error"] | None = None
    label: Text = None
    score: Unit = None
    agreement: AgreementModel | None = None
    band: Literal["high", "medium", "low"] | None = None
    escalate_for_review: bool = False
    escalation_reasons: list[str] = []
    same_family: bool | None = None
    bias_warning: Text = None
    trim: TrimModel | None = None
    checks: list[CheckModel] = []
    jurors: list[JurorModel]
    human: HumanModel | None = None
    provenance: ProvenanceModel | None = None
    meta: Free = {}
    regime: Literal["routine", "irreversible", "dispute"] | None = None
    reruns: list[VerdictModel] = []
    labels: list[Free] = []


class HeaderModel(Canonical):
    """A report without its verdicts: the first line of JSON Lines."""

    schema_: Literal["reviewdesk.report/1"] = Field(alias="schema")
    report_id: str = Field("", min_length=1, max_length=200)
    title: Text = None
    created_at: Text = Field(None, json_schema_extra={"format": "date-time"})
    producer: ProducerModel | None = None
    defaults: PolicyModel | None = None
    generator: GeneratorModel | None = None
    meta: Free = {}


def schemas() -> dict[str, Any]:
    """Return the JSON schema of a header and of a verdict, which ``schema.json`` holds."""
    return {model.__name__: model.model_json_schema() for model in (HeaderModel, VerdictModel)}
