"""The flags of a verdict, and their words: bits in the desk, names in filters and JSON."""

from __future__ import annotations

from enum import IntFlag

from msgspec import Struct


class Flag(IntFlag):
    """A fact that a reviewer should see. The values are stored: never renumber them."""

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
    POSITION_FLIP = 16384

    @property
    def label(self) -> str:
        return (self.name or "").lower()


WORDS = {
    Flag.ESCALATED: "escalated",
    Flag.BIAS_WARNING: "bias",
    Flag.TRIMMED_DISSENT: "dissent trimmed",
    Flag.PIVOTAL: "one vote decides",
    Flag.DISPUTE: "dispute",
    Flag.NO_VERDICT: "no decision",
    Flag.SUSPICIOUS_TEXT: "suspicious text",
    Flag.POSITION_FLIP: "position flip",
    Flag.REGIME_SENSITIVE: "rules disagree",
    Flag.MISMATCH: "differs from its rule",
    Flag.DEGRADED: "few jurors",
    Flag.DERIVED_LOW: "agreement low",
    Flag.SPLIT: "votes split",
    Flag.SAME_FAMILY: "same model family",
    Flag.SINGLE_JUROR: "one juror",
}
"""Each flag in words, the most important first."""
SHORT = {
    Flag.ESCALATED: "esc",
    Flag.BIAS_WARNING: "bias",
    Flag.TRIMMED_DISSENT: "trim!",
    Flag.PIVOTAL: "pivot",
    Flag.DISPUTE: "disp",
    Flag.NO_VERDICT: "none",
    Flag.SUSPICIOUS_TEXT: "susp",
    Flag.POSITION_FLIP: "order",
    Flag.REGIME_SENSITIVE: "rule",
    Flag.MISMATCH: "mism",
    Flag.DEGRADED: "degr",
    Flag.DERIVED_LOW: "low",
    Flag.SPLIT: "split",
    Flag.SAME_FAMILY: "kin",
    Flag.SINGLE_JUROR: "one",
}
"""Short names for a narrow line and for filters, the most important first."""


def in_words(flags: Flag) -> str:
    """Return the set flags in words, the most important first."""
    return ", ".join(word for flag, word in WORDS.items() if flag in flags)


def names(flags: Flag) -> list[str]:
    """Return the names of the set flags, in the order of their bits."""
    return [flag.label for flag in Flag if flag in flags]


class Breach(IntFlag):
    """A rule that a verdict may break. The values are stored: never renumber them.

    ``ROUNDING`` marks a quorum that is met only with rounding, or only without it. It is counted
    with the others but is not a mismatch.
    """

    QUORUM = 1
    DECISION = 2
    BAND = 4
    ESCALATION = 8
    SAME_FAMILY = 16
    TRIM = 32
    PASS_SCORE = 64
    LABEL = 128
    ROUNDING = 256
    STOPPED_EARLY = 512
    AGAINST_ALL = 1024
    CONTRADICTION = 2048

    @property
    def label(self) -> str:
        """The name in words for the screen."""
        return _BREACH_WORDS.get(self, self.key)

    @property
    def key(self) -> str:
        return (self.name or "").lower()


_BREACH_WORDS = {
    Breach.SAME_FAMILY: "same model family",
    Breach.PASS_SCORE: "pass/score",
    Breach.LABEL: "label vote",
    Breach.ROUNDING: "quorum rounding",
    Breach.STOPPED_EARLY: "stopped early",
    Breach.AGAINST_ALL: "against every vote",
}


class Mismatch(Struct, frozen=True):
    """One place where a report disagrees with its own rule, in words that name both sides."""

    kind: Breach
    text: str


def kinds(found: Breach) -> tuple[Breach, ...]:
    """Return the kinds that are set in one value, in the order of their bits."""
    return tuple(kind for kind in Breach if kind in found)


class FlagNote(Struct, frozen=True):
    """A flag of one verdict, and the reason for it."""

    flag: Flag
    reason: str
