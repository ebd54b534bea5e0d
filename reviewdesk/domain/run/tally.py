"""Counts and columns of a run that are complete only after its last verdict."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import and_
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.labels.sampling import FIRST_REST, stratum
from reviewdesk.domain.report_model import VerdictModel
from reviewdesk.domain.verdict import Decision, canonical_texts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DERIVED_ESCALATION = 1 << 30
"""A temporary bit: a recomputed escalation, which counts if the report states no escalation."""


DERIVED = (
    "decision", "score", "stated_score", "confidence", "agreement", "band", "agreement_source",
    "ours_band", "margin", "passes", "answered", "seated", "range", "mass", "marks",
)  # fmt: skip
"""The columns of a verdict's row that the present rules compute from its body, except the
flags."""


class SettledVerdicts(Struct, frozen=True):
    """The values that a run keeps of many assessed verdicts."""

    derived: Mapping[str, list[Any]]
    """The values of the columns ``DERIVED``."""
    flags: list[int]
    """The flags, including ``DERIVED_ESCALATION``."""
    reviewed: list[bool]
    """Whether each verdict needs a person, regardless of recomputed escalations."""
    voteless: list[bool]


_DECIDED = frozenset({Decision.PASS, Decision.FAIL})
_STRATA = {
    (decision, flagged): stratum(Decision(decision) if decision else None, flagged=flagged)
    for decision in (*[one.value for one in Decision], None)
    for flagged in (False, True)
}


@dataclass(slots=True)
class Counts:
    """Counts over the verdicts of a run."""

    verdicts: int = 0
    ballots: int = 0
    failed: int = 0
    passes: int = 0
    fails: int = 0
    stated_scores: int = 0
    decided: int = 0
    decided_stated: int = 0
    decided_scored: int = 0
    undecidable: int = 0
    voteless: int = 0
    human_labels: int = 0
    stated_escalation: bool = False
    tp: int = 0
    fn: int = 0
    tn: int = 0
    fp: int = 0
    """The confusion matrix of the decisions and the human labels in the reports."""

    def merge(self, other: Counts) -> Counts:
        """Return the counts over the verdicts of both."""
        every = {one.name: getattr(self, one.name) for one in fields(Counts)}
        made = Counts(**{name: mine + getattr(other, name) for name, mine in every.items()})
        made.stated_escalation = self.stated_escalation or other.stated_escalation
        return made

    def count(self, verdicts: Sequence[VerdictModel], found: SettledVerdicts) -> None:
        """Add verdicts to the counts."""
        derived = found.derived
        decisions = derived["decision"]
        decided = [one in _DECIDED for one in decisions]
        self.passes += decisions.count(Decision.PASS)
        self.decided += sum(decided)
        for one, voteless in zip(decisions, found.voteless, strict=True):
            if one is None:
                self.voteless += voteless
                self.undecidable += not voteless
        stated = [one is not None for one in derived["stated_score"]]
        scored = [one is not None for one in derived["score"]]
        self.stated_scores += sum(stated)
        self.decided_stated += sum(map(and_, decided, stated))
        self.decided_scored += sum(map(and_, decided, scored))
        for one, made in zip(verdicts, decisions, strict=True):
            if one.human:
                self.human_labels += 1
                self._confuse(made, one.human.label)
        self.stated_escalation |= any(one.escalate_for_review is not UNSET for one in verdicts)
        self.verdicts += len(verdicts)
        self.ballots += sum(derived["seated"])
        self.fails = self.decided - self.passes

    def _confuse(self, made: str | None, label: str) -> None:
        """Count a decision of pass or fail against a label of pass or fail."""
        match made, label:
            case Decision.PASS, Decision.PASS:
                self.tp += 1
            case Decision.FAIL, Decision.PASS:
                self.fn += 1
            case Decision.FAIL, Decision.FAIL:
                self.tn += 1
            case Decision.PASS, Decision.FAIL:
                self.fp += 1

    def confidence_source(self) -> str:
        """Return ``support`` if every decided verdict has a score, else ``vote_share``.

        If the report states any scores, only stated scores count.
        """
        scored = self.decided_stated if self.stated_scores else self.decided_scored
        return "support" if scored == self.decided else "vote_share"


@dataclass(slots=True)
class RunTally(Counts):
    """Counts and columns over the verdicts of a run, in file order: five bytes a verdict."""

    preliminary: array[int] = field(default_factory=lambda: array("i"))
    """The flags of each verdict, with ``DERIVED_ESCALATION``."""
    sides: array[int] = field(default_factory=lambda: array("b"))
    """The stratum of each verdict if recomputed escalations are ignored."""
    contents: Any = field(default_factory=hashlib.sha256)

    def add(
        self,
        verdicts: Sequence[VerdictModel],
        found: SettledVerdicts,
        digests: Sequence[bytes],
    ) -> None:
        """Count verdicts, and append them to the columns; the digests are of their contents."""
        self.count(verdicts, found)
        self.preliminary.extend(found.flags)
        sides = zip(found.derived["decision"], found.reviewed, strict=True)
        self.sides.extend([_STRATA[one] for one in sides])
        pairs = zip(verdicts, digests, strict=True)
        texts = [canonical_texts(one.id, digest.hex()) for one, digest in pairs]
        self.contents.update(b"".join(texts))

    def final_flags(self) -> npt.NDArray[np.int32]:
        return final_flags(self.preliminary, stated=self.stated_escalation)

    def strata(self) -> npt.NDArray[np.int8]:
        """Return the stratum of each verdict, ``[verdicts]``.

        A stated escalation flags a verdict; a recomputed one does so if the report states none.
        """
        import numpy as np

        sides = np.array(self.sides)
        if self.stated_escalation:
            return sides
        return np.where(self.final_flags() & int(Flag.ESCALATED), sides % FIRST_REST, sides)


def final_flags(preliminary: Sequence[int], *, stated: bool) -> npt.NDArray[np.int32]:
    """Return the flags to store; recomputed escalations count unless the report states any."""
    import numpy as np

    found = np.asarray(preliminary, np.int32)
    counts = np.int32(0 if stated else Flag.ESCALATED)
    return np.where(found & DERIVED_ESCALATION, found ^ DERIVED_ESCALATION | counts, found)
