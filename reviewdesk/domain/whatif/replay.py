"""Stored ballots replayed in an order of jurors, as a panel that stops when decided asks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict
from reviewdesk.domain.jury.stopping import turnable
from reviewdesk.domain.jury.verdicts import verdicts_of
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import Status, Verdict, read_ballot
from reviewdesk.domain.whatif.policies import Variant

_TOGETHER = 500
"""Verdicts that are replayed together."""


@dataclass(slots=True)
class Replay:
    """What asking one juror after another would have saved in a run, under one rule.

    ``same`` counts the verdicts whose decision is that of the full panel. ``left_out`` counts those
    on which one of the jurors does not sit, or was not asked.
    """

    variant: Variant
    order: tuple[str, ...]
    verdicts: int = 0
    same: int = 0
    stopped: int = 0
    left_out: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    """The number of calls to each juror, in the order in which they are asked."""

    @property
    def full(self) -> int:
        """The calls that the full panel makes."""
        return self.verdicts * len(self.order)

    @property
    def calls(self) -> int:
        """The calls that are made."""
        return sum(self.asked.values())

    @property
    def saved(self) -> float | None:
        """The share of the full panel's calls that are saved; ``None`` without a verdict."""
        return 1 - self.calls / self.full if self.full else None


def replay(
    verdicts: Iterable[Verdict], order: Sequence[str], variants: Sequence[Variant]
) -> tuple[Replay, ...]:
    """Replay verdicts under each variant; without an ``order``, in the order of their seats.

    The jurors of the order alone are seated. Reported decisions count for nothing here: both
    decisions are computed from the ballots.
    """
    found: list[Replay] | None = None
    waiting = iter(verdicts)
    while some := list(islice(waiting, _TOGETHER)):
        if found is None:
            names = tuple(order) or tuple(_seats(some[0]))
            found = [_start(variant, names) for variant in variants]
        for one in found:
            seated = [_seats(verdict) for verdict in some]
            fit = [
                (verdict, [seats[name] for name in one.order])
                for verdict, seats in zip(some, seated, strict=True)
                if not _stopped(verdict) and set(one.order) <= set(seats)
            ]
            one.left_out += len(some) - len(fit)
            _count(one, fit)
    return tuple(found or [_start(variant, order) for variant in variants])


def _seats(verdict: Verdict) -> dict[str, CanonicalBallot]:
    names = seat_names([one.id for one in verdict.ballots])
    return dict(zip(names, verdict.body["jurors"], strict=True))


def _stopped(verdict: Verdict) -> bool:
    return any(one.status is Status.NOT_ASKED for one in verdict.ballots)


def _start(variant: Variant, order: Sequence[str]) -> Replay:
    names = tuple(name for name in order if name != variant.dropped)
    return Replay(variant, names, asked=dict.fromkeys(names, 0))


def _count(found: Replay, panels: Sequence[tuple[Verdict, Sequence[CanonicalBallot]]]) -> None:
    """Ask the jurors of panels one after the other, each until nothing can turn its decision."""
    if not panels:
        return
    every = [_panel(one, found.variant, jurors, len(jurors)) for one, jurors in panels]
    whole = verdicts_of(every).decision
    made = whole.copy()
    open_ = np.arange(len(panels))
    for count, name in enumerate(found.order, 1):
        found.asked[name] += len(open_)
        some = [panels[at] for at in open_.tolist()]
        now = verdicts_of([_panel(one, found.variant, jurors, count) for one, jurors in some])
        made[open_] = now.decision
        last = count == len(found.order)
        found.stopped += 0 if last else int((~turnable(now)).sum())
        open_ = open_[turnable(now)]
        if not len(open_):
            break
    found.verdicts += len(panels)
    found.same += int((made == whole).sum())


def _panel(
    verdict: Verdict, variant: Variant, jurors: Sequence[CanonicalBallot], count: int
) -> Verdict:
    """Return the verdict of these jurors, of whom the first ``count`` were asked."""
    policy = verdict.policy
    policy = replace(
        policy,
        strategy=variant.strategy or policy.strategy,
        quorum=policy.quorum if variant.quorum is None else variant.quorum,
        threshold=policy.threshold if variant.threshold is None else variant.threshold,
        supermajority=variant.supermajority or policy.supermajority,
    )
    said = jurors if variant.threshold is None else [_voting_by_score(one) for one in jurors]
    bodies = [one if seat < count else _not_asked(one) for seat, one in enumerate(said)]
    body: CanonicalVerdict = {"id": verdict.id, "case": verdict.body["case"], "jurors": bodies}
    stated = verdict.body.get("trim") or {}
    fraction = stated.get("fraction") if variant.fraction is None else variant.fraction
    rounding = variant.rounding or stated.get("rounding")
    body["trim"] = {"fraction": fraction, "rounding": rounding}
    return replace(
        verdict,
        body=body,
        policy=policy,
        ballots=tuple(read_ballot(seat, one, policy) for seat, one in enumerate(bodies)),
    )


def _voting_by_score(juror: CanonicalBallot) -> CanonicalBallot:
    """Return a ballot whose score votes by the threshold, unless its vote is withheld."""
    if juror.get("score") is None or juror.get("pass") is None:
        return juror
    return cast(CanonicalBallot, {key: value for key, value in juror.items() if key != "pass"})


def _not_asked(juror: CanonicalBallot) -> CanonicalBallot:
    made: CanonicalBallot = {"id": juror["id"], "status": Status.NOT_ASKED.value}
    if juror.get("weight") is not None:
        made["weight"] = juror["weight"]
    return made
