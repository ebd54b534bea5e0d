"""What identifies an item, and where a report disagrees with its own rule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from reviewdesk.domain import bias
from reviewdesk.domain.agreement import band, r_wg, unit_alpha
from reviewdesk.domain.panel import Decisions, Votes, decision_by, rule_for
from reviewdesk.domain.trim import Trim
from reviewdesk.domain.verdict import Band, Body, Decision, Strategy, Verdict

_CONTENT = ("input", "output", "alternative", "reference", "rubric")


def canonical_json(value: object) -> bytes:
    """Compact UTF-8 JSON with sorted keys: what hashes are taken over."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def content_hash(body: Body) -> str:
    """sha256 of what was judged: input, output, alternative, reference and rubric."""
    return hashlib.sha256(canonical_json([body.get(key) for key in _CONTENT])).hexdigest()


def item_hash(body: Body, run_hash: str) -> str:
    """The identity a label is kept under: the content, so that one label serves every panel.

    Where there is no output to identify the content, run hash and verdict id are appended, and the
    label does not travel.
    """
    content = [body.get(key) for key in _CONTENT]
    if not body.get("output"):
        content += [run_hash, body["id"]]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def mismatches(verdict: Verdict, votes: Votes, made: Decisions, cut: Trim) -> tuple[str, ...]:
    """Every place where the report disagrees with its own rule, recomputed from its ballots."""
    found = [
        _quorum(verdict, made, votes),
        _decision(verdict, made, votes),
        _band(verdict),
        _escalation(verdict),
        _same_family(verdict),
        _trim(verdict, cut),
    ]
    found += [
        f"{ballot.id}: stated {'pass' if ballot.stated_pass else 'fail'} with score "
        f"{ballot.score:.3g} against threshold {verdict.policy.threshold:.3g}"
        for ballot in verdict.ballots
        if ballot.contradicts and "threshold" not in verdict.set_by_you
    ]
    return tuple(text for text in found if text)


def _quorum(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """A quorum decision that neither the seated nor the answering panel gives."""
    if verdict.policy.strategy not in {None, Strategy.QUORUM}:
        return None
    if verdict.decision not in {Decision.PASS, Decision.FAIL} or made.quorum is None:
        return None
    if "quorum" in verdict.set_by_you:
        return None
    if verdict.decision in {made.quorum, made.quorum_answered}:
        return None
    return (
        f"quorum: reported {verdict.decision}, but {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} gives {made.quorum}"
    )


def _decision(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """A decision that the stated rule, or the median that stands in for it, does not give."""
    strategy = verdict.policy.strategy
    if strategy in {None, Strategy.QUORUM} or verdict.set_by_you:
        return None
    rule = rule_for(verdict.policy, verdict.ballots)
    own = [decision_by(found, made, votes) for found in (rule.strategy, rule.used)]
    sides = {Decision.PASS, Decision.FAIL}
    if verdict.decision not in sides or verdict.decision in own or not sides & set(own):
        return None
    return f"decision: reported {verdict.decision}, but {strategy} gives {own[-1]}"


def _own_band(verdict: Verdict) -> Band | None:
    """The band under the metric that the report names, where it is one that a ballot set fixes."""
    if verdict.agreement is None:
        return None
    if verdict.agreement.metric == "krippendorff_alpha":
        return band(unit_alpha([b.vote for b in verdict.ballots if b.vote is not None]))
    if verdict.agreement.metric == "r_wg":
        return r_wg([b.score for b in verdict.ballots if b.score is not None]).band
    return None


def _band(verdict: Verdict) -> str | None:
    own = _own_band(verdict)
    if own is None or verdict.band is None or own is verdict.band or verdict.agreement is None:
        return None
    return f"band: reported {verdict.band}, but {verdict.agreement.metric} gives {own}"


def _escalation(verdict: Verdict) -> str | None:
    """A low band must escalate; under alpha nothing else does."""
    own = _own_band(verdict)
    if own is None or verdict.escalate is None or verdict.agreement is None:
        return None
    if own is Band.LOW and not verdict.escalate:
        return f"escalation: not reported, but {verdict.agreement.metric} is low"
    if (
        verdict.escalate
        and own is not Band.LOW
        and verdict.agreement.metric == "krippendorff_alpha"
    ):
        return f"escalation: reported, but {verdict.agreement.metric} is {own}"
    return None


def _same_family(verdict: Verdict) -> str | None:
    ours = bias.same_family(verdict.ballots, verdict.generator)
    if verdict.same_family is None or ours is None or verdict.same_family is ours:
        return None
    return f"same family: reported {_yes(verdict.same_family)}, but the models say {_yes(ours)}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _trim(verdict: Verdict, cut: Trim) -> str | None:
    """Compared as multisets of dropped scores: equal scores may change places."""
    if verdict.trim.low is None or verdict.trim.method not in {None, "quantile"}:
        return None
    by_id = {ballot.id: ballot.score for ballot in verdict.ballots}
    by_seat = [ballot.score for ballot in verdict.ballots]
    stated = _sides(
        [by_id.get(name) for name in verdict.trim.low],
        [by_id.get(name) for name in verdict.trim.high or ()],
    )
    ours = _sides([by_seat[seat] for seat in cut.low], [by_seat[seat] for seat in cut.high])
    if stated == ours:
        return None
    return (
        f"trim: reported {_drops(stated)}, but {cut.fraction:g} {cut.rounding} drops {_drops(ours)}"
    )


Side = list[float]


def _sides(low: Sequence[float | None], high: Sequence[float | None]) -> tuple[Side, Side]:
    first, second = (sorted(-1.0 if s is None else s for s in side) for side in (low, high))
    return first, second


def _drops(sides: tuple[Side, Side]) -> str:
    low, high = (", ".join(f"{score:.3g}" for score in side) or "none" for side in sides)
    return f"{low} / {high}"
