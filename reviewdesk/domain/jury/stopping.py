"""Whether missing answers could still change a decision.

A panel that asks one juror after another may stop as soon as only one decision is possible, though
score, agreement and flags may differ.
"""

from itertools import product

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.jury.label_rules import LabelCount
from reviewdesk.domain.jury.panels import ERROR, FAIL, PASS, Answers, Panels
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.rules import Reads, stand_in
from reviewdesk.domain.jury.sheet import PolicyFacts, sheet_of
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import NOTHING, STRATEGIES, STRATEGY_OF
from reviewdesk.domain.stats.dense import Bools, Ints, cases
from reviewdesk.domain.values import LABEL_RULES
from reviewdesk.domain.verdict import Strategy, Verdict

_NO_DECISION = 4
"""The place of the bit for no decision, after those of the decisions."""
_OTHER = 1 << 5
"""The bit of an undecided label that differs from that of the ballots so far."""
_ERROR = 1 << ERROR
_ANY = 1 << FAIL | 1 << PASS | 1 << _NO_DECISION
_EXTERNAL = STRATEGIES.index(Strategy.EXTERNAL)
_MOST_BALLOTS = 1 << 18
"""How many ballots are decided at once, which bounds the memory."""
_NEW_LABEL = "a label that no juror gave"


def can_turn(verdict: Verdict) -> bool:
    """Return whether the jurors that were not asked might change the verdict's decision.

    Each of them may vote either way with any score from 0 to 1, give any label, abstain or fail.
    False is certain: for any answers, the decision of the full panel is that of the ballots so
    far. For rules on votes, True is exact as well.
    """
    found = Answers(sheet_of([verdict]))
    if not found.stopped[0]:
        return False
    used = STRATEGY_OF[found.used[0]]
    # A cautious rule waits for missing jurors, because a re-run may ask them.
    waits = used is not None and METHODS[used].cautious
    return int(reachable(found, missing=waits)[0]).bit_count() > 1


def left_open(found: Answers) -> tuple[Bools, Ints, Ints]:
    """Return for which verdicts missing answers could change the outcome, ``[n]``.

    Also return how many jurors are silent (failed, abstained, not understood, or without the
    vote that the rule reads) and not asked. False if only the producer knows the rule.
    """
    _, withheld, missing, unasked = found.panels.cast.silent
    silent = missing.astype(np.int64)
    for (place,), at in cases(found.used) if withheld.any() else ():
        if place != NOTHING and METHODS[STRATEGIES[place]].reads is Reads.VOTES:
            counts = np.where(_counts_labels(found, STRATEGIES[place]), 0, withheld)
            silent[at] += counts[at]
    ruled = (found.used != NOTHING) & (found.used != _EXTERNAL)
    may = (ruled | _counts_alone(found)) & (silent + unasked > 0)
    rows = np.flatnonzero(may)
    if len(rows):
        some = found if len(rows) == len(may) else found.at(rows)
        bits = reachable(some, missing=True)
        may[rows] = bits & (bits - 1) != 0
    return may, silent, unasked


def reachable(found: Answers, *, missing: bool) -> Ints:
    """Return the decisions that remain possible, as bits, one for a label without a decision.

    Jurors that were not asked may still answer; with ``missing``, so may those that failed,
    abstained or were not understood. Other people's rules may decide anything.
    """
    sheet = found.sheet
    columns = sheet.columns
    possible = np.full(len(sheet), _ANY, np.int64)
    used = np.where(_counts_alone(found), NOTHING, found.used)
    fails = np.zeros(len(sheet), np.bool_)
    for (place, asked, by), rows in () if missing else cases(sheet.place, columns.strategy, used):
        # A juror that was not asked may fail, and so make the median the rule.
        instead = stand_in(sheet.facts[place].policy, STRATEGY_OF[asked])
        fails[rows] = instead not in {None, STRATEGY_OF[by]}
    for (by, failing), rows in cases(used, fails):
        if by in {NOTHING, _EXTERNAL}:
            continue
        at = np.arange(len(sheet))[rows]
        some = found.at(at)
        strategy = STRATEGIES[by]
        here = some.columns
        seats = here.not_asked | here.missing if missing else here.not_asked
        on_votes = METHODS[strategy].reads is Reads.VOTES
        open_ = seats | here.withheld if missing and on_votes else seats
        bits = _by_ballots(here, open_, on_votes=on_votes, missing=missing, fails=failing)
        labelled = np.flatnonzero(_counts_labels(some, strategy) & (bits != _ERROR))
        for (place,), among in cases(some.sheet.place[labelled]):
            group = labelled[among]
            made = _by_labels(some.at(group), sheet.facts[place], strategy, seats[:, group])
            bits[group] = made | (bits[group] & _ERROR)
        possible[at] = bits
    return possible


def _counts_alone(found: Answers) -> Bools:
    """Return for which verdicts the panel's own count of labels decides, ``[n]``."""
    return found.sheet.of_policy([one.rules.aggregate is not None for one in found.sheet.facts])


def _by_ballots(
    columns: Columns, seats: Bools, *, on_votes: bool, missing: bool, fails: bool
) -> Ints:
    """Decide each panel for the ways in which its open ``seats`` may answer.

    The first of them in seat order all pass with a score of 1, or all fail with 0, and the rest
    stay silent: what other answers would decide, these decide too. A rule on votes changes with one
    vote or with all, if at all. A rule on scores may depend on their number, but if they are
    ``missing``, all of them answer or none. One seat may fail if it ``fails``.
    """
    s, n = seats.shape
    order = np.where(seats, np.cumsum(seats, axis=0), 0)
    most = int(order.max(initial=0))
    sizes = {0, min(1, most), most} if on_votes else {0, most} if missing else range(most + 1)
    ways = list(product(sorted(sizes), (False, True), (False, True)[: 1 + fails]))
    bits = np.zeros(n, np.int64)
    step = max(1, _MOST_BALLOTS // max(1, s * n))
    for start in range(0, len(ways), step):
        some = ways[start : start + step]
        count, passes, lost = (np.repeat(one, n) for one in np.array(some).T)
        every = columns.at(np.tile(np.arange(n), len(some)))
        place = np.tile(order, len(some))
        fallen = (place > 0) & (place == place.max(axis=0, initial=0)) & (lost > 0)
        given = (place > 0) & (place <= count) & ~fallen
        marks = {
            name: (getattr(every, name) & ~given) | fallen
            for name in ("failed", "replaced", "missing")
        }
        kept = ~(given | fallen)
        marks |= {name: getattr(every, name) & kept for name in ("not_asked", "unknown")}
        turned = replace(
            every,
            scores=np.where(given, passes, every.scores),
            votes=np.where(given, passes, every.votes).astype(np.int8),
            withheld=every.withheld & kept,
            **marks,
        )
        made = Panels(turned, exact=True).decision.reshape(len(some), n)
        bits |= np.bitwise_or.reduce(
            1 << np.where(made == NOTHING, _NO_DECISION, made).astype(np.int64)
        )
    unknown = np.isnan(columns.threshold) & (bits != _ERROR) & (not on_votes)
    return np.where(unknown, _ANY, bits)


def _counts_labels(found: Answers, strategy: Strategy) -> Bools:
    """Return whether labels decide: declared ones, or those of jurors that cast no vote."""
    if METHODS[strategy].reads is Reads.LABELS:
        return np.ones(len(found.sheet), np.bool_)
    alone: Bools = (found.panels.cast.answered == 0) & (found.labelled > 0)
    return alone | found.declares if strategy in LABEL_RULES else alone


def _by_labels(found: Answers, fact: PolicyFacts, strategy: Strategy, seats: Bools) -> Ints:
    """Return the possible outcomes of the labels: a decision, or a label without a decision.

    A label is the strongest rival of the first if every juror of the seats gives it. Where
    confidences weigh, one of 0 is tried too: ballots without a confidence then no longer count.
    """
    sheet = found.sheet
    words = found.labels.words
    n = len(sheet)
    counts, base = found.recounted(strategy, sheet.labels)
    possible = np.where(counts, _bits(base, base, fact), _ANY)
    declared = [words.code(label) for label in fact.rules.labels] or [words.code(_NEW_LABEL)]
    more = np.repeat(np.array(declared, np.int64)[:, None], n, axis=1)
    weighed = (fact.rules.aggregate or strategy) is Strategy.WEIGHTED_VOTE
    tried = (np.nan, 0.0, 1.0) if weighed else (np.nan,)
    for label in np.concatenate([sheet.labels.code, more]):
        there = seats.any(axis=0) & (label != NOTHING)
        for sure in tried if there.any() else ():
            given = replace(
                sheet.labels,
                code=np.where(seats & there, label, sheet.labels.code),
                sure=np.where(seats & there, sure, sheet.labels.sure),
            )
            counted_, made = found.recounted(strategy, given)
            possible |= np.where(there & counted_ & counts, _bits(made, base, fact), 0)
    return possible


def _bits(made: LabelCount, base: LabelCount, fact: PolicyFacts) -> Ints:
    """Return the bit of each outcome; a label without a decision is compared with the first."""
    same = np.full(len(made.label), fact.declares) | (made.label == base.label)
    word = np.where(same, 1 << _NO_DECISION, _OTHER)
    return np.where(made.decision == NOTHING, word, 1 << np.maximum(made.decision, 0))


def sentence(seated: int, silent: int, unasked: int) -> str:
    """Return a text saying how many missing answers could change the outcome."""
    whose = "its vote" if silent + unasked == 1 else "their votes"
    were = "was" if unasked == 1 else "were"
    who = [f"{silent} of {seated} jurors gave no vote"] if silent else []
    who += [f"{unasked} of {seated} jurors {were} not asked"] if unasked else []
    return f"{' and '.join(who)}, and {whose} could change this"
