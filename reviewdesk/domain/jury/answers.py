"""What the jurors of many verdicts said: scores, votes or labels, and how labels are counted."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np

from reviewdesk.domain.enums import Regime
from reviewdesk.domain.jury.label_rules import (
    DISAGREE,
    LabelBallots,
    LabelCount,
    count_labels,
    firsts,
)
from reviewdesk.domain.jury.label_words import LABEL_RULES
from reviewdesk.domain.jury.panels import Panels
from reviewdesk.domain.jury.sheet import Sheet
from reviewdesk.domain.jury.strategies import STRATEGIES as METHODS
from reviewdesk.domain.jury.strategies import Reads
from reviewdesk.domain.run.columns import NOTHING, STRATEGIES, Bools, Ints, Small
from reviewdesk.domain.stats.dense import counted
from reviewdesk.domain.verdict import Strategy


class Answers:
    """The answers of n verdicts, ``[n]``, and of their seats, ``[s, n]``."""

    def __init__(self, sheet: Sheet) -> None:
        """Keep what was read; compute nothing yet."""
        self.sheet = sheet
        self.panels = Panels(sheet.columns, exact=True)

    def at(self, rows: Ints) -> Self:
        """Return some of the verdicts."""
        return type(self)(self.sheet.at(rows))

    @property
    def used(self) -> Small:
        """The strategy that decides each verdict; -1 where a person or nobody does."""
        return self.panels.used

    def uses(self, strategy: Strategy) -> Bools:
        """Return which verdicts a strategy decides."""
        found: Bools = self.used == STRATEGIES.index(strategy)
        return found

    @cached_property
    def disputed(self) -> Bools:
        return self.sheet.of_policy([one.regime == Regime.DISPUTE for one in self.sheet.facts])

    @cached_property
    def stopped(self) -> Bools:
        """Whether a panel stopped before it had asked every juror."""
        found: Bools = np.logical_or.reduce(self.sheet.columns.not_asked, axis=0, dtype=np.bool_)
        return found

    @cached_property
    def returned(self) -> Ints:
        return counted(self.sheet.usable).astype(np.int64)

    # Labels

    @cached_property
    def labelled(self) -> Ints:
        """How many jurors answered with a label."""
        found: Ints = (self.sheet.labels.code != NOTHING).sum(axis=0)
        return found

    @cached_property
    def declares(self) -> Bools:
        return self.sheet.of_policy([one.declares for one in self.sheet.facts])

    @cached_property
    def said(self) -> Bools:
        """The seats whose labels are what their jurors said; none where votes or scores are.

        That is so if the panel declares its labels. It is also so if every usable ballot has a
        label and one of them has no vote of pass or fail: to compare the votes of the others alone
        would leave out what that juror said.
        """
        columns = self.sheet.columns
        there = self.sheet.labels.code != NOTHING
        undetermined = ~np.isnan(columns.scores) & ~columns.withheld
        voteless = (there & (columns.votes == NOTHING) & ~undetermined).any(axis=0)
        every = voteless & (self.labelled >= self.returned)
        marks: Bools = there & (self.declares | every)
        return marks

    @cached_property
    def says(self) -> Bools:
        """Whether labels are what the jurors said."""
        found: Bools = np.logical_or.reduce(self.said, axis=0, dtype=np.bool_)
        return found

    @cached_property
    def kinds(self) -> Ints:
        """How many different labels the jurors said."""
        if not self.says.any():
            return np.zeros(len(self.sheet), np.int64)
        codes = np.where(self.said, self.sheet.labels.code, NOTHING)
        found: Ints = firsts(codes).sum(axis=0)
        return found

    def recounted(
        self, strategy: Strategy | None, labels: LabelBallots
    ) -> tuple[Bools, LabelCount]:
        """Return for which verdicts a strategy counts labels, and the counts.

        Labels that the panel declares decide under every rule that can count them. Otherwise
        majorities and unanimity count labels if no juror gave a score or a vote; beside scores or
        votes they count labels only if the report states a consensus label that its ballots could
        have given. A panel that states how it counts labels gives its fallback if no juror
        answered. All verdicts have one policy.
        """
        fact = self.sheet.facts[int(self.sheet.place[0])]
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
            within = np.isin(
                stated, [labels.words.code(word) for word in (rules.fallback, DISAGREE)]
            )
            within |= (there & (labels.code == stated)).any(axis=0)
            counts = counts & (~cast | within)
        return np.where(there.any(axis=0), counts, silent), found
