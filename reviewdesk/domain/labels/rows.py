"""One labelled verdict of a run, and how sure the panel was of it; no numpy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from reviewdesk.domain.labels.sampling import NOT_STATED, Decided, LabelledVerdict
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError

SOURCES = ("support", "score", "reported", "vote_share")


class LabelledRow(Struct, frozen=True):
    """One labelled verdict, with the values that confidence can be taken from."""

    key: int
    id: str
    item: bytes
    decision: Decision | None
    score: float | None
    stated_score: float | None
    confidence: float | None
    passes: int
    answered: int
    place: LabelledVerdict
    test: str = ""
    """The case, which several contents may share: one for each epoch."""

    @property
    def decided(self) -> bool:
        # Tuples, because to hash an enum costs more than to compare it.
        truth = self.place.truth
        return self.decision in (Decision.PASS, Decision.FAIL) and truth in (Truth.PASS, Truth.FAIL)

    @property
    def unanswered(self) -> bool:
        """Whether the panel decided, but the label says neither pass nor fail: a non-response."""
        truth = self.place.truth
        return self.place.decided and truth in (Truth.UNSURE, Truth.DISPUTED)

    @property
    def correct(self) -> bool:
        return str.__eq__(self.decision or "", self.place.truth)

    @property
    def cell(self) -> str:
        if self.place.truth is Truth.PASS:
            return "tp" if self.correct else "fn"
        return "tn" if self.correct else "fp"


class RunFigures(Struct, frozen=True):
    """The facts of a whole run that calibration needs."""

    passed: int
    failed: int
    confidence_source: str
    scores_stated: bool
    sizes: Mapping[int, int]
    audits: Mapping[int, int] = field(default_factory=dict)
    """The number of contents in the audit, by stratum."""
    decided: Decided = NOT_STATED

    @property
    def observed(self) -> float | None:
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


def by_content(rows: Iterable[LabelledRow]) -> list[list[LabelledRow]]:
    """Return the verdicts on each content together, in the order in which contents come first."""
    found: dict[object, list[LabelledRow]] = {}
    for row in rows:
        found.setdefault(row.place.content or row.place.unit, []).append(row)
    return list(found.values())


def confidence(verdict: LabelledRow, source: str, *, scores_stated: bool) -> float | None:
    """Return how sure the panel is of its decision, by one declared mapping; ``None`` if unknown.

    ``support`` is the score of a pass, and 1 less the score of a fail; ``vote_share`` the share of
    votes for the decision; ``score`` the score itself; ``reported`` the mean that jurors report.
    """
    passed = verdict.decision is Decision.PASS
    score = verdict.stated_score if scores_stated else verdict.score
    if source == "score":
        return score
    if source == "reported":
        return verdict.confidence
    if source == "vote_share":
        score = verdict.passes / verdict.answered if verdict.answered else None
    if score is None:
        return None
    return score if passed else 1 - score


def chosen_source(figures: RunFigures, source: str | None) -> str:
    """Return the confidence mapping ``source``, else the run's own; raise UsageError if unknown."""
    source = source or figures.confidence_source
    if source not in SOURCES:
        raise UsageError(f"no confidence source {source!r}", f"One of {', '.join(SOURCES)}.")
    return source


TRUTHS = (None, Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.DISPUTED)
"""The truth of a verdict's item, by the three lowest bits of its byte."""
TRUTH = 7
TENTATIVE = 8
UNSEEN = 16
FLAGGED = 32
AUDIT = 64
COPY = 128
"""The bits of a byte; a verdict without a label has 0. Another verdict on the same content stands
for a copy, so that the content is counted once."""
