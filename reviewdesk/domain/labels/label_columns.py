"""The labelled verdicts of a run as columns, so that many are counted at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.sampling import (
    COPY,
    FIRST_REST,
    STRATA,
    TRUTH,
    TRUTHS,
    UNSEEN,
    LabelledRow,
    RunFigures,
    Weighing,
    chosen_source,
    decided_strata,
    design_of,
    gaps,
)
from reviewdesk.domain.query.words import CODES
from reviewdesk.domain.records import Calibration, Design, DrawGap, Metrics, Truth
from reviewdesk.domain.stats.calibration import Ints, Rows, counters_of
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.dense import Bools, Floats

ESCALATED_ONLY = "describes escalated verdicts only"


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


_SHARES = ("score", "stated_score", "confidence")
_COUNTS = ("passes", "answered")


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
    content: Column | None = None

    @staticmethod
    def of(found: Mapping[str, Any]) -> LabelColumns:
        """Build the columns from arrays in which infinity stands for a missing number."""
        columns = {name: np.frombuffer(one, one.typecode) for name, one in found.items()}
        for name in _SHARES:
            columns[name] = np.where(np.isinf(columns[name]), np.nan, columns[name])
        return LabelColumns(**columns)

    @staticmethod
    def of_rows(rows: Sequence[LabelledRow]) -> LabelColumns:
        """Arrange labelled verdicts, in their order."""
        places = [one.place for one in rows]
        contents: dict[object, int] = {}
        content = [contents.setdefault(one.content or one.unit, len(contents)) for one in places]
        codes = [TRUTHS.index(one.truth) | UNSEEN * (not one.seen) for one in places]
        mark = np.array(codes, np.uint8)
        if len(contents) < len(rows):
            mark |= COPY
        none = len(_DECISIONS)
        decided = [_DECISIONS.index(one.decision) if one.decision else none for one in rows]
        columns: dict[str, Any] = {}
        for name in ("key", *_COUNTS):
            columns[name] = np.array([getattr(one, name) for one in rows], np.int64)
        for name in ("stratum", "rank"):
            columns[name] = np.array([getattr(one, name) for one in places], np.int64)
        for name in _SHARES:
            # A missing number becomes NaN.
            columns[name] = np.array([getattr(one, name) for one in rows], np.float64)
        return LabelColumns(
            mark=mark,
            decision=np.array(decided, np.int8),
            content=np.array(content, np.int64),
            **columns,
        )

    @staticmethod
    def none() -> LabelColumns:
        """Return columns without labels."""
        kinds: dict[str, Any] = {"key": np.int64, "mark": np.uint8, "decision": np.int8}
        kinds |= dict.fromkeys(_SHARES, np.float64)
        kinds |= dict.fromkeys((*_COUNTS, "stratum", "rank"), np.int32)
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
            if name != "content"
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
    def contents(self) -> tuple[Ints, Ints]:
        """The content of each entry, and the first entry of each content.

        Those of one content share a place in the draw, unless ``content`` tells them.
        """
        if not np.any(self.mark & COPY):
            every = np.arange(len(self))
            return every, every
        codes = self.content
        if codes is None:
            codes = self.rank.astype(np.int64) * len(STRATA) + self.stratum
        _, leads, number = np.unique(codes, return_index=True, return_inverse=True)
        return number.reshape(-1), leads

    def any_of(self, found: Bools) -> Bools:
        """Return for each content whether ``found`` is true for one of its entries."""
        number, leads = self.contents
        made: Bools = np.bincount(number, found, minlength=len(leads)) > 0
        return made

    def rows(self, source: str, *, scores_stated: bool) -> tuple[Rows, Ints]:
        """Return the rows of the entries that give one, each at weight 1, and their entries."""
        sure = self.confidences(source, scores_stated=scores_stated)
        kept = np.flatnonzero(self.decided & ~np.isnan(sure))
        right = self.passed == self.is_truth(Truth.PASS)
        number, leads = self.contents
        content = number[kept] if len(leads) < len(self) else None
        return Rows(sure[kept], right[kept], np.ones(len(kept)), self.passed[kept], content), kept

    @property
    def own_source(self) -> tuple[str, bool]:
        """The confidence mapping of a blind session, and whether scores are the stated ones.

        It depends on the labelled verdicts alone, as a run's own does on all of its verdicts.
        """
        stated = bool((~np.isnan(self.stated_score)).any())
        score = self.stated_score if stated else self.score
        scoreless = bool((self.judged & np.isnan(score)).any())
        return "vote_share" if scoreless else "support", stated

    def weigh(self, sizes: Mapping[int, int]) -> tuple[Floats, dict[int, int], tuple[DrawGap, ...]]:
        """Weigh every entry as ``sampling.weigh`` does, if contents were drawn.

        Return the weights, how many labels of each stratum count, and the gaps.
        """
        ends: dict[int, tuple[int, int]] = {}
        counted: dict[int, int] = {}
        weight = np.zeros(len(self))
        number, leads = self.contents
        counts = self.any_of(self.counts)
        # Not np.unique, whose first call imports numpy.ma for 15 ms.
        for h in np.flatnonzero(np.bincount(self.stratum)).tolist():
            mine = np.flatnonzero((self.stratum[leads] == h) & self.seen[leads])
            ranks = self.rank[leads[mine]].astype(np.int64)
            end = int(np.argmin(np.append(np.sort(ranks), -1) == np.arange(len(mine) + 1)))
            ends[h] = end, len(mine)
            held = np.zeros(len(leads), np.bool_)
            held[mine[ranks < end]] = True
            if count := int((counts & held).sum()):
                counted[h] = count
                weight[held[number] & self.counts] = sizes[h] / count
        return weight, counted, gaps(ends)


def both_lines(
    figures: RunFigures,
    found: LabelColumns,
    source: str | None = None,
    weighing: Weighing | None = None,
) -> Calibration:
    """Return both lines of the strip: the labels alone, and the population if it is defined.

    ``labelled`` weighs every row 1, ``population`` weighs by the draw; it is ``None`` unless the
    design is weighted or a census. ``source`` replaces the run's own confidence mapping, and
    ``weighing`` the weights of the draw, as it must where verdicts were drawn.
    """
    used = chosen_source(figures, source)
    rows, kept = found.rows(used, scores_stated=figures.scores_stated)
    if weighing is None:
        weight, counted, waiting = found.weigh(figures.sizes)
    else:
        weight, counted = np.array(weighing.weights), weighing.counted
        waiting = weighing.gaps
    any_of = found.any_of
    _, leads = found.contents
    strata = {h: figures.sizes[h] for h in decided_strata(figures.sizes, figures.decided)}
    usable = int(any_of(found.decided & np.isin(found.stratum, [*strata])).sum())
    design = design_of(usable, strata, counted)
    line = counters_of(rows).metrics(figures.observed)
    population = None
    if design.stands:
        population = counters_of(rows.weighted(weight[kept])).metrics(figures.observed)
    shown = population or line
    warnings = []
    if shown.n == 0:
        warnings.append("no labels yet: ECE is 0 by definition, not by merit")
    if design is Design.ESCALATED_ONLY:
        warnings.append(coverage_text([h for h in strata if not counted.get(h)], figures))
    if design is Design.AD_HOC:
        warnings.append("labels outside the draw: they describe themselves only")
    warnings += left_out_warnings(int(any_of(found.decided).sum()) - line.n)
    warnings += one_class_warnings(shown)
    if shown.n and shown.corrected_status == CorrectionStatus.WEAK_JUDGE:
        # Rounded, because sums in another order differ in their last bits.
        youden = round(shown.youden_j or 0.0, 9)
        warnings.append(
            f"too close to guessing to correct its pass rate: Youden's J is {youden:.2f}"
        )
    if shown.n and shown.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
        warnings.append("the judge is no better than guessing: its pass rate is not corrected")
    truths = np.bincount(found.mark[leads] & TRUTH, minlength=len(TRUTHS)).tolist()
    return Calibration(
        labelled=line,
        population=population,
        design=design,
        confidence_source=used,
        unsure=truths[TRUTHS.index(Truth.UNSURE)],
        disputed=truths[TRUTHS.index(Truth.DISPUTED)],
        no_verdict=len(leads) - int(any_of(found.judged).sum()),
        rowless=len(leads) - line.n,
        waiting=line.n - population.n if population else 0,
        warnings=tuple(warnings),
        gaps=waiting,
    )


def labelled_alone(found: LabelColumns) -> Metrics:
    """Return the figures for a blind session, which depend on the labelled verdicts alone."""
    source, stated = found.own_source
    return counters_of(found.rows(source, scores_stated=stated)[0]).metrics()
