"""Answers a question to a run: draws what to label next, and bets on what the labels say."""

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from reviewdesk.domain.labels.question import Given, QuestionItems, Reply, RunAnswer, RunQuestion
from reviewdesk.domain.labels.sampling import RunFigures, decided_strata
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.stats.figures import Look
from reviewdesk.domain.verdict import SLACK, Decision

GRID = 2_001
"""The most candidates that are tried: totals in a run of fewer contents, shares in a larger one."""
FLOOR = 0.1
"""The part of the chances in proportion to the contents left, so that no stratum starves."""
_PRIOR = 4.0
_SIGNS = np.array([[1.0], [-1.0]])


class DrawnGroup(Struct, frozen=True):
    """One stratum as a question finds it: contents left, and the mean that the votes predict.

    ``known`` contents were labelled before; their values sum to ``low`` if unclear labels count 0,
    and to ``high`` if they count 1.
    """

    left: int
    guess: float
    known: int = 0
    low: float = 0.0
    high: float = 0.0


def shares(left: Mapping[int, float], means: Mapping[int, float]) -> dict[int, float]:
    """Return the chance of each stratum to give the next label.

    Nine tenths are split in proportion to ``R_h·√max(a_h(1-a_h), .01)``, R_h the contents left and
    a_h their predicted mean; a tenth in proportion to R_h.
    """
    spread = {h: n * math.sqrt(_spread(means[h])) for h, n in left.items() if n > 0}
    rest = sum(left[h] for h in spread)
    total = sum(spread.values())
    return {h: (1 - FLOOR) * spread[h] / total + FLOOR * left[h] / rest for h in spread}


def _spread(mean: float) -> float:
    return max(mean * (1 - mean), 0.01)


@dataclass
class Learned:
    """What is left of each stratum, and its predicted mean ``a_h = (k_h + 4 m_h)/(n_h + 4)``."""

    left: dict[int, float]
    sums: dict[int, float]
    counts: dict[int, float]

    @staticmethod
    def of(groups: Mapping[int, DrawnGroup]) -> "Learned":
        return Learned(
            {h: float(one.left) for h, one in groups.items()},
            {h: (one.low + one.high) / 2 + _PRIOR * one.guess for h, one in groups.items()},
            {h: one.known + _PRIOR for h, one in groups.items()},
        )

    def means(self) -> dict[int, float]:
        return {h: total / self.counts[h] for h, total in self.sums.items()}

    def count(self, h: int, value: float) -> None:
        self.sums[h] += value
        self.counts[h] += 1

    def precision(self, size: int, means: Mapping[int, float]) -> float:
        """Return ``(N/R)²/s²``: what the next label adds to the precision of the mean."""
        rest = sum(self.left.values())
        q = shares(self.left, means)
        return (size / rest) ** 2 / _variance(self.left, rest, q, means)

    def ahead(self, size: int, wanted: float, most: int) -> tuple[int, float]:
        """Return how many labels, up to ``most``, reach a precision, and how much they add."""
        means = self.means()
        future = Learned(dict(self.left), self.sums, self.counts)
        found = 0.0
        for count in range(most):
            if found >= wanted or sum(future.left.values()) < 1:
                return count, found
            found += future.precision(size, means)
            for h, share in shares(future.left, means).items():
                future.left[h] = max(future.left[h] - share, 0.0)
        return most, found


def _variance(
    left: Mapping[int, float], rest: float, q: Mapping[int, float], means: Mapping[int, float]
) -> float:
    return sum(
        share * (left[h] / (rest * share)) ** 2 * _spread(means[h]) for h, share in q.items()
    )


@dataclass
class ConfidenceSequence:
    """An interval for a mean over a run that stays valid at every look, however often one looks.

    It bets against each candidate total of values in 0 to 1, each label's stratum being drawn with
    chances that depend on the labels before. Source: Shekhar, Xu, Lipton, Liang and Ramdas, UAI
    2023 (arXiv 2305.06884); Waudby-Smith and Ramdas, JRSS-B 2024.
    """

    groups: Mapping[int, DrawnGroup]
    planned: int = 100
    level: float = 0.95
    whole: bool = True
    """Whether every value is 0 or 1, so that the totals are whole numbers."""
    earlier: Floats | None = None
    """The wealth that earlier questions on the same figure left."""
    labels: int = 0

    def __post_init__(self) -> None:
        """Fix the bets for the number of labels planned, before the first of them.

        At most half of the contents left are planned for: near the end of a census each label tells
        so much that bets planned for it would be too small before.
        """
        self.size = sum(one.left + one.known for one in self.groups.values())
        self.learned = Learned.of(self.groups)
        self.threshold = math.log(2 / (1 - self.level))
        ahead = min(self.planned, max(round(self._rest / 2), 1))
        _, planned = self.learned.ahead(self.size, math.inf, ahead)
        self.bet = math.sqrt(2 * self.threshold / planned) if planned else 0.0
        count = min(self.size, GRID - 1) + 1
        self.candidates = np.linspace(0, self.size, count)
        # The bets that the mean is higher than each candidate, and that it is lower: in two rows.
        known = [sum(getattr(one, end) for one in self.groups.values()) for end in ("low", "high")]
        self.totals = np.array(known, np.float64)
        self.wealth = np.zeros((2, count)) if self.earlier is None else self.earlier.copy()
        self._values = {h: [(one.low + one.high) / 2, one.known] for h, one in self.groups.items()}
        self._ends = self._now()

    @property
    def _rest(self) -> float:
        return sum(self.learned.left.values())

    def _bets(self, q: Mapping[int, float]) -> tuple[Floats, Floats, Callable[[int, Any], Any]]:
        """Return the means of what is left under each candidate, the stakes, and a function.

        The function values a label by its stratum, so that its mean is that of all that is left.
        """
        left = self.learned.left
        rest = self._rest
        means = self.learned.means()
        centre = sum(n / rest * means[g] for g, n in left.items())
        scale = {g: left[g] / (rest * share) for g, share in q.items()}
        bet = self.bet * self.size / rest / _variance(left, rest, q, means)
        least = min(centre - scale[g] * means[g] for g in q)
        most = max(centre + scale[g] * (1 - means[g]) for g in q)
        mean = np.clip((self.candidates - self.totals[:, None]) / rest, 0.0, 1.0)
        room = np.maximum(_SIGNS * (mean - [[least], [most]]), 1e-12)
        stakes = _SIGNS * np.minimum(bet, 0.75 / room)
        return mean, stakes, lambda h, x: centre + scale[h] * (x - means[h])

    def add(self, h: int, q: Mapping[int, float], value: float | None) -> None:
        """Add a label of stratum ``h``, drawn with chances ``q``; ``None`` counts as 0 and as 1."""
        mean, stakes, valued = self._bets(q)
        x = np.array([[0.0], [1.0]]) if value is None else np.full((2, 1), value)
        self.wealth += np.log1p(stakes * (valued(h, x) - mean))
        self.totals += x[:, 0]
        middle = 0.5 if value is None else value
        self.learned.left[h] -= 1
        self.learned.count(h, middle)
        self._values[h][0] += middle
        self._values[h][1] += 1
        self.labels += 1
        now = self._now()
        self._ends = max(self._ends[0], now[0]), min(self._ends[1], now[1])

    def _now(self) -> tuple[float, float]:
        """Return the ends of the candidates that no bet refutes, rounded outward."""
        low, high = self.totals.tolist()
        kept = np.flatnonzero(
            (self.wealth < self.threshold).all(axis=0)
            & (self.candidates >= low - 1e-9 - self._step)
            & (self.candidates <= high + self._rest + 1e-9 + self._step)
        )
        least = low / self.size
        most = (high + self._rest) / self.size
        if not len(kept):
            return least, most
        first = (self.candidates[kept[0]] - self._step) / self.size
        last = (self.candidates[kept[-1]] + self._step) / self.size
        return max(float(first), least), min(float(last), most)

    @property
    def _step(self) -> float:
        """The distance between candidates if some totals are not candidates, else 0."""
        return 0.0 if self.whole and self.size < GRID else self.size / (len(self.candidates) - 1)

    def look(self) -> Look:
        known = all(n for _, n in self._values.values())
        estimate = None
        if known:
            left = self.learned.left
            estimate = (
                sum(total + left[h] * total / n for h, (total, n) in self._values.items())
                / self.size
            )
        return Look(self.labels, estimate, *self._ends, *self._now())

    def more(self, *means: float) -> int:
        """Return about how many more labels, at the rates so far, refute these means; 1 or more."""
        rest = min(int(self._rest), 10_000)
        estimate = self.look().estimate or 0.0
        q = shares(self.learned.left, self.learned.means())
        mean, stakes, valued = self._bets(q)
        growth = np.zeros(mean.shape)
        for h, share in q.items():
            total, n = self._values[h]
            for x, chance in ((1.0, total / n), (0.0, 1 - total / n)):
                growth += share * chance * np.log1p(stakes * (valued(h, x) - mean))
        precision = self.learned.precision(self.size, self.learned.means())
        counts = [1]
        for one in means:
            place = int(np.abs(self.candidates - one * self.size).argmin())
            side = 0 if one < estimate else 1
            gain = float(growth[side, place])
            lacking = self.threshold - float(self.wealth[side, place])
            wanted = lacking / gain * precision if gain > 0 else math.inf
            counts.append(self.learned.ahead(self.size, wanted, rest)[0])
        return max(counts)


BLOCK = 10
"""How many contents are drawn with the same chances, and may be labelled in any order."""


def _value(
    question: RunQuestion,
    figures: RunFigures,
    items: QuestionItems | None,
    one: Given,
    truth: Truth | None = None,
) -> float | None:
    """Return what one label adds to the mean; ``None`` if it is neither pass nor fail."""
    row = one.row
    if row is None or (truth or row.truth) not in (Truth.PASS, Truth.FAIL):
        return None
    passed = (truth or row.truth) is Truth.PASS
    if items is not None:
        h, rank = one.unit
        return float(items.passes[h][rank] is passed)
    if row.decision not in (Decision.PASS, Decision.FAIL):
        return None
    right = (row.decision is Decision.PASS) is passed
    if question.figure == "accuracy":
        return float(right)
    if question.figure == "pass_rate":
        return float(passed)
    # Imported here, as only this figure needs columns.
    from reviewdesk.domain.labels.label_columns import LabelColumns

    [sure] = LabelColumns.of_rows([row]).confidences(
        figures.confidence_source, scores_stated=figures.scores_stated
    )
    return None if np.isnan(sure) else (sure - right) ** 2


def _play(
    question: RunQuestion,
    seed: str,
    figures: RunFigures,
    given: Iterable[Given],
    items: QuestionItems | None,
    earlier: Floats | None,
) -> tuple[ConfidenceSequence, int, dict[str, Any]]:
    """Return a question's bets, how many contents were passed over, and fields of ``RunAnswer``."""
    value_of = partial(_value, question, figures, items)
    ranks: dict[int, Collection[int]] = (
        {h: range(figures.sizes[h]) for h in decided_strata(figures.sizes, figures.decided)}
        if items is None
        else dict(items.passes)
    )
    every = [one for one in given if one.unit[1] in ranks.get(one.unit[0], ())]
    known = {one.unit: one for one in every if one.before}
    labels = {one.unit: one for one in every if one.row is not None and one.row.seen}
    groups = {}
    for h, held in ranks.items():
        before = [value_of(one) for unit, one in known.items() if unit[0] == h]
        low = sum(value for value in before if value is not None)
        guess = question.guesses.get(h, 0.5)
        high = low + before.count(None)
        groups[h] = DrawnGroup(len(held) - len(before), guess, len(before), low, high)
    whole = question.figure != "brier"
    sequence = ConfidenceSequence(groups, question.planned, question.level, whole, earlier)
    # Earlier labels do not affect the chances, as a corrected label must not move the draw.
    learned = Learned.of({h: DrawnGroup(one.left, one.guess) for h, one in groups.items()})
    seed = f"{seed}:{question.turn}" if question.turn else seed
    following = {
        h: iter([rank for rank in held if (h, rank) not in known]) for h, held in ranks.items()
    }
    drawn: list[tuple[int, int]] = []
    pending: list[tuple[int, int]] = []
    waiting = 0
    passed_over = 0
    while not pending and sum(learned.left.values()) >= 1:
        means = learned.means()
        block: list[tuple[tuple[int, int], dict[int, float]]] = []
        for _ in range(min(BLOCK, round(sum(learned.left.values())))):
            chances = shares(learned.left, means)
            h = _pick(chances, seed, len(drawn) + len(block))
            block.append(((h, next(following[h])), chances))
            learned.left[h] -= 1
        drawn += [unit for unit, _ in block]
        last = max((n for n, (unit, _) in enumerate(block) if unit in labels), default=-1)
        for n, (unit, chances) in enumerate(block):
            one = labels.get(unit)
            if one is None:
                pending.append(unit)
            elif pending and not question.closed:
                waiting += 1
            else:
                first = value_of(one, one.first)
                learned.count(unit[0], 0.5 if first is None else first)
            if not pending or (question.closed and n <= last):
                value = None if one is None else value_of(one)
                sequence.add(unit[0], chances, value)
                passed_over += one is None
    places = {
        "waiting": waiting,
        "known": len(known),
        "pending": tuple(pending),
        "drawn": tuple(drawn),
    }
    return sequence, passed_over, places


def answer(
    asked: Sequence[tuple[RunQuestion, Iterable[Given]]],
    seed: str,
    figures: RunFigures,
    items: QuestionItems | None = None,
) -> RunAnswer:
    """Answer the last question asked from every labelled content of the run, as it stands now.

    The questions before it are on the same figure, each with the labels from before the next; what
    their bets won is kept, so that all together miss as rarely as one. ``items`` are the contents
    of a question about jurors. Contents are drawn in blocks, with chances that depend on the first
    decisions in earlier blocks; a label enters once those drawn before it have. When the question
    is closed, unlabelled contents that were drawn before labelled ones count 0 for the lower end
    and 1 for the upper.
    """
    earlier = None
    for question, given in asked:
        sequence, passed_over, places = _play(question, seed, figures, given, items, earlier)
        earlier = sequence.wealth
    look = sequence.look()
    look = replace(look, labels=look.labels - passed_over)
    scale = 1.0
    if items is not None and len(question.of) == 2:
        # The mean p is how often the first rater is right where they differ: the figure is 2p - 1
        # of the share of items on which they do.
        scale = 2 * (sum(map(len, items.passes.values())) / items.items)
        ends = {name: p for name, p in asdict(look).items() if name != "labels" and p is not None}
        look = replace(look, **{name: scale * (p - 0.5) for name, p in ends.items()})
    narrow = question.width is not None and look.high - look.low <= question.width + SLACK
    reply, more = _reply(question, sequence, look, scale, narrow=narrow)
    done = not sum(sequence.learned.left.values())
    return RunAnswer(
        question=question,
        reply=reply,
        look=look,
        more=0 if done else more,
        safe=done or narrow or reply is not Reply.NOT_YET,
        size=sequence.size,
        **places,
    )


def _pick(chances: Mapping[int, float], seed: str, place: int) -> int:
    digest = hashlib.sha256(f"{seed}:{place}".encode()).digest()
    point = int.from_bytes(digest[:7], "big") / (1 << 56) * sum(chances.values())
    for h in sorted(chances):
        point -= chances[h]
        if point < 0:
            return h
    return max(chances)


def _reply(
    question: RunQuestion, sequence: ConfidenceSequence, look: Look, scale: float, *, narrow: bool
) -> tuple[Reply, int | None]:
    """Return the reply so far, and how many more labels decide; ``scale`` is that of the figure."""
    if narrow and question.limit is None:
        return Reply.YES, 0
    if question.limit is not None:
        above = look.low >= question.limit - SLACK
        below = look.high <= question.limit + SLACK
        wanted, refused = (above, below) if question.op == ">=" else (below, above)
        if wanted or refused:
            return Reply.YES if wanted else Reply.NO, 0
    middle = 0.5 if len(question.of) == 2 else 0.0
    if look.estimate is None or not sum(sequence.learned.left.values()):
        return Reply.NOT_YET, None
    if question.limit is not None:
        return Reply.NOT_YET, sequence.more(question.limit / scale + middle)
    # Both ends of an interval as wide as asked, but where the figure cannot be.
    half = (question.width or 0.0) / 2 / scale
    centre = min(max(look.estimate / scale + middle, half), 1 - half)
    ends = [mean for mean in (centre - half, centre + half) if 0 < mean < 1]
    return Reply.NOT_YET, sequence.more(*ends)
