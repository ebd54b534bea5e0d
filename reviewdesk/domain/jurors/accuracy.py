"""How often each juror was right, counted over the verdicts that people labelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from reviewdesk.domain.jury.rule import rule_for
from reviewdesk.domain.jury.trim import trim
from reviewdesk.domain.verdict import (
    Answer,
    Body,
    Decision,
    Policy,
    Rounding,
    Status,
    Strategy,
    answer,
    read_ballot,
    stated_trim,
)


@dataclass(frozen=True, slots=True)
class LabelledPanel:
    """One labelled verdict: its body with the ballots, its rule, the decision and the label."""

    body: Body
    policy: Policy
    decision: Decision | None
    deserved: bool
    """Whether the label says that the response should pass."""


@dataclass(frozen=True, slots=True)
class JurorCounts:
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


_Key: TypeAlias = tuple[str, int]
_COUNTED = (
    "tp", "fn", "tn", "fp", "abstained", "failed", "trimmed", "dissents", "dissents_right",
    "lone_dissents", "lone_right",
)  # fmt: skip


@dataclass(slots=True)
class _Tally:
    seat: int
    cells: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))


class Counter:
    """Counts jurors one labelled verdict at a time, so that only one need be in memory."""

    def __init__(self) -> None:
        """Start without any juror."""
        self._tallies: dict[_Key, _Tally] = {}

    def add(self, panel: LabelledPanel) -> None:
        """Count the votes of one verdict."""
        _add(panel, self._tallies)

    def counts(self) -> tuple[JurorCounts, ...]:
        """Return each juror's counts, sorted by seat and then by name.

        A juror is named by its id; if one panel seats an id twice, the second is ``id#2``.
        """
        found = sorted(self._tallies.items(), key=lambda pair: (pair[1].seat, pair[0]))
        return tuple(
            JurorCounts(f"{name}#{nth}" if nth > 1 else name, tally.seat, **tally.cells)
            for (name, nth), tally in found
        )


def count(panels: Iterable[LabelledPanel]) -> tuple[JurorCounts, ...]:
    """Return each juror's counts over some labelled verdicts, sorted by seat and then by name."""
    counter = Counter()
    for panel in panels:
        counter.add(panel)
    return counter.counts()


def votes(panel: LabelledPanel) -> list[bool | None]:
    """Return the votes of one labelled verdict in seat order, ``None`` for a seat without one."""
    return [one.vote for one in _answers(panel, _policy(panel))]


def _policy(panel: LabelledPanel) -> Policy:
    return Policy.from_body(panel.body).over(panel.policy)


def _answers(panel: LabelledPanel, policy: Policy) -> list[Answer]:
    return [answer(juror, policy.threshold) for juror in panel.body.get("jurors") or ()]


def _add(panel: LabelledPanel, tallies: dict[_Key, _Tally]) -> None:
    policy = _policy(panel)
    answers = _answers(panel, policy)
    ids = [juror["id"] for juror in panel.body.get("jurors") or ()]
    gone = _trimmed_seats(panel.body, policy, answers)
    losing = {Decision.PASS: False, Decision.FAIL: True}.get(panel.decision or Decision.ERROR)
    lone = sum(one.vote is losing for one in answers if one.vote is not None) == 1
    for seat, (key, one) in enumerate(zip(_keys(ids), answers, strict=True)):
        tally = tallies.setdefault(key, _Tally(seat))
        tally.seat = min(tally.seat, seat)
        cells = tally.cells
        if one.vote is None:
            if one.status.failed:
                cells["failed"] += 1
            elif one.status in {Status.OK, Status.ABSTAINED}:
                cells["abstained"] += 1
        else:
            cells[_cell(one.vote, deserved=panel.deserved)] += 1
            if one.vote is losing:
                right = one.vote is panel.deserved
                cells["dissents"] += 1
                cells["dissents_right"] += right
                if lone or seat in gone:
                    cells["lone_dissents"] += 1
                    cells["lone_right"] += right
        cells["trimmed"] += seat in gone


def _cell(vote: bool, *, deserved: bool) -> str:
    if deserved:
        return "tp" if vote else "fn"
    return "fp" if vote else "tn"


def _keys(ids: list[str]) -> Iterator[_Key]:
    """Yield each id of one panel, with the number of its seats so far: 1 for the first."""
    seen: dict[str, int] = {}
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        yield name, seen[name]


def _trimmed_seats(body: Body, policy: Policy, answers: list[Answer]) -> set[int]:
    """Return the trimmed seats: those that the report names, else those of our own trim."""
    named = trim_named(body)
    if named is not None:
        return {
            seat
            for seat in named
            if answers[seat].score is not None or answers[seat].vote is not None
        }
    stated = stated_trim(body)
    ballots = [read_ballot(0, juror, policy) for juror in body.get("jurors") or ()]
    if rule_for(policy, ballots, body.get("regime")).used not in {None, Strategy.TRIMMED_MEAN}:
        return set()
    scores = [one.score for one in answers]
    cut = trim(scores, stated.fraction_under(policy), stated.rounding or Rounding.DOWN)
    return {*cut.low, *cut.high}


def trim_named(body: Body) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    stated = stated_trim(body)
    if stated.low is None:
        return None
    named = {*stated.low, *(stated.high or ())}
    jurors = body.get("jurors") or ()
    return {seat for seat, juror in enumerate(jurors) if juror["id"] in named}
