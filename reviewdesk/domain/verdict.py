"""A verdict, its ballots and its rule, read from a *body* of ``reviewdesk.report/1``."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from reviewdesk.domain import values
from reviewdesk.domain.report_model import Agreement, Generator, HumanModel, VerdictModel, json_of
from reviewdesk.domain.values import (
    BY_REGIME,
    FAILED_LABELS,
    UNCLEAR,
    Band,
    Decision,
    LabelRules,
    Regime,
    Rounding,
    Status,
    Strategy,
    folded,
    stated_rules,
)
from reviewdesk.errors import UsageError

Free = Mapping[str, Any]
CanonicalVerdict = dict[str, Any]
"""What a panel decided about one item; ``VerdictModel`` has its keys."""
CanonicalBallot = dict[str, Any]
"""The ballot of one juror; ``JurorModel`` has its keys."""
CanonicalCheck = dict[str, Any]
"""A deterministic assertion beside the jury: its ``name``, ``pass`` and ``reason``."""


stored_body: Callable[[str | bytes], CanonicalVerdict] = json.loads
"""Returns a verdict from JSON that the desk stores, which was checked before it was stored."""


def without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def number(value: object) -> float | None:
    """Return the value as a float, or ``None`` if it is a boolean, not a number, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def own_facts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``meta.reviewdesk``: what our reports state beyond the format's fields; or {}."""
    own = (body.get("meta") or {}).get("reviewdesk")
    return own if isinstance(own, Mapping) else {}


def people(body: Mapping[str, Any]) -> list[HumanModel]:
    """Return the labels of people that a report states: ``human``, then those in own facts."""
    human = body.get("human")
    with suppress(ValidationError, TypeError):
        return convert([human, *own_facts(body).get("humans", ())], list[HumanModel])
    return convert([human] if human else [], list[HumanModel])


def canonical_json(value: object) -> bytes:
    """Return compact UTF-8 JSON with sorted keys, the form that all hashes are taken over."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def json_sha256(value: object) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


def canonical_texts(*texts: str | None) -> bytes:
    """Return ``canonical_json`` of a list of texts, many times faster."""
    return json_of(texts)


def content_digest(verdict: VerdictModel, *more: str) -> bytes:
    """Return the sha256 of what was judged: its texts, and the dimension if the case sets one."""
    content = [
        verdict.input, verdict.output, verdict.alternative, verdict.reference, verdict.rubric,
    ]  # fmt: skip
    # One response may be judged on several dimensions.
    dimension = verdict.case.dimension
    content += more if dimension is None else (dimension, *more)
    return hashlib.sha256(json_of(content)).digest()


def item_digest(verdict: VerdictModel, content: bytes, run_hash: str) -> bytes:
    """Return the hash of a label's content, and of its run and verdict if it has no output."""
    return content if verdict.output else content_digest(verdict, run_hash, verdict.id)


def drawn_name(content: bytes, verdict_id: str | None) -> str:
    """Return the name under which a content is drawn; ``verdict_id`` is of one without output."""
    if verdict_id is None:
        return content.hex()
    return hashlib.sha256(canonical_texts(content.hex(), verdict_id)).hexdigest()


__all__ = [
    "BY_REGIME", "DEFAULT_TRIM_FRACTION", "FAILED_LABELS", "SLACK", "UNCLEAR", "Ballot", "Band",
    "Decision", "Generator", "Policy", "Regime", "Rounding", "StatedTrim", "Status", "Strategy",
    "Verdict", "answer", "folded", "labelled", "read_ballot", "read_trim",
    "stated_trim", "verdict_from_body", "verdict_reader",
]  # fmt: skip

SLACK = 1e-9
"""The rounding error that every comparison with a documented threshold tolerates."""

DEFAULT_TRIM_FRACTION = 0.2


_CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "threshold": values.unit,
    "quorum": values.quorum,
    "supermajority": values.supermajority,
    "min_answered": values.min_answered,
}


class Policy(Struct, frozen=True):
    """The rule that decided a verdict; a value of ``None`` is unknown, and it is never guessed."""

    threshold: float | None = None
    quorum: float | str | None = None
    strategy: Strategy | None = None
    trim_fraction: float | None = None
    weights: Mapping[str, float] = {}
    # Only our own reports state the following.
    failed_jurors: Strategy | None = None
    """The strategy that replaces an average when a juror failed."""
    supermajority: float | str | None = None
    """The share that a supermajority needs, 2/3 if ``None``."""
    counting: LabelRules | None = None
    min_answered: float | str | None = None
    """How many jurors must answer, a count or "k/n" of the seats; fewer give an error."""

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            if (value := getattr(self, name)) is not None:
                check(name, value)

    @staticmethod
    def from_body(body: Mapping[str, Any] | None) -> "Policy":
        """Read the policy keys of a report's ``defaults``, one verdict or a run's options."""
        body = body or {}
        strategy = body.get("strategy")
        return Policy(
            threshold=number(body.get("threshold")),
            quorum=body.get("quorum"),
            strategy=Strategy(strategy) if strategy else None,
            trim_fraction=number(body.get("trim_fraction")),
            weights=dict(body.get("weights") or {}),
        )

    def over(self, other: "Policy") -> "Policy":
        """Return this policy, with its unknown values taken from ``other``."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **{**known, "weights": {**other.weights, **self.weights}})

    def beyond(self, other: "Policy") -> tuple[str, ...]:
        """Return which of threshold, quorum and strategy only this policy knows."""
        names = ("threshold", "quorum", "strategy")
        own = [name for name in names if getattr(self, name) is not None]
        return tuple(name for name in own if getattr(other, name) is None)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One juror's answer. ``seat`` identifies it: two jurors may share a model and a name."""

    seat: int
    id: str
    model: str | None
    vendor: str | None
    status: Status
    score: float | None
    vote: bool | None
    stated_pass: bool | None
    confidence: float | None
    weight: float | None
    reason: str | None
    error: str | None
    label: str | None
    withheld: bool = False
    """Whether the juror states that it casts no vote, whatever its score."""
    raw_score: float | None = None
    line: float | None = None
    """The threshold of this juror alone, if its file states one."""
    unscaled: bool = field(default=False, compare=False)
    """Whether the juror gave only a raw number, whose scale is not known."""

    @property
    def usable(self) -> bool:
        return self.status is Status.OK

    @property
    def undetermined(self) -> bool:
        """Whether the ballot has a score but no vote, because no threshold is known."""
        return self.vote is None and self.score is not None and not self.withheld


def labelled(ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
    none = {"", *FAILED_LABELS}
    return tuple(one for one in ballots if one.usable and folded(one.label) not in none)


class StatedTrim(Struct, frozen=True):
    """The trim that a report states; ``low`` and ``high`` are ``None`` if it names no juror."""

    method: str | None
    fraction: float | None
    rounding: Rounding | None
    low: tuple[str, ...] | None
    high: tuple[str, ...] | None
    degraded: bool | None
    per_side: float | None = None

    def fraction_under(self, policy: Policy, default: float = DEFAULT_TRIM_FRACTION) -> float:
        fraction = policy.trim_fraction if self.fraction is None else self.fraction
        return default if fraction is None else fraction


class Verdict(Struct, frozen=True):
    """One verdict as its report states it, with the policy that applies to it."""

    id: str
    test: str
    body: CanonicalVerdict
    policy: Policy
    generator: Generator
    ballots: tuple[Ballot, ...]
    decision: Decision | None
    score: float | None
    agreement: Agreement | None
    band: Band | None
    escalate: bool | None
    """Whether the report asks for review; ``None`` if it does not say."""
    same_family: bool | None
    bias_warning: str | None
    trim: StatedTrim
    regime: str | None
    set_by_you: tuple[str, ...]
    """The names of the policy values that the file leaves unknown and the user filled in."""

    def text(self, key: str) -> str | None:
        value = self.body.get(key)
        return value if isinstance(value, str) else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The jurors whose answers could not be had, by name."""
        return tuple(one.id for one in self.ballots if one.status.missing)

    @property
    def has_response(self) -> bool:
        return bool(self.text("output") or self.text("alternative"))


_UNSTATED = Policy()
_UNNAMED = Generator()


def verdict_from_body(
    body: CanonicalVerdict,
    defaults: Policy = _UNSTATED,
    generator: Generator = _UNNAMED,
    filled: Policy | None = None,
) -> Verdict:
    """Build a verdict from its canonical body.

    A policy value comes from the verdict, else from the report's ``defaults``, else from what the
    user ``filled`` in; a verdict's ``regime`` comes before the strategy of ``defaults``.
    """
    policy = Policy.from_body(body)
    if own_rules := own_facts(body):
        median = own_rules.get("failed_jurors") == Strategy.MEDIAN
        policy = replace(
            policy,
            failed_jurors=Strategy.MEDIAN if median else None,
            supermajority=_valid(values.supermajority, own_rules.get("supermajority")),
            counting=stated_rules(own_rules),
            min_answered=_valid(values.min_answered, own_rules.get("min_answered")),
        )
    stated = policy.over(defaults)
    by_regime = BY_REGIME.get(body.get("regime") or "")
    if by_regime and not body.get("strategy") and stated.strategy not in {None, by_regime}:
        stated = replace(stated, strategy=None)
    policy = stated if filled is None else stated.over(filled)
    decision = body.get("decision")
    band = body.get("band")
    agreement = body.get("agreement")
    return Verdict(
        id=body["id"],
        test=body["case"]["test"],
        body=body,
        policy=policy,
        generator=generator_of(body, generator),
        ballots=tuple(
            read_ballot(seat, juror, policy) for seat, juror in enumerate(body["jurors"])
        ),
        decision=Decision(decision) if decision else None,
        score=number(body.get("score")),
        agreement=Agreement(number(agreement["value"]), agreement["metric"]) if agreement else None,
        band=Band(band) if band else None,
        escalate=body.get("escalate_for_review"),
        same_family=body.get("same_family"),
        bias_warning=body.get("bias_warning") or None,
        trim=stated_trim(body),
        regime=body.get("regime"),
        set_by_you=policy.beyond(stated),
    )


def verdict_reader(
    header: Mapping[str, Any], options: Mapping[str, Any]
) -> Callable[[CanonicalVerdict], Verdict]:
    """Return a function that builds a report's verdicts from bodies, by header and options."""
    return partial(
        verdict_from_body,
        defaults=Policy.from_body(header.get("defaults")),
        generator=generator_of(header),
        filled=Policy.from_body(options),
    )


def generator_of(stated: Mapping[str, Any], other: Generator = _UNNAMED) -> Generator:
    """Return the generator that a header or a verdict states; ``other`` fills in the rest."""
    found = stated.get("generator") or {}
    return Generator(found.get("model") or other.model, found.get("vendor") or other.vendor)


def _valid(read: Callable[[str, object], Any], stated: object) -> Any:
    """Return a stated value as ``read`` parses it, or ``None`` if it is invalid."""
    try:
        found = read("", stated)
    except UsageError:
        return None
    return str(found) if isinstance(found, Fraction) else found


def answer(
    juror: CanonicalBallot, threshold: float | None
) -> tuple[Status, float | None, bool | None]:
    """Return how a juror's call ended, with the score and the vote that count."""
    score = number(juror.get("score"))
    # An explicit ``pass: null`` withholds the vote; an absent key leaves it to the threshold.
    vote = juror.get("pass")
    status = Status(juror.get("status") or Status.OK)
    if status is Status.OK and juror.get("error"):
        status = Status.ERROR
    elif status is Status.OK and score is None and vote is None:
        word = folded(juror.get("label"))
        status = FAILED_LABELS.get(word, Status.OK) if word else Status.ABSTAINED
    elif "pass" not in juror and score is not None and threshold is not None:
        vote = score >= threshold - SLACK
    return (status, score, vote) if status is Status.OK else (status, None, None)


def read_ballot(seat: int, juror: CanonicalBallot, policy: Policy) -> Ballot:
    """Read the ballot of one juror of a canonical body, under the policy of its verdict."""
    status, score, vote = answer(juror, policy.threshold)
    stated = juror.get("pass")
    label = juror.get("label")
    message = (juror.get("error") or {}).get("message")
    withheld = stated is None and "pass" in juror
    if status is Status.OK and policy.counting is not None and policy.counting.labels:
        spelled = policy.counting.spelled(label)
        if spelled is None:
            status = Status.PARSE_FAIL
            message = policy.counting.refusal(label)
            score = vote = None
        elif stated is None:
            # A label that neither passes nor fails casts no vote, whatever the score.
            meant = policy.counting.decision(spelled)
            vote = None if meant is None else meant is Decision.PASS
        label = spelled or label
        withheld = vote is None and spelled is not None
    confidence = number(juror.get("confidence"))
    weight = number(juror.get("weight"))
    raw_score = number(juror.get("raw_score"))
    silent = status is Status.ABSTAINED
    return Ballot(
        seat=seat,
        id=juror["id"],
        model=juror.get("model"),
        vendor=juror.get("vendor"),
        status=status,
        score=score,
        vote=vote,
        stated_pass=stated,
        confidence=confidence if confidence is not None and 0 <= confidence <= 1 else None,
        weight=policy.weights.get(juror["id"]) if weight is None else weight,
        reason=juror.get("reason"),
        error=message,
        label=label,
        withheld=withheld,
        line=number((juror.get("meta") or {}).get("threshold")),
        raw_score=raw_score,
        unscaled=silent and raw_score is not None and juror.get("status") != Status.ABSTAINED,
    )


def stated_trim(body: CanonicalVerdict) -> StatedTrim:
    """Return the trim that a canonical body states, in its own block or by marks on the ballots."""
    marks = [(juror["id"], juror.get("trimmed")) for juror in body["jurors"]]
    return read_trim(body.get("trim") or {}, marks)


def read_trim(trim: Mapping[str, Any], marks: Sequence[tuple[str, str | None]]) -> StatedTrim:
    """Return the trim that a verdict states; ``marks`` are its jurors' ids and own marks."""
    listed = [trim.get(f"dropped_{side}") for side in ("low", "high")]
    low, high = (
        tuple(names or [name for name, mark in marks if mark == side])
        for names, side in zip(listed, ("low", "high"), strict=True)
    )
    # "none" trims nobody, and a median leaves out no juror by name.
    told = low or high or listed != [None, None] or trim.get("method") in {"none", "median"}
    rounding = trim.get("rounding")
    return StatedTrim(
        method=trim.get("method"),
        fraction=number(trim.get("fraction")),
        rounding=Rounding(rounding) if rounding else None,
        low=low if told else None,
        high=high if told else None,
        degraded=trim.get("degraded"),
        per_side=trim.get("per_side"),
    )


def ballot(
    juror: str,
    score: float | None = None,
    *,
    passed: bool | None = None,
    label: str | None = None,
    confidence: float | None = None,
    weight: float | None = None,
    model: str | None = None,
    vendor: str | None = None,
    reason: str | None = None,
    error: str | None = None,
    status: Status | str | None = None,
    withheld: bool = False,
) -> Ballot:
    """Build one juror's ballot from a score, a vote, a label, or the error of a failed call.

    Scores and confidences lie on 0..1. Without ``passed`` a score votes by the panel's threshold,
    unless the vote is ``withheld``. Raise UsageError, naming juror and value, for anything else.
    """
    place = f"ballot of {juror!r}"
    if not isinstance(juror, str) or not juror:
        raise UsageError(f"a juror is named {juror!r}", "Give a name that is not empty")
    if not isinstance(label, str | None):
        raise UsageError(f"{place}: label is {label!r}", "Give a word")
    found = None if status is None else values.member(Status, status, f"{place}: status is")
    if (error is not None or found not in {None, Status.OK}) and (score, passed) != (None, None):
        raise UsageError(f"{place}: it failed and has a score or a vote", "Leave one of them out")
    cast: CanonicalBallot = {
        "id": juror, "label": label, "model": model, "vendor": vendor, "reason": reason,
        "status": found, "error": None if error is None else {"message": error},
    }  # fmt: skip
    numbers = {"score": score, "confidence": confidence, "weight": weight}
    for name, value in numbers.items():
        check = values.weight if name == "weight" else values.unit
        cast[name] = None if value is None else check(f"{place}: {name}", value)
    if not isinstance(passed, bool | None) or (withheld and passed is not None):
        raise UsageError(f"{place}: passed is {passed!r}", "Give True or False, or withhold it")
    if withheld or passed is not None:
        cast["pass"] = passed
    return read_ballot(0, cast, Policy())


def as_juror(cast: Ballot) -> CanonicalBallot:
    """Return a ballot as a juror of a canonical report; reading it back gives the same ballot."""
    names = ("id", "model", "vendor", "score", "label", "confidence", "weight", "reason")
    known = without_nulls({name: getattr(cast, name) for name in names})
    known |= {"status": cast.status.value}
    known |= {} if cast.error is None else {"error": {"message": cast.error}}
    said = cast.withheld or cast.stated_pass is not None
    return known | ({"pass": cast.stated_pass} if said else {})
