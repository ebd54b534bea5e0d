"""What a report says: a verdict, the ballots of its jurors and the rule it was decided by.

A verdict is read from its canonical *body* (a ``reviewdesk.report/1`` verdict as a plain mapping),
so that every reader and the desk itself build it the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from reviewdesk.domain import arguments
from reviewdesk.domain.body_values import number, own_word
from reviewdesk.domain.enums import (
    BY_REGIME,
    Band,
    Decision,
    Regime,
    Rounding,
    Status,
    Strategy,
)
from reviewdesk.errors import UsageError

__all__ = [
    "BY_REGIME", "DEFAULT_TRIM_FRACTION", "FAILED_LABELS", "SLACK", "UNCLEAR", "Agreement",
    "Answer", "Ballot", "Band", "Body", "Decision", "Generator", "Policy", "Regime", "Rounding",
    "StatedTrim", "Status", "Strategy", "Verdict", "answer", "folded", "read_ballot",
    "stated_trim", "verdict_from_body",
]  # fmt: skip

SLACK = 1e-9
"""What every comparison with a documented threshold forgives."""

DEFAULT_TRIM_FRACTION = 0.2

Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Generator:
    """The model that wrote what is judged."""

    model: str | None = None
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The rule a verdict was decided by; ``None`` is unknown, and nothing is invented for it."""

    threshold: float | None = None
    quorum: float | str | None = None
    strategy: Strategy | None = None
    trim_fraction: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    failed_jurors: Strategy | None = None
    """What stands in for any strategy when a juror failed; only our own reports state it."""
    supermajority: float | str | None = None
    """What a supermajority needs, 2/3 without one; only our own reports state it."""

    def __post_init__(self) -> None:
        """Refuse a pass line outside 0..1, and a share that no votes can be held against."""
        if self.threshold is not None:
            arguments.unit("threshold", self.threshold)
        if self.quorum is not None:
            arguments.quorum("quorum", self.quorum)
        if self.supermajority is not None:
            arguments.supermajority("supermajority", self.supermajority)

    @staticmethod
    def from_body(body: Body | None) -> Policy:
        """Read a report's ``defaults`` block, or the policy keys of one verdict."""
        body = body or {}
        strategy = body.get("strategy")
        return Policy(
            threshold=number(body.get("threshold")),
            quorum=body.get("quorum"),
            strategy=Strategy(strategy) if strategy else None,
            trim_fraction=number(body.get("trim_fraction")),
            weights=dict(body.get("weights") or {}),
        )

    def over(self, other: Policy) -> Policy:
        """This policy, with what it leaves unknown taken from ``other``."""
        return Policy(
            threshold=self.threshold if self.threshold is not None else other.threshold,
            quorum=self.quorum if self.quorum is not None else other.quorum,
            strategy=self.strategy or other.strategy,
            trim_fraction=(other if self.trim_fraction is None else self).trim_fraction,
            weights={**other.weights, **self.weights},
            failed_jurors=self.failed_jurors or other.failed_jurors,
            supermajority=self.supermajority or other.supermajority,
        )

    def beyond(self, other: Policy) -> tuple[str, ...]:
        """What this policy knows and ``other`` leaves open."""
        return tuple(
            name
            for name in ("threshold", "quorum", "strategy")
            if getattr(other, name) is None and getattr(self, name) is not None
        )


@dataclass(frozen=True, slots=True)
class Ballot:
    """One juror's answer. ``seat`` is its identity: two jurors may share a model and a name."""

    seat: int
    id: str
    model: str | None
    vendor: str | None
    status: Status
    score: float | None
    vote: bool | None
    stated_pass: bool | None
    contradicts: bool
    """The stated pass differs from what score and threshold say."""
    confidence: float | None
    weight: float | None
    reason: str | None
    error: str | None
    label: str | None
    stated_trim: str | None
    withheld: bool = False
    """The juror says outright that it casts no vote, whatever its score."""
    raw_score: float | None = None
    declined: bool = field(default=False, compare=False)
    """The juror's own status says that it abstains."""

    @property
    def usable(self) -> bool:
        """Whether the juror returned a score, a vote or a label."""
        return self.status is Status.OK

    @property
    def undetermined(self) -> bool:
        """Whether a score waits for a threshold."""
        return self.vote is None and self.score is not None and not self.withheld

    @property
    def unscaled(self) -> bool:
        """Whether the juror gave a number and nothing else, which waits for its scale."""
        silent = self.status is Status.ABSTAINED and not self.declined
        return silent and self.raw_score is not None


UNCLEAR = "UNCLEAR"
"""The label of a juror, or a panel, that does not commit itself."""
FAILED_LABELS = {"error": Status.ERROR, "parse_fail": Status.PARSE_FAIL}
"""Labels that stand for a failed call, folded, with the status that each one means."""


def folded(label: str | None) -> str:
    """A label as labels are compared: without case and surrounding blanks."""
    return (label or "").strip().casefold()


class Answer(NamedTuple):
    """How a juror's call ended, with the score and the vote that count.

    ``derived`` is the vote that score and threshold give, whatever the juror states.
    """

    status: Status
    score: float | None
    vote: bool | None
    derived: bool | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement a report states, under the metric it names."""

    value: float | None
    metric: str


@dataclass(frozen=True, slots=True)
class StatedTrim:
    """The trim a report states; ``low`` and ``high`` are ``None`` where it names no juror."""

    method: str | None
    fraction: float | None
    rounding: Rounding | None
    low: tuple[str, ...] | None
    high: tuple[str, ...] | None
    degraded: bool | None

    def fraction_under(self, policy: Policy) -> float:
        """The trim fraction: the report's own, a stated 0 included, else the policy's."""
        for fraction in (self.fraction, policy.trim_fraction):
            if fraction is not None:
                return fraction
        return DEFAULT_TRIM_FRACTION


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict as its report states it, with the policy that applies to it."""

    id: str
    test: str
    body: Body
    policy: Policy
    generator: Generator
    ballots: tuple[Ballot, ...]
    decision: Decision | None
    score: float | None
    agreement: Agreement | None
    band: Band | None
    escalate: bool | None
    """``None`` where the report does not say."""
    same_family: bool | None
    bias_warning: str | None
    trim: StatedTrim
    regime: str | None
    set_by_you: tuple[str, ...]
    """What of the policy the file leaves unknown and the person filled in."""

    def text(self, key: str) -> str | None:
        """A text of the body: rubric, input, output, alternative."""
        value = self.body.get(key)
        return value if isinstance(value, str) else None


def verdict_from_body(
    body: Body, defaults: Policy, generator: Generator, filled: Policy | None = None
) -> Verdict:
    """Read a canonical verdict body.

    The policy is the verdict's own, then the report's ``defaults``, then what the person
    ``filled`` in for a file that leaves it unknown. A strategy of the verdict's own comes first,
    then the rule of its own ``regime`` (routine, irreversible), then a strategy of ``defaults``.
    """
    stated_policy = _stated_policy(body, defaults)
    policy = stated_policy if filled is None else stated_policy.over(filled)
    stated = body.get("generator") or {}
    decision, band, agreement = map(body.get, ("decision", "band", "agreement"))
    return Verdict(
        id=body["id"],
        test=body["case"]["test"],
        body=body,
        policy=policy,
        generator=Generator(
            stated.get("model") or generator.model, stated.get("vendor") or generator.vendor
        ),
        ballots=tuple(
            read_ballot(seat, juror, policy) for seat, juror in enumerate(body.get("jurors") or ())
        ),
        decision=Decision(decision) if decision else None,
        score=number(body.get("score")),
        agreement=(
            Agreement(number(agreement.get("value")), agreement["metric"]) if agreement else None
        ),
        band=Band(band) if band else None,
        escalate=body.get("escalate_for_review"),
        same_family=body.get("same_family"),
        bias_warning=body.get("bias_warning") or None,
        trim=stated_trim(body),
        regime=body.get("regime"),
        set_by_you=policy.beyond(stated_policy),
    )


def _stated_policy(body: Body, defaults: Policy) -> Policy:
    stands_in = Strategy.MEDIAN if own_word(body, "failed_jurors") == Strategy.MEDIAN else None
    own = Policy(failed_jurors=stands_in, supermajority=_stated_share(body))
    stated = Policy.from_body(body).over(own).over(defaults)
    by_regime = BY_REGIME.get(body.get("regime") or "")
    if by_regime is None or body.get("strategy") or stated.strategy in {None, by_regime}:
        return stated
    return replace(stated, strategy=None)


def _stated_share(body: Body) -> str | None:
    """The share of a supermajority, where a report states one that votes can be held against."""
    stated = own_word(body, "supermajority")
    try:
        return None if stated is None else str(arguments.supermajority("supermajority", stated))
    except UsageError:
        return None


def _status(juror: Body, has_answer: bool) -> Status:
    stated = juror.get("status")
    if stated and stated != Status.OK:
        return Status(stated)
    if juror.get("error"):
        return Status.ERROR
    if has_answer:
        return Status.OK
    label = juror.get("label")
    word = folded(label) if isinstance(label, str) else ""
    return FAILED_LABELS.get(word, Status.OK) if word else Status.ABSTAINED


def answer(juror: Body, threshold: float | None) -> Answer:
    """Read what one juror of a canonical body answered."""
    score, stated = number(juror.get("score")), juror.get("pass")
    status = _status(juror, score is not None or stated is not None)
    if status is not Status.OK:
        return Answer(status, None, None, None)
    derived = None
    if score is not None and threshold is not None:
        derived = score >= threshold - SLACK
    # An explicit ``pass: null`` withholds the vote; an absent key leaves it to the threshold.
    return Answer(status, score, stated if "pass" in juror else derived, derived)


def read_ballot(seat: int, juror: Body, policy: Policy) -> Ballot:
    """Read the ballot of one juror of a canonical body, under the policy of its verdict."""
    status, score, vote, derived = answer(juror, policy.threshold)
    stated = juror.get("pass")
    error = juror.get("error") or {}
    confidence, weight = (number(juror.get(name)) for name in ("confidence", "weight"))
    return Ballot(
        seat=seat,
        id=juror["id"],
        model=juror.get("model"),
        vendor=juror.get("vendor"),
        status=status,
        score=score,
        vote=vote,
        stated_pass=stated,
        contradicts=stated is not None and derived is not None and stated != derived,
        confidence=confidence if confidence is not None and 0 <= confidence <= 1 else None,
        weight=policy.weights.get(juror["id"]) if weight is None else weight,
        reason=juror.get("reason"),
        error=error.get("message") if isinstance(error, Mapping) else str(error),
        label=juror.get("label"),
        stated_trim=juror.get("trimmed"),
        withheld=stated is None and "pass" in juror,
        raw_score=number(juror.get("raw_score")),
        declined=juror.get("status") == Status.ABSTAINED,
    )


def stated_trim(body: Body) -> StatedTrim:
    """The trim that a canonical body states, by its own block or by its ballots' marks."""
    trim = body.get("trim") or {}
    jurors = body.get("jurors") or ()
    low = _named(trim.get("dropped_low"), jurors, "low")
    high = _named(trim.get("dropped_high"), jurors, "high")
    # "none" trims nobody, and a median leaves out no juror by name.
    if low is not None or high is not None or trim.get("method") in {"none", "median"}:
        low, high = low or (), high or ()
    rounding = trim.get("rounding")
    return StatedTrim(
        method=trim.get("method"),
        fraction=number(trim.get("fraction")),
        rounding=Rounding(rounding) if rounding else None,
        low=low,
        high=high,
        degraded=trim.get("degraded"),
    )


def _named(listed: list[str] | None, jurors: Any, side: str) -> tuple[str, ...] | None:
    """The jurors a report names as trimmed on one side, by its list or by the ballots' marks."""
    if listed:
        return tuple(listed)
    marked = tuple(juror["id"] for juror in jurors if juror.get("trimmed") == side)
    if marked:
        return marked
    return () if listed is not None else None
