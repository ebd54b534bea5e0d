"""The decisions of other rules, for a run and one item, and those that bribes could force."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from reviewdesk.domain.records import Design, Item
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import Rounding
from reviewdesk.domain.whatif import (
    MOST_LEFT_OUT,
    Attack,
    Group,
    PolicyResult,
    Result,
    Variant,
    WhatIfTable,
    outcomes,
    settings,
    whole,
    written,
)
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import NONE, number

_FIGURES: tuple[tuple[Column, Callable[[Result], str]], ...] = (
    (Column("flips", 1, 5), lambda row: str(row.flipped) if row.decided else NONE),
    (Column("none", 2, 6), lambda row: str(row.inconclusive)),
    (Column("pass", 3, 5), lambda row: number(row.pass_rate)),
    (Column("n", 4, 5), lambda row: str(row.n_labelled)),
    (Column("acc", 5, 5), lambda row: number(row.accuracy)),
    (Column("Brier", 6, 5), lambda row: number(row.brier)),
    (Column("ECE", 7, 5), lambda row: number(row.ece)),
)
"""The columns of figures, the most needed first; a narrow table leaves out the last."""
_LEAST = 18
_SPAN = 76
"""The width of one column of the page. In a wider one, figures stand too far from names."""
_TITLES = {
    Group.RULES: ("Rule", ""),
    Group.TRIMS: ("Trimmed mean", "  at each end"),
    Group.QUORUMS: ("Quorum", "  of the seats"),
    Group.THRESHOLDS: ("Threshold", "  by the run's rule"),
    Group.JURORS: ("Juror left out", "  by the run's rule"),
}
_LEGEND = (
    "● the run's own setting; where it flips some, the report decided these otherwise.",
    (
        "flips: passes that become fails or the reverse, against the decision as it stands; "
        "none: no decision; pass: passes / (passes + fails); n: labelled and decided."
    ),
)


def what_if(found: WhatIfTable) -> Document:
    """Return the run as it is and, by group, the decisions of each policy."""
    if not found.standing.verdicts:
        return Document((Section("", (Paragraph("The run has no verdicts.", Tone.MUTED),)),))
    end = tuple(Paragraph(text, Tone.MUTED) for text in (*_LEGEND, *_cautions(found)))
    variants = [row.variant for row in found.rows]
    dropped = [one.dropped for one in variants if one.dropped is not None]
    if not set(variants) <= set(whole(dropped)):
        return Document((_standing(found), _group("Policy", "", found.rows, _name)), end=end)
    # A trim of 0 appears once, as rounding does not change it.
    kept = [
        row
        for row in found.rows
        if row.variant.fraction != 0 or row.variant.rounding is Rounding.DOWN
    ]
    names = words.short_names(dropped)
    groups = {
        group: _group(*title, rows, partial(_short_name, names=names))
        for group, title in _TITLES.items()
        if (rows := [row for row in kept if row.variant.group is group])
    }
    right = {Group.TRIMS, Group.JURORS}
    return Document(
        (_standing(found), *(one for group, one in groups.items() if group not in right)),
        tuple(one for group, one in groups.items() if group in right),
        end,
    )


def _standing(found: WhatIfTable) -> Section:
    basis = "no labels" if found.design is Design.NONE else f"labels: {words.DESIGNS[found.design]}"
    row = _row(found.standing, Group.STANDING.value, Text(""))
    blocks = (_figures("", [row], "The run as it stands"),)
    return Section("What if", blocks, f"{found.standing.verdicts:,} verdicts, {basis}")


def _group(
    title: str, note: str, rows: Sequence[Result], name: Callable[[Variant], str | Text]
) -> Section:
    """Return the rows under a title, with a mark at the run's own policy."""
    own = Text("● ", Tone.STRONG)
    made = [_row(row, name(row.variant), own if row.own else Text("")) for row in rows]
    return Section("", (_figures((title, Text(note, Tone.MUTED)), made, title),))


def _row(row: Result, name: str | Text, mark: Text) -> Row:
    plain = name if isinstance(name, Text) else Text(name)
    loud = Text(plain.text, Tone.STRONG if mark.text else Tone.TEXT, plain.outside)
    flips, *others = (value(row) for _, value in _FIGURES)
    return Row((loud, Text(flips, Tone.STRONG) if row.flipped else flips, *others), mark)


def _figures(title: Words, rows: Sequence[Row], caption: str) -> Table:
    columns = (Column("", width=28, right=False), *(column for column, _ in _FIGURES))
    return Table(columns, tuple(rows), title, _LEAST, _SPAN, caption)


def _name(variant: Variant) -> Text:
    return outside(variant.name, 200)


def _short_name(variant: Variant, names: Mapping[str, str]) -> str | Text:
    """Return the name of a policy that changes one setting, as under the title of its group.

    ``names`` are the short names of the jurors that are left out.
    """
    group = variant.group
    if group is Group.JURORS:
        return outside(names.get(variant.dropped or "", variant.dropped), 200)
    if group is Group.THRESHOLDS:
        return f"{variant.threshold:g}"
    if group is Group.QUORUMS and variant.quorum is not None:
        return written(variant.quorum)
    if group is Group.TRIMS and variant.fraction is not None:
        way = variant.rounding if variant.fraction else None
        return _percent(variant.fraction) + (f" {way.value}" if way else "")
    return "" if variant.strategy is None else variant.strategy.value.replace("_", " ")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"


def _cautions(found: WhatIfTable) -> list[str]:
    notes = []
    lacking = max((row.undecided for row in found.rows), default=0)
    if lacking:
        notes.append(
            f"none: at most {lacking:,} lack the threshold, quorum, score or vote that "
            "a policy needs (whatif --threshold and --quorum give the first two)."
        )
    if found.jurors > MOST_LEFT_OUT:
        notes.append(f"Of {found.jurors:,} jurors the {MOST_LEFT_OUT} that sit most are left out.")
    if found.design is Design.NONE:
        return [*notes, "acc, Brier and ECE need labels that say pass or fail."]
    shares = any(row.confidence == "vote_share" for row in (found.standing, *found.rows))
    votes = ", or its share of votes where scores lack" if shares else ""
    notes.append(
        "acc, Brier and ECE: by the labels of the verdicts that the policy decides; confidence is "
        f"the policy's score{votes}. The best of many policies on the same labels looks better "
        "than it is."
    )
    return notes


# One item

_CHANGES = {
    Group.TRIMS: "trimmed mean",
    Group.QUORUMS: "quorum",
    Group.THRESHOLDS: "threshold",
    Group.JURORS: "without",
}


def item_what_if(item: Item) -> Section:
    """Return which trims, quorums, thresholds and left-out jurors would turn this decision."""
    standing = item.assessment.decision
    names = seat_names([ballot.id for ballot in item.verdict.ballots])[:MOST_LEFT_OUT]
    variants = settings(names)
    own, *found = outcomes(item.verdict, (Variant(), *variants))
    turned = []
    for one in found:
        # A policy that keeps the own rule is compared with what that rule gives.
        keeps = one.variant.group in {Group.THRESHOLDS, Group.JURORS}
        if one.decision not in {None, standing, own.decision if keeps else standing}:
            turned.append((one.variant, one.decision))
    blocks: list[Block] = []
    if own.decision not in {None, standing}:
        rule = "The quorum of all jurors" if item.assessment.of_votes else "Its own rule"
        text = f"{rule} gives {own.decision} on these ballots; changes below start from that."
        blocks.append(Paragraph(text, Tone.WARN))
    if not turned:
        text = (
            "None of these turns the decision: trims to 40 %, quorums from 0.5 to 1, "
            "thresholds from 0.5 to 0.9, any one juror left out."
        )
        blocks.append(Paragraph(text, Tone.MUTED))
    for group, title in _CHANGES.items():
        mine = [(variant, made) for variant, made in turned if variant.group is group]
        for decision in dict.fromkeys(made for _, made in mine):
            made_words = words.decision(decision)
            lead = (Text(f"{title:14}", Tone.MUTED), Text(f"{made_words.text}: ", made_words.tone))
            same = [variant for variant, made in mine if made is decision]
            policies = _policy_names(group, same, words.short_names(names))
            blocks.append(Paragraph(joined(policies), lead=lead, indent=20))
    word = words.decided(standing)
    return Section("What if", tuple(blocks), f"what would turn this {word}")


def _policy_names(
    group: Group, variants: Sequence[Variant], short: Mapping[str, str]
) -> list[str | Text]:
    """Return the names of policies; a trim that turns it with every rounding is named once."""
    if group is not Group.TRIMS:
        return [_short_name(variant, short) for variant in variants]
    names: list[str | Text] = []
    for fraction in dict.fromkeys(variant.fraction or 0.0 for variant in variants):
        same = [variant for variant in variants if variant.fraction == fraction]
        every = len(same) == len(Rounding)
        names += [_percent(fraction)] if every else [_short_name(one, short) for one in same]
    return names


def policies(
    item: Item,
    found: Sequence[PolicyResult],
    attacks: Sequence[tuple[Variant, Sequence[Attack]]] = (),
) -> Document:
    """Return a verdict as it is and under each policy, and what bought jurors can force."""
    rows: list[list[Words]] = [
        [
            _name(row.variant),
            number(row.value),
            words.decision(row.decision),
            Text("differs", Tone.WARN) if row.decision != item.assessment.ruled else "",
        ]
        for row in found
    ]
    made = table(("policy", "value", "decision", ""), rows, "What each policy decides")
    return Document((Section("What if", (made,)), *_attacks(attacks)))


def _attacks(found: Sequence[tuple[Variant, Sequence[Attack]]]) -> list[Section]:
    """Return the decisions that bought jurors can force, a row per rule; empty without attacks."""
    most = max((len(made) for _, made in found), default=0)
    if not most:
        return []
    rows: list[list[Words]] = []
    for variant, made in found:
        cells: list[Words] = [_name(variant)]
        for one in made:
            tone = Tone.WARN if one.decisions else Tone.TEXT
            cells.append(Text(number(one.change) + (" !" if one.decisions else "  "), tone))
        if made:
            rows.append([*cells, *[""] * (most - len(made))])
    heads = ["rule", *(f"{n} bought" for n in range(1, most + 1))]
    text = "the largest change that this many bought jurors can force; !: the decision turns"
    blocks = (table(heads, rows, "What bought jurors could force"), Paragraph(text, Tone.MUTED))
    return [Section("Attack", blocks)]
