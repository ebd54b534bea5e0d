"""The strata of a draw: how much of each is audited, and how many verdicts a label stands for.

Flagged verdicts alone would make a judge look worse than it is, so an audit of the rest is mixed in
unmarked. A seeded permutation fixes the order inside every stratum permanently.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.stats.distributions import beta_cdf, bisect
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.errors import UsageError

STRATA = ("flagged/pass", "flagged/fail", "flagged/none", "rest/pass", "rest/fail", "rest/none")
_SIDES = {Decision.PASS: 0, Decision.FAIL: 1}
FIRST_REST = 3
MIN_AUDIT = 30
AUDIT_SHARE = 0.1

Decided = Mapping[int, tuple[int, int]]
"""How many verdicts of a stratum were decided as a pass and as a fail. A stratum that is left out
was drawn verdict by verdict, and its name states their decision."""
NOT_STATED: Decided = MappingProxyType({})


def stratum(decision: Decision | None, *, flagged: bool) -> int:
    """Return the index into ``STRATA``; other decisions than pass and fail belong to ``none``."""
    return (0 if flagged else FIRST_REST) + (_SIDES.get(decision, 2) if decision else 2)


def audit_shares(sizes: Mapping[int, int], share: float = AUDIT_SHARE) -> dict[int, int]:
    """Split the audit over the strata of the rest by largest remainders, with at least one each."""
    rest = {h: n for h, n in sizes.items() if h >= FIRST_REST and n}
    total = sum(rest.values())
    wanted = min(total, max(MIN_AUDIT, math.ceil(total * share - SLACK)))
    shares = {h: max(1, wanted * n // total) for h, n in rest.items()}
    by_remainder = sorted(rest, key=lambda h: (-(wanted * rest[h] % total), h))
    while sum(shares.values()) < wanted:
        for h in by_remainder:
            if shares[h] < rest[h] and sum(shares.values()) < wanted:
                shares[h] += 1
    while sum(shares.values()) > wanted:
        shares[max(shares, key=lambda h: (shares[h], -h))] -= 1
    return shares


def decided_strata(sizes: Mapping[int, int], decided: Decided = NOT_STATED) -> list[int]:
    return [h for h, n in sizes.items() if sum(decided_verdicts(h, n, decided))]


def decided_verdicts(h: int, size: int, decided: Decided) -> tuple[int, int]:
    side = h % FIRST_REST
    return decided.get(h) or (size if side == 0 else 0, size if side == 1 else 0)


def design_of(labelled: int, sizes: Mapping[int, int], counted: Mapping[int, float]) -> Design:
    """Return the design by the usable labels, the strata's sizes, and the labels that count."""
    empty = [h for h in sizes if not counted.get(h)]
    if not labelled:
        return Design.NONE
    if sum(counted.get(h, 0) for h in sizes) == sum(sizes.values()):
        return Design.CENSUS
    if len(empty) == len(sizes):
        return Design.AD_HOC
    if any(h >= FIRST_REST for h in empty):
        return Design.ESCALATED_ONLY
    return Design.PARTIAL if empty else Design.WEIGHTED


class Stratum(Struct, frozen=True):
    """One stratum of a draw, counted in contents; its first ``prefix`` ones have a label."""

    name: str
    size: int
    labelled: int
    prefix: int
    counted: int
    weight: float | None
    audit: int
    audit_done: int
    decided: bool = True
    """Whether verdicts in it were decided as a pass or a fail, so that their labels give rows."""

    @property
    def unanswered(self) -> int:
        return self.prefix - self.counted

    @property
    def missing(self) -> str:
        """A sentence on what it lacks for the population line; empty if it lacks nothing."""
        if self.counted or not self.size or not self.decided:
            return ""
        if self.prefix == self.size:
            return f"{self.name} is labelled to its end, none pass or fail: it has no weight"
        return f"{self.name} has no pass or fail label in order: 1 more to the next figures"


class AuditSample(Struct, frozen=True):
    """The sample of unflagged verdicts; ``errors`` of its labels contradict the panel."""

    planned: int
    done: int
    counted: int
    errors: int
    bound: float | None


def audit(found: Sequence[Stratum], drawn: Sequence[bool]) -> AuditSample:
    """Sum up the audit; ``drawn`` says if the panel is right on each label that counts."""
    rest = [stratum for stratum in found if stratum.audit and stratum.decided]
    known = all(stratum.counted == stratum.size for stratum in rest)
    errors = drawn.count(False)
    few = bool(drawn) and errors < 5 and not known
    return AuditSample(
        planned=sum(stratum.audit for stratum in found),
        done=sum(stratum.audit_done for stratum in found),
        counted=len(drawn),
        errors=errors,
        bound=upper_bound(errors, len(drawn)) if few else None,
    )


def upper_bound(errors: int, k: int) -> float:
    """Return the one-sided 95% upper bound of Clopper and Pearson on ``errors`` in ``k``."""
    if errors >= k:
        return 1.0
    return bisect(lambda rate: 1 - beta_cdf(rate, errors + 1, k - errors) > 0.05, errors / k, 1.0)


SOURCES = ("support", "score", "reported", "vote_share")


class LabelledRow(Struct, frozen=True):
    """One labelled verdict, its place in the draw, and what confidence can be taken from.

    Verdicts on one ``item`` share a label and a drawn place. One that is no longer decided keeps
    its stratum, as a non-response.
    """

    key: int
    id: str
    item: bytes
    decision: Decision | None
    score: float | None
    stated_score: float | None
    confidence: float | None
    passes: int
    answered: int
    stratum: int
    rank: int
    truth: Truth
    seen: bool = True
    """False if every label of the item says that the response was not on screen: the verdict then
    stops its stratum's prefix as if it had no label."""
    test: str = ""
    """The case, which several contents may share: one for each epoch."""

    @property
    def unit(self) -> tuple[int, int]:
        return self.stratum, self.rank

    @property
    def content(self) -> object:
        return self.item or self.unit

    @property
    def judged(self) -> bool:
        # A tuple, because to hash an enum costs more than to compare it.
        return self.decision in (Decision.PASS, Decision.FAIL)


class RunFigures(Struct, frozen=True):
    """The facts of a whole run that calibration needs."""

    passed: int
    failed: int
    confidence_source: str
    scores_stated: bool
    sizes: Mapping[int, int]
    audits: Mapping[int, int] = {}
    decided: Decided = NOT_STATED

    @property
    def observed(self) -> float | None:
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


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
