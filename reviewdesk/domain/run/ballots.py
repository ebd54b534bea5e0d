"""The ballots of consecutive verdicts as columns, and which verdicts columns can settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict
from reviewdesk.domain.jury.agreement import R_WG
from reviewdesk.domain.run.columns import Bools, Floats, Ints, Small
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.run.policies import PolicyFacts
from reviewdesk.domain.verdict import SLACK

_ODD = frozenset({"label", "regime", "same_family", "trim"})
"""What a verdict may state that ``assess`` alone holds against its ballots."""
_ODD_BALLOT = ("status", "error", "trimmed")
_OK = ("ok", None)


class Ballots(Struct, frozen=True):
    """The answers of n verdicts of at most s seats.

    Values per ballot are flat, verdict after verdict. ``place`` spreads them over ``[n, s]``, where
    a seat that a verdict does not have holds NaN or -1.
    """

    seated: Ints
    scores: Floats
    votes: Small
    """1, 0, or -1 if none was cast."""
    stated: Bools
    contradicts: Bools
    weights: Floats
    odd: Bools
    """Whether a ballot failed, withholds its vote, is trimmed by the report, or says nothing that
    columns hold."""
    keys: set[str]
    """The keys that any of the ballots has."""

    def place(self, column: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
        """Return a flat column as ``[n, s]``."""
        made = np.full((len(self.seated), self.seated.max(initial=0)), empty, column.dtype)
        made[np.arange(made.shape[1]) < self.seated[:, None]] = column
        return made

    def any(self, column: Bools) -> Bools:
        """Return for each verdict whether a flat column holds for one of its ballots."""
        return self.count(column) > 0

    def count(self, column: Bools) -> Ints:
        """Return for how many ballots of each verdict a flat column holds."""
        totals = np.concatenate(([0], np.cumsum(column)))
        ends = np.cumsum(self.seated)
        found: Ints = totals[ends] - totals[ends - self.seated]
        return found


def ballots_of(
    bodies: Sequence[CanonicalVerdict], policies: Sequence[PolicyFacts], places: Sequence[int]
) -> Ballots:
    """Return the ballots of verdicts, read under the policies at ``places``."""
    seated = np.array([len(body["jurors"]) for body in bodies], np.int64)
    jurors = list(chain.from_iterable([body["jurors"] for body in bodies]))
    keys: set[str] = set().union(*jurors)
    scores = _numbers(jurors, keys, "score")
    votes, stated = np.full(len(jurors), NOTHING, np.int8), np.zeros(len(jurors), np.bool_)
    if "pass" in keys:
        given = [juror.get("pass") for juror in jurors]
        votes = np.array([NOTHING if vote is None else vote for vote in given], np.int8)
        stated = np.array(["pass" in juror for juror in jurors], np.bool_)
    limits = np.array([_nan(one.policy.threshold) for one in policies], np.float64)
    limit = np.repeat(limits[places], seated)
    derived = np.where(np.isnan(scores) | np.isnan(limit), NOTHING, scores >= limit - SLACK).astype(
        np.int8
    )
    extreme = np.isnan(limit) & ((scores == 0) | (scores == 1))
    plain = np.where(extreme, scores == 1, derived)
    odd = np.isnan(scores) & (votes == NOTHING)
    odd |= stated & (votes == NOTHING)
    if "meta" in keys:
        odd |= np.array(["threshold" in (juror.get("meta") or ()) for juror in jurors], np.bool_)
    for key in keys.intersection(_ODD_BALLOT):
        odd |= np.array([juror.get(key) not in _OK for juror in jurors], np.bool_)
    return Ballots(
        seated=seated,
        scores=scores,
        votes=np.where(stated, votes, derived),
        stated=stated,
        contradicts=(votes != NOTHING) & (plain != NOTHING) & (votes != plain),
        weights=_weights(jurors, keys, policies, np.repeat(places, seated)),
        odd=odd,
        keys=keys,
    )


def odd_verdicts(
    bodies: Sequence[CanonicalVerdict],
    keys: set[str],
    ballots: Ballots,
    policies: Sequence[PolicyFacts],
    places: Sequence[int],
) -> Bools:
    """Return which verdicts state something that columns do not settle."""
    labels = np.array([one.counts_labels for one in policies], np.bool_)
    found: Bools = labels[places] | (ballots.seated == 0) | ballots.any(ballots.odd)
    if not keys.isdisjoint((*_ODD, "agreement")):
        found |= [not _ODD.isdisjoint(body) or _is_derivable(body) for body in bodies]
    if "meta" in keys:
        found |= ["contradictions" in (body.get("meta") or ()) for body in bodies]
    return found


def values_of(records: Sequence[Mapping[str, Any]], keys: set[str], key: str) -> list[Any]:
    """Return what records have under a key, given all the keys that any of them has."""
    if key not in keys:
        return [None] * len(records)
    return [record.get(key) for record in records]


def _is_derivable(body: CanonicalVerdict) -> bool:
    """Return True if the stated agreement is held against the ballots."""
    stated = body.get("agreement")
    return stated is not None and stated["metric"] == R_WG


def _numbers(jurors: Sequence[CanonicalBallot], keys: set[str], key: str) -> Floats:
    # A value of None becomes NaN.
    return np.array(values_of(jurors, keys, key), np.float64)


def _weights(
    jurors: Sequence[CanonicalBallot],
    keys: set[str],
    policies: Sequence[PolicyFacts],
    places: npt.NDArray[Any],
) -> Floats:
    found = _numbers(jurors, keys, "weight")
    if any(one.policy.weights for one in policies):
        for at in np.flatnonzero(np.isnan(found)).tolist():
            found[at] = _nan(policies[places[at]].policy.weights.get(jurors[at]["id"]))
    return found


def _nan(value: float | None) -> float:
    return np.nan if value is None else float(value)
