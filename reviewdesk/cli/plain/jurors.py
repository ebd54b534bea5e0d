"""A run's jurors as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewdesk.cli.plain.text import number
from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.domain.jurors.facts import (
        Drift,
        JurorFacts,
        JurorsPage,
        Quoted,
        VolatileCase,
    )
    from reviewdesk.domain.jurors.leniency import Leniency
    from reviewdesk.domain.jurors.rates import Contest, Difference

_COUNTS = (
    "votes", "right", "wrong", "tp", "fn", "tn", "fp", "abstained", "failed", "trimmed", "dissents",
    "dissents_right",
)  # fmt: skip
_RATES = (
    "n", "accuracy", "95%", "sensitivity", "95%", "specificity", "95%", "kappa", "weight",
    "corrected", "lone dissents right", "rate", "less panel", "95%", "design",
)  # fmt: skip
_OFFSETS = (
    "seats", "failed", "unparsed", "offset", "n", "change", "against", "q", "alarm at",
)  # fmt: skip


def jurors(page: JurorsPage) -> str:
    """Return counts, rates and offsets as tables, with the names last so that columns align.

    Counts are raw; rates are those of this run, weighted by its draw.
    """
    return "\n".join(
        [
            "",
            _table(_COUNTS, [_counts(one) for one in page.jurors], page),
            "",
            _table(_RATES, [_rates(one) for one in page.jurors], page),
            "rates       of this run: each label counts for the verdicts that it stands for; where",
            "            a stratum has no label, of the labels alone, and the ends bound the run",
            *_contest(page.contest),
            f"weights     {_basis(page)}",
            f"leniency    {_leniency(page.leniency)}",
            "",
            _table(_OFFSETS, [_offsets(one, page) for one in page.jurors], page),
            "change      Welch's t over two windows, q adjusted over the jurors; the alarm is a",
            f"            CUSUM (k 0.5, h {number(_limit(page), 2)}), which in 5% of runs without",
            "            drift any juror of them sets off",
            f"volatile    {page.repeated} cases have a panel score in two runs or more",
            *(f"            {_case(one)}" for one in page.volatile),
        ]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], page: JurorsPage) -> str:
    titles = [name.replace("_", " ") for name in head]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    names = ["juror", *(show_line(one.name, 200) for one in page.jurors)]
    return "\n".join(
        "  ".join([*map(str.rjust, cells, widths), name])
        for cells, name in zip([titles, *rows], names, strict=True)
    )


def _counts(one: JurorFacts) -> list[str]:
    return [str(getattr(one.counts, name)) for name in _COUNTS]


def _rates(one: JurorFacts) -> list[str]:
    return [
        str(one.counts.votes),
        *_rate(one.accuracy),
        *_rate(one.sensitivity),
        *_rate(one.specificity),
        number(one.kappa),
        number(one.weight),
        number(one.corrected[0]),
        f"{one.counts.lone_right}/{one.counts.lone_dissents}",
        number(one.dissent.share),
        *_difference(one.drawn.difference),
        one.drawn.design,
    ]


def _rate(rate: Quoted) -> list[str]:
    if rate.share is None:
        return ["-", "-"]
    return [number(rate.share), f"[{rate.low:.3f}, {rate.high:.3f}]"]


def _difference(found: Difference | None) -> list[str]:
    if found is None or not found.items:
        return ["-", "-"]
    middle = "-" if found.estimate is None else f"{found.estimate:+.3f}"
    return [middle, f"[{found.low:+.3f}, {found.high:+.3f}]"]


def _contest(found: Contest) -> list[str]:
    """Compare the panel with its best juror on the same verdicts, and state what that shows."""
    if found.best is None or found.panel is None:
        return []
    name = show_line(found.best, 60)
    middle, ends = _difference(found.panel)
    lines = [f"panel       accuracy {middle} {ends} against {name}, the best by these labels"]
    if found.beats_every:
        lines.append("            the panel beats every juror")
    if found.best_beats_panel:
        lines.append(f"            {name} beats the panel")
    if found.best_stands:
        lines.append(f"            {name} beats every other juror")
    return lines


def _limit(page: JurorsPage) -> float | None:
    limits = (one.offset.drift.limit for one in page.jurors if one.offset and one.offset.drift)
    return next(limits, None)


def _basis(page: JurorsPage) -> str:
    basis = page.basis
    when = "" if basis.days is None else f" of the last {basis.days} days"
    return (
        f"suggested, never applied; they sum to 1, from {basis.labels} labelled verdicts{when}; "
        "from 20 votes on"
    )


def _leniency(found: Leniency) -> str:
    sides = (
        f"own family passes {found.own.k} of {found.own.n} that should fail, "
        f"the others {found.others.k} of {found.others.n}"
    )
    made = found.difference
    if made.diff is None or made.low is None or made.high is None:
        return f"{sides}: - ({found.reason})"
    return f"{sides}: {made.diff:+.3f} [{made.low:+.3f}, {made.high:+.3f}]"


def _offsets(one: JurorFacts, page: JurorsPage) -> list[str]:
    offset = one.offset
    drift = offset.drift if offset else None
    return [
        str(one.seats.seats),
        str(one.seats.failed),
        str(one.seats.parse_failed),
        f"{offset.mean:+.3f}" if offset else "-",
        str(offset.n) if offset else "0",
        *(_drift(drift, page) if drift else ["-"] * 4),
    ]


def _drift(one: Drift, page: JurorsPage) -> list[str]:
    against = f"{one.windows} ({one.runs})" if one.runs else str(one.windows)
    alarm = "-" if one.alarm is None else show_line(page.ids.get(one.alarm, "?"), 60)
    return [f"{one.change:+.3f}", against, number(one.q), alarm]


def _case(one: VolatileCase) -> str:
    scores = ", ".join(f"{show_line(run, 40)} {score:.3f}" for run, score in one.scores[-8:])
    turned = "  decision turned" if one.turned else ""
    return f"sd {one.sd:.3f}  swing {one.swing:.3f}{turned}  {show_line(one.id, 80)}: {scores}"
