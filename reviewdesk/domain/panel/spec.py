"""A panel as its file describes it: the jurors to ask, and the rule that decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from reviewdesk.domain.jury.strategies import STRATEGIES, Reads
from reviewdesk.domain.panel.hash import panel_hash, text_hash
from reviewdesk.domain.panel.panel import PanelRule
from reviewdesk.domain.panel.prompt import contract_of, prompt_sha256
from reviewdesk.domain.verdict import Strategy

DEFAULT_TIMEOUT = 120.0
"""Seconds for one ballot, including its retries."""

DEFAULT_MAX_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float


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


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """A whole panel file. ``rule`` decides; ``rubric`` applies to a case that has none."""

    name: str
    jurors: tuple[Juror, ...]
    rule: PanelRule
    rubric: str | None = None

    def strategy_for(self, tags: Iterable[str]) -> Strategy | None:
        """Return the strategy for a case with these tags; ``None`` leaves it to the regime."""
        routed = self.rule.route(tags)
        if routed is not None or self.rule.regime is not None:
            return routed or _strategy(self.rule)
        return _strategy(self.rule) or Strategy.WEIGHTED_AVERAGE

    def wants_labels(self, tags: Iterable[str]) -> bool:
        """Return whether jurors answer a case with these tags by a label instead of a vote."""
        strategy = self.strategy_for(tags)
        return strategy is not None and STRATEGIES[strategy].reads is Reads.LABELS

    def seated(self, names: Iterable[str]) -> PanelSpec:
        """Return the same panel with only the named jurors, in seat order."""
        wanted = set(names)
        return replace(self, jurors=tuple(one for one in self.jurors if one.name in wanted))

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


def seat_body(juror: Juror) -> dict[str, Any]:
    """Return a juror as its ballots and the panel hash state it, without null values."""
    body = {
        "id": juror.name,
        "model": juror.model,
        "vendor": juror.vendor,
        "weight": juror.weight,
        "temperature": juror.temperature,
        "prompt_sha256": juror.prompt_sha256,
    }
    return {key: value for key, value in body.items() if value is not None}


def _strategy(rule: PanelRule) -> Strategy | None:
    return None if rule.strategy is None else Strategy(rule.strategy)
