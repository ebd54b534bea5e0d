"""What n reports of a verdict state themselves, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.enums import Band
from reviewdesk.domain.jury.agreement import ALPHA, LINED
from reviewdesk.domain.run.columns import Bools, Floats, Ints
from reviewdesk.domain.run.packing import DECISIONS, NOTHING
from reviewdesk.frozen import Frozen

BANDS = (Band.LOW, Band.MEDIUM, Band.HIGH)
"""The code of a band is its index here; -1 is none."""
LOW, MEDIUM, HIGH = range(3)


class Claims(Frozen):
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


def claims_of(bodies: Sequence[CanonicalVerdict]) -> Claims:
    """Return what verdicts state."""
    stated: list[Any] = [body.get("agreement") or {} for body in bodies]
    metrics = [one.get("metric") for one in stated]
    return Claims(
        decision=_codes(bodies, "decision", DECISIONS),
        score=np.array([body.get("score") for body in bodies], np.float64),
        agreement=np.array([metric is not None for metric in metrics], np.bool_),
        value=np.array([one.get("value") for one in stated], np.float64),
        lined=np.array([metric in LINED for metric in metrics], np.bool_),
        alpha=np.array([metric == ALPHA for metric in metrics], np.bool_),
        band=_codes(bodies, "band", BANDS),
        escalate=_codes(bodies, "escalate_for_review", (False, True)),
        excused=np.array([bool(body.get("escalation_reasons")) for body in bodies], np.bool_),
    )


def _codes(bodies: Sequence[CanonicalVerdict], key: str, words: Sequence[Any]) -> Ints:
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(body.get(key), NOTHING) for body in bodies], np.int64)
