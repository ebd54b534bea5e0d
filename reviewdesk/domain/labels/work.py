"""How the work goes: pace, agreement with oneself, how the figures moved, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from statistics import median

from msgspec import Struct

from reviewdesk.domain.labels.pace import TimedLabel
from reviewdesk.domain.labels.repeats import LabelPair, SelfAgreement, self_agreement
from reviewdesk.domain.records import Pace
from reviewdesk.domain.stats.figures import Ranged
from reviewdesk.domain.stats.rates import rate_difference

HUNDRED = 100
BREAK = timedelta(minutes=30)
"""A longer time between two labels ends a session of work."""
GOAL = 0.05
"""The half-width of accuracy's 95% interval at which more labels change little.

A simple sample reaches it with 1.96² / (4 · 0.05²) = 385 labels at worst. Half of it again takes
four times the labels.
"""
SLOWED = 2 / 3
"""Labels per hour have fallen if the last fifty come at less than this share of the rate before.

Items differ in length, and fifty of them still differ by chance: dwells commonly have a standard
deviation of about their mean, which makes the standard error of the ratio of two means of fifty
√(2/50) = 0.2. A fall by a third is 1.7 of those.
"""
_HALF = 50
_FEWEST_PAIRS = 10
"""The fewest repeats in each half for a comparison of the halves."""


class MovedFigure(Struct, frozen=True):
    """A figure without the last hundred labels, and with them; ``basis`` says what it is of."""

    name: str
    before: Ranged
    after: Ranged
    basis: str


class WorkPace(Struct, frozen=True):
    """The pace of the last hundred labels, of the hundred before, and of the session."""

    last: Pace
    before: Pace
    session: Pace


class SelfAgreements(Struct, frozen=True):
    """A reviewer's agreement with themselves: all repeats, and by whether the answer was seen.

    ``unseen`` are the repeats given before any sight of the panel's answer. ``earlier`` and
    ``later`` are the two halves in the order of the repeats.
    """

    every: SelfAgreement
    unseen: SelfAgreement
    seen: SelfAgreement
    earlier: SelfAgreement
    later: SelfAgreement


class WorkPage(Struct, frozen=True):
    """All that the page of pace shows of one reviewer in one run; ``stop`` are reasons to stop."""

    labels: int
    pace: WorkPace
    agreement: SelfAgreements
    moved: tuple[MovedFigure, ...]
    stop: tuple[str, ...]


def pace_of(labels: Sequence[TimedLabel]) -> Pace:
    """Return the pace of timed labels.

    ``per_hour`` is 3600 · n / Σ dwell, ``median_dwell`` is in seconds; ``None`` without labels, and
    ``per_hour`` also if the dwells sum to 0.
    """
    worked = sum(one.dwell for one in labels)
    return Pace(
        per_hour=3600 * len(labels) / worked if worked else None,
        median_dwell=median(one.dwell for one in labels) if labels else None,
        counted=len(labels),
    )


def session_of(labels: Sequence[TimedLabel]) -> Sequence[TimedLabel]:
    """Return the labels since the last break."""
    start = len(labels)
    while start > 1 and labels[start - 1].at - labels[start - 2].at <= BREAK:
        start -= 1
    return labels[max(start - 1, 0) :]


def work_pace(labels: Sequence[TimedLabel]) -> WorkPace:
    """Return the paces of the last hundred timed labels, the hundred before and the session."""
    last, before = labels[-HUNDRED:], labels[-2 * HUNDRED : -HUNDRED]
    return WorkPace(pace_of(last), pace_of(before), pace_of(session_of(labels)))


def agreements(pairs: Sequence[LabelPair]) -> SelfAgreements:
    """Measure agreement over repeats that come in the order in which they were given."""
    half = len(pairs) // 2
    return SelfAgreements(
        every=self_agreement(pairs),
        unseen=self_agreement([pair for pair in pairs if pair.unseen]),
        seen=self_agreement([pair for pair in pairs if not pair.unseen]),
        earlier=self_agreement(pairs[:half]),
        later=self_agreement(pairs[half:]),
    )


def reasons_to_stop(
    labels: Sequence[TimedLabel], found: SelfAgreements, accuracy: Ranged | None
) -> tuple[str, ...]:
    """Return why one might stop here: the figure is known, or the work has become worse.

    Consistency has fallen if Newcombe's 95% interval of the agreement of the later repeats less
    that of the earlier ones lies below 0.
    """
    reasons = []
    if accuracy and accuracy.low is not None and accuracy.high is not None:
        half = (accuracy.high - accuracy.low) / 2
        if accuracy.value is not None and half <= GOAL:
            reasons.append(
                f"accuracy is known to {half:.3f} either way, within the goal of {GOAL:g}: "
                "more labels would move it little"
            )
    sitting = session_of(labels)
    now, earlier = pace_of(sitting[-_HALF:]).per_hour, pace_of(sitting[:-_HALF])
    if now and earlier.per_hour and earlier.counted >= _HALF and now < SLOWED * earlier.per_hour:
        reasons.append(
            f"the last {_HALF} labels came at {now:.0f} an hour, and those before in this session "
            f"at {earlier.per_hour:.0f}: a break may help"
        )
    first, second = found.earlier, found.later
    if min(first.n, second.n) >= _FEWEST_PAIRS:
        high = rate_difference(second.same, second.n, first.same, first.n).high
        if high is not None and high < 0:
            reasons.append(
                f"you agreed with yourself on {second.same} of the later {second.n} repeats, and "
                f"on {first.same} of the earlier {first.n}: a break may help"
            )
    return tuple(reasons)
