"""How often each juror was right, counted over the verdicts that people labelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from reviewdesk.domain.trim import trim
from reviewdesk.domain.verdict import (
    Answer,
    Body,
    Decision,
    Policy,
    Rounding,
    Status,
    answer,
    stated_trim,
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One labelled verdict: what its jurors said, the rule they sat under, and the truth."""

    body: Body
    policy: Policy
    decision: Decision | None
    deserved: bool
    """Whether people say that the response should pass."""


@dataclass(frozen=True, slots=True)
class JurorCounts:
    """One juror against the labels; a positive is a response that should pass.

    ``seat`` is the first place it ever sat at. Dissents are votes against a pass or a fail.
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

    @property
    def votes(self) -> int:
        """Votes cast on labelled verdicts."""
        return self.right + self.wrong

    @property
    def right(self) -> int:
        """Votes that match the label."""
        return self.tp + self.tn

    @property
    def wrong(self) -> int:
        """Votes that do not."""
        return self.fn + self.fp


_Key: TypeAlias = tuple[str, int]
_COUNTED = (
    "tp", "fn", "tn", "fp", "abstained", "failed", "trimmed", "dissents", "dissents_right",
)  # fmt: skip


@dataclass(slots=True)
class _Tally:
    seat: int
    cells: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))


def count(panels: Iterable[Panel]) -> tuple[JurorCounts, ...]:
    """Each juror's counts, in the order of the seats and then of the names.

    A juror is known by its id; where one panel seats an id twice, the second is ``id#2``.
    """
    tallies: dict[_Key, _Tally] = {}
    for panel in panels:
        _add(panel, tallies)
    return tuple(
        JurorCounts(f"{name}#{nth}" if nth > 1 else name, tally.seat, **tally.cells)
        for (name, nth), tally in sorted(tallies.items(), key=lambda pair: (pair[1].seat, pair[0]))
    )


def _add(panel: Panel, tallies: dict[_Key, _Tally]) -> None:
    jurors = panel.body.get("jurors") or ()
    policy = Policy.from_body(panel.body).over(panel.policy)
    answers = [answer(juror, policy.threshold) for juror in jurors]
    ids = [juror["id"] for juror in jurors]
    gone = _trimmed(panel.body, policy, ids, answers)
    losing = {Decision.PASS: False, Decision.FAIL: True}.get(panel.decision or Decision.ERROR)
    for seat, (key, said) in enumerate(zip(_keys(ids), answers, strict=True)):
        tally = tallies.setdefault(key, _Tally(seat))
        tally.seat = min(tally.seat, seat)
        cells = tally.cells
        if said.vote is None:
            quiet = said.status in {Status.OK, Status.ABSTAINED}
            cells["abstained" if quiet else "failed"] += 1
        else:
            cells[_cell(said.vote, deserved=panel.deserved)] += 1
            if said.vote is losing:
                cells["dissents"] += 1
                cells["dissents_right"] += said.vote is panel.deserved
        cells["trimmed"] += seat in gone


def _cell(vote: bool, *, deserved: bool) -> str:
    if deserved:
        return "tp" if vote else "fn"
    return "fp" if vote else "tn"


def _keys(ids: list[str]) -> Iterator[_Key]:
    """Each id of one panel, and the how many-th seat of that id it is."""
    seen: dict[str, int] = {}
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        yield name, seen[name]


def _trimmed(body: Body, policy: Policy, ids: list[str], answers: list[Answer]) -> set[int]:
    """The seats that were left out at either end: the report's own trim, else ours."""
    stated = stated_trim(body)
    if stated.low is not None:
        named = {*stated.low, *(stated.high or ())}
        return {
            seat
            for seat, said in enumerate(answers)
            if ids[seat] in named and (said.score is not None or said.vote is not None)
        }
    scores = [said.score for said in answers]
    cut = trim(scores, stated.fraction_under(policy), stated.rounding or Rounding.DOWN)
    return {*cut.low, *cut.high}
