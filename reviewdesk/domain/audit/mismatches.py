"""Where a report disagrees with its own rule."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Breach, Mismatch
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.label_rules import label_vote
from reviewdesk.domain.jury.panels import FAIL, PASS, votes_of
from reviewdesk.domain.jury.rules import ALPHA, R_WG, SIDES, STRATEGIES, quorum_met, trim_count
from reviewdesk.domain.jury.scores import (
    ADR_NULL,
    BAND_OF,
    LOW,
    UNIFORM_NULL,
    bands,
    codes_of,
    levels_null,
    pairs_agreement,
)
from reviewdesk.domain.jury.stopping import can_turn
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.run.columns import Bools, Ints
from reviewdesk.domain.run.packing import DECISION_OF, NOTHING, STRATEGY_OF
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.values import (
    LABEL_RULES,
    Band,
    Decision,
    Regime,
    Rounding,
    Status,
    label_decision,
)
from reviewdesk.domain.verdict import SLACK, Strategy, Verdict, folded, labelled, number, own_facts

_ROUNDING_SLACK = 0.005
"""How far a stated figure may differ from ours because it was rounded."""
_NULLS = np.array([UNIFORM_NULL, ADR_NULL, *map(levels_null, range(2, 12))])


class AuditedVerdict:
    """One verdict in the columns of many; methods named after a ``Breach`` say what breaks it."""

    def __init__(self, verdict: Verdict, found: Verdicts, at: int) -> None:
        self.verdict = verdict
        self.found = found
        self.at = at
        self.votes = votes_of(found.panels, at)
        self.stated = verdict.decision
        self.strategy = verdict.policy.strategy
        self.used = STRATEGY_OF[found.used[at]]
        self.rules = found.sheet.facts[int(found.sheet.place[at])].rules
        self.labels = [folded(one.label) for one in labelled(verdict.ballots)]
        self.scores = sorted(one.score for one in verdict.ballots if one.score is not None)

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield every place where the report disagrees with its own rule."""
        listed = (self.verdict.body.get("meta") or {}).get("contradictions")
        told = [show_line(one, 200) for one in listed or () if isinstance(one, str)]
        found = (
            (Breach.QUORUM, self.quorum()),
            (Breach.DECISION, self.decision()),
            (Breach.LABEL, self.label()),
            (Breach.BAND, self.band()),
            (Breach.ESCALATION, self.escalation()),
            (Breach.SAME_FAMILY, self.same_family()),
            (Breach.TRIM, self.trim()),
            (Breach.STOPPED_EARLY, self.stopped_early()),
            (Breach.AGAINST_ALL, self.against_all()),
            *((Breach.CONTRADICTION, text) for text in told[:5]),
            *((Breach.PASS_SCORE, text) for text in self.pass_score()),
        )
        return (Mismatch(kind, text) for kind, text in found if text)

    def of(self, codes: Ints) -> Decision | None:
        """Return the verdict's decision in a column of codes."""
        return DECISION_OF[codes[self.at]]

    def quorum(self) -> str | None:
        """Compare with the quorum of all seats and that of the jurors that answered."""
        verdict = self.verdict
        panels = self.found.panels
        ours = self.of(panels.by(Strategy.QUORUM))
        # Without a strategy, a regime may have chosen another rule.
        ruled = self.strategy is Strategy.QUORUM or (self.strategy is None and not verdict.regime)
        filled = {"quorum", "threshold"} & set(verdict.set_by_you)
        if not ruled or filled or None in {self.stated, ours}:
            return None
        if self.stated in {ours, self.of(panels.quorum_answered)} or self._may_stay_open():
            return None
        return (
            f"quorum: reported {self.stated}, but {self.votes.passes} of {self.votes.seated} "
            f"against {verdict.policy.quorum} gives {ours}"
        )

    def decision(self) -> str | None:
        """Compare with the stated rule or its median; votes may be of the answered or by label."""
        verdict = self.verdict
        found = self.found
        strategy = self.strategy
        if strategy in {None, Strategy.QUORUM} or verdict.set_by_you or self.stated is None:
            return None
        if found.counts[self.at]:
            if self.stated is self.of(found.cautioned) is Decision.INCONCLUSIVE:
                return None
            if self.rules.labels:
                return self._declared_label()
        # The rule as set and as used, and the median that an irreversible case may use.
        rules = [STRATEGY_OF[found.sheet.columns.strategy[self.at]], self.used]
        if verdict.regime == Regime.IRREVERSIBLE:
            rules.append(Strategy.MEDIAN)
        own = [self.of(found.panels.by(rule)) for rule in rules]
        if strategy is Strategy.TRIMMED_MEAN and verdict.policy.threshold is not None:
            kept = [self.scores[n : len(self.scores) - n] for n in self._trim_counts()]
            line = verdict.policy.threshold - SLACK
            means = [math.fsum(part) / len(part) for part in kept if part]
            own += [Decision.PASS if mean >= line else Decision.FAIL for mean in means]
        if strategy in {Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY}:
            own += [STRATEGIES[strategy].published(self.votes.of_answered, verdict.policy)]
            own += self._label_decisions()
        given = [one for one in own if one is not None]
        if not given or self.stated in given or self._may_stay_open():
            return None
        return f"decision: reported {self.stated}, but {strategy} gives {given[0]}"

    def _declared_label(self) -> str | None:
        words = self.found.words
        labels = self.found.sheet.labels
        ours = self.of(words.decision)
        tied = labels.code[words.level[:, self.at], self.at].tolist()
        allowed = {ours, *(self.rules.outcome(labels.words.spelled[code]) for code in tied)}
        if self.stated in allowed or (ours is None and not words.counted[self.at]):
            return None
        how = self.rules.aggregate or self.used or Strategy.MAJORITY
        made = label_vote(self.verdict.ballots, how, self.rules)
        return f"decision: reported {self.stated}, but {made.rule} gives {made.label}"

    def _may_stay_open(self) -> bool:
        """Return True if it is inconclusive, and its regime, labels or votes allow that."""
        if self.stated is not Decision.INCONCLUSIVE:
            return False
        votes = self.votes
        label = self.verdict.text("label")
        undecided = bool(label) and label_decision(label) not in SIDES
        if self.verdict.regime == Regime.DISPUTE or len(set(self.labels)) > 1 or undecided:
            return True
        if self.strategy is Strategy.UNANIMOUS:
            return votes.answered < votes.seated
        quorum = self.verdict.policy.quorum
        if self.strategy not in {None, Strategy.QUORUM} or quorum is None or not votes.known:
            return False
        most = max(votes.passes, votes.fails)
        reached = all(quorum_met(most, n, quorum) for n in (votes.seated, votes.answered))
        return not reached or votes.passes == votes.fails

    def _label_decisions(self) -> list[Decision]:
        """Return how jurors with the most frequent labels voted; other votes may outnumber them."""
        counts = Counter(self.labels)
        if self.strategy is Strategy.UNANIMOUS and len(counts) > 1:
            return []
        leading = {label for label, count in counts.items() if count == max(counts.values())}
        votes = {one.vote for one in self.verdict.ballots if folded(one.label) in leading}
        return [Decision.PASS if vote else Decision.FAIL for vote in votes if vote is not None]

    def label(self) -> str | None:
        """Compare the reported consensus label with what the stated strategy gives.

        Any tied label is allowed. So is a fallback label of the producer if the jurors differ, and
        a weighted vote without the confidences. A weighted vote needs every weight.
        """
        verdict = self.verdict
        stated = verdict.text("label")
        # Labels count only under the stated rule, not under one that replaces it.
        counts = self.strategy is self.used and bool(self.found.counts[self.at])
        if not stated or not counts or "strategy" in verdict.set_by_you:
            return None
        weights = [one.weight for one in labelled(verdict.ballots)]
        if self.strategy is Strategy.WEIGHTED_VOTE and None in weights:
            return None
        how = self.rules.aggregate or self.strategy or Strategy.MAJORITY
        found = label_vote(verdict.ballots, how, self.rules)
        bare = label_vote(verdict.ballots, how, replace(self.rules, use_confidence=False))
        allowed = {found.label, bare.label, *found.tied, *bare.tied}
        unsaid = not {folded(found.label), folded(stated)} & set(self.labels)
        if unsaid or folded(stated) in map(folded, allowed):
            return None
        return f"label: reported {stated}, but {found.rule} gives {found.label}"

    @property
    def _banded(self) -> tuple[Band | None, str]:
        """The band and the words of a stated agreement whose metric has published bands."""
        stated = self.verdict.agreement
        if stated is None or stated.value is None or stated.metric not in {ALPHA, R_WG}:
            return None, ""
        code = int(bands(np.array([stated.value]))[0])
        return BAND_OF[code], f"{stated.metric} {stated.value:g}"

    @property
    def _ballot_bands(self) -> list[Band]:
        """The bands of the ballots under a stated r_WG, that by the uniform null first."""
        stated = self.verdict.agreement
        if stated is None or stated.metric != R_WG:
            return []
        if self.found.says[self.at]:
            seats = np.flatnonzero(self.found.said[:, self.at])
            said = [folded(self.verdict.ballots[seat].label) for seat in seats]
            raw = pairs_agreement(codes_of(said))
        else:
            raw = 1 - self.found.panels.scores.variance[self.at] / _NULLS
            value = np.nan if stated.value is None else stated.value
            off = np.minimum(np.abs(raw - value), np.abs(np.maximum(0.0, raw) - value))
            near = off <= _ROUNDING_SLACK
            near[0] = True
            raw = raw[near]
        codes = bands(raw).tolist()
        return [found for code in dict.fromkeys(codes) if (found := BAND_OF[code])]

    def band(self) -> str | None:
        """Compare the stated band with the stated value and with the ballots' r_WG."""
        own, words = self._banded
        reported = self.verdict.band
        if own is None or reported is None:
            return None
        if reported is not own:
            return f"band: reported {reported}, but {words} is {own}"
        given = self._ballot_bands
        if not given or own in given:
            return None
        return f"band: reported {own} for {words}, but the ballots give {given[0]}"

    def escalation(self) -> str | None:
        """Compare the stated escalation with the stated agreement.

        A low agreement must escalate. Otherwise alpha allows no escalation, and r_WG allows one
        only on a split. Stated reasons, a dispute, or a decision of inconclusive or error allow one
        under both.
        """
        verdict = self.verdict
        own, words = self._banded
        given = self._ballot_bands
        if own is None or verdict.escalate is None:
            return None
        if not verdict.escalate:
            whose = words if own is Band.LOW else "r_wg of the ballots"
            low = own is Band.LOW or given == [Band.LOW]
            return f"escalation: not reported, but {whose} is low" if low else None
        other = self.stated in {Decision.INCONCLUSIVE, Decision.ERROR}
        other |= bool(verdict.body.get("escalation_reasons")) or verdict.regime == Regime.DISPUTE
        if Band.LOW in {own, *given} or other:
            return None
        if verdict.agreement is not None and verdict.agreement.metric == ALPHA:
            return f"escalation: reported, but {words} is {own}"
        # A vote that depends on an unknown threshold may have split the panel too.
        waiting = any(one.undetermined for one in verdict.ballots)
        split = self.votes.split or len(set(self.labels)) > 1
        if waiting or split or "threshold" in verdict.set_by_you:
            return None
        return f"escalation: reported, but {words} is {own} and the votes agree"

    def same_family(self) -> str | None:
        """Compare the stated ``same_family`` with the models.

        A stated no is checked against the four families of the jury document alone, a stated yes
        only if every juror's family is known.
        """
        verdict = self.verdict
        shared = int(self.found.sheet.shared[self.at])
        reported = verdict.same_family
        if reported is None or shared in {NOTHING, reported}:
            return None
        if reported:
            known = all(family.family(one.model, one.vendor) for one in verdict.ballots)
            return "same model family: reported yes, but the models say no" if known else None
        kin = family.plain_kin(verdict.ballots, verdict.generator)
        return "same model family: reported no, but the models say yes" if kin else None

    @property
    def _fraction(self) -> float | None:
        stated = self.verdict.trim.fraction
        return self.verdict.policy.trim_fraction if stated is None else stated

    def _trim_counts(self) -> list[int]:
        """Return every count per end that the trim may mean, that of the default rule first."""
        n = len(self.scores)
        trim = self.verdict.trim
        if self._fraction is not None:
            roundings = tuple(Rounding) if trim.rounding is None else (trim.rounding,)
            return list(dict.fromkeys(trim_count(n, self._fraction, one) for one in roundings))
        return list(range((max(n, 1) - 1) // 2 + 1)) if trim.low is None else [len(trim.low)]

    def trim(self) -> str | None:
        """Compare a quantile trim with its own fraction and with the order of the scores.

        Dropped scores are compared as multisets, because equal scores may change places.
        """
        trim = self.verdict.trim
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
        known = {one.id: one.score for one in self.verdict.ballots if one.score is not None}
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
        verdict = self.verdict
        votes = self.votes
        if self.stated not in SIDES or not votes.known or self.found.says[self.at]:
            return None
        if votes.passes if self.stated is Decision.PASS else votes.fails:
            return None
        by_ours = any(one.vote is not None and one.stated_pass is None for one in verdict.ballots)
        if "threshold" in verdict.set_by_you and by_ours:
            return None
        ruled = self.of(self.found.panels.by(self.used))
        if ruled is self.stated or (ruled is not None and not verdict.set_by_you):
            return None
        cells = (verdict.body.get("meta") or {}).get("row")
        line = number(cells.get("threshold")) if isinstance(cells, Mapping) else None
        known = "" if line is None else f"; the test's own threshold is {line:g}"
        return (
            f"decision: reported {self.stated}, but 0 of {votes.answered} votes are for it{known}"
        )

    def pass_score(self) -> Iterator[str]:
        """Yield a text for each ballot whose pass contradicts its score by a stated threshold."""
        mine = "threshold" in self.verdict.set_by_you
        for seat in np.flatnonzero(self.found.sheet.contradicts[:, self.at]):
            ballot = self.verdict.ballots[seat]
            if ballot.line is not None or not mine or ballot.score in {0, 1}:
                line = self.verdict.policy.threshold if ballot.line is None else ballot.line
                side = "pass" if ballot.stated_pass else "fail"
                against = "" if line is None else f" against threshold {line:.3g}"
                yield f"{ballot.id}: stated {side} with score {ballot.score:.3g}{against}"


def breaches(found: Verdicts, read: Callable[[int], Verdict]) -> Ints:
    """Return the breaches of many verdicts as bits; ``read`` builds those that columns doubt."""
    rounded = found.panels.by(Strategy.QUORUM) != found.panels.quorum_strictly
    bits = np.where(rounded, int(Breach.ROUNDING), 0)
    for at in np.flatnonzero(doubtful(found)).tolist():
        for one in AuditedVerdict(read(at), found, at).mismatches():
            bits[at] |= int(one.kind)
    return bits


def doubtful(found: Verdicts) -> Bools:
    """Return which verdicts state something that their ballots do not give at first sight."""
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
    by_label = ~quorum & (found.labelled > 0)
    decision |= (made == NOTHING) & (against | sheet.of_policy(other) | by_label)
    decision |= found.counts & found.declares & (stated != found.words.decision)
    # The consensus label.
    label = claims.label != sheet.labels.words.code("")
    label &= sheet.of_policy([one.strategy in LABEL_RULES for one in policies])
    label &= (found.labelled > 0) | found.declares
    label &= ~(found.counts & (found.words.label == claims.label))
    # Band, escalation and family, beside the agreement.
    own = bands(claims.value)
    raw = np.where(claims.metric == R_WG, bands(found.whole_agreement), own)
    known = np.isin(claims.metric, (R_WG, ALPHA)) & (own != NOTHING)
    agreement = (claims.band != own) | ((raw != NOTHING) & (raw != own))
    agreement &= claims.band != NOTHING
    agreement |= (claims.escalate == 1) & (own != LOW)
    agreement |= (claims.escalate == 0) & ((own == LOW) | (raw == LOW))
    kin = (claims.same_family != NOTHING) & (sheet.shared != NOTHING)
    kin &= claims.same_family != sheet.shared
    # The trim.
    low, high = found.ends
    same = ((claims.low == low) & (claims.high == high)).all(axis=0)
    same &= (claims.listed == found.cut).all(axis=0)
    per_side = (claims.per_side == NOTHING) | (claims.per_side == found.cut)
    trim = claims.trim & ~(per_side & (same | ~claims.named))
    noted = ["contradictions" in (one.meta or ()) for one in sheet.verdicts]
    marks: Bools = (decision & (stated != NOTHING)) | label | (known & agreement) | kin | trim
    return marks | found.stopped | sheet.contradicts.any(axis=0) | np.array(noted, np.bool_)
