"""Answers a question to a run: draws what to label next, and bets on what the labels say."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from functools import partial

from msgspec.structs import asdict, replace

from reviewdesk.domain.labels.question import Given, QuestionItems, Reply, RunAnswer, RunQuestion
from reviewdesk.domain.labels.rows import RunFigures, confidence
from reviewdesk.domain.labels.sampling import decided_strata
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Look
from reviewdesk.domain.stats.sequence import ConfidenceSequence, DrawnGroup, Learned, shares
from reviewdesk.domain.verdict import SLACK, Decision

BLOCK = 10
"""How many contents are drawn with the same chances, and may be labelled in any order."""


def _value(
    question: RunQuestion,
    figures: RunFigures,
    items: QuestionItems | None,
    one: Given,
    truth: Truth | None = None,
) -> float | None:
    """Return what one label adds to the mean; ``None`` if it is neither pass nor fail.

    ``truth`` replaces the row's own.
    """
    row = one.row
    if row is None:
        return None
    truth = truth or row.place.truth
    if truth not in (Truth.PASS, Truth.FAIL):
        return None
    passed = truth is Truth.PASS
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
    sure = confidence(row, figures.confidence_source, scores_stated=figures.scores_stated)
    return None if sure is None else (sure - right) ** 2


def answer(
    question: RunQuestion,
    seed: str,
    figures: RunFigures,
    given: Iterable[Given],
    items: QuestionItems | None = None,
) -> RunAnswer:
    """Answer a question from every labelled content of the run, as it stands now.

    ``items`` are the contents that a question about jurors covers; other labels do not count.

    Contents are drawn in blocks, each with chances that depend on the first decisions in earlier
    blocks. A label enters once those drawn before it have entered. When the question is closed,
    unlabelled contents that were drawn before labelled ones count 0 for the lower end and 1 for the
    upper.
    """
    value_of = partial(_value, question, figures, items)
    ranks: dict[int, Collection[int]] = (
        {h: range(figures.sizes[h]) for h in decided_strata(figures.sizes, figures.decided)}
        if items is None
        else dict(items.passes)
    )
    every = [one for one in given if one.unit[1] in ranks.get(one.unit[0], ())]
    known = {one.unit: one for one in every if one.before}
    labels = {one.unit: one for one in every if one.row is not None and one.row.place.seen}
    groups = {}
    for h, held in ranks.items():
        before = [value_of(one) for unit, one in known.items() if unit[0] == h]
        low = sum(value for value in before if value is not None)
        guess = question.guesses.get(h, 0.5)
        high = low + before.count(None)
        groups[h] = DrawnGroup(len(held) - len(before), guess, len(before), low, high)
    sequence = ConfidenceSequence(
        groups, question.planned, question.level, whole=question.figure != "brier"
    )
    # Earlier labels do not affect the chances, as a corrected label must not move the draw.
    learned = Learned.of({h: DrawnGroup(one.left, one.guess) for h, one in groups.items()})
    following = {h: _unknown(h, held, known) for h, held in ranks.items()}
    drawn: list[tuple[int, int]] = []
    pending: list[tuple[int, int]] = []
    waiting = 0
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
    look = sequence.look()
    scale = 1.0
    if items is not None and len(question.of) == 2:
        # The mean p is how often the first rater is right where they differ: the figure is 2p - 1
        # of the share of items on which they do.
        scale = 2 * items.apart
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
        waiting=waiting,
        known=len(known),
        size=sequence.size,
        pending=tuple(pending),
        drawn=tuple(drawn),
    )


def _unknown(h: int, ranks: Iterable[int], known: Container[tuple[int, int]]) -> Iterator[int]:
    yield from (rank for rank in ranks if (h, rank) not in known)


def _pick(chances: Mapping[int, float], seed: str, place: int) -> int:
    """Return the stratum that the seed draws at a place."""
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
    """Return the reply so far, and about how many more labels decide the question.

    ``scale`` is how far the figure moves if the mean of the sequence moves from 0 to 1.
    """
    if narrow and question.limit is None:
        return Reply.YES, 0
    if question.limit is None:
        return Reply.NOT_YET, sequence.more((question.width or 0.0) / 2 / scale)
    above = look.low >= question.limit - SLACK
    below = look.high <= question.limit + SLACK
    wanted, refused = (above, below) if question.op == ">=" else (below, above)
    if wanted or refused:
        return Reply.YES if wanted else Reply.NO, 0
    if look.estimate is None:
        return Reply.NOT_YET, None
    return Reply.NOT_YET, sequence.more(abs(look.estimate - question.limit) / scale)
