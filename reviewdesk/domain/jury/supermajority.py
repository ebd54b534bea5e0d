"""A large share of those who committed decides: of labels, which have no order, or of votes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import FAILED_LABELS, UNCLEAR, Decision, folded

LEAST_COMMITTED = 3
DEFAULT_SHARE = "2/3"
_UNCOMMITTED = {*FAILED_LABELS, folded(UNCLEAR), ""}


@dataclass(frozen=True, slots=True)
class Supermajority:
    """The label that enough of the panel agree on; ``None`` is inconclusive."""

    label: str | None
    votes: int
    """For the most frequent label."""
    committed: int
    reason: str | None
    """Why it is inconclusive."""


def supermajority(
    labels: Iterable[str | None], share: float | str = DEFAULT_SHARE
) -> Supermajority:
    """The label that at least ``share`` of those who committed give, compared exactly.

    ``None``, a blank, UNCLEAR, ERROR and PARSE_FAIL do not commit; under three that do, or without
    such a label, the panel is inconclusive. Source: the jury trim rule, for categorical judgments.
    """
    least = arguments.supermajority("supermajority share", share)
    counts: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for label in labels:
        if (word := folded(label)) not in _UNCOMMITTED:
            spelled.setdefault(word, (label or "").strip())
            counts[word] = counts.get(word, 0) + 1
    committed = sum(counts.values())
    most = max(counts.values(), default=0)
    if committed < LEAST_COMMITTED:
        reason = f"{committed} committed, {LEAST_COMMITTED} are needed"
        return Supermajority(None, most, committed, reason)
    if most < least * committed:
        return Supermajority(None, most, committed, f"{most} of {committed} is under {share}")
    winner = next(word for word, count in counts.items() if count == most)
    return Supermajority(spelled[winner], most, committed, None)


@lru_cache(maxsize=4096)
def vote_decision(passes: int, answered: int, share: float | str | None = None) -> Decision:
    """What a supermajority of votes decides; an abstention and an empty seat do not commit.

    Pass or fail where that side has at least ``share`` (2/3 by default, compared exactly) of the
    ``answered`` votes and three or more were cast, else inconclusive.
    """
    least = exact_share(share) * answered
    if answered < LEAST_COMMITTED:
        return Decision.INCONCLUSIVE
    if passes >= least:
        return Decision.PASS
    return Decision.FAIL if answered - passes >= least else Decision.INCONCLUSIVE


def exact_share(share: float | str | None) -> Fraction:
    """The share that is needed, 2/3 where none is set."""
    return arguments.supermajority("supermajority", DEFAULT_SHARE if share is None else share)


def own_share(share: float | str | None) -> str | None:
    """The share as a report and a panel hash keep it: in lowest terms, ``None`` for the default."""
    exact = exact_share(share)
    return None if exact == exact_share(None) else str(exact)
