"""A panel: the jurors to ask, the rule that decides, and its decision on collected ballots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from reviewdesk.domain.assessment.assess import Assessment, assess
from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, without_nulls
from reviewdesk.domain.jury.ballot import as_juror
from reviewdesk.domain.jury.label_rules import LabelRules
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads
from reviewdesk.domain.panel.hash import panel_hash, text_hash
from reviewdesk.domain.panel.panel import PanelRule
from reviewdesk.domain.panel.prompt import contract_of, prompt_sha256
from reviewdesk.domain.verdict import (
    Ballot,
    Generator,
    Policy,
    Rounding,
    Status,
    Strategy,
    Verdict,
    read_ballot,
    verdict_from_body,
)
from reviewdesk.errors import NoJurorsError, UsageError

DEFAULT_TIMEOUT = 120.0
"""Seconds for one ballot, including its retries."""

DEFAULT_MAX_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of one call in US dollars.

        Tokens of byte-level vocabularies are one byte or longer, so the bytes sent and the most
        tokens answered give the most that a call can cost.
        """
        return (tokens_in * self.input + tokens_out * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Juror:
    """One seat of a live panel. ``name`` is the ballot's id; ``vendor`` picks endpoint and wire."""

    name: str
    model: str
    vendor: str
    base_url: str | None = None
    """The address used instead of the vendor's, for local servers and proxies."""
    api_key_env: str | None = None
    """The environment variable that holds the key, instead of the vendor's variable."""
    weight: float | None = None
    temperature: float | None = None
    """The sampling temperature; it is sent only if it is set."""
    max_tokens: int = DEFAULT_MAX_TOKENS
    system_prompt: str | None = None
    prompt: str | None = None
    """The template of the user's turn, with slots such as ``{output}``."""
    prompt_version: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    price: Price | None = None

    @property
    def prompt_sha256(self) -> str:
        """The hash of this juror's prompt, without the case."""
        return prompt_sha256(self.system_prompt, self.prompt)

    def contract_of(self, stated: str) -> int | None:
        """Return the contract's version under which this juror's prompt has the stated hash."""
        return contract_of(stated, self.system_prompt, self.prompt)


Cast: TypeAlias = Ballot | Mapping[str, Any]
"""A ballot, or the mapping that a canonical report holds for a juror."""


@dataclass(frozen=True)
class PanelSpec:
    """A panel: the jurors to ask and the rule that decides; ``rubric`` is for cases without one."""

    name: str
    jurors: tuple[Juror, ...]
    rule: PanelRule = field(hash=False)
    """It holds mappings, which have no hash."""
    rubric: str | None = None

    def verdict(
        self,
        ballots: Iterable[Cast],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Verdict:
        """Make a verdict of the ballots, before it is assessed."""
        case_tags = list(tags)
        writer = generator if isinstance(generator, Generator) else Generator(generator)
        rule = self.rule
        body: CanonicalVerdict = {
            "id": case,
            "case": {"test": case, "tags": case_tags},
            "jurors": [as_juror(_as_ballot(one)) for one in ballots],
            "regime": rule.regime,
            "strategy": self.strategy_for(case_tags),
        }
        policy = Policy(
            threshold=rule.threshold,
            quorum=rule.quorum,
            trim_fraction=rule.trim,
            weights=rule.weights,
            failed_jurors=Strategy(rule.failed_jurors) if rule.failed_jurors else None,
            supermajority=rule.supermajority,
        )
        made = verdict_from_body(body, policy, writer)
        return replace(made, trim=replace(made.trim, rounding=Rounding(rule.rounding)))

    def aggregate(
        self,
        ballots: Iterable[Cast],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Assessment:
        """Decide one case by collected ballots in seat order, without any call.

        If every juror abstains, the assessment has no decision.

        Raises:
            NoJurorsError: no juror answered, and not all of them abstained.
        """
        case_tags = tuple(tags)
        verdict = self.verdict(ballots, tags=case_tags, generator=generator, case=case)
        statuses = {one.status for one in verdict.ballots}
        if Status.OK not in statuses and statuses != {Status.ABSTAINED}:
            missing = ", ".join(f"{one.id} ({one.status})" for one in verdict.ballots)
            raise NoJurorsError(
                f"{case}: no juror answered: {missing or 'the panel is empty'}",
                "Ask them again; a panel without an answer has no score",
            )
        counting = LabelRules(
            priority=self.rule.priority,
            use_confidence=self.rule.use_confidence,
            aggregate=None if self.route(case_tags) else self.rule.aggregate,
        )
        return assess(verdict, escalation_stated=False, counting=counting)

    decide = aggregate

    def route(self, tags: Iterable[str]) -> Strategy | None:
        """Return the strategy of the first route that matches a tag of the case, or ``None``."""
        case_tags = set(tags)
        routes = (strategy for tag, strategy in self.rule.routes.items() if tag in case_tags)
        found = next(routes, None)
        return None if found is None else Strategy(found)

    def strategy_for(self, tags: Iterable[str]) -> Strategy | None:
        """Return the strategy for a case with these tags; ``None`` leaves it to the regime."""
        rule = self.rule
        if (routed := self.route(tags)) is not None:
            return routed
        if rule.aggregate is not None:
            return Strategy.EXTERNAL
        if rule.strategy is not None:
            return Strategy(rule.strategy)
        return Strategy.WEIGHTED_AVERAGE if rule.regime is None else None

    def wants_labels(self, tags: Iterable[str]) -> bool:
        """Return whether jurors answer a case with these tags by a label instead of a vote."""
        strategy = self.strategy_for(tags)
        return strategy is not None and STRATEGIES[strategy].reads is Reads.LABELS

    def seated(self, names: Iterable[str]) -> PanelSpec:
        """Return the same panel with only the named jurors, in seat order."""
        wanted = set(names)
        jurors = tuple(one for one in self.jurors if one.name in wanted)
        return PanelSpec(self.name, jurors, self.rule, self.rubric)

    def rule_body(self, rubric: str | None, tags: Iterable[str]) -> dict[str, Any]:
        """Return the rule of one case as the panel hash reads it."""
        return {
            "strategy": self.strategy_for(tags),
            "trim_fraction": self.rule.trim,
            "rounding": self.rule.rounding,
            "threshold": self.rule.threshold,
            "quorum": self.rule.quorum,
            "rubric_sha256": text_hash(rubric),
            "supermajority": self.rule.supermajority,
        }

    def hash(self, rubric: str | None, tags: Iterable[str] = ()) -> str:
        """Return the panel hash of a case with this rubric and these tags."""
        seats = [seat_body(juror) for juror in self.jurors]
        return panel_hash(seats, self.rule_body(rubric, tags))


def seat_body(juror: Juror) -> CanonicalBallot:
    """Return a juror as its ballots and the panel hash state it, without null values."""
    body: CanonicalBallot = {
        "id": juror.name,
        "model": juror.model,
        "vendor": juror.vendor,
        "weight": juror.weight,
        "temperature": juror.temperature,
        "prompt_sha256": juror.prompt_sha256,
    }
    return without_nulls(body)


def _as_ballot(one: Cast) -> Ballot:
    if isinstance(one, Ballot):
        return one
    if not isinstance(one, Mapping) or not isinstance(one.get("id"), str):
        raise UsageError(f"a ballot is {type(one).__name__}", 'Give a ballot, or {"id": ...}')
    # What a caller's mapping says is read as a report's; an error may be its words alone.
    said, error = {**one}, one.get("error")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        said["error"] = {"message": str(message)}
    return read_ballot(0, cast(CanonicalBallot, said), Policy())
