"""The decisions and values of every rule on many panels; one panel is a column of length one.

Also whether missing answers could still change a decision: a panel that asks one juror after
another may stop as soon as only one is possible, though score, agreement and flags may differ.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from reviewdesk.domain.jury.label_rules import (
    DISAGREE,
    LabelBallots,
    LabelCount,
    count_labels,
    firsts,
)
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.rules import (
    ByVotes,
    Reads,
    Votes,
    quorum_decision,
    quorum_met_strictly,
    stand_in,
)
from reviewdesk.domain.jury.scores import Scores
from reviewdesk.domain.jury.sheet import PolicyFacts, Sheet, sheet_of
from reviewdesk.domain.run.columns import Bools, Columns, Floats, Ints, Small, lean, rows_of
from reviewdesk.domain.run.packing import DECISIONS, NOTHING, STRATEGIES, STRATEGY_OF, code_of
from reviewdesk.domain.stats.dense import cases, counted
from reviewdesk.domain.values import LABEL_RULES, Regime
from reviewdesk.domain.verdict import SLACK, Decision, Policy, Strategy, Verdict

FAIL, PASS, INCONCLUSIVE, ERROR = map(
    DECISIONS.index, (Decision.FAIL, Decision.PASS, Decision.INCONCLUSIVE, Decision.ERROR)
)
_DOUBT = 1e-12
"""More than the sums of a thousand scores from 0 to 1 are off by when each is rounded."""
MEDIAN = STRATEGIES.index(Strategy.MEDIAN)


class Cast:
    """The scores and vote counts of n panels; if not ``exact``, values are off by rounding."""

    def __init__(self, columns: Columns, *, exact: bool) -> None:
        self.columns = columns
        self.exact = exact

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.columns.scores, self.columns.weights, exact=self.exact)

    @cached_property
    def passes(self) -> Ints:
        return counted(self.columns.votes == PASS)

    @cached_property
    def answered(self) -> Ints:
        return counted(self.columns.votes != NOTHING)

    @cached_property
    def silent(self) -> tuple[Ints, ...]:
        """How many seats need a threshold, withhold a vote, are missing and were not asked."""
        columns = self.columns
        # Usually every seat has voted, which is known before any score is read.
        if not len(self.answered) or self.answered.min() == len(columns.votes):
            return (np.broadcast_to(np.int8(0), len(columns)),) * 4
        waiting = (columns.votes == NOTHING) & ~columns.withheld & ~np.isnan(columns.scores)
        withheld = columns.withheld & ~columns.missing & ~columns.not_asked
        marks = (waiting, withheld, columns.missing, columns.not_asked)
        return tuple(lean(counted(one)) for one in marks)


@lru_cache(1000)
def _policy(
    quorum: float | str | None, supermajority: float | str | None, minimum: float | str | None
) -> Policy:
    return Policy(quorum=quorum, supermajority=supermajority, min_answered=minimum)


class Panels:
    """The ballots of n panels under the rule of each; a figure is computed at its first use."""

    def __init__(self, columns: Columns, *, exact: bool = False, cast: Cast | None = None) -> None:
        """Keep the columns; ``cast`` is given if it was counted from the same ballots before."""
        self.columns = columns
        self.cast = cast or Cast(columns, exact=exact)
        self._by: dict[Strategy, Small] = {}

    def ruled(self, columns: Columns) -> "Panels":
        return Panels(columns, cast=self.cast)

    def at(self, rows: Ints) -> "Panels":
        """Return some of the panels, with exact values."""
        return Panels(self.columns.at(rows), exact=True)

    @property
    def scores(self) -> Scores:
        return self.cast.scores

    @cached_property
    def used(self) -> Small:
        """The strategy that decides each panel: the median if it replaces an average."""
        found = self.columns.strategy
        for strategy, failed in (
            (Strategy.WEIGHTED_AVERAGE, self.columns.failed),
            (Strategy.MEAN, self.columns.replaced),
            (Strategy.TRIMMED_MEAN, self.columns.replaced),
        ):
            asks = found == STRATEGIES.index(strategy)
            if asks.any():
                found = np.where(asks & (counted(failed) > 0), np.int8(MEDIAN), found)
        return found

    @cached_property
    def decision(self) -> Small:
        """Each panel's decision by its scores or votes, as in ``DECISIONS``; -1 is undecided."""
        return self._by_rule(self.by, NOTHING, np.int8)

    @cached_property
    def value(self) -> Floats:
        """Each panel's support for a pass: the value of its rule, else the mean of the scores."""
        return self._by_rule(self.valued_by, np.nan, np.float64)

    def _by_rule(
        self, figure: Callable[[Strategy | None], npt.NDArray[Any]], empty: float, kind: Any
    ) -> npt.NDArray[Any]:
        found = np.full(len(self.columns), empty, kind)
        for (place,), rows in cases(self.used):
            made = figure(STRATEGY_OF[place])
            if isinstance(rows, slice):
                return made
            found[rows] = made[rows]
        return found

    def by(self, strategy: Strategy | None) -> Small:
        """Return the decision of one rule on every panel."""
        if strategy is None:
            return np.full(len(self.columns), NOTHING, np.int8)
        if strategy not in self._by:
            method = METHODS[strategy]
            if method.reads is Reads.SCORES:
                value = self.valued_by(strategy)
                made = self.compared(value, cautious=method.cautious, again=strategy)
            else:
                made = self.by_votes(lambda votes, policy: code_of(method.decide(votes, policy)))
            self._by[strategy] = made
        return self._by[strategy]

    def by_votes(self, figure: Callable[[Votes, Policy], int]) -> Small:
        """Return a whole number by the votes and policy of each panel."""
        kinds, place = self._kinds
        return np.array([figure(*kind) for kind in kinds], np.int8)[place]

    @cached_property
    def _kinds(self) -> tuple[list[tuple[Votes, Policy]], Ints]:
        """The distinct pairs of votes and policy, and the index of each panel's pair, ``[n]``."""
        columns = self.columns
        bars = (columns.quorum, columns.share, columns.minimum)
        kinds: list[tuple[Votes, Policy]] = []
        place = np.zeros(len(columns), np.int32)
        for values, rows in cases(*self.counts, *bars):
            quorum, share, minimum = values[7:]
            policy = _policy(
                None if quorum == NOTHING else columns.quorums[quorum],
                columns.shares[share],
                columns.minima[minimum],
            )
            place[rows] = len(kinds)
            kinds.append((Votes(*values[:7]), policy))
        return kinds, place

    @property
    def counts(self) -> tuple[Ints, ...]:
        cast = self.cast
        return cast.passes, cast.answered, self.columns.seated, *cast.silent

    def votes(self, at: int) -> Votes:
        """Return the vote count of one panel."""
        return Votes(*(int(column[at]) for column in self.counts))

    @cached_property
    def quorum_strictly(self) -> Small:
        return self._quorum(
            lambda votes, policy: quorum_decision(votes, policy, quorum_met_strictly)
        )

    @cached_property
    def quorum_answered(self) -> Small:
        """The quorum's decision among the jurors that voted, as some producers count them."""
        return self._quorum(lambda votes, policy: quorum_decision(votes.of_answered, policy))

    def _quorum(self, read: ByVotes) -> Small:
        return self.by_votes(
            lambda votes, policy: ERROR if votes.too_few(policy) else code_of(read(votes, policy))
        )

    @cached_property
    def too_few(self) -> Bools:
        if not any(self.columns.minima):
            return np.broadcast_to(np.False_, len(self.columns))
        return self.by_votes(Votes.too_few).astype(np.bool_)

    def turning(self, strategy: Strategy) -> Small:
        """Return which votes would change a rule's decision if one changed: 1 fail, 2 pass."""
        decide = METHODS[strategy].decide

        def turns(votes: Votes, policy: Policy) -> int:
            base = decide(votes, policy)
            moved = {1: votes.passes + 1, 2: votes.passes - 1} if base is not None else {}
            return sum(
                bit
                for bit, passes in moved.items()
                if 0 <= passes <= votes.answered
                and decide(replace(votes, passes=passes), policy) != base
            )

        return self.by_votes(turns)

    def compared(self, value: Floats, *, cautious: bool, again: Strategy | None = None) -> Small:
        """Compare values with the threshold; a panel without votes stays undecided.

        A cautious rule is inconclusive if a missing score could fall under the threshold, or if a
        juror without a score votes to fail. Inexact values near it are computed ``again``.
        """
        threshold = self.columns.threshold
        apart = value - (threshold - SLACK)
        # A fail is stored as 0 and a pass as 1.
        found = (apart >= 0).view(np.int8)
        found[np.isnan(apart) | (self.cast.answered == 0)] = NOTHING
        if cautious:
            objects = (self.columns.votes == FAIL) & np.isnan(self.columns.scores)
            open_ = ((self.cast.silent[2] > 0) | objects.any(axis=0)) & (threshold > SLACK)
            found[open_ & (found == PASS)] = INCONCLUSIVE
        if again is not None and not self.cast.exact:
            near = np.flatnonzero(np.abs(apart) <= _DOUBT)
            if len(near):
                found[near] = self.at(near).by(again)
        found[self.too_few] = ERROR
        return found

    def valued_by(self, strategy: Strategy | None) -> Floats:
        """Return every panel's value by one strategy."""
        if strategy in {Strategy.MAJORITY, Strategy.UNANIMOUS}:
            # Their values need no minimum of answers.
            bare = self
            if any(self.columns.minima):
                minima = (None,) * len(self.columns.minima)
                bare = self.ruled(replace(self.columns, minima=minima))
            made = bare.by(strategy)
            value = self.scores.mean if strategy is Strategy.UNANIMOUS else made
            return np.where((made == PASS) | (made == FAIL), value, np.nan)
        return self.scores.value(strategy, self.columns.fraction, self.columns.rounding)

    @property
    def valued(self) -> Bools:
        """Whether a panel has a value, if its rule decides it: ``[n]``."""
        majority = STRATEGIES.index(Strategy.MAJORITY)
        found: Bools = (self.scores.count > 0) | (self.columns.strategy == majority)
        return found


def without(columns: Columns, juror: str) -> Columns:
    """Return the columns with a juror removed from every panel: its seats are empty."""
    if juror not in columns.names:
        return columns
    gone: Bools = columns.juror == columns.names.index(juror)
    kept: dict[str, Any] = {
        name: lean(getattr(columns, name) & ~gone)
        for name in ("withheld", "failed", "missing", "not_asked", "replaced", "unknown")
    }
    return replace(
        columns,
        scores=np.where(gone, np.nan, columns.scores),
        votes=np.where(gone, np.int8(NOTHING), columns.votes),
        weights=lean(np.where(gone, np.nan, columns.weights)),
        juror=lean(np.where(gone, np.int32(NOTHING), columns.juror)),
        seated=lean(columns.seated - counted(gone)),
        **kept,
    )


def revoted(columns: Columns, threshold: float) -> Small:
    """Return the votes at another threshold: scores vote by it, except where a vote is withheld."""
    votes = (columns.scores >= threshold - SLACK).astype(np.int8)
    return np.where(np.isnan(columns.scores) | columns.withheld, columns.votes, votes)


class Answers:
    """The answers of n verdicts, ``[n]``, and of their seats, ``[s, n]``."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.panels = Panels(sheet.columns, exact=True)

    def at(self, rows: Ints) -> Self:
        """Return some of the verdicts."""
        return type(self)(rows_of(self.sheet, rows))

    @property
    def used(self) -> Small:
        """The strategy that decides each verdict; -1 if a person or nobody decides it."""
        return self.panels.used

    def uses(self, strategy: Strategy) -> Bools:
        found: Bools = self.used == STRATEGIES.index(strategy)
        return found

    @cached_property
    def disputed(self) -> Bools:
        return self.sheet.of_policy([one.regime == Regime.DISPUTE for one in self.sheet.facts])

    @cached_property
    def stopped(self) -> Bools:
        found: Bools = np.logical_or.reduce(self.sheet.columns.not_asked, axis=0, dtype=np.bool_)
        return found

    @cached_property
    def returned(self) -> Ints:
        return counted(self.sheet.usable).astype(np.int64)

    # Labels

    @cached_property
    def labelled(self) -> Ints:
        return counted(self.sheet.labels.code != NOTHING)

    @cached_property
    def declares(self) -> Bools:
        return self.sheet.of_policy([one.declares for one in self.sheet.facts])

    @cached_property
    def said(self) -> Bools:
        """The seats that answered by label; empty for a panel that answered by votes or scores.

        A panel answers by label if it declares its labels, or if every usable ballot has a label
        and one has no vote: a comparison of the votes alone would leave out that juror's answer.
        """
        columns = self.sheet.columns
        there = self.sheet.labels.code != NOTHING
        undetermined = ~np.isnan(columns.scores) & ~columns.withheld
        voteless = (there & (columns.votes == NOTHING) & ~undetermined).any(axis=0)
        every = voteless & (self.labelled >= self.returned)
        found: Bools = there & (self.declares | every)
        return found

    @cached_property
    def says(self) -> Bools:
        found: Bools = np.logical_or.reduce(self.said, axis=0, dtype=np.bool_)
        return found

    @cached_property
    def kinds(self) -> Ints:
        if not self.says.any():
            return np.zeros(len(self.sheet), np.int64)
        return counted(firsts(np.where(self.said, self.sheet.labels.code, NOTHING)))

    def recounted(
        self, strategy: Strategy | None, labels: LabelBallots
    ) -> tuple[Bools, LabelCount]:
        """Return for which verdicts, all of one policy, a strategy counts labels, and the counts.

        Labels that the panel declares decide under every rule that can count them. Else majorities
        and unanimity count labels if no juror gave a score or a vote, or if the report states a
        consensus that its ballots could have given. Without any answer, declared rules fall back.
        """
        fact = self.sheet.facts[self.sheet.place[0]]
        rules = fact.rules
        found = count_labels(labels, rules.aggregate or strategy or Strategy.MAJORITY, rules)
        n = len(self.sheet)
        if rules.aggregate is not None or (fact.declares and strategy in LABEL_RULES):
            return np.ones(n, np.bool_), found
        if strategy is None or strategy not in LABEL_RULES:
            return np.zeros(n, np.bool_), found
        there = labels.code != NOTHING
        silent = (self.returned == 0) & (fact.policy.counting is not None)
        counts = there.any(axis=0)
        if METHODS[strategy].reads is not Reads.LABELS:
            columns = self.sheet.columns
            stated = self.sheet.claims.label
            cast = (~np.isnan(columns.scores) | (columns.votes != NOTHING)).any(axis=0)
            beside = [labels.words.code(word) for word in (rules.fallback, DISAGREE)]
            within = np.isin(stated, beside) | (there & (labels.code == stated)).any(axis=0)
            counts = counts & (~cast | within)
        return np.where(there.any(axis=0), counts, silent), found


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
        here = some.sheet.columns
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
