"""Whether missing answers could still change the decision of a verdict.

A panel that asks one juror after another may stop as soon as only one decision is possible. Only
the decision is certain: score, agreement and flags may differ from those of the full panel.
A verdict that missing answers could change goes to a person.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.jury.label_rules import LabelCount
from reviewdesk.domain.jury.panels import ERROR, FAIL, PASS, Answers, code
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.rules import (
    Method,
    Reads,
    Votes,
    decisions_by_votes,
    least_answered,
    stand_in,
)
from reviewdesk.domain.jury.scores import Scores
from reviewdesk.domain.jury.sheet import PolicyFacts, sheet_of
from reviewdesk.domain.run.columns import Bools, Floats, Ints
from reviewdesk.domain.run.packing import NOTHING, STRATEGIES
from reviewdesk.domain.stats.dense import cases, counted
from reviewdesk.domain.values import LABEL_RULES
from reviewdesk.domain.verdict import SLACK, Policy, Strategy, Verdict

_NONE = 4
"""The place of the bit for no decision, after those of the decisions."""
_OTHER = 1 << 5
"""The bit of an undecided label that differs from that of the ballots so far."""
_ANY = 1 << FAIL | 1 << PASS | 1 << _NONE
_EXTERNAL = STRATEGIES.index(Strategy.EXTERNAL)
_NEW_LABEL = "a label that no juror gave"


def can_turn(verdict: Verdict) -> bool:
    """Return whether the jurors that were not asked might change the verdict's decision.

    Each of them may vote either way with any score from 0 to 1, give any label, abstain or fail.
    False is certain: for any answers, the decision of the full panel is that of the ballots so
    far. For rules on votes, True is exact as well.
    """
    return bool(turnable(Answers(sheet_of([verdict])))[0])


def turnable(found: Answers) -> Bools:
    """Return in which verdicts the jurors that were not asked might change the decision."""
    turns = found.stopped.copy()
    rows = np.flatnonzero(turns)
    if len(rows):
        some = found if len(rows) == len(turns) else found.at(rows)
        # A cautious rule waits for missing jurors, because a re-run may ask them.
        cautious = [METHODS[one].cautious for one in STRATEGIES]
        waits = np.array([*cautious, False], np.bool_)[some.used]
        possible = reachable(some, missing=False)
        if waits.any():
            possible = np.where(waits, reachable(some, missing=True), possible)
        turns[rows] = _count(possible) > 1
    return turns


def left_open(found: Answers) -> tuple[Bools, Ints, Ints]:
    """Return for which verdicts missing answers could change the outcome, ``[n]``.

    They are those of jurors that failed, abstained, withheld the vote that the rule reads, were not
    understood or were not asked. Also return how many are silent and how many were not asked.
    The result is False if only the producer knows the rule.
    """
    _, withheld, missing, unasked = found.panels.cast.silent
    silent = missing.astype(np.int64)
    for (place,), at in cases(found.used) if withheld.any() else ():
        if place != NOTHING and METHODS[STRATEGIES[place]].reads is Reads.VOTES:
            counts = np.where(_counts_labels(found, STRATEGIES[place]), 0, withheld)
            silent[at] += counts[at]
    ruled = (found.used != NOTHING) & (found.used != _EXTERNAL)
    own = found.sheet.of_policy([one.rules.aggregate is not None for one in found.sheet.facts])
    may = (ruled | own) & (silent + unasked > 0)
    rows = np.flatnonzero(may)
    if len(rows):
        some = found if len(rows) == len(may) else found.at(rows)
        may[rows] = _count(reachable(some, missing=True)) > 1
    return may, silent, unasked


def _count(bits: Ints) -> Ints:
    """Return the number of outcomes that are possible."""
    return sum(((bits >> place) & 1 for place in range(6)), np.zeros(len(bits), np.int64))


def reachable(found: Answers, *, missing: bool) -> Ints:
    """Return, as bits, the decisions that remain possible, including that of the ballots so far.

    Jurors that were not asked may still answer; with ``missing``, so may those that failed,
    abstained or were not understood. A label without a decision has its own bit. If only a person,
    the producer or a caller's own rule decides, every decision remains possible.
    """
    columns = found.sheet.columns
    sheet = found.sheet
    seats = columns.not_asked | columns.missing if missing else columns.not_asked
    possible = np.zeros(len(sheet), np.int64)
    k = counted(seats).astype(np.int64)
    for (place, asked, used), rows in cases(sheet.place, columns.strategy, found.used):
        at = np.arange(len(sheet))[rows]
        some = found if len(at) == len(sheet) else found.at(at)
        fact = sheet.facts[place]
        if fact.rules.aggregate is not None or used in {NOTHING, _EXTERNAL}:
            possible[at] = _ANY
            continue
        bits = np.zeros(len(at), np.int64)
        for strategy, most in _strategies(
            fact, STRATEGIES[asked], STRATEGIES[used], k[at], missing=missing
        ):
            bits |= _by_rule(some, fact, METHODS[strategy], seats[:, at], most, missing=missing)
        minimum = fact.policy.min_answered
        if minimum is not None:
            # An error is possible where too few answered, and certain where too few can answer.
            _, _, absent, unasked = some.panels.cast.silent
            seated = some.sheet.columns.seated
            returned = seated.astype(np.int64) - absent - unasked
            least = np.array([least_answered(minimum, one) for one in seated.tolist()])
            bits = np.where(returned < least, bits | 1 << ERROR, bits)
            bits = np.where(returned + k[at] < least, 1 << ERROR, bits)
        possible[at] = bits
    return possible


def _strategies(
    fact: PolicyFacts, asked: Strategy, used: Strategy, k: Ints, *, missing: bool
) -> list[tuple[Strategy, list[Ints]]]:
    """Return each rule that may finally decide, and how many of the seats may then answer.

    Either all missing jurors answer or none does. Any juror that was not asked may fail, and a
    failed juror may make the median the rule.
    """
    if missing:
        return [(used, [np.zeros_like(k)]), (asked, [k])]
    most = int(k.max(initial=0))
    found = [(used, [np.minimum(k, count) for count in range(most + 1)])]
    other = stand_in(fact.policy, asked)
    if other is not None and other is not used and most:
        # One of the seats has failed.
        found += [(other, [np.minimum(np.maximum(k - 1, 0), count) for count in range(most)])]
    return found


def _by_rule(
    found: Answers,
    fact: PolicyFacts,
    method: Method,
    seats: Bools,
    counts: list[Ints],
    *,
    missing: bool,
) -> Ints:
    cast = found.panels.cast
    strategy = method.strategy
    by_labels = _counts_labels(found, strategy)
    possible = np.zeros(len(found.sheet), np.int64)
    if by_labels.any():
        possible = np.where(by_labels, _by_labels(found, fact, strategy, seats), possible)
    if method.reads is Reads.VOTES:
        absent = counted(seats).astype(np.int64)
        if missing:
            absent = absent + np.where(by_labels, 0, cast.silent[1])

        def bits(votes: Votes, policy: Policy, more: int) -> int:
            kinds = decisions_by_votes(method, votes, more, policy)
            return sum(1 << (_NONE if one is None else code(one)) for one in kinds)

        return np.where(by_labels, possible, found.panels.by_votes(bits, absent))
    if by_labels.all():
        return possible
    by_scores = np.where(cast.answered > 0, _by_scores(found, strategy, seats, counts), _ANY)
    return np.where(by_labels, possible, by_scores)


def _counts_labels(found: Answers, strategy: Strategy) -> Bools:
    """Return whether labels decide: declared ones, or those of jurors that cast no vote."""
    if METHODS[strategy].reads is Reads.LABELS:
        return np.ones(len(found.sheet), np.bool_)
    alone = (found.panels.cast.answered == 0) & (found.labelled > 0)
    marks: Bools = alone | (found.declares if strategy in LABEL_RULES else False)
    return marks


def _by_scores(found: Answers, strategy: Strategy, seats: Bools, counts: list[Ints]) -> Ints:
    """Compare the bounds of the value with the threshold, beyond its slack and rounding.

    A mean, a median, an extreme and a trimmed mean rise with every score, so the bounds are the
    values with all further scores set to 0 and to 1.
    """
    columns = found.sheet.columns
    order = np.cumsum(seats, axis=0)
    values: list[Floats] = []
    for count in counts:
        for extreme in (0.0, 1.0):
            given = np.where(seats & (order <= count), extreme, columns.scores)
            scores = Scores(given, columns.weights, exact=True)
            values.append(scores.value(strategy, columns.fraction, columns.rounding))
    every = np.array(values)
    low = every.min(axis=0)
    high = every.max(axis=0)
    passes = low >= columns.threshold - SLACK / 2
    fails = high < columns.threshold - 2 * SLACK
    return np.where(passes, 1 << PASS, np.where(fails, 1 << FAIL, _ANY))


def _by_labels(found: Answers, fact: PolicyFacts, strategy: Strategy, seats: Bools) -> Ints:
    """Return the possible outcomes of the labels: a decision, or a label without a decision.

    A label is the strongest rival of the first if every juror of the seats gives it. A confidence
    of 0 is tried too, because ballots without a confidence then no longer count.
    """
    sheet = found.sheet
    words = found.sheet.labels.words
    n = len(sheet)
    counts, base = found.recounted(strategy, sheet.labels)
    possible = np.where(counts, _bits(base, base, fact), _ANY)
    declared = [words.code(label) for label in fact.rules.labels] or [words.code(_NEW_LABEL)]
    more = np.repeat(np.array(declared, np.int64)[:, None], n, axis=1)
    for label in np.concatenate([sheet.labels.code, more]):
        there = seats.any(axis=0) & (label != NOTHING)
        for sure in (np.nan, 0.0, 1.0) if there.any() else ():
            given = replace(
                sheet.labels,
                code=np.where(seats & there, label, sheet.labels.code),
                sure=np.where(seats & there, sure, sheet.labels.sure),
            )
            counted_, made = found.recounted(strategy, given)
            bits = np.where(there & counted_, _bits(made, base, fact), 0)
            possible = np.where(counts, possible | bits, possible)
    return possible


def _bits(made: LabelCount, base: LabelCount, fact: PolicyFacts) -> Ints:
    """Return the bit of each outcome; a label without a decision is compared with the first."""
    same = np.full(len(made.label), fact.declares) | (made.label == base.label)
    word = np.where(same, 1 << _NONE, _OTHER)
    return np.where(made.decision == NOTHING, word, 1 << np.maximum(made.decision, 0))


def sentence(seated: int, silent: int, unasked: int) -> str:
    """Return a text saying how many missing answers could change the outcome."""
    whose = "its vote" if silent + unasked == 1 else "their votes"
    were = "was" if unasked == 1 else "were"
    who = [f"{silent} of {seated} jurors did not answer"] * (silent > 0)
    who += [f"{unasked} of {seated} jurors {were} not asked"] * (unasked > 0)
    return f"{' and '.join(who)}, and {whose} could change this"
