"""What the rules find of one verdict, as records that need no columns."""

from __future__ import annotations

from msgspec import Struct

from reviewdesk.domain.enums import AgreementSource, Band, Decision

STOPPED_EARLY = "stopped early"
"""The reason why a panel that did not ask every juror has no agreement, band and escalation."""

R_WG = "r_wg"
ALPHA = "krippendorff_alpha"
LINED = frozenset({R_WG, ALPHA, "unknown"})
"""The metrics that the band limits apply to; an unnamed metric is assumed to be one of them.

A share of juror pairs, a share of the consensus and a variance lie on other scales.
"""


class AgreementPair(Struct, frozen=True):
    """An agreement and its band, of one source; ``metric`` is ``None`` for a band stated alone."""

    value: float | None
    band: Band | None
    source: AgreementSource
    metric: str | None

    @property
    def reported(self) -> bool:
        return self.source is AgreementSource.REPORTED


class Spread(Struct, frozen=True):
    """An agreement, raw and clamped at 0, with its band; ``reason`` says why they are ``None``."""

    raw: float | None
    clamped: float | None
    band: Band | None
    n: int
    reason: str | None = None


class LabelVote(Struct, frozen=True):
    """The result of a label vote. Shares and confidence are ``None`` without ballots to count."""

    rule: str
    """The name of the strategy or of the callable."""
    label: str
    disagreement: bool | None
    """Whether the labels differ; ``None`` if no juror gave a label."""
    agreement_pct: float | None
    """The share of the usable ballots whose label is the consensus, 0..1."""
    seated_share: float | None
    """The share of all seats whose label is the consensus, 0..1."""
    avg_confidence: float | None
    """The mean of the confidences that the usable ballots give."""
    usable: int
    seated: int
    tie: str | None = None
    """How a tie was broken; ``None`` if there was none."""
    tied: tuple[str, ...] = ()
    """The labels that were tied."""
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why a supermajority is inconclusive, or why ``disagreement`` is ``None``."""
    decision: Decision | None = None
    """What the label decides; ``None`` if it is neither pass nor fail.

    A supermajority that was missed is inconclusive. So is the fallback label of a panel that
    declares its labels, unless jurors gave it as an answer that passes or fails.
    """
