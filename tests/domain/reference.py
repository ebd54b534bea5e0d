"""The jury rules as plain formulas on one verdict: what the columns of ``domain/jury`` must give.

Nothing here is fast, and nothing is shared with the product but its records and its words.
"""

import dataclasses
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations, product
from statistics import fmean, median
from typing import Any, NamedTuple

from msgspec.structs import replace

from reviewdesk.domain.values import BY_REGIME, LABEL_RULES, Decision, LabelRules
from reviewdesk.domain.verdict import Ballot, Rounding, Status, Strategy, Verdict, folded, labelled

SLACK = 1e-9
PASS, FAIL, OPEN, ERROR = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE, Decision.ERROR
SCORED = {
    Strategy.WEIGHTED_AVERAGE, Strategy.MEAN, Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST,
    Strategy.TRIMMED_MEAN,
}  # fmt: skip
VOTED = {
    Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SINGLE, Strategy.SUPERMAJORITY,
}  # fmt: skip
CAUTIOUS = {Strategy.UNANIMOUS, Strategy.LOWEST, Strategy.SUPERMAJORITY}


class Count(NamedTuple):
    """The votes of a panel."""

    passes: int
    fails: int
    seated: int
    waiting: int
    withheld: int
    missing: int
    unasked: int

    @property
    def cast(self) -> int:
        return self.passes + self.fails

    @property
    def known(self) -> bool:
        return self.cast > 0 and not self.waiting


def count(ballots: Sequence[Ballot]) -> Count:
    unasked = sum(one.status is Status.NOT_ASKED for one in ballots)
    return Count(
        sum(one.vote is True for one in ballots),
        sum(one.vote is False for one in ballots),
        len(ballots),
        sum(one.undetermined for one in ballots),
        sum(one.usable and one.withheld for one in ballots),
        sum(not one.usable for one in ballots) - unasked,
        unasked,
    )


def least(verdict: Verdict) -> int:
    minimum = verdict.policy.min_answered
    if isinstance(minimum, str):
        return math.ceil(Fraction(minimum) * len(verdict.ballots))
    return int(minimum or 0)


def too_few(verdict: Verdict) -> bool:
    votes = count(verdict.ballots)
    return votes.seated > 0 and votes.seated - votes.missing - votes.unasked < least(verdict)


def meets(passes: int, n: int, quorum: float | str) -> bool:
    """In whole numbers: the share as the quorum is written, a half rounded up."""
    if isinstance(quorum, str):
        over, under = map(int, quorum.split("/"))
        return passes * under >= over * n
    written = Decimal(repr(float(quorum)))
    if written == 1:
        return passes == n
    places = max(2, -int(written.normalize().as_tuple().exponent))
    scaled = Fraction(passes, n) * 10**places
    whole = Decimal((2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator))
    return bool(whole >= (written * 10**places).to_integral_value(ROUND_HALF_UP))


def by_votes(strategy: Strategy, votes: Count, verdict: Verdict) -> Decision | None:
    """What a rule on votes gives by the votes that came back."""
    policy = verdict.policy
    if strategy is Strategy.SINGLE:
        return None if votes.cast != 1 or votes.waiting else (PASS if votes.passes else FAIL)
    if not votes.known or (strategy is Strategy.QUORUM and policy.quorum is None):
        return None
    if strategy is Strategy.QUORUM:
        met = meets(votes.passes, votes.seated, policy.quorum or 1.0)
        return PASS if met else FAIL
    if strategy is Strategy.MAJORITY:
        need = {"pass": 2 * votes.passes, "fail": 2 * votes.fails}
        return next((Decision(side) for side, n in need.items() if n > votes.seated), OPEN)
    if strategy is Strategy.UNANIMOUS:
        return OPEN if votes.passes and votes.fails else (PASS if votes.passes else FAIL)
    share = Fraction(policy.supermajority or "2/3")
    if votes.cast < 3:
        return OPEN
    sides = ((PASS, votes.passes), (FAIL, votes.fails))
    return next((side for side, n in sides if n >= share * votes.cast), OPEN)


def reach_by_votes(strategy: Strategy, votes: Count, more: int, verdict: Verdict) -> set[Any]:
    return {
        by_votes(strategy, votes._replace(passes=votes.passes + p, fails=votes.fails + f), verdict)
        for p, f in product(range(more + 1), repeat=2)
        if p + f <= more
    }


def drops(m: int, fraction: float, rounding: Rounding) -> int:
    exact = Fraction(repr(float(fraction))) * m
    whole = {
        Rounding.DOWN: math.floor(exact) or int(exact > Fraction(1, 2)),
        Rounding.NEAREST: round(exact),
        Rounding.UP: math.ceil(exact),
    }[rounding]
    return min(whole, (m - 1) // 2) if m > 2 else 0


def cut(verdict: Verdict, scores: Sequence[float | None]) -> tuple[list[int], list[int]]:
    """The seats below and above that the trim leaves out."""
    ranked = sorted((score, seat) for seat, score in enumerate(scores) if score is not None)
    seats = [seat for _, seat in ranked]
    fraction = verdict.trim.fraction_under(verdict.policy)
    gone = drops(len(seats), fraction, verdict.trim.rounding or Rounding.DOWN)
    return seats[:gone], seats[len(seats) - gone :]


def value(strategy: Strategy | None, verdict: Verdict, scores: Sequence[float | None]) -> Any:
    """The panel score of a rule on these scores; the mean for rules that have none of their own."""
    given = [score for score in scores if score is not None]
    if not given:
        return None
    if strategy in {Strategy.HIGHEST, Strategy.LOWEST}:
        return max(given) if strategy is Strategy.HIGHEST else min(given)
    if strategy is Strategy.MEDIAN:
        return median(given)
    if strategy is Strategy.WEIGHTED_AVERAGE:
        pairs = [
            (score, 1.0 if one.weight is None else one.weight)
            for score, one in zip(scores, verdict.ballots, strict=True)
            if score is not None
        ]
        most = max(weight for _, weight in pairs)
        total = math.fsum(weight / most for _, weight in pairs)
        return math.fsum(score * (weight / most) for score, weight in pairs) / total
    if strategy is Strategy.TRIMMED_MEAN:
        low, high = cut(verdict, scores)
        gone = {*low, *high}
        return fmean(s for at, s in enumerate(scores) if s is not None and at not in gone)
    return fmean(given)


def decide(
    strategy: Strategy | None, verdict: Verdict, scores: Sequence[float | None] | None = None
) -> Decision | None:
    """What a rule decides by scores or votes; ``scores`` may stand in for those of the ballots."""
    votes = count(verdict.ballots)
    if strategy is None:
        return None
    if too_few(verdict):
        return ERROR
    if strategy in VOTED:
        made = by_votes(strategy, votes, verdict)
        more = votes.missing + votes.withheld
        turns = more and len(reach_by_votes(strategy, votes, more, verdict)) > 1
        return OPEN if strategy in CAUTIOUS and made in {PASS, FAIL} and turns else made
    threshold = verdict.policy.threshold
    given = [one.score for one in verdict.ballots] if scores is None else scores
    worth = value(strategy, verdict, given)
    if strategy not in SCORED or worth is None or threshold is None or not votes.cast:
        return None
    made = PASS if worth >= threshold - SLACK else FAIL
    objects = any(one.vote is False and one.score is None for one in verdict.ballots)
    turns = made is PASS and (objects or votes.missing > 0) and threshold > SLACK
    return OPEN if strategy in CAUTIOUS and turns else made


def rules(verdict: Verdict) -> tuple[Strategy | None, Strategy | None]:
    """The strategy as set and as used."""
    policy, strategy = verdict.policy, verdict.policy.strategy
    if strategy is None and verdict.regime is not None:
        strategy = BY_REGIME.get(verdict.regime)
    elif strategy is None and policy.quorum is not None:
        strategy = Strategy.QUORUM
    if not any(one.status.failed for one in verdict.ballots):
        return strategy, strategy
    return strategy, stand_in(verdict, strategy) or strategy


def stand_in(verdict: Verdict, strategy: Strategy | None) -> Strategy | None:
    if strategy is Strategy.WEIGHTED_AVERAGE:
        return verdict.policy.failed_jurors or Strategy.MEDIAN
    averages = {Strategy.MEAN, Strategy.TRIMMED_MEAN}
    return verdict.policy.failed_jurors if strategy in averages else None


# Labels


class Labels(NamedTuple):
    """The consensus of labels, as compared, and what it decides."""

    word: str
    decision: Decision | None
    share: float


def consensus(strategy: Strategy, given: Sequence[Ballot], rules_: LabelRules) -> tuple[str, bool]:
    """The word that labels come to, and whether the rule found none."""
    words = [folded(one.label) for one in given]
    order = list(dict.fromkeys(words))
    fallback = folded("DISAGREE" if strategy is Strategy.FIRST_DISAGREEMENT else rules_.fallback)
    if strategy in {Strategy.UNANIMOUS, Strategy.FIRST_DISAGREEMENT}:
        return (order[0], False) if len(order) == 1 else (fallback, True)
    if strategy is Strategy.SUPERMAJORITY:
        bound = [word for word in words if word != "unclear"]
        most = max((bound.count(word) for word in order if word != "unclear"), default=0)
        enough = len(bound) >= 3 and most >= Fraction(rules_.share or "2/3") * len(bound)
        return (next(w for w in order if bound.count(w) == most), False) if enough else (
            fallback, True,
        )  # fmt: skip
    weights = [1.0] * len(given)
    if strategy is Strategy.WEIGHTED_VOTE:
        heavy = [1.0 if one.weight is None else one.weight for one in given]
        weights = [weight / max(heavy) for weight in heavy]
        if rules_.use_confidence and any(one.confidence is not None for one in given):
            sure = [one.confidence or 0.0 for one in given]
            weights = [w * c for w, c in zip(weights, sure, strict=True)]
    sums = {w: sum(x for x, mine in zip(weights, words, strict=True) if mine == w) for w in order}
    level = [word for word in order if sums[word] >= max(sums.values()) - SLACK]
    first = [folded(label) for label in rules_.priority if folded(label) in level]
    return (first[0] if first and len(level) > 1 else level[0]), False


def recount(verdict: Verdict, strategy: Strategy | None) -> Labels | None:
    """What labels come to, where they count under a strategy."""
    policy = verdict.policy
    rules_ = replace(policy.counting or LabelRules(), share=policy.supermajority)
    given, usable = labelled(verdict.ballots), [one for one in verdict.ballots if one.usable]
    if strategy is None or strategy not in LABEL_RULES:
        return None
    if not rules_.labels:
        if not given:
            return None if policy.counting is None or usable else Labels(rules_.fallback, None, 0)
        cast = any(one.score is not None or one.vote is not None for one in verdict.ballots)
        said = {folded(one.label) for one in given} | {folded(rules_.fallback), "disagree"}
        reads_labels = strategy in {Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT}
        if cast and not reads_labels and folded(verdict.text("label")) not in said:
            return None
    if not given:
        return Labels(folded(rules_.fallback), None, 0)
    word, none = consensus(strategy, given, rules_)
    share = sum(folded(one.label) == word for one in given) / len(given)
    missed = none and (strategy is Strategy.SUPERMAJORITY or bool(rules_.labels))
    return Labels(word, OPEN if missed else rules_.outcome(word), share)


def said_labels(verdict: Verdict) -> list[str]:
    """The labels that jurors said, where labels and not votes are what they said."""
    given = labelled(verdict.ballots)
    words = [folded(one.label) for one in given]
    if verdict.policy.counting is not None and verdict.policy.counting.labels:
        return words
    every = len(given) == sum(one.usable for one in verdict.ballots)
    voteless = any(one.vote is None and not one.undetermined for one in given)
    return words if every and voteless else []


# Missing answers


def outcomes(verdict: Verdict, *, missing: bool) -> set[Any]:
    """What may come of a verdict if those that did not answer do, found by trying."""
    asked, used = rules(verdict)
    if used is None or used is Strategy.EXTERNAL:
        return {PASS, FAIL, None}
    seats = [
        one.seat
        for one in verdict.ballots
        if one.status is Status.NOT_ASKED or (missing and not one.usable)
    ]
    votes = count(verdict.ballots)
    returned = votes.seated - votes.missing - votes.unasked
    if returned + len(seats) < least(verdict):
        return {ERROR}
    found: set[Any] = {ERROR} if returned < least(verdict) else set()
    tries = [(used, [0]), (asked, [len(seats)])]
    if not missing:
        tries = [(used, list(range(len(seats) + 1)))]
        other = stand_in(verdict, asked)
        tries += [(other, list(range(len(seats))))] if other not in {None, used} else []
    for strategy, counts in tries:
        if counts_labels(verdict, strategy):
            found |= by_labels(verdict, strategy, seats)
        elif strategy in VOTED and strategy is not None:
            more = len(seats) + missing * votes.withheld
            found |= reach_by_votes(strategy, votes, more, verdict)
        else:
            found |= (
                by_scores(verdict, strategy, seats, counts) if votes.cast else {PASS, FAIL, None}
            )
    return found


def counts_labels(verdict: Verdict, strategy: Strategy | None) -> bool:
    counting = verdict.policy.counting
    if counting is not None and counting.labels and strategy in LABEL_RULES:
        return True
    alone = not count(verdict.ballots).cast and bool(labelled(verdict.ballots))
    return alone or strategy in {Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT}


def by_scores(
    verdict: Verdict, strategy: Strategy | None, seats: Sequence[int], counts: Sequence[int]
) -> set[Any]:
    worths = []
    for many, extreme in product(counts, (0.0, 1.0)):
        given = [one.score for one in verdict.ballots]
        for seat in seats[:many]:
            given[seat] = extreme
        worths.append(value(strategy, verdict, given))
    threshold = verdict.policy.threshold
    if threshold is None or None in worths:
        return {PASS, FAIL, None}
    if min(worths) >= threshold - SLACK / 2:
        return {PASS}
    return {FAIL} if max(worths) < threshold - 2 * SLACK else {PASS, FAIL, None}


def by_labels(verdict: Verdict, strategy: Strategy | None, seats: Sequence[int]) -> set[Any]:
    declared = verdict.policy.counting.labels if verdict.policy.counting is not None else ()

    def outcome(found: Labels) -> Any:
        return found.decision or (None if declared else found.word)

    base = recount(verdict, strategy)
    if base is None:
        return {PASS, FAIL, None}
    reached = {outcome(base)}
    given = {one.label for one in labelled(verdict.ballots)} | {*(declared or ["a new one"])}
    for label, sure in product(given if seats else (), (None, 0.0, 1.0)):
        ballots = list(verdict.ballots)
        for seat in seats:
            ballots[seat] = dataclasses.replace(
                ballots[seat], status=Status.OK, label=label, confidence=sure
            )
        if made := recount(replace(verdict, ballots=tuple(ballots)), strategy):
            reached.add(outcome(made))
    return reached


def is_open(verdict: Verdict) -> bool:
    """Whether answers that are not there could change the outcome."""
    votes, (_, used) = count(verdict.ballots), rules(verdict)
    if used is None or used is Strategy.EXTERNAL:
        return False
    reads_votes = used in VOTED and not counts_labels(verdict, used)
    absent = votes.missing + votes.unasked + reads_votes * votes.withheld
    return absent > 0 and len(outcomes(verdict, missing=True)) > 1


# The verdict


def decision(verdict: Verdict) -> Decision | None:
    """The stated decision, else ours."""
    if verdict.decision is not None or too_few(verdict):
        return verdict.decision or ERROR
    _, used = rules(verdict)
    found, words = decide(used, verdict), recount(verdict, used)
    counting = verdict.policy.counting
    if words is not None:
        ours = words.decision
        missing = count(verdict.ballots).missing > 0
        if used in CAUTIOUS and ours in {PASS, FAIL} and missing and is_open(verdict):
            ours = OPEN
        found = ours if counting is not None and counting.labels else found or ours
    stated = verdict.text("label")
    undecided = folded(stated) and (counting or LabelRules()).decision(stated) is None
    if found and not undecided:
        return found
    asked = [one.status for one in verdict.ballots if one.status is not Status.NOT_ASKED]
    return ERROR if asked and all(status.failed for status in asked) else None


def agreement(verdict: Verdict) -> float | None:
    """Our agreement of a verdict."""
    if any(one.status is Status.NOT_ASKED for one in verdict.ballots):
        return None
    scores = [one.score for one in verdict.ballots if one.score is not None]
    votes = [one.vote for one in verdict.ballots if one.vote is not None]
    answers: Sequence[Any] = said_labels(verdict)
    if not answers and len(scores) >= 2:
        middle = fmean(scores)
        return 1 - 12 * math.fsum((s - middle) ** 2 for s in scores) / (len(scores) - 1)
    answers = answers or votes
    pairs = list(combinations(answers, 2))
    return 2 * sum(one == two for one, two in pairs) / len(pairs) - 1 if pairs else None


def pivotal(verdict: Verdict) -> tuple[int, ...]:
    """The seats whose vote, or score moved just across the threshold, turns the rule's decision."""
    _, used = rules(verdict)
    base, threshold = decide(used, verdict), verdict.policy.threshold
    if base is None or count(verdict.ballots).unasked:
        return ()
    found = []
    for one in verdict.ballots:
        ballots = list(verdict.ballots)
        if one.vote is None:
            continue
        if used in VOTED:
            ballots[one.seat] = dataclasses.replace(one, vote=not one.vote)
            made = decide(used, replace(verdict, ballots=tuple(ballots)))
        elif one.score is None or threshold is None or trimmed(verdict, one, used):
            continue
        else:
            scores = [ballot.score for ballot in ballots]
            scores[one.seat] = threshold - 1e-6 if one.vote else threshold
            made = decide(used, verdict, scores) or base
        found += [one.seat] * (made != base)
    return tuple(found)


def trimmed(verdict: Verdict, ballot: Ballot, used: Strategy | None) -> bool:
    """Whether the trimmed mean that decides leaves a ballot out, as stated or by our trim."""
    if used is not Strategy.TRIMMED_MEAN:
        return False
    if verdict.trim.low is not None:
        return ballot.id in (*verdict.trim.low, *(verdict.trim.high or ()))
    low, high = cut(verdict, [one.score for one in verdict.ballots])
    return ballot.seat in {*low, *high}
