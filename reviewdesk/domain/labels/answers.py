"""Answers a question to a run: draws what to label next, and bets on what the labels say."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping

from reviewdesk.domain.labels.question import Given, Reply, RunAnswer, RunQuestion
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, confidence
from reviewdesk.domain.labels.sampling import decided_strata
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Look
from reviewdesk.domain.stats.sequence import ConfidenceSequence, DrawnGroup, Learned, shares
from reviewdesk.domain.verdict import SLACK, Decision

BLOCK = 10
"""How many contents are drawn at the same chances, and may be labelled in any order."""


def _value(
    question: RunQuestion, row: LabelledRow | None, truth: Truth | None, figures: RunFigures
) -> float | None:
    """Return what one label adds to the mean; ``None`` if there is no pass or fail.

    ``truth`` takes the place of the row's own.
    """
    if row is None:
        return None
    truth = truth or row.place.truth
    if truth not in (Truth.PASS, Truth.FAIL) or row.decision not in (Decision.PASS, Decision.FAIL):
        return None
    passed = truth is Truth.PASS
    right = (row.decision is Decision.PASS) is passed
    if question.figure == "accuracy":
        return float(right)
    if question.figure == "pass_rate":
        return float(passed)
    sure = confidence(row, figures.confidence_source, scores_stated=figures.scores_stated)
    return None if sure is None else (sure - right) ** 2


def answer(
    question: RunQuestion, seed: str, figures: RunFigures, given: Iterable[Given]
) -> RunAnswer:
    """Answer a question from every labelled content of the run, as it stands now.

    Contents are drawn in blocks, each at the chances that the first decisions of the blocks before
    it decide. A label enters once those drawn before it have entered. When the question is closed,
    contents without a label that others were drawn behind count 0 for the lower end and 1 for the
    upper.
    """
    every = list(given)
    known = {one.unit: one for one in every if one.before}
    labels = {one.unit: one for one in every if one.row is not None and one.row.place.seen}
    groups = _groups(question, figures, known.values())
    sequence = ConfidenceSequence(
        groups, question.planned, question.level, whole=question.figure != "brier"
    )
    # Labels from before are left out of the chances: one that is corrected must not move the draw.
    learned = Learned.of({h: DrawnGroup(one.left, one.guess) for h, one in groups.items()})
    following = {h: _unknown(h, figures.sizes[h], known) for h in groups}
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
                first = _value(question, one.row, one.first, figures)
                learned.count(unit[0], 0.5 if first is None else first)
            if not pending or (question.closed and n <= last):
                value = None if one is None else _value(question, one.row, None, figures)
                sequence.add(unit[0], chances, value)
    look = sequence.look()
    narrow = question.width is not None and look.high - look.low <= question.width + SLACK
    reply, more = _reply(question, sequence, look, narrow=narrow)
    done = not sum(sequence.learned.left.values())
    return RunAnswer(
        question=question,
        reply=reply,
        look=look,
        more=0 if done else more,
        safe=done or narrow or reply is not Reply.NOT_YET,
        waiting=waiting,
        known=len(known),
        pending=tuple(pending),
        drawn=tuple(drawn),
    )


def _unknown(h: int, size: int, known: Container[tuple[int, int]]) -> Iterator[int]:
    """Yield the ranks of a stratum that have no label from before, in the order of the draw."""
    yield from (rank for rank in range(size) if (h, rank) not in known)


def _groups(
    question: RunQuestion, figures: RunFigures, known: Iterable[Given]
) -> dict[int, DrawnGroup]:
    """Return the strata as the question finds them."""
    made = {
        h: DrawnGroup(figures.sizes[h], question.guesses.get(h, 0.5))
        for h in decided_strata(figures.sizes, figures.decided)
    }
    for one in known:
        h = one.unit[0]
        if h not in made:
            continue
        value = _value(question, one.row, None, figures)
        held = made[h]
        made[h] = DrawnGroup(
            held.left - 1,
            held.guess,
            held.known + 1,
            held.low + (0.0 if value is None else value),
            held.high + (1.0 if value is None else value),
        )
    return made


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
    question: RunQuestion, sequence: ConfidenceSequence, look: Look, *, narrow: bool
) -> tuple[Reply, int | None]:
    """Return the reply so far, and about how many labels more decide the question."""
    if narrow and question.limit is None:
        return Reply.YES, 0
    if question.limit is None:
        return Reply.NOT_YET, sequence.more((question.width or 0.0) / 2)
    above = look.low >= question.limit - SLACK
    below = look.high <= question.limit + SLACK
    wanted, refused = (above, below) if question.op == ">=" else (below, above)
    if wanted or refused:
        return Reply.YES if wanted else Reply.NO, 0
    if look.estimate is None:
        return Reply.NOT_YET, None
    return Reply.NOT_YET, sequence.more(abs(look.estimate - question.limit))
