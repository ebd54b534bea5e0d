"""What several people said of the items of a run: their labels, their work, their disagreements."""

from __future__ import annotations

from msgspec import Struct

from reviewdesk.domain.labels.repeats import SelfAgreement
from reviewdesk.domain.records import Pace, Truth
from reviewdesk.domain.stats.raters import RaterAgreement
from reviewdesk.domain.verdict import Decision


class TeamMember(Struct, frozen=True):
    """One person's work on a run: the items labelled, the pace, the agreement with oneself."""

    reviewer: str
    labels: int
    pace: Pace
    repeats: SelfAgreement


class TeamPage(Struct, frozen=True):
    """How the people who labelled a run work and agree.

    ``items`` counts those that two people labelled. If the agreement is ``drawn``, it is of those
    of them that were drawn, and stands for the run; else it is of them all. ``disputed`` and
    ``adjudicated`` count verdicts.
    """

    members: tuple[TeamMember, ...]
    agreement: RaterAgreement
    items: int
    drawn: bool
    disputed: int
    adjudicated: int


class Opinion(Struct, frozen=True):
    """One person's label of an item, or the adjudication of it."""

    reviewer: str
    label: Truth
    at: str
    note: str | None


class Disagreement(Struct, frozen=True):
    """A verdict on whose item people differ, and the adjudication that settled it, if any."""

    key: int
    id: str
    item_hash: str
    decision: Decision | None
    score: float | None
    opinions: tuple[Opinion, ...]
    adjudication: Opinion | None
