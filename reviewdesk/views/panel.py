"""A panel before, during and after a run: its composition, what it sends, progress, turnout."""

import math
from collections.abc import Iterator, Mapping, Sequence

from reviewdesk.domain.panel.asking import (
    RATE_LIMITED,
    STOPPED,
    ConsentPlan,
    Host,
    LiveProgress,
    Turnout,
    Turnouts,
)
from reviewdesk.domain.panel.composition import ITEM_BYTES, Composition, PanelPlace
from reviewdesk.domain.panel.rerun import contract_note
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Strategy
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Gap,
    Paragraph,
    Section,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import money

_COLUMN = 10


def panel(found: Composition) -> Document:
    """Return a panel's jurors, rule, breakdown and cost, and the problems of its keys."""
    families = ", ".join(found.families) or "none known"
    kinds = words.plural(len(found.families), "family", "families")
    cost: list[tuple[str, Words]]
    if (priced := found.cost) is None:
        names = joined([outside(name, 80) for name in found.unpriced])
        cost = [("cost", ("unknown: no price for ", *names))]
    else:
        about = f"a case of {ITEM_BYTES} bytes: typically {_usd(priced.typical)}, at most "
        dates = sorted({j.price.as_of for j in found.spec.jurors if j.price and j.price.as_of})
        source = f"; prices of {', '.join(dates)}" if dates else ""
        bribe = f"to carry the trimmed mean: {_usd(priced.bribe)} a case at least, what the calls "
        bribe += f"of the {found.trim.breaks_at} cheapest jurors cost"
        cost = [("cost", f"{about}{_usd(priced.worst)}{source}"), ("bribe", bribe)]
    facts = [
        Fact("decides", _rule(found)),
        *(
            Fact("", (f"{_name(strategy)} on cases with the tag ", outside(tag, 80)))
            for tag, strategy in found.spec.rule.routes.items()
        ),
        Fact("trim", str(found.trim)),
    ]
    if found.strategy not in {None, Strategy.TRIMMED_MEAN}:
        borne = found.by_strategy or "no number of seats is known"
        facts.append(Fact("", f"{_name(found.strategy)}: {borne}"))
    facts += [Fact(name, text) for name, text in (*cost, ("hash", found.hash))]
    facts += [Fact("warning", outside(text, 1000), Tone.WARN) for text in found.warnings]
    facts += [Fact("key", f"{name} is not set", Tone.WARN) for name in found.missing]
    unusable = "has characters that keys cannot have"
    facts += [Fact("key", f"{name} {unusable}", Tone.WARN) for name in found.malformed]
    blocks: tuple[Block, ...] = (
        Paragraph(f"{words.plural(len(found.seats), 'juror')}, of {kinds}: {families}"),
        Gap(),
        _seats(found.seats),
        Gap(),
        Facts(tuple(facts), _COLUMN),
    )
    return Document((Section("Panel", blocks, outside(found.spec.name, 200)),))


def _seats(seats: Sequence[PanelPlace]) -> Block:
    rows: list[list[Words]] = [
        [
            outside(one.juror.name, 80, Tone.STRONG),
            "?" if one.family is None else one.family.name,
            words.NONE if one.juror.weight is None else f"{one.juror.weight:g}",
            f"{one.share:.1%}",
            (outside(one.juror.vendor), ": ", outside(one.juror.model, 80)),
        ]
        for one in seats
    ]
    family = Column("family", right=False)
    model = Column("model", right=False)
    return table(("juror", family, "weight", "share", model), rows, "The jurors of the panel")


def _rule(found: Composition) -> str:
    rule = found.spec.rule
    decides = _name(found.strategy) if found.strategy else "only a person (dispute)"
    quorum = rule.quorum if isinstance(rule.quorum, str) else f"{rule.quorum:g}"
    parts = [decides, f"threshold {rule.threshold:g}", f"quorum {quorum}"]
    parts.append(f"trim {rule.trim:g} rounded {rule.rounding}")
    if rule.regime:
        parts.append(f"regime {rule.regime}")
    if Strategy.SUPERMAJORITY in {found.strategy, *rule.routes.values()}:
        parts.append(f"supermajority {rule.supermajority} of those who committed")
    if rule.labels:
        meanings = dict.fromkeys(rule.passing, "pass") | dict.fromkeys(rule.failing, "fail")
        labels = [f"{label} ({meanings.get(label, 'neither')})" for label in rule.labels]
        parts.append(f"labels {' '.join(labels)}")
    if rule.stop_when_decided:
        parts.append("stops when decided")
    if rule.swap:
        parts.append("pairs in both orders")
    if rule.failed_jurors:
        parts.append("the median replaces an average where a juror failed")
    if rule.min_answered is not None:
        count = rule.min_answered
        parts.append(f"an error if fewer than {count} {'jurors' if count != 1 else 'juror'} answer")
    return ", ".join(parts)


def _name(strategy: object) -> str:
    return str(strategy).replace("_", " ")


def _usd(amount: float) -> str:
    """Format US dollars with two significant digits, as a call may cost a hundredth of a cent."""
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.2g}"


# Consent


def consent(
    plan: ConsentPlan, who: str = "", contracts: Sequence[int] = (), ceiling: float | None = None
) -> Section:
    """Describe the calls before they are sent: hosts, models, number, cost and hash.

    ``who`` says which jurors are asked; ``contracts`` are older versions of the reply contract;
    ``ceiling`` is the most that may be spent, in US dollars.
    """
    facts = [Fact("asked", outside(who, 300))] if who else []
    facts += [Fact("contract", Text(contract_note(one), Tone.WARN)) for one in contracts]
    facts += hosts(plan.hosts, plan.missing_keys)
    calls = f"{plan.calls:,}"
    if plan.cases is not None:
        calls += f" for {words.plural(plan.cases, 'case')}"
    if plan.stored:
        calls += f"; {words.plural(plan.stored, 'answer is', 'answers are')} stored"
    if plan.cached:
        calls += f"; {words.plural(plan.cached, 'answer is', 'answers are')} in the cache"
    names = ", ".join(plan.unpriced) or "a juror"
    cost: Words = outside(f"unknown: no price for {names}", 300, Tone.WARN)
    if plan.worst_usd is not None:
        most = f"at most {money(plan.worst_usd)}, one attempt each"
        cost = most + ("" if ceiling is None else f"; stops before {money(ceiling)} is spent")
    facts.append(Fact("calls", calls))
    facts += _batches(plan)
    if plan.again:
        count = words.plural(sum(plan.again.values()), "call was", "calls were")
        most = "" if plan.again_usd is None else f", at most {money(plan.again_usd)}"
        why = fault_counts(plan.again)
        text = (
            f"{count} made before and brought no answer (",
            *why,
            f"), and will be made again{most}",
        )
        facts.append(Fact("again", text))
    sha = Text(f"payload sha256, nonces aside: {plan.payload_sha256}", Tone.MUTED)
    facts += [Fact("cost", cost), Fact("hash", sha)]
    return Section("What leaves this machine", (Facts(tuple(facts), _COLUMN),))


def _batches(plan: ConsentPlan) -> list[Fact]:
    facts = []
    if plan.batched:
        calls = words.plural(plan.batched, "call")
        facts.append(Fact("batches", f"{calls} at half the price, answered within a day"))
    if plan.waiting:
        calls = words.plural(plan.waiting, "call waits", "calls wait")
        facts.append(Fact("waiting", f"{calls} at the vendors: not made again"))
    if plan.live:
        names = joined([outside(name, 80) for name in plan.live])
        text = ": asked live once the batches are back, as no batch interface is known"
        facts.append(Fact("live", (*names, text)))
    return facts


def hosts(found: Sequence[Host], missing: Sequence[str]) -> list[Fact]:
    """Return the hosts that receive calls, and the variables without a usable key."""
    text = Text(" is not set, or is not a key: not asked", Tone.WARN)
    lacking = [Fact("no key", (outside(name, 80, Tone.WARN), text)) for name in missing]
    return [*map(_host, found), *lacking]


def _host(host: Host) -> Fact:
    facts: list[Words] = [outside(host.name, 200)]
    facts += [words.plural(host.calls, "call")] if host.calls else []
    facts.append("encrypted" if host.is_encrypted else Text("NOT encrypted", Tone.WARN))
    if host.proxy:
        facts.append(("through the proxy ", outside(host.proxy, 200)))
    names = joined([outside(name, 80) for name in host.key_env])
    facts.append(("with the key in ", *names) if names else "without a key")
    facts += [outside(", ".join(host.jurors), 2000)] if host.jurors else []
    return Fact("host", joined(facts, " · "))


# Turnout


def turnout(found: Turnouts) -> tuple[Block, ...]:
    """Return each juror's turnout and why it was stopped, then the first fault of each kind."""
    own = {STOPPED, RATE_LIMITED}
    messages = (
        (kind, found.messages[kind]) for kind, _ in found.why.most_common() if kind not in own
    )
    return (
        *(
            Paragraph(("juror ", outside(one.juror, 40), ": ", *_turnout(one)))
            for one in found.by_juror.values()
        ),
        *(
            Paragraph((_kind(kind), ": ", outside(text, 300)), Tone.WARN)
            for kind, text in messages
            if text
        ),
    )


def _turnout(one: Turnout) -> Iterator[str | Text]:
    yield f"{one.answered:,} answered"
    if one.abstained:
        yield f", {one.abstained:,} abstained"
    if one.failed:
        yield f", {one.failed:,} failed ("
        yield from fault_counts(one.why)
        yield ")"
    if one.stopped:
        yield from ("; ", outside(one.stopped, 400, Tone.WARN))
    if one.not_asked:
        yield f", {one.not_asked:,} not asked"
    differing, pairs = one.flips
    if pairs:
        yield f", flip rate {differing / pairs:.1%} ({differing:,} of {pairs:,} pairs of answers)"


def fault_counts(kinds: Mapping[str, int]) -> tuple[str | Text, ...]:
    """Return the number of faults of each kind, such as ``2 truncated, 1 rate limited``."""
    return joined([(f"{count:,} ", _kind(kind)) for kind, count in kinds.items()])


def _kind(kind: str) -> Text:
    return outside(kind.replace("_", " "), 60)


_NAMED = 2
"""The most paused models that a line of progress names."""


def live_text(found: LiveProgress) -> str:
    """Return text such as ``120/200 · paused: gpt-x, 429, 41 s left · 61/s calls · ETA 1m20s``."""
    parts = [f"{found.done:,}/{found.cases:,}"]
    by_length = sorted((pause for pause, _ in found.pauses), key=lambda pause: -pause.left)
    paused = [
        f"{show_line(pause.model, 40)}, {pause.reason}, {math.ceil(pause.left):,} s left"
        for pause in by_length[:_NAMED]
    ]
    if more := len(by_length) - len(paused):
        paused.append(f"{more} more")
    if paused:
        parts.append(f"paused: {'; '.join(paused)}")
    parts.append(f"{found.rate:.3g}/s calls")
    if found.spent_usd is not None:
        parts.append(money(found.spent_usd))
    if found.left is not None:
        minutes, seconds = divmod(math.ceil(found.left), 60)
        clock = (
            f"{minutes // 60}h{minutes % 60:02d}m" if minutes >= 60 else f"{minutes}m{seconds:02d}s"
        )
        parts.append(f"ETA {clock if minutes else f'{seconds}s'}")
    return " · ".join(parts)
