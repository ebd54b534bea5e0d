"""The jurors of a run, one row each: against the labels, and over the whole run."""

from __future__ import annotations

from reviewdesk.domain.jurors.facts import JurorFacts, JurorsPage, Quoted
from reviewdesk.domain.jurors.rates import Difference
from reviewdesk.domain.panel.rerun import FlipRate
from reviewdesk.pages import words
from reviewdesk.pages.blocks import paragraph, section, table
from reviewdesk.pages.htmltext import Html, line

HEADS = (
    "design", "accuracy", "95% interval", "sensitivity", "95% interval", "specificity",
    "95% interval", "corrected", "kappa", "weight", "less panel", "95% interval",
    "lone dissents right", "rate",
)  # fmt: skip
"""The column heads of a juror's figures, estimated through the draw."""
_HEADS = ("juror", "seats", "failed", "passes", "labelled votes", *HEADS, "offset")


def jurors(page: JurorsPage, flips: tuple[FlipRate, ...]) -> Html:
    """Return the section on jurors; figures that need labels are a dash without them."""
    reruns = (
        table(
            "Asked again",
            ("juror", "votes given twice", "turned over", "share"),
            [
                (
                    line(one.juror, 200),
                    words.count(one.asked),
                    words.count(one.flipped),
                    words.number(one.rate),
                )
                for one in flips
            ],
        )
        if flips
        else None
    )
    return section(
        "jurors",
        "Jurors",
        table("Every juror of the run", _HEADS, [_row(one) for one in page.jurors]),
        reruns,
        paragraph(
            "Rates are of this run: each label counts for the verdicts that it stands for in the "
            "draw. Where a stratum has no label that counts, they are of the labels alone, and the "
            "interval bounds the run. Kappa from 20 votes on; weights are suggested and never "
            "applied. Less panel is the juror's accuracy less the panel's, on the same verdicts. "
            "Lone dissents are votes against the decision that stood alone, or whose juror the "
            "trim left out. The offset is a juror's score less the mean of the others: positive "
            "is lenient.",
            class_="muted",
        ),
    )


def cells(one: JurorFacts) -> tuple[str, ...]:
    """Return a juror's figures in the columns of ``HEADS``."""
    difference = one.drawn.difference
    return (
        one.drawn.design.value,
        *_rate(one.accuracy),
        *_rate(one.sensitivity),
        *_rate(one.specificity),
        words.number(one.corrected[0]),
        words.number(one.kappa),
        words.number(one.weight),
        *_difference(difference),
        f"{one.counts.lone_right} of {one.counts.lone_dissents}",
        words.number(one.dissent.share),
    )


def _row(one: JurorFacts) -> tuple[str, ...]:
    seats = one.seats
    return (
        line(one.name, 200),
        words.count(seats.seats),
        words.count(seats.failed),
        words.share(seats.passes, seats.votes),
        words.count(one.counts.votes),
        *cells(one),
        f"{one.offset.mean:+.3f}" if one.offset else words.NONE,
    )


def _rate(rate: Quoted) -> tuple[str, str]:
    if rate.share is None:
        return words.NONE, words.NONE
    return words.number(rate.share), words.ends(rate.low, rate.high)


def _difference(found: Difference | None) -> tuple[str, str]:
    if found is None or not found.items:
        return words.NONE, words.NONE
    middle = words.NONE if found.estimate is None else f"{found.estimate:+.3f}"
    return middle, f"{found.low:+.3f} to {found.high:+.3f}"
