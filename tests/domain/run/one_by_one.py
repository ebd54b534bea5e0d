"""The slow reference of a window: every verdict assessed on its own, and packed by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from struct import pack
from typing import Any

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.content import canonical_json
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.labels.sampling import stratum
from reviewdesk.domain.run.packing import (
    ABSTAINED,
    COLUMNS,
    DECISIONS,
    FAILED,
    NOT_ASKED,
    NOTHING,
    REPLACED,
    ROUNDINGS,
    STRATEGIES,
    UNKNOWN,
    seat_names,
)
from reviewdesk.domain.run.tally import DERIVED_ESCALATION
from reviewdesk.domain.verdict import Decision, Status, Strategy, verdict_reader


class OneByOne:
    """What ``WindowReader`` must give for the same bodies, as plain lists and numbers."""

    def __init__(
        self, header: Mapping[str, Any], options: Mapping[str, Any], run_hash: str, bodies: Any
    ) -> None:
        self._read, self._run_hash = verdict_reader(header, options), run_hash
        self.rows: list[tuple[Any, ...]] = []
        self.flags: list[int] = []
        self.sides: list[int] = []
        self.packed = dict.fromkeys(COLUMNS, b"")
        self.names: dict[str, int] = {}
        self.quorums: dict[Any, int] = {}
        self.counts = dict.fromkeys(
            ("verdicts", "ballots", "failed", "passes", "fails", "stated_scores", "decided",
             "decided_stated", "decided_scored", "undecidable", "voteless", "human_labels",
             "stated_escalation"), 0,
        )  # fmt: skip
        self.contents = hashlib.sha256()
        for body in bodies:
            self._add(body)

    def _add(self, body: Any) -> None:
        verdict = self._read(body)
        found = assess(verdict)
        ballots = [seat.ballot for seat in found.seats]
        sure = [ballot.confidence for ballot in ballots if ballot.confidence is not None]
        close, scored = found.agreement, sum(ballot.score is not None for ballot in ballots)
        self.rows.append((
            body["id"], body["case"]["test"], self._item(body), found.decision, found.score,
            verdict.score, sum(sure) / len(sure) if sure else None, found.pair.value,
            found.pair.band, found.pair.source, close.spread.band, close.margin,
            found.votes.passes, found.votes.answered, found.votes.seated, close.range,
            None if close.sd is None else scored * (close.sd * close.sd), int(found.marks),
        ))  # fmt: skip
        self.flags.append(int(found.flags) | (DERIVED_ESCALATION if found.escalation else 0))
        needs_a_person = (
            bool(verdict.escalate)
            or verdict.bias_warning is not None
            or bool(found.flags & Flag.DISPUTE)
            or found.decision in {Decision.INCONCLUSIVE, Decision.ERROR}
            or found.no_votes
        )
        self.sides.append(stratum(found.decision, flagged=needs_a_person))
        decided = found.decision in {Decision.PASS, Decision.FAIL}
        for name, count in {
            "verdicts": 1, "ballots": len(ballots), "decided": decided,
            "failed": sum(ballot.status.failed for ballot in ballots),
            "passes": found.decision is Decision.PASS, "fails": found.decision is Decision.FAIL,
            "stated_scores": verdict.score is not None, "voteless": found.no_votes,
            "decided_stated": decided and verdict.score is not None,
            "decided_scored": decided and found.score is not None,
            "undecidable": found.decision is None and not found.no_votes,
            "human_labels": isinstance(body.get("human"), dict),
        }.items():  # fmt: skip
            self.counts[name] += count
        self.counts["stated_escalation"] |= verdict.escalate is not None
        self._pack(verdict, found)

    def _item(self, body: Any) -> bytes:
        content = [body.get(key) for key in ("input", "output", "alternative", "reference")]
        content += [body.get("rubric")]
        if body["case"].get("dimension") is not None:
            content.append(body["case"]["dimension"])
        digest = hashlib.sha256(canonical_json(content))
        self.contents.update(canonical_json([body["id"], digest.hexdigest()]))
        if not body.get("output"):
            digest = hashlib.sha256(canonical_json([*content, self._run_hash, body["id"]]))
        return digest.digest()

    def _pack(self, verdict: Any, found: Any) -> None:
        share = own_share(verdict.policy.supermajority)
        bar = verdict.policy.quorum if share is None else (verdict.policy.quorum, share)
        if verdict.policy.min_answered is not None:
            bar = (verdict.policy.quorum, share, verdict.policy.min_answered)
        jurors, ballots = verdict.body["jurors"], verdict.ballots
        names = seat_names([ballot.id for ballot in ballots])
        stands_in = verdict.policy.failed_jurors is Strategy.MEDIAN
        columns: dict[str, Sequence[Any]] = {
            "scores": [_number(ballot.score) for ballot in ballots],
            "votes": [NOTHING if ballot.vote is None else ballot.vote for ballot in ballots],
            "stated": ["pass" in juror for juror in jurors],
            "failed": [_failed(ballot.status, stands_in) for ballot in ballots],
            "weights": [_number(ballot.weight) for ballot in ballots],
            "juror": [self.names.setdefault(name, len(self.names)) for name in names],
            "seated": [len(ballots)],
            "threshold": [_number(verdict.policy.threshold)],
            "quorum": [NOTHING if bar is None else self.quorums.setdefault(bar, len(self.quorums))],
            "strategy": [_index(STRATEGIES, found.replayable)],
            "fraction": [found.trim.fraction],
            "rounding": [ROUNDINGS.index(found.trim.rounding)],
            "decision": [_index(DECISIONS, found.ruled)],
            "score": [_number(found.score)],
        }
        for name, values in columns.items():
            self.packed[name] += pack(f"<{len(values)}{COLUMNS[name]}", *values)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _index(words: Sequence[Any], word: Any) -> int:
    return NOTHING if word is None else words.index(word)


def _failed(status: Status, stands_in: bool) -> int:
    if status.failed:
        return REPLACED if stands_in else FAILED
    codes = {
        Status.UNKNOWN: UNKNOWN, Status.NOT_ASKED: NOT_ASKED, Status.ABSTAINED: ABSTAINED,
    }  # fmt: skip
    return codes.get(status, 0)


def stored(body: Any) -> str:
    """A body as the desk keeps it where the file's own JSON does not serve."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
