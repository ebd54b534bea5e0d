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
    """One labelled verdict: what its jurors said, the rule they sat under, and the truth."""

    body: Body
    policy: Policy
    decision: Decision | None
    deserved: bool
    """Whether people say that the response should pass."""


@dataclass(frozen=True, slots=True)
class JurorCounts:
    """One juror against the labels; a positive is a response that should pass.

    ``seat`` is the first place it ever sat at. Dissents are votes against a pass or a fail; lone
    ones were the only such vote, or that of a juror whom the trim left out.
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
    "lone_dissents", "lone_right",
)  # fmt: skip


@dataclass(slots=True)
class _Tally:
    seat: int
    cells: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))


class Counter:
    """Counts jurors one labelled verdict at a time, so that no more than one need be at hand."""

    def __init__(self) -> None:
        """Start with no juror."""
        self._tallies: dict[_Key, _Tally] = {}

    def add(self, panel: LabelledPanel) -> None:
        """Count one verdict."""
        _add(panel, self._tallies)

    def counts(self) -> tuple[JurorCounts, ...]:
        """Each juror's counts, in the order of the seats and then of the names.

        A juror is known by its id; where one panel seats an id twice, the second is ``id#2``.
        """
        found = sorted(self._tallies.items(), key=lambda pair: (pair[1].seat, pair[0]))
        return tuple(
            JurorCounts(f"{name}#{nth}" if nth > 1 else name, tally.seat, **tally.cells)
            for (name, nth), tally in found
        )


def count(panels: Iterable[LabelledPanel]) -> tuple[JurorCounts, ...]:
    """Each juror's counts over some labelled verdicts, as ``Counter.counts`` gives them."""
    counter = Counter()
    for panel in panels:
        counter.add(panel)
    return counter.counts()


def votes(panel: LabelledPanel) -> list[bool | None]:
    """The votes of one labelled verdict, in the order of its seats."""
    return [said.vote for said in _answers(panel, _policy(panel))]


def _policy(panel: LabelledPanel) -> Policy:
    return Policy.from_body(panel.body).over(panel.policy)


def _answers(panel: LabelledPanel, policy: Policy) -> list[Answer]:
    return [answer(juror, policy.threshold) for juror in panel.body.get("jurors") or ()]


def _add(panel: LabelledPanel, tallies: dict[_Key, _Tally]) -> None:
    policy = _policy(panel)
    answers = _answers(panel, policy)
    ids = [juror["id"] for juror in panel.body.get("jurors") or ()]
    gone = _trimmed(panel.body, policy, answers)
    losing = {Decision.PASS: False, Decision.FAIL: True}.get(panel.decision or Decision.ERROR)
    lone = sum(said.vote is losing for said in answers if said.vote is not None) == 1
    for seat, (key, said) in enumerate(zip(_keys(ids), answers, strict=True)):
        tally = tallies.setdefault(key, _Tally(seat))
        tally.seat = min(tally.seat, seat)
        cells = tally.cells
        if said.vote is None:
            if said.status.failed:
                cells["failed"] += 1
            elif said.status in {Status.OK, Status.ABSTAINED}:
                cells["abstained"] += 1
        else:
            cells[_cell(said.vote, deserved=panel.deserved)] += 1
            if said.vote is losing:
                right = said.vote is panel.deserved
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
    """Each id of one panel, and the how many-th seat of that id it is."""
    seen: dict[str, int] = {}
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        yield name, seen[name]


def _trimmed(body: Body, policy: Policy, answers: list[Answer]) -> set[int]:
    """The seats that were left out at either end: the report's own trim, else ours."""
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
    scores = [said.score for said in answers]
    cut = trim(scores, stated.fraction_under(policy), stated.rounding or Rounding.DOWN)
    return {*cut.low, *cut.high}


def trim_named(body: Body) -> set[int] | None:
    """The seats that a report itself says were trimmed; ``None`` where it does not say."""
    stated = stated_trim(body)
    if stated.low is None:
        return None
    named = {*stated.low, *(stated.high or ())}
    jurors = body.get("jurors") or ()
    return {seat for seat, juror in enumerate(jurors) if juror["id"] in named}
