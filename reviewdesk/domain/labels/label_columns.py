"""The labelled verdicts of a run as columns, weighed by the draw, and the rows that they give."""

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import (
    COPY,
    FIRST_REST,
    NOT_STATED,
    STRATA,
    TRUTH,
    TRUTHS,
    UNSEEN,
    Decided,
    LabelledRow,
    RunFigures,
    chosen_source,
    decided_strata,
    decided_verdicts,
    design_of,
)
from reviewdesk.domain.query.words import CODES
from reviewdesk.domain.records import Calibration, Design, DrawGap, Metrics, Truth
from reviewdesk.domain.stats.calibration import Clusters, Rows, measure, numbered
from reviewdesk.domain.stats.correction import CELLS, Cells, CorrectionStatus
from reviewdesk.domain.stats.dense import Bools, Column, Floats, Ints
from reviewdesk.domain.stats.figures import Estimate, LabelSpread, Rates, Target
from reviewdesk.domain.stats.rates import Voted, stratified_rates

ESCALATED_ONLY = "describes escalated verdicts only"


def row_warnings(left_out: int, line: Metrics) -> list[str]:
    """Warn of verdicts without a confidence, and of rates that are 0 for want of labels."""
    found = []
    if left_out:
        text = f"{left_out} labelled verdicts have no confidence of this kind and are left out"
        found.append(text)
    if line.n and line.tp is not None:
        if not (line.tp + (line.fn or 0)):
            found.append("no label says pass: sensitivity is 0 by convention")
        if not ((line.tn or 0) + (line.fp or 0)):
            found.append("no label says fail: specificity is 0 by convention")
    return found


class Weighing(Struct, frozen=True):
    """The weight of each labelled verdict (0 if it does not count) and the design of the labels."""

    weights: Floats
    drawn: Bools
    """Whether each verdict's content lies in a labelled prefix; the others are ad hoc."""
    inclusion: Floats
    """The chance with which each verdict's content is among the labels that count."""
    ends: dict[int, int]
    counted: Counter[int]
    """The number of pass and fail labels in each stratum's prefix."""
    empty: tuple[int, ...]
    design: Design
    gaps: tuple[DrawGap, ...]
    """Where labels wait, the most first."""


_DECISIONS = CODES["decision"]
PASS = _DECISIONS.index("pass")
FAIL = _DECISIONS.index("fail")
_SHARES = ("score", "stated_score", "confidence")
_COUNTS = ("passes", "answered", "stratum", "rank")


@dataclass(frozen=True)
class LabelColumns:
    """One entry for each labelled verdict, by ascending ``key``; a missing number is NaN.

    ``mark`` is its label's byte, ``decision`` an index into ``CODES``, -1 for none. The properties
    give for all entries what those of ``LabelledRow`` give for one.
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
    test: Column | None = None
    """The number of the case; like ``content``, ``None`` if all differ."""

    @staticmethod
    def of(found: Mapping[str, Any]) -> "LabelColumns":
        """Build the columns from arrays in which infinity stands for a missing number."""
        columns = {name: np.frombuffer(one, one.typecode) for name, one in found.items()}
        for name in _SHARES:
            columns[name] = np.where(np.isinf(columns[name]), np.nan, columns[name])
        return LabelColumns(**columns)

    @staticmethod
    def of_rows(rows: Sequence[LabelledRow]) -> "LabelColumns":
        content = numbered([one.content for one in rows])
        shared = COPY * (content is not None)
        marks = [TRUTHS.index(one.truth) | UNSEEN * (not one.seen) | shared for one in rows]
        none = len(_DECISIONS)
        decided = [_DECISIONS.index(one.decision) if one.decision else none for one in rows]
        columns: dict[str, Any] = {
            # A missing number becomes NaN.
            name: np.array([getattr(one, name) for one in rows], kind)
            for kind, names in ((np.int64, ("key", *_COUNTS)), (np.float64, _SHARES))
            for name in names
        }
        return LabelColumns(
            mark=np.array(marks, np.uint8),
            decision=np.array(decided, np.int8),
            content=content,
            test=numbered([one.test or one.content for one in rows]),
            **columns,
        )

    def following(
        self, marks: bytearray, first: int, read: Callable[[bytearray], Mapping[str, Any]]
    ) -> "LabelColumns":
        """Return the columns of the labels that stand now; ``read`` gives the facts of new ones."""
        held = np.frombuffer(marks, np.uint8)
        known = np.zeros(len(marks), np.bool_)
        places = self.key - first
        stays = held[places] > 0
        known[places] = True
        fresh = bytearray(np.where(known, 0, held).tobytes())
        added = LabelColumns.of(read(fresh)) if any(fresh) else LabelColumns.of_rows(())
        every = np.concatenate([self.key[stays], added.key])
        order = np.argsort(every, kind="stable")
        columns = {
            name: np.concatenate([getattr(self, name)[stays], getattr(added, name)])[order]
            for name in self.__dataclass_fields__
            if name not in ("content", "test")
        }
        return LabelColumns(**{**columns, "mark": held[every[order] - first]})

    def __len__(self) -> int:
        return len(self.key)

    def at(self, rows: Sequence[int] | Ints) -> "LabelColumns":
        kept = np.asarray(rows, np.int64)
        some: dict[str, Any] = {
            name: None if (one := getattr(self, name)) is None else one[kept]
            for name in self.__dataclass_fields__
        }
        return LabelColumns(**some)

    def with_truths(self, found: Bools, good: Bools) -> "LabelColumns":
        """Return the columns with the truth of the ``found`` entries: a pass if ``good``."""
        truth = np.where(good, TRUTHS.index(Truth.PASS), TRUTHS.index(Truth.FAIL))
        mark = np.where(found, self.mark - (self.mark & TRUTH) + truth, self.mark)
        return dataclasses.replace(self, mark=mark)

    def is_truth(self, *truths: Truth) -> Bools:
        return np.isin(self.mark & TRUTH, [TRUTHS.index(truth) for truth in truths])

    @property
    def passed(self) -> Bools:
        return np.asarray(self.decision == PASS)

    @property
    def judged(self) -> Bools:
        return np.isin(self.decision, (PASS, FAIL))

    @property
    def decided(self) -> Bools:
        return self.judged & self.is_truth(Truth.PASS, Truth.FAIL)

    @property
    def unanswered(self) -> Bools:
        """Whether the panel decided, but the label says neither pass nor fail: a non-response."""
        return self.judged & self.is_truth(Truth.UNSURE, Truth.DISPUTED)

    @property
    def right(self) -> Bools:
        return np.asarray(self.passed == self.is_truth(Truth.PASS))

    @property
    def cell(self) -> Ints:
        return np.where(self.is_truth(Truth.PASS), ~self.passed, 2 + self.passed).astype(np.int64)

    @property
    def counts(self) -> Bools:
        apart = self.stratum % FIRST_REST == 2
        return np.asarray(self.is_truth(Truth.PASS, Truth.FAIL) & (self.judged | apart))

    def confidences(self, source: str, *, scores_stated: bool) -> Floats:
        """Return how sure the panel is of each decision, by one declared mapping; NaN if unknown.

        ``support`` is the score of a pass, and 1 less the score of a fail; ``vote_share`` the share
        of votes for the decision; ``score`` the score; ``reported`` the mean that jurors report.
        """
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
    def units(self) -> tuple[Ints, Ints]:
        """The place in the draw of each entry as a number, and the first entry at each place."""
        return self._distinct(self.rank.astype(np.int64) * len(STRATA) + self.stratum)

    @cached_property
    def contents(self) -> tuple[Ints, Ints]:
        """The content (else place) of each entry as a number, and each content's first entry."""
        return self.units if self.content is None else self._distinct(self.content)

    def _distinct(self, codes: Ints) -> tuple[Ints, Ints]:
        if not np.any(self.mark & COPY):
            every = np.arange(len(self))
            return every, every
        _, leads, number = np.unique(codes, return_index=True, return_inverse=True)
        return number.reshape(-1), leads

    def any_of(self, found: Bools, of: tuple[Ints, Ints] | None = None) -> Bools:
        """Return for each content, or each of ``of``, if ``found`` is true for an entry of it."""
        number, leads = of or self.contents
        return np.bincount(number, found, minlength=len(leads)) > 0

    def rows(self, source: str, *, scores_stated: bool) -> tuple[Rows, Ints]:
        """Return the rows of the entries that give one, each at weight 1, and their entries."""
        sure = self.confidences(source, scores_stated=scores_stated)
        kept = np.flatnonzero(self.decided & ~np.isnan(sure))
        number, leads = self.contents
        content = number[kept] if len(leads) < len(self) else None
        return Rows(
            sure[kept], self.right[kept], np.ones(len(kept)), self.passed[kept], content
        ), kept

    def own_rows(self, source: str | None = None) -> tuple[Rows, Ints]:
        """Return rows and entries, with a confidence chosen by the labelled verdicts alone."""
        stated = bool((~np.isnan(self.stated_score)).any())
        score = self.stated_score if stated else self.score
        scoreless = bool((self.judged & np.isnan(score)).any())
        source = source or ("vote_share" if scoreless else "support")
        return self.rows(source, scores_stated=stated)

    def prefixes(self) -> dict[int, tuple[int, int]]:
        """Return by stratum how many first places are all labelled, and how many labels it has."""
        _, leads = self.units
        seen = self.mark[leads] & UNSEEN == 0
        found = {}
        # Not np.unique, whose first call imports numpy.ma for 15 ms.
        for h in np.flatnonzero(np.bincount(self.stratum)).tolist():
            ranks = np.sort(self.rank[leads[(self.stratum[leads] == h) & seen]])
            end = np.argmin(np.append(ranks, -1) == np.arange(len(ranks) + 1))
            found[h] = int(end), len(ranks)
        return found

    def weigh(self, sizes: Mapping[int, int], decided: Decided = NOT_STATED) -> Weighing:
        """Weigh the pass and fail labels in each stratum's labelled prefix by ``N_h / m_h``.

        Others weigh 0. ``m_h`` counts the contents in the prefix with a pass or fail label: unsure
        and disputed labels, and those of undecided verdicts in decided strata, extend the prefix
        without counting. ``sizes`` is N_h. Where an older version drew verdicts, a content with
        several weighs ``1/(1 - Π_h C(N_h - n_h, k_h)/C(N_h, k_h))``, k_h the length of the prefix
        and n_h the number of its verdicts in the stratum, times ``k_h/m_h`` for non-responses.
        """
        found = self.prefixes()
        ends = {h: end for h, (end, _) in found.items()}
        every = range(len(STRATA))
        unit, leads = self.units
        strata = self.stratum[leads]
        inside = self.rank[leads] < np.array([ends.get(h, 0) for h in every])[strata]
        counting = inside & self.any_of(self.counts, self.units)
        counted = Counter(dict(enumerate(np.bincount(strata[counting]).tolist())))
        each = np.array([sizes.get(h, 0) / counted[h] if counted[h] else 0.0 for h in every])
        weight = each[self.stratum]
        drawn = inside[unit]
        content, first = self.contents
        if len(first) < len(leads):
            held = defaultdict[int, Counter[int]](Counter)
            for one, place in {*zip(content.tolist(), unit.tolist(), strict=True)}:
                held[one][int(strata[place])] += 1
            for one, n in held.items():
                if n.total() > 1:
                    missed = math.prod(
                        (sizes[h] - ends[h] - i) / (sizes[h] - i) for h in n for i in range(n[h])
                    )
                    answered = sum(n[h] for h in n if counted[h])
                    asked = sum(n[h] * ends[h] / counted[h] for h in n if counted[h])
                    known = answered and missed < 1
                    weight[content == one] = asked / answered / (1 - missed) if known else 0.0
            drawn = self.any_of(drawn)[content]
        inclusion = np.divide(1, weight, out=np.zeros(len(self)), where=weight > 0)
        strata_of = decided_strata(sizes, decided)
        usable = self.any_of(self.decided & np.isin(self.stratum, strata_of), self.units).sum()
        gaps = [
            DrawGap(h, end, many - end)
            for h, (end, many) in found.items()
            if many > end and h in strata_of
        ]
        return Weighing(
            weight * (drawn & self.counts),
            drawn,
            inclusion,
            ends,
            counted,
            tuple(h for h in strata_of if not counted[h]),
            design_of(int(usable), {h: sizes[h] for h in strata_of}, counted),
            tuple(sorted(gaps, key=lambda gap: (-gap.waiting, gap.stratum))),
        )

    def scaled(self, given: Floats, sizes: Mapping[int, int]) -> Floats:
        """Return the ``given`` weights scaled to the sizes of strata; NaN counts as the average."""
        number, leads = self.units
        answered = self.any_of(~self.unanswered, self.units)
        weight = np.zeros(len(leads))
        for h in np.flatnonzero(np.bincount(self.stratum)).tolist():
            mine = np.flatnonzero(answered & (self.stratum[leads] == h))
            known = [one for one in given[leads[mine]].tolist() if not math.isnan(one)]
            usual = sum(known) / len(known) if known else 1.0
            some = np.nan_to_num(given[leads[mine]], nan=usual)
            weight[mine] = some * (sizes[h] / sum(some.tolist())) if len(mine) else some
        return np.asarray(weight[number])


NO_LABEL = "no label that counts for the draw says pass or fail"


@dataclass(frozen=True)
class LabelledRows:
    """Labels of a run as columns, with their draw, and the rows that some of them give.

    ``labelled`` has the verdicts of the columns, if they are known one by one. ``given`` has stated
    weights, which replace those of the draw, and NaN for an item without one.
    """

    columns: LabelColumns
    figures: RunFigures
    source: str
    weighing: Weighing
    labelled: Sequence[LabelledRow] = ()
    given: Sequence[float] | None = None

    @cached_property
    def _kept(self) -> tuple[Rows, Ints]:
        return self.columns.rows(self.source, scores_stated=self.figures.scores_stated)

    @property
    def rows(self) -> Rows:
        return self._kept[0]

    @property
    def places(self) -> Ints:
        return self._kept[1]

    @cached_property
    def verdicts(self) -> list[LabelledRow]:
        return [self.labelled[place] for place in self.places.tolist()]

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The entry of each verdict in the columns, by key."""
        return {key: at for at, key in enumerate(self.columns.key.tolist())}

    @cached_property
    def weights(self) -> Floats:
        return np.asarray(self.weighing.weights[self.places])

    @property
    def left_out(self) -> int:
        return int(self.columns.decided.sum()) - len(self.places)

    @cached_property
    def counting(self) -> Bools:
        """Whether each label counts: it says pass or fail of a decided verdict, and has weight."""
        return (self.weighing.weights > 0) & self.columns.decided

    @property
    def in_audit(self) -> Bools:
        audits = np.array([self.figures.audits.get(h, 0) for h in range(len(STRATA))])
        return np.asarray(self.columns.rank < audits[self.columns.stratum])

    @cached_property
    def clusters(self) -> Clusters | None:
        """The labels that count by content and case; ``None`` if no two verdicts share one."""
        columns = self.columns.at(np.flatnonzero(self.counting))
        content = columns.contents[0]
        test = content if columns.test is None else columns.test
        weight = self.weighing.weights[self.counting]
        return Clusters.of(columns.stratum, content, test, weight, columns.cell)

    @cached_property
    def voted(self) -> tuple[Voted, ...]:
        """The panel's decisions per decided stratum, with the labels that count."""
        sizes = self.figures.sizes
        decided = self.figures.decided
        clusters = self.clusters
        columns = self.columns
        kept = columns.decided & self.weighing.drawn
        code = (columns.stratum * len(CELLS) + columns.cell)[kept]
        cells = np.bincount(code, minlength=len(STRATA) * len(CELLS)).reshape(-1, len(CELLS))
        made = []
        for h in sorted(decided_strata(sizes, decided)):
            found = Cells(*cells[h].tolist())
            spread = None
            if clusters is not None and clusters.repeated:
                found, spread = clusters.of_stratum(h)
            passes, fails = decided_verdicts(h, sizes[h], decided)
            if not found.n and passes + fails != sizes[h]:
                spread = LabelSpread(sizes[h], 0, 0, passes + fails)
            made.append(Voted(h, passes, fails, found, found, spread))
        return tuple(made)

    def rates(self, target: Target) -> Rates:
        return stratified_rates(self.voted, target, self.clusters)

    def share(self, name: str, target: Target = Target.RUN) -> Estimate:
        """Return one of the rates to quote, or the reason that it is lacking."""
        lacking = self.described
        if not any(one.labels for one in self.voted):
            return Estimate(None, reason=lacking or NO_LABEL)
        found: Estimate = getattr(self.rates(target), name)
        return replace(found, reason=lacking) if lacking and found.estimate is None else found

    @cached_property
    def described(self) -> str | None:
        """What the labels describe while some decided stratum has none that counts."""
        empty = self.weighing.empty
        if self.weighing.design in {Design.NONE, Design.AD_HOC} or not empty:
            return None
        held = decided_strata(self.figures.sizes, self.figures.decided)
        rest, flagged = ({h for h in held if (h >= FIRST_REST) is side} for side in (True, False))
        if rest <= {*empty} and not flagged <= {*empty}:
            return ESCALATED_ONLY
        names = ", ".join(STRATA[h] for h in empty)
        return f"describes the labelled groups only, none yet in {names}"

    @cached_property
    def lines(self) -> Calibration:
        """The labels' line, and the population's if the design is weighted or a census."""
        columns = self.columns
        design = self.weighing.design
        line = measure(self.rows, self.figures.observed)
        population = measure(self.headline, self.figures.observed) if design.stands else None
        shown = population or line
        warnings = []
        if shown.n == 0:
            warnings.append("no label counts, so the ECE of 0 says nothing")
        if design is Design.ESCALATED_ONLY and self.described:
            warnings.append(self.described)
        if design is Design.AD_HOC:
            warnings.append("labels outside the draw: they describe themselves only")
        warnings += row_warnings(int(columns.any_of(columns.decided).sum()) - line.n, shown)
        if shown.n and shown.corrected_status == CorrectionStatus.WEAK_JUDGE:
            # Rounded, because sums in another order differ in their last bits.
            youden = round(shown.youden_j or 0.0, 9)
            warnings.append(
                f"too close to guessing to correct its pass rate: Youden's J is {youden:.2f}"
            )
        if shown.n and shown.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL:
            warnings.append("the judge is no better than guessing: its pass rate is not corrected")
        _, leads = columns.contents
        truths = np.bincount(columns.mark[leads] & TRUTH, minlength=len(TRUTHS)).tolist()
        return Calibration(
            labelled=line,
            population=population,
            design=design,
            confidence_source=self.source,
            unsure=truths[TRUTHS.index(Truth.UNSURE)],
            disputed=truths[TRUTHS.index(Truth.DISPUTED)],
            no_verdict=len(leads) - int(columns.any_of(columns.judged).sum()),
            waiting=line.n - population.n if population else 0,
            warnings=tuple(warnings),
            gaps=self.weighing.gaps,
        )

    @cached_property
    def headline(self) -> Rows:
        return self.rows.weighted(self.weights) if self.weighing.design.stands else self.rows

    def either_answer(self, *, as_label: bool = False) -> "tuple[LabelledRows, ...]":
        """Return the rows with the panel wrong on every unanswered item of the draw, then right.

        ``as_label`` makes every such item a fail, then a pass. Without any, return ().
        """
        columns = self.columns
        asked = columns.unanswered
        if self.weighing.design.stands:
            asked = asked & self.weighing.drawn
        if not asked.any():
            return ()
        found = []
        for answer in (False, True):
            good = np.full(len(columns), answer) if as_label else columns.passed == answer
            answered = columns.with_truths(asked, good)
            found.append(weigh(answered, self.figures, self.source, self.given))
        return tuple(found)


def make_rows(
    labelled: Sequence[LabelledRow],
    figures: RunFigures,
    source: str | None = None,
    given: Sequence[float] | None = None,
) -> LabelledRows:
    """Build the rows behind every figure; ``source`` replaces the run's own confidence mapping."""
    return weigh(LabelColumns.of_rows(labelled), figures, source, given, labelled)


def weigh(
    columns: LabelColumns,
    figures: RunFigures,
    source: str | None = None,
    given: Sequence[float] | None = None,
    labelled: Sequence[LabelledRow] = (),
) -> LabelledRows:
    """Weigh the labels of a run by its draw, or by the ``given`` weights; see ``LabelledRows``."""
    weighing = columns.weigh(figures.sizes, figures.decided)
    if given is not None:
        weights = columns.scaled(np.array(given, np.float64), figures.sizes)
        weighing = replace(weighing, weights=weights)
    source = chosen_source(figures, source)
    return LabelledRows(columns, figures, source, weighing, labelled, given)
