"""The values of reports and of arguments: their words, the labels of jurors, their checks."""

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Any, TypeGuard, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError

_SHARE = re.compile(r"[0-9]{1,9}(/(?!0+$)[0-9]{1,9}|\.[0-9]{1,18})?", re.ASCII)


_Word = TypeVar("_Word", bound=StrEnum)


def member(kind: type[_Word], word: str, text: str) -> _Word:
    """Return the member for a word, or raise UsageError with ``text`` and all known words."""
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UsageError(f"{text} {word!r}", f"Known: {known}") from None


def _is_finite(value: object) -> TypeGuard[float]:
    # A whole number may be too large for ``math.isfinite``.
    most = sys.float_info.max
    return isinstance(value, int | float) and value.__class__ is not bool and abs(value) <= most


def total(place: str, values: Sequence[float]) -> float:
    """Return the sum of the values, rounded once; raise UsageError if it is not finite."""
    # One value that is not finite spoils the sum, and one check costs less than one per value.
    with suppress(OverflowError, TypeError, ValueError):
        if math.isfinite(found := math.fsum(values)):
            return found
    for value in values:
        if not _is_finite(value):
            raise UsageError(f"{place} is {value!r}", "Give finite numbers")
    raise UsageError(f"the numbers are too large to add: {place} is {max(values, key=abs)!r}")


def _checked(place: str, value: object, fits: Callable[[float], bool], hint: str) -> float:
    if not _is_finite(value) or not fits(value):
        raise UsageError(f"{place} is {value!r}", hint)
    return float(value)


finite = partial(_checked, fits=math.isfinite, hint="Give a finite number")
unit = partial(_checked, fits=lambda one: 0 <= one <= 1, hint="Give a number from 0 to 1")
weight = partial(_checked, fits=lambda one: one > 0, hint="Give a finite number above 0")
trim_fraction = partial(
    _checked, fits=lambda one: 0 <= one < 0.5, hint="Give a number from 0 and under 0.5"
)


def _exact(value: object) -> Fraction:
    """Return a number, or a text such as "2/3", exactly; 0 for anything else."""
    if isinstance(value, str) and _SHARE.fullmatch(value):
        return Fraction(value)
    return Fraction(repr(float(value))) if _is_finite(value) else Fraction(0)


def quorum(place: str, value: object) -> float | str:
    """Return a share in (0, 1] as a float, or "k/n" as written; raise UsageError for others."""
    if isinstance(value, str):
        if "/" in value and 0 < _exact(value) <= 1:
            return value
    elif _is_finite(value) and 0 < value <= 1:
        return float(value)
    raise UsageError(f"{place} is {value!r}", 'Give a number above 0 and up to 1, or such as "2/3"')


def min_answered(place: str, value: object) -> int | str:
    """Return a count as a whole number, or a share of the panel as "k/n" in lowest terms.

    A number with a point is a share: 1.0 asks for every juror. Raise UsageError for others.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    share = _exact(value)
    counts = isinstance(value, int) or (isinstance(value, str) and "/" not in value)
    if counts or not 0 < share <= 1:
        hint = 'Give a count, such as 3, or a share, such as 0.6 or "2/3"'
        raise UsageError(f"{place} is {value!r}", hint)
    return f"{share.numerator}/{share.denominator}"


def supermajority(place: str, value: object) -> Fraction:
    """Return the share exactly; raise UsageError unless it is above 1/2 and up to 1."""
    exact = _exact(value)
    if not Fraction(1, 2) < exact <= 1:
        raise UsageError(f"{place} is {value!r}", 'Give a share over 1/2, up to 1, such as "2/3"')
    return exact


class Decision(StrEnum):
    """What a panel decided about an item."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class Status(StrEnum):
    """How a juror's call ended; only ``ok`` votes."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    PARSE_FAIL = "parse_fail"
    EMPTY = "empty"
    ABSTAINED = "abstained"
    MISSING_KEY = "missing_key"
    UNKNOWN = "unknown"
    NOT_ASKED = "not_asked"

    @property
    def failed(self) -> bool:
        """Whether the call went wrong, so that a median may stand in."""
        return self not in _NOT_FAILED

    @property
    def missing(self) -> bool:
        """Whether the panel lacks this juror's answer, so that a re-run of it makes sense."""
        return self.failed or self is Status.UNKNOWN

    @property
    def words(self) -> str:
        return _STATUS_WORDS.get(self, f"failed: {self.value}")


_NOT_FAILED = frozenset({Status.OK, Status.ABSTAINED, Status.UNKNOWN, Status.NOT_ASKED})
_STATUS_WORDS = {
    Status.OK: "answered",
    Status.PARSE_FAIL: "failed: unreadable",
    Status.MISSING_KEY: "failed: no API key",
    Status.ABSTAINED: "abstained",
    Status.UNKNOWN: "answer not understood",
    Status.NOT_ASKED: "not asked",
}


class Band(StrEnum):
    """How closely the jurors agree."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Strategy(StrEnum):
    """The rule that makes one decision of the ballots."""

    QUORUM = "quorum"
    MAJORITY = "majority"
    UNANIMOUS = "unanimous"
    WEIGHTED_AVERAGE = "weighted_average"
    MEAN = "mean"
    MEDIAN = "median"
    HIGHEST = "highest"
    LOWEST = "lowest"
    TRIMMED_MEAN = "trimmed_mean"
    WEIGHTED_VOTE = "weighted_vote"
    FIRST_DISAGREEMENT = "first_disagreement"
    SINGLE = "single"
    EXTERNAL = "external"
    SUPERMAJORITY = "supermajority"


class Regime(StrEnum):
    """What depends on a verdict; it selects the rule that decides."""

    ROUTINE = "routine"
    IRREVERSIBLE = "irreversible"
    DISPUTE = "dispute"


BY_REGIME: Mapping[str, Strategy] = {
    Regime.ROUTINE: Strategy.TRIMMED_MEAN,
    Regime.IRREVERSIBLE: Strategy.MEDIAN,
}
"""The strategy of each regime, for verdicts that state none; a dispute goes to a person."""


class Rounding(StrEnum):
    """How a trim fraction becomes a whole number of jurors."""

    DOWN = "down"
    NEAREST = "nearest"
    UP = "up"


class AgreementSource(StrEnum):
    """Where an agreement and its band come from: the report, or our figures from its ballots."""

    REPORTED = "reported"
    OURS = "ours"


UNCLEAR = "UNCLEAR"
"""The label of a juror, or of a panel, that does not commit itself."""
FAILED_LABELS = {"error": Status.ERROR, "parse_fail": Status.PARSE_FAIL}
"""The labels, case-folded, that stand for a failed call, with the status that each one means."""

MOST_LABELS = 50
LONGEST_LABEL = 80

_PASSES = frozenset({"pass", "keep", "yes", "true", "correct", "accept"})
_FAILS = frozenset({"fail", "reject", "no", "false", "incorrect"})
_AROUND = " \t\r\n.,:;!*_`'\"()[]{}<>"
"""The characters that a juror may write around a label without changing it."""

Aggregate = Callable[[Sequence[Any]], tuple[str, bool]]
"""A custom label rule: it takes usable ballots and returns the label and whether they disagree."""


def folded(label: str | None) -> str:
    """Return a label in the form for comparing labels: case-folded, without surrounding blanks."""
    return (label or "").strip().casefold()


def label_key(label: str) -> str:
    """Return a label in the form for comparing replies: folded, without punctuation around it."""
    return label.strip(_AROUND).casefold()


class LabelRules(Struct, frozen=True):
    """The labels that a panel declares, what they mean, and options for counting them."""

    priority: Sequence[str] = ()
    """Labels that win a tie, in this order; if none of them is tied, the label seen first wins."""
    use_confidence: bool = True
    """Whether a weighted vote multiplies a juror's weight by its confidence."""
    fallback: str = UNCLEAR
    """The label of a panel whose count gives no label."""
    aggregate: Aggregate | None = None
    share: float | str | None = None
    """The share of the committed jurors that a supermajority needs; 2/3 if ``None``."""
    labels: Sequence[str] = ()
    """The labels that jurors may answer with; empty if the panel declares none."""
    passing: Sequence[str] = ()
    """The declared labels that pass; those outside ``failing`` too are neither pass nor fail."""
    failing: Sequence[str] = ()

    def spelled(self, word: str | None) -> str | None:
        """Return the declared label that a word names, in any case and punctuation, or ``None``."""
        if not self.labels or word is None:
            return word
        key = label_key(word)
        return next((label for label in self.labels if label_key(label) == key), None)

    def decision(self, label: str | None) -> Decision | None:
        """Return the decision that a label means, or ``None`` if it is neither pass nor fail."""
        key = folded(label)
        if key in (map(folded, self.passing) if self.labels else _PASSES):
            return Decision.PASS
        fails = map(folded, self.failing) if self.labels else _FAILS
        return Decision.FAIL if key in fails else None

    def outcome(self, label: str) -> Decision | None:
        """Return the decision of a counted label; a fallback not declared is inconclusive."""
        meant = self.decision(label)
        undecided = self.labels and folded(label) == folded(self.fallback)
        return Decision.INCONCLUSIVE if meant is None and undecided else meant

    def refusal(self, word: str | None) -> str:
        """Return why a juror's word is not an answer to a panel that declares its labels."""
        listed = ", ".join(self.labels[:6]) + ("" if len(self.labels) < 7 else ", ...")
        said = "gives no label;" if word is None else f"says {show_line(word, 40)}, and"
        return f"the juror {said} the labels are {listed}"

    @property
    def facts(self) -> dict[str, Any]:
        """The declared labels and non-default options, as reports and panel hashes state them."""
        stated = {
            "labels": list(self.labels),
            "passing": list(self.passing),
            "failing": list(self.failing),
            "priority": list(self.priority),
            "fallback": None if self.fallback == UNCLEAR else self.fallback,
            "weights_alone": not self.use_confidence,
        }
        return {key: value for key, value in stated.items() if value}


LABEL_FACTS = ("labels", "passing", "failing", "priority", "fallback", "weights_alone")
"""The keys of ``LabelRules.facts``, which ``meta.reviewdesk`` of our reports states."""


def checked_rules(rules: LabelRules) -> LabelRules:
    """Return label rules with every label spelled as declared; UsageError begins with the key."""
    priority = _listed("priority", rules.priority)
    if not isinstance(rules.fallback, str) or not rules.fallback.strip():
        raise UsageError(f"fallback is {rules.fallback!r}", "Give a label, such as UNCLEAR")
    if not rules.labels:
        for name in ("passing", "failing"):
            if getattr(rules, name):
                raise UsageError(f"{name} is given without labels", "List all labels under labels")
        return replace(rules, priority=priority)
    labels = _listed("labels", rules.labels)
    _check_labels(labels)
    declared: list[tuple[str, ...]] = []
    by_key = {label_key(label): label for label in labels}
    for name in ("passing", "failing", "priority"):
        words = dict.fromkeys(_listed(name, getattr(rules, name)))
        if strange := [word for word in words if label_key(word) not in by_key]:
            raise UsageError(f"{name} has {strange[0]!r}", f"The labels are {', '.join(labels)}")
        declared.append(tuple(by_key[label_key(word)] for word in words))
    passing, failing, first = declared
    if both := [label for label in passing if label in failing]:
        raise UsageError(f"{both[0]!r} is in both passing and failing", "Keep it in one of them")
    if not passing and not failing:
        passing, failing = (
            tuple(label for label in labels if LabelRules().decision(label) is side)
            for side in (Decision.PASS, Decision.FAIL)
        )
    return replace(rules, labels=labels, passing=passing, failing=failing, priority=first)


def stated_rules(facts: Mapping[str, Any]) -> LabelRules | None:
    """Return the label rules that a report states, or ``None`` if it states no valid rules."""
    stated = {key: facts[key] for key in LABEL_FACTS if facts.get(key) is not None}
    alone = stated.get("weights_alone") is True
    with suppress(UsageError):
        known = {key: value for key, value in stated.items() if key != "weights_alone"}
        return checked_rules(LabelRules(**known, use_confidence=not alone)) if stated else None
    return None


def _listed(name: str, words: object) -> tuple[str, ...]:
    """Return labels as a tuple; raise UsageError for a text, whose letters would become labels."""
    if words is None:
        return ()
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise UsageError(f"{name} is {words!r}", 'Give a list of labels, such as ["KEEP"]')
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise UsageError(f"{name} has {wrong[0]!r}", "Give a list of words")
    return tuple(words)


def _check_labels(labels: tuple[str, ...]) -> None:
    if not 2 <= len(labels) <= MOST_LABELS:
        raise UsageError(f"labels has {len(labels)} labels", f"Give 2 to {MOST_LABELS} of them")
    seen: dict[str, str] = {}
    for label in labels:
        key = label_key(label)
        if not key or len(label) > LONGEST_LABEL or not label.isprintable():
            hint = f"Give a word of 1 to {LONGEST_LABEL} printable characters"
            raise UsageError(f"labels has {label!r}", hint)
        if key in FAILED_LABELS:
            raise UsageError(f"labels has {label!r}", "It stands for a juror that failed")
        if key in seen:
            hint = "Case and punctuation around a label make no difference; keep one of them"
            raise UsageError(f"labels has {seen[key]!r} and {label!r}", hint)
        seen[key] = label


LABEL_RULES = (
    Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT,
    Strategy.SUPERMAJORITY,
)  # fmt: skip


def label_decision(label: str | None) -> Decision | None:
    """Return the decision that a label means, ignoring case, or ``None`` if it means no decision.

    Pass: PASS, KEEP, YES, TRUE, CORRECT, ACCEPT. Fail: FAIL, REJECT, NO, FALSE, INCORRECT.
    """
    return LabelRules().decision(label)
