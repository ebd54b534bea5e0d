"""The policies of a run's verdicts, read once each, with what follows from a count of votes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reviewdesk.domain.assessment.pivot import turning_votes
from reviewdesk.domain.canonical import CanonicalVerdict, own_facts
from reviewdesk.domain.jury.label_words import LABEL_FACTS
from reviewdesk.domain.jury.rule import Rule, Values, decide, decision_by, rule_for
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads, Votes
from reviewdesk.domain.run.packing import DECISIONS, NOTHING, Bar, bar_of
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    Decision,
    Generator,
    Policy,
    verdict_from_body,
)

BY_SCORE = -2
"""The code of a decision that follows from the scores, in place of one that votes give."""
_NO_VALUES = Values(None, None, None, None, None, None)
_OWN_KEYS = ("threshold", "quorum", "strategy")
_OWN_FACTS = ("failed_jurors", "supermajority", "min_answered", *LABEL_FACTS)
_DECISIVE = (*_OWN_KEYS, "meta")
"""The keys of a verdict that may set its policy."""
_MOST = 1000
"""How many policies are remembered."""


class Counted(NamedTuple):
    """What a count of votes gives under a policy, as codes of ``DECISIONS``."""

    quorum: int
    rounded: bool
    """Whether rounding decides the quorum."""
    answered: int
    """The quorum's decision among the jurors that answered."""
    majority: int
    ours: int
    """The decision of the rule, or ``BY_SCORE``."""
    pivotal: bool
    """Whether one vote, turned alone, would change the decision of a rule on votes."""


@dataclass(slots=True)
class PolicyFacts:
    """One policy of a run: the rule that applies where no juror failed, and what is unknown."""

    policy: Policy
    rule: Rule
    set_by_you: frozenset[str]
    bar: Bar | None
    _counted: dict[tuple[int, ...], Counted] = field(default_factory=dict)

    @property
    def fraction(self) -> float:
        """The trim fraction for a verdict that states none."""
        stated = self.policy.trim_fraction
        return DEFAULT_TRIM_FRACTION if stated is None else stated

    @property
    def counts_labels(self) -> bool:
        """Whether the rule or the panel reads labels, which columns do not hold."""
        used, counting = self.rule.used, self.policy.counting
        declared = counting is not None and bool(counting.labels)
        return declared or (used is not None and STRATEGIES[used].reads is Reads.LABELS)

    def counted(self, *votes: int) -> Counted:
        """Return what a count gives: passes, answered, seated and unknown."""
        if votes not in self._counted:
            self._counted[votes] = self._count(Votes(*votes))
        return self._counted[votes]

    def _count(self, votes: Votes) -> Counted:
        made, used = decide(votes, _NO_VALUES, self.policy), self.rule.used
        method = None if used is None else STRATEGIES[used]
        scored = method is not None and method.reads is Reads.SCORES
        ours = decision_by(used, made, votes, self.policy)
        turning = set()
        if method is not None and method.reads is Reads.VOTES and ours is not None:
            turning = turning_votes(method, votes, ours, self.policy)
        return Counted(
            code(made.quorum),
            made.quorum is not made.quorum_strict,
            code(made.quorum_answered),
            code(made.majority),
            BY_SCORE if scored else code(ours),
            bool(turning),
        )


def code(decision: Decision | None) -> int:
    """Return the code of a decision."""
    return NOTHING if decision is None else DECISIONS.index(decision)


class Policies:
    """Reads the policies of a run's verdicts once each."""

    def __init__(self, defaults: Policy, filled: Policy) -> None:
        """Take the policy of the report's header and the one that the user filled in."""
        self._defaults, self._filled = defaults, filled
        self._known: dict[tuple[Any, ...], PolicyFacts] = {}

    def of(
        self, bodies: Sequence[CanonicalVerdict], keys: set[str]
    ) -> tuple[list[PolicyFacts], list[int]]:
        """Return the policies of verdicts, and for each verdict the place of its own among them.

        ``keys`` are those that any of the verdicts has.
        """
        if len(self._known) > _MOST:
            self._known.clear()
        if keys.isdisjoint(_DECISIVE):
            return [self._policy(bodies[0])], [0] * len(bodies)
        every = [self._policy(body) for body in bodies]
        known = {id(one): one for one in every}
        at = {name: place for place, name in enumerate(known)}
        return list(known.values()), [at[id(one)] for one in every]

    def _policy(self, body: CanonicalVerdict) -> PolicyFacts:
        key: tuple[Any, ...] = body.get("threshold"), body.get("quorum"), body.get("strategy")
        if "meta" in body:
            own = own_facts(body)
            key += (json.dumps({fact: own[fact] for fact in _OWN_FACTS if fact in own}),)
        found = self._known.get(key)
        return self._add(key) if found is None else found

    def _add(self, key: tuple[Any, ...]) -> PolicyFacts:
        own = json.loads(key[3]) if len(key) > 3 else {}
        bare: Any = {"id": "", "case": {"test": ""}, "jurors": [], "meta": {"reviewdesk": own}}
        bare |= dict(zip(_OWN_KEYS, key, strict=False))
        read = verdict_from_body(bare, self._defaults, Generator(), self._filled)
        rule = rule_for(read.policy, ())
        unknown = frozenset(read.set_by_you)
        found = PolicyFacts(read.policy, rule, unknown, bar_of(read.policy))
        self._known[key] = found
        return found
