"""The flags a verdict can carry: a bit in the desk, a name outside, a reason on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag


class Flag(IntFlag):
    """What deserves a second look. The values are stored: they are never renumbered."""

    ESCALATED = 1
    BIAS_WARNING = 2
    SAME_FAMILY = 4
    DERIVED_LOW = 8
    SPLIT = 16
    PIVOTAL = 32
    DEGRADED = 64
    REGIME_SENSITIVE = 128
    SINGLE_JUROR = 256
    DISPUTE = 512
    MISMATCH = 1024
    TRIMMED_DISSENT = 2048
    SUSPICIOUS_TEXT = 4096
    NO_VERDICT = 8192

    @property
    def label(self) -> str:
        """The name used in filters and in JSON."""
        return (self.name or "").lower()


@dataclass(frozen=True, slots=True)
class FlagNote:
    """A flag of one verdict and why it is there."""

    flag: Flag
    reason: str


SHORT = {
    Flag.ESCALATED: "esc",
    Flag.BIAS_WARNING: "bias",
    Flag.TRIMMED_DISSENT: "trim!",
    Flag.DISPUTE: "disp",
    Flag.NO_VERDICT: "none",
    Flag.SUSPICIOUS_TEXT: "susp",
    Flag.MISMATCH: "mism",
    Flag.REGIME_SENSITIVE: "rule",
    Flag.DEGRADED: "degr",
    Flag.PIVOTAL: "pivot",
    Flag.SPLIT: "split",
    # Named ours: it often stands behind a stated agreement that is not low.
    Flag.DERIVED_LOW: "ours-low",
    Flag.SAME_FAMILY: "kin",
    Flag.SINGLE_JUROR: "one",
}
"""Short names for a narrow line, the most telling first."""


def names(flags: Flag) -> list[str]:
    """The names of the set flags, in the order of their bits."""
    return [flag.label for flag in Flag if flag in flags]
