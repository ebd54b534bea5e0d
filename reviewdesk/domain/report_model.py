"""The types of ``reviewdesk.report/1``: they validate canonical reports and give their schema."""

from functools import cache
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.json import Decoder, Encoder


def _of(words: str, **limits: Any) -> Meta:
    """Return limits with the words in which an error says what the value must be."""
    return Meta(extra={"words": words}, **limits)


Unit = Annotated[float, _of("a number from 0 to 1", ge=0, le=1)] | None
Fraction = (
    Annotated[float, _of("a number from 0 up to, but not including, 0.5", ge=0, lt=0.5)] | None
)
Positive = Annotated[float, _of("a number above 0", gt=0)]
Amount = Annotated[float, _of("a number, 0 or more", ge=0)] | None
Finite = Annotated[float, _of("a finite number")] | None
# JSON has one kind of number: 3.0 is as whole as 3.
Count = Annotated[float, _of("a whole number, 0 or more", ge=0, multiple_of=1)] | None
Ordinal = Annotated[float, _of("a whole number, 1 or more", ge=1, multiple_of=1)] | None
Text = str | None
Vote = Annotated[bool, _of("true, false or null")] | None
Name = Annotated[str, _of("a text of 1 to 200 characters", min_length=1, max_length=200)]
Quorum = (
    Annotated[float, _of('a number above 0 and at most 1, or a fraction such as "2/3"', gt=0, le=1)]
    | Annotated[str, Meta(pattern="^[0-9]+/[0-9]+$")]
    | None
)
Strategy = Literal[
    "quorum", "majority", "unanimous", "weighted_average", "mean", "median", "highest", "lowest",
    "trimmed_mean", "weighted_vote", "first_disagreement", "single", "external", "supermajority",
] | None  # fmt: skip
Status = Literal[
    "ok", "error", "timeout", "parse_fail", "empty", "abstained", "missing_key", "unknown",
    "not_asked",
] | None  # fmt: skip


class Canonical(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A part of a report, written without null or absent keys; ``UNSET`` if null has a meaning."""


class ProducerModel(Canonical):
    """The program that wrote the report."""

    name: str
    version: Text = None
    format: Text = None
    run_id: Text = None


class Generator(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The model that wrote the response under review."""

    model: Text = None
    vendor: Text = None


class PolicyModel(Canonical):
    """The rule for verdicts that state none."""

    threshold: Unit = None
    quorum: Quorum = None
    strategy: Strategy = None
    trim_fraction: Fraction = None
    weights: dict[str, Positive] | None = None


class CaseModel(Canonical):
    """The test a verdict belongs to."""

    test: Annotated[str, _of("a text that is not empty", min_length=1)]
    suite: Text = None
    name: Text = None
    target: Text = None
    epoch: Ordinal = None
    tags: list[str] | UnsetType = UNSET
    dimension: Text = None
    subject: Text = None


class Agreement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How closely the jurors agree, under the metric that the report names."""

    value: Annotated[float, _of("a finite number, at most 1", le=1)] | None
    metric: Literal[
        "krippendorff_alpha", "r_wg", "pairwise", "consensus_share", "variance", "unknown"
    ]


class TrimModel(Canonical):
    """The jurors whose scores the report left out at each end."""

    method: Literal["quantile", "median", "none"]
    fraction: Fraction = None
    rounding: Literal["down", "nearest", "up"] | None = None
    per_side: Count = None
    dropped_low: list[str] | UnsetType = UNSET
    dropped_high: list[str] | UnsetType = UNSET
    degraded: bool | None = None
    rule_version: Text = None


class CheckModel(Canonical):
    """A deterministic assertion beside the jury."""

    name: str
    pass_: Vote = field(name="pass")
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


class ErrorModel(Canonical, kw_only=True):
    """Why a juror gave no answer."""

    type: Text = None
    message: str


class JurorModel(Canonical):
    """One juror's ballot."""

    id: Name
    kind: Literal["llm", "reward_model", "human", "code"] | UnsetType = UNSET
    model: Text = None
    vendor: Text = None
    role: Text = None
    score: Unit = None
    raw_score: Finite = None
    scale: (
        Annotated[list[float], _of("a list of two finite numbers", min_length=2, max_length=2)]
        | None
    ) = None
    label: Text = None
    pass_: Vote | UnsetType = field(name="pass", default=UNSET)
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
    meta: dict[str, Any] | UnsetType = UNSET
    status: Status = None
    temperature: Finite = None
    prompt_sha256: Text = None
    samples: list[dict[str, Any]] | None = None
    round: Ordinal = None
    not_applied: list[str] | None = None


_FAILED = {
    "if": {"required": ["error"], "properties": {"error": {"type": "object"}}},
    "then": {"properties": {"score": {"type": "null"}, "pass": {"type": "null"}}},
}
"""A juror that failed has no answer; ``rules`` checks it."""


class VerdictModel(Canonical, kw_only=True):
    """What a panel decided about one item."""

    id: Annotated[str, _of("a text of 1 to 500 characters", min_length=1, max_length=500)]
    case: CaseModel
    input: Text = None
    output: Text = None
    alternative: Text = None
    reference: Annotated[str, _of("a text or a list of texts")] | list[str] | None = None
    rubric: Text = None
    generator: Generator | None = None
    threshold: Unit = None
    quorum: Quorum = None
    strategy: Strategy = None
    decision: Literal["pass", "fail", "inconclusive", "error"] | None = None
    label: Text = None
    score: Unit = None
    agreement: Agreement | None = None
    band: Literal["high", "medium", "low"] | None = None
    escalate_for_review: bool | UnsetType = UNSET
    escalation_reasons: list[str] | UnsetType = UNSET
    same_family: bool | None = None
    bias_warning: Text = None
    trim: TrimModel | None = None
    checks: list[CheckModel] | UnsetType = UNSET
    jurors: list[Annotated[JurorModel, Meta(extra_json_schema=_FAILED)]]
    human: HumanModel | None = None
    provenance: ProvenanceModel | None = None
    meta: dict[str, Any] | UnsetType = UNSET
    regime: Literal["routine", "irreversible", "dispute"] | None = None
    reruns: "list[VerdictModel] | UnsetType" = UNSET
    labels: list[dict[str, Any]] | UnsetType = UNSET


@cache
def _decoder() -> Decoder[VerdictModel]:
    return Decoder(VerdictModel)


def verdict_model(text: bytes | str) -> VerdictModel:
    """Read the JSON of a verdict; raise msgspec.ValidationError for one that is not valid."""
    return _decoder().decode(text)


json_of = Encoder().encode
"""Returns the JSON of a verdict as a desk stores it."""
Written = tuple[VerdictModel, bytes]


class HeaderModel(Canonical):
    """A report without its verdicts: the first line of JSON Lines."""

    schema_: Literal["reviewdesk.report/1"] = field(name="schema")
    report_id: Name = ""
    title: Text = None
    created_at: Text = None
    producer: ProducerModel | None = None
    defaults: PolicyModel | None = None
    generator: Generator | None = None
    meta: dict[str, Any] | UnsetType = UNSET


Words = Annotated[list[str], Meta(max_length=1000)] | None
Sha256 = Annotated[str, _of("64 hexadecimal digits", pattern="^[0-9a-f]{64}$")]


class RunOptionsModel(Canonical):
    """The options that a run was read with."""

    threshold: Unit = None
    quorum: Quorum = None
    strategy: Strategy = None
    skip_bad: bool = True
    models: dict[str, str] | None = None
    pass_labels: Words = None
    fail_labels: Words = None
    scale: Annotated[list[float], Meta(min_length=2, max_length=2)] | None = None
    judge_columns: Words = None


class RunFactsModel(Canonical):
    """What is known of a run beside its report: its hash, its origin, and how it was drawn."""

    schema_: Literal["reviewdesk.run/1"] = field(name="schema")
    hash: Sha256
    file: Annotated[str, Meta(min_length=1, max_length=4096)]
    file_hash: Sha256
    format: Annotated[str, Meta(min_length=1, max_length=100)]
    options: RunOptionsModel
    seed: Annotated[str, Meta(min_length=1, max_length=1000)]
    audit_share: Annotated[float, _of("a number from 0 to 1", ge=0, le=1)]
    skipped: Annotated[int, Meta(ge=0, lt=1 << 53)]
    notes: Annotated[list[str], Meta(max_length=1000)]
    drawn: Literal["contents"] | None = None
