"""The labelled verdicts of a run as columns, so that many are counted at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.marks import COPY, TRUTH, TRUTHS, UNSEEN
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA
from reviewdesk.domain.query.columns import CODES
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Ints, Rows
from reviewdesk.domain.stats.dense import Bools, Floats

Column = npt.NDArray[Any]
_DECISIONS = CODES["decision"]
_PASS = _DECISIONS.index("pass")
_FAIL = _DECISIONS.index("fail")


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

    @staticmethod
    def none() -> LabelColumns:
        """Return the columns of no label."""
        kinds: dict[str, Any] = {"key": np.int64, "mark": np.uint8, "decision": np.int8}
        kinds |= dict.fromkeys(("score", "stated_score", "confidence"), np.float64)
        kinds |= dict.fromkeys(("passes", "answered", "stratum", "rank"), np.int32)
        return LabelColumns(**{name: np.empty(0, kind) for name, kind in kinds.items()})

    def following(
        self, marks: bytearray, first: int, read: Callable[[bytearray], Mapping[str, Any]]
    ) -> LabelColumns:
        """Return the columns of the labels that stand now, given the marks of consecutive keys.

        ``read`` returns the facts of verdicts by their marks; it is asked for those that are new.
        """
        held = np.frombuffer(marks, np.uint8)
        known = np.zeros(len(marks), np.bool_)
        places = self.key - first
        stays = held[places] > 0
        known[places] = True
        fresh = bytearray(np.where(known, 0, held).tobytes())
        added = LabelColumns.of(read(fresh)) if any(fresh) else LabelColumns.none()
        every = np.concatenate([self.key[stays], added.key])
        order = np.argsort(every, kind="stable")
        columns = {
            name: np.concatenate([getattr(self, name)[stays], getattr(added, name)])[order]
            for name in self.__dataclass_fields__
        }
        return LabelColumns(**{**columns, "mark": held[every[order] - first]})

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
        if not np.any(self.mark & COPY):
            every = np.arange(len(self) + 1)
            return Contents(every[:-1], every[:-1], every)
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
