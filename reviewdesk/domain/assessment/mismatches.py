"""Where a report disagrees with its own rule."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

import numpy as np
from msgspec import to_builtins
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Breach, Mismatch
from reviewdesk.domain.jury import family, rules
from reviewdesk.domain.jury.label_rules import count_labels, label_vote
from reviewdesk.domain.jury.panels import FAIL, INCONCLUSIVE, PASS
from reviewdesk.domain.jury.scores import BAND_OF, LOW
from reviewdesk.domain.jury.sheet import model_trim
from reviewdesk.domain.jury.stopping import can_turn
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.run.columns import rows_of
from reviewdesk.domain.run.packing import DECISION_OF, NOTHING, STRATEGY_OF
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.dense import Bools, Ints, cases
from reviewdesk.domain.values import LABEL_RULES, Band, Decision, Regime, Rounding, label_decision
from reviewdesk.domain.verdict import (
    SLACK,
    StatedTrim,
    Status,
    Strategy,
    Verdict,
    number,
    own_facts,
    read_ballot,
)

_CHECKS = [
    (int(kind), kind, kind.key)
    for kind in (
        Breach.QUORUM, Breach.DECISION, Breach.LABEL, Breach.BAND, Breach.ESCALATION,
        Breach.SAME_FAMILY, Breach.TRIM, Breach.STOPPED_EARLY, Breach.AGAINST_ALL,
        Breach.CONTRADICTION, Breach.PASS_SCORE,
    )
]  # fmt: skip
"""The breaches in the order in which they are told, each as its bit and with its method."""


class AuditedVerdict:
    """One verdict in the columns of many; a method named after a ``Breach`` says it in words.

    A method is called where ``at_sight`` shows its breach or cannot rule it out, and checks only
    what the columns leave open. ``read`` builds the verdict, which takes long.
    """

    def __init__(self, read: Callable[[], Verdict], found: Verdicts, at: int) -> None:
        self._read = read
        self.found = found
        self.at = at
        self.facts = found.sheet.facts[int(found.sheet.place[at])]
        self.model = found.sheet.verdicts[at]
        self.policy = self.facts.policy
        self.set_by_you = self.facts.set_by_you
        self.stated = self.of(found.claims.decision)
        self.strategy = self.policy.strategy
        self.used = STRATEGY_OF[found.used[at]]

    @cached_property
    def verdict(self) -> Verdict:
        return self._read()

    @cached_property
    def votes(self) -> rules.Votes:
        return self.found.panels.votes(self.at)

    @cached_property
    def labels(self) -> Counter[int]:
        """How many jurors gave each label, by its number."""
        given = self.found.labels.code[:, self.at].tolist()
        return Counter(code for code in given if code != NOTHING)

    @cached_property
    def scored(self) -> list[tuple[str, float]]:
        """The jurors that gave a score, and their scores."""
        column = self.found.columns.scores[:, self.at].tolist()
        given = zip(self.model.jurors, column, strict=False)
        return [(one.id, score) for one, score in given if not math.isnan(score)]

    @cached_property
    def scores(self) -> list[float]:
        return sorted(score for _, score in self.scored)

    @cached_property
    def stated_trim(self) -> StatedTrim:
        return model_trim(self.model)

    def mismatches(self, kinds: int) -> Iterator[Mismatch]:
        """Yield each place where the report disagrees with its own rule, of ``kinds``."""
        for bit, kind, name in _CHECKS:
            if bit & kinds and (found := getattr(self, name)()):
                for text in (found,) if isinstance(found, str) else found:
                    yield Mismatch(kind, text)

    def contradiction(self) -> list[str]:
        """Return the first of what the report itself notes."""
        listed = (self.model.meta or {}).get("contradictions")
        return [show_line(one, 200) for one in listed or () if isinstance(one, str)][:5]

    def of(self, codes: Ints) -> Decision | None:
        """Return the verdict's decision in a column of codes."""
        return DECISION_OF[codes[self.at]]

    def quorum(self) -> str | None:
        if self._may_stay_open():
            return None
        ours = self.of(self.found.panels.by(Strategy.QUORUM))
        return (
            f"quorum: reported {self.stated}, but {self.votes.passes} of {self.votes.seated} "
            f"against {self.policy.quorum} gives {ours}"
        )

    def decision(self) -> str | None:
        """Compare with the stated rule or its median; votes may be of the answered or by label."""
        found = self.found
        strategy = self.strategy
        if found.counts[self.at]:
            if self.stated is self.of(found.cautioned) is Decision.INCONCLUSIVE:
                return None
            if self.facts.rules.labels:
                return self._declared_label()
        # The rule as set and as used, and the median that an irreversible case may use.
        ways = [STRATEGY_OF[found.columns.strategy[self.at]], self.used]
        if self.facts.regime == Regime.IRREVERSIBLE:
            ways.append(Strategy.MEDIAN)
        own = [self.of(found.panels.by(way)) for way in ways]
        if strategy is Strategy.TRIMMED_MEAN and self.policy.threshold is not None:
            kept = [self.scores[n : len(self.scores) - n] for n in self._trim_counts()]
            line = self.policy.threshold - SLACK
            means = [math.fsum(part) / len(part) for part in kept if part]
            own += [Decision.PASS if mean >= line else Decision.FAIL for mean in means]
        if strategy in {Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY}:
            own += [rules.STRATEGIES[strategy].published(self.votes.of_answered, self.policy)]
            # Jurors with the most frequent labels may be outnumbered by other votes.
            if strategy is not Strategy.UNANIMOUS or len(self.labels) < 2:
                most = max(self.labels.values(), default=0)
                leading = [code for code, count in self.labels.items() if count == most]
                said = np.isin(found.labels.code[:, self.at], leading)
                votes = found.columns.votes[said, self.at].tolist()
                own += [DECISION_OF[vote] for vote in {*votes} - {NOTHING}]
        given = [one for one in own if one is not None]
        if not given or self.stated in given or self._may_stay_open():
            return None
        return f"decision: reported {self.stated}, but {strategy} gives {given[0]}"

    def _declared_label(self) -> str | None:
        words = self.found.words
        labels = self.found.labels
        ours = self.of(words.decision)
        tied = labels.code[words.level[:, self.at], self.at].tolist()
        allowed = {ours, *(self.facts.rules.outcome(labels.words.spelled[code]) for code in tied)}
        if self.stated in allowed or (ours is None and not words.counted[self.at]):
            return None
        how = self.facts.rules.aggregate or self.used or Strategy.MAJORITY
        made = label_vote(self.verdict.ballots, how, self.facts.rules)
        return f"decision: reported {self.stated}, but {made.rule} gives {made.label}"

    def _may_stay_open(self) -> bool:
        """Return True if it is inconclusive, and its regime, labels or votes allow that."""
        if self.stated is not Decision.INCONCLUSIVE:
            return False
        votes = self.votes
        label = self.model.label
        undecided = bool(label) and label_decision(label) not in rules.SIDES
        if self.facts.regime == Regime.DISPUTE or len(self.labels) > 1 or undecided:
            return True
        if self.strategy is Strategy.UNANIMOUS:
            return votes.answered < votes.seated
        quorum = self.policy.quorum
        if self.strategy not in {None, Strategy.QUORUM} or quorum is None or not votes.known:
            return False
        most = max(votes.passes, votes.fails)
        reached = all(rules.quorum_met(most, n, quorum) for n in (votes.seated, votes.answered))
        return not reached or votes.passes == votes.fails

    def label(self) -> str:
        how = self.facts.rules.aggregate or self.strategy or Strategy.MAJORITY
        found = label_vote(self.verdict.ballots, how, self.facts.rules)
        return f"label: reported {self.model.label}, but {found.rule} gives {found.label}"

    def _banded(self) -> tuple[Band | None, str]:
        """Return the band and the words of the stated agreement."""
        stated = self.model.agreement
        words = f"{stated.metric} {stated.value:g}" if stated else ""
        return BAND_OF[self.found.claimed[self.at]], words

    def band(self) -> str:
        own, words = self._banded()
        reported = BAND_OF[self.found.claims.band[self.at]]
        if reported is not own:
            return f"band: reported {reported}, but {words} is {own}"
        by_ballots = next(
            filter(None, (BAND_OF[code] for code in self.found.null_bands[:, self.at]))
        )
        return f"band: reported {own} for {words}, but the ballots give {by_ballots}"

    def escalation(self) -> str | None:
        """Word an escalation that is missing, and check one without a low agreement.

        Alpha allows none, and r_WG allows one only on a split. Stated reasons, a dispute, or a
        decision of inconclusive or error allow one under both.
        """
        model = self.model
        own, words = self._banded()
        if not model.escalate_for_review:
            whose = words if own is Band.LOW else "r_wg of the ballots"
            return f"escalation: not reported, but {whose} is low"
        other = self.stated in {Decision.INCONCLUSIVE, Decision.ERROR}
        if other or model.escalation_reasons or self.facts.regime == Regime.DISPUTE:
            return None
        if words.startswith(rules.ALPHA):
            return f"escalation: reported, but {words} is {own}"
        # A vote that depends on an unknown threshold may have split the panel too.
        waiting = any(one.undetermined for one in self.verdict.ballots)
        split = self.votes.split or len(self.labels) > 1
        if waiting or split or "threshold" in self.set_by_you:
            return None
        return f"escalation: reported, but {words} is {own} and the votes agree"

    def same_family(self) -> str | None:
        """Compare the stated ``same_family`` with the models.

        A stated no is checked against the four families of the jury document alone, a stated yes
        only if every juror's family is known.
        """
        model = self.model
        if model.same_family:
            known = all(family.family(one.model, one.vendor) for one in model.jurors)
            return "same model family: reported yes, but the models say no" if known else None
        own = model.generator
        whole = own is not None and own.model and own.vendor
        kin = family.plain_kin(model.jurors, own if own and whole else self.verdict.generator)
        return "same model family: reported no, but the models say yes" if kin else None

    @property
    def _fraction(self) -> float | None:
        stated = self.stated_trim.fraction
        return self.policy.trim_fraction if stated is None else stated

    def _trim_counts(self) -> list[int]:
        """Return every count per end that the trim may mean, that of the default rule first."""
        n = len(self.scores)
        trim = self.stated_trim
        if self._fraction is not None:
            roundings = tuple(Rounding) if trim.rounding is None else (trim.rounding,)
            counts = [rules.trim_count(n, self._fraction, one) for one in roundings]
            return list(dict.fromkeys(counts))
        return list(range((max(n, 1) - 1) // 2 + 1)) if trim.low is None else [len(trim.low)]

    def trim(self) -> str | None:
        """Compare a quantile trim with its own fraction and with the order of the scores.

        Dropped scores are compared as multisets, because equal scores may change places.
        """
        trim = self.stated_trim
        fraction = self._fraction
        if trim.method not in {None, "quantile"} or (trim.method is None and fraction is None):
            return None
        counts = self._trim_counts()
        rule = f"{counts[0]} at each end"
        if fraction is not None:
            rule = f"{fraction:g} {trim.rounding or Rounding.DOWN}"
        if trim.low is None:
            if fraction is None or trim.per_side in {None, *counts}:
                return None
            return f"trim: reported {trim.per_side} per side, but {rule} drops {counts[0]}"
        known = dict(self.scored)
        # A dropped juror without a score takes one that no juror can give.
        sides = (trim.low, trim.high or ())
        dropped = [sorted(known.get(name, -1.0) for name in side) for side in sides]
        scores = self.scores
        allowed = [[scores[:count], scores[len(scores) - count :]] for count in counts]
        if dropped not in allowed:
            reported, ours = (
                " / ".join(", ".join(f"{one:.3g}" for one in side) or "none" for side in sides)
                for sides in (dropped, allowed[0])
            )
            return f"trim: reported {reported}, but {rule} drops {ours}"
        if trim.per_side in {None, len(trim.low)}:
            return None
        return f"trim: reported {trim.per_side} per side, but names {len(trim.low)}"

    def stopped_early(self) -> str | None:
        """Check that a panel that stopped as decided was decided."""
        stops = own_facts(self.verdict.body).get("stop_when_decided") is True
        if not stops or not can_turn(self.verdict):
            return None
        count = sum(one.status is Status.NOT_ASKED for one in self.verdict.ballots)
        return f"stopped early: the jurors not asked ({count}) could have turned the decision"

    def against_all(self) -> str | None:
        """Check that a stated pass or fail has a vote, or that a known rule gives it."""
        votes = self.votes
        if not votes.known or self.found.says[self.at]:
            return None
        ballots = self.verdict.ballots if "threshold" in self.set_by_you else ()
        if any(one.vote is not None and one.stated_pass is None for one in ballots):
            return None
        ruled = self.of(self.found.panels.by(self.used))
        if ruled is self.stated or (ruled is not None and not self.set_by_you):
            return None
        cells = (self.model.meta or {}).get("row")
        line = number(cells.get("threshold")) if isinstance(cells, Mapping) else None
        known = "" if line is None else f"; the test's own threshold is {line:g}"
        return (
            f"decision: reported {self.stated}, but 0 of {votes.answered} votes are for it{known}"
        )

    def pass_score(self) -> Iterator[str]:
        """Yield a text for each ballot whose pass contradicts its score by a stated threshold."""
        mine = "threshold" in self.set_by_you
        for seat in np.flatnonzero(self.found.sheet.contradicts[:, self.at]).tolist():
            ballot = read_ballot(seat, to_builtins(self.model.jurors[seat]), self.policy)
            if ballot.line is not None or not mine or ballot.score in {0, 1}:
                line = self.policy.threshold if ballot.line is None else ballot.line
                side = "pass" if ballot.stated_pass else "fail"
                against = "" if line is None else f" against threshold {line:.3g}"
                yield f"{ballot.id}: stated {side} with score {ballot.score:.3g}{against}"


def mismatches(verdict: Verdict, found: Verdicts) -> Iterator[Mismatch]:
    """Yield where a verdict's report disagrees with its own rule; ``found`` holds it alone."""
    sure, doubts = at_sight(found)
    return AuditedVerdict(lambda: verdict, found, 0).mismatches(int(sure[0] | doubts[0]))


def breaches(found: Verdicts, read: Callable[[int], Verdict]) -> Ints:
    """Return the breaches of many verdicts as bits; ``read`` builds those that columns doubt."""
    bits, doubts = at_sight(found)
    for at in np.flatnonzero(doubts).tolist():
        audited = AuditedVerdict(partial(read, at), found, at)
        for one in audited.mismatches(int(doubts[at])):
            bits[at] |= int(one.kind)
    return bits


def at_sight(found: Verdicts) -> tuple[Ints, Ints]:
    """Return as bits, ``[n]``, the breaches that columns show, and those they cannot rule out."""
    sheet = found.sheet
    claims = sheet.claims
    cast = found.panels.cast
    policies = [one.policy for one in sheet.facts]
    # The decision, by the rule, by a quorum of the answers, or against every vote.
    stated = claims.decision
    made = found.panels.decision
    decision = (made != NOTHING) & (stated != made)
    quorum = sheet.of_policy([one.strategy in {None, Strategy.QUORUM} for one in policies])
    decision &= ~quorum | (stated != found.panels.quorum_answered)
    sided = np.where(stated == PASS, cast.passes, cast.answered - cast.passes)
    against = ((stated == PASS) | (stated == FAIL)) & (sided == 0) & (cast.answered > 0)
    # If the rule decides nothing, labels, the median or one of several trimmed means may decide.
    other = [
        one.policy.strategy is Strategy.TRIMMED_MEAN or one.regime == Regime.IRREVERSIBLE
        for one in sheet.facts
    ]
    by_label = ~quorum & (found.labelled > 0) & (cast.answered > 0)
    decision |= (made == NOTHING) & (against | sheet.of_policy(other) | by_label)
    decision |= found.counts & found.declares & (stated != found.words.decision)
    decision &= stated != NOTHING
    mine = [one.set_by_you for one in sheet.facts]
    own_rule = [
        (one.policy.strategy is Strategy.QUORUM or (one.policy.strategy is None and not one.regime))
        and not {"quorum", "threshold"} & one.set_by_you
        for one in sheet.facts
    ]
    ours = found.panels.by(Strategy.QUORUM)
    by_quorum = decision & sheet.of_policy(own_rule) & (ours != NOTHING) & (stated != ours)
    by_quorum &= stated != found.panels.quorum_answered
    by_rule = decision & ~quorum & sheet.of_policy([not one for one in mine])
    # The consensus label.
    label = claims.label != sheet.labels.words.code("")
    label &= sheet.of_policy([one.strategy in LABEL_RULES for one in policies])
    label &= (found.labelled > 0) | found.declares
    label &= ~(found.counts & (found.words.label == claims.label))
    label &= sheet.of_policy(["strategy" not in one for one in mine]) & found.counts
    # Band and escalation beside the stated agreement, and beside what the ballots give.
    own = found.claimed
    known = np.isin(claims.metric, (rules.R_WG, rules.ALPHA)) & (own != NOTHING)
    given = np.where(claims.metric == rules.R_WG, found.null_bands, NOTHING)
    banded = known & (claims.band != NOTHING)
    off = banded & (claims.band != own)
    unlike = banded & ~off & (given != NOTHING).any(axis=0) & ~(given == own).any(axis=0)
    lows = (given == LOW).any(axis=0)
    low = (own == LOW) | (lows & (given <= LOW).all(axis=0))
    silent = known & (claims.escalate == 0) & low
    asks = known & (claims.escalate == 1) & (own != LOW) & ~lows
    kin = (claims.same_family != NOTHING) & (sheet.shared != NOTHING)
    kin &= claims.same_family != sheet.shared
    # The trim.
    low, high = found.ends
    same = ((claims.low == low) & (claims.high == high)).all(axis=0)
    same &= (claims.listed == found.cut).all(axis=0)
    per_side = (claims.per_side == NOTHING) | (claims.per_side == found.cut)
    trim = claims.trim & ~(per_side & (same | ~claims.named))
    noted = ["contradictions" in (one.meta or ()) for one in sheet.verdicts]
    contradicts = sheet.contradicts.any(axis=0)
    my_line = sheet.of_policy(["threshold" in one for one in mine])
    sure = (
        (found.panels.by(Strategy.QUORUM) != found.panels.quorum_strictly, Breach.ROUNDING),
        (by_quorum & (stated != INCONCLUSIVE), Breach.QUORUM),
        (off | unlike, Breach.BAND),
        (silent, Breach.ESCALATION),
        (contradicts & ~my_line, Breach.PASS_SCORE),
        (_mislabelled(found, label), Breach.LABEL),
    )
    doubts = (
        (by_quorum & (stated == INCONCLUSIVE), Breach.QUORUM),
        (by_rule, Breach.DECISION),
        (decision & against, Breach.AGAINST_ALL),
        (asks, Breach.ESCALATION),
        (kin, Breach.SAME_FAMILY),
        (trim, Breach.TRIM),
        (found.stopped, Breach.STOPPED_EARLY),
        (contradicts & my_line, Breach.PASS_SCORE),
        (np.array(noted, np.bool_), Breach.CONTRADICTION),
    )
    return _bits(sure), _bits(doubts)


def _mislabelled(found: Verdicts, doubts: Bools) -> Bools:
    """Return which of the doubtful verdicts state a label that their strategy does not give.

    Any tied label is allowed. So is a fallback label of the producer if the jurors differ, and
    a weighted vote without the confidences. A weighted vote needs every weight.
    """
    sheet = found.sheet
    wrong = np.zeros(len(sheet), np.bool_)
    rows = np.flatnonzero(doubts)
    for (place, used), among in cases(sheet.place[rows], found.used[rows]):
        fact = sheet.facts[place]
        # Labels count only under the stated rule, not under one that replaces it.
        if fact.policy.strategy is not STRATEGY_OF[used]:
            continue
        how = fact.rules.aggregate or fact.policy.strategy or Strategy.MAJORITY
        group = rows[among]
        given = rows_of(sheet.labels, group)
        stated = sheet.claims.label[group]
        made = [count_labels(given, how, fact.rules)]
        known = np.ones(len(group), np.bool_)
        if how is Strategy.WEIGHTED_VOTE:
            made.append(count_labels(given, how, replace(fact.rules, use_confidence=False)))
            known = ~(np.isnan(given.weights) & (given.code != NOTHING)).any(axis=0)
        said = given.code == stated
        spoken = (said | (given.code == made[0].label)).any(axis=0)
        allowed = [(one.label == stated) | (one.level & said).any(axis=0) for one in made]
        wrong[group] = known & spoken & ~np.logical_or.reduce(allowed)
    return wrong


def _bits(columns: Iterable[tuple[Bools, Breach]]) -> Ints:
    return np.asarray(np.bitwise_or.reduce([np.where(at, int(kind), 0) for at, kind in columns]))
