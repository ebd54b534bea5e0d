"""A window of verdicts settled by columns, and which of them only ``assess`` can settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jury.agreement import AgreementSource
from reviewdesk.domain.jury.family import shares_family
from reviewdesk.domain.jury.suspects import suspects
from reviewdesk.domain.run.ballots import Ballots, ballots_of, odd_verdicts, values_of
from reviewdesk.domain.run.claims import BANDS, claims_of
from reviewdesk.domain.run.columns import Bools
from reviewdesk.domain.run.packing import COLUMNS, DECISIONS
from reviewdesk.domain.run.policies import PolicyFacts
from reviewdesk.domain.run.settle import ERROR, INCONCLUSIVE, Settled
from reviewdesk.domain.run.tally import DERIVED, DERIVED_ESCALATION, SettledVerdicts
from reviewdesk.domain.verdict import Generator

_BANDS = (*[one.value for one in BANDS], None)
_SOURCES = (AgreementSource.OURS.value, AgreementSource.REPORTED.value)
_DECIDED = (*[one.value for one in DECISIONS], None)
"""By code; -1 is the last."""


class SettledWindow(Struct, frozen=True):
    """What columns give of verdicts, and the places of those that they do not settle."""

    found: SettledVerdicts
    odd: list[int]
    columns: Mapping[str, bytes]
    """Of ``packing.COLUMNS``, those that do not depend on what a run has seen before."""


def settled_window(
    bodies: Sequence[CanonicalVerdict],
    keys: set[str],
    policies: Sequence[PolicyFacts],
    places: Sequence[int],
    generator: Generator,
) -> SettledWindow:
    """Settle verdicts under the policies at ``places``.

    ``keys`` are those that any of the verdicts has, and ``generator`` is what the header states.
    """
    ballots = ballots_of(bodies, policies, places)
    found = Settled(ballots, policies, places, claims_of(bodies, keys))
    odd = odd_verdicts(bodies, keys, ballots, policies, places) | found.unsettled
    settled = _settled(bodies, keys, found, ballots.keys, generator)
    return SettledWindow(settled, np.flatnonzero(odd).tolist(), _columns(ballots, found))


def _columns(ballots: Ballots, found: Settled) -> dict[str, bytes]:
    columns: dict[str, npt.NDArray[Any]] = {
        "scores": ballots.scores, "votes": ballots.votes, "stated": ballots.stated,
        "failed": np.zeros(len(ballots.scores)), "weights": ballots.weights,
        "seated": ballots.seated, "threshold": found.threshold, "decision": found.decision,
        "score": found.score,
    }  # fmt: skip
    return {name: column.astype(COLUMNS[name]).tobytes() for name, column in columns.items()}


def _settled(
    bodies: Sequence[CanonicalVerdict],
    keys: set[str],
    found: Settled,
    ballot_keys: set[str],
    generator: Generator,
) -> SettledVerdicts:
    """Return what columns give of each verdict."""
    flags, kin = found.flags, _kin(bodies, keys, generator)
    escalate = found.claims.escalate == 1
    warned = np.array([bool(one) for one in values_of(bodies, keys, "bias_warning")], np.bool_)
    for flag, where in (
        (Flag.ESCALATED, escalate),
        (Flag.BIAS_WARNING, warned | (found.defined_low & kin)),
        (Flag.SAME_FAMILY, kin),
        (Flag.SUSPICIOUS_TEXT, np.array(suspects(bodies, keys))),
        (DERIVED_ESCALATION, found.escalated),
    ):
        flags = np.where(where, flags | int(flag), flags)
    value, band, reported = found.shown
    derived = (
        [_DECIDED[one] for one in found.decision.tolist()], _known(found.score),
        _known(found.claims.score), _confidences(bodies, ballot_keys),
        _known(value), [_BANDS[one] for one in band.tolist()],
        [_SOURCES[one] for one in reported.tolist()], [_BANDS[one] for one in found.band.tolist()],
        _known(found.margin),
        found.passes.tolist(), found.answered.tolist(), found.seated.tolist(),
        _known(found.range), _known(found.mass), found.breaches.tolist(),
    )  # fmt: skip
    return SettledVerdicts(
        dict(zip(DERIVED, derived, strict=True)),
        flags.tolist(),
        (escalate | warned | np.isin(found.decision, (INCONCLUSIVE, ERROR))).tolist(),
        [False] * len(bodies),
    )


def _kin(bodies: Sequence[CanonicalVerdict], keys: set[str], known: Generator) -> Bools:
    """Return for which verdicts a juror shares the generator's family."""
    found = np.zeros(len(bodies), np.bool_)
    if not (known.model or known.vendor or "generator" in keys):
        return found
    for at, body in enumerate(bodies):
        own = body.get("generator") or {}
        model, vendor = own.get("model") or known.model, own.get("vendor") or known.vendor
        if model or vendor:
            panel = tuple((one.get("model"), one.get("vendor")) for one in body["jurors"])
            found[at] = shares_family(panel, model, vendor) or False
    return found


def _known(values: Any) -> list[float | None]:
    """Return numbers as a list, with None for NaN."""
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124


def _confidences(bodies: Sequence[CanonicalVerdict], keys: set[str]) -> list[float | None]:
    """Return the mean confidence of each panel; ``keys`` are those of the ballots."""
    if "confidence" not in keys:
        return [None] * len(bodies)
    found: list[float | None] = []
    for body in bodies:
        given = [one["confidence"] for one in body["jurors"] if "confidence" in one]
        known = [float(one) for one in given if one is not None]
        found.append(sum(known) / len(known) if known else None)
    return found
