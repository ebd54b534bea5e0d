"""The labels that jurors answer by: how they are compared, and which of them mean pass or fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.enums import Decision, Status, Strategy
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError

UNCLEAR = "UNCLEAR"
"""The label of a juror, or of a panel, that does not commit itself."""
FAILED_LABELS = {"error": Status.ERROR, "parse_fail": Status.PARSE_FAIL}
"""The labels, case-folded, that stand for a failed call, with the status that each one means."""

MOST_LABELS = 50
LONGEST_LABEL = 80

_PASSES = frozenset({"pass", "keep", "yes", "true", "correct", "accept"})
_FAILS = frozenset({"fail", "reject", "no", "false", "incorrect"})
_AROUND = " \t\r\n.,:;!*_`'\"()[]{}<>"
"""What a juror may write around a label without naming another one."""

Aggregate: TypeAlias = Callable[[Sequence[Any]], tuple[str, bool]]
"""A custom label rule: it takes usable ballots and returns the label and whether they disagree."""


def folded(label: str | None) -> str:
    """Return a label as labels are compared: case-folded, without surrounding blanks."""
    return (label or "").strip().casefold()


def label_key(label: str) -> str:
    """Return a label as replies are compared with it: folded, without punctuation around it."""
    return label.strip(_AROUND).casefold()


class LabelRules(Struct, frozen=True):
    """The labels that a panel declares, what they mean, and options for counting them."""

    priority: Sequence[str] = ()
    """Labels that win a tie, in this order; if none of them is tied, the label seen first wins."""
    use_confidence: bool = True
    """Whether a weighted vote multiplies a juror's weight by its confidence."""
    fallback: str = UNCLEAR
    """The label of a panel whose count gives none."""
    aggregate: Aggregate | None = None
    """A custom rule that counts in place of the strategy."""
    share: float | str | None = None
    """The share of the committed jurors that a supermajority needs; 2/3 if ``None``."""
    labels: Sequence[str] = ()
    """The labels that jurors may answer by; empty if the panel declares none."""
    passing: Sequence[str] = ()
    """The declared labels that pass."""
    failing: Sequence[str] = ()
    """The declared labels that fail; the others are neither pass nor fail."""

    def spelled(self, word: str | None) -> str | None:
        """Return the declared label that a word names, or ``None`` if it names none of them.

        Case, and quotes, brackets and punctuation around the word, make no difference. Without
        declared labels every word stands as it is.
        """
        if not self.labels or word is None:
            return word
        key = label_key(word)
        return next((label for label in self.labels if label_key(label) == key), None)

    def decision(self, label: str | None) -> Decision | None:
        """Return the decision that a label means, or ``None`` if it is neither pass nor fail.

        Without declared labels, PASS, KEEP, YES, TRUE, CORRECT and ACCEPT pass, and FAIL, REJECT,
        NO, FALSE and INCORRECT fail.
        """
        key = folded(label)
        passes = _PASSES
        fails = _FAILS
        if self.labels:
            passes, fails = (frozenset(map(folded, side)) for side in (self.passing, self.failing))
        if key in passes:
            return Decision.PASS
        return Decision.FAIL if key in fails else None

    def outcome(self, label: str) -> Decision | None:
        """Return the decision of a panel whose count gives this label.

        The fallback label of a panel that declares its labels is inconclusive, unless it is
        declared as one that passes or fails.
        """
        meant = self.decision(label)
        undecided = self.labels and folded(label) == folded(self.fallback)
        return Decision.INCONCLUSIVE if meant is None and undecided else meant

    def refusal(self, word: str | None) -> str:
        """Return why a juror's word is not an answer to a panel that declares its labels."""
        listed = ", ".join(self.labels[:6]) + ("" if len(self.labels) < 7 else ", ...")
        if word is None:
            return f"the juror gives no label; the labels are {listed}"
        return f"the juror says {show_line(word, 40)}, and the labels are {listed}"

    @property
    def facts(self) -> dict[str, Any]:
        """The declared labels and what is not the default, as reports and panel hashes state it."""
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
    """Return label rules with every label spelled as declared.

    If neither ``passing`` nor ``failing`` is given, declared labels mean what undeclared ones do.
    Raise UsageError, whose message begins with the name of the key, if the rules are wrong.
    """
    priority = _listed("priority", rules.priority)
    if not isinstance(rules.fallback, str) or not rules.fallback.strip():
        raise UsageError(f"fallback is {rules.fallback!r}", "Give a label, such as UNCLEAR")
    if not rules.labels:
        for name in ("passing", "failing"):
            if getattr(rules, name):
                raise UsageError(f"{name} stands without labels", "List all labels under labels")
        return replace(rules, priority=priority)
    labels = _listed("labels", rules.labels)
    _check_labels(labels)
    known = replace(rules, labels=labels)
    passing, failing, first = (
        tuple(_declared(known, name, word) for word in _listed(name, words))
        for name, words in (
            ("passing", rules.passing), ("failing", rules.failing), ("priority", priority),
        )
    )  # fmt: skip
    if both := [label for label in passing if label in failing]:
        raise UsageError(f"failing has {both[0]!r}, and so has passing", "Keep it in one of them")
    if not passing and not failing:
        means = {label: LabelRules().decision(label) for label in labels}
        passing = tuple(label for label in labels if means[label] is Decision.PASS)
        failing = tuple(label for label in labels if means[label] is Decision.FAIL)
    return replace(known, passing=passing, failing=failing, priority=first)


def stated_rules(facts: Mapping[str, Any]) -> LabelRules | None:
    """Return the label rules that a report states, or ``None`` if it states none that are valid."""
    stated = {key: facts[key] for key in LABEL_FACTS if facts.get(key) is not None}
    if not stated:
        return None
    alone = stated.pop("weights_alone", False) is True
    try:
        return checked_rules(LabelRules(**stated, use_confidence=not alone))
    except UsageError:
        return None


def _listed(name: str, words: object) -> tuple[str, ...]:
    """Return labels as a tuple; raise UsageError for a text, whose letters would be taken."""
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


def _declared(rules: LabelRules, name: str, word: str) -> str:
    label = rules.spelled(word)
    if label is None:
        raise UsageError(f"{name} has {word!r}", f"The labels are {', '.join(rules.labels)}")
    return label


LABEL_RULES = (
    Strategy.MAJORITY,
    Strategy.UNANIMOUS,
    Strategy.WEIGHTED_VOTE,
    Strategy.FIRST_DISAGREEMENT,
    Strategy.SUPERMAJORITY,
)
"""The strategies that can count labels."""


def label_decision(label: str | None) -> Decision | None:
    """Return the decision that a label means, in any case, or ``None`` if it means none.

    Pass: PASS, KEEP, YES, TRUE, CORRECT, ACCEPT. Fail: FAIL, REJECT, NO, FALSE, INCORRECT.
    """
    return LabelRules().decision(label)
