"""From labels to a better panel, in words: the split, wrong items, candidates, tries, adoptions."""

from collections.abc import Mapping

from reviewdesk.domain.labels.improve import PanelAdopted, SplitLabels, TryVerdict, WrittenCandidate
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Paragraph,
    Section,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import plural

_MOST = 20
LEANING = "People lean towards an answer that they see, so the panel looks better than it is."
RESULTS = {
    TryVerdict.BETTER: "The candidate is better than its parent.",
    TryVerdict.NOT_SHOWN: "Not shown: this holdout does not tell the two panels apart.",
    TryVerdict.WORSE: "The candidate is worse than its parent.",
}


def improve(labels: SplitLabels, offers: Mapping[str, int | None] = {}) -> Document:
    """Return where the panel is wrong in the tuning half, what may be changed, and what was."""
    if not labels.split.seed:
        text = "No split yet. It keeps half of the labels aside, to test a change on."
        return Document((Section("Split", (Paragraph(text, Tone.STRONG),)),))
    sections = [_wrong(labels), _split(labels)]
    if offers:
        rows: list[list[Words]] = [
            [outside(change or "the panel as it is", 80), *right_text(labels, right)]
            for change, right in offers.items()
        ]
        offered = table(("change", "right", Column("to try it", right=False)), rows, "Changes")
        sections.append(Section("What may be changed", (offered,)))
    return Document((*sections, *map(adoption, reversed(labels.split.adopted))))


def _wrong(labels: SplitLabels) -> Section:
    wrong = labels.wrong
    cells = labels.cells
    lead = (
        f"Wrong on {len(wrong):,} of {cells.n:,} items of the tuning half: {cells.fp:,} "
        f"passed and should fail, {cells.fn:,} failed and should pass."
    )
    blocks: list[Block] = [Paragraph(lead, Tone.STRONG)]
    rows: list[list[Words]]
    for name in ("tag", "note"):
        told = labels.said(f"{name}s")[:_MOST]
        rows = [[outside(text, 200), f"{passes:,}", f"{fails:,}"] for text, passes, fails in told]
        heads = (name, "false passes", "false fails")
        blocks += [table(heads, rows, f"Wrong items by {name}")] if rows else []
    rows = []
    for one in wrong[:_MOST]:
        why = joined([outside(text, 120) for text in (*one.tags, *one.notes)])
        rows.append([outside(one.id, 80), "passed" if one.passed else "failed", why])
    columns = ("item", Column("panel", right=False), Column("why", right=False))
    blocks += [table(columns, rows, "Wrong items")] if rows else []
    if len(wrong) > _MOST:
        blocks.append(Paragraph(f"{len(wrong) - _MOST:,} more are wrong.", Tone.MUTED))
    return Section("Where it is wrong", tuple(blocks))


def right_text(labels: SplitLabels, right: int | None) -> tuple[str, str]:
    """Return on how many tuning items a change is right, and what a try of it needs."""
    if right is None:
        return words.NONE, "asks jurors"
    return f"{right:,} of {len(labels.judged):,}", "no calls"


def _split(labels: SplitLabels) -> Section:
    split = labels.split
    tries = [
        (outside(begun.file, 80), f": {word or 'cut off'}") for begun, word in split.tries.values()
    ]
    facts = [
        ("tuning half", f"{plural(len(labels.tuning), 'item')}: lists and examples use these"),
        ("holdout", f"{plural(len(labels.holdout), 'item')}, {_gain(labels.gain)}"),
        ("tries", joined(tries) or "none yet"),
    ]
    if labels.later:
        came = f"{plural(len(labels.later), 'label')} came after the split: split again"
        facts.append(("later", came))
    if labels.left_out:
        facts.append(("left out", f"{plural(labels.left_out, 'label')} not given blind"))
    text = f"Labels not given blind are among them. {LEANING}"
    note = (Paragraph(text, Tone.WARN),) if split.open_labels else ()
    return Section("Split", (Facts.of(*facts), *note))


def _gain(gain: float | None) -> str:
    if gain is None:
        return "too few to show any gain"
    return f"can show a gain of {100 * gain:.1f} points or more"


def candidate(found: WrittenCandidate) -> Document:
    """Return the changes of a candidate, line by line, and the path of its file."""
    tones = {"+": Tone.PASS, "-": Tone.FAIL}
    lines = [Paragraph(outside(one, 300, tones.get(one[:1], Tone.MUTED))) for one in found.diff]
    asks = "asks both panels again" if found.asks else "needs no calls"
    end = Paragraph((outside(str(found.path), 400), f": trying it {asks}"))
    return Document((Section("Candidate", (*lines, end)),))


def before_try(items: int, k: int, gain: float | None, *, asks: bool) -> Section:
    """Describe a try before it starts; ``k`` is the number of earlier tries."""
    anew = "both panels again, about the same items"
    facts = Facts.of(
        ("holdout", plural(items, "item")),
        ("gain", _gain(gain)),
        ("try", f"number {k + 1} on this holdout; each further one needs more to be shown"),
        ("asked", anew if asks else "nobody: the stored ballots are enough"),
    )
    return Section("Try", (facts,))


def adoption(made: PanelAdopted) -> Section:
    """Describe an adoption: both panels by their hashes, and the try that spent its holdout."""
    found = made.figures
    ends = words.interval(found.low, found.high, sign="+")
    alone = f"the new panel alone is right on {found.gained:,}, the old one on {found.lost:,}"
    facts = Facts.of(
        ("panel", (outside(made.parent[:8]), " → ", outside(made.candidate[:8], 8, Tone.STRONG))),
        ("tries", f"{made.tries:,} on its holdout; this one: {made.verdict}"),
        ("accuracy", f"{found.before:.3f} before, {found.after:.3f} after, through the draw"),
        ("gain", f"{found.gain:+.3f} {ends} ({found.level:.2%} interval, new items)"),
        ("items", f"{found.asked:,} asked: {alone}"),
    )
    return Section("Adopted", (facts,), outside(made.at[:10]))
