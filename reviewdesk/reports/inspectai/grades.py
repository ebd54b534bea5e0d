"""Read the value of a score: a grade, a word or a number."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.verdict import Decision, folded
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import LabelWords, Remarks
from reviewdesk.reports.mapping.raw_scores import WHY_RAW, Scales
from reviewdesk.reports.mapping.unread import understood
from reviewdesk.reports.options import ReadOptions

_GRADES: dict[str, tuple[float | None, bool | None]] = {
    "C": (1.0, True),
    "I": (0.0, False),
    "P": (0.5, None),
    "N": (None, None),
}
"""Inspect's grades as (score, vote): correct, incorrect, partially correct, no answer."""
_NO_ANSWER = "N"
_WORD_SCORES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_HINT = "name it with --pass-label or --fail-label"


class GradeReader:
    """Reads the values of scores with the options of one import."""

    def __init__(self, options: ReadOptions, remarks: Remarks, scales: Scales) -> None:
        """Keep the label words and the scale of the options.

        ``scales`` knows which scorers give values outside 0..1.
        """
        self._scale, self._remarks, self._scales = options.scale, remarks, scales
        self._words = LabelWords(options)

    def ballot(self, value: Any, whose: str) -> dict[str, Any]:
        """Return the ballot fields that a value fills; empty if the value is null.

        ``whose`` names the scorer, or ``SCORER.KEY`` for a part of its value.
        """
        if isinstance(value, bool):
            return {"score": float(value), "pass": value}
        if isinstance(value, str):
            return self._word(value, whose)
        number = values.number(value)
        if number is not None:
            return self._number(number, whose)
        if value is not None:
            self._remarks.count("a score that is neither a word nor a number is left out")
            return understood({}, ("value",))
        return {}

    def consensus(self, ballot: dict[str, Any]) -> dict[str, Any]:
        """Return a jury's decision, score and label, from the ballot of its consensus."""
        passed = ballot.get("pass")
        if isinstance(passed, bool):
            decision = Decision.PASS if passed else Decision.FAIL
            return {"score": ballot.get("score"), "decision": decision.value}
        label = ballot.get("label")
        if label is not None:
            self._remarks.count(f'the grade "{label[:40]}" is no decision: {_HINT}')
        word = label if label not in _GRADES else None
        return {"score": ballot.get("score"), "label": word}

    def _word(self, value: str, whose: str) -> dict[str, Any]:
        word = value.strip()
        if not word:
            return {"pass": None, "status": "abstained"}
        score, graded = _GRADES.get(word, (_WORD_SCORES.get(folded(word)), None))
        vote = self._words.vote(word)
        passed = graded if vote is None else vote
        if passed is None and word not in _GRADES:
            if (number := numeral(word)) is not None:
                return self._number(number, whose)
            self._remarks.count(f"a score in words that decide nothing gives no vote: {_HINT}")
        body: dict[str, Any] = {"score": score, "pass": passed, "label": word}
        if word == _NO_ANSWER and passed is None:
            body["status"] = "abstained"
        return body

    def _number(self, number: float, whose: str) -> dict[str, Any]:
        if self._scale is None:
            off = self._scales.off(whose, number)
            if (score := values.unit(number)) is not None and not off:
                return {"score": score}
            self._remarks.count(f"a score {WHY_RAW} is kept as raw_score: --scale reads it")
            return {"raw_score": number}
        low, high = self._scale
        score = values.unit((number - low) / (high - low))
        if score is None:
            self._remarks.count("a score outside --scale is kept as raw_score")
        return {"score": score, "raw_score": number, "scale": [low, high]}


def numeral(word: str) -> float | None:
    """Return the number that a text spells, or None. Numbers of 1e300 and more do not count."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None
