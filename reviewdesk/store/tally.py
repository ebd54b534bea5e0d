"""Counts and columns of a run that are complete only after its last verdict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.content import canonical_json, content_hash
from reviewdesk.domain.labels.sampling import stratum
from reviewdesk.domain.verdict import Decision, Verdict

_DERIVED_ESCALATION = 1 << 30
"""A temporary bit: escalated by recomputation, which counts if the report states no escalation."""


@dataclass(slots=True)
class Counts:
    """Counts over the verdicts of a run."""

    ballots: int = 0
    failed: int = 0
    stated_scores: int = 0
    decided: int = 0
    decided_stated: int = 0
    decided_scored: int = 0
    undecidable: int = 0
    voteless: int = 0
    human_labels: int = 0
    stated_escalation: bool = False

    def count(self, verdict: Verdict, found: Assessment) -> None:
        """Add one verdict to the counts."""
        decided = found.decision in {Decision.PASS, Decision.FAIL}
        self.ballots += len(found.seats)
        self.failed += sum(seat.ballot.status.failed for seat in found.seats)
        self.stated_scores += verdict.score is not None
        self.decided += decided
        self.decided_stated += decided and verdict.score is not None
        self.decided_scored += decided and found.score is not None
        self.voteless += found.no_votes
        self.undecidable += found.decision is None and not found.no_votes
        self.human_labels += isinstance(verdict.body.get("human"), dict)
        self.stated_escalation |= verdict.escalate is not None

    def confidence_source(self) -> str:
        """Return ``support`` if every decided verdict has a score, else ``vote_share``.

        If the report states any scores, only stated scores count.
        """
        scored = self.decided_stated if self.stated_scores else self.decided_scored
        return "support" if scored == self.decided else "vote_share"


@dataclass(slots=True)
class RunTally(Counts):
    """Counts and columns over the verdicts of a run, in file order."""

    ids: list[str] = field(default_factory=list)
    decisions: list[Decision | None] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    reviewed: list[bool] = field(default_factory=list)
    contents: Any = field(default_factory=hashlib.sha256)

    def add(self, verdict: Verdict, found: Assessment) -> None:
        """Count one verdict, and append it to the columns."""
        self.count(verdict, found)
        self.ids.append(verdict.id)
        self.decisions.append(found.decision)
        self.flags.append(int(found.flags) | (_DERIVED_ESCALATION if found.escalation else 0))
        self.reviewed.append(
            bool(verdict.escalate)
            or verdict.bias_warning is not None
            or bool(found.flags & Flag.DISPUTE)
            or found.decision is Decision.INCONCLUSIVE
            or found.no_votes
        )
        self.contents.update(canonical_json([verdict.id, content_hash(verdict.body)]))

    def final_flags(self) -> list[int]:
        """Return the flags to store; recomputed escalations count if the report states none."""
        clear = ~_DERIVED_ESCALATION
        if self.stated_escalation:
            return [bits & clear for bits in self.flags]
        return [
            (bits & clear) | (Flag.ESCALATED if bits & _DERIVED_ESCALATION else 0)
            for bits in self.flags
        ]

    def strata(self, flags: list[int]) -> list[int]:
        """Return the stratum of each verdict.

        Stated escalations make a verdict flagged; recomputed ones do so if the report states none.
        """
        flagged = [
            reviewed or (not self.stated_escalation and bool(bits & Flag.ESCALATED))
            for reviewed, bits in zip(self.reviewed, flags, strict=True)
        ]
        return [
            stratum(decision, flagged=is_flagged)
            for decision, is_flagged in zip(self.decisions, flagged, strict=True)
        ]
