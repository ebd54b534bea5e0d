"""How far a reviewer has come with a queue, and a live run with its calls, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reviewdesk.domain.panel.turnout import LiveProgress, ModelPause
from reviewdesk.domain.records import Blocker, Pace, Progress
from reviewdesk.domain.safetext import show_line
from reviewdesk.views.words import money, plural

_HOURS_FROM = 120
"""Minutes from which the time left is given in hours."""

_NAMED = 2
"""The most paused models that a line of progress names."""


def done_texts(progress: Progress) -> tuple[str, str]:
    """Return how many verdicts of the run have a label, in words and in short."""
    labelled = f"{progress.labelled:,}"
    total = f"{progress.verdicts:,}"
    return f"{labelled} of {total} done", f"{labelled}/{total}"


def time_texts(progress: Progress, pace: Pace | None) -> tuple[str, str, str]:
    """Return the time that the rest of the queue takes, in words and ever shorter.

    The texts are empty until the pace is steady, and when nothing is left.
    """
    text = duration(progress.left, pace)
    long = f"about {text} for the {progress.left:,} left"
    return (long, f"{text} left", text) if text else ("", "", "")


def pace_text(pace: Pace) -> str:
    """Return a steady pace in words."""
    return f"{pace.per_hour:.0f} labels an hour, {pace.mean_dwell:.0f} s each on average"


def duration(left: int, pace: Pace | None) -> str:
    """Return how long the ``left`` verdicts without a label take: their number times the mean."""
    if pace is None or not pace.steady or pace.mean_dwell is None or not left:
        return ""
    minutes = max(1, round(left * pace.mean_dwell / 60))
    return f"{minutes} min" if minutes < _HOURS_FROM else f"{round(minutes / 60):,} h"


def strata_text(progress: Progress) -> str:
    """Return how much is done of what is flagged and of the random check, if a run has any."""
    parts = {
        "flagged": (progress.flagged_done, progress.flagged),
        "random check": (progress.audit_done, progress.audit),
    }
    return " · ".join(f"{name} {done:,}/{all_:,}" for name, (done, all_) in parts.items() if all_)


def waits(found: Sequence[Blocker]) -> list[tuple[str, str, str]]:
    """Return what to decide so that labels count: words, an item's id from outside, and words."""
    return [("decide ", one.id, f": {_waiting(one)}") for one in found]


def _waiting(one: Blocker) -> str:
    if one.before:
        return f"it comes before {plural(one.waiting, 'label')}, which may wait for it"
    return f"{plural(one.waiting, 'label waits', 'labels wait')} behind it"


def figures_wait(progress: Progress, n: int) -> str:
    """Return how many labels are missing until figures of ``n`` pass and fail labels show."""
    missing = progress.labels_missing(n)
    have = f"{n} pass or fail" if n else "no pass or fail labels yet"
    more = f" · figures after {plural(missing, 'more label')}"
    return have + (more if missing else "")


def live_text(found: LiveProgress) -> str:
    """Return text such as ``120/200 · paused: gpt-x, 429, 41 s left · 61/s calls · ETA 1m20s``."""
    parts = [f"{found.done:,}/{found.cases:,}"]
    if found.paused:
        parts.append(f"paused: {pauses_text(found.paused)}")
    parts.append(f"{found.rate:.3g}/s calls")
    if found.spent_usd is not None:
        parts.append(money(found.spent_usd))
    if found.left is not None:
        parts.append(f"ETA {_clock(found.left)}")
    return " · ".join(parts)


def pauses_text(paused: Sequence[ModelPause]) -> str:
    """Return the models that are paused, the one that is paused for longest first."""
    by_length = sorted(paused, key=lambda pause: -pause.left)
    texts = [
        f"{show_line(pause.model, 40)}, {pause.reason}, {math.ceil(pause.left):,} s left"
        for pause in by_length[:_NAMED]
    ]
    more = len(by_length) - len(texts)
    return "; ".join([*texts, f"{more} more"] if more else texts)


def _clock(seconds: float) -> str:
    whole = math.ceil(seconds)
    hours = whole // 3600
    minutes = whole // 60 % 60
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{whole % 60:02d}s" if minutes else f"{whole}s"
