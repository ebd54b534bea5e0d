"""Describes each stratum's progress in labels, and what the population line still lacks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from reviewdesk.domain.labels.sampling import (
    NOT_STATED,
    STRATA,
    Decided,
    LabelledVerdict,
    decided_strata,
    weigh,
)

FEW_ERRORS = 5
"""With fewer audit errors than this, their rate is unstable and a bound is shown instead."""
RISK = 0.05


class Stratum(Struct, frozen=True):
    """One stratum of a run's draw and its labels.

    The counts are of contents. ``prefix`` is how many from the start of its draw all have a label,
    ``counted`` the number of pass and fail labels among them, and ``weight`` the number of contents
    that each of these stands for.
    """

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
        """The number of labels in the prefix that extend it but do not count: non-responses."""
        return self.prefix - self.counted

    @property
    def missing(self) -> str:
        """A sentence on what it lacks for the population line; empty if it lacks nothing."""
        if self.counted or not self.size or not self.decided:
            return ""
        if self.prefix == self.size:
            return f"{self.name} is labelled to its end, none pass or fail: it has no weight"
        return f"{self.name} has no pass or fail label in its prefix: 1 more to the next figures"


class AuditSample(Struct, frozen=True):
    """The unmarked sample of the verdicts that nothing flagged.

    ``counted`` is the number of its pass and fail labels in the labelled prefixes, ``errors`` how
    many of these contradict the panel. ``bound`` is the one-sided 95% upper bound on the error
    rate, given only for fewer than five errors.
    """

    planned: int
    done: int
    counted: int
    errors: int
    bound: float | None


def strata(
    labelled: Sequence[LabelledVerdict],
    sizes: Mapping[int, int],
    audits: Mapping[int, int],
    decided: Decided = NOT_STATED,
) -> tuple[Stratum, ...]:
    """Return every non-empty stratum; ``sizes`` is N_h, ``audits`` the size of its audit."""
    weighing = weigh(labelled, sizes)
    units = {row.unit for row in labelled}
    every = Counter(h for h, _ in units)
    audited = Counter(h for h, rank in units if rank < audits.get(h, 0))
    held = decided_strata(sizes, decided)
    made = []
    for h in sorted(h for h, size in sizes.items() if size):
        counted = weighing.counted[h]
        made.append(
            Stratum(
                name=STRATA[h],
                size=sizes[h],
                labelled=every[h],
                prefix=weighing.ends.get(h, 0),
                counted=counted,
                weight=sizes[h] / counted if counted and h in held else None,
                audit=audits.get(h, 0),
                audit_done=audited[h],
                decided=h in held,
            )
        )
    return tuple(made)


def audit(found: Sequence[Stratum], drawn: Sequence[bool]) -> AuditSample:
    """Sum up the audit over all strata.

    ``drawn`` says, for each audit label that counts, whether the panel was right. If every verdict
    of the audited, decided strata counts, the error rate is known and has no bound.
    """
    rest = [stratum for stratum in found if stratum.audit and stratum.decided]
    known = all(stratum.counted == stratum.size for stratum in rest)
    errors = drawn.count(False)
    few = bool(drawn) and errors < FEW_ERRORS and not known
    return AuditSample(
        planned=sum(stratum.audit for stratum in found),
        done=sum(stratum.audit_done for stratum in found),
        counted=len(drawn),
        errors=errors,
        bound=upper_bound(errors, len(drawn)) if few else None,
    )


def upper_bound(errors: int, k: int) -> float:
    """Return the one-sided 95% upper bound on an error rate after ``errors`` in ``k`` draws.

    It is the rate at which so few errors have a chance of 0.05, which is ``1 - 0.05^(1/k)`` without
    an error; 1.0 if every draw is an error, or without draws. Source: Clopper and Pearson 1934.
    """
    if errors >= k:
        return 1.0
    if not errors:
        return 1.0 - math.pow(RISK, 1.0 / k)
    low = errors / k
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        chance = math.fsum(
            math.comb(k, i) * middle**i * (1 - middle) ** (k - i) for i in range(errors + 1)
        )
        low, high = (middle, high) if chance > RISK else (low, middle)
    return low
