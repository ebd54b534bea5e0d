"""How often each juror was right, counted over the verdicts that people labelled."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from msgspec import Struct

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jury.scores import trim
from reviewdesk.domain.jury.strategies import rule_for
from reviewdesk.domain.verdict import (
    Answer,
    Decision,
    Policy,
    Rounding,
    StatedTrim,
    Status,
    Strategy,
    answer,
    read_ballot,
    stated_trim,
)


class LabelledPanel(Struct, frozen=True):
    """One labelled verdict: its body with the ballots, its rule, the decision and the label."""

    body: CanonicalVerdict
    policy: Policy
    decision: Decision | None
    deserved: bool
    """Whether the label says that the response should pass."""


class JurorCounts(Struct, frozen=True):
    """One juror's votes against the labels; a positive is a response that should pass.

    ``seat`` is the lowest seat the juror ever had. A dissent is a vote against a pass or a fail of
    the panel; it is lone if no other juror dissented, or if the trim left the juror out.
    """

    name: str
    seat: int
    tp: int
    fn: int
    tn: int
    fp: int
    abstained: int
    failed: int
    trimmed: int
    dissents: int
    dissents_right: int
    lone_dissents: int = 0
    lone_right: int = 0

    @property
    def votes(self) -> int:
        """The number of votes cast on labelled verdicts."""
        return self.right + self.wrong

    @property
    def right(self) -> int:
        """The number of votes that match the label."""
        return self.tp + self.tn

    @property
    def wrong(self) -> int:
        """The number of votes that contradict the label."""
        return self.fn + self.fp


_COUNTED = JurorCounts.__struct_fields__[2:]


class Counter:
    """Counts jurors one labelled verdict at a time, so that only one need be in memory."""

    def __init__(self) -> None:
        """Start without any juror."""
        self._seats: dict[tuple[str, int], int] = {}
        self._counts: collections.Counter[tuple[str, int, str]] = collections.Counter()

    def add(self, panel: LabelledPanel) -> None:
        """Count the votes of one verdict."""
        policy = _policy(panel)
        answers = _answers(panel, policy)
        gone = _trimmed_seats(panel.body, policy, answers)
        losing = {Decision.PASS: False, Decision.FAIL: True}.get(panel.decision or Decision.ERROR)
        alone = sum(one.vote is losing for one in answers if one.vote is not None) == 1
        seats: collections.Counter[str] = collections.Counter()
        for seat, one in enumerate(answers):
            name = panel.body["jurors"][seat]["id"]
            seats[name] += 1
            key = name, seats[name]
            self._seats[key] = min(self._seats.get(key, seat), seat)
            right = one.vote is panel.deserved
            lone = alone or seat in gone
            dissents = one.vote is not None and one.vote is losing
            for fact, holds in (
                (_vote_fact(one, deserved=panel.deserved), True),
                ("trimmed", seat in gone),
                ("dissents", dissents),
                ("dissents_right", dissents and right),
                ("lone_dissents", dissents and lone),
                ("lone_right", dissents and lone and right),
            ):
                if holds:
                    self._counts[*key, fact] += 1

    def counts(self) -> tuple[JurorCounts, ...]:
        """Return each juror's counts, sorted by seat and then by name.

        A juror is named by its id; if one panel seats an id twice, the second is ``id#2``.
        """
        return tuple(
            JurorCounts(
                f"{key[0]}#{key[1]}" if key[1] > 1 else key[0],
                seat,
                **{fact: self._counts[*key, fact] for fact in _COUNTED},
            )
            for key, seat in sorted(self._seats.items(), key=lambda pair: (pair[1], pair[0]))
        )


def count(panels: Iterable[LabelledPanel]) -> tuple[JurorCounts, ...]:
    """Return each juror's counts over some labelled verdicts, sorted by seat and then by name."""
    counter = Counter()
    for panel in panels:
        counter.add(panel)
    return counter.counts()


def _policy(panel: LabelledPanel) -> Policy:
    return Policy.from_body(panel.body).over(panel.policy)


def _answers(panel: LabelledPanel, policy: Policy) -> list[Answer]:
    return [answer(juror, policy.threshold) for juror in panel.body["jurors"]]


def _vote_fact(one: Answer, *, deserved: bool) -> str:
    """Return the cell of a vote, or why there is none; empty if not asked or not understood."""
    if one.vote is not None:
        return ("tp" if one.vote else "fn") if deserved else ("fp" if one.vote else "tn")
    if one.status.failed:
        return "failed"
    return "abstained" if one.status in {Status.OK, Status.ABSTAINED} else ""


def _trimmed_seats(body: CanonicalVerdict, policy: Policy, answers: list[Answer]) -> set[int]:
    """Return the trimmed seats: those that the report names, else those of our own trim."""
    stated = stated_trim(body)
    if (named := _named(body, stated)) is not None:
        return {
            seat
            for seat in named
            if answers[seat].score is not None or answers[seat].vote is not None
        }
    ballots = [read_ballot(0, juror, policy) for juror in body["jurors"]]
    if rule_for(policy, ballots, body.get("regime")).used not in {None, Strategy.TRIMMED_MEAN}:
        return set()
    scores = [one.score for one in answers]
    cut = trim(scores, stated.fraction_under(policy), stated.rounding or Rounding.DOWN)
    return {*cut.low, *cut.high}


def trim_named(body: CanonicalVerdict) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    return _named(body, stated_trim(body))


def _named(body: CanonicalVerdict, stated: StatedTrim) -> set[int] | None:
    if stated.low is None:
        return None
    named = {*stated.low, *(stated.high or ())}
    jurors = body["jurors"]
    return {seat for seat, juror in enumerate(jurors) if juror["id"] in named}
