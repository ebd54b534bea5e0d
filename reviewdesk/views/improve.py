"""From labels to a better panel, in words: the split, wrong items, candidates, tries, adoptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reviewdesk.domain.labels.split import (
    Adoption,
    ImprovePage,
    PanelAdopted,
    TryVerdict,
    WrittenCandidate,
)
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Paragraph,
    Section,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import plural

_MOST = 20
_OPEN = (
    "Labels that were not given blind are among them: people lean towards an answer that they "
    "see, so the panel looks better than it is."
)
_SAYS = {
    TryVerdict.BETTER: "The candidate is better than its parent.",
    TryVerdict.NOT_SHOWN: "Not shown: this holdout does not tell the two panels apart.",
    TryVerdict.WORSE: "The candidate is worse than its parent.",
}
_TONES = {TryVerdict.BETTER: Tone.PASS, TryVerdict.WORSE: Tone.FAIL}
HOLDOUT_MARK = "holdout"
"""The mark of items in the holdout."""


def improve(found: ImprovePage) -> Document:
    """Return where the panel is wrong in the tuning half, and what may be changed."""
    labels = found.labels
    if not labels.tuning and not labels.holdout:
        return Document((_split(found),))
    wrong = labels.wrong
    decided = wrong.right + len(wrong.cases)
    counts = f"{wrong.false_passes:,} passed and should fail, {wrong.false_fails:,} failed and "
    lead = Paragraph(
        f"Wrong on {len(wrong.cases):,} of {decided:,} items of the tuning half: {counts}"
        "should pass.",
        Tone.STRONG,
    )
    blocks: list[Block] = [lead]
    cells: list[list[Words]]
    for name, rows in (("tag", wrong.tags), ("note", wrong.notes)):
        if rows:
            cells = [
                [outside(text, 200), f"{passes:,}", f"{fails:,}"]
                for text, passes, fails in rows[:_MOST]
            ]
            heads = (name, "false passes", "false fails")
            blocks.append(table(heads, cells, f"Wrong items by {name}"))
    if wrong.cases:
        heads_ = ("item", Column("panel", right=False), Column("said of it", right=False))
        cells = [
            [
                outside(one.id, 80),
                "passed" if one.decided else "failed",
                joined([outside(text, 120) for text in (*one.tags, *one.notes)]),
            ]
            for one in wrong.cases[:_MOST]
        ]
        blocks.append(table(heads_, cells, "Wrong items"))
    if len(wrong.cases) > _MOST:
        blocks.append(Paragraph(f"{len(wrong.cases) - _MOST:,} more are wrong.", Tone.MUTED))
    return Document((Section("Where it is wrong", tuple(blocks)), _split(found), *_offers(found)))


def _split(found: ImprovePage) -> Section:
    labels = found.labels
    tries = [
        (outside(one.begun.file, 80), f": {one.verdict or 'cut off'}") for one in labels.split.tries
    ]
    if not labels.split.tuning and not labels.split.holdout:
        text = "No split yet. It keeps half of the labels aside, to test a change on."
        return Section("Split", (Paragraph(text, Tone.STRONG),))
    facts = [
        Fact("tuning half", f"{plural(len(labels.tuning), 'item')}: lists and examples use these"),
        Fact("holdout", f"{plural(len(labels.holdout), 'item')}, {_gain(found.gain)}"),
        Fact("tries", joined(tries) or "none yet"),
    ]
    if labels.later:
        facts.append(Fact("later", f"{plural(labels.later, 'label')} came since: split them"))
    if labels.left_out:
        facts.append(Fact("left out", f"{plural(labels.left_out, 'label')} not given blind"))
    note = (Paragraph(_OPEN, Tone.WARN),) if labels.split.open_labels else ()
    return Section("Split", (Facts(tuple(facts)), *note))


def _gain(gain: float | None) -> str:
    if gain is None:
        return "too few to show any gain"
    return f"can show a gain of {100 * gain:.1f} points at least"


def _offers(found: ImprovePage) -> Iterator[Section]:
    if not found.offers:
        return
    rows: list[list[Words]] = [
        [
            outside(one.change or "the panel as it is", 80),
            words.NONE if one.right is None else f"{one.right:,} of {one.of:,}",
            "asks jurors" if one.right is None else "no calls",
        ]
        for one in found.offers
        if one.change or one.right is not None
    ]
    heads = ("change", "right", Column("to try it", right=False))
    yield Section("What may be changed", (table(heads, rows, "Changes of the panel"),))


def candidate(found: WrittenCandidate) -> Document:
    """Return the changes of a candidate, line by line, and the path of its file."""
    tones = {"+": Tone.PASS, "-": Tone.FAIL}
    lines = tuple(
        Paragraph(outside(line, 300, tones.get(line[:1], Tone.MUTED))) for line in found.diff
    )
    asks = "asks both panels anew" if found.asks else "needs no calls"
    end = Paragraph((outside(str(found.path), 400), f": to try it {asks}"))
    return Document((Section("Candidate", (*lines, end)),))


def before_try(items: int, k: int, gain: float | None, *, asks: bool) -> Section:
    """Describe a try before it starts; ``k`` is the number of earlier tries."""
    asked = "both panels anew, about the same items" if asks else "nobody: ballots are there"
    facts = [
        ("holdout", plural(items, "item")),
        ("gain", _gain(gain)),
        ("try", f"number {k + 1} on this holdout; each further one needs more to be shown"),
        ("asked", asked),
    ]
    return Section("Try", (Facts.of(*facts),))


def tried(found: TryVerdict) -> Document:
    """Return the result of a try in one word."""
    return Document((Section("", (Paragraph(_SAYS[found], _TONES.get(found, Tone.STRONG)),)),))


def adoption(found: Adoption) -> Document:
    """Describe an adoption: the panel, the result of its try, and the spent holdout."""
    adopted = found.adopted
    made = adopted.figures
    ends = words.interval(made.low, made.high, sign="+")
    alone = f"the new panel alone is right on {made.gained:,}, the old one on {made.lost:,}"
    rows = [
        Fact("panel", outside(str(found.panel), 400)),
        Fact("before it", outside(str(found.kept), 400)),
        Fact("tries", f"{adopted.tries:,} on this holdout; this one: {adopted.verdict}"),
        Fact("accuracy", f"{made.before:.3f} before, {made.after:.3f} after, through the draw"),
        Fact("gain", f"{made.gain:+.3f} {ends} ({made.level:.2%} interval, new items)"),
        Fact("items", f"{made.asked:,} asked: {alone}"),
    ]
    end = Paragraph(
        "The holdout is spent: its items join the tuning half. New labels form the next."
    )
    return Document((Section("Adopted", (Facts(tuple(rows)), end)),))


def lineage(found: Sequence[PanelAdopted]) -> Document:
    """Return the adopted panels in order, with their figures."""
    if not found:
        return Document((Section("Lineage", (Paragraph("No panel was adopted yet."),)),))
    rows: list[list[Words]] = []
    for made in found:
        figures = made.figures
        rows.append(
            [
                (outside(made.parent[:8]), " → ", Text(made.candidate[:8], Tone.STRONG)),
                made.at[:10],
                f"{made.tries:,}",
                str(made.verdict),
                f"{figures.before:.3f}",
                f"{figures.after:.3f}",
                words.interval(figures.low, figures.high, sign="+"),
            ]
        )
    heads = ("panel", "adopted", "tries", "result", "before", "after", "gain")
    return Document((Section("Lineage", (table(heads, rows, "Panels that were adopted"),)),))
