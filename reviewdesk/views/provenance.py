"""How a verdict came about: its rule, trim, scores, panel, times, notes and mismatches."""

from __future__ import annotations

from collections.abc import Iterator

from reviewdesk.domain.assessment.history import Trail, remarks, trail
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Verdict
from reviewdesk.views.document import Fact, Facts, Section, Text, Tone, Words, joined, outside
from reviewdesk.views.words import number, plural


def provenance(item: Item) -> Section:
    """Return the steps from the ballots to the decision, as far as the report states them."""
    found = item.assessment
    steps = [*_steps(item)]
    notes = remarks(item.verdict, found)
    facts = [Fact(name, text) for name, text in steps]
    facts += [Fact("note", outside(text, 2000)) for text in notes]
    facts += [Fact("≠ differs", outside(breach.text, 2000), Tone.WARN) for breach in found.breaches]
    short: list[Words] = [steps[0][1], *([plural(len(notes), "note")] if notes else [])]
    if found.breaches:
        short.append(Text(plural(len(found.breaches), "difference"), Tone.WARN))
    blocks = (Facts(tuple(facts), column=12),)
    return Section("Provenance", blocks, short=joined(short, " · "))


def _steps(item: Item) -> Iterator[tuple[str, Words]]:
    history = trail(item.verdict, item.assessment)
    yield "rule", _rule(history)
    yield "trim", _trim(item, history)
    yield from _values(item.verdict, history)
    yield from _panel(item.verdict, history)
    if item.verdict.set_by_you:
        yield "set by you", ", ".join(item.verdict.set_by_you)
    if item.assessment.derived:
        yield "derived", outside(", ".join(item.assessment.derived), 2000)


def _values(verdict: Verdict, history: Trail) -> Iterator[tuple[str, Words]]:
    if any(score is not None for score in history.pre_trim):
        scores = " ".join(map(number, history.pre_trim))
        yield "scores", f"{scores}; after the trim {number(history.post_trim)}"
    if (again := _recomputed_agreement(history)) and (stated := verdict.agreement) is not None:
        yield "agreement", (outside(stated.metric, 80), f" {number(stated.value)}, {again}")
    if label := verdict.text("label"):
        yield "consensus", ("reported ", outside(label, 60))


def _panel(verdict: Verdict, history: Trail) -> Iterator[tuple[str, Words]]:
    if history.panel_hash:
        yield "panel hash", (outside(history.panel_hash), f" ({history.panel_hash_status})")
    if history.committed_at:
        yield "committed", outside(history.committed_at)
    if history.span:
        times = dict.fromkeys(outside(text) for text in history.span)
        yield "ballots", joined([*times], " to ")
    for ballot in verdict.body["jurors"]:
        if ignored := ballot.get("not_applied"):
            fields = outside(", ".join(ignored), 200)
            yield "not applied", (fields, " of ", outside(ballot["id"], 80))
    if names := [name for name in (verdict.generator.model, verdict.generator.vendor) if name]:
        yield "written by", joined([outside(name) for name in names])
    if verdict.regime:
        yield "regime", outside(verdict.regime)


def _rule(history: Trail) -> Words:
    asked = history.strategy
    used = history.strategy_used
    why = history.fallback_reason
    rule: Text | str = outside(why or "unknown") if asked is None else asked.value
    if used is None or used is asked:
        return rule
    return (rule, f", used {used.value} (", outside(why or ""), ")")


def _recomputed_agreement(history: Trail) -> str:
    """Return the agreement recomputed from the ballots, or why there is none, or an empty text."""
    if history.agreement is not None:
        return f"recomputed {history.agreement:.3f}"
    if history.agreement_reason is not None:
        return f"{history.agreement_reason} from the ballots of one verdict"
    return ""


def _trim(item: Item, history: Trail) -> Words:
    """Return the trim that the report states, beside the trim that we compute."""
    stated = item.verdict.trim
    ours = item.assessment.trim
    text = f"computed {ours.fraction:g} {ours.rounding.value}, {ours.per_side} per side"
    if stated.method is None and stated.low is None:
        return f"{text}; the report states none"
    words: list[str | Text] = ["stated ", outside(stated.method or "unnamed")]
    words += [] if stated.fraction is None else [f" {stated.fraction:g}"]
    words += [] if stated.rounding is None else [f" {stated.rounding.value}"]
    words += [", version ", outside(history.rule_version, 80)] if history.rule_version else []
    if stated.low is not None:
        gone = joined([outside(name, 80) for name in (*stated.low, *(stated.high or ()))])
        words += [", left out ", *(gone or ("nobody",))]
    return (*words, f"; {text}")
