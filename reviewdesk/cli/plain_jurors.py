"""A run's jurors as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewdesk.cli.plain import number
from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.domain.jurorfacts import (
        Drift,
        JurorFacts,
        JurorsPage,
        Leniency,
        Rate,
        Volatile,
    )

_COUNTS = (
    "votes", "right", "wrong", "tp", "fn", "tn", "fp", "abstained", "failed", "trimmed", "dissents",
    "dissents_right",
)  # fmt: skip
_RATES = (
    "n", "accuracy", "95%", "sensitivity", "95%", "specificity", "95%", "kappa", "weight",
    "lone dissents right",
)  # fmt: skip
_OFFSETS = (
    "seats", "failed", "unparsed", "offset", "n", "change", "against", "q", "alarm at",
)  # fmt: skip


def jurors(page: JurorsPage) -> str:
    """Counts, rates and offsets, each a table with the names last, so that columns stand."""
    return "\n".join(
        [
            "",
            _table(_COUNTS, [_counts(one) for one in page.jurors], page),
            "",
            _table(_RATES, [_rates(one) for one in page.jurors], page),
            f"weights     {_basis(page)}",
            f"leniency    {_leniency(page.leniency)}",
            "",
            _table(_OFFSETS, [_offsets(one, page) for one in page.jurors], page),
            "change      Welch's t over two windows, q adjusted over the jurors; the alarm is a",
            "            CUSUM (k 0.5, h 5), which chance alone sets off about every 465 verdicts,",
            "            sooner where offsets are skewed",
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
        f"{one.dissent.k}/{one.dissent.n}",
    ]


def _rate(rate: Rate) -> list[str]:
    if rate.share is None:
        return ["-", "-"]
    low, high = rate.interval
    return [number(rate.share), f"[{low:.3f}, {high:.3f}]"]


def _basis(page: JurorsPage) -> str:
    basis = page.basis
    when = "" if basis.days is None else f" of the last {basis.days} days"
    return (
        f"suggested, never applied; they sum to 1, from {basis.labels} labelled verdicts{when}, "
        "each counted once; from 20 votes on"
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


def _case(one: Volatile) -> str:
    scores = ", ".join(f"{show_line(run, 40)} {score:.3f}" for run, score in one.scores[-8:])
    turned = "  decision turned" if one.turned else ""
    return f"sd {one.sd:.3f}  swing {one.swing:.3f}{turned}  {show_line(one.id, 80)}: {scores}"
