"""How a verdict was reached, and notes on its rule and its panel."""

import math
from collections.abc import Hashable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from reviewdesk.domain.assessment.result import Assessment, Breach, State
from reviewdesk.domain.jury.rules import ALPHA, R_WG, Breakdown
from reviewdesk.domain.jury.scores import codes_of, only, pairs_agreement, r_wg, share_of_pairs
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.verdict import Strategy, Verdict, folded, labelled


class Trail(Struct, frozen=True):
    """The steps from the ballots to the decision, in seat order; ``None`` if one is not stated."""

    pre_trim: tuple[float | None, ...]
    post_trim: float | None
    rule_version: str | None
    panel_hash: str | None
    panel_hash_status: HashStatus | None
    committed_at: str | None
    ballots_at: tuple[str | None, ...]
    agreement: float | None
    agreement_reason: str | None

    @property
    def span(self) -> tuple[str, str] | None:
        """The earliest and the latest time of a ballot; ``None`` if no ballot has a time."""
        given = sorted((text for text in self.ballots_at if text), key=_comparable_time)
        return (given[0], given[-1]) if given else None


def trail(verdict: Verdict, found: Assessment) -> Trail:
    provenance = verdict.body.get("provenance") or {}
    post_trim = found.values.trimmed_mean
    if verdict.trim.low is not None:
        # The report's own trim names its jurors.
        scores = [seat.ballot.score for seat in found.seats if not seat.trimmed]
        kept = [score for score in scores if score is not None]
        post_trim = math.fsum(kept) / len(kept) if kept else None
    metric = verdict.agreement.metric if verdict.agreement else None
    # Under the report's own metric, if that is r_WG or the share of pairs.
    agreement = None
    if metric == R_WG and not found.labels:
        agreement = r_wg([one.score for one in verdict.ballots if one.score is not None]).raw
    elif metric in {R_WG, "pairwise"}:
        answers: list[Hashable] = [folded(one.label) for one in labelled(verdict.ballots)]
        if not found.labels:
            answers = [one.vote for one in verdict.ballots if one.vote is not None]
        figure = pairs_agreement if metric == R_WG else share_of_pairs
        agreement = only(figure(codes_of(answers)))
    return Trail(
        pre_trim=tuple(ballot.score for ballot in verdict.ballots),
        post_trim=post_trim,
        rule_version=(verdict.body.get("trim") or {}).get("rule_version"),
        panel_hash=provenance.get("panel_hash") or None,
        panel_hash_status=panel_hash_status(verdict),
        committed_at=provenance.get("committed_at") or None,
        ballots_at=tuple(juror.get("at") for juror in verdict.body["jurors"]),
        agreement=agreement,
        agreement_reason="not derivable" if metric == ALPHA else None,
    )


_UNREADABLE = datetime.max.replace(tzinfo=UTC)


def _comparable_time(text: str) -> datetime:
    """Parse a time for comparison: UTC if it has no zone, the latest possible if unreadable."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _UNREADABLE
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def remarks(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Return the notes on rounding, weights, the trim and its price, the panel and unanimity."""
    made = found.decisions
    votes = found.votes
    rounding = (
        f"{Breach.ROUNDING.label}: {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} is {made.quorum} as written, {made.quorum_strict} to the letter"
    )
    ballots = [seat.ballot for seat in found.seats if seat.ballot.usable]
    without = [ballot.id for ballot in ballots if ballot.weight is None]
    weights = "weight 1 assumed for every juror" if found.assumed_weights else None
    if without and len(without) < len(ballots):
        weights = f"weight 1 assumed for {', '.join(without)}"
    committed = (verdict.body.get("provenance") or {}).get("committed_at") or ""
    times = [_comparable_time(at) for one in verdict.body["jurors"] if (at := one.get("at"))]
    late = bool(times) and min(times) < _comparable_time(committed) < _UNREADABLE
    # The trim rule is designed for five jurors of three families or more.
    seated = len(found.seats)
    families = {seat.family.name for seat in found.seats if seat.family}
    unknown = sum(seat.family is None for seat in found.seats)
    known = f"{len(families)} known model families, {unknown} of {seated} jurors unknown"
    texts: dict[str | None, object] = {
        rounding: Breach.ROUNDING in found.marks,
        weights: weights,
        **dict.fromkeys(_trimming(verdict, found), True),
        f"panel of {seated}: under five jurors": 0 < seated < 5,
        f"panel of {known}: under three": seated and len(families) < 3,
        "unanimous: equal scores": found.unanimous_scores,
        "unanimous: equal votes": found.unanimous_votes,
        "the panel was committed after its first ballot": late,
    }
    return tuple(text for text, holds in texts.items() if text and holds)


def _trimming(verdict: Verdict, found: Assessment) -> Iterator[str]:
    scored = [seat for seat in found.seats if seat.ballot.score is not None]
    if 0 < len(scored) < 3:
        yield "untrimmed: one or two scores have no ends"
    kept = {seat.ballot.score for seat in scored if seat.state is State.COUNTED}
    tied = [seat.ballot.id for seat in scored if seat.trimmed and seat.ballot.score in kept]
    if tied:
        yield f"trimmed (tie): {', '.join(tied)} scored as much as a juror that was kept"
    named = verdict.trim.low
    trims = found.rule.used is Strategy.TRIMMED_MEAN
    if not scored or not (trims or named):
        return
    point = Breakdown(len(scored), found.trim.per_side if named is None else len(named), None)
    yield f"breakdown{'' if trims else ' of the stated trim'}: {point}"
    costs = [verdict.body["jurors"][seat.ballot.seat].get("cost_usd") for seat in scored]
    if None not in costs and len(costs) >= point.breaks_at:
        cost = sum(sorted(costs)[: point.breaks_at])
        yield f"bribe cost: {point.breaks_at} jurors, at least ${cost:.6g} at the ballots' prices"
