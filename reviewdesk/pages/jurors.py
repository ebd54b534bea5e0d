"""The jurors of a run, a line each: against the labels, and over the whole run."""

from __future__ import annotations

from reviewdesk.domain.jurorfacts import JurorFacts, JurorsPage, Rate
from reviewdesk.domain.rerun import FlipRate
from reviewdesk.pages import words
from reviewdesk.pages.blocks import paragraph, section, table
from reviewdesk.pages.htmltext import Html, line

_HEADS = (
    "juror", "seats", "failed", "passes", "labelled votes", "accuracy", "95% interval", "kappa",
    "lone dissents right", "offset",
)  # fmt: skip


def jurors(page: JurorsPage, flips: tuple[FlipRate, ...]) -> Html:
    """The section; what labels alone can tell is a dash without them."""
    again = (
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
        again,
        paragraph(
            "Accuracy and kappa are of votes on labelled verdicts, kappa from 20 of them on. Lone "
            "dissents are votes against the decision that stood alone, or whose juror the trim "
            "left out. The offset is a juror's score less the mean of the others: positive is "
            "lenient.",
            class_="muted",
        ),
    )


def _row(one: JurorFacts) -> tuple[str, ...]:
    accuracy, dissent, seats = one.accuracy, one.dissent, one.seats
    return (
        line(one.name, 200),
        words.count(seats.seats),
        words.count(seats.failed),
        words.share(seats.passes, seats.votes),
        words.count(one.counts.votes),
        words.number(accuracy.share),
        _interval(accuracy),
        words.number(one.kappa),
        f"{dissent.k} of {dissent.n}",
        f"{one.offset.mean:+.3f}" if one.offset else words.NONE,
    )


def _interval(rate: Rate) -> str:
    return words.ends(*rate.interval) if rate.n else words.NONE
