"""Find every place where a report disagrees with its own rule."""

from __future__ import annotations

from enum import IntFlag

from msgspec import Struct

from reviewdesk.domain.audit.stated_band import band_mismatch, escalation_mismatch
from reviewdesk.domain.audit.stated_rule import (
    against_all,
    contradictions,
    decision_mismatch,
    label_mismatch,
    pass_mismatches,
    quorum_mismatch,
    same_family_mismatch,
    stop_mismatch,
)
from reviewdesk.domain.audit.stated_trim import trim_mismatch
from reviewdesk.domain.jury.rule import Decisions
from reviewdesk.domain.jury.strategies import Votes
from reviewdesk.domain.verdict import Verdict


class Breach(IntFlag):
    """A rule that a verdict may break. The values are stored: never renumber them.

    ``ROUNDING`` marks a quorum that is met only with rounding, or only without it. It is counted
    with the others but is not a mismatch.
    """

    QUORUM = 1
    DECISION = 2
    BAND = 4
    ESCALATION = 8
    SAME_FAMILY = 16
    TRIM = 32
    PASS_SCORE = 64
    LABEL = 128
    ROUNDING = 256
    STOPPED_EARLY = 512
    AGAINST_ALL = 1024
    CONTRADICTION = 2048

    @property
    def label(self) -> str:
        """The name in words for the screen."""
        return _WORDS.get(self, self.key)

    @property
    def key(self) -> str:
        """The name used in JSON."""
        return (self.name or "").lower()


_WORDS = {
    Breach.SAME_FAMILY: "same family",
    Breach.PASS_SCORE: "pass/score",
    Breach.LABEL: "label vote",
    Breach.ROUNDING: "quorum rounding",
    Breach.STOPPED_EARLY: "stopped early",
    Breach.AGAINST_ALL: "against every vote",
}


class Mismatch(Struct, frozen=True):
    """One place where a report disagrees with its own rule, in words that name both sides."""

    kind: Breach
    text: str


def kinds(found: Breach) -> tuple[Breach, ...]:
    """Return the kinds that are set in one value, in the order of their bits."""
    return tuple(kind for kind in Breach if kind in found)


def mismatches(verdict: Verdict, votes: Votes, made: Decisions) -> tuple[Mismatch, ...]:
    """Return every place where the report disagrees with its own rule, given its ballots."""
    found = [
        (Breach.QUORUM, quorum_mismatch(verdict, made, votes)),
        (Breach.DECISION, decision_mismatch(verdict, made, votes)),
        (Breach.LABEL, label_mismatch(verdict)),
        (Breach.BAND, band_mismatch(verdict)),
        (Breach.ESCALATION, escalation_mismatch(verdict)),
        (Breach.SAME_FAMILY, same_family_mismatch(verdict)),
        (Breach.TRIM, trim_mismatch(verdict)),
        (Breach.STOPPED_EARLY, stop_mismatch(verdict)),
        (Breach.AGAINST_ALL, against_all(verdict, made, votes)),
        *((Breach.CONTRADICTION, text) for text in contradictions(verdict.body)),
        *((Breach.PASS_SCORE, text) for text in pass_mismatches(verdict)),
    ]
    return tuple(Mismatch(kind, text) for kind, text in found if text)
