"""Several answers of one juror, combined into one ballot: samples, and both orders of a pair.

A seat has one vote, however often its juror was asked. The ballot holds the combined answer,
and ``samples`` holds each answer, with ``swapped`` where a panel asks in both orders. Reports of
panels that had two rounds also state ``round``, and the last one decided.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from reviewdesk.domain.values import Status
from reviewdesk.domain.verdict import CanonicalBallot, Free, answer, folded, number, without_nulls

Choice = bool | str | None
"""The choice in one answer: a vote, else a label in lower case, else ``None`` for an abstention."""

_SEAT = (
    "id", "kind", "model", "vendor", "role", "weight", "temperature", "prompt_sha256",
    "not_applied",
)  # fmt: skip


def one_ballot(
    seat: CanonicalBallot,
    samples: Sequence[CanonicalBallot],
    threshold: float,
    *,
    labels: bool = False,
) -> CanonicalBallot:
    """Return the ballot of a juror that gave these answers; those that failed are left out.

    Of the answers in one order, the score is the median and the vote, or with ``labels`` the label,
    that of more than half; without one the juror abstains. Both orders of a pair must give the same
    vote, or the juror abstains; if one order has no answer, the ballot has failed.
    """
    orders: dict[bool, list[CanonicalBallot]] = {}
    for one in samples:
        answered = orders.setdefault(bool(one.get("swapped")), [])
        answered += [] if _failed(one) else [one]
    if all(orders.values()):
        made = _agreed([*orders.values()], threshold, labels=labels)
    else:
        first = next(one for one in samples if _failed(one))
        made = {key: value for key, value in first.items() if key != "swapped"}
    for key in ("tokens_in", "tokens_out", "cost_usd"):
        known = [value for one in samples if (value := number(one.get(key))) is not None]
        made |= {key: sum(known) if key == "cost_usd" else int(sum(known))} if known else {}
    if unapplied := sorted({name for one in samples for name in one.get("not_applied") or ()}):
        made["not_applied"] = unapplied
    if seat.get("meta"):
        made["meta"] = seat["meta"]
    kept = [{key: one[key] for key in one if key not in (*_SEAT, "meta")} for one in samples]
    return {**seat, **made, "samples": kept}


def _agreed(
    orders: Sequence[Sequence[CanonicalBallot]], threshold: float, *, labels: bool
) -> dict[str, Any]:
    from statistics import median

    every = [one for order in orders for one in order]
    chosen = {
        majority([choice(one, threshold, labels=labels) for one in order]) for order in orders
    }
    won = chosen.pop() if len(chosen) == 1 else None
    scores, sure, times, dates = (
        [value for one in every if (value := one.get(key)) is not None]
        for key in ("score", "confidence", "latency_ms", "at")
    )
    score = median(scores) if scores else None
    first: CanonicalBallot = next(
        one for one in every if won in {None, choice(one, threshold, labels=labels)}
    )
    made = without_nulls(
        {
            "status": (Status.ABSTAINED if won is None else Status.OK).value,
            "score": None if won is None else score,
            "raw_score": score if won is None else None,
            "label": None if won is None else first.get("label"),
            "confidence": median(sure) if sure and won is not None else None,
            "reason": first.get("reason"),
            "latency_ms": max(times, default=None),
            "at": max(dates, default=None),
        }
    )
    if not isinstance(won, str):
        made["pass"] = won
    elif "pass" in first:
        made["pass"] = first["pass"]
    return made if won is not None else made | {"score": None}


def majority(choices: Sequence[Choice]) -> Choice:
    most, count = Counter(choices).most_common(1)[0]
    return most if 2 * count > len(choices) else None


def choice(ballot: Mapping[str, Any], threshold: float | None, *, labels: bool = False) -> Choice:
    """Return an answer's vote, by the threshold if need be, else, or with ``labels``, its label."""
    status, _, vote = answer({**ballot}, threshold)
    if status is not Status.OK:
        return None
    label = folded(ballot.get("label")) or None
    return label if labels or vote is None else vote


def _failed(ballot: Mapping[str, Any]) -> bool:
    return Status(ballot.get("status") or Status.OK).missing


def answers(ballot: CanonicalBallot) -> list[Free]:
    return [
        one
        for one in ballot.get("samples") or ()
        if (one.get("status") or Status.OK) in set(Status)
        and isinstance(one.get("round", 1), int)
        and isinstance(one.get("pass"), bool | None)
        and isinstance(one.get("label"), str | None)
    ]


def _groups(ballot: CanonicalBallot) -> dict[tuple[int, bool], list[Free]]:
    found: dict[tuple[int, bool], list[Free]] = {}
    for one in answers(ballot):
        if not _failed(one):
            question = one.get("round", 1), bool(one.get("swapped"))
            found.setdefault(question, []).append(one)
    return found


def flips(ballot: CanonicalBallot, threshold: float | None) -> tuple[int, int]:
    """Return how many pairs of answers to the same question differ, and how many there are."""
    pairs: list[tuple[Choice, Choice]] = []
    for group in _groups(ballot).values():
        labels = all(each.get("label") and each.get("score") is None for each in group)
        pairs += combinations([choice(each, threshold, labels=labels) for each in group], 2)
    return sum(one != two for one, two in pairs), len(pairs)


def by_order(ballot: CanonicalBallot, threshold: float | None) -> dict[bool, Choice]:
    """Return a juror's choice in each order of a pair; the key is True for the swapped order."""
    last = ballot.get("round") or 1
    return {
        swapped: majority([choice(one, threshold) for one in group])
        for (asked, swapped), group in _groups(ballot).items()
        if asked == last
    }


def position_flip(ballot: CanonicalBallot, threshold: float | None) -> bool:
    return set(by_order(ballot, threshold).values()) >= {True, False}
