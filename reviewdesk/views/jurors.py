"""The jurors of a run: against the labels, against each other, in re-runs and over time."""

from collections.abc import Callable, Sequence

from reviewdesk.domain.jurors.facts import (
    ENOUGH,
    BiasProbe,
    Difference,
    JurorFacts,
    JurorsPage,
    PanelWorth,
    Windows,
)
from reviewdesk.domain.records import Design
from reviewdesk.domain.run.volatility import VolatileCase
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.verdict import SLACK
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
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
from reviewdesk.views.run import over_runs
from reviewdesk.views.words import NONE, between, number

_PROBES = {
    "length_of_pass": "length, should pass",
    "length_of_fail": "length, should fail",
    "position": "place in a pair",
}
_DRIFT_RATE = 0.05
"""A change of offsets counts as drift up to this false discovery rate."""
_RATES = "sens.: of what should pass, passed; spec.: of what should fail, failed"


def jurors(page: JurorsPage, target: Target = Target.RUN) -> Document:
    """Return all figures of a run's jurors; ``target`` is what the rates' intervals describe."""
    if not page.jurors:
        why = words.OF_ARCHIVE if page.of_archive else "No juror sat in this run."
        return Document((Section("", (Paragraph(why, Tone.STRONG),)),))
    return Document(
        (rates(page, target), *_against_panel(page), _kappas(page)),
        (
            *_worth(page.worth),
            *over_runs(page.earlier),
            _offsets(page),
            _seats(page.jurors),
            _volatile(page),
        ),
    )


def _table(
    found: Sequence[JurorFacts],
    heads: Sequence[str | Column],
    cells: Callable[[JurorFacts], Sequence[Words]],
    caption: str,
) -> Table:
    """Return a row for each juror: its name, then its cells."""
    names = words.short_names(one.name for one in found)
    rows = [(outside(names[one.name], 200, Tone.STRONG), *cells(one)) for one in found]
    return table(("juror", *heads), rows, caption)


def bias(found: Sequence[BiasProbe]) -> Document:
    note = "from -1 to +1, through the draw"
    return Document((Section("What else goes with the score?", (bias_facts(found),), note),))


def bias_facts(found: Sequence[BiasProbe]) -> Facts:
    """Return a line for each unwanted association of the panel's answers."""
    rows: list[tuple[str, Words]] = []
    for one in found:
        ends = between(one.found, "+", 2)
        text = f"{number(one.found.estimate, 2, '+')} {ends} by {words.plural(one.n, 'label')}"
        told = "they go together, which need not be a bias" if one.shown else "nothing shown"
        if one.turned is not None:
            turned = f"{number(one.turned.estimate)} {between(one.turned)}"
            of = f"of {words.plural(one.n, 'vote')} asked both ways turn"
            text = f"{turned} {of}; to the first place {number(one.found.estimate, 2, '+')} {ends}"
            told = "the place of a response counts" if one.shown else "nothing shown"
        why = f", {one.found.reason}" if one.found.estimate is None else ""
        tone = Tone.WARN if one.shown else Tone.MUTED
        rows.append((_PROBES[one.probe], Text(f"{text}: {told}{why}", tone)))
    return Facts.of(*rows, column=21)


# Against the labels


def rates(page: JurorsPage, target: Target = Target.RUN) -> Section:
    """Return each juror's accuracy, sensitivity and specificity, weighted by the draw."""
    blocks: list[Block] = [
        _rates_table(page, target),
        Paragraph(_RATES, Tone.MUTED),
    ]
    if selected := [outside(one.name, 60) for one in page.jurors if one.selected]:
        text = f": {words.DESIGNS[Design.SELECTED]}; {words.MEANS[Design.SELECTED]}"
        blocks.append(Paragraph((*joined(selected), text), Tone.WARN))
    bounded = [
        outside(j.name, 60) for j in page.jurors if not (j.drawn.design.stands or j.selected)
    ]
    if bounded:
        text = (
            ": a group has no label that counts, so the rates are of the labels alone, and the "
            f"intervals are limits for {target.value}"
        )
        who = ("every juror",) if len(bounded) == len(page.jurors) else joined(bounded)
        blocks.append(Paragraph((*who, text), Tone.WARN))
    designs = ", ".join(words.DESIGNS[one] for one in page.designs)
    note = f"{words.plural(page.labels, 'labelled verdict')}, {designs}: {target.value}"
    return Section("Against the labels", tuple(blocks), note)


def _rates_table(page: JurorsPage, target: Target) -> Table:
    designs = len(page.designs) > 1

    def cells(one: JurorFacts) -> list[Words]:
        names = ("accuracy", "sensitivity", "specificity")
        rates = [cell for name in names for cell in _rate(one.rate(name, target))]
        last = [words.DESIGNS[one.drawn.design]] if designs else []
        return [str(one.counts.n), *rates, *last]

    heads = ["votes", "accuracy", "95%", "sens.", "95%", "spec.", "95%"]
    last = [Column("labels", rank=1, right=False)] if designs else []
    return _table(page.jurors, [*heads, *last], cells, "Every juror's rates")


def _rate(found: Estimate) -> tuple[Words, Words]:
    if found.estimate is None:
        return NONE, NONE
    exact = found.high - found.low < SLACK
    ends = "exact" if exact else f"{found.low:.2f}-{found.high:.2f}"
    return number(found.estimate, 2), Text(ends, Tone.MUTED)


def _against_panel(page: JurorsPage) -> list[Section]:
    """Return how much more often each juror is right than the panel, on the same verdicts."""
    found = page.contest
    if found.best is None or found.panel is None:
        return []
    best = outside(found.best, 60)
    text: tuple[str | Text, ...]
    if found.beats_every:
        text = ("the panel beats every juror",)
    elif found.panel.low > 0:
        text = ("the panel is right more often than ", best, ", the best by these labels")
    elif found.best_beats_panel:
        text = (best, " is right more often than the panel")
    else:
        text = (
            "these labels do not show whether the panel or its best juror, ",
            best,
            ", is better",
        )
    ends = between(found.panel, "+", 2)
    less = f"{number(found.panel.estimate, 2, '+')} {ends}"
    others = (
        (best, " beats every other juror on new items")
        if found.best_stands
        else "no juror beats all others on new items"
    )
    blocks = (
        _table(
            page.jurors,
            ("differs", "labels", "less panel", "95%"),
            lambda one: _difference(one.drawn.difference),
            "Every juror against the panel",
        ),
        Paragraph(text, Tone.STRONG),
        Paragraph(("panel less ", best, f": {less}")),
        Paragraph(others),
    )
    return [Section("Against the panel", blocks, "accuracy less the panel's, paired: this run")]


def _difference(found: Difference | None) -> tuple[Words, ...]:
    if found is None or not found.items:
        return (NONE,) * 4
    ends = Text(between(found, "+", 2), Tone.MUTED)
    return str(found.apart), str(found.labelled), number(found.estimate, 2, "+"), ends


def _worth(found: PanelWorth | None) -> tuple[Section, ...]:
    """Return how many independent jurors the panel counts as, and what smaller panels reach."""
    if found is None:
        return ()
    title = "What is the panel worth?"
    count = found.effective
    if count.estimate is None:
        return (Section(title, (Paragraph(f"not known: {count.reason}", Tone.MUTED),)),)
    rho = found.correlation
    text = (
        f"{found.jurors} jurors count as {number(count.estimate, 2)} independent ones "
        f"({between(count, digits=2)}): their errors go together, "
        f"correlation {number(rho.estimate, 2)} ({between(rho, digits=2)})."
    )
    blocks: list[Block] = [Paragraph(text, Tone.STRONG)]
    names = words.short_names(one.juror for one in found.added)
    rows = [[outside(names[one.juror], 200), *_difference(one.difference)] for one in found.added]
    heads = ("juror", "differs", "labels", "adds", "95%")
    blocks.append(table(heads, rows, "What each juror adds to the panel's accuracy"))
    useless = [outside(one.juror, 60) for one in found.added if one.difference.high <= 0]
    if useless:
        blocks.append(Paragraph(("adds nothing here: ", *joined(useless)), Tone.WARN))
    if found.frontier:
        cost = "US$ a case" if found.priced else "jurors"
        titles = ("smaller panel", "rule", cost, "accuracy", "less the run's", "95%")
        plain = [
            [
                joined([outside(names.get(name, name), 60) for name in one.jurors]),
                one.rule.value.replace("_", " "),
                f"{one.cost:.4g}",
                number(one.accuracy, 3),
                *_difference(one.difference)[2:],
            ]
            for one in found.frontier
        ]
        text = f"the best of {found.tried:,} tried on these labels: a description, not a test"
        blocks.append(table(titles, plain, "Smaller panels that no other beats"))
        blocks.append(Paragraph(text, Tone.MUTED))
    return (Section(title, tuple(blocks), f"{words.plural(found.labels, 'label')} that count"),)


def _kappas(page: JurorsPage) -> Section:
    """Return each juror's errors, its kappa, and its right dissents, alone or trimmed."""

    def cells(one: JurorFacts) -> Sequence[Words]:
        n = one.counts.lone_dissents
        lone = f"{one.counts.lone_right} of {n}" if n else NONE
        share = one.quoted["dissent"].estimate
        if n and share is not None and one.drawn.dissent_design.stands:
            lone += f" ({share:.2f})"
        return str(one.counts.fp), str(one.counts.fn), number(one.kappa, 2), lone

    heads = ("false passes", "false fails", "kappa", "lone dissents right")
    text = f"kappa from {ENOUGH} votes on; a lone dissent is alone or trimmed"
    made = _table(page.jurors, heads, cells, "Errors and kappa")
    return Section("Errors", (made, Paragraph(text, Tone.MUTED)), "counts of labels")


# Over the whole run, and over runs


def _offsets(page: JurorsPage) -> Section:
    """Return each juror's mean score minus that of the others, and whether it drifted."""

    def cells(one: JurorFacts) -> list[Words]:
        row: list[Words] = []
        if (offset := one.offset) is not None:
            row += [number(offset.mean, sign="+"), str(offset.n)]
            if (drift := offset.drift) is not None:
                halves = drift.windows is Windows.HALVES
                against = "half" if halves else words.plural(drift.runs, "run")
                ends = words.interval(drift.low, drift.high, 3, "+")
                row += [number(drift.change, sign="+"), ends, f"{against} {drift.before}"]
                row.append(number(drift.q))
        return row + [NONE] * (len(heads) - len(row))

    heads = (
        "offset", Column("scores", rank=1), "change", Column("95%", rank=1), "against", "q",
    )  # fmt: skip
    text = "offset: positive is lenient; change: later less earlier; q: p adjusted over the jurors"
    made = _table(page.jurors, heads, cells, "Offsets of scores")
    blocks: list[Block] = [made, Paragraph(text, Tone.MUTED)]
    drifts = [(one, one.offset.drift) for one in page.jurors if one.offset and one.offset.drift]
    moved = [outside(one.name, 60) for one, drift in drifts if (drift.q or 1.0) <= _DRIFT_RATE]
    limit = f" (q <= {_DRIFT_RATE})"
    if not drifts:
        blocks.append(Paragraph("no juror has scores enough to compare", Tone.MUTED))
    elif moved:
        blocks.append(Paragraph(("drifted: ", *joined(moved), limit), Tone.WARN))
    else:
        blocks.append(Paragraph(f"no juror drifted{limit}", Tone.STRONG))
    for one, drift in drifts:
        if drift.alarm is not None:
            where = outside(page.ids.get(drift.alarm, "?"), 100)
            alarm = ("drift alarm (CUSUM): ", outside(one.name, 60), " at ", where)
            blocks.append(Paragraph(alarm, Tone.WARN))
    return Section("Offset and drift", tuple(blocks), "score less the mean of the other jurors")


def _seats(found: Sequence[JurorFacts]) -> Section:
    seats = _table(
        found,
        ("seats", Column("passes", rank=1), "failed", "unread", "unread rate", "95%"),
        lambda one: (
            str(one.seats.seats),
            words.share(one.seats.passes, one.seats.votes),
            str(one.seats.failed),
            str(one.seats.parse_failed),
            *_rate(one.parse_failures),
        ),
        "Every juror's seats in the run",
    )
    return Section("Failed replies", (seats,), "over all seats of the run")


def _volatile(page: JurorsPage) -> Section:
    """Return the cases whose panel score moves most from run to run."""
    note = f"{page.repeated} cases scored in two runs or more"
    if not page.volatile:
        text = "- no case of this run has a panel score in another loaded run"
        return Section("Moving scores", (Paragraph(text, Tone.MUTED),), note)
    heads = (
        Column("case", right=False), Column("SD"), Column("swing"), Column("runs"),
        Column("decision"), Column("scores", rank=1, right=False),
    )  # fmt: skip
    rows = tuple(
        Row(
            (
                outside(one.id, 200, Tone.STRONG),
                number(one.sd, 2),
                number(one.swing, 2),
                str(len(one.scores)),
                Text("turned", Tone.WARN) if one.turned else Text("same", Tone.MUTED),
                _scores(one),
            )
        )
        for one in page.volatile
    )
    most = page.volatile[0]
    blocks = (
        Table(heads, rows, least=24, caption="Cases whose score moves from run to run"),
        Paragraph((outside(most.id, 60), ": ", *_scores(most))),
    )
    return Section("Moving scores", blocks, note)


def _scores(one: VolatileCase) -> tuple[str | Text, ...]:
    return joined([(outside(run, 40), f" {score:.2f}") for run, score in one.scores[-8:]])
