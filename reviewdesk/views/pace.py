"""What is said of a reviewer's work: pace, agreement with oneself, figures, reasons to stop."""

from __future__ import annotations

from reviewdesk.domain.labels.repeats import SelfAgreement
from reviewdesk.domain.labels.work import WorkPace, WorkPage
from reviewdesk.domain.records import TELLING, Pace
from reviewdesk.domain.stats.figures import Ranged
from reviewdesk.views.document import Block, Document, Paragraph, Section, Tone, table
from reviewdesk.views.words import NONE, interval, number, plural

_NO_REPEATS = (
    "No item has come back yet. `open --blind --repeat 5%` gives about one in twenty a second time."
)


def work(page: WorkPage) -> Document:
    """Return how the work goes, the suggestion first."""
    return Document(
        (_suggestion(page), _pace(page.pace), _agreement(page), *_moved(page)),
    )


def _suggestion(page: WorkPage) -> Section:
    if not page.stop:
        text = "Nothing says that you should stop here."
        return Section("How it goes", (Paragraph(text),), plural(page.labels, "label"))
    blocks: tuple[Block, ...] = (
        Paragraph("A good place to stop, or to rest:", Tone.STRONG),
        *(Paragraph(reason, indent=2, lead="- ") for reason in page.stop),
    )
    return Section("How it goes", blocks, plural(page.labels, "label"))


def _pace(found: WorkPace) -> Section:
    rows = [
        (name, *_pace_cells(pace))
        for name, pace in (
            ("last hundred", found.last), ("hundred before", found.before),
            ("this session", found.session),
        )
        if pace.counted
    ]  # fmt: skip
    if not rows:
        return Section("Pace", (Paragraph("No label could be timed yet."),))
    blocks: list[Block] = [table(("", "labels an hour", "median seconds", "timed"), rows)]
    if (trend := _trend(found)) is not None:
        blocks.append(Paragraph(trend))
    return Section("Pace", tuple(blocks))


def _pace_cells(pace: Pace) -> tuple[str, str, str]:
    per_hour = NONE if pace.per_hour is None or not pace.steady else f"{pace.per_hour:.0f}"
    return per_hour, number(pace.median_dwell, 1), f"{pace.counted:,}"


def _trend(found: WorkPace) -> str | None:
    """Say how the pace changed from one hundred to the next, if both were timed."""
    now, before = found.last.per_hour, found.before.per_hour
    if not now or not before or not found.before.steady:
        return None
    change = now / before - 1
    if abs(change) < 0.05:
        return "The pace is as in the hundred before."
    return f"{abs(change):.0%} {'faster' if change > 0 else 'slower'} than the hundred before."


def _agreement(page: WorkPage) -> Section:
    found = page.agreement
    if not found.every.n:
        return Section("Agreement with yourself", (Paragraph(_NO_REPEATS, Tone.MUTED),))
    rows = [
        (name, *_agreement_cells(one))
        for name, one in (
            ("all repeats", found.every), ("panel's answer unseen", found.unseen),
            ("panel's answer seen", found.seen),
        )
    ]  # fmt: skip
    heads = ("", "repeats", "same label", "rate", "95% Wilson", "kappa")
    note = "items given twice; no other figure counts them"
    return Section("Agreement with yourself", (table(heads, rows),), note)


def _agreement_cells(one: SelfAgreement) -> tuple[str, ...]:
    rate, ends = number(one.rate), interval(one.low, one.high)
    return f"{one.n:,}", f"{one.same:,}", rate, ends, number(one.kappa)


def _moved(page: WorkPage) -> tuple[Section, ...]:
    moved = page.moved
    if not moved or page.labels < TELLING:
        return ()
    rows = [(one.name, _ranged(one.before), _ranged(one.after)) for one in moved]
    blocks: tuple[Block, ...] = (table(("", "before", "after"), rows),)
    reasons = dict.fromkeys(one.after.reason for one in moved if one.after.reason)
    blocks += tuple(Paragraph(reason, Tone.WARN) for reason in reasons)
    note = f"of {moved[0].basis}, with 95% intervals"
    return (Section("The last hundred labels moved", blocks, note),)


def _ranged(found: Ranged) -> str:
    if found.low is None or found.high is None:
        return number(found.value)
    return f"{number(found.value)} {interval(found.low, found.high)}"
