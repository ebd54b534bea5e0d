"""A panel as plain text: its jurors, its rule, its breakdown and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from reviewdesk.desk.live.panel_check import Checked
from reviewdesk.domain.panel.composition import ITEM_BYTES, Composition, PanelPlace
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Strategy

_WIDTH = 80
_HEAD = ("family", "weight", "share", "juror")


def page(checked: Checked) -> str:
    """Return the whole panel as text; the widest column, the jurors' names, comes last."""
    panel = checked.panel
    families = ", ".join(panel.families) or "none that is known"
    jurors, kinds = len(panel.seats), len(panel.families)
    lines = [
        show_line(panel.spec.name, 200),
        *_fact_lines(
            "jurors", f"{jurors}, of {kinds} famil{'y' if kinds == 1 else 'ies'}: {families}"
        ),
        "",
        *_table(panel.seats),
        "",
        *_rule(panel),
        *_breakdowns(panel),
        *_cost(panel),
        *_fact_lines("hash", panel.hash),
    ]
    for warning in panel.warnings:
        lines += _fact_lines("warning", show_line(warning, 1000))
    for name in checked.missing:
        lines += _fact_lines("key", f"{name} is not set")
    for name in checked.malformed:
        lines += _fact_lines("key", f"{name} holds characters that no key has")
    return "\n".join(lines)


def _table(seats: Sequence[PanelPlace]) -> list[str]:
    rows = [_HEAD, *map(_row, seats)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        "  " + "  ".join([cells[0].ljust(widths[0]), *_right(cells[1:-1], widths[1:]), cells[-1]])
        for cells in rows
    ]


def _right(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]


def _row(seat: PanelPlace) -> tuple[str, ...]:
    juror = seat.juror
    name = show_line(juror.name, 80)
    at = f"{show_line(juror.vendor)}: {show_line(juror.model, 80)}"
    return (
        "?" if seat.family is None else seat.family.name,
        "-" if juror.weight is None else f"{juror.weight:g}",
        f"{seat.share:.1%}",
        f"{name} ({at})",
    )


def _rule(panel: Composition) -> list[str]:
    rule = panel.spec.rule
    decides = _word(panel.strategy) if panel.strategy else "nobody but a person (dispute)"
    quorum = rule.quorum if isinstance(rule.quorum, str) else f"{rule.quorum:g}"
    parts = [decides, f"threshold {rule.threshold:g}", f"quorum {quorum}"]
    parts.append(f"trim {rule.trim:g} rounded {rule.rounding}")
    if rule.regime:
        parts.append(f"regime {rule.regime}")
    if Strategy.SUPERMAJORITY in {panel.strategy, *rule.routes.values()}:
        parts.append(f"supermajority {rule.supermajority} of those who committed")
    if rule.failed_jurors:
        parts.append("the median stands in where a juror failed")
    lines = _fact_lines("decides", ", ".join(parts))
    for tag, strategy in rule.routes.items():
        lines += _fact_lines("", f"{_word(strategy)} on cases with the tag {show_line(tag, 80)}")
    return lines


def _breakdowns(panel: Composition) -> list[str]:
    lines = _fact_lines("trim", str(panel.trim))
    if panel.strategy in {None, Strategy.TRIMMED_MEAN}:
        return lines
    borne = panel.by_strategy
    return lines + _fact_lines(
        "", f"{_word(panel.strategy)}: {borne or 'no number of seats is known'}"
    )


def _cost(panel: Composition) -> list[str]:
    if panel.cost is None:
        return _fact_lines("cost", f"unknown: no price for {', '.join(panel.unpriced)}")
    cost = panel.cost
    about = f"a case of {ITEM_BYTES} bytes: typically {_usd(cost.typical)}, at most "
    bribe = f"to carry the trimmed mean: {_usd(cost.bribe)} a case at least, what the calls of "
    return [
        *_fact_lines("cost", f"{about}{_usd(cost.worst)}"),
        *_fact_lines("bribe", f"{bribe}the {panel.trim.breaks_at} cheapest jurors cost"),
    ]


def _usd(amount: float) -> str:
    """Format US dollars with two significant digits, as a call may cost a hundredth of a cent."""
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.2g}"


def _word(strategy: object) -> str:
    return str(strategy).replace("_", " ")


def _fact_lines(name: str, text: str) -> list[str]:
    """Return one fact after its name, wrapped to the terminal at blanks only."""
    lines = wrap(text, _WIDTH - 9, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{name:<8} {lines[0]}", *(f"{'':<8} {line}" for line in lines[1:])]
