"""The decisions and values of every rule on many panels; one panel is a column of length one."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.jury import label_rules
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.rules import ByVotes, Reads, Votes, quorum_decision, quorum_met_strictly
from reviewdesk.domain.jury.scores import Scores
from reviewdesk.domain.jury.sheet import Sheet
from reviewdesk.domain.run.columns import Columns, lean, rows_of
from reviewdesk.domain.run.packing import DECISIONS, NOTHING, STRATEGIES, STRATEGY_OF, code_of
from reviewdesk.domain.stats.dense import Bools, Column, Floats, Ints, Small, cases, counted
from reviewdesk.domain.values import LABEL_RULES, Regime
from reviewdesk.domain.verdict import SLACK, Decision, Policy, Strategy

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
        self, figure: Callable[[Strategy | None], Column], empty: float, kind: Any
    ) -> Column:
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
        return np.asarray((self.scores.count > 0) | (self.columns.strategy == majority))


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
        self.columns = sheet.columns
        self.claims = sheet.claims
        self.labels = sheet.labels
        self.panels = Panels(sheet.columns, exact=True)

    def at(self, rows: Ints) -> Self:
        return type(self)(rows_of(self.sheet, rows))

    @property
    def used(self) -> Small:
        """The strategy that decides each verdict; -1 if a person or nobody decides it."""
        return self.panels.used

    def uses(self, strategy: Strategy) -> Bools:
        return np.asarray(self.used == STRATEGIES.index(strategy))

    @cached_property
    def disputed(self) -> Bools:
        return self.sheet.of_policy([one.regime == Regime.DISPUTE for one in self.sheet.facts])

    @cached_property
    def stopped(self) -> Bools:
        return np.asarray(np.logical_or.reduce(self.columns.not_asked, axis=0, dtype=np.bool_))

    @cached_property
    def returned(self) -> Ints:
        return counted(self.sheet.usable).astype(np.int64)

    # Labels

    @cached_property
    def labelled(self) -> Ints:
        return counted(self.labels.code != NOTHING)

    @cached_property
    def declares(self) -> Bools:
        return self.sheet.of_policy([one.declares for one in self.sheet.facts])

    @cached_property
    def said(self) -> Bools:
        """The seats that answered by label; empty for a panel that answered by votes or scores.

        A panel answers by label if it declares its labels, or if every usable ballot has a label
        and one has no vote: a comparison of the votes alone would leave out that juror's answer.
        """
        columns = self.columns
        there = self.labels.code != NOTHING
        undetermined = ~np.isnan(columns.scores) & ~columns.withheld
        voteless = (there & (columns.votes == NOTHING) & ~undetermined).any(axis=0)
        every = voteless & (self.labelled >= self.returned)
        return np.asarray(there & (self.declares | every))

    @cached_property
    def says(self) -> Bools:
        return np.asarray(np.logical_or.reduce(self.said, axis=0, dtype=np.bool_))

    @cached_property
    def kinds(self) -> Ints:
        if not self.says.any():
            return np.zeros(len(self.sheet), np.int64)
        return counted(label_rules.firsts(np.where(self.said, self.labels.code, NOTHING)))

    def recounted(
        self, strategy: Strategy | None, labels: label_rules.LabelBallots
    ) -> tuple[Bools, label_rules.LabelCount]:
        """Return for which verdicts, all of one policy, a strategy counts labels, and the counts.

        Labels that the panel declares decide under every rule that can count them. Else majorities
        and unanimity count labels if no juror gave a score or a vote, or if the report states a
        consensus that its ballots could have given. Without any answer, declared rules fall back.
        """
        fact = self.sheet.facts[self.sheet.place[0]]
        rules = fact.rules
        how = rules.aggregate or strategy or Strategy.MAJORITY
        found = label_rules.count_labels(labels, how, rules)
        n = len(self.sheet)
        if rules.aggregate is not None or (fact.declares and strategy in LABEL_RULES):
            return np.ones(n, np.bool_), found
        if strategy is None or strategy not in LABEL_RULES:
            return np.zeros(n, np.bool_), found
        there = labels.code != NOTHING
        silent = (self.returned == 0) & (fact.policy.counting is not None)
        counts = there.any(axis=0)
        if METHODS[strategy].reads is not Reads.LABELS:
            columns = self.columns
            stated = self.claims.label
            cast = (~np.isnan(columns.scores) | (columns.votes != NOTHING)).any(axis=0)
            beside = [labels.words.code(word) for word in (rules.fallback, label_rules.DISAGREE)]
            within = np.isin(stated, beside) | (there & (labels.code == stated)).any(axis=0)
            counts = counts & (~cast | within)
        return np.where(there.any(axis=0), counts, silent), found
