"""Two verdicts on the same item side by side, fact by fact and juror by juror."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reviewdesk.domain.assessment.assess import Seat
from reviewdesk.domain.assessment.flags import names
from reviewdesk.domain.records import Item
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Comparison,
    Document,
    Paragraph,
    Quote,
    Section,
    Text,
    Tone,
    Words,
    outside,
)
from reviewdesk.views.words import number


def comparison(here: Item, there: Item) -> Document:
    """Return the verdict, the numbers and every juror of both runs; what differs is marked."""
    mine = {seat.ballot.id: seat for seat in here.assessment.seats}
    theirs = {seat.ballot.id: seat for seat in there.assessment.seats}
    rows = [
        (outside(name, 200), _ballot(mine.get(name)), _ballot(theirs.get(name)))
        for name in dict.fromkeys((*mine, *theirs))
    ]
    heads = outside(here.run.name, 80), outside(there.run.name, 80)
    facts = zip(_facts(here), _facts(there), strict=True)
    verdict = tuple((name, one, two) for (name, one), (_, two) in facts)
    name = Paragraph(outside(here.verdict.test), Tone.STRONG)
    turned = tuple(_turned(mine, theirs))
    return Document(
        (
            Section("", (name,)),
            Section("Verdict", (Comparison(heads, verdict),)),
            Section("Jurors", (Comparison(heads, tuple(rows)),), "matched by name"),
            *([Section("Reasons of turned votes", turned)] if turned else []),
        )
    )


def _facts(item: Item) -> Iterator[tuple[str, Words]]:
    row, votes = item.row, item.assessment.votes
    yield "decision", words.decision(item.assessment.decision)
    yield "score", number(item.assessment.score)
    yield "agreement", number(row.agreement)
    yield "band", row.band or words.NONE
    yield "threshold", number(item.verdict.policy.threshold)
    yield "votes", f"{votes.passes} of {votes.answered}, {votes.seated} seated"
    yield "flags", ", ".join(names(row.flags)) or words.NONE


def _ballot(seat: Seat | None) -> str:
    if seat is None:
        return "not on the panel"
    state = seat.state.value.replace("_", " ")
    return f"{number(seat.ballot.score)} {words.VOTES[seat.ballot.vote]} {state}"


def _turned(mine: Mapping[str, Seat], theirs: Mapping[str, Seat]) -> Iterator[Block]:
    """Yield the full reasons of the jurors whose vote differs."""
    for name, seat in mine.items():
        other = theirs.get(name)
        if other is None or other.ballot.vote == seat.ballot.vote:
            continue
        yield Paragraph(outside(name, 200), Tone.STRONG)
        for mark, ballot in (("− ", seat.ballot), ("+ ", other.ballot)):
            text = ballot.reason or ballot.error or "no reason given"
            yield Quote(text, lead=Text(mark, Tone.MUTED), indent=2)
