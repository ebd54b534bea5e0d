"""How far the labels of each stratum have come, and what the population line still lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reviewdesk.domain.labels.sampling import (
    FIRST_REST,
    STRATA,
    LabelledVerdict,
    prefix_end,
)

FEW_ERRORS = 5
"""Audit errors under which their rate is unstable, and a bound says more."""
RISK = 0.05


@dataclass(frozen=True, slots=True)
class Stratum:
    """One stratum of a run's draw and its labels.

    ``prefix`` is how many of its first verdicts all have a label; ``counted`` are the pass and fail
    labels among them, and ``weight`` is what each of these stands for.
    """

    name: str
    size: int
    labelled: int
    prefix: int
    counted: int
    weight: float | None
    audit: int
    audit_done: int

    @property
    def decided(self) -> bool:
        """Whether its verdicts are a pass or a fail, so that their labels make rows."""
        return not self.name.endswith("/none")

    @property
    def unanswered(self) -> int:
        """Labels of the prefix that are a non-response: it goes on, they do not count."""
        return self.prefix - self.counted

    @property
    def missing(self) -> str:
        """What it lacks for the population line; empty where it lacks nothing."""
        if self.counted or not self.size or not self.decided:
            return ""
        if self.prefix == self.size:
            return f"{self.name} is labelled to its end, none pass or fail: it has no weight"
        return f"{self.name} has no pass or fail label in its prefix: 1 more to the next figures"


@dataclass(frozen=True, slots=True)
class AuditSample:
    """The unmarked sample of the verdicts that nothing flagged.

    ``counted`` are its pass and fail labels inside the completed prefixes, ``errors`` those against
    the panel's decision; ``bound`` is the one-sided 95% bound on their rate, under five of them.
    """

    planned: int
    done: int
    counted: int
    errors: int
    bound: float | None


def strata(
    labelled: Sequence[LabelledVerdict], sizes: Mapping[int, int], audits: Mapping[int, int]
) -> tuple[Stratum, ...]:
    """Every stratum that holds a verdict; ``sizes`` is N_h, ``audits`` how many are audited."""
    return tuple(
        _stratum(h, [row for row in labelled if row.stratum == h], sizes[h], audits.get(h, 0))
        for h in sorted(sizes)
        if sizes[h]
    )


def _stratum(h: int, rows: Sequence[LabelledVerdict], size: int, audit: int) -> Stratum:
    end = prefix_end({row.rank for row in rows})
    counted = sum(row.rank < end and row.counts for row in rows)
    weighs = counted and h % FIRST_REST != 2
    return Stratum(
        name=STRATA[h],
        size=size,
        labelled=len(rows),
        prefix=end,
        counted=counted,
        weight=size / counted if weighs else None,
        audit=audit,
        audit_done=sum(row.rank < audit for row in rows),
    )


def audit(found: Sequence[Stratum], drawn: Sequence[bool]) -> AuditSample:
    """The audit over all strata; ``drawn`` says of each audit label that counts if it was right.

    Where every decided verdict of the rest counts, the rate is known and nothing bounds it.
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
    """The one-sided 95% bound on an error rate after ``errors`` in ``k`` draws.

    Without an error ``1 - 0.05^(1/k)``; else the rate at which so few errors have a chance of 0.05
    (Clopper and Pearson 1934), of which that is the case of none.
    """
    if errors >= k:
        return 1.0
    if not errors:
        return 1.0 - math.pow(RISK, 1.0 / k)
    low, high = errors / k, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        chance = math.fsum(
            math.comb(k, i) * middle**i * (1 - middle) ** (k - i) for i in range(errors + 1)
        )
        low, high = (middle, high) if chance > RISK else (low, middle)
    return low
