"""What n reports of a verdict state themselves, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.enums import Band
from reviewdesk.domain.jury.agreement import ALPHA, LINED
from reviewdesk.domain.run.ballots import values_of
from reviewdesk.domain.run.columns import Bools, Floats, Ints
from reviewdesk.domain.run.packing import DECISIONS, NOTHING

BANDS = (Band.LOW, Band.MEDIUM, Band.HIGH)
"""The code of a band is its index here; -1 is none."""
LOW, MEDIUM, HIGH = range(3)


class Claims(Struct, frozen=True):
    """What is stated, ``[n]``; a missing code is -1, a missing value NaN."""

    decision: Ints
    score: Floats
    agreement: Bools
    """Whether an agreement is stated, be it null."""
    value: Floats
    """The stated agreement."""
    lined: Bools
    """Whether the limits of the bands apply to its metric."""
    alpha: Bools
    band: Ints
    escalate: Ints
    """1, 0, or -1."""
    excused: Bools
    """Whether a reason for an escalation is stated."""


def claims_of(bodies: Sequence[CanonicalVerdict], keys: set[str]) -> Claims:
    """Return what verdicts state, given all the keys that any of them has."""
    stated: list[Any] = [one or {} for one in values_of(bodies, keys, "agreement")]
    metrics = [one.get("metric") for one in stated]
    return Claims(
        decision=_codes(bodies, keys, "decision", DECISIONS),
        score=np.array(values_of(bodies, keys, "score"), np.float64),
        agreement=np.array([metric is not None for metric in metrics], np.bool_),
        value=np.array([one.get("value") for one in stated], np.float64),
        lined=np.array([metric in LINED for metric in metrics], np.bool_),
        alpha=np.array([metric == ALPHA for metric in metrics], np.bool_),
        band=_codes(bodies, keys, "band", BANDS),
        escalate=_codes(bodies, keys, "escalate_for_review", (False, True)),
        excused=np.array(
            [bool(one) for one in values_of(bodies, keys, "escalation_reasons")], np.bool_
        ),
    )


def _codes(
    bodies: Sequence[CanonicalVerdict], keys: set[str], key: str, words: Sequence[Any]
) -> Ints:
    if key not in keys:
        return np.full(len(bodies), NOTHING)
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(one, NOTHING) for one in values_of(bodies, keys, key)], np.int64)
