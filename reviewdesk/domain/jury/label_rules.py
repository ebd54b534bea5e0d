"""Label votes: the rules that turn many labels into one, and the decision of that label."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct

from reviewdesk.domain import values
from reviewdesk.domain.jury.rules import (
    DEFAULT_SHARE,
    LEAST_COMMITTED,
    LabelVote,
    commits,
    exact_share,
)
from reviewdesk.domain.run.columns import rows_of
from reviewdesk.domain.run.packing import DECISION_OF, DECISIONS, NOTHING, code_of
from reviewdesk.domain.stats.dense import Bools, Floats, Ints, looked_up
from reviewdesk.domain.values import LABEL_RULES, Aggregate, LabelRules
from reviewdesk.domain.verdict import FAILED_LABELS, SLACK, Ballot, Decision, Strategy, folded
from reviewdesk.errors import UsageError

DISAGREE = "DISAGREE"
TIES = (None, "tie broken by order", "tie broken by priority")
_PLAIN = LabelRules()
_INCONCLUSIVE = DECISIONS.index(Decision.INCONCLUSIVE)


class Words:
    """The labels of a window, numbered by their case-folded words."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self.spelled: list[str] = []
        """Each word as it was first written."""

    def code(self, label: str | None) -> int:
        """Return the number of a label; a new label gets the next number."""
        text = label or ""
        made = self._codes.setdefault(folded(text), len(self.spelled))
        if made == len(self.spelled):
            self.spelled.append(text.strip())
        return made

    def counted(self, label: str | None) -> int:
        """Return the number of the label of a ballot that answered; -1 if it does not count."""
        return NOTHING if folded(label) in {"", *FAILED_LABELS} else self.code(label)


class LabelBallots(Struct, frozen=True):
    """The labels of n panels of at most s seats, ``[s, n]``."""

    words: Words
    code: Ints
    """The number of each label; -1 for a seat without a label to count."""
    sure: Floats
    """The confidences; NaN if missing, like the weights."""
    weights: Floats
    ballots: list[tuple[Ballot, ...]] = []
    """The ballots of each panel, in seat order; only for a caller's own rule."""


class LabelCount(Struct, frozen=True):
    """The results of a label rule for n panels, ``[n]``."""

    label: Ints
    seat: Ints
    """The seat that first gave the label; -1 where it is the fallback."""
    level: Bools
    """The first seats, ``[s, n]``, of the labels that are tied."""
    tie: Ints
    """How the tie was broken, as in ``TIES``."""
    differ: Bools
    counted: Ints
    alike: Ints
    """How many of the counted ballots have the consensus label."""
    decision: Ints
    """The decision of the label, as in ``DECISIONS``; see ``LabelVote``."""
    most: Ints
    """How many jurors gave the most frequent label that commits them, in a supermajority."""
    committed: Ints

    @property
    def score(self) -> Floats:
        """The support for a pass: the share of the consensus, or 1 minus it for a fail, or NaN."""
        share = np.where(self.alike > 0, self.alike / np.maximum(self.counted, 1), np.nan)
        passed, failed = (self.decision == DECISIONS.index(one) for one in ("pass", "fail"))
        return np.where(passed, share, np.where(failed, 1 - share, np.nan))


def firsts(code: Ints) -> Bools:
    """Return the first seat of each panel with each label, as marks ``[s, n]``."""
    found: Bools = code != NOTHING
    for seat in range(1, len(code)):
        found[seat] &= ~(code[:seat] == code[seat]).any(axis=0)
    return found


def sums(code: Ints, weights: Floats) -> Floats:
    """Return for each seat, ``[s, n]``, the sum of the weights of the ballots with its label."""
    found = np.zeros(code.shape)
    for seat in range(len(code)):
        found += np.where(code == code[seat], weights[seat], 0.0)
    return found


def count_labels(
    columns: LabelBallots, strategy: Strategy | Aggregate, rules: LabelRules
) -> LabelCount:
    """Count the labels of every panel by one rule; a caller's own runs once for each panel."""
    if not isinstance(strategy, Strategy):
        return _custom(columns, strategy, rules)
    code = columns.code
    words = columns.words
    first = firsts(code)
    kinds = first.sum(axis=0)
    level = np.zeros_like(first)
    tie = most = committed = np.zeros(code.shape[1], np.int64)
    if strategy in {Strategy.MAJORITY, Strategy.WEIGHTED_VOTE}:
        weights = np.ones(code.shape)
        if strategy is Strategy.WEIGHTED_VOTE:
            weights = _vote_weights(columns, rules)
        totals = sums(code, weights)
        best = np.where(first, totals, -np.inf).max(axis=0, initial=-np.inf)
        level = first & (totals >= best - SLACK)
        seat = _first(level)
        tie = (level.sum(axis=0) > 1).astype(np.int64)
        for label in reversed(rules.priority):
            wanted = level & (code == words.code(label)) & (tie > 0)
            named = wanted.any(axis=0)
            seat = np.where(named, _first(wanted), seat)
            tie = np.where(named, 2, tie)
    elif strategy is Strategy.SUPERMAJORITY:
        bound = np.array([commits(word) for word in (*words.spelled, "")], np.bool_)[code]
        counts = np.where(bound, sums(np.where(bound, code, NOTHING), np.ones(code.shape)), 0)
        committed = bound.sum(axis=0)
        most = counts.max(axis=0, initial=0).astype(np.int64)
        seat = _first(bound & (counts == most))
        share = exact_share(rules.share)
        enough = looked_up(
            lambda top, n: n >= LEAST_COMMITTED and top >= share * n, most, committed
        )
        seat = np.where(enough == 1, seat, NOTHING)
    else:
        seat = np.where(kinds == 1, _first(first), NOTHING)
    seat = np.where(kinds == 0, NOTHING, seat)
    given = np.take_along_axis(code, np.maximum(seat, 0)[None], axis=0)[0] if len(code) else seat
    fallback = DISAGREE if strategy is Strategy.FIRST_DISAGREEMENT else rules.fallback
    missed = np.where(kinds == 0, words.code(rules.fallback), words.code(fallback))
    won = np.where(seat == NOTHING, missed, given)
    fell_back = (seat == NOTHING) & (bool(rules.labels) | (strategy is Strategy.SUPERMAJORITY))
    decision = np.where(fell_back, _INCONCLUSIVE, _outcomes(words, rules)[won])
    return LabelCount(
        won, seat, level & (tie > 0), tie, kinds > 1, (code != NOTHING).sum(axis=0),
        (code == won).sum(axis=0), np.where(kinds == 0, NOTHING, decision), most, committed,
    )  # fmt: skip


def _outcomes(words: Words, rules: LabelRules) -> Ints:
    return np.array([code_of(rules.outcome(word)) for word in words.spelled], np.int64)


def _first(marks: Bools) -> Ints:
    return marks.argmax(axis=0) if len(marks) else np.zeros(marks.shape[1], np.int64)


def _vote_weights(columns: LabelBallots, rules: LabelRules) -> Floats:
    """Return weight times confidence, 0 without one as in the source; else weights alone."""
    there = columns.code != NOTHING
    given = np.where(there, np.where(np.isnan(columns.weights), 1.0, columns.weights), 0.0)
    # Weights are divided by the heaviest, so that no sum of finite weights overflows.
    heaviest = given.max(axis=0, initial=0.0)
    weights: Floats = given / np.where(heaviest > 0, heaviest, 1.0)
    if not rules.use_confidence:
        return weights
    known = (there & ~np.isnan(columns.sure)).any(axis=0)
    return np.where(known, weights * np.nan_to_num(columns.sure), weights)


def _custom(columns: LabelBallots, how: Aggregate, rules: LabelRules) -> LabelCount:
    """Count by a caller's function, which takes the ballots of one panel that gave a label."""
    code = columns.code
    words = columns.words
    counted = (code != NOTHING).sum(axis=0)
    codes, differ, none = np.zeros((3, len(columns.ballots)), np.int64)
    for at, ballots in enumerate(columns.ballots):
        given = [
            ballot
            if words.code(ballot.label) == mine
            else replace(ballot, label=words.spelled[mine])
            for ballot, mine in zip(ballots, code[:, at].tolist(), strict=False)
            if mine != NOTHING
        ]
        answer: object = how(given) if given else (rules.fallback, False)
        match answer:
            case (str(label), bool(disagrees)):
                codes[at] = words.code(label)
                differ[at] = disagrees
            case _:
                named = f"the label rule {rule_name(how)} gave {answer!r}"
                raise UsageError(named, "It must give (label, bool)")
    decision = np.where(counted > 0, _outcomes(words, rules)[codes], NOTHING)
    return LabelCount(
        codes, np.where(counted > 0, 0, NOTHING), np.zeros_like(code, np.bool_), none,
        differ > 0, counted, (code == codes).sum(axis=0), decision, none, none,
    )  # fmt: skip


def rule_name(how: Strategy | Aggregate) -> str:
    return how.value if isinstance(how, Strategy) else getattr(how, "__name__", "custom")


def label_vote(
    ballots: Sequence[Ballot],
    how: Strategy | str | Aggregate = Strategy.MAJORITY,
    rules: LabelRules = _PLAIN,
) -> LabelVote:
    """Count the labels of ballots that were already collected; no model is called.

    ``majority`` is a plurality, ``unanimous`` gives the fallback on any difference,
    ``weighted_vote`` (or ``weighted``) sums weight times confidence, ``first_disagreement`` gives
    DISAGREE on any difference, ``supermajority`` gives the fallback if no label has the share, and
    a callable receives the usable ballots. Labels are compared without case; failed ballots
    (ERROR, PARSE_FAIL) are left out. With none left, it is the fallback. Source: cross-judge.
    """
    name = "weighted_vote" if how == "weighted" else how
    rule = how if callable(how) else next((one for one in LABEL_RULES if one == name), None)
    if rule is None:
        raise UsageError(f"no label vote {how!r}", f"Known: {', '.join(LABEL_RULES)}, a callable")
    words = Words()
    codes = [words.counted(one.label) if one.usable else NOTHING for one in ballots]
    columns = LabelBallots(
        words,
        np.array(codes, np.int64).reshape(-1, 1),
        np.array([[one.confidence] for one in ballots], np.float64),
        np.array([[one.weight] for one in ballots], np.float64),
        [tuple(ballots)],
    )
    return vote_record(ballots, columns, count_labels(columns, rule, rules), rule, rules)


def vote_record(
    ballots: Sequence[Ballot],
    columns: LabelBallots,
    found: LabelCount,
    rule: Strategy | Aggregate,
    rules: LabelRules,
) -> LabelVote:
    """Return the label vote of the only panel that was counted."""
    counted, alike, seat = (int(one[0]) for one in (found.counted, found.alike, found.seat))
    label = rules.fallback
    if counted and not isinstance(rule, Strategy):
        label = columns.words.spelled[int(found.label[0])]
    elif counted and seat != NOTHING:
        label = (ballots[seat].label or "").strip()
    elif counted and rule is Strategy.FIRST_DISAGREEMENT:
        label = DISAGREE
    given = [ballots[one] for one in np.flatnonzero(columns.code != NOTHING).tolist()]
    sure = [one.confidence for one in given if one.confidence is not None]
    notes: tuple[str, ...] = ()
    if rule is Strategy.WEIGHTED_VOTE and rules.use_confidence and given:
        silent = ", ".join(one.id for one in given if one.confidence is None)
        notes = (f"no confidence, so no weight: {silent}",) if silent else ()
        notes = notes if sure else ("no confidence given: weights alone",)
    reason = None if counted else "no juror gave a label"
    if counted and rule is Strategy.SUPERMAJORITY and seat == NOTHING:
        reason = _missed(found, rules)
    return LabelVote(
        rule=rule_name(rule),
        label=label,
        disagreement=bool(found.differ[0]) if counted else None,
        agreement_pct=alike / counted if counted else None,
        seated_share=alike / len(ballots) if ballots else None,
        avg_confidence=math.fsum(sure) / len(sure) if sure else None,
        usable=counted,
        seated=len(ballots),
        tie=TIES[int(found.tie[0])],
        tied=tuple(
            (ballots[at].label or "").strip() for at in np.flatnonzero(found.level).tolist()
        ),
        notes=notes,
        reason=reason,
        decision=DECISION_OF[found.decision[0]],
    )


class Supermajority(Struct, frozen=True):
    """The result of a supermajority over labels; ``label`` is ``None`` if it is inconclusive."""

    label: str | None
    votes: int
    """The number of votes for the most frequent label."""
    committed: int
    reason: str | None
    """Why the result is inconclusive, else ``None``."""


def supermajority(
    labels: Iterable[str | None], share: float | str = DEFAULT_SHARE
) -> Supermajority:
    """Return the label given by at least ``share`` of the committed jurors, compared exactly.

    ``None``, a blank, UNCLEAR, ERROR and PARSE_FAIL do not commit a juror. Fewer than three
    committed jurors are inconclusive. Source: the jury trim rule, for categorical judgments.
    """
    values.supermajority("supermajority share", share)
    words = Words()
    code = np.array([[words.counted(label)] for label in labels], np.int64).reshape(-1, 1)
    none = np.full(code.shape, np.nan)
    rules = LabelRules(share=share)
    found = count_labels(LabelBallots(words, code, none, none), Strategy.SUPERMAJORITY, rules)
    reason = _missed(found, rules) if found.seat[0] == NOTHING else None
    label = None if reason else words.spelled[found.label[0]]
    return Supermajority(label, int(found.most[0]), int(found.committed[0]), reason)


def _missed(found: LabelCount, rules: LabelRules) -> str:
    committed = int(found.committed[0])
    if committed < LEAST_COMMITTED:
        return f"{committed} committed, {LEAST_COMMITTED} are needed"
    share = DEFAULT_SHARE if rules.share is None else rules.share
    return f"{int(found.most[0])} of {committed} is under {share}"


def turning_labels(
    columns: LabelBallots, strategy: Strategy | Aggregate, rules: LabelRules, decision: Ints
) -> Bools:
    """Return the seats, ``[s, n]``, where another label alone would change the decision."""
    place = np.arange(len(decision))
    if strategy in LABEL_RULES and strategy is not Strategy.WEIGHTED_VOTE:
        # Most panels give the labels of another one.
        kinds = np.vstack((columns.code, decision))
        _, first, place = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        columns = rows_of(columns, first)
        decision = decision[first]
    code = columns.code
    s, n = code.shape
    declared = np.array([columns.words.code(label) for label in rules.labels], np.int64)
    given = np.sort(np.where(firsts(code), code, NOTHING), axis=0)
    given = given[(given != NOTHING).any(axis=1)]
    others = np.concatenate([given, np.repeat(declared[:, None], n, axis=1)])
    # One panel for each seat, each other label and each panel.
    every: Any = np.tile(np.arange(n), s * len(others))
    turned = rows_of(columns, every)
    changed = turned.code.reshape(s, s, len(others), n)
    own = np.arange(s)
    mine = changed[own, own]
    changed[own, own] = np.where((mine != NOTHING) & (others != NOTHING), others, mine)
    made = count_labels(turned, strategy, rules).decision.reshape(s, len(others), n)
    found: Bools = (made != decision).any(axis=1) & (code != NOTHING)
    return found[:, place.reshape(-1)]
