"""The labelled verdicts of a run as columns, so that many are counted at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.marks import TRUTH, TRUTHS, UNSEEN
from reviewdesk.domain.labels.rows import LabelledRow
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA, LabelledVerdict
from reviewdesk.domain.query.columns import CODES
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Ints, Rows
from reviewdesk.domain.stats.dense import Bools, Floats
from reviewdesk.domain.verdict import Decision

Column = npt.NDArray[Any]
_DECISIONS = CODES["decision"]
_PASS, _FAIL = _DECISIONS.index("pass"), _DECISIONS.index("fail")


class Contents(Struct, frozen=True):
    """The entries of columns by content.

    ``number`` is the content of each entry, in the order of first entries; the entries of content i
    are ``order[bounds[i] : bounds[i + 1]]``.
    """

    number: Ints
    order: Ints
    bounds: Ints

    def any_of(self, found: Bools) -> Bools:
        """Return for each content whether something holds for one of its entries."""
        if not len(found):
            return found
        made: Bools = np.logical_or.reduceat(found[self.order], self.bounds[:-1])
        return made


@dataclass(frozen=True)
class LabelColumns:
    """One entry for each labelled verdict, by ascending ``key``; a missing number is NaN.

    ``mark`` is the byte of its label, ``decision`` an index into ``CODES``, -1 for none. The
    properties say of every entry what those of ``LabelledRow`` and its place say of one.
    """

    key: Column
    mark: Column
    decision: Column
    score: Floats
    stated_score: Floats
    confidence: Floats
    passes: Column
    answered: Column
    stratum: Column
    rank: Column

    @staticmethod
    def of(found: Mapping[str, Any]) -> LabelColumns:
        """Build the columns from arrays in which infinity stands for a missing number."""
        columns = {name: np.frombuffer(one, one.typecode) for name, one in found.items()}
        for name in ("score", "stated_score", "confidence"):
            columns[name] = np.where(np.isinf(columns[name]), np.nan, columns[name])
        return LabelColumns(**columns)

    def __len__(self) -> int:
        """Return the number of labelled verdicts."""
        return len(self.key)

    def is_truth(self, *truths: Truth) -> Bools:
        """Return where the truth is one of some."""
        return np.isin(self.mark & TRUTH, [TRUTHS.index(truth) for truth in truths])

    @property
    def seen(self) -> Bools:
        """Where the response was on screen."""
        found: Bools = self.mark & UNSEEN == 0
        return found

    @property
    def passed(self) -> Bools:
        """Where the panel passed the response."""
        found: Bools = self.decision == _PASS
        return found

    @property
    def judged(self) -> Bools:
        """Where the panel decided pass or fail."""
        return np.isin(self.decision, (_PASS, _FAIL))

    @property
    def decided(self) -> Bools:
        """Where panel and label both say pass or fail."""
        found: Bools = self.judged & self.is_truth(Truth.PASS, Truth.FAIL)
        return found

    @property
    def counts(self) -> Bools:
        """Where the label is a pass or a fail that counts in its stratum."""
        apart = self.stratum % FIRST_REST == 2
        found: Bools = self.is_truth(Truth.PASS, Truth.FAIL) & (self.judged | apart)
        return found

    def confidences(self, source: str, *, scores_stated: bool) -> Floats:
        """Return the panel's confidence in its decision, NaN for none; see ``rows.confidence``."""
        score = self.stated_score if scores_stated else self.score
        if source == "score":
            return score
        if source == "reported":
            return self.confidence
        if source == "vote_share":
            score = np.divide(
                self.passes, self.answered, out=np.full(len(self), np.nan), where=self.answered > 0
            )
        return np.where(self.passed, score, 1 - score)

    @cached_property
    def contents(self) -> Contents:
        """The entries by content, which are those with one place in the draw."""
        codes = self.rank.astype(np.int64) * len(STRATA) + self.stratum
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        # In the order of the file, in which the entries are.
        number = np.argsort(np.argsort(first))[place.reshape(-1)]
        order = np.argsort(number, kind="stable")
        return Contents(number, order, np.searchsorted(number[order], np.arange(len(first) + 1)))

    def rows(self, source: str, *, scores_stated: bool, where: Bools | None = None) -> Rows:
        """Return the rows of those that give one, each at weight 1; see ``rows.row_of``."""
        sure = self.confidences(source, scores_stated=scores_stated)
        kept = self.decided & ~np.isnan(sure)
        kept = kept if where is None else kept & where
        right = self.passed == self.is_truth(Truth.PASS)
        several = len(self.contents.bounds) <= len(self)
        content = self.contents.number[kept] if several else None
        return Rows(sure[kept], right[kept], np.ones(int(kept.sum())), self.passed[kept], content)

    def row(self, at: int) -> LabelledRow:
        """Return one entry without its id and its item, which no count needs."""
        code = int(self.decision[at])
        decision = None if code < 0 else Decision(_DECISIONS[code])
        truth = TRUTHS[int(self.mark[at]) & TRUTH]
        assert truth is not None  # noqa: S101 - every entry has a label
        return LabelledRow(
            key=int(self.key[at]),
            id="",
            item=b"",
            decision=decision,
            score=_number(self.score[at]),
            stated_score=_number(self.stated_score[at]),
            confidence=_number(self.confidence[at]),
            passes=int(self.passes[at]),
            answered=int(self.answered[at]),
            place=LabelledVerdict(
                int(self.stratum[at]),
                int(self.rank[at]),
                truth,
                decision in {Decision.PASS, Decision.FAIL},
                bool(self.seen[at]),
            ),
        )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
