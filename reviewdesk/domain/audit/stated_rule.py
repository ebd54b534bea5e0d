"""Check a report's decision, consensus label and family claim against its own rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.label_rules import label_vote
from reviewdesk.domain.jury.panels import votes_of
from reviewdesk.domain.jury.rules import SIDES, LabelVote, Votes, quorum_met, trim_count
from reviewdesk.domain.jury.rules import STRATEGIES as STRATEGY_METHODS
from reviewdesk.domain.jury.stopping import can_turn
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.run.columns import Ints
from reviewdesk.domain.run.packing import DECISIONS, NOTHING, STRATEGIES
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.values import LabelRules, label_decision
from reviewdesk.domain.verdict import (
    SLACK,
    CanonicalVerdict,
    Decision,
    Regime,
    Rounding,
    Status,
    Strategy,
    Verdict,
    folded,
    labelled,
    number,
    own_facts,
)

_ABSENT = -1.0
"""The score assumed for a dropped juror without one; no real score is negative."""


def trim_counts(verdict: Verdict) -> tuple[int, ...]:
    """Return every count per end that the stated trim may mean, that of the default rule first.

    A rounding that is not stated may be any of the three. Without a fraction, the count is that
    of the jurors named by the report, or else any count that leaves a score.
    """
    n = len(_scores(verdict))
    fraction = _fraction(verdict)
    if fraction is not None:
        stated = verdict.trim.rounding
        roundings = tuple(Rounding) if stated is None else (stated,)
        return tuple(dict.fromkeys(trim_count(n, fraction, one) for one in roundings))
    if verdict.trim.low is not None:
        return (len(verdict.trim.low),)
    return tuple(range((max(n, 1) - 1) // 2 + 1))


def trim_mismatch(verdict: Verdict) -> str | None:
    """Return a text if a quantile trim contradicts its own fraction or the order of the scores.

    Dropped scores are compared as multisets per end, because equal scores may change places. A trim
    that names neither a method nor a fraction follows a rule that only its producer knows.
    """
    trim = verdict.trim
    fraction = _fraction(verdict)
    if trim.method not in {None, "quantile"} or (trim.method is None and fraction is None):
        return None
    counts = trim_counts(verdict)
    rule = f"{counts[0]} at each end"
    if fraction is not None:
        rule = f"{fraction:g} {trim.rounding or Rounding.DOWN}"
    if trim.low is None:
        if trim.per_side is None or fraction is None or trim.per_side in counts:
            return None
        return f"trim: reported {trim.per_side} per side, but {rule} drops {counts[0]}"
    by_id = {ballot.id: ballot.score for ballot in verdict.ballots}
    stated = tuple(
        tuple(sorted(_ABSENT if (score := by_id.get(name)) is None else score for name in side))
        for side in (trim.low, trim.high or ())
    )
    scores = _scores(verdict)
    allowed = [(tuple(scores[:count]), tuple(scores[len(scores) - count :])) for count in counts]
    if stated not in allowed:
        return f"trim: reported {_scores_text(stated)}, but {rule} drops {_scores_text(allowed[0])}"
    if trim.per_side in {None, len(trim.low)}:
        return None
    return f"trim: reported {trim.per_side} per side, but names {len(trim.low)}"


def _fraction(verdict: Verdict) -> float | None:
    stated = verdict.trim.fraction
    return verdict.policy.trim_fraction if stated is None else stated


def _scores(verdict: Verdict) -> list[float]:
    return sorted(ballot.score for ballot in verdict.ballots if ballot.score is not None)


def _scores_text(sides: Sequence[Sequence[float]]) -> str:
    return " / ".join(", ".join(f"{score:.3g}" for score in side) or "none" for side in sides)


_ON_LABELS = frozenset({Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY})


class AuditedVerdict(Struct, frozen=True):
    """One verdict, and its place in the columns of many."""

    verdict: Verdict
    found: Verdicts
    at: int

    @property
    def votes(self) -> Votes:
        return votes_of(self.found.panels, self.at)

    def by(self, strategy: Strategy | None) -> Decision | None:
        return self.decision(self.found.panels.by(strategy))

    def decision(self, codes: Ints) -> Decision | None:
        """Return the decision of a column of codes."""
        code = int(codes[self.at])
        return None if code == NOTHING else DECISIONS[code]

    @property
    def rules(self) -> LabelRules:
        """How the labels of the verdict are counted."""
        return self.found.sheet.facts[int(self.found.sheet.place[self.at])].rules

    @property
    def used(self) -> Strategy | None:
        """The strategy that decides the verdict."""
        code = int(self.found.used[self.at])
        return None if code == NOTHING else STRATEGIES[code]

    @property
    def said(self) -> list[str]:
        """The labels, as compared, if the jurors answered by label."""
        seats = np.flatnonzero(self.found.said[:, self.at])
        return [folded(self.verdict.ballots[seat].label) for seat in seats]


def quorum_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if neither all seats nor the jurors that answered give the quorum decision.

    Inconclusive is allowed if neither passes nor fails reach the quorum, or if they are equal.
    """
    verdict = row.verdict
    votes = row.votes
    ours = row.by(Strategy.QUORUM)
    if verdict.policy.strategy not in {None, Strategy.QUORUM}:
        return None
    if verdict.policy.strategy is None and verdict.regime:
        return None  # the regime may have chosen another rule
    if verdict.decision is None or ours is None:
        return None
    if {"quorum", "threshold"} & set(verdict.set_by_you):
        return None
    answered = row.decision(row.found.panels.quorum_answered)
    if verdict.decision in {ours, answered} or _may_stay_open(verdict, votes):
        return None
    return (
        f"quorum: reported {verdict.decision}, but {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} gives {ours}"
    )


def decision_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if the stated rule, or the median in its place, does not give the decision.

    A majority may be of only the jurors that answered; a rule on votes may count their labels.
    """
    verdict = row.verdict
    found = row.found
    at = row.at
    strategy = verdict.policy.strategy
    stated = verdict.decision
    if strategy in {None, Strategy.QUORUM} or verdict.set_by_you or stated is None:
        return None
    counting = verdict.policy.counting
    if found.counts[at]:
        if stated is row.decision(found.cautioned) is Decision.INCONCLUSIVE:
            return None
        if counting is not None and counting.labels:
            return _declared_mismatch(row, counting)
    # The rule as set and as used, and the median that an irreversible case may use.
    asked = int(found.sheet.columns.strategy[at])
    rules = [None if asked == NOTHING else STRATEGIES[asked], row.used]
    if verdict.regime == Regime.IRREVERSIBLE:
        rules.append(Strategy.MEDIAN)
    own = [row.by(rule) for rule in rules]
    if strategy is Strategy.TRIMMED_MEAN:
        own += _trimmed_decisions(verdict)
    if strategy in _ON_LABELS:
        own += [STRATEGY_METHODS[strategy].published(row.votes.of_answered, verdict.policy)]
        own += _label_decisions(verdict)
    given = [decision for decision in own if decision is not None]
    if not given or stated in given or _may_stay_open(verdict, row.votes):
        return None
    return f"decision: reported {stated}, but {strategy} gives {given[0]}"


def _declared_mismatch(row: AuditedVerdict, counting: LabelRules) -> str | None:
    """Return a text if neither the counted label nor a tied one gives the decision."""
    words = row.found.words
    sheet = row.found.sheet
    spelled = sheet.labels.words.spelled
    tied = sheet.labels.code[words.level[:, row.at], row.at].tolist()
    ours = row.decision(words.decision)
    stated = row.verdict.decision
    allowed = {ours, *(counting.outcome(spelled[label]) for label in tied)}
    if stated in allowed or (ours is None and not words.counted[row.at]):
        return None
    made = _vote(row, row.used)
    return f"decision: reported {stated}, but {made.rule} gives {made.label}"


def _vote(
    row: AuditedVerdict, strategy: Strategy | None, rules: LabelRules | None = None
) -> LabelVote:
    """Return the vote of the labels of one verdict under a strategy."""
    rules = rules or row.rules
    return label_vote(row.verdict.ballots, rules.aggregate or strategy or Strategy.MAJORITY, rules)


def _may_stay_open(verdict: Verdict, votes: Votes) -> bool:
    """Return True if the verdict is inconclusive, and its regime, labels or votes allow that."""
    if verdict.decision is not Decision.INCONCLUSIVE:
        return False
    labels = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    stated = verdict.text("label")
    undecided = bool(stated) and label_decision(stated) not in SIDES
    if verdict.regime == Regime.DISPUTE or len(labels) > 1 or undecided:
        return True
    strategy = verdict.policy.strategy
    quorum = verdict.policy.quorum
    if strategy is Strategy.UNANIMOUS:
        return votes.answered < votes.seated
    if strategy not in {None, Strategy.QUORUM} or quorum is None or not votes.known:
        return False
    counts = {votes.seated, votes.answered}
    sides = (votes.passes, votes.fails)
    reached = all(any(quorum_met(side, n, quorum) for side in sides) for n in counts)
    return not reached or votes.passes == votes.fails


def _trimmed_decisions(verdict: Verdict) -> list[Decision]:
    """Return the trim rule's decision under every trim that the report's words allow."""
    threshold = verdict.policy.threshold
    if threshold is None:
        return []
    scores = _scores(verdict)
    kept = [scores[count : len(scores) - count] for count in trim_counts(verdict)]
    means = [math.fsum(part) / len(part) for part in kept if part]
    return [Decision.PASS if mean >= threshold - SLACK else Decision.FAIL for mean in means]


def _label_decisions(verdict: Verdict) -> list[Decision]:
    """Return the decisions for which jurors with the most frequent labels voted.

    A plurality of labels need not be a plurality of votes.
    """
    counts = Counter(folded(ballot.label) for ballot in labelled(verdict.ballots))
    leading = {label for label, count in counts.items() if count == max(counts.values())}
    if verdict.policy.strategy is Strategy.UNANIMOUS and len(counts) > 1:
        return []
    votes = {ballot.vote for ballot in verdict.ballots if folded(ballot.label) in leading}
    return [Decision.PASS if vote else Decision.FAIL for vote in votes if vote is not None]


def label_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if the reported consensus label is not what the stated strategy gives.

    Any tied label is allowed. So is a fallback label of the producer if the jurors differ, and a
    weighted vote without the confidences. Return ``None`` if a weighted vote has an unknown
    weight.
    """
    verdict = row.verdict
    strategy = verdict.policy.strategy
    stated = verdict.text("label")
    counted = labelled(verdict.ballots)
    if not stated or "strategy" in verdict.set_by_you:
        return None
    if strategy is Strategy.WEIGHTED_VOTE and any(ballot.weight is None for ballot in counted):
        return None
    # Labels count only under the stated rule, not under one that replaces it.
    if strategy is not row.used or not row.found.counts[row.at]:
        return None
    found = _vote(row, strategy)
    bare = _vote(row, strategy, replace(row.rules, use_confidence=False))
    allowed = {found.label, bare.label, *found.tied, *bare.tied}
    if folded(stated) in map(folded, allowed):
        return None
    given = {folded(ballot.label) for ballot in counted}
    if folded(found.label) not in given and folded(stated) not in given:
        return None
    return f"label: reported {stated}, but {found.rule} gives {found.label}"


def same_family_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if the models contradict the stated ``same_family``.

    A stated no is checked against the four families of the jury document, because a producer need
    not know more; a stated yes is checked only if every juror's family is known.
    """
    verdict = row.verdict
    shared = int(row.found.sheet.shared[row.at])
    reported = verdict.same_family
    ours = shared == 1
    if reported is None or shared == NOTHING or reported is ours:
        return None
    families = [family.family(ballot.model, ballot.vendor) for ballot in verdict.ballots]
    sure = all(families) if reported else family.plain_kin(verdict.ballots, verdict.generator)
    if not sure:
        return None
    said, found = ("yes", "no") if reported else ("no", "yes")
    return f"same model family: reported {said}, but the models say {found}"


def against_all(row: AuditedVerdict) -> str | None:
    """Return a text if a stated pass or fail has no vote, and no known rule gives it either.

    Votes by a threshold that the user set are not evidence against the report.
    """
    verdict = row.verdict
    votes = row.votes
    stated = verdict.decision
    if stated not in SIDES or not votes.known or row.found.says[row.at]:
        return None
    mine = "threshold" in verdict.set_by_you
    if mine and any(one.vote is not None and one.stated_pass is None for one in verdict.ballots):
        return None
    ruled = row.by(row.used)
    if ruled is stated or (ruled is not None and not verdict.set_by_you):
        return None
    if votes.passes if stated is Decision.PASS else votes.fails:
        return None
    cells = (verdict.body.get("meta") or {}).get("row")
    line = number(cells.get("threshold")) if isinstance(cells, Mapping) else None
    known = "" if line is None else f"; the test's own threshold is {line:g}"
    return f"decision: reported {stated}, but 0 of {votes.answered} votes are for it{known}"


def contradictions(body: CanonicalVerdict) -> tuple[str, ...]:
    """Return the first few contradictions that a reader found within its file."""
    stated = (body.get("meta") or {}).get("contradictions")
    listed = stated if isinstance(stated, list) else []
    return tuple(show_line(one, 200) for one in listed if isinstance(one, str))[:5]


def pass_mismatches(row: AuditedVerdict) -> tuple[str, ...]:
    """Return a text for each ballot whose pass contradicts its score.

    The threshold must be one that the report states. A pass with a score of 0 and a fail with a
    score of 1 contradict at any threshold.
    """
    verdict = row.verdict
    mine = "threshold" in verdict.set_by_you
    found = []
    for seat in np.flatnonzero(row.found.sheet.contradicts[:, row.at]):
        ballot = verdict.ballots[seat]
        if ballot.line is not None or not mine or ballot.score in {0, 1}:
            line = verdict.policy.threshold if ballot.line is None else ballot.line
            side = "pass" if ballot.stated_pass else "fail"
            against = "" if line is None else f" against threshold {line:.3g}"
            found.append(f"{ballot.id}: stated {side} with score {ballot.score:.3g}{against}")
    return tuple(found)


def stop_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if a panel stopped as decided while its decision could still change."""
    stops = own_facts(row.verdict.body).get("stop_when_decided") is True
    if not stops or not can_turn(row.verdict):
        return None
    count = sum(ballot.status is Status.NOT_ASKED for ballot in row.verdict.ballots)
    return f"stopped early: the jurors not asked ({count}) could have turned the decision"
