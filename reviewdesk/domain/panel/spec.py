"""A panel: the jurors to ask, the rule that decides, and its decision on collected ballots."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import asdict, replace

from reviewdesk.domain import values
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.jury.rules import DEFAULT_SHARE, STRATEGIES, Reads, own_share, strategy_named
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.hash import panel_hash, text_hash
from reviewdesk.domain.panel.juror import DEFAULT_TIMEOUT, Juror, seat_body
from reviewdesk.domain.panel.prompt import VERSION
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope
from reviewdesk.domain.panel.vendors import OTHER_NAMES, VENDORS
from reviewdesk.domain.values import BY_REGIME, LABEL_RULES, Aggregate, LabelRules, checked_rules
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    UNCLEAR,
    Ballot,
    CanonicalBallot,
    CanonicalCheck,
    CanonicalVerdict,
    Generator,
    Policy,
    Regime,
    Rounding,
    Status,
    Strategy,
    Verdict,
    as_juror,
    labelled,
    read_ballot,
    verdict_from_body,
    without_nulls,
)
from reviewdesk.errors import NoJurorsError, UsageError


@dataclass(frozen=True, slots=True)
class PanelRule:
    """The rule by which a panel decides. Every field is checked when the rule is built.

    Without a ``strategy``, the regime's strategy decides, or the weighted average if there is no
    regime. A case with a tag in ``routes`` takes the strategy of the first route that matches.
    """

    strategy: Strategy | str | None = None
    threshold: float = 0.7
    quorum: float | str = 0.5
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights by juror name; a juror without a weight counts as 1."""
    trim: float = DEFAULT_TRIM_FRACTION
    rounding: Rounding | str = Rounding.DOWN
    failed_jurors: Strategy | str | None = None
    """With ``median``, the median replaces ``mean`` and ``trimmed_mean`` when a juror failed."""
    min_answered: float | str | None = None
    """How many jurors must answer: a count (3), or a share (0.6, "2/3"); fewer give an error."""
    regime: Regime | str | None = None
    routes: Mapping[str, Strategy | str] = field(default_factory=dict)
    aggregate: Aggregate | None = None
    """A caller's label rule that replaces the strategy: ``(ballots) -> (label, bool)``."""
    priority: Sequence[str] = ()
    """The labels that win a tie, in order of preference."""
    use_confidence: bool = True
    """Whether a weighted vote of labels multiplies weight by confidence."""
    supermajority: float | str = DEFAULT_SHARE
    """The share of committed jurors that a supermajority needs; "2/3" is exact."""
    fallback: str | None = None
    """The label of a panel whose count gives no label; ``None`` means UNCLEAR.

    If it is set, a panel without any answer gets this label instead of an error.
    """
    stop_when_decided: bool = False
    """Whether jurors are asked in their order, the next only if the decision can still change."""
    swap: bool = False
    """Whether a pair of responses is shown in both orders, each with all samples of a juror."""
    labels: Sequence[str] = ()
    """The labels that jurors answer with, instead of a score and a vote of pass or fail."""
    passing: Sequence[str] = ()
    """The labels that pass. Without ``passing`` and ``failing``, words such as KEEP and REJECT."""
    failing: Sequence[str] = ()
    """The labels that fail; the other labels are neither pass nor fail."""

    def __post_init__(self) -> None:
        """Raise UsageError for settings that no panel can use, and turn words into enum members."""
        if self.aggregate is not None and self.strategy is not None:
            raise UsageError("a panel with both a strategy and an aggregate", "Give one of them")
        if self.aggregate is not None and not callable(self.aggregate):
            raise UsageError(f"aggregate is {self.aggregate!r}", "Give (ballots) -> (label, bool)")
        if self.failed_jurors not in {None, Strategy.MEDIAN}:
            raise UsageError(f"failed_jurors is {self.failed_jurors!r}", "Give median, or None")
        values.unit("threshold", self.threshold)
        values.trim_fraction("trim", self.trim)
        values.quorum("quorum", self.quorum)
        values.supermajority("supermajority", self.supermajority)
        weights = {
            name: values.weight(f"weights: {name}", value) for name, value in self.weights.items()
        }
        counting = checked_rules(self.counting)
        kept = {
            **{name: getattr(counting, name) for name in _SPELLED},
            "strategy": None if self.strategy is None else strategy_named(self.strategy),
            "weights": weights,
            "rounding": values.member(Rounding, self.rounding, "rounding is"),
            "regime": None
            if self.regime is None
            else values.member(Regime, self.regime, "regime is"),
            "routes": {tag: strategy_named(word) for tag, word in self.routes.items()},
            "min_answered": None
            if self.min_answered is None
            else values.min_answered("min_answered", self.min_answered),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        strategy = self.strategy or BY_REGIME.get(self.regime or "")
        if self.labels and strategy is not None and not counts_labels(Strategy(strategy)):
            known = ", ".join(one.value for one in LABEL_RULES)
            hint = f"Give a strategy that counts labels: {known}, quorum"
            raise UsageError(f"labels cannot be used with {Strategy(strategy).value}", hint)

    @property
    def counting(self) -> LabelRules:
        names = (*_SPELLED, "use_confidence", "aggregate")
        stated = {name: getattr(self, name) for name in names}
        return LabelRules(**stated, fallback=UNCLEAR if self.fallback is None else self.fallback)


_SPELLED = ("labels", "passing", "failing", "priority")
"""The fields of a rule that hold labels, spelled as the panel declares them."""
_OF_POLICY = (
    "strategy", "threshold", "quorum", "failed_jurors", "min_answered", "supermajority",
)  # fmt: skip


def counts_labels(strategy: Strategy) -> bool:
    return strategy in LABEL_RULES or strategy in {Strategy.QUORUM, Strategy.EXTERNAL}


def rule_of(verdict: Verdict, other: PanelRule) -> PanelRule:
    """Return the rule of a verdict; ``other`` fills in what its report leaves unknown."""
    policy = verdict.policy
    trim = verdict.trim
    # A panel file's labels apply to verdicts whose jurors answered with labels.
    rules = other.counting if labelled(verdict.ballots) else LabelRules()
    counting = policy.counting or rules
    stated = {name: getattr(policy, name) for name in _OF_POLICY}
    stated |= {name: getattr(counting, name) for name in (*_SPELLED, "use_confidence")}
    return dataclasses.replace(
        other,
        **without_nulls(stated),
        fallback=other.fallback if policy.counting is None else counting.fallback,
        weights={**other.weights, **policy.weights},
        trim=trim.fraction_under(policy, other.trim),
        rounding=trim.rounding or other.rounding,
        regime=verdict.regime or other.regime,
        routes={},
    )


Cast = Ballot | Mapping[str, Any]
"""A ballot, or the mapping that a canonical report holds for a juror."""


@dataclass(frozen=True)
class PanelSpec:
    """A panel: the jurors to ask and the rule that decides; ``rubric`` is for cases without one."""

    name: str
    jurors: tuple[Juror, ...]
    rule: PanelRule = field(hash=False)
    """Left out of the hash, because it holds mappings."""
    rubric: str | None = None

    def body(
        self, case: Case, jurors: Sequence[CanonicalBallot], checks: Sequence[CanonicalCheck] = ()
    ) -> CanonicalVerdict:
        """Return what is known of a verdict on a case before the rule is applied."""
        rule = self.rule
        strategy = self.strategy_for(case.tags)
        reference = list(case.reference) if isinstance(case.reference, tuple) else case.reference
        # The format has no keys for these; without them the report would read back as another rule.
        beyond = without_nulls(
            {"supermajority": own_share(rule.supermajority), "context": dict(case.context) or None}
            | self.answering
            | self.asking(case.tags)
        )
        body = {
            "id": case.id,
            "case": without_nulls(
                {
                    "test": case.test or case.id,
                    "tags": list(case.tags) or None,
                    "dimension": case.dimension,
                    "subject": case.subject,
                }
            ),
            "input": case.input,
            "output": case.output,
            "alternative": case.alternative,
            "reference": reference,
            "rubric": case.rubric,
            "generator": without_nulls(asdict(case.generator)) or None,
            "threshold": rule.threshold,
            "quorum": rule.quorum,
            "strategy": None if strategy is None else strategy.value,
            "regime": None if rule.regime is None else str(rule.regime),
            "trim": {"method": "quantile", "fraction": rule.trim, "rounding": str(rule.rounding)},
            "checks": list(checks) or None,
            "jurors": list(jurors),
            "meta": {"reviewdesk": beyond} if beyond else None,
        }
        return without_nulls(body)

    def aggregate(
        self,
        ballots: Iterable[Cast],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Assessment:
        """Decide one case by collected ballots in seat order, without any call.

        If every juror abstains, the assessment has no decision. If no juror answers for any other
        reason, raise NoJurorsError, unless the panel has a ``fallback`` label.
        """
        # Imported here because it loads numpy.
        from reviewdesk.domain.assessment.assess import assess

        writer = generator if isinstance(generator, Generator) else Generator(generator)
        about = Case(case, "", generator=writer, tags=tuple(tags))
        body = self.body(about, [as_juror(_as_ballot(one)) for one in ballots])
        read = verdict_from_body(body, Policy(weights=self.rule.weights), writer)
        # A report cannot hold a caller's own rule.
        policy = replace(read.policy, counting=self.counting_for(about.tags))
        verdict = replace(read, policy=policy)
        statuses = {one.status for one in verdict.ballots}
        silent = Status.OK not in statuses and statuses != {Status.ABSTAINED}
        if silent and self.rule.fallback is None:
            missing = ", ".join(f"{one.id} ({one.status})" for one in verdict.ballots)
            raise NoJurorsError(
                f"{case}: no juror answered: {missing or 'the panel is empty'}",
                "Ask them again; a panel without an answer has no score",
            )
        return assess(verdict, escalation_stated=False)

    decide = aggregate

    def route(self, tags: Iterable[str]) -> Strategy | None:
        case_tags = set(tags)
        routes = self.rule.routes.items()
        return next((Strategy(word) for tag, word in routes if tag in case_tags), None)

    def strategy_for(self, tags: Iterable[str]) -> Strategy | None:
        rule = self.rule
        if (routed := self.route(tags)) is not None:
            return routed
        if rule.aggregate is not None:
            return Strategy.EXTERNAL
        if rule.strategy is not None or rule.regime is not None:
            return None if rule.strategy is None else Strategy(rule.strategy)
        return Strategy.MAJORITY if rule.labels else Strategy.WEIGHTED_AVERAGE

    def wants_labels(self, tags: Iterable[str]) -> bool:
        strategy = self.strategy_for(tags)
        if self.counts_itself(tags) or strategy is None:
            return strategy is not None or bool(self.rule.labels)
        if self.rule.labels:
            return counts_labels(strategy)
        return STRATEGIES[strategy].reads is Reads.LABELS

    def counting_for(self, tags: Iterable[str]) -> LabelRules:
        """Return how a case's labels are counted, without declared ones if its route reads none."""
        tags = list(tags)
        rules = self.rule.counting
        if not self.counts_itself(tags):
            rules = replace(rules, aggregate=None)
        if not self.wants_labels(tags):
            rules = replace(rules, labels=(), passing=(), failing=())
        return rules

    def counts_itself(self, tags: Iterable[str]) -> bool:
        return self.rule.aggregate is not None and self.route(tags) is None

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """The groups of seats that are asked together, in order; by default all at once.

        A panel that stops when decided asks by ``order``, then the other jurors, a seat at a time.
        """
        if not self.rule.stop_when_decided:
            return (tuple(range(len(self.jurors))),)
        ordered = sorted(
            (math.inf if one.order is None else one.order, seat if one.order is None else 0, seat)
            for seat, one in enumerate(self.jurors)
        )
        groups = groupby(ordered, key=lambda place: place[:2])
        return tuple(tuple(seat for *_, seat in group) for _, group in groups)

    @property
    def once(self) -> "PanelSpec":
        jurors = tuple(dataclasses.replace(one, samples=1, order=None) for one in self.jurors)
        rule = dataclasses.replace(self.rule, stop_when_decided=False, swap=False)
        return dataclasses.replace(self, jurors=jurors, rule=rule)

    def rule_body(self, rubric: str | None, tags: Iterable[str]) -> dict[str, Any]:
        return {
            "strategy": self.strategy_for(tags),
            "trim_fraction": self.rule.trim,
            "rounding": self.rule.rounding,
            "threshold": self.rule.threshold,
            "quorum": self.rule.quorum,
            "rubric_sha256": text_hash(rubric),
            "supermajority": self.rule.supermajority,
            **self.answering,
            **self.asking(tags),
        }

    @property
    def answering(self) -> dict[str, Any]:
        return without_nulls(
            {"failed_jurors": self.rule.failed_jurors, "min_answered": self.rule.min_answered}
        )

    def asking(self, tags: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the settings for asking that are set, as panel hashes and reports state them."""
        rule = self.rule
        stated = {"stop_when_decided": rule.stop_when_decided or None, "swap": rule.swap or None}
        labelled = self.rule.labels if tags is None else self.wants_labels(tags)
        return without_nulls(stated) | (rule.counting.facts if labelled else {})

    def hash(self, rubric: str | None) -> str:
        return panel_hash([*map(seat_body, self.jurors)], self.rule_body(rubric, ()))


def _as_ballot(one: Cast) -> Ballot:
    if isinstance(one, Ballot):
        return one
    if not isinstance(one, Mapping) or not isinstance(one.get("id"), str):
        raise UsageError(f"a ballot is {type(one).__name__}", 'Give a ballot, or {"id": ...}')
    # A caller's mapping is read like a report's ballot; its error may be a plain text.
    error = one.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return read_ballot(0, {**one, "error": {"message": str(message)} if error else None}, Policy())


_HINT = "Name a panel file with --panel."


def panel_of(
    verdict: Verdict, header: Mapping[str, Any], wanted: Collection[str] | None = None
) -> PanelSpec:
    """Return the jurors and the rule of a verdict, as a panel that asks the vendors' endpoints.

    A report comes from outside, so it never decides where a key is sent: addresses and names of
    variables come from a panel file alone. ``wanted`` names the jurors to ask. Raise UsageError if
    the report does not state one's model, vendor or prompt, or it was asked at another address.
    """
    if not verdict.ballots:
        raise UsageError(f"{verdict.id}: has no jurors", _HINT)
    bodies = verdict.body["jurors"]
    panel = (header.get("meta") or {}).get("panel")
    listed = panel.get("jurors") if isinstance(panel, Mapping) else None
    known = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    settings = {one["id"]: one for one in known if isinstance(one.get("id"), str)}
    jurors = tuple(
        _juror(cast, body, settings.get(cast.id, {}))
        for cast, body in zip(verdict.ballots, bodies, strict=True)
        if wanted is None or cast.id in wanted
    )
    return PanelSpec("the report's own panel", jurors, rule_of(verdict, PanelRule()))


def _juror(cast: Ballot, body: CanonicalBallot, settings: Mapping[str, Any]) -> Juror:
    if not cast.model:
        raise UsageError(f"the report does not say which model {cast.id!r} is", _HINT)
    word = (cast.vendor or "").strip().lower()
    known = family(cast.model, cast.vendor)
    vendor = OTHER_NAMES.get(word, word) or (known.name if known else "")
    address = VENDORS[vendor].base_url if vendor in VENDORS else None
    if address is None:
        where = f"{cast.id!r} ({cast.model})"
        raise UsageError(f"the report does not say where {where} is asked", _HINT)
    host = settings.get("host")
    if host is not None and host != urlsplit(address).netloc:
        raise UsageError(f"{cast.id!r} was asked at an address other than {vendor}'s own", _HINT)
    own = body.get("meta") or {}
    if own.get("extra") or own.get("reasoning"):
        # A report comes from outside, so it does not decide what else is sent.
        raise UsageError(f"{cast.id!r} was asked with request keys of its panel", _HINT)
    juror = Juror(
        name=cast.id,
        model=cast.model,
        vendor=vendor,
        weight=cast.weight,
        temperature=body.get("temperature"),
        max_tokens=_whole(settings.get("max_tokens")),
        timeout=float(_whole(settings.get("timeout")) or DEFAULT_TIMEOUT),
        system_prompt=_text(settings.get("system_prompt")),
        prompt=_text(settings.get("prompt")),
    )
    stated = body.get("prompt_sha256")
    if stated is not None and juror.contract_of(stated) is None:
        raise UsageError(f"{cast.id!r} was asked with a prompt that the report lacks", _HINT)
    return juror


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int:
    return value if type(value) is int and 0 < value <= 1_000_000 else 0


class RerunSeats(Struct, frozen=True):
    """The panel of a re-run: the jurors to ask and the ballots that stay, both by seat."""

    panel: PanelSpec
    asked: Mapping[int, Juror]
    kept: Mapping[int, CanonicalBallot]

    @property
    def size(self) -> int:
        return len(self.asked) + len(self.kept)

    def committed(self, rubric: str | None, tags: Iterable[str]) -> str:
        seats = [
            seat_body(self.asked[seat]) if seat in self.asked else self.kept[seat]
            for seat in range(self.size)
        ]
        return panel_hash(seats, self.panel.rule_body(rubric, tags))


def seating(verdict: Verdict, panel: PanelSpec, wish: RerunRequest) -> RerunSeats:
    """Return which jurors a re-run asks, each once, and which ballots of the verdict stay.

    If the whole panel is asked, its own rule decides; else the verdict's rule, and the panel's
    fills in what the report leaves unknown. Raise UsageError if no such juror is there.
    """
    panel = panel.once
    if wish.scope is RerunScope.PANEL:
        return RerunSeats(panel, dict(enumerate(panel.jurors)), {})
    wanted = verdict.missing if wish.scope is RerunScope.MISSING else (wish.juror or "",)
    if not wanted:
        raise UsageError(f"{verdict.id}: no juror is missing", "Ask one juror, or the panel.")
    known = {juror.name: juror for juror in panel.jurors}
    ids = [cast.id for cast in verdict.ballots]
    lacks = ((f"{verdict.id}: there is", ids), (f"the panel {panel.name} has", known))
    for name in wanted:
        for whose, names in lacks:
            if name not in names:
                raise UsageError(f"{whose} no juror {name!r}", f"It has {', '.join(names)}.")
    asked = {seat: known[name] for seat, name in enumerate(ids) if name in wanted}
    kept = {seat: body for seat, body in enumerate(verdict.body["jurors"]) if seat not in asked}
    rule = rule_of(verdict, panel.rule)
    return RerunSeats(dataclasses.replace(panel, rule=rule), asked, kept)


def contract_before(verdict: Verdict, asked: Iterable[Juror]) -> int | None:
    """Return the oldest earlier version of the contract that these jurors had, if any."""
    stated = {body["id"]: body.get("prompt_sha256") for body in verdict.body["jurors"]}
    found = [juror.contract_of(stated.get(juror.name) or "") or VERSION for juror in asked]
    return min((one for one in found if one < VERSION), default=None)
