"""The results of the rules for many verdicts, as columns that are computed at their first use."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.jury.label_rules import LabelCount, turning_labels
from reviewdesk.domain.jury.panels import ERROR, FAIL, INCONCLUSIVE, PASS, Answers, Panels
from reviewdesk.domain.jury.rules import COMPARED, LINED, Reads
from reviewdesk.domain.jury.rules import STRATEGIES as METHODS
from reviewdesk.domain.jury.scores import (
    ADR_NULL,
    LOW,
    UNIFORM_NULL,
    bands,
    levels_null,
    pairs_agreement,
    scores_agreement,
)
from reviewdesk.domain.jury.sheet import PolicyFacts, sheet_of
from reviewdesk.domain.jury.stopping import left_open
from reviewdesk.domain.run.columns import rows_of
from reviewdesk.domain.run.packing import NOTHING, STRATEGIES, STRATEGY_OF
from reviewdesk.domain.stats.dense import Bools, Floats, Ints, cases, counted
from reviewdesk.domain.values import LABEL_RULES
from reviewdesk.domain.verdict import Strategy, Verdict

JUST_UNDER = 1e-6
"""How far below the threshold a pass is moved to turn it into a fail."""
_NULLS = np.array([UNIFORM_NULL, ADR_NULL, *map(levels_null, range(2, 12))])
_ROUNDING_SLACK = 0.005
"""How far a stated figure may differ from ours because it was rounded."""
FEW = 5
"""The fewest answers that the trim rule expects."""


class Verdicts(Answers):
    """The figures of n verdicts, ``[n]``, and of their seats, ``[s, n]``."""

    @cached_property
    def _votes(self) -> tuple[Bools, LabelCount]:
        """For which verdicts labels are counted, each by its strategy, and the counts."""
        n = len(self.sheet)
        counts = np.zeros(n, np.bool_)
        blank = {name: np.full(n, NOTHING) for name in LabelCount.__struct_fields__}
        made = LabelCount(**blank | {"level": np.zeros(self.labels.code.shape, np.bool_)})
        for rows, strategy, _ in self._label_groups:
            some = self.at(rows)
            has, found = some.recounted(strategy, some.labels)
            counts[rows] = has
            for name in LabelCount.__struct_fields__:
                column = getattr(made, name)
                column[..., rows] = getattr(found, name)
        return counts, made

    @cached_property
    def _label_groups(self) -> list[tuple[Ints, Strategy | None, PolicyFacts]]:
        """The verdicts by the policy and the strategy under which their labels may count."""
        sheet = self.sheet
        if not self.labelled.any() and all(one.policy.counting is None for one in sheet.facts):
            return []
        return [
            (np.arange(len(sheet))[rows], STRATEGY_OF[used], sheet.facts[place])
            for (place, used), rows in cases(sheet.place, self.used)
            if sheet.facts[place].rules.aggregate is not None or STRATEGY_OF[used] in LABEL_RULES
        ]

    @property
    def counts(self) -> Bools:
        return self._votes[0]

    @property
    def words(self) -> LabelCount:
        """The labels as the rule counts them; valid only where ``counts`` is true."""
        return self._votes[1]

    @cached_property
    def cautioned(self) -> Ints:
        """The labels' decision; a cautious strategy waits for answers that could change it."""
        cautious = np.array([*(METHODS[one].cautious for one in STRATEGIES), False], np.bool_)
        sided = (self.words.decision == PASS) | (self.words.decision == FAIL)
        turns = self.counts & cautious[self.used] & sided
        turns &= (self.panels.cast.silent[2] > 0) & self.open[0]
        return np.where(turns, INCONCLUSIVE, self.words.decision)

    @cached_property
    def open(self) -> tuple[Bools, Ints, Ints]:
        """Whether missing answers could change the outcome; how many are missing or not asked."""
        return left_open(self)

    # The decision

    @cached_property
    def decision(self) -> Ints:
        """The stated decision, else ours."""
        stated = self.claims.decision
        return np.where(stated == NOTHING, self.ours, stated).astype(np.int64)

    @cached_property
    def ours(self) -> Ints:
        """The decision of the labels or the rule, or an error if no or too few jurors answered.

        Labels that the panel declares decide alone; others decide what the rule does not. A
        reported consensus label that is neither pass nor fail overrules both rule and labels.
        """
        found = self.panels.decision.astype(np.int64)
        if self.counts.any():
            instead = self.counts & (self.declares | (found == NOTHING))
            found = np.where(instead, self.cautioned, found)
        columns = self.columns
        asked = (columns.juror != NOTHING) & ~columns.not_asked
        failed = asked.any(axis=0) & (columns.failed | ~asked).all(axis=0)
        claims = self.claims
        words = self.labels.words
        overruled = (claims.decision == NOTHING) & (claims.label != words.code(""))
        groups = cases(self.sheet.place, claims.label) if overruled.any() else ()
        for (place, label), rows in groups:
            meant = self.sheet.facts[place].rules.decision(words.spelled[label])
            overruled[rows] &= meant is None
        empty = (found == NOTHING) | overruled
        found = np.where(empty, np.where(failed, ERROR, NOTHING), found)
        return np.where(self.panels.too_few, ERROR, found)

    @cached_property
    def score(self) -> Floats:
        """The stated score, else that of the labels or of the rule."""
        found = self.panels.value
        if self.counts.any():
            by_labels = replace(self.words, decision=self.cautioned).score
            found = np.where(self.counts & self.says, by_labels, found)
        found = np.where(self.panels.too_few, np.nan, found)
        stated = self.claims.score
        return np.where(np.isnan(stated), found, stated)

    # Agreement

    @cached_property
    def whole_agreement(self) -> Floats:
        """The r_WG of the scores or ``2P - 1`` of the labels, even if jurors were not asked."""
        found = scores_agreement(self.panels.scores)
        if self.says.any():
            said = np.where(self.said, self.labels.code, NOTHING)
            found = np.where(self.says, pairs_agreement(said), found)
        return found

    @cached_property
    def agreement(self) -> Floats:
        """The r_WG of the scores, or ``2P - 1`` of the labels or votes if these say more.

        Undefined if the panel stopped early: who answered then depends on how they agreed.
        """
        found = self.whole_agreement
        by_votes = (self.panels.scores.count < 2) & (self.panels.cast.answered >= 2)
        if by_votes.any():
            votes = pairs_agreement(self.columns.votes)
            found = np.where(by_votes & ~self.says, votes, found)
        return np.where(self.stopped, np.nan, found)

    @cached_property
    def band(self) -> Ints:
        return bands(self.agreement)

    @cached_property
    def claimed(self) -> Ints:
        """The band of the stated agreement, whatever its metric."""
        return bands(self.claims.value)

    @cached_property
    def null_bands(self) -> Ints:
        """The band of r_WG by each null, ``[k, n]``; -1 where it does not give the stated value.

        The uniform null comes first, and is the only one for answers by label.
        """
        raw = 1 - self.panels.scores.variance / _NULLS[:, None]
        value = self.claims.value
        off = np.minimum(np.abs(raw - value), np.abs(np.maximum(0.0, raw) - value))
        near = off <= _ROUNDING_SLACK
        found = np.where(near & ~self.says, bands(raw), NOTHING)
        found[0] = bands(self.whole_agreement)
        return found

    @cached_property
    def shown(self) -> tuple[Floats, Ints, Bools]:
        """The agreement and the band that are shown together, and whether they are reported.

        What the report states comes first, even a null value or a band alone; the band of a stated
        value alone follows from it where the limits apply to its metric.
        """
        said = self.claims
        own = np.where(np.isin(said.metric, LINED), self.claimed, NOTHING)
        band = np.where(said.band == NOTHING, own, said.band)
        reported = said.agreement | (said.band != NOTHING)
        value = np.where(reported, said.value, self.agreement)
        return value, np.where(reported, band, self.band), reported

    @cached_property
    def defined_low(self) -> Bools:
        """Whether the agreement shown is low, and defined by its value or by the ballots."""
        value, band, reported = self.shown
        alone = reported & ~self.claims.agreement & ~np.isnan(self.agreement)
        return np.asarray((band == LOW) & (alone | ~np.isnan(value)))

    @cached_property
    def variance(self) -> Floats:
        """The variance of the scores; like range and margin, undefined for answers by label."""
        return np.where(self.says, np.nan, self.panels.scores.variance)

    @cached_property
    def range(self) -> Floats:
        found = self.panels.scores.highest - self.panels.scores.lowest
        return np.where(self.says, np.nan, found)

    @cached_property
    def margin(self) -> Floats:
        found = np.abs(self.score - self.columns.threshold)
        return np.where(self.says, np.nan, found)

    @cached_property
    def mass(self) -> Floats:
        """``m·s²``, m the number of scores and s² their variance."""
        return np.square(np.sqrt(self.variance)) * self.panels.scores.count

    @cached_property
    def shared(self) -> Ints:
        """Whether a juror shares the generator's family, as stated or else by the models."""
        stated = self.claims.same_family
        return np.where(stated == NOTHING, self.sheet.shared, stated)

    # Seats

    @cached_property
    def cut(self) -> Ints:
        columns = self.columns
        return self.panels.scores.cuts(columns.fraction, columns.rounding)

    @cached_property
    def ends(self) -> tuple[Bools, Bools]:
        """The seats that our trim leaves out below and above."""
        return self.panels.scores.ends(self.cut)

    @cached_property
    def spared(self) -> Bools:
        """Whether nobody is trimmed: the report states no trim, and the rule reads every answer."""
        trims: Bools = self.uses(Strategy.TRIMMED_MEAN) | (~self.disputed & (self.used == NOTHING))
        return ~(self.claims.named | trims)

    @cached_property
    def out(self) -> tuple[Bools, Bools]:
        """The seats left out below and above, by the report's own trim or else by ours."""
        claims = self.claims
        columns = self.columns
        low, high = self.ends
        if claims.named.any():
            low = np.where(claims.named, claims.low, low)
            high = np.where(claims.named, claims.high & ~claims.low, high)
        # A label alone cannot be trimmed.
        spoke = self.sheet.usable & (~np.isnan(columns.scores) | (columns.votes != NOTHING))
        return low & spoke, high & spoke

    @cached_property
    def trimmed(self) -> Bools:
        return (self.out[0] | self.out[1]) & ~self.spared

    @cached_property
    def dissents(self) -> Bools:
        """The seats that vote against the decision, or give a label other than the consensus."""
        losing = np.where(self.decision == PASS, FAIL, np.where(self.decision == FAIL, PASS, 9))
        found: Bools = self.columns.votes == losing
        if not self.says.any():
            return found
        labels = self.labels
        none = labels.words.code("")
        won = np.where(self.counts, self.words.label, none)
        won = np.where(self.claims.label != none, self.claims.label, won)
        given = (self.said & (labels.code == won)).any(axis=0)
        other = self.said & given & (labels.code != won)
        return np.where(self.says & (won != none), other, found)

    @cached_property
    def pivotal(self) -> Bools:
        """The seats whose vote, score or label would change the decision if it alone changed."""
        columns = self.columns
        found = np.zeros(columns.votes.shape, np.bool_)
        for (place,), rows in cases(self.used):
            strategy = STRATEGY_OF[place]
            reads = METHODS[strategy].reads if strategy else Reads.NOTHING
            if strategy and reads is Reads.VOTES:
                turning = self.panels.turning(strategy)
                fails = (columns.votes == FAIL) & (turning & 1 > 0)
                passes = (columns.votes == PASS) & (turning & 2 > 0)
                found[:, rows] = (fails | passes)[:, rows]
            elif strategy and reads is Reads.SCORES:
                found[:, rows] = self._turning_scores(strategy, np.arange(len(self.sheet))[rows])
        counts = self.counts & (self.used != NOTHING)
        if counts.any():
            found &= ~counts
            certain = counts & (self.cautioned == self.words.decision)
            for places, way, fact in self._label_groups:
                kept = places[certain[places]]
                how = fact.rules.aggregate or way
                if len(kept) and how is not None:
                    labels = rows_of(self.labels, kept)
                    made = self.words.decision[kept]
                    found[:, kept] = turning_labels(labels, how, fact.rules, made)
        return found & ~self.stopped

    def _turning_scores(self, strategy: Strategy, rows: Ints) -> Bools:
        """Move the score of each counted ballot of some verdicts just across the threshold."""
        columns = self.columns.at(rows)
        s, n = columns.scores.shape
        base = self.panels.decision[rows]
        counts: Bools = (columns.votes != NOTHING) & (base != NOTHING)
        counts &= ~np.isnan(columns.scores + columns.threshold)
        if strategy is Strategy.TRIMMED_MEAN:
            counts &= ~self.trimmed[:, rows]
        if not counts.any():
            return counts
        # One panel for each seat and verdict.
        turned = columns.at(np.tile(np.arange(n), s))
        scores = turned.scores.reshape(s, s, n)
        moved = np.where(columns.votes == PASS, columns.threshold - JUST_UNDER, columns.threshold)
        own = np.arange(s)
        scores[own, own] = np.where(counts, moved, scores[own, own])
        made = Panels(turned, exact=True).by(strategy).reshape(s, n)
        counts &= (made != NOTHING) & (made != base)
        return counts

    # Flags

    @cached_property
    def no_votes(self) -> Bools:
        """Whether no juror cast a vote and none can follow: not by a threshold, scale or label."""
        sheet = self.sheet
        columns = sheet.columns
        found: Bools = (self.decision == NOTHING) & (self.panels.cast.answered == 0)
        found &= columns.seated > 0
        if found.any():
            undetermined = ~np.isnan(columns.scores) & ~columns.withheld
            undetermined &= columns.votes == NOTHING
            found &= ~(undetermined | sheet.unscaled | sheet.worded).any(axis=0)
        return found

    @cached_property
    def degraded(self) -> Bools:
        """Whether answers are missing or too few for the trim rule, or the report says so."""
        columns = self.columns
        answers = self.returned + counted(self.sheet.unscaled)
        asked = columns.seated - counted(columns.not_asked)
        few = self.uses(Strategy.TRIMMED_MEAN) & (answers < FEW) & ~self.stopped
        waiting = self.sheet.unscaled.any(axis=0)
        return (answers < asked) | waiting | few | self.claims.degraded

    @cached_property
    def split(self) -> Bools:
        """Whether the jurors differ: in labels if they answered by label, else in pass and fail."""
        cast = self.panels.cast
        votes = (cast.passes > 0) & (cast.passes < cast.answered)
        return np.where(self.says, self.kinds > 1, votes)

    @cached_property
    def escalated(self) -> Bools:
        turns = self.split & (self.pivotal.any(axis=0) | self.uses(Strategy.UNANIMOUS))
        low: Bools = self.band == LOW
        return self.panels.too_few | self.open[0] | (~self.stopped & (turns | low))

    @cached_property
    def flags(self) -> Ints:
        shared = self.shared == 1
        dissent = (self.trimmed & self.dissents).any(axis=0)
        undecided = (self.decision != PASS) & (self.decision != FAIL)
        # The compared rules disagree; an undecided one disagrees with none.
        made = [self.panels.by(one) for one in COMPARED]
        low = np.minimum.reduce([np.where(one == NOTHING, np.int8(9), one) for one in made])
        differ = (low < np.maximum.reduce(made)) & ~self.stopped & ~self.says
        where = {
            Flag.ESCALATED: self.claims.escalate == 1,
            Flag.BIAS_WARNING: self.defined_low & shared,
            Flag.SAME_FAMILY: shared,
            Flag.DISPUTE: self.disputed,
            Flag.NO_VERDICT: undecided,
            Flag.TRIMMED_DISSENT: dissent & ~self.stopped,
            Flag.REGIME_SENSITIVE: differ,
            Flag.DEGRADED: self.degraded,
            Flag.PIVOTAL: np.any(self.pivotal, axis=0),
            Flag.SPLIT: self.split,
            Flag.DERIVED_LOW: self.band == LOW,
            Flag.SINGLE_JUROR: ~self.stopped & (self.returned == 1),
        }
        found: Ints = np.bitwise_or.reduce([np.where(at, int(bit), 0) for bit, at in where.items()])
        return found


def verdicts_of(verdicts: Sequence[Verdict]) -> Verdicts:
    return Verdicts(sheet_of(verdicts))
