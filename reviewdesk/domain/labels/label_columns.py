"""The labelled verdicts of a run as columns, so that many are counted at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.rows import COPY, TRUTH, TRUTHS, UNSEEN, RunFigures, chosen_source
from reviewdesk.domain.labels.sampling import (
    FIRST_REST,
    STRATA,
    decided_strata,
    empty_strata,
    gaps,
    run_design,
)
from reviewdesk.domain.query.words import CODES
from reviewdesk.domain.records import Calibration, Design, DrawGap, Metrics, Truth
from reviewdesk.domain.stats.calibration import Ints, Rows, counters_of
from reviewdesk.domain.stats.correction import CorrectionStatus, Counters
from reviewdesk.domain.stats.dense import Bools, Floats

ESCALATED_ONLY = "describes escalated verdicts only"


class RunCounts(Struct, frozen=True):
    """Counts over the labelled contents of a run, independent of their draw.

    A content with several verdicts is ``usable`` or ``decided`` if one of them is.
    """

    every: Counters
    """The rows of all labelled verdicts, at weight 1."""
    labelled: int
    usable: int
    decided: int
    no_verdict: int
    truths: Mapping[Truth, int]


def calibration_of(
    figures: RunFigures,
    source: str,
    found: RunCounts,
    counted: Mapping[int, int],
    weighted: Callable[[], Counters],
    gaps: tuple[DrawGap, ...] = (),
) -> Calibration:
    """Compute both lines; ``weighted`` counts the rows by the draw, if the design stands.

    ``counted`` is how many labels of each stratum count; the others wait behind ``gaps``.
    """
    design = run_design(found.usable, figures.sizes, counted, figures.decided)
    empty = empty_strata(figures.sizes, counted, figures.decided)
    line = found.every.metrics(figures.observed)
    population = weighted().metrics(figures.observed) if design.stands else None
    shown = population or line
    warnings = []
    if shown.n == 0:
        warnings.append("no labels yet: ECE is 0 by definition, not by merit")
    if design is Design.ESCALATED_ONLY:
        warnings.append(coverage_text(empty, figures))
    if design is Design.AD_HOC:
        warnings.append("labels outside the draw: they describe themselves only")
    warnings += left_out_warnings(found.decided - line.n) + one_class_warnings(shown)
    if shown.n and shown.corrected_status == CorrectionStatus.WEAK_JUDGE:
        # Rounded, because sums in another order differ in their last bits.
        youden = round(shown.youden_j or 0.0, 9)
        warnings.append(f"too close to guessing to correct: Youden's J is {youden:.2f}")
    if shown.n and shown.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        warnings.append("the judge carries no signal: the observed rate is left as it is")
    return Calibration(
        labelled=line,
        population=population,
        design=design,
        confidence_source=source,
        unsure=found.truths.get(Truth.UNSURE, 0),
        disputed=found.truths.get(Truth.DISPUTED, 0),
        no_verdict=found.no_verdict,
        rowless=found.labelled - line.n,
        waiting=line.n - population.n if population else 0,
        warnings=tuple(warnings),
        gaps=gaps,
    )


def left_out_warnings(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count} labelled verdicts have no confidence of this kind and are left out"]


def one_class_warnings(line: Metrics) -> list[str]:
    """Return warnings about rates that are 0 by convention, as no label is of their class."""
    if not line.n or line.tp is None:
        return []
    found = []
    if not (line.tp + (line.fn or 0)):
        found.append("no label says pass: sensitivity is 0 by convention")
    if not ((line.tn or 0) + (line.fp or 0)):
        found.append("no label says fail: specificity is 0 by convention")
    return found


def coverage_text(empty: Sequence[int], figures: RunFigures) -> str:
    """Return what the figures describe while the ``empty`` strata have no label that counts."""
    held = decided_strata(figures.sizes, figures.decided)
    rest, flagged = ([h for h in held if (h >= FIRST_REST) is side] for side in (True, False))
    if set(rest) <= set(empty) and not set(flagged) <= set(empty):
        return ESCALATED_ONLY
    names = ", ".join(STRATA[h] for h in empty)
    return f"describes the labelled groups only, none yet in {names}"


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
        """Return for each content whether ``found`` is true for one of its entries."""
        if not len(found):
            return found
        made: Bools = np.logical_or.reduceat(found[self.order], self.bounds[:-1])
        return made


@dataclass(frozen=True)
class LabelColumns:
    """One entry for each labelled verdict, by ascending ``key``; a missing number is NaN.

    ``mark`` is the byte of its label, ``decision`` an index into ``CODES``, -1 for none. The
    properties give for every entry what those of ``LabelledRow`` and its place give for one.
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
        """Return columns without labels."""
        kinds: dict[str, Any] = {"key": np.int64, "mark": np.uint8, "decision": np.int8}
        kinds |= dict.fromkeys(("score", "stated_score", "confidence"), np.float64)
        kinds |= dict.fromkeys(("passes", "answered", "stratum", "rank"), np.int32)
        return LabelColumns(**{name: np.empty(0, kind) for name, kind in kinds.items()})

    def following(
        self, marks: bytearray, first: int, read: Callable[[bytearray], Mapping[str, Any]]
    ) -> LabelColumns:
        """Return the columns of the labels that stand now, given the marks of consecutive keys.

        ``read`` returns the facts of verdicts by their marks; it is called for those that are new.
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
        return len(self.key)

    def is_truth(self, *truths: Truth) -> Bools:
        return np.isin(self.mark & TRUTH, [TRUTHS.index(truth) for truth in truths])

    @property
    def seen(self) -> Bools:
        found: Bools = self.mark & UNSEEN == 0
        return found

    @property
    def passed(self) -> Bools:
        found: Bools = self.decision == _PASS
        return found

    @property
    def judged(self) -> Bools:
        return np.isin(self.decision, (_PASS, _FAIL))

    @property
    def decided(self) -> Bools:
        found: Bools = self.judged & self.is_truth(Truth.PASS, Truth.FAIL)
        return found

    @property
    def counts(self) -> Bools:
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
        """The entries by content; those of one content share a place in the draw."""
        if not np.any(self.mark & COPY):
            every = np.arange(len(self) + 1)
            return Contents(every[:-1], every[:-1], every)
        codes = self.rank.astype(np.int64) * len(STRATA) + self.stratum
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        # In file order, which is the order of the entries.
        number = np.argsort(np.argsort(first))[place.reshape(-1)]
        order = np.argsort(number, kind="stable")
        return Contents(number, order, np.searchsorted(number[order], np.arange(len(first) + 1)))

    def rows(self, source: str, *, scores_stated: bool, where: Bools | None = None) -> Rows:
        """Return the rows of the entries that give one, each at weight 1."""
        sure = self.confidences(source, scores_stated=scores_stated)
        kept = self.decided & ~np.isnan(sure)
        kept = kept if where is None else kept & where
        right = self.passed == self.is_truth(Truth.PASS)
        several = len(self.contents.bounds) <= len(self)
        content = self.contents.number[kept] if several else None
        return Rows(sure[kept], right[kept], np.ones(int(kept.sum())), self.passed[kept], content)


def strip_lines(figures: RunFigures, found: LabelColumns, source: str | None = None) -> Calibration:
    """Return both lines of the strip: the labels alone, and the population if it is defined.

    They equal ``summary.summarise`` of the same verdicts: words and counts exactly, floats to
    1e-12. ``source`` replaces the run's own confidence mapping.
    """
    used = chosen_source(figures, source)
    leads = found.contents.order[found.contents.bounds[:-1]]
    ends: dict[int, tuple[int, int]] = {}
    counted: dict[int, int] = {}
    inside: dict[int, Counters] = {}
    for h in np.unique(found.stratum).tolist():
        contents = np.flatnonzero((found.stratum[leads] == h) & found.seen[leads])
        ranks = np.sort(found.rank[leads[contents]].astype(np.int64))
        end = int(np.argmin(np.append(ranks, -1) == np.arange(len(ranks) + 1)))
        ends[h] = end, len(ranks)
        held = np.zeros(len(leads), dtype=np.bool_)
        held[contents[found.rank[leads[contents]] < end]] = True
        if count := int((found.contents.any_of(found.counts) & held).sum()):
            counted[h] = count
            where = held[found.contents.number]
            rows = found.rows(used, scores_stated=figures.scores_stated, where=where)
            inside[h] = counters_of(rows)
    codes = np.bincount(found.mark[leads] & TRUTH, minlength=len(TRUTHS)).tolist()
    strata = np.isin(found.stratum, decided_strata(figures.sizes, figures.decided))
    counts = RunCounts(
        every=counters_of(found.rows(used, scores_stated=figures.scores_stated)),
        labelled=len(leads),
        usable=int(found.contents.any_of(found.decided & strata).sum()),
        decided=int(found.contents.any_of(found.decided).sum()),
        no_verdict=len(leads) - int(found.contents.any_of(found.judged).sum()),
        truths={truth: n for truth, n in zip(TRUTHS, codes, strict=True) if truth},
    )
    return calibration_of(
        figures,
        used,
        counts,
        counted,
        lambda: Counters.blend((inside[h], figures.sizes[h] / n) for h, n in counted.items()),
        gaps(ends),
    )


def labelled_alone(found: LabelColumns) -> Metrics:
    """Return the figures for a blind session, which depend on the labelled verdicts alone.

    They equal those of ``summary.alone``.
    """
    stated = bool((~np.isnan(found.stated_score)).any())
    score = found.stated_score if stated else found.score
    scoreless = bool((found.judged & np.isnan(score)).any())
    source, by_stated = ("vote_share", False) if scoreless else ("support", stated)
    return counters_of(found.rows(source, scores_stated=by_stated)).metrics()
