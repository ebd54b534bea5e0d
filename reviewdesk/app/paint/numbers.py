"""Painters for one verdict's numbers: what every rule gives, the scores, and provenance."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from reviewdesk.app.paint.scores import score_plot_lines
from reviewdesk.app.paint.styled import (
    Lines,
    cut,
    flow,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.assessment.history import Trail, trail
from reviewdesk.domain.assessment.notes import remarks
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE, own_share
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Decision, Policy

_NAME, _VALUE, _WORD = 18, 11, 13
_INKS = {Decision.PASS: Ink.PASS, Decision.FAIL: Ink.FAIL}


def numbers_lines(item: Item, width: int) -> Lines:
    """Return each rule's value and decision, the strip plot, and the spread of the scores."""
    found, policy = item.assessment, item.verdict.policy
    rows = _rules(found, policy)
    cells = [_rule(*row, found.decision) for row in rows]
    lines = [heading("NUMBERS", width, "≠ differs from the verdict")]
    column = _NAME + _VALUE + _WORD + 2
    if width >= 2 * column:
        half = (len(cells) + 1) // 2
        for i in range(half):
            right = cells[half + i] if half + i < len(cells) else Content("")
            lines.append(cut(cells[i].pad_right(column - cells[i].cell_length) + right, width))
    else:
        lines += [cut(cell, width) for cell in cells]
    return [*lines, *score_plot_lines(found.seats, policy.threshold, width), *_spread(found, width)]


def _rules(found: Assessment, policy: Policy) -> list[tuple[str, str, Decision | None]]:
    values, made, votes = found.values, found.decisions, found.votes
    tally = f"{votes.passes} of {votes.seated}"
    share = own_share(policy.supermajority) or DEFAULT_SHARE
    quorum = "-" if policy.quorum is None else inline(policy.quorum, 12)
    rows = [
        ("mean", _number(values.mean), made.mean),
        (f"trimmed mean −{found.trim.per_side}", _number(values.trimmed_mean), made.trimmed_mean),
        ("median", _number(values.median), made.median),
        ("weighted average", _number(values.weighted_average), made.weighted_average),
        ("highest", _number(values.highest), made.highest),
        ("lowest", _number(values.lowest), made.lowest),
        (f"quorum {quorum}", tally, made.quorum),
    ]
    if made.quorum_strict != made.quorum:
        rows.append(("quorum, strict", tally, made.quorum_strict))
    if made.quorum_answered != made.quorum:
        rows.append(
            ("quorum, answered", f"{votes.passes} of {votes.answered}", made.quorum_answered)
        )
    return [
        *rows,
        ("majority", tally, made.majority),
        ("unanimous", f"{votes.passes} of {votes.answered}", made.unanimous),
        (f"supermajority {share}", f"{votes.passes} of {votes.answered}", made.supermajority),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _rule(name: str, value: str, made: Decision | None, verdict: Decision | None) -> Content:
    differs = made is not None and verdict is not None and made != verdict
    word = "-" if made is None else made.value
    ink = _INKS.get(made, Ink.MUTED) if made else Ink.MUTED
    return line(
        (pad(name, _NAME), Ink.MUTED),
        (pad(value, _VALUE - 3, right=True) + "   ", Ink.TEXT),
        ("≠ " if differs else "  ", Ink.WARN),
        (pad(word, _WORD), ink),
    ).rstrip()


def _spread(found: Assessment, width: int) -> Lines:
    close = found.agreement
    facts = [
        ("closeness", close.closeness),
        ("SD", close.sd),
        ("range", close.range),
        ("margin", close.margin),
        ("unit alpha", close.alpha),
    ]
    return flow((line((f"{n} ", Ink.MUTED), _number(value)) for n, value in facts), width)


def provenance_lines(item: Item, width: int) -> Lines:
    """Return how the verdict came about: rule, trim, scores, panel, times, notes, mismatches."""
    verdict, found = item.verdict, item.assessment
    lines = [heading("PROVENANCE", width)]
    for name, text in _facts(item):
        lines += _entry(name, text, width)
    for remark in remarks(verdict, found):
        lines += _entry("note", inline(remark, 2000), width)
    for breach in found.breaches:
        lines += _entry("≠ mismatch", inline(breach.text, 2000), width, Ink.WARN)
    return lines


def _entry(name: str, text: str, width: int, ink: str = Ink.MUTED) -> Lines:
    return paragraph(text, width, first=[(pad(name, 12), ink)], indent=12)


def _facts(item: Item) -> Iterator[tuple[str, str]]:
    verdict, found = item.verdict, item.assessment
    history = trail(verdict, found)
    asked, used = history.strategy, history.strategy_used
    rule = inline(history.fallback_reason or "unknown") if asked is None else asked.value
    if used is not asked and used is not None:
        rule += f", used {used.value} ({inline(history.fallback_reason or '')})"
    yield "rule", rule
    yield "trim", _trim(item, history)
    if any(score is not None for score in history.pre_trim):
        scores = " ".join(_number(score) for score in history.pre_trim)
        yield "scores", f"{scores}; after the trim {_number(history.post_trim)}"
    if (again := _recomputed_agreement(history)) and verdict.agreement is not None:
        stated = f"{verdict.agreement.metric} {_number(verdict.agreement.value)}"
        yield "agreement", f"{stated}, {again}"
    if history.panel_hash:
        yield "panel hash", f"{inline(history.panel_hash)} ({history.panel_hash_status})"
    if history.committed_at:
        yield "committed", inline(history.committed_at)
    if history.span:
        yield "ballots", " to ".join(dict.fromkeys(inline(text) for text in history.span))
    if verdict.generator.model or verdict.generator.vendor:
        names = (verdict.generator.model, verdict.generator.vendor)
        yield "written by", ", ".join(inline(name) for name in names if name)
    if verdict.regime:
        yield "regime", inline(verdict.regime)
    if verdict.set_by_you:
        yield "set by you", ", ".join(verdict.set_by_you)
    if found.derived:
        yield "derived", inline(", ".join(found.derived), 2000)


def _recomputed_agreement(history: Trail) -> str:
    """Return the agreement recomputed from the ballots, or why there is none, or an empty text."""
    if history.agreement is not None:
        return f"recomputed {history.agreement:.3f}"
    if history.agreement_reason is not None:
        return f"{history.agreement_reason} from the ballots of one verdict"
    return ""


def _trim(item: Item, history: Trail) -> str:
    """Return the trim that the report states, beside the trim that we compute."""
    stated, ours = item.verdict.trim, item.assessment.trim
    text = f"ours {ours.fraction:g} {ours.rounding.value}, {ours.per_side} per side"
    if stated.method is None and stated.low is None:
        return f"{text}; the report states none"
    stated_text = inline(stated.method or "unnamed")
    if stated.fraction is not None:
        stated_text += f" {stated.fraction:g}"
    if stated.rounding is not None:
        stated_text += f" {stated.rounding.value}"
    if history.rule_version:
        stated_text += f", version {inline(history.rule_version, 80)}"
    if stated.low is not None:
        gone = [inline(name, 80) for name in (*stated.low, *(stated.high or ()))]
        stated_text += f", left out {', '.join(gone) or 'nobody'}"
    return f"stated {stated_text}; {text}"
